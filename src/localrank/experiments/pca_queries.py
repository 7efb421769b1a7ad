"""Queries by the principal components of their highest feature values: the paper's plan.

Lwin, Kham. Query Dependent Ranking based on PCA-based Query Representation. The paper describes its
collections (Table 1) and measures, and gives no results. The published numbers are LETOR's for
RankSVM, the global model. Measures follow LETOR 3's convention, as its evaluation tools compute
them. The paper shows unnormalised features (Figure 2), but LETOR's common files are normalised
within queries. So the experiment also takes a folder of text collections and makes raw features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from localrank.data import Fold, RankingDataset, concatenate, folds
from localrank.evaluation import MethodResult
from localrank.experiments.published_numbers import published_cells
from localrank.experiments.reproduction import Reproduction, Value, difference, difference_cells
from localrank.experiments.setting import Setting, bound_means, chosen, mean_of_folds
from localrank.experiments.text_collections import (
    TEXT_FILES,
    TextCollection,
    raw_features,
    read_collection,
)
from localrank.measures import Measure, parse_measure
from localrank.rankers import RankSVM
from localrank.recipes import pca_queries
from localrank.representations import Scaled, TopScores
from localrank.representations.top_scores import top_values

PAPER = "pca-queries"
NAMES = ("map", "ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "p@1", "p@3", "p@5", "p@10")
MEASURES: list[Measure] = [parse_measure(name, convention="letor3") for name in NAMES]
MAP = MEASURES[0]
# The values that LETOR tries, on unscaled features.
DECADES = [10.0**k for k in range(-4, 6)]
CS = [0.01, 0.1, 1.0, 10.0, 100.0]
CLUSTERS = [1, 2, 4, 8, 16]
HEIGHTS = [1, 5, 10, 20]
GLOBAL, LOCAL, LETOR = "RankSVM", "PCA queries", "RankSVM, squared hinge"
EITHER = "PCA queries or RankSVM"
SCALINGS: dict[str, Literal["standard"] | None] = {"none": None, "standard": "standard"}

Results = dict[str, MethodResult]


@dataclass(frozen=True)
class Measured:
    """The results on one collection. All but `methods` have names made by `key`."""

    name: str
    test: RankingDataset
    clusters: Sequence[int]
    heights: Sequence[int]
    methods: Results
    by_clusters: Results
    by_height: Results
    unreduced: Results


def key(scaling: str, value: object) -> str:
    """Name of a method with a scaling and one other value."""
    return f"{scaling}, {value}"


def reproduce(setting: Setting) -> Reproduction:
    """Compare a RankSVM for each cluster with one for all queries, on all folds.

    C, the number of clusters and the scaling are chosen by MAP on the validation part. Clusters are
    chosen once from 2 on, and once from 1 on; 1 is the model for all queries.
    """
    reproduction = Reproduction(PAPER, setting.data)
    texts = [setting.folder / name for name in TEXT_FILES if (setting.folder / name).is_dir()]
    if setting.data in TEXT_FILES:
        texts = [setting.folder]
    collections = [read_collection(folder) for folder in texts]
    parts = {collection.name: _text_folds(collection, setting) for collection in collections}
    measured = [
        _measure(setting, name, split)
        for name, split in (parts or {setting.data: setting.validated_folds}).items()
    ]
    _statistics(reproduction, measured)
    _texts(reproduction, collections, measured)
    _carried(reproduction, measured)
    _letor(reproduction, measured)
    _methods(reproduction, measured)
    _clusters(reproduction, measured)
    _heights(reproduction, measured)
    _reduction(reproduction, measured)
    return reproduction


def _text_folds(collection: TextCollection, setting: Setting) -> Sequence[Fold]:
    parts = folds(raw_features(collection), random_state=setting.random_state)
    return parts[: setting.n_folds]


def _measure(setting: Setting, name: str, parts: Sequence[Fold]) -> Measured:
    quick, seed = setting.quick, setting.random_state
    cs, clusters, heights = (CS[1:4], [1, 2], HEIGHTS[1:3]) if quick else (CS, CLUSTERS, HEIGHTS)
    local = pca_queries(random_state=seed)
    choices = {"ranker__C": cs, "representation__scaling": list(SCALINGS.values())}
    methods = setting.run(
        {GLOBAL: RankSVM(), LETOR: RankSVM(scaling=None), LOCAL: local, EITHER: local},
        parts,
        grids={
            GLOBAL: {"C": cs},
            LETOR: {"C": cs if quick else DECADES},
            LOCAL: {"grouping__n_clusters": clusters[1:], **choices},
            EITHER: {"grouping__n_clusters": clusters, **choices},
        },
        measure=MAP,
    )
    # RankSVM with the C chosen in each fold.
    rankers = [RankSVM(**run.chosen) for run in methods[GLOBAL].runs if run.chosen]

    def by(parameter: str, values: Sequence[Any], **options: Any) -> Results:
        """The local method with each value of a parameter, with and without scaling."""
        tried = [
            {
                key(word, value): pca_queries(
                    ranker=ranker, scaling=scaling, random_state=seed, **{parameter: value}
                )
                for word, scaling in SCALINGS.items()
                for value in values
            }
            for ranker in rankers
        ]
        return setting.run_each(tried, parts, **options)

    return Measured(
        name,
        concatenate([fold.test for fold in parts]),
        clusters,
        heights,
        methods,
        by_clusters=by("n_clusters", clusters, measure=MAP, n_controls=1 if quick else 3),
        by_height=by("h", heights),
        # With all components, distances are those of the highest values themselves.
        unreduced=by("n_components", (0.95, 1.0)),
    )


def _statistics(reproduction: Reproduction, measured: Sequence[Measured]) -> None:
    reproduction.compare(
        "Table 1: the collections",
        ["collection", "number of"],
        {
            (collection.name, name): value
            for collection in measured
            for name, value in (
                ("queries", collection.test.n_queries),
                ("relevance levels", len(np.unique(collection.test.labels))),
                ("features", collection.test.n_features),
            )
        },
        {
            (collection.name, *names): value
            for collection in measured
            for names, value in published_cells(PAPER, "table-1", collection.name).items()
        },
        "Counted over the test parts of all folds.",
    )


def _texts(
    reproduction: Reproduction, collections: Sequence[TextCollection], measured: Sequence[Measured]
) -> None:
    """What the candidates of text collections leave out."""
    if not collections:
        return
    rows: list[list[Value]] = []
    for text, collection in zip(collections, measured, strict=True):
        test, n_documents = collection.test, len(text.bodies)
        kept = int((test.labels > 0).sum())
        judged = int(np.isin(text.judgments[:, 0] + 1, test.query_ids).sum())
        rows.append([collection.name, n_documents, test.n_queries, judged, kept, kept / judged])
    reproduction.table(
        "Text collections: what is ranked",
        ["collection", "documents", "queries", "relevant pairs", "ranked", "share"],
        rows,
        "Each query ranks its 100 highest documents by BM25, by raw features: counts, lengths, "
        "rarity, BM25, three language models and coverage of the query's words, of titles and of "
        "bodies where both exist, and the cosine. A relevant document below them is left out and "
        "counts nowhere; an unjudged one counts as irrelevant. So these values do not measure the "
        "whole search. Queries are split into five parts at random, which rotate as LETOR's do.",
    )


def _carried(reproduction: Reproduction, measured: Sequence[Measured]) -> None:
    """How well the highest values tell queries apart, and how many components they have."""
    rows: list[list[Value]] = []
    for collection in measured:
        varies = np.ptp(collection.test.features, axis=0) > 0
        within = Scaled(TopScores()).fit(collection.test).representation_
        components = [TopScores(scaling=s).fit(collection.test) for s in SCALINGS.values()]
        rows.append(
            [
                collection.name,
                int(varies.sum()),
                *(share_at_the_maximum(collection.test, h) for h in (1, 10)),
                *(len(model.components_) for model in (*components, within)),
            ]
        )
    reproduction.table(
        "What the highest values carry",
        [
            "collection",
            "features that vary",
            "at the maximum, h = 1",
            "at the maximum, h = 10",
            *(f"components, scaling {name}" for name in (*SCALINGS, "within queries")),
        ],
        rows,
        "At the maximum: share of the highest values that equal the feature's largest over all "
        "queries, among features that vary. Where features are normalised within queries, the "
        "share is near 1 for the highest value, which then says nothing about a query. The paper's "
        "sample of its data, Figure 2, has unnormalised features. Components: how many reach 0.95 "
        "of the variance of the ten highest values; these are unscaled, divided by their standard "
        "deviation, or of features divided by their spread within queries. Where the number is 1, "
        "the features with the largest values decide alone.",
    )


def share_at_the_maximum(dataset: RankingDataset, h: int) -> float:
    """Share of the h highest values that equal the feature's largest, among features that vary."""
    values, _ = top_values(dataset.features, dataset.offsets, h)
    varies = np.ptp(dataset.features, axis=0) > 0
    return float((values == values.max(axis=0))[:, varies].mean())


