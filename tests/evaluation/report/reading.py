"""Reading a page in the browser."""

from typing import Any

import numpy as np
from evaluation.report.sample import BASELINE
from numpy.typing import NDArray


def texts(page: Any, selector: str) -> Any:
    return page.locator(selector).all_inner_texts()


def rows(page: Any) -> Any:
    return page.evaluate(
        "[...document.querySelectorAll('.methods tbody')].map(body => body.dataset.method)"
    )


def differences(data: Any, method: str, measure: str = "ndcg@10") -> NDArray[np.float64]:
    values = data["queries"]["values"]
    return np.subtract(values[method][measure], values[BASELINE][measure])


def boxes(page: Any, selector: str) -> NDArray[np.float64]:
    """Left, top, width and height of the drawn outline of each element."""
    outlines = page.evaluate(
        """selector => [...document.querySelectorAll(selector)].map(node => {
             const box = node.getBoundingClientRect();
             return [box.x, box.y, box.width, box.height];
           })""",
        selector,
    )
    return np.array(outlines, dtype=float).reshape(-1, 4)
