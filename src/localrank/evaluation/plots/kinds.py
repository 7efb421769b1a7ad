"""The kinds of charts: what each shows, drawn by matplotlib."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from localrank.evaluation.plots.style import (
    COLOURS,
    PALE,
    add_legend,
    look,
    new_figure,
    styled,
    titled_panels,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# x and y, and the lower and upper bounds of a band, if any.
Curve = Sequence[Sequence[float]]
# A mean, its interval, and whether the mark is filled.
Interval = tuple[float, tuple[float, float], bool]

GROUP_WIDTH = 0.8  # of bars, in units of the distance between two ticks
TICK_WIDTH = 28  # letters in a line of a row's name
SPREAD = 0.05  # the lines at a level are this wide apart, so their intervals do not overlap
LEGEND_COLUMNS = 7  # of a calibration


@styled
def draw_bars(
    panels: Mapping[str, Mapping[str, ArrayLike]],
    ticks: Sequence[str],
    y_label: str,
    *,
    numbers: str | None = None,
    rotation: float = 0,
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
    rotation : float, default=0
        Angle of the ticks' names, in degrees.

    Examples
    --------
    >>> figure = draw_bars({"MQ2008": {"a": [0.4, 0.5], "b": [0.3, 0.6]}}, ["map", "ndcg"], "mean")
    >>> len(figure.axes[0].patches)
    4
    """
    n_bars = len(ticks) * max(map(len, panels.values()))
    figure, axes = titled_panels(panels, 2 + 0.45 * n_bars if numbers else 4.2, y_label)
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
        panel.tick_params(axis="x", labelrotation=rotation)
        panel.grid(axis="x", visible=False)
    add_legend(figure)
    return figure


