from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from localrank.evaluation.plots.style import COLOURS, add_legend, look, styled, titled_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A mean, its interval, and whether the mark is filled.
Interval = tuple[float, tuple[float, float], bool]


@styled
def draw_intervals(
    panels: Mapping[str, Mapping[str, Sequence[Interval]]], ticks: Sequence[str]
) -> Figure:
    """Differences from zero with intervals: a row for each tick, with a mark for each name.

    Parameters
    ----------
    panels : dict from title to dict from name to list of (mean, (low, high), filled)
        One interval per tick. `filled` says whether its mark is filled.
    ticks : sequence of str

    Examples
    --------
    >>> marks = {"ndcg@10": [(0.02, (0.01, 0.03), True), (0.01, (-0.01, 0.03), False)]}
    >>> figure = draw_intervals({"best − 6 mixed": marks}, ["MQ2008", "OHSUMED"])
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['MQ2008', 'OHSUMED']
    """
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