def _letor(reproduction: Reproduction, measured: Sequence[Measured]) -> None:
    """The global model as LETOR trains it, beside LETOR's numbers."""
    numbers = published_cells("letor", "baselines", reproduction.data)
    if (LETOR, "map") not in numbers:
        return
    reproduction.compare(
        "The baseline as LETOR trains it",
        ["method", "measure"],
        {(LETOR, "map"): mean_of_folds(measured[0].methods[LETOR], MAP)},
        numbers,
        "Mean of the folds; unscaled features, C from 0.0001 to 100,000.",
    )


def _methods(reproduction: Reproduction, measured: Sequence[Measured]) -> None:
    rows: list[list[Value]] = []
    choices = []
    for collection in measured:
        together, local, either = (collection.methods[name] for name in (GLOBAL, LOCAL, EITHER))
        for name, measure in zip(NAMES, MEASURES, strict=True):
            test = local.against(together, measure)
            means = [result.mean(measure) for result in (together, either, local)]
            # Means of the same values in another order differ by rounding.
            apart = round(test.mean_difference, 12) + 0.0
            rows.append([collection.name, name, *means, apart, *difference_cells(test)[1:]])
        choices.append(
            f"{collection.name}: {', '.join(_choices(local))}; with one model among the choices "
            f"{', '.join(_choices(either))}; C of RankSVM {', '.join(chosen(together))}"
        )
        says = "a model for each cluster of queries can rank better than one for all"
        test = local.against(together, MAP)
        reproduction.claim_better(_on(says, collection, reproduction), "MAP", test)
    reproduction.table(
        "Section 4.2: one model for each cluster against one for all",
        ["collection", "measure", GLOBAL, EITHER, LOCAL, "difference", "p", "won/tied/lost"],
        rows,
        f"{LOCAL} has two clusters or more, {EITHER} may choose one. The difference is that of "
        f"{LOCAL} and {GLOBAL}, with paired t-tests over the test queries. Chosen in each fold, "
        f"as clusters/C/scaling: {'. '.join(choices)}. The paper expects the clusters' models to "
        f"be better, and gives no results.",
    )


