"""Colours for light and dark ground, and how a figure becomes a small SVG file."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from localrank._base.arrays import Array as Array
from localrank.evaluation.plots.style import styled

FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',Helvetica,Arial,sans-serif"


@dataclass(frozen=True)
class Ink:
    """The colours of a picture. They are the report page's."""

    name: str
    text: str
    muted: str
    rule: str
    ground: str
    colours: tuple[str, ...]


LIGHT = Ink(
    "light",
    text="#1a2029",
    muted="#596474",
    rule="#d9dfe7",
    ground="#ffffff",
    colours=("#0072b2", "#d55e00", "#00855f", "#b8558f", "#a87400", "#6247aa"),
)
DARK = Ink(
    "dark",
    text="#e8ecf1",
    muted="#a3adbb",
    rule="#333c49",
    ground="#0e1116",
    colours=("#56b4e9", "#f4814a", "#2dc597", "#e39ac6", "#edb73d", "#b79bf0"),
)
INKS = (LIGHT, DARK)

Picture = Callable[[Ink], Figure]


@styled
def draw(picture: Picture, ink: Ink) -> str:
    """The SVG text of a picture, the same whenever it is drawn."""
    colours = dict.fromkeys(
        ("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), ink.muted
    )
    style = colours | {
        "text.color": ink.text,
        "axes.titlecolor": ink.text,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
        "legend.labelcolor": ink.text,
        "axes.grid": False,
        "axes.titlesize": 12,
        "axes.titlepad": 8,
        "axes.labelsize": 11,
        "xtick.labelsize": 10,
        "ytick.labelsize": 10,
        "legend.fontsize": 10.5,
        "font.size": 11,
        "lines.linewidth": 2,
    }
    with rc_context(style):
        file = io.StringIO()
        no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        picture(ink).savefig(file, format="svg", metadata=no_metadata)
    return _compact(file.getvalue())


def _compact(svg: str) -> str:
    """Hundredths of a point are enough, and the reader's fonts serve."""
    svg = svg[svg.index("<svg") :]
    for waste in (
        r"<metadata>.*?</metadata>",
        r"<!--.*?-->",
        r' transform="rotate\(-0 [^"]*"',
        r"font-family: [^;\"]*; ",
        r' id="(?:figure|patch|line2d|text|PathCollection|FillBetweenPolyCollection)_\d+"',
    ):
        svg = re.sub(waste, "", svg, flags=re.DOTALL)
    svg = svg.replace("</style>", f"text{{font-family: {FONTS}}}</style>", 1)
    svg = re.sub(r"-?\d+\.\d{2,}", _rounded, svg)
    return re.sub(r"\s*\n\s*", "\n", svg)


def _rounded(number: re.Match[str]) -> str:
    text = f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def panels(
    n_columns: int = 1,
    n_rows: int = 1,
    *,
    height: float = 2.9,
    width: float = 6.6,
    heights: tuple[float, ...] | None = None,
) -> tuple[Figure, list[Axes]]:
    """A figure as wide as a page's text, and its panels from left to right."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, height_ratios=heights)
    return figure, list(axes.ravel())


def bare(axes: Axes, title: str | None = None) -> Axes:
    """A panel without ticks, for places that have no units."""
    axes.set(xticks=[], yticks=[])
    if title is not None:
        axes.set_title(title)
    return axes


def without_frame(axes: Axes, title: str | None = None) -> Axes:
    """A panel with neither ticks nor lines around it."""
    axes.spines[:].set_visible(False)
    return bare(axes, title)


def dots(
    axes: Axes,
    points: Array,
    colour: str,
    ink: Ink,
    *,
    size: float = 34,
    filled: Any = True,
    **options: Any,
) -> None:
    """Documents as dots. Those that are not filled are rings."""
    shown = np.broadcast_to(np.asarray(filled, dtype=bool), len(points))
    style = {"s": size, "edgecolors": colour, "linewidths": 1.3, "zorder": 3} | options
    axes.scatter(*points[shown].T, facecolors=colour, **style)
    if not shown.all():
        axes.scatter(*points[~shown].T, facecolors=ink.ground, **style)


def arrow(
    axes: Axes,
    start: Any,
    end: Any,
    colour: str,
    *,
    width: float = 2,
    style: str = "-|>",
    **options: Any,
) -> None:
    """An arrow between two points of the panel."""
    look = {"arrowstyle": f"{style},head_width=0.28,head_length=0.5", "color": colour}
    look |= {"linewidth": width, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 14} | options
    axes.annotate("", xy=tuple(end), xytext=tuple(start), arrowprops=look, zorder=4)


def ellipse(axes: Axes, centre: Any, covariance: Array, radius: float, **options: Any) -> None:
    """Where the distance to the centre in the metric of this covariance is the radius."""
    variances, axes_of = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(axes_of[1, 1], axes_of[0, 1]))
    width, height = 2 * radius * np.sqrt(variances[::-1])
    axes.add_patch(Ellipse(tuple(centre), width, height, angle=float(angle), **options))


def write(text: str, path: Path) -> None:
    """Write a file where it differs, so that a site that watches is not built again for nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
