"""Plots in one style, drawn by matplotlib. They need the extra `localrank[plots]`."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.evaluation.plots.chart import Chart as Chart
    from localrank.evaluation.plots.chart import draw_charts as draw_charts
    from localrank.evaluation.plots.chart import write_charts as write_charts
    from localrank.evaluation.plots.kinds import Interval as Interval
    from localrank.evaluation.plots.kinds import draw_bars as draw_bars
    from localrank.evaluation.plots.kinds import draw_calibration as draw_calibration
    from localrank.evaluation.plots.kinds import draw_cosines as draw_cosines
    from localrank.evaluation.plots.kinds import draw_curves as draw_curves
    from localrank.evaluation.plots.kinds import draw_directions as draw_directions
    from localrank.evaluation.plots.kinds import draw_intervals as draw_intervals
    from localrank.evaluation.plots.style import save_figure as save_figure
else:
    __getattr__, __dir__ = on_use(__name__)
