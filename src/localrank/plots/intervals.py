from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from localrank.plots.style import COLOURS, add_legend, look, styled, titled_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A mean, its interval, and whether the mark is filled.
Interval = tuple[float, tuple[float, float], bool]


@styled
def draw_intervals(
    panels: Mapping[str, Mapping[str, Sequence[Interval]]], ticks: Sequence[str]
) -> Figure:
    """Differences from zero, a row for each tick and a mark in it for each name."""
    figure, axes = titled_panels(panels)
    for panel, marks in zip(axes, panels.values(), strict=True):
        panel.axvline(0, color=COLOURS[-1], linewidth=1)
        for place, (name, intervals) in enumerate(marks.items()):
            style, colour = look(place), look(place)["color"]
            for row, (mean, ends, filled) in enumerate(intervals):
                y = row + 0.3 * (place - (len(marks) - 1) / 2)
                panel.plot(ends, [y, y], color=colour)
                style |= {"mfc": colour if filled else "white", "label": None if row else name}
                panel.plot(mean, y, linestyle="none", **style)
        panel.set_yticks(range(len(ticks)), ticks)
        panel.invert_yaxis()
    add_legend(figure)
    return figure
