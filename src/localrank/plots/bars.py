from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from localrank.plots.style import add_legend, look, styled, titled_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUP_WIDTH = 0.8  # of the distance between two ticks


@styled
def draw_bars(
    panels: Mapping[str, Mapping[str, ArrayLike]],
    ticks: Sequence[str],
    y_label: str,
    *,
    numbers: str | None = None,
) -> Figure:
    """Bars in groups, a group for each tick and a bar in it for each name, in panels by title.

    Bars have their heights above them where `numbers` says how to print them, such as "%.3f".
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
