"""The plot of a best-feature calibration, interactive and static."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from localrank.evaluation.plot_files import missing
from localrank.measures import Measure

if TYPE_CHECKING:
    from localrank.evaluation.calibration import Calibration

# Okabe and Ito's colours, which colour-blind readers tell apart too.
_BLUE, _VERMILION, _GREY, _PALE = "#0072B2", "#D55E00", "#5A5A5A", "#C9CED6"
_BOUND_COLOURS = (_GREY, "#A6761D", "#8D8DC0")
_METHOD_COLOURS = ("#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = {"circle": "o", "circle-open": "o", "square": "s", "diamond": "D"}
_METHOD_MARKERS = {"triangle-up": "^", "x": "X", "triangle-down": "v"}
_DASHES = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1, 1.5))}
_SPREAD = 0.05
_LEGEND_COLUMNS = 7
_TITLES = {
    "failure_level": "By failure level (the baseline's own score picks the queries)",
    "best_feature_score": "By the best feature's score (no method's noise picks them)",
}


@dataclass(frozen=True)
class _Line:
    """One method in one view; it stands at `x`, beside the others of its level."""

    name: str
    colour: str
    dash: str
    marker: str
    x: NDArray[np.float64]
    levels: NDArray[np.float64]
    n_queries: NDArray[np.int64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def level_text(measure: Measure, view: str) -> str:
    """What the levels of a view are."""
    if view == "best_feature_score":
        return "the best feature's score"
    terms = ("baseline", "best feature")
    return "failure level ({} − {})".format(*terms if measure.higher_is_better else terms[::-1])


def interactive(calibration: Calibration) -> Any:
    """A plotly figure of both views, with the number of queries at each level below."""
    try:
        from plotly.subplots import make_subplots
    except ImportError:
        raise missing("plotly") from None
    figure = make_subplots(
        2,
        2,
        row_heights=[0.8, 0.2],
        vertical_spacing=0.03,
        horizontal_spacing=0.06,
        shared_xaxes="columns",
        shared_yaxes="rows",
        subplot_titles=[f"<b>{_TITLES[view]}</b>" for view in calibration.levels],
    )
    for column, view in enumerate(calibration.levels, start=1):
        lines = _lines(calibration, view)
        for line in lines:
            figure.add_scatter(
                x=line.x,
                y=line.mean,
                error_y={
                    "array": line.high - line.mean,
                    "color": _transparent(line.colour, 0.45),
                    "thickness": 1.2,
                    "width": 0,
                },
                name=line.name,
                legendgroup=line.name,
                showlegend=column == 1,
                mode="lines+markers",
                line={"color": line.colour, "dash": line.dash, "width": 2.2},
                marker={"symbol": line.marker, "size": 7},
                text=_hover(line),
                hovertemplate="%{text}<extra></extra>",
                row=1,
                col=column,
            )
        figure.add_bar(
            x=lines[0].levels,
            y=lines[0].n_queries,
            text=lines[0].n_queries,
            textposition="outside",
            cliponaxis=False,
            width=0.08,
            marker_color=_PALE,
            showlegend=False,
            hovertemplate="%{y:,} queries at %{x:.1f}<extra></extra>",
            row=2,
            col=column,
        )
        figure.update_xaxes(title_text=level_text(calibration.measure, view), row=2, col=column)
    figure.update_yaxes(title_text=f"mean {calibration.measure}", range=[-0.02, 1.02], row=1, col=1)
    figure.update_yaxes(title_text="queries", row=2, col=1)
    figure.update_xaxes(dtick=0.2, gridcolor="#ECEEF1", zeroline=True, zerolinecolor="#AAB0B8")
    figure.update_yaxes(gridcolor="#ECEEF1", zeroline=False)
    words = _wrapped(calibration.verdict, 165)
    figure.add_annotation(
        text="<br>".join(words),
        xref="paper",
        yref="paper",
        x=0,
        y=0,
        yshift=-60,
        xanchor="left",
        yanchor="top",
        align="left",
        showarrow=False,
        font_size=12,
    )
    figure.update_layout(
        template="none",
        font={"family": "system-ui, -apple-system, 'Segoe UI', sans-serif", "size": 13},
        legend={"orientation": "h", "x": 0, "y": 1.08, "yanchor": "bottom"},
        margin={"l": 64, "r": 24, "t": 90, "b": 80 + 17 * len(words)},
        height=650 + 17 * len(words),
        bargap=0,
        hovermode="closest",
    )
    return figure


def static(calibration: Calibration) -> Any:
    """The same content as a matplotlib figure."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MultipleLocator
    except ImportError:
        raise missing("matplotlib") from None
    words = _wrapped(calibration.verdict, 180)
    legend_height = 0.25 * -(-len(calibration.per_query) // _LEGEND_COLUMNS)
    height = 6 + legend_height + 0.17 * len(words)
    figure = Figure(figsize=(12.5, height), facecolor="white")
    grid = figure.add_gridspec(
        2,
        2,
        height_ratios=[4, 1],
        left=0.06,
        right=0.985,
        top=1 - (0.5 + legend_height) / height,
        bottom=(0.72 + 0.17 * len(words)) / height,
        wspace=0.07,
        hspace=0.06,
    )
    for column, view in enumerate(calibration.levels):
        lines = _lines(calibration, view)
        upper = figure.add_subplot(grid[0, column])
        lower = figure.add_subplot(
            grid[1, column], sharex=upper, sharey=figure.axes[1] if column else None
        )
        for line in lines:
            upper.vlines(line.x, line.low, line.high, color=line.colour, alpha=0.45, linewidth=1.2)
            upper.plot(
                line.x,
                line.mean,
                color=line.colour,
                linestyle=_DASHES[line.dash],
                marker=(_MARKERS | _METHOD_MARKERS)[line.marker],
                fillstyle="none" if line.marker.endswith("open") else "full",
                markersize=4.5,
                linewidth=1.8,
                label=line.name,
            )
        bars = lower.bar(lines[0].levels, lines[0].n_queries, width=0.08, color=_PALE)
        lower.bar_label(bars, fontsize=7, color=_GREY, padding=1)
        lower.margins(y=0.2)
        upper.set_title(_TITLES[view], fontsize=10.5, fontweight="bold", loc="left")
        upper.set_ylim(-0.02, 1.02)
        lower.set_xlabel(level_text(calibration.measure, view))
        upper.xaxis.set_major_locator(MultipleLocator(0.2))
        upper.tick_params(labelbottom=False, labelleft=column == 0)
        lower.tick_params(labelleft=column == 0)
        if column == 0:
            upper.set_ylabel(f"mean {calibration.measure}")
            lower.set_ylabel("queries")
            figure.legend(
                *upper.get_legend_handles_labels(),
                loc="upper left",
                bbox_to_anchor=(0.05, 1 - 0.1 / height),
                ncols=_LEGEND_COLUMNS,
                frameon=False,
            )
        for axes in (upper, lower):
            axes.grid(color="#ECEEF1")
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
            axes.axvline(0, color="#AAB0B8", linewidth=1, zorder=0)
    figure.text(0.06, 0.12 / height, "\n".join(words), fontsize=8.5, va="bottom", linespacing=1.35)
    return figure


def _lines(calibration: Calibration, view: str) -> list[_Line]:
    rows = [row for row in calibration.rows if row["view"] == view]
    lines = []
    n_methods = 0
    for place, name in enumerate(calibration.per_query):
        colour, dash, marker = _VERMILION, "solid", "circle"
        if name == "best feature":
            colour, marker = _BLUE, "square"
        elif name == "control":
            dash, marker = "dot", "circle-open"
        elif name in calibration.bounds:
            colour = _BOUND_COLOURS[calibration.bounds.index(name) % len(_BOUND_COLOURS)]
            dash, marker = "dash", "diamond"
        elif name != "baseline":
            colour = _METHOD_COLOURS[n_methods % len(_METHOD_COLOURS)]
            marker = tuple(_METHOD_MARKERS)[n_methods % len(_METHOD_MARKERS)]
            n_methods += 1
        columns = {
            key: np.array([row[key] for row in rows if row["method"] == name])
            for key in ("level", "n_queries", "mean", "low", "high")
        }
        aside = _SPREAD * (place / (len(calibration.per_query) - 1) - 0.5)
        x = columns["level"] + aside
        lines.append(_Line(name, colour, dash, marker, x, *columns.values()))
    return lines


def _hover(line: _Line) -> list[str]:
    texts = []
    for level, n, mean, low, high in zip(
        line.levels, line.n_queries, line.mean, line.low, line.high, strict=True
    ):
        interval = "" if np.isnan(low) else f" [{low:.3f}, {high:.3f}]"
        queries = "1 query" if n == 1 else f"{n:,} queries"
        texts.append(f"<b>{line.name}</b><br>{mean:.3f}{interval}<br>{queries} at {level:.1f}")
    return texts


def _wrapped(text: str, width: int) -> list[str]:
    return [
        piece
        for line in text.splitlines()
        for piece in textwrap.wrap(line, width, subsequent_indent="    ")
    ]


def _transparent(colour: str, alpha: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"
