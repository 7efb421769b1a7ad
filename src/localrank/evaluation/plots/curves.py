from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from localrank.evaluation.plots.style import add_legend, look, styled, titled_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve = tuple[Sequence[float], Sequence[float]]


@styled
def draw_curves(
    panels: Mapping[str, Mapping[str, Curve]],
    x_label: str,
    y_label: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
) -> Figure:
    """Curves in one or more panels.

    Parameters
    ----------
    panels : dict from title to dict from name to (x, y)
        Two sequences of equal length for each curve.
    x_label, y_label : str
    log_x, log_y : bool, default=False
        Whether an axis is logarithmic; x has base 2.

    Examples
    --------
    >>> figure = draw_curves({"MQ2008": {"a": ([1, 2, 4], [0.3, 0.4, 0.6])}}, "clusters", "MAP")
    >>> figure.axes[0].lines[0].get_label()
    'a'
    """
    figure, axes = titled_panels(panels)
    for panel, curves in zip(axes, panels.values(), strict=True):
        for place, (name, (x, y)) in enumerate(curves.items()):
            panel.plot(x, np.asarray(y, dtype=float), label=name, **look(place))
        if log_x:
            panel.set_xscale("log", base=2)
            panel.xaxis.set_major_formatter("{x:g}")
        if log_y:
            panel.set_yscale("log")
        panel.set_xlabel(x_label)
    axes[0].set_ylabel(y_label)
    add_legend(figure)
    return figure
