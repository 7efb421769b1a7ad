from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from localrank.evaluation.plots.style import COLOURS, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

    from localrank.evaluation.plots._notebook import NotebookFigure

    values, n = np.asarray(cosines, dtype=float), len(names)
    figure = NotebookFigure(figsize=(2.2 + 0.7 * n, 1.6 + 0.7 * n))
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
