from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank.evaluation.plots.style import COLOURS, PALE, add_legend, look, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPREAD = 0.05  # the lines at a level are this wide apart, so their intervals do not overlap
LEGEND_COLUMNS = 7


@styled
def draw_calibration(
    views: Mapping[str, Mapping[str, Any]], bounds: Sequence[str], y_label: str, note: str
) -> Figure:
    """Mean of each method at each level with its interval, and the number of queries below.

    Parameters
    ----------
    views : dict from title to dict
        Panels side by side. Each has `x_label`, `levels`, `n_queries` (one number per level) and
        `methods`: a dict from name to (means, lows, highs), one number per level each. The
        methods are the same in all views. The first is the best feature, the second the
        baseline; one called "control" is dotted in the baseline's colour.
    bounds : sequence of str
        The methods with a dashed line.
    y_label : str
    note : str
        Text below the panels.

    Examples
    --------
    >>> values = ([0.2, 0.5], [0.1, 0.4], [0.3, 0.6])
    >>> view = {"x_label": "level", "levels": [-0.1, 0.2], "n_queries": [20, 30]}
    >>> view["methods"] = {"best feature": values, "baseline": values}
    >>> figure = draw_calibration({"By failure level": view}, [], "mean NDCG", "A note.")
    >>> [text.get_text() for text in figure.legends[0].texts]
    ['best feature', 'baseline']
    """
    from matplotlib.ticker import MultipleLocator

    from localrank.evaluation.plots._notebook import NotebookFigure

    names = list(next(iter(views.values()))["methods"])
    looks = _looks(names, bounds)
    lines = [
        piece
        for line in note.splitlines()
        for piece in textwrap.wrap(line, 190, subsequent_indent="    ")
    ]
    n_extra = len(lines) + -(-len(names) // LEGEND_COLUMNS)
    figure = NotebookFigure(figsize=(12.5, 6 + 0.17 * n_extra))
    panels = figure.subplots(
        2, len(views), sharex="col", sharey="row", height_ratios=[4, 1], squeeze=False
    )
    for (upper, lower), (title, view) in zip(panels.T, views.items(), strict=True):
        levels = np.asarray(view["levels"])
        for place, (name, values) in enumerate(view["methods"].items()):
            means, lows, highs = np.asarray(values, dtype=float)
            x = levels + SPREAD * (place / (len(names) - 1) - 0.5)
            colour = looks[name]["color"]
            upper.vlines(x, lows, highs, color=colour, alpha=0.45, linewidth=1.2)
            upper.plot(x, means, label=name, **looks[name])
        bars = lower.bar(levels, view["n_queries"], width=0.08, color=PALE)
        lower.bar_label(bars, fontsize=7, color=COLOURS[-1], padding=1)
        lower.margins(y=0.2)
        lower.set_xlabel(view["x_label"])
        upper.set_title(title)
        upper.set_ylim(-0.02, 1.02)
        upper.xaxis.set_major_locator(MultipleLocator(0.2))
        upper.axvline(0, color=PALE, linewidth=1, zorder=0.9)
    panels[0, 0].set_ylabel(y_label)
    panels[1, 0].set_ylabel("queries")
    add_legend(figure, "outside upper left", LEGEND_COLUMNS)
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=8.5, linespacing=1.35)
    return figure


def _looks(names: Sequence[str], bounds: Sequence[str]) -> dict[str, dict[str, Any]]:
    methods = (name for name in names if name not in (*bounds, "control"))
    looks = {name: look(place) for place, name in enumerate(methods)}
    looks |= {name: look(-1 - place) | {"ls": "--"} for place, name in enumerate(bounds)}
    looks["control"] = look(1) | {"ls": ":", "fillstyle": "none"}
    return looks
