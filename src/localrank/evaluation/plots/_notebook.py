"""Figures that notebooks show. Needs matplotlib, so that only drawing functions import it."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure

from localrank.evaluation.plots.style import write_figure


class NotebookFigure(Figure):
    """A matplotlib figure that a notebook shows as SVG, also where pyplot is not imported.

    Examples
    --------
    >>> figure = NotebookFigure(figsize=(4, 3))
    >>> figure._repr_svg_().startswith("<?xml")
    True
    """

    def _repr_svg_(self) -> str:
        file = BytesIO()
        write_figure(self, file, "svg")
        return file.getvalue().decode()
