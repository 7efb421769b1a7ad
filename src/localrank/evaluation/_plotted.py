"""Results that can be drawn."""

from __future__ import annotations

from abc import abstractmethod
from os import PathLike
from typing import TYPE_CHECKING

from localrank.evaluation.plots import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Plotted:
    """A result that `plot()` draws and `save_plot(path)` writes to a file.

    Both need the extra `localrank[plots]`. Notebooks show the figure that `plot()` returns.
    """

    @abstractmethod
    def plot(self) -> Figure:
        """The result as a matplotlib figure. Needs the extra `localrank[plots]`."""

    def save_plot(self, path: str | PathLike[str]) -> None:
        """Write the plot as .svg, .png or .pdf. Needs the extra `localrank[plots]`."""
        save_figure(self.plot(), path)
