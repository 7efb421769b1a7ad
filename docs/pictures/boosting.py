"""Models that are built step by step: thresholds, trees along gradients, steps along features."""

from __future__ import annotations

import numpy as np
from ink import Array, Ink, Picture, arrow, bare, dots, panels, without_frame
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from localrank.data import RankingDataset
from localrank.measures import NDCG
from localrank.rankers import RankBoost


def rank_boost(ink: Ink) -> Figure:
    """The score of one feature after 1, 4 and 60 rounds, and the loss by round."""
    rng = np.random.default_rng(6)
    values = rng.normal(size=(40, 12))
    labels = np.digitize(
        np.tanh(2 * values) + rng.normal(scale=0.45, size=values.shape), (0.2, 0.8)
    )
    queries = RankingDataset.from_arrays(
        values.reshape(-1, 1), labels.ravel(), np.repeat(np.arange(40), 12)
    )
    grid = np.linspace(-2.2, 2.2, 240)
    model = RankBoost(60).fit(queries)
    figure, (left, right) = panels(2, height=2.9)
    for n_rounds, colour in zip(
        (1, 4, 60), (ink.muted, ink.colours[1], ink.colours[0]), strict=True
    ):
        kept = slice(0, n_rounds)
        heights = (grid[:, None] > model.thresholds_[kept]) @ model.alphas_[kept]
        left.plot(grid, heights, color=colour, label=f"{n_rounds} round" + "s" * (n_rounds > 1))
    left.set(title="Sum of thresholds H(x)", xlabel="feature", yticks=[], xticks=[-2, 0, 2])
    left.legend(loc="upper left")
    right.plot(np.arange(1, len(model.losses_) + 1), model.losses_, color=ink.colours[0])
    right.set(title="Loss of the pairs", xlabel="round", xticks=[1, 20, 40, 60], ylim=(0, None))
    return figure


def lambdamart(ink: Ink) -> Figure:
    """A ranked list with its gradients, and what an exchange of two documents would change."""
    labels = np.array([0, 2, 0, 1, 0, 0, 2, 0])
    scores = np.array([1.9, 1.5, 1.2, 0.8, 0.5, 0.1, -0.3, -0.8])
    discounts = 1 / np.log2(np.arange(len(labels)) + 2)
    gains = 2.0**labels - 1
    ideal = np.sort(gains)[::-1] @ discounts
    changes = (
        np.abs(np.subtract.outer(gains, gains) * np.subtract.outer(discounts, discounts)) / ideal
    )
    pushes = changes / (1 + np.exp(np.subtract.outer(scores, scores)))
    better = labels[:, None] > labels
    lambdas = (pushes * better).sum(axis=1) - (pushes * better).sum(axis=0)

    figure, (left, right) = panels(2, height=3.3)
    without_frame(left, "Gradients λ of a list")
    rows = -np.arange(len(labels))
    tones = (ink.muted, ink.colours[4], ink.colours[0])
    for row, label, step in zip(rows, labels, lambdas, strict=True):
        dots(
            left,
            np.array([[0.0, row]]),
            tones[label],
            ink,
            size=230,
            filled=label > 0,
            linewidths=1.8,
        )
        left.text(
            0,
            row,
            str(label),
            ha="center",
            va="center_baseline",
            fontweight="bold",
            color=ink.ground if label else ink.text,
            zorder=5,
        )
        colour = ink.colours[2] if step > 0 else ink.colours[1]
        arrow(left, (0.45, row), (0.45 + 6 * abs(step), row), colour, width=3)
        left.text(
            0.6 + 6 * abs(step),
            row,
            "up" if step > 0 else "down",
            color=colour,
            va="center_baseline",
        )
    left.set(xlim=(-0.4, 4.2), ylim=(-7.6, 0.6))
    shown = np.where(better | better.T, changes, np.nan)
    right.pcolormesh(shown, cmap=_shades(ink), vmin=0, edgecolors=ink.ground, linewidth=1)
    right.invert_yaxis()
    right.set_aspect("equal")
    right.set(
        title="|ΔNDCG| of an exchange",
        xlabel="place",
        ylabel="place",
        xticks=np.arange(8) + 0.5,
        yticks=np.arange(8) + 0.5,
    )
    right.spines[:].set_visible(False)
    right.tick_params(length=0)
    right.set_xticklabels(np.arange(1, 9))
    right.set_yticklabels(np.arange(1, 9))
    for row, column in ((0, 6), (6, 0)):
        value = f"{changes[row, column]:.2f}"
        right.text(
            column + 0.5, row + 0.5, value, ha="center", va="center", fontsize=9, color=ink.ground
        )
    return figure


