"""What all plots share: colours, panels, legend, and the files they are written to."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ParamSpec, TypeVar

from localrank.data.atomic import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which all readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5B6470")
PALE = "#C9CED6"
# One fewer than colours: 42 lines differ in one or the other.
MARKERS = "so^XvD"
# What each format must be told to leave its date out.
DATELESS: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "png": {},
    "pdf": {"CreationDate": None},
}
STYLE = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "grid.color": "#ECEEF1",
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "savefig.dpi": 160,
    # Letters as text make small files; a fixed salt gives the same file again.
    "svg.fonttype": "none",
    "svg.hashsalt": "localrank",
}

P = ParamSpec("P")
T = TypeVar("T")


def styled(function: Callable[P, T]) -> Callable[P, T]:
    """Run a function that needs matplotlib in this style, whatever the user's is."""

    @wraps(function)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            from matplotlib import style
        except ImportError:
            raise ImportError(
                "Plots need matplotlib. Install it with pip install 'localrank[plots]'."
            ) from None
        with style.context(["default", STYLE]):
            return function(*args, **kwargs)

    return in_style


def look(place: int) -> dict[str, Any]:
    """Colour and marker of a line; a negative place counts from the end."""
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}


def titled_panels(titles: Collection[str], width: float = 4.2) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side, each so many inches wide."""
    from localrank.plots.notebook import NotebookFigure

    figure = NotebookFigure(figsize=(max(width * len(titles), 6), 3.8))
    axes = list(figure.subplots(1, len(titles), squeeze=False)[0])
    for panel, title in zip(axes, titles, strict=True):
        panel.set_title(title)
    return figure, axes


def add_legend(figure: Figure, loc: Any = "outside lower left", n_columns: int = 4) -> None:
    """One legend for all panels, of the names in the first."""
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc=loc, ncols=n_columns)


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure in the format its name ends in: .svg, .png or .pdf."""
    ending = Path(path).suffix.lower()
    if ending[1:] not in DATELESS:
        raise ValueError(f"{path}: a plot must end in .svg, .png or .pdf.")
    with atomic_write(path) as file:
        write_figure(figure, file, ending[1:])


@styled
def write_figure(figure: Figure, file: BinaryIO, file_format: str) -> None:
    """Write a figure as "svg", "png" or "pdf", without a date: the same plot is the same file."""
    figure.savefig(file, format=file_format, metadata=DATELESS[file_format])
