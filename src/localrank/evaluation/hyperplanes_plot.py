"""Plots of hyperplanes' cosines and order error rates, interactive and static."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from localrank.evaluation.plot_files import missing

if TYPE_CHECKING:
    from localrank.evaluation.hyperplanes import HyperplaneCosines, OrderErrorRates

# Okabe and Ito's colours, which colour-blind readers tell apart too.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5A5A5A")
_NEGATIVE, _ZERO, _POSITIVE = "#D55E00", "#FFFFFF", "#0072B2"
_COSINES = "Cosine between hyperplanes"
_RATES = "Document pairs in the wrong order"
_BARS = 0.8  # of the width between label pairs


def pair_names(pairs: NDArray[np.float64]) -> list[str]:
    """How pairs of labels are called: "2 > 1" is labels 2 and 1."""
    return [f"{high:g} > {low:g}" for high, low in pairs]


def interactive_cosines(cosines: HyperplaneCosines) -> Any:
    """A plotly heat map."""
    try:
        from plotly.graph_objects import Figure, Heatmap
    except ImportError:
        raise missing("plotly") from None
    names = list(cosines.names)
    heat = Heatmap(
        x=names,
        y=names,
        z=cosines.cosines,
        zmin=-1,
        zmax=1,
        colorscale=[[0, _NEGATIVE], [0.5, _ZERO], [1, _POSITIVE]],
        texttemplate="%{z:.2f}",
        hovertemplate="<b>%{y}</b> and <b>%{x}</b><br>%{z:.3f}<extra></extra>",
        xgap=2,
        ygap=2,
    )
    figure = Figure(heat)
    side = 260 + 55 * len(names)
    figure.update_layout(**_layout(_COSINES), width=side + 60, height=side)
    figure.update_yaxes(autorange="reversed", type="category", automargin=True)
    figure.update_xaxes(side="top", type="category")
    return figure


def static_cosines(cosines: HyperplaneCosines) -> Any:
    """The same content as a matplotlib figure."""
    try:
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.figure import Figure
    except ImportError:
        raise missing("matplotlib") from None
    n = len(cosines.names)
    figure = Figure(figsize=(2.2 + 0.7 * n, 1.6 + 0.7 * n), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    colours = LinearSegmentedColormap.from_list("", [_NEGATIVE, _ZERO, _POSITIVE])
    image = axes.imshow(cosines.cosines, cmap=colours, vmin=-1, vmax=1)
    for (row, column), value in np.ndenumerate(cosines.cosines):
        colour = "white" if abs(value) > 0.6 else "black"
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=9)
    axes.set_xticks(range(n), cosines.names)
    axes.set_yticks(range(n), cosines.names)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.set_title(_COSINES, fontsize=10.5, fontweight="bold", loc="left")
    figure.colorbar(image, shrink=0.8)
    return figure


def interactive_rates(rates: OrderErrorRates) -> Any:
    """A plotly chart with a group of bars for each pair of labels."""
    try:
        from plotly.graph_objects import Figure
    except ImportError:
        raise missing("plotly") from None
    figure = Figure()
    for place, (name, values) in enumerate(rates.rates.items()):
        figure.add_bar(
            x=_ticks(rates, "<br>"),
            y=values,
            name=name,
            marker_color=_COLOURS[place % len(_COLOURS)],
            text=[f"{value:.3f}" for value in values],
            textposition="outside",
            hovertemplate=f"<b>{name}</b><br>%{{y:.4f}} of %{{x}}<extra></extra>",
        )
    figure.update_layout(
        **_layout(_RATES),
        barmode="group",
        bargap=1 - _BARS,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        height=480,
    )
    figure.update_yaxes(title_text="order error rate", gridcolor="#ECEEF1", rangemode="tozero")
    figure.update_xaxes(title_text="labels", type="category")
    return figure


def static_rates(rates: OrderErrorRates) -> Any:
    """The same content as a matplotlib figure."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing("matplotlib") from None
    n_bars = len(rates.n_pairs) * len(rates.rates)
    figure = Figure(
        figsize=(max(6.0, 2 + 0.45 * n_bars), 4.5), facecolor="white", layout="constrained"
    )
    axes = figure.add_subplot()
    width = _BARS / len(rates.rates)
    for place, (name, values) in enumerate(rates.rates.items()):
        bars = axes.bar(
            np.arange(len(values)) + width * (place + 0.5) - _BARS / 2,
            values,
            width,
            label=name,
            color=_COLOURS[place % len(_COLOURS)],
        )
        axes.bar_label(bars, fmt="%.3f", fontsize=7, padding=1)
    axes.set_xticks(range(len(rates.n_pairs)), _ticks(rates, "\n"))
    axes.set_ylabel("order error rate")
    axes.set_title(_RATES, fontsize=10.5, fontweight="bold", loc="left")
    axes.grid(axis="y", color="#ECEEF1")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower left", ncols=4, frameon=False)
    return figure


def _ticks(rates: OrderErrorRates, break_: str) -> list[str]:
    names = pair_names(rates.label_pairs)
    return [f"{name}{break_}{n:,} pairs" for name, n in zip(names, rates.n_pairs, strict=True)]


def _layout(title: str) -> dict[str, Any]:
    return {
        "template": "none",
        "title": {"text": f"<b>{title}</b>", "font": {"size": 15}, "x": 0.02},
        "font": {"family": "system-ui, -apple-system, 'Segoe UI', sans-serif", "size": 13},
        "margin": {"l": 90, "r": 24, "t": 110, "b": 70},
    }
