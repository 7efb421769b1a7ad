"""Models that share what they learn: shared plus specific weights, mixtures over topics."""

from __future__ import annotations

import numpy as np
from ink import Array, Ink, Picture, arrow, bare, dots, panels
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from localrank import LocalRanker
from localrank.data import RankingDataset
from localrank.grouping import KnownGroups
from localrank.rankers import SharedRankSVM, TopicalRankSVM
from localrank.representations import Mean
from localrank.selection import NearestCentroid


def _queries_of_types(degrees: tuple[float, ...], seed: int) -> tuple[RankingDataset, Array]:
    """Queries of two features. A type's documents are relevant along its own direction."""
    rng = np.random.default_rng(seed)
    angles = np.radians(degrees)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    types = np.arange(36) % len(degrees)
    features = rng.normal(size=(36, 14, 2))
    utility = np.einsum("qdf,qf->qd", features, directions[types]) + rng.normal(
        scale=0.4, size=(36, 14)
    )
    places = 2.2 * directions[types] + rng.normal(scale=0.75, size=(36, 2))
    documents = (features + places[:, None]).reshape(-1, 2)
    dataset = RankingDataset.from_arrays(
        documents, (utility > 0.6).ravel(), np.repeat(np.arange(36), 14)
    )
    return dataset, types


def shared_specific(ink: Ink) -> Figure:
    """The weights of three groups, from apart to shared as the shrinkage grows."""
    queries, types = _queries_of_types((10, 55, 100), 4)
    groups = KnownGroups(dict(enumerate(types.tolist())))
    shrinkages = np.geomspace(0.05, 200, 13)
    weights = np.array([_group_weights(queries, groups, shrinkage) for shrinkage in shrinkages])

    figure, (axes,) = panels(height=3.3, width=5.2)
    bare(axes).set_aspect("equal")
    axes.set(xlabel="weight of the first feature", ylabel="weight of the second feature")
    middle = 3
    shared = weights[middle].sum(axis=0) * shrinkages[middle] / (1 + 3 * shrinkages[middle])
    arrow(axes, (0, 0), shared, ink.text, width=2.6)
    axes.annotate("w₀ shared", shared / 2, xytext=(10, -16), textcoords="offset points")
    for group, colour in enumerate(ink.colours[:3]):
        axes.plot(*weights[:, group].T, color=colour, linewidth=1.4, alpha=0.7)
        dots(axes, weights[:, group], colour, ink, size=9, linewidths=0)
        arrow(axes, shared, weights[middle, group], colour, width=2.6)
        axes.annotate(
            f"w{'₁₂₃'[group]}",
            weights[0, group],
            xytext=(8, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            fontweight="bold",
        )
    axes.plot(0, 0, marker="o", color=ink.text, markersize=4)
    axes.margins(0.12)
    return figure


def _group_weights(queries: RankingDataset, groups: KnownGroups, shrinkage: float) -> Array:
    ranker = SharedRankSVM(C=0.5, shrinkage=float(shrinkage))
    local = LocalRanker(Mean(), groups, ranker, NearestCentroid()).fit(queries)
    return np.array([model.coef_ for model in local.models_])


def topical_rank_svm(ink: Ink) -> Figure:
    """Queries coloured by their shares in topics, and one query's mixture of weights."""
    queries, _ = _queries_of_types((20, 140, 260), 6)
    model = TopicalRankSVM(n_topics=3, C=5, representation=Mean()).fit(queries)
    shares = model.memberships(queries)
    places = Mean().fit(queries).transform(queries)
    colours = np.array([to_rgb(colour) for colour in ink.colours[:3]])
    between = int(np.argmax(-np.abs(np.sort(shares, axis=1)[:, 2] - 0.6)))

    figure, (left, right) = panels(2, height=3.1)
    bare(left, "Queries and their topics").set_aspect("equal", adjustable="datalim")
    left.scatter(*places.T, c=shares @ colours, s=46, linewidths=0, zorder=3)
    for centre, colour in zip(model.centres_, ink.colours, strict=False):
        left.plot(
            *centre,
            marker="P",
            markersize=13,
            color=colour,
            markeredgecolor=ink.ground,
            markeredgewidth=1.5,
            zorder=5,
        )
    left.scatter(
        *places[between], s=130, facecolors="none", edgecolors=ink.text, linewidths=2, zorder=6
    )
    bare(right, "The ringed query’s weights").set_aspect("equal", adjustable="datalim")
    start = np.zeros(2)
    for topic in np.argsort(-shares[between]):
        colour, share = ink.colours[topic], shares[between, topic]
        arrow(right, (0, 0), model.coef_[topic], colour, width=1.4, alpha=0.6)
        end = start + share * model.coef_[topic]
        right.plot(*np.transpose([start, end]), color=colour, linewidth=5, solid_capstyle="butt")
        right.annotate(
            f"{share:.0%}",
            1.12 * model.coef_[topic],
            color=colour,
            ha="center",
            va="center",
            fontweight="bold",
        )
        start = end
    arrow(right, (0, 0), start, ink.text, width=2.4)
    right.update_datalim([*(1.1 * model.coef_), (0, 0)])
    right.autoscale_view()
    right.margins(0.15)
    return figure


PICTURES: dict[str, Picture] = {
    "shared-specific": shared_specific,
    "topical-rank-svm": topical_rank_svm,
}
