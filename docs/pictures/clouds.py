"""Queries as clouds of documents: LocalRank, PCA of queries, Duh and Kirchhoff."""

from __future__ import annotations

import numpy as np
from ink import Array, Ink, Picture, arrow, bare, dots, panels, without_frame
from matplotlib.figure import Figure
from sklearn.cluster import BisectingKMeans

from localrank.data import RankingDataset, make_queries
from localrank.grouping import Agglomerative
from localrank.representations import PrincipalComponents, TopScores


def local_rank(ink: Ink) -> Figure:
    """Nine clouds and their first directions, coloured by complete-link cluster."""
    rng = np.random.default_rng(3)
    clouds = np.stack([_cloud(rng, angle) for angle in (20, 95, 150, 85, 160, 12, 142, 28, 103)])
    queries = RankingDataset.from_arrays(
        clouds.reshape(-1, 2), np.tile([0, 1], 99), np.repeat(np.arange(9), 22)
    )
    shapes = PrincipalComponents(2).fit(queries)
    described = shapes.transform(queries)
    groups = Agglomerative(3).group(shapes, described)
    colours = {query: ink.colours[group] for group in range(3) for query in groups[group]}

    figure, (left, right) = panels(2, height=3.1)
    without_frame(left, "Nine queries, nine clouds").set_aspect("equal")
    without_frame(right, "Their first directions").set_aspect("equal")
    turn = np.linspace(0, 2 * np.pi, 80)
    right.plot(np.cos(turn), np.sin(turn), color=ink.rule, linewidth=1.2)
    for query, cloud in enumerate(clouds):
        place = np.array([3.1 * (query % 3), -2.7 * (query // 3)])
        direction = described[query].reshape(2, 2)[0]
        dots(left, cloud - cloud.mean(axis=0) + place, colours[query], ink, size=9, linewidths=0)
        arrow(left, place - 1.35 * direction, place + 1.35 * direction, ink.text, style="<|-|>")
        right.plot(*np.transpose([-direction, direction]), color=colours[query], linewidth=2.4)
    right.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
    return figure


def _cloud(rng: np.random.Generator, degrees: float) -> Array:
    angle = np.radians(degrees)
    along = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return rng.uniform(0.5, 0.8) * rng.normal(size=(22, 2)) * (1, 0.3) @ along


def pca_queries(ink: Ink) -> Figure:
    """The highest values of a feature by query, and the queries as points."""
    queries, _ = make_queries(
        60, n_documents=(20, 40), n_features=8, n_types=3, separation=2, random_state=1
    )
    scores = TopScores(h=8, n_components=2).fit(queries)
    points = scores.transform(queries)
    clusters = BisectingKMeans(3, random_state=0).fit(points)

    figure, (left, right) = panels(2, height=3.0)
    shown = [
        int(np.flatnonzero(clusters.labels_ == group)[row])
        for group in range(3)
        for row in (0, 1, 2)
    ]
    for query in shown:
        values = queries.features[queries.offsets[query] : queries.offsets[query + 1], 0]
        left.plot(
            np.arange(1, 9),
            np.sort(values)[::-1][:8],
            color=ink.colours[clusters.labels_[query]],
            marker="o",
            markersize=3.5,
            linewidth=1.5,
        )
    left.set(title="Highest values of one feature", xlabel="place", xticks=[1, 4, 8])
    left.set_ylabel("value")
    bare(right, "Queries by two components")
    right.set(xlabel="first component", ylabel="second component")
    for group in range(3):
        dots(
            right,
            points[clusters.labels_ == group],
            ink.colours[group],
            ink,
            size=26,
            alpha=0.75,
            linewidths=0,
        )
        right.plot(
            *clusters.cluster_centers_[group],
            marker="P",
            markersize=12,
            color=ink.colours[group],
            markeredgecolor=ink.ground,
            markeredgewidth=1.5,
            zorder=5,
        )
    return figure


def duh_kirchhoff(ink: Ink) -> Figure:
    """The same training documents seen along the main direction of two queries to rank."""
    rng = np.random.default_rng(8)
    relevant = np.repeat([True, False], 26)
    training = rng.normal(size=(52, 2)) + np.where(relevant[:, None], (0.7, 0.15), (-0.7, -0.15))
    figure, axes = panels(2, 2, height=4, heights=(5, 3))
    for column, (name, degrees) in enumerate((("A", 15), ("B", 100))):
        plane, strip = axes[column], axes[2 + column]
        documents = 1.5 * _cloud(rng, degrees)
        direction = np.linalg.svd(documents - documents.mean(axis=0))[2][0]
        direction *= np.sign(direction.sum())
        bare(plane, f"Query {name} to rank").set_aspect("equal", adjustable="datalim")
        dots(plane, training, ink.muted, ink, size=14, filled=relevant, linewidths=0.9)
        dots(plane, documents, ink.colours[column], ink, size=18, linewidths=0)
        arrow(plane, -2.6 * direction, 2.6 * direction, ink.text)
        projected = training @ direction
        heights = np.where(relevant, 0.35, -0.35) + rng.uniform(-0.2, 0.2, 52)
        dots(
            strip,
            np.column_stack([projected, heights]),
            ink.muted,
            ink,
            size=16,
            filled=relevant,
            linewidths=1,
        )
        without_frame(strip)
        strip.spines["bottom"].set_visible(True)
        strip.set(
            xlim=(-3.9, 3.9),
            ylim=(-0.75, 0.75),
            xlabel=f"training documents along {name}’s direction",
        )
    return figure


PICTURES: dict[str, Picture] = {
    "local-rank": local_rank,
    "pca-queries": pca_queries,
    "duh-kirchhoff": duh_kirchhoff,
}
