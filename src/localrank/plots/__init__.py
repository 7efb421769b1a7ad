"""Plots by matplotlib, of the extra `localrank[plots]`, in one style."""

from localrank.plots.bars import draw_bars
from localrank.plots.calibration import draw_calibration
from localrank.plots.cosines import draw_cosines
from localrank.plots.curves import draw_curves
from localrank.plots.intervals import Interval, draw_intervals
from localrank.plots.style import save_figure

__all__ = [
    "Interval",
    "draw_bars",
    "draw_calibration",
    "draw_cosines",
    "draw_curves",
    "draw_intervals",
    "save_figure",
]