def _shades(ink: Ink) -> LinearSegmentedColormap:
    return LinearSegmentedColormap.from_list("shades", [ink.ground, ink.colours[0]])


def ranklib(ink: Ink) -> Figure:
    """NDCG along one weight: constant between the places where two documents are exchanged."""
    rng = np.random.default_rng(19)
    features = rng.normal(size=(3, 7, 2))
    labels = np.digitize(features @ (1, 0.9) + rng.normal(scale=0.6, size=(3, 7)), (0.3, 1.3))
    queries = RankingDataset.from_arrays(
        features.reshape(-1, 2), labels.ravel(), np.repeat(np.arange(3), 7)
    )
    one, two = queries.features.T
    switches = np.concatenate([_switches(features[query]) for query in range(3)])
    switches = np.sort(switches[np.abs(switches) < 3])
    edges = np.concatenate([[-3], switches, [3]])
    steps = (edges[:-1] + edges[1:]) / 2
    values = np.array([NDCG(5).mean(queries, one + step * two) for step in steps])
    best = int(values.argmax())
    figure, (axes,) = panels(height=2.9, width=5.6)
    axes.stairs(values, edges, color=ink.colours[0], linewidth=2, baseline=None)
    axes.plot(
        switches,
        np.full(len(switches), values.min() - 0.02),
        "|",
        color=ink.muted,
        markersize=7,
        markeredgewidth=0.8,
    )
    start = NDCG(5).mean(queries, one)
    axes.plot(0, start, marker="o", markersize=9, color=ink.text, markeredgecolor=ink.ground)
    axes.plot(
        steps[best],
        values[best],
        marker="*",
        markersize=18,
        color=ink.colours[1],
        markeredgecolor=ink.ground,
    )
    axes.annotate("start", (0, start), xytext=(-8, 8), textcoords="offset points", ha="right")
    axes.annotate(
        "best step",
        (steps[best], values[best]),
        xytext=(0, 12),
        textcoords="offset points",
        color=ink.colours[1],
        ha="center",
    )
    axes.set(xlabel="step t of one weight", ylabel="mean NDCG@5", xticks=[-3, 0, 3])
    axes.margins(y=0.16)
    return figure


def _switches(features: Array) -> Array:
    """Steps at which two documents of a query have equal scores."""
    first, second = np.triu_indices(len(features), 1)
    gaps = features[first] - features[second]
    return -gaps[:, 0] / gaps[:, 1]


def symmetric_trees(ink: Ink) -> Figure:
    """A free tree and a symmetric one of three questions, as cuts of a plane."""
    rng = np.random.default_rng(4)
    points = rng.uniform(0.03, 0.97, size=(60, 2))
    figure, (left, right) = panels(2, height=3.3)
    # Each cut of a free tree divides one region. Lines are (x, x, y, y).
    free = [(0.45, 0.45, 0, 1), (0.45, 1, 0.62, 0.62), (0.78, 0.78, 0.62, 1)]
    whole = [(0.45, 0.45, 0, 1), (0, 1, 0.62, 0.62), (0.78, 0.78, 0, 1)]
    for axes, cuts, title in (
        (left, free, "Free: each part asks anew"),
        (right, whole, "Symmetric: all parts ask the same"),
    ):
        axes.scatter(*points.T, s=9, color=ink.muted, linewidths=0, alpha=0.6)
        for colour, cut in zip(ink.colours, cuts, strict=False):
            axes.plot(cut[:2], cut[2:], color=colour)
        bare(axes, title).set(xlim=(0, 1), ylim=(0, 1), xlabel="feature 1", ylabel="feature 2")
    for x, first, third in ((0.22, 0, 0), (0.615, 1, 0), (0.89, 1, 1)):
        for y, second in ((0.31, 0), (0.81, 1)):
            bits = zip((first, second, third), (-0.045, 0.0, 0.045), ink.colours, strict=False)
            for bit, shift, colour in bits:
                right.text(
                    x + shift, y, str(bit), color=colour, ha="center", va="center", weight="bold"
                )
    return figure


PICTURES: dict[str, Picture] = {
    "rank-boost": rank_boost,
    "lambdamart-gbrt": lambdamart,
    "symmetric-trees": symmetric_trees,
    "ranklib": ranklib,
}
