"""What all plots share: colours, panels, the legend, and files."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ParamSpec, TypeVar

from localrank.data._atomic import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which readers with colour blindness can tell apart, and a grey. The pages
# of the report and of the server have the same.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5B6470")
PALE = "#C9CED6"
# More would be too small to read on a page.
PANELS_IN_A_ROW = 2
# One fewer than colours, so that 42 lines differ in colour or marker.
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
    # Text as text makes small files. A fixed salt makes the same file each time.
    "svg.fonttype": "none",
    "svg.hashsalt": "localrank",
}

P = ParamSpec("P")
T = TypeVar("T")


def styled(function: Callable[P, T]) -> Callable[P, T]:
    """Run a function in this style, whatever the user's is. Refuse if matplotlib is missing."""

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
    """Colour and marker of a line. A negative place counts from the end."""
    return {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, that notebooks show."""
    from localrank.evaluation.plots._notebook import NotebookFigure

    return NotebookFigure(figsize=(width, height))


def titled_panels(
    titles: Collection[str], width: float = 4.2, y_label: str = ""
) -> tuple[Figure, list[Axes]]:
    """A figure of panels, two in a row. `width` is that of a panel, in inches."""
    n_columns = min(len(titles), PANELS_IN_A_ROW)
    n_rows = -(-len(titles) // n_columns)
    figure = new_figure(max(width * n_columns, 6), 3.8 * n_rows)
    axes = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    for empty in axes[len(titles) :]:
        empty.remove()
    axes = axes[: len(titles)]
    for place, (panel, title) in enumerate(zip(axes, titles, strict=True)):
        panel.set_title(title, wrap=True)
        if place % n_columns == 0:
            panel.set_ylabel(y_label)
    return figure, axes


def add_legend(figure: Figure, loc: Any = "outside lower left", n_columns: int = 4) -> None:
    """Add one legend for all panels, with the names of the first."""
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc=loc, ncols=n_columns)


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure to a file that ends in .svg, .png or .pdf.

    The file has no date inside: the same figure gives the same file.

    Examples
    --------
    >>> import tempfile
    >>> from localrank.evaluation.plots import draw_bars
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(draw_bars({"": {"a": [1, 2]}}, ["x", "y"], "mean"), f"{folder}/bars.svg")
    """
    ending = Path(path).suffix.lower()
    if ending[1:] not in DATELESS:
        raise ValueError(f"{path}: a plot must end in .svg, .png or .pdf.")
    with atomic_write(path) as file:
        write_figure(figure, file, ending[1:])


@styled
def write_figure(figure: Figure, file: BinaryIO, file_format: str) -> None:
    """Write a figure as "svg", "png" or "pdf", without a date."""
    figure.savefig(file, format=file_format, metadata=DATELESS[file_format])
