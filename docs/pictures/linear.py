"""Linear models: pairs and margins, average precision, softmax, hyperplanes, products."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from ink import Array, Ink, Picture, arrow, bare, dots, panels
from matplotlib.figure import Figure

from localrank.data import RankingDataset
from localrank.rankers import ListwiseLinear, MultipleHyperplaneRanker, Quadratic, RankSVM


def rank_svm(ink: Ink) -> Figure:
    """Two queries and some of their pairs; all pairs as differences, with the margin."""
    rng = np.random.default_rng(14)
    standard = rng.normal(size=(2, 9, 2))
    relevant = standard @ (0.9, 0.45) + rng.normal(scale=0.25, size=(2, 9)) > 0.45
    features = standard + np.array([(-2.6, 0.8), (2.4, -0.6)])[:, None]
    queries = RankingDataset.from_arrays(
        features.reshape(-1, 2), relevant.ravel(), np.repeat([0, 1], 9)
    )
    weights = RankSVM(C=20, scaling=None).fit(queries).coef_

    figure, (left, right) = panels(2, height=3.1)
    bare(left, "Pairs within two queries").set_aspect("equal", adjustable="datalim")
    bare(right, "All pairs as differences").set_aspect("equal", adjustable="datalim")
    differences = []
    for query, colour in enumerate(ink.colours[:2]):
        good, bad = features[query][relevant[query]], features[query][~relevant[query]]
        for better in good:
            for worse in bad:
                left.plot(*np.transpose([worse, better]), color=colour, linewidth=0.7, alpha=0.5)
                differences.append(better - worse)
        dots(left, features[query], colour, ink, filled=relevant[query], size=42)
    gaps = np.array(differences)
    inside = gaps @ weights < 1
    dots(right, gaps[~inside], ink.muted, ink, size=18, linewidths=0)
    dots(right, gaps[inside], ink.colours[4], ink, size=26, linewidths=0)
    unit, length = weights / np.linalg.norm(weights), 1 / np.linalg.norm(weights)
    across = np.array([-unit[1], unit[0]])
    for distance, look in ((0, "-"), (length, "--")):
        ends = [distance * unit + side * across for side in (-2.6, 2.6)]
        right.plot(*np.transpose(ends), color=ink.text, linestyle=look, linewidth=1.6)
    arrow(right, (0, 0), 1.9 * unit, ink.text, width=2.4)
    right.annotate(
        "w", 2.0 * unit, xytext=(4, 0), textcoords="offset points", va="center", fontweight="bold"
    )
    return figure


def svm_map(ink: Ink) -> Figure:
    """The loss 1 - AP of one query along a line of models, and the bound that is minimised."""
    features = np.array([(2.0, 0.4), (0.3, 1.7), (1.2, 0.9), (1.5, -0.6), (-0.2, 1.2), (0.4, 0.1)])
    n_relevant = 2
    rankings = [np.array(places) for places in combinations(range(len(features)), n_relevant)]
    steps = np.linspace(-1.5, 3.5, 401)
    loss, bound = np.empty_like(steps), np.empty_like(steps)
    for i, step in enumerate(steps):
        scores = features @ (1, step)
        good, bad = np.sort(scores[:n_relevant])[::-1], np.sort(scores[n_relevant:])[::-1]
        order = np.argsort(-scores)
        loss[i] = 1 - _average_precision(np.flatnonzero(order < n_relevant))
        ideal = good.mean() - bad.mean()
        bound[i] = max(
            1 - _average_precision(places) + _agreement(places, good, bad) - ideal
            for places in rankings
        )
    figure, (axes,) = panels(height=3.0, width=5.4)
    axes.plot(steps, bound, color=ink.colours[1], linewidth=2.4)
    axes.plot(steps, loss, color=ink.colours[0], linewidth=2.4, drawstyle="steps-mid")
    best = int(bound.argmin())
    axes.plot(
        steps[best],
        bound[best],
        marker="o",
        markersize=9,
        color=ink.colours[1],
        markeredgecolor=ink.ground,
    )
    axes.annotate(
        "the bound: convex",
        (steps[70], bound[70]),
        xytext=(10, 4),
        textcoords="offset points",
        color=ink.colours[1],
    )
    axes.annotate(
        "1 − AP: steps",
        (steps[10], loss[10]),
        xytext=(0, 7),
        textcoords="offset points",
        color=ink.colours[0],
    )
    axes.set(xlabel="weight of the second feature", ylabel="loss of a query", ylim=(0, None))
    return figure


def _average_precision(places: Array) -> float:
    return float(np.mean(np.arange(1, len(places) + 1) / (places + 1)))


def _agreement(places: Array, good: Array, bad: Array) -> float:
    """w·Ψ of the ranking with relevant documents at these places, each kind in order of score."""
    n_above = places - np.arange(len(places))
    signs = np.where(np.arange(len(bad)) >= n_above[:, None], 1, -1)
    return float(np.mean(signs * (good[:, None] - bad)))


def listwise_linear(ink: Ink) -> Figure:
    """Shares of gain of one query's documents, and the model's softmax before and after."""
    rng = np.random.default_rng(9)
    features = rng.normal(size=(40, 8, 3))
    utility = features @ (1.2, 0.7, -0.4) + rng.normal(scale=0.3, size=(40, 8))
    labels = np.digitize(utility, (0.3, 1.4))
    queries = RankingDataset.from_arrays(
        features.reshape(-1, 3), labels.ravel(), np.repeat(np.arange(40), 8)
    )
    model = ListwiseLinear(l2=0.1).fit(queries)
    scores = model.predict(queries).reshape(40, 8)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    targets = (2.0**labels - 1) / np.maximum((2.0**labels - 1).sum(axis=1, keepdims=True), 1)
    gaps = np.abs(shares - targets).sum(axis=1)
    # A query with two documents of each label above 0 that the model has learned well.
    both = ((labels == 2).sum(axis=1) == 2) & ((labels == 1).sum(axis=1) == 2)
    shown = int(np.argmin(np.where(both, gaps, np.inf)))
    order = np.argsort(-labels[shown], kind="stable")

    figure, (axes,) = panels(height=2.8, width=5.6)
    place = np.arange(8)
    axes.bar(
        place - 0.2,
        targets[shown][order],
        width=0.36,
        color=ink.colours[4],
        label="share of gain, t",
    )
    axes.bar(
        place + 0.2,
        shares[shown][order],
        width=0.36,
        color=ink.colours[0],
        label="softmax of the trained model, p",
    )
    axes.axhline(1 / 8, color=ink.muted, linestyle="--", linewidth=1.4, label="softmax at w = 0")
    axes.set(xticks=place, yticks=[0, 0.2, 0.4], xlabel="label of each document of one query")
    axes.set_xticklabels([str(int(label)) for label in labels[shown][order]])
    axes.legend(loc="upper right")
    return figure


def multiple_hyperplanes(ink: Ink) -> Figure:
    """Documents of three levels, and a hyperplane for each pair of levels."""
    rng = np.random.default_rng(11)
    centres = np.array([(-1.7, -0.8), (0.6, -1.0), (1.6, 1.5)])
    labels = np.repeat([0, 1, 2], 22)
    features = centres[labels] + rng.normal(scale=0.55, size=(66, 2))
    queries = RankingDataset.from_arrays(features, labels, np.zeros(66))
    model = MultipleHyperplaneRanker(RankSVM(C=5, scaling=None)).fit(queries)
    figure, (axes,) = panels(height=3.3, width=5.2)
    bare(axes).set_aspect("equal")
    for level in range(3):
        colour = (ink.muted, ink.colours[5], ink.colours[1])[level]
        dots(axes, features[labels == level], colour, ink, size=28, linewidths=0, alpha=0.85)
        axes.annotate(
            f"label {level}",
            centres[level] + ((-0.1, 1.5), (1.5, -1.1), (-1.5, 0.6))[level],
            color=colour,
            ha="center",
            fontweight="bold",
        )
    for (high, low), ranker, colour in zip(
        model.level_pairs_.astype(int),
        model.rankers_,
        ink.colours[:1] + ink.colours[2:4],
        strict=True,
    ):
        middle = centres[[high, low]].mean(axis=0)
        unit = ranker.coef_ / np.linalg.norm(ranker.coef_)
        across = np.array([-unit[1], unit[0]])
        axes.plot(
            *np.transpose([middle - 1.5 * across, middle + 1.5 * across]),
            color=colour,
            linewidth=2.2,
        )
        arrow(axes, middle, middle + 0.75 * unit, colour, width=2)
        axes.annotate(
            f"{high} over {low}",
            middle + (1.75 if high - low == 2 else -1.85) * across,
            color=colour,
            ha="center",
            va="center",
        )
    axes.margins(0.1)
    return figure


def quadratic(ink: Ink) -> Figure:
    """Lines of equal score of a linear model, and of the same on squares and products."""
    rng = np.random.default_rng(3)
    features = rng.uniform(-2, 2, size=(12, 12, 2))
    distance = np.hypot(features[..., 0] - 0.4, (features[..., 1] - 0.2) / 0.75)
    relevant = distance + rng.normal(scale=0.12, size=distance.shape) < 1.05
    queries = RankingDataset.from_arrays(
        features.reshape(-1, 2), relevant.ravel(), np.repeat(np.arange(12), 12)
    )
    grid = np.linspace(-2.1, 2.1, 60)
    mesh = np.stack(np.meshgrid(grid, grid), axis=-1)
    figure, axes = panels(2, height=3.1)
    rankers = (RankSVM(C=10), Quadratic(RankSVM(C=10)))
    for panel, title, ranker in zip(axes, ("RankSVM", "Quadratic(RankSVM)"), rankers, strict=True):
        bare(panel, title).set_aspect("equal")
        scores = (
            ranker.fit(queries).predict(mesh.reshape(-1, 2), qid=np.zeros(3600)).reshape(60, 60)
        )
        levels = np.quantile(scores, np.linspace(0.15, 0.95, 6))
        panel.contour(
            grid,
            grid,
            scores,
            levels=levels,
            colors=[ink.colours[4]],
            linestyles="solid",
            linewidths=1.4,
        )
        dots(
            panel,
            features.reshape(-1, 2),
            ink.colours[0],
            ink,
            size=18,
            filled=relevant.ravel(),
            linewidths=1,
        )
    return figure


PICTURES: dict[str, Picture] = {
    "rank-svm": rank_svm,
    "svm-map": svm_map,
    "listwise-linear": listwise_linear,
    "multiple-hyperplanes": multiple_hyperplanes,
    "quadratic": quadratic,
}
