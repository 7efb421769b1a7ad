"""Queries by the principal components of their highest feature values: the paper's plan.

Lwin, Kham. Query Dependent Ranking based on PCA-based Query Representation. The paper describes its
collections (Table 1) and measures, and gives no results. The published numbers are LETOR's for
RankSVM, the global model. Measures follow LETOR 3's convention, as its evaluation tools compute
them. The paper shows unnormalised features (Figure 2), but LETOR's common files are normalised
within queries. So the experiment also takes a folder of text collections and makes raw features.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from localrank.data import Fold, RankingDataset, concatenate, folds
from localrank.evaluation import FoldResult, MethodResult
from localrank.evaluation.significance import corrected
from localrank.experiments.published_numbers import published_cells
from localrank.experiments.repeated_runs import Repeats
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
SEEDS = (0, 1, 2, 3)
NAMES = ("map", "ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "p@1", "p@3", "p@5", "p@10")
MEASURES: list[Measure] = [parse_measure(name, convention="letor3") for name in NAMES]
MAP = MEASURES[0]
# The values that LETOR tries, on unscaled features.
DECADES = [10.0**k for k in range(-4, 6)]
CS = [0.01, 1.0, 100.0]
CLUSTERS = [1, 2, 4, 8]
HEIGHTS = [1, 5, 10, 20]
# The form that the parameters are varied from, one at a time.
N_CLUSTERS, H, SHARE = 4, 10, 0.95
GLOBAL, LOCAL, LETOR = "RankSVM", "PCA queries", "RankSVM, squared hinge"
EITHER = "PCA queries or RankSVM"
SCALINGS: dict[str, Literal["standard"] | None] = {"none": None, "standard": "standard"}


@dataclass(frozen=True)
class Measured:
    """The results on one collection.

    Attributes
    ----------
    name : str
    test : RankingDataset
        The test queries of all folds.
    clusters, heights : sequence of int
        The numbers that were tried.
    runs : Repeats
        A run for each seed. RankSVM is not random: all runs have the same result. Variants have
        the names that `variant` makes.
    """

    name: str
    test: RankingDataset
    clusters: Sequence[int]
    heights: Sequence[int]
    runs: Repeats


def variant(scaling: str, n_clusters: int = N_CLUSTERS, h: int = H, share: float = SHARE) -> str:
    """Name of the local method with these parameters. With one cluster, it is RankSVM."""
    return GLOBAL if n_clusters == 1 else f"{scaling}, {n_clusters}, h = {h}, {share:g}"


def reproduce(setting: Setting) -> Reproduction:
    """Compare a RankSVM for each cluster with one for all queries, on all folds.

    C, the number of clusters and the scaling are chosen by MAP on the validation part. Clusters are
    chosen once from 2 on, and once from 1 on; 1 is the model for all queries.
    """
    reproduction = Reproduction(PAPER, setting.data, quick=setting.quick)
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
    # The same parts for every seed, so that runs compare query by query.
    return folds(raw_features(collection), random_state=0)[: setting.n_folds]


def _measure(setting: Setting, name: str, parts: Sequence[Fold]) -> Measured:
    quick = setting.quick
    clusters, heights = (CLUSTERS[:2], HEIGHTS[1:3]) if quick else (CLUSTERS, HEIGHTS)
    not_random = setting.run(
        {GLOBAL: RankSVM(), LETOR: RankSVM(scaling=None)},
        parts,
        grids={GLOBAL: {"C": CS}, LETOR: {"C": CS if quick else DECADES}},
        measure=MAP,
    )
    # RankSVM with the C chosen in each fold.
    rankers = [RankSVM(**run.chosen) for run in not_random[GLOBAL].runs if run.chosen]
    grid = {
        "grouping__n_clusters": clusters[1:],
        "ranker__C": CS,
        "representation__scaling": list(SCALINGS.values()),
    }
    by_clusters = [(n, H, SHARE) for n in clusters[1:]]
    # With all components, distances are those of the highest values themselves.
    others = [*((N_CLUSTERS, h, SHARE) for h in heights), *product([N_CLUSTERS], [H], (SHARE, 1.0))]
    plain = {("none", *form) for form in (*by_clusters, *others)}
    plain |= {("standard", *form) for form in others if form not in by_clusters}
    bounded = [("standard", *form) for form in by_clusters]

    def trained(
        forms: Iterable[tuple[str, int, int, float]], seed: int, n_controls: int
    ) -> dict[str, MethodResult]:
        tried = [
            {
                variant(word, n, h, share): pca_queries(
                    n,
                    ranker=ranker,
                    h=h,
                    n_components=share,
                    scaling=SCALINGS[word],
                    random_state=seed,
                )
                for word, n, h, share in forms
            }
            for ranker in rankers
        ]
        return setting.run_each(tried, parts, measure=MAP, n_controls=n_controls)

    runs = []
    for seed in setting.seeds:
        methods = {LOCAL: pca_queries(random_state=seed)}
        local = setting.run(methods, parts, grids={LOCAL: grid}, measure=MAP)[LOCAL]
        either = [
            max(pair, key=_validated)
            for pair in zip(not_random[GLOBAL].runs, local.runs, strict=True)
        ]
        runs.append(
            {
                **not_random,
                LOCAL: local,
                EITHER: MethodResult(EITHER, either, local.test, local.fold_names),
                **trained(sorted(plain), seed, 0),
                **trained(bounded, seed, 1),
            }
        )
    test = concatenate([fold.test for fold in parts])
    return Measured(name, test, clusters, heights, Repeats(runs))


def _validated(run: FoldResult) -> float:
    """The value of the chosen parameters on the validation queries."""
    return max(float(row["mean"]) for row in run.path or [])


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
        {(LETOR, "map"): mean_of_folds(measured[0].runs.results[0][LETOR], MAP)},
        numbers,
        "Mean of the folds; unscaled features, C from 0.0001 to 100,000.",
    )


def _methods(reproduction: Reproduction, measured: Sequence[Measured]) -> None:
    rows: list[list[Value]] = []
    choices = []
    tests = corrected({c.name: c.runs.test(LOCAL, GLOBAL, MAP) for c in measured})
    for collection in measured:
        runs, test = collection.runs, tests[collection.name]
        for name, measure in zip(NAMES, MEASURES, strict=True):
            together, either, local = (runs.mean(m, measure) for m in (GLOBAL, EITHER, LOCAL))
            cells: tuple[Value, ...] = (local - together, None, None)
            if measure == MAP:
                cells = difference_cells(test)
            rows.append(
                [
                    collection.name,
                    name,
                    together,
                    either,
                    runs.spread(EITHER, measure),
                    local,
                    runs.spread(LOCAL, measure),
                    *cells,
                ]
            )
        choices.append(f"{collection.name}: {_choices(runs)}")
        says = "better ranking performance can be achieved with a separate model for each cluster"
        reproduction.claim_better(_on(says, collection, reproduction), "MAP", test)
    reproduction.table(
        "Section 4.2: one model for each cluster against one for all",
        [
            "collection",
            "measure",
            GLOBAL,
            EITHER,
            "spread",
            LOCAL,
            "spread",
            "difference",
            "p",
            "won/tied/lost",
        ],
        rows,
        f"{LOCAL} has two clusters or more; {EITHER} is the one of the two that is better on the "
        f"validation queries of the fold. Means over {len(measured[0].runs.results)} seeds of the "
        f"clustering; the spread is the standard deviation between them. The difference is that of "
        f"{LOCAL} and {GLOBAL}. MAP, by which parameters are chosen, is tested: by paired t-tests "
        f"that cover queries and seeds, corrected by Holm's rule for the collections of the page. "
        f"Chosen on validation queries: {'. '.join(choices)}. The paper gives no results.",
    )


def _choices(runs: Repeats) -> str:
    """How often each parameter was chosen, over folds and seeds."""
    chosen_in = [
        run.chosen for results in runs.results for run in results[LOCAL].runs if run.chosen
    ]
    names = {scaling: name for name, scaling in SCALINGS.items()}

    def counts(values: Iterable[object]) -> str:
        return ", ".join(f"{value} ({n})" for value, n in Counter(values).most_common())

    together = runs.results[0][GLOBAL]
    n_one = sum(run.n_models == 1 for results in runs.results for run in results[EITHER].runs)
    return (
        f"clusters {counts(c['grouping__n_clusters'] for c in chosen_in)}; "
        f"C {counts(c['ranker__C'] for c in chosen_in)}; "
        f"scaling {counts(names[c['representation__scaling']] for c in chosen_in)}; "
        f"RankSVM instead of clusters in {n_one} of {len(chosen_in)}; "
        f"C of RankSVM {', '.join(chosen(together))}"
    )


def _on(says: str, collection: Measured, reproduction: Reproduction) -> str:
    return says if collection.name == reproduction.data else f"{says}, on {collection.name}"


def _clusters(reproduction: Reproduction, measured: Sequence[Measured]) -> None:
    rows: list[list[Value]] = []
    panels = {}
    for collection in measured:
        runs, points = collection.runs, []
        for n in collection.clusters:
            scaled = [bound_means(run[variant("standard", n)], MAP) for run in runs.results]
            plain = variant("none", n)
            mean, spread = runs.mean(plain, MAP), runs.spread(plain, MAP)
            points.append((mean, *np.mean(scaled, axis=0).tolist()))
            standard = runs.spread(variant("standard", n), MAP)
            rows.append(
                [collection.name, n, mean, spread, points[-1][1], standard, *points[-1][2:]]
            )
        names = ("no scaling", "standard", "clairvoyant", "random groups")
        lines = zip(names, zip(*points, strict=True), strict=True)
        panels[collection.name] = {name: (collection.clusters, line) for name, line in lines}
    reproduction.table(
        "MAP against the number of clusters",
        [
            "collection",
            "clusters",
            "no scaling",
            "spread",
            "standard",
            "spread",
            "clairvoyant",
            "on random groups",
        ],
        rows,
        "C is that chosen for RankSVM, and one cluster is RankSVM. The clairvoyant choice takes "
        "the best of the clusters' models (with scaling) by the labels. The last column is the "
        "same choice among models of random groups of the same sizes. Means over seeds; the spread "
        "is the standard deviation between them.",
    )
    reproduction.figure(
        "clusters",
        "MAP against the number of clusters, mean of the seeds.",
        "curves",
        panels=panels,
        x_label="clusters",
        y_label="MAP",
        log_x=True,
    )


def _heights(reproduction: Reproduction, measured: Sequence[Measured]) -> None:
    rows: list[list[Value]] = []
    for collection in measured:
        runs = collection.runs
        for h in collection.heights:
            names = [variant(word, h=h) for word in SCALINGS]
            values = ((runs.mean(name, MAP), runs.spread(name, MAP)) for name in names)
            rows.append([collection.name, h, *(value for pair in values for value in pair)])
    reproduction.table(
        f"MAP against the number of highest values, {N_CLUSTERS} clusters",
        ["collection", "h", "no scaling", "spread", "standard", "spread"],
        rows,
    )


def _reduction(reproduction: Reproduction, measured: Sequence[Measured]) -> None:
    rows: list[list[Value]] = []
    tests = corrected(
        {
            (c.name, word): c.runs.test(variant(word), variant(word, share=1.0), MAP)
            for c, word in product(measured, SCALINGS)
        }
    )
    for collection in measured:
        runs = collection.runs
        for word in SCALINGS:
            means = (runs.mean(variant(word, share=share), MAP) for share in (SHARE, 1.0))
            cells = difference_cells(tests[collection.name, word])
            rows.append([collection.name, word, *means, *cells])
        says = "it is possible that PCA before clustering improves the ranking performance"
        by_scaling = {word: tests[collection.name, word] for word in SCALINGS}
        reproduction.claim(
            _on(says, collection, reproduction),
            "; ".join(f"MAP, scaling {w}: {difference(test)}" for w, test in by_scaling.items()),
            *by_scaling.values(),
        )
    reproduction.table(
        f"Section 5: with and without the reduction to components, {N_CLUSTERS} clusters",
        ["collection", "scaling", f"{SHARE}", "all", "difference", "p", "won/tied/lost"],
        rows,
        f"MAP with the components that reach {SHARE} of the variance, and with all components. All "
        f"components are a rotation of the means of the highest values and make the same clusters. "
        f"Paired t-tests that cover queries and seeds, corrected by Holm's rule for this table. "
        f"The claim holds if it holds with both scalings.",
    )
