from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from localrank.evaluation.plots.style import COLOURS, look, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    from localrank.evaluation.plots._notebook import NotebookFigure

    figure = NotebookFigure(figsize=(6.4, 5.2))
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
