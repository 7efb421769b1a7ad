"""Figure 1 of multiple hyperplanes: the documents of a query, and what separates their levels."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.evaluation.plots import Chart
from localrank.experiments._base import Reproduction, Value
from localrank.experiments._hyperplane_diagnostics import BASELINE, LARGE_C, RANK_PAIRS
from localrank.rankers import RankSVM

# The query of OHSUMED that the paper shows.
EXAMPLE = 5
RANKS = ("rank 1, the best", "rank 2", "rank 3")


def level_directions(reproduction: Reproduction, dataset: RankingDataset) -> None:
    """Draw a query in its two principal coordinates, and compare the directions in all queries.

    RankSVM learns the directions in these coordinates, from the documents of the query alone. They
    describe the labels and predict nothing.
    """
    levels = np.unique(dataset.labels)[::-1]
    whole = [
        query
        for query in range(dataset.n_queries)
        if len(np.unique(labels_of(dataset, query))) == len(levels)
    ]
    if not whole:
        return
    shown = max(
        whole,
        key=lambda query: (dataset.query_ids[query] == EXAMPLE, len(labels_of(dataset, query))),
    )
    directions = {query: _directions(dataset, query, levels) for query in whole}
    names = (BASELINE, *RANK_PAIRS)
    cosines = {
        (first, second): np.array(
            [normals[first] @ normals[second] for normals in directions.values()]
        )
        for first, second in combinations(names, 2)
    }
    shown_normals = directions[shown]
    rows: list[list[Value]] = [
        [
            f"{first}, {second}",
            float(shown_normals[first] @ shown_normals[second]),
            float(values.mean()),
            float((values < 0).mean()),
        ]
        for (first, second), values in cosines.items()
    ]
    name = dataset.query_ids[shown]
    reproduction.table(
        "Figure 1: cosines between directions in a query's two principal coordinates",
        ["directions", f"query {name}", "mean of queries", "share of queries below 0"],
        rows,
        f"{len(whole):,} queries with documents of all three ranks. In each, RankSVM learns from "
        f"its documents alone, in two coordinates: from all pairs of documents, and from the pairs "
        f"of each two ranks.",
    )
    coordinates, labels = principal_coordinates(dataset, shown), labels_of(dataset, shown)
    reproduction.figure(
        "figure-1",
        f"Figure 1: the documents of query {name} in their two principal coordinates, and the "
        f"directions in which hyperplanes separate two ranks.",
        Chart(
            "directions",
            points={
                rank: coordinates[labels == level]
                for rank, level in zip(RANKS, levels, strict=True)
            },
            directions=shown_normals,
            title=f"{reproduction.data}, query {name}",
        ),
    )
    lowest = float(
        np.median(
            [
                min(normals[a] @ normals[b] for a, b in combinations(RANK_PAIRS, 2))
                for normals in directions.values()
            ]
        )
    )
    reproduction.claim(
        "in two principal coordinates of a query the directions between ranks are very different",
        lowest < 0.5,
        f"query {name}: cosines "
        + ", ".join(
            f"{shown_normals[a] @ shown_normals[b]:.2f}" for a, b in combinations(RANK_PAIRS, 2)
        )
        + f"; median of the queries' lowest {lowest:.2f}",
    )


def labels_of(dataset: RankingDataset, query: int) -> Floats:
    """The labels of a query's documents."""
    labels: Floats = dataset.labels[dataset.offsets[query] : dataset.offsets[query + 1]]
    return labels


def principal_coordinates(dataset: RankingDataset, query: int) -> Floats:
    """A query's documents in two principal components. The loadings of each have a sum above 0."""
    X = dataset.features[dataset.offsets[query] : dataset.offsets[query + 1]]
    centred = X - X.mean(axis=0)
    _, _, components = np.linalg.svd(centred, full_matrices=False)
    axes = components[:2] * np.where(components[:2].sum(axis=1) < 0, -1, 1)[:, None]
    coordinates: Floats = centred @ axes.T
    return coordinates


def _directions(dataset: RankingDataset, query: int, levels: Floats) -> dict[str, Floats]:
    """Unit normals of RankSVM's hyperplanes: one for all pairs, and one per pair of ranks."""
    coordinates, labels = principal_coordinates(dataset, query), labels_of(dataset, query)
    plane = RankingDataset.from_arrays(coordinates, labels, np.zeros(len(labels)))
    pairs = [None, *([(float(a), float(b))] for a, b in combinations(levels, 2))]
    normals = {}
    for name, pair in zip((BASELINE, *RANK_PAIRS), pairs, strict=True):
        normal = RankSVM(LARGE_C, scaling=None, label_pairs=pair).fit(plane).coef_
        length = float(np.linalg.norm(normal))
        normals[name] = normal / length if length else normal
    return normals