def _choices(result: MethodResult) -> list[str]:
    names = {scaling: name for name, scaling in SCALINGS.items()}
    return [
        f"{run.chosen['grouping__n_clusters']}/{run.chosen['ranker__C']:g}/"
        f"{names[run.chosen['representation__scaling']]}"
        for run in result.runs
        if run.chosen
    ]


def _on(says: str, collection: Measured, reproduction: Reproduction) -> str:
    return says if collection.name == reproduction.data else f"{says}, on {collection.name}"


def _clusters(reproduction: Reproduction, measured: Sequence[Measured]) -> None:
    rows: list[list[Value]] = []
    panels = {}
    for collection in measured:
        points = []
        for n in collection.clusters:
            plain = collection.by_clusters[key("none", n)].mean(MAP)
            points.append((plain, *bound_means(collection.by_clusters[key("standard", n)], MAP)))
            rows.append([collection.name, n, *points[-1]])
        names = ("no scaling", "standard", "clairvoyant", "random groups")
        lines = zip(names, zip(*points, strict=True), strict=True)
        panels[collection.name] = {name: (collection.clusters, line) for name, line in lines}
    reproduction.table(
        "MAP against the number of clusters",
        ["collection", "clusters", "no scaling", "standard", "clairvoyant", "on random groups"],
        rows,
        "C is that chosen for RankSVM. The clairvoyant choice takes the best of the clusters' "
        "models (with scaling) by the labels. The last column is the same choice among models of "
        "random groups of the same sizes.",
    )
    reproduction.figure(
        "clusters",
        "MAP against the number of clusters.",
        "curves",
        panels=panels,
        x_label="clusters",
        y_label="MAP",
        log_x=True,
    )


def _heights(reproduction: Reproduction, measured: Sequence[Measured]) -> None:
    rows: list[list[Value]] = []
    for collection in measured:
        for h in collection.heights:
            means = (collection.by_height[key(word, h)].mean(MAP) for word in SCALINGS)
            rows.append([collection.name, h, *means])
    reproduction.table(
        "MAP against the number of highest values, 4 clusters",
        ["collection", "h", "no scaling", "standard"],
        rows,
    )


def _reduction(reproduction: Reproduction, measured: Sequence[Measured]) -> None:
    rows: list[list[Value]] = []
    for collection in measured:
        tests = {}
        for word in SCALINGS:
            kept, every = (collection.unreduced[key(word, share)] for share in (0.95, 1.0))
            tests[word] = kept.against(every, MAP)
            means = kept.mean(MAP), every.mean(MAP)
            rows.append([collection.name, word, *means, *difference_cells(tests[word])])
        says = "components can make better clusters than the highest values"
        reproduction.claim_better(
            _on(says, collection, reproduction),
            "MAP",
            tests["standard"],
            f"; without scaling {difference(tests['none'])}",
        )
    reproduction.table(
        "Section 5: with and without the reduction to components, 4 clusters",
        ["collection", "scaling", "0.95", "all", "difference", "p", "won/tied/lost"],
        rows,
        "MAP with the components that reach 0.95 of the variance, and with all components. All "
        "components are a rotation of the means of the highest values and make the same clusters.",
    )
