"""Rankers that measure distances: L-GMML's local metrics, MLR's metric around the query."""

from __future__ import annotations

import numpy as np
from ink import Array, Ink, Picture, bare, dots, ellipse, panels
from matplotlib.figure import Figure

from localrank.data import RankingDataset
from localrank.rankers import LGMML, MLR


def lgmml(ink: Ink) -> Figure:
    """Anchors with ellipses of equal distance in their own metrics, and the score of a distance."""
    rng = np.random.default_rng(2)
    places = np.array([(0, 0), (6.2, 0.6), (3.0, 4.2)])
    shapes = np.radians([25, 110, -20])
    documents, relevant = [], []
    for place, angle in zip(places, shapes, strict=True):
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        near = rng.normal(size=(11, 2)) * (0.8, 0.22) @ turn + place
        around = rng.normal(size=(13, 2)) * (0.85, 1.0) @ turn
        around += np.sign(rng.normal(size=(13, 1))) * turn[1] * 0.9 + place
        documents.append(np.concatenate([near, around]))
        relevant.append(np.repeat([True, False], (11, 13)))
    queries = RankingDataset.from_arrays(
        np.concatenate(documents), np.concatenate(relevant), np.repeat([0, 1, 2], 24)
    )
    # With three queries and draws, one seed has a metric from each.
    model = LGMML(n_metrics=3, random_state=_seed_of_each_query(queries)).fit(queries)
    metrics = model.metrics_

    figure, (left, right) = panels(2, height=3.1)
    bare(left, "Anchors and their metrics").set_aspect("equal", adjustable="datalim")
    for query, (points, marks) in enumerate(zip(documents, relevant, strict=True)):
        dots(left, points, ink.colours[query], ink, size=20, filled=marks, linewidths=1.1)
    for anchor, factor in zip(metrics.anchors, metrics.factors(), strict=True):
        centre = anchor * metrics.scale
        unscaled = factor / metrics.scale
        covariance = np.linalg.inv(unscaled.T @ unscaled)
        for radius in (0.25, 0.5):
            ellipse(
                left,
                centre,
                covariance,
                radius,
                fill=False,
                edgecolor=ink.text,
                linewidth=1.2,
                alpha=0.8,
            )
        left.plot(
            *centre, marker="X", markersize=11, color=ink.text, markeredgecolor=ink.ground, zorder=6
        )
    distance = np.linspace(0, 4, 80)
    right.plot(distance, -distance * np.exp(-distance), color=ink.colours[0])
    right.axvline(1, color=ink.rule, linewidth=1.2)
    right.annotate(
        "lowest at x = 1",
        (1, -0.368),
        xytext=(14, -4),
        textcoords="offset points",
        color=ink.muted,
        va="center",
    )
    right.set(
        title="Score of one anchor",
        xlabel="distance x to the anchor",
        ylabel="−x exp(−x)",
        yticks=[0, -0.2],
        xticks=[0, 1, 2, 3, 4],
        ylim=(-0.42, 0.02),
    )
    return figure


def _seed_of_each_query(queries: RankingDataset) -> int:
    for seed in range(50):
        anchors = LGMML(n_metrics=3, random_state=seed).fit(queries).metrics_.anchors
        if len(np.unique(anchors.round(6), axis=0)) == 3 and _far_apart(anchors):
            return seed
    return 0


def _far_apart(anchors: Array) -> bool:
    gaps = np.linalg.norm(anchors[:, None] - anchors[None], axis=2)
    return bool(gaps[np.triu_indices(3, 1)].min() > 0.8)


def mlr(ink: Ink) -> Figure:
    """Nearest documents of a query by plain distance, and by the metric that was learned."""
    rng = np.random.default_rng(4)
    points = rng.uniform((-2.6, -1.9), (2.6, 1.9), size=(70, 2))
    kinds = np.digitize(points[:, 0], (-1.3, 0, 1.3))
    asked = {f"q{i}": points[i] for i in range(20)}
    names = np.repeat([f"q{i}" for i in range(20)], 50)
    documents = np.tile(points[20:], (20, 1))
    labels = (kinds[:20, None] == kinds[20:]).ravel()
    metric = MLR(C=100, query_vectors=asked, scaling=None).fit(documents, labels, qid=names).metric_

    query = int(np.argmin(np.hypot(*(points[:20] - (0.65, 0.1)).T)))
    relevant = kinds[20:] == kinds[query]
    figure, axes = panels(2, height=2.8)
    for panel, title, M in zip(
        axes, ("Plain distance", "Learned metric W"), (np.eye(2), metric), strict=True
    ):
        bare(panel, title).set_aspect("equal")
        dots(panel, points[20:], ink.colours[0], ink, size=24, filled=relevant, linewidths=1.2)
        differences = points[20:] - points[query]
        distances = np.sqrt(np.einsum("di,ij,dj->d", differences, M, differences))
        covariance = np.linalg.inv(M + 1e-3 * np.trace(M) * np.eye(2))
        radius = np.sort(distances)[:12].max()
        ellipse(
            panel,
            points[query],
            covariance,
            radius,
            facecolor=ink.colours[4],
            alpha=0.18,
            linewidth=0,
        )
        ellipse(
            panel,
            points[query],
            covariance,
            radius,
            fill=False,
            edgecolor=ink.colours[4],
            linewidth=1.8,
        )
        hits = int(relevant[np.argsort(distances)[:12]].sum())
        panel.set_xlabel(f"{hits} of the nearest 12 are relevant")
        panel.plot(
            *points[query],
            marker="X",
            markersize=12,
            color=ink.text,
            markeredgecolor=ink.ground,
            zorder=6,
        )
        panel.set(xlim=(-2.8, 2.8), ylim=(-2.1, 2.1))
    return figure


PICTURES: dict[str, Picture] = {"lgmml": lgmml, "mlr": mlr}