@styled
def draw_curves(
    panels: Mapping[str, Mapping[str, Curve]],
    x_label: str,
    y_label: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
) -> Figure:
    """Curves in one or more panels.

    Parameters
    ----------
    panels : dict from title to dict from name to (x, y) or (x, y, lower, upper)
        Sequences of equal length for each curve. A band reaches from the lower to the upper bound.
    x_label, y_label : str
    log_x, log_y : bool, default=False
        Whether an axis is logarithmic; x has base 2.

    Examples
    --------
    >>> figure = draw_curves({"MQ2008": {"a": ([1, 2, 4], [0.3, 0.4, 0.6])}}, "clusters", "MAP")
    >>> figure.axes[0].lines[0].get_label()
    'a'
    """
    figure, axes = titled_panels(panels, y_label=y_label)
    for panel, curves in zip(axes, panels.values(), strict=True):
        for place, (name, (x, y, *bounds)) in enumerate(curves.items()):
            (line,) = panel.plot(x, np.asarray(y, dtype=float), label=name, **look(place))
            if bounds:
                low, high = (np.asarray(bound, dtype=float) for bound in bounds)
                panel.fill_between(x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
        if log_x:
            panel.set_xscale("log", base=2)
            panel.xaxis.set_major_formatter("{x:.10g}")
        if log_y:
            panel.set_yscale("log")
        panel.set_xlabel(x_label)
    add_legend(figure)
    return figure


@styled
def draw_intervals(
    panels: Mapping[str, Mapping[str, Sequence[Interval]]],
    ticks: Sequence[str],
    *,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Differences from zero with intervals: a row for each tick, with a mark for each name.

    Parameters
    ----------
    panels : dict from title to dict from name to list of (mean, (low, high), filled)
        One interval per tick. `filled` says whether its mark is filled.
    ticks : sequence of str
    size : (float, float), optional
        Width and height in inches. None: they depend on the number of panels.

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
            # Without marks, the lines stand in the legend.
            lined = np.isnan([mean for mean, _, _ in intervals]).all()
            for row, (mean, ends, filled) in enumerate(intervals):
                y = row + 0.3 * (place - (len(marks) - 1) / 2)
                label = None if row else name
                panel.plot(ends, [y, y], color=colour, label=label if lined else None)
                if not lined:
                    style |= {"mfc": colour if filled else "white", "label": label}
                    panel.plot(mean, y, linestyle="none", **style)
        names = [textwrap.fill(name, TICK_WIDTH) for name in ticks]
        panel.set_yticks(range(len(ticks)), names)
        panel.set_ylim(len(ticks) - 0.5, -0.5)
    add_legend(figure)
    if size is not None:
        figure.set_size_inches(*size)
    return figure


@styled
def draw_cosines(names: Sequence[str], cosines: ArrayLike, title: str) -> Figure:
    """A heat map of a square matrix with values from -1 to 1.

    Parameters
    ----------
    names : sequence of str
        One name for each row and column.
    cosines : array of shape (n_names, n_names)
        NaN or None: an empty cell.
    title : str

    Examples
    --------
    >>> figure = draw_cosines(["a", "b"], [[1, -0.5], [-0.5, 1]], "Cosines")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['1.00', '-0.50', '-0.50', '1.00']
    """
    from matplotlib.colors import LinearSegmentedColormap

    values, n = np.asarray(cosines, dtype=float), len(names)
    figure = new_figure(2.2 + 0.7 * n, 1.6 + 0.7 * n)
    axes = figure.add_subplot()
    colours = LinearSegmentedColormap.from_list("", [COLOURS[1], "white", COLOURS[0]])
    image = axes.imshow(values, cmap=colours, vmin=-1, vmax=1)
    for (row, column), value in np.ndenumerate(values):
        colour = "white" if abs(value) > 0.6 else "black"
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=9)
    axes.set_xticks(range(n), names)
    axes.set_yticks(range(n), names)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.set_title(title)
    axes.grid(False)
    figure.colorbar(image, shrink=0.8)
    return figure


@styled
def draw_directions(
    points: Mapping[str, ArrayLike], directions: Mapping[str, ArrayLike], title: str
) -> Figure:
    """Points in a plane, and arrows from their centre.

    Parameters
    ----------
    points : dict from name to array of shape (n_points, 2)
    directions : dict from name to array of shape (2,)
        Unit vectors.
    title : str

    Examples
    --------
    >>> points = {"relevant": [[2, 1], [3, 1]], "irrelevant": [[0, 0]]}
    >>> figure = draw_directions(points, {"RankSVM": [1, 0]}, "Query 5")
    >>> figure.axes[0].get_title(loc="left")
    'Query 5'
    """
    figure = new_figure(6.4, 5.2)
    axes = figure.add_subplot()
    clouds = {name: np.asarray(cloud, dtype=float) for name, cloud in points.items()}
    for place, (name, cloud) in enumerate(clouds.items()):
        style = look(place)
        axes.scatter(
            cloud[:, 0],
            cloud[:, 1],
            s=22,
            alpha=0.75,
            linewidths=0,
            label=name,
            c=style["color"],
            marker=style["marker"],
        )
    everything = np.concatenate(list(clouds.values()))
    centre = everything.mean(axis=0)
    length = 0.45 * np.ptp(everything, axis=0).max()
    for place, (name, direction) in enumerate(directions.items()):
        arm = length * np.asarray(direction, dtype=float)
        colour = COLOURS[-1 - place % len(COLOURS)]
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.8}
        axes.annotate("", xy=tuple(centre + arm), xytext=tuple(centre), arrowprops=arrow)
        axes.annotate(
            name,
            xy=tuple(centre + 1.08 * arm),
            color=colour,
            ha="center",
            va="center",
            fontsize=9,
            fontweight="bold",
        )
        # An invisible point widens the axes, which an arrow does not.
        axes.plot(*(centre + 1.15 * arm), alpha=0)
    axes.set_aspect("equal")
    axes.set_xlabel("first principal coordinate")
    axes.set_ylabel("second principal coordinate")
    axes.set_title(title)
    axes.legend(loc="best")
    return figure


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

    names = list(next(iter(views.values()))["methods"])
    looks = _looks(names, bounds)
    lines = [
        piece
        for line in note.splitlines()
        for piece in textwrap.wrap(line, 190, subsequent_indent="    ")
    ]
    n_extra = len(lines) + -(-len(names) // LEGEND_COLUMNS)
    figure = new_figure(12.5, 6 + 0.17 * n_extra)
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
