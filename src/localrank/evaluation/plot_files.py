"""Plots in files: interactive pages by plotly, images by matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from localrank.data.atomic import atomic_write


def save_plot(
    content: Any,
    interactive: Callable[[Any], Any],
    static: Callable[[Any], Any],
    path: str | PathLike[str],
) -> None:
    """Write a plot in the format its name asks for.

    Parameters
    ----------
    content : object
        What is drawn.
    interactive, static : callable
        Make a figure of plotly, or of matplotlib, of the content.
    path : path
        Ends in .html, .svg, .png or .pdf.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".html":
        page = interactive(content).to_html(include_plotlyjs=True, full_html=True)
        with atomic_write(path) as file:
            file.write(page.encode())
    elif suffix in (".svg", ".png", ".pdf"):
        figure = static(content)
        with atomic_write(path) as file:
            figure.savefig(file, format=suffix[1:], dpi=160)
    else:
        raise ValueError(f"{path}: a plot must end in .html, .svg, .png or .pdf.")


def missing(library: str) -> ImportError:
    """The error of a plotting library that is not installed."""
    return ImportError(
        f"This plot needs {library}. Install it with pip install 'localrank[plots]'."
    )
