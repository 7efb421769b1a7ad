"""Adaptive training: clusters that follow how well their models rank, and a blend of models."""

from __future__ import annotations

import numpy as np
from ink import Array, Ink, Picture, panels, without_frame
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from localrank.data import make_queries
from localrank.rankers import RankSVM
from localrank.recipes import adaptive_training


def picture(ink: Ink) -> Figure:
    """The queries of each cluster, round by round, and the weights for new queries."""
    queries, _ = make_queries(
        140, n_documents=(15, 30), n_features=8, n_types=3, separation=1, random_state=2
    )
    train, test = queries.select(np.arange(120)), queries.select(np.arange(120, 140))
    rounds = []
    for n_rounds in (1, 2, 3):
        model = adaptive_training(3, ranker=RankSVM(), rounds=n_rounds, select="fusion").fit(train)
        members = np.empty(train.n_queries, dtype=int)
        for cluster in range(3):
            members[model.groups_[cluster]] = cluster
        rounds.append(members if not rounds else _renamed(members, rounds[-1]))
    weights = model.selector_.weights(test, model.models_)
    weights = weights[np.lexsort((weights.max(axis=1), weights.argmax(axis=1)))][:14]

    figure, (left, right) = panels(2, height=3.1)
    without_frame(left, "Training queries, three rounds")
    _flows(left, ink, np.array(rounds))
    without_frame(right, "New queries: model weights")
    starts = np.zeros(len(weights))
    # Clusters of the last round have the colours that they were renamed to.
    last = {int(cluster): int(new) for cluster, new in zip(members, rounds[-1], strict=True)}
    for cluster in range(3):
        right.barh(
            np.arange(len(weights)),
            weights[:, cluster],
            left=starts,
            height=0.72,
            color=ink.colours[last[cluster]],
        )
        starts += weights[:, cluster]
    right.invert_yaxis()
    right.set(xlim=(0, 1), xticks=[0, 0.5, 1], xlabel="p(cluster | query)")
    return figure


def _renamed(members: Array, before: Array) -> Array:
    """Give each cluster the number of the earlier cluster that most of its queries come from."""
    from scipy.optimize import linear_sum_assignment

    counts = np.array(
        [[np.sum((members == new) & (before == old)) for old in range(3)] for new in range(3)]
    )
    return linear_sum_assignment(-counts)[1][members]


def _flows(axes: Axes, ink: Ink, rounds: Array) -> None:
    """Bands between columns, as wide as the number of queries that move."""
    gap, n_queries = 8, rounds.shape[1]
    grid = np.linspace(0, 1, 24)
    ease = grid**2 * (3 - 2 * grid)
    tops = [_tops(members, gap) for members in rounds]
    for column in range(2):
        leave, arrive = tops[column].copy(), tops[column + 1].copy()
        for old in range(3):
            for new in range(3):
                count = np.sum((rounds[column] == old) & (rounds[column + 1] == new))
                upper = leave[old] + (arrive[new] - leave[old]) * ease
                axes.fill_between(
                    column + 0.06 + 0.88 * grid,
                    upper,
                    upper - count,
                    color=ink.colours[old],
                    alpha=0.38,
                    linewidth=0,
                )
                leave[old] -= count
                arrive[new] -= count
    for column, members in enumerate(rounds):
        for cluster in range(3):
            size = np.sum(members == cluster)
            axes.bar(
                column, -size, bottom=tops[column][cluster], width=0.12, color=ink.colours[cluster]
            )
    for column, word in enumerate(("by relevant\ndocuments", "by how models\nrank", "again")):
        axes.text(column, -n_queries - 2 * gap - 6, word, ha="center", va="top", color=ink.muted)
    axes.set(xlim=(-0.45, 2.3), ylim=(-n_queries - 2 * gap - 42, 4))


def _tops(members: Array, gap: float) -> Array:
    sizes = np.bincount(members, minlength=3)
    return -np.concatenate([[0], np.cumsum(sizes[:-1] + gap)]).astype(float)


PICTURES: dict[str, Picture] = {"adaptive-training": picture}
