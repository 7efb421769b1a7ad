"""Groups around queries: neighbourhoods that overlap, and blends of the nearest."""

from __future__ import annotations

import numpy as np
from ink import Array, Ink, Picture, bare, dots, panels
from matplotlib.figure import Figure
from matplotlib.patches import Circle


def _queries() -> Array:
    """Training queries as points, spread evenly enough to be told apart."""
    rng = np.random.default_rng(12)
    kept: list[Array] = []
    while len(kept) < 44:
        point = rng.uniform((0, 0), (4.4, 3))
        if all(np.hypot(*(point - other)) > 0.3 for other in kept):
            kept.append(point)
    return np.array(kept)


def query_neighbours(ink: Ink) -> Figure:
    """Three of the neighbourhoods, and the one that a new query uses."""
    queries = _queries()
    new = np.array([2.62, 1.72])
    figure, (axes,) = panels(height=3.3, width=5.2)
    bare(axes).set_aspect("equal")
    axes.set(
        xlabel="queries by the mean of their top documents", xlim=(-0.2, 4.6), ylim=(-0.2, 3.2)
    )
    dots(axes, queries, ink.muted, ink, size=22, linewidths=0)
    nearest = int(np.argmin(np.hypot(*(queries - new).T)))
    others = [int(np.argmin(np.hypot(*(queries - spot).T))) for spot in ((1.3, 1.2), (3.4, 1.0))]
    for colour, centre in zip(ink.colours, (nearest, *others), strict=False):
        distances = np.hypot(*(queries - queries[centre]).T)
        members = np.argsort(distances)[:8]
        radius = distances[members].max() + 0.1
        axes.add_patch(Circle(queries[centre], radius, facecolor=colour, alpha=0.14, linewidth=0))
        axes.add_patch(Circle(queries[centre], radius, fill=False, edgecolor=colour, linewidth=1.8))
        dots(axes, queries[[centre]], colour, ink, size=75, linewidths=0, zorder=4)
    axes.plot(*np.transpose([new, queries[nearest]]), color=ink.text, linewidth=1.8, zorder=4)
    dots(axes, new[None], ink.text, ink, size=150, filled=False, linewidths=2, zorder=5)
    axes.text(*new, "?", ha="center", va="center_baseline", fontweight="bold", zorder=6)
    return figure


def query_blend(ink: Ink) -> Figure:
    """The nearest queries of a new one, and the weight that falls with distance."""
    queries, new, k = _queries(), np.array([2.55, 1.35]), 7
    distances = np.hypot(*(queries - new).T)
    nearest = np.argsort(distances)[:k]
    apart = np.sort(np.hypot(*(queries[:, None] - queries[None]).transpose(2, 0, 1)), axis=1)
    bandwidth = float(np.median(apart[:, k]))
    weights = np.exp(-distances / bandwidth)
    colour = ink.colours[0]

    figure, (left, right) = panels(2, height=2.9)
    bare(left, "A new query and its 7 nearest").set_aspect("equal")
    dots(left, queries, ink.muted, ink, size=14, linewidths=0)
    for query in nearest:
        left.plot(
            *np.transpose([new, queries[query]]), color=colour, linewidth=12 * weights[query] ** 2
        )
        dots(left, queries[[query]], colour, ink, size=60, linewidths=0)
    dots(left, new[None], ink.text, ink, size=150, filled=False, linewidths=2, zorder=5)
    left.text(*new, "?", ha="center", va="center_baseline", fontweight="bold", zorder=6)
    grid = np.linspace(0, 2.2, 60)
    right.plot(grid, np.exp(-grid / bandwidth), color=ink.muted)
    shown = np.flatnonzero(distances < 2.2)
    dots(
        right,
        np.column_stack([distances, weights])[np.setdiff1d(shown, nearest)],
        ink.muted,
        ink,
        filled=False,
        size=16,
    )
    dots(right, np.column_stack([distances, weights])[nearest], colour, ink, size=48, linewidths=0)
    right.set(
        title="Weight of each model",
        xlabel="distance d",
        ylabel="exp(−d / h)",
        ylim=(0, 1.02),
        xlim=(0, 2.2),
        yticks=[0, 0.5, 1],
    )
    return figure


PICTURES: dict[str, Picture] = {"query-neighbours": query_neighbours, "query-blend": query_blend}
