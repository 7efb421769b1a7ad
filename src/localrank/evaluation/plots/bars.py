from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from localrank.evaluation.plots.style import add_legend, look, styled, titled_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUP_WIDTH = 0.8  # in units of the distance between two ticks


@styled
def draw_bars(
    panels: Mapping[str, Mapping[str, ArrayLike]],
    ticks: Sequence[str],
    y_label: str,
    *,
    numbers: str | None = None,
) -> Figure:
    """Grouped bars: a group for each tick, with a bar for each name, in one or more panels.

    Parameters
    ----------
    panels : dict from title to dict from name to heights
        Each name has one height per tick. NaN or None: no bar.
    ticks : sequence of str
    y_label : str
    numbers : str, optional
        Format of the heights above the bars, such as "%.3f". None: no numbers.

    Examples
    --------
    >>> figure = draw_bars({"MQ2008": {"a": [0.4, 0.5], "b": [0.3, 0.6]}}, ["map", "ndcg"], "mean")
    >>> len(figure.axes[0].patches)
    4
    """
    n_bars = len(ticks) * max(map(len, panels.values()))
    figure, axes = titled_panels(panels, 2 + 0.45 * n_bars if numbers else 4.2)
    for panel, bars in zip(axes, panels.values(), strict=True):
        width = GROUP_WIDTH / len(bars)
        for place, (name, heights) in enumerate(bars.items()):
            x = np.arange(len(ticks)) + width * (place + 0.5) - GROUP_WIDTH / 2
            drawn = panel.bar(
                x, np.asarray(heights, dtype=float), width, label=name, color=look(place)["color"]
            )
            if numbers:
                panel.bar_label(drawn, fmt=numbers, fontsize=7, padding=1)
        panel.set_xticks(range(len(ticks)), ticks)
        panel.grid(axis="x", visible=False)
    axes[0].set_ylabel(y_label)
    add_legend(figure)
    return figure
