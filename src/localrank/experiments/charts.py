"""Plots of curves and bars, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from localrank.data.atomic import atomic_write

# Okabe and Ito's colours, which all readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5B6470")
DASHES = ("-", "-", "-", "-", "--", "--", ":")

Curve = tuple[Sequence[float], Sequence[float]]
# A mean, its interval, and whether the mark is filled.
Interval = tuple[float, tuple[float, float], bool]


def save_curves(
    path: Path,
    panels: Mapping[str, Mapping[str, Curve]],
    x_label: str,
    y_label: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
) -> None:
    """Curves, a panel beside the other, with one legend for all."""
    figure, axes = _panels(len(panels))
    for panel, (title, curves) in zip(axes, panels.items(), strict=True):
        for place, (name, (x, y)) in enumerate(curves.items()):
            panel.plot(
                x,
                y,
                DASHES[place % len(DASHES)],
                color=COLOURS[place % len(COLOURS)],
                marker="o",
                markersize=3.5,
                label=name,
            )
        if log_x:
            panel.set_xscale("log", base=2)
            panel.xaxis.set_major_formatter("{x:g}")
        if log_y:
            panel.set_yscale("log")
        panel.set_title(title, fontsize=10, loc="left")
        panel.set_xlabel(x_label)
    _finish(path, figure, axes, y_label)


def save_bars(
    path: Path,
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    ticks: Sequence[str],
    y_label: str,
) -> None:
    """Bars in groups, one group for each tick and a bar in it for each name."""
    figure, axes = _panels(len(panels))
    for panel, (title, bars) in zip(axes, panels.items(), strict=True):
        width = 0.8 / len(bars)
        for place, (name, heights) in enumerate(bars.items()):
            x = np.arange(len(ticks)) + width * (place + 0.5) - 0.4
            panel.bar(x, heights, width, color=COLOURS[place % len(COLOURS)], label=name)
        panel.set_xticks(range(len(ticks)), ticks)
        panel.set_title(title, fontsize=10, loc="left")
    _finish(path, figure, axes, y_label)


def save_intervals(
    path: Path, panels: Mapping[str, Mapping[str, Sequence[Interval]]], ticks: Sequence[str]
) -> None:
    """Differences from zero, a row for each tick and a mark in it for each name."""
    figure, axes = _panels(len(panels))
    for panel, (title, marks) in zip(axes, panels.items(), strict=True):
        panel.axvline(0, color=COLOURS[-1], linewidth=1)
        for place, (name, intervals) in enumerate(marks.items()):
            colour, shift = COLOURS[place], 0.3 * (place - (len(marks) - 1) / 2)
            for row, (mean, ends, filled) in enumerate(intervals):
                y, fill = row + shift, colour if filled else "white"
                panel.plot(ends, [y, y], color=colour)
                shown = {"label": name} if row == 0 else {}
                panel.plot(mean, y, "os^"[place % 3], color=colour, markerfacecolor=fill, **shown)
        panel.set_yticks(range(len(ticks)), ticks)
        panel.invert_yaxis()
        panel.set_title(title, fontsize=10, loc="left")
    _finish(path, figure, axes, "")


def _panels(n_panels: int) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(4.2 * n_panels, 6), 3.8), facecolor="white", layout="constrained")
    return figure, list(np.atleast_1d(figure.subplots(1, n_panels)))


def _finish(path: Path, figure: Any, axes: Sequence[Any], y_label: str) -> None:
    for panel in axes:
        panel.grid(color="#ECEEF1")
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel(y_label)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower left", ncols=4, frameon=False, fontsize=9)
    with atomic_write(path) as file:
        figure.savefig(file, format="svg")
