"""Two lists for each query, fused: by constants, by tuned weights, over neighbours, by trees.

Everything is learned from training queries: four of five parts of a collection's queries, which
rotate. Values are those of the whole search: a relevant document that neither list has counts as
missed. Tests are paired t-tests over the queries. Each claim is a family of tests, corrected by
Holm's rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import Fold, concatenate
from localrank.evaluation import PairedTest, paired_test
from localrank.evaluation.list_weights import in_hindsight
from localrank.evaluation.significance import corrected
from localrank.experiments._encoded_texts import ENCODER, sentence_encoder
from localrank.experiments._list_collections import (
    DENSE,
    MAP,
    NDCG_10,
    WORDS,
    ListCollection,
    list_collections,
)
from localrank.experiments.reproduction import Reproduction, Value, difference, difference_cells
from localrank.experiments.setting import Setting
from localrank.fusion import Fusion, NeighbourColumns, ReciprocalRankFusion, SmoothedFusion
from localrank.fusion._list_columns import values_of_lists
from localrank.rankers import Ranker
from localrank.recipes import best, hybrid

EXPERIMENT = "hybrid"
SEEDS = (0,)
N_TREES, MIN_LEAF_DOCUMENTS = 300, 50
# Numbers of judged queries, and how often they are drawn from the training queries of each fold.
SIZES, N_DRAWS = (10, 20, 40), 1
N_CONTROLS = 5

BY_WORDS, BY_VECTORS = "words alone", "vectors alone"
RRF, AVERAGE, TUNED = "reciprocal rank fusion (60)", "average of z", "tuned weight"
SMOOTHED, HYBRID = "smoothed fusion", "hybrid"
COLUMNS, NEIGHBOURS = "best on the lists' columns", "best with neighbour columns"
# What stands for a method where documents have no vectors.
WITHOUT_VECTORS = {SMOOTHED: TUNED, NEIGHBOURS: COLUMNS}
FEW_JUDGED = (AVERAGE, TUNED, SMOOTHED, HYBRID)
ALL, EACH = "all queries", "mean of the collections"
MEASURES = (str(NDCG_10), str(MAP))
UNJUDGED = "unjudged"

# By measure, or "unjudged", and method: the values of a collection's queries, or rows of them for
# several draws. NaN: not tested.
Values = dict[tuple[str, str], Floats]


def reproduce(setting: Setting) -> Reproduction:
    """Compare ways to fuse two lists, with all judged queries, with few, and with none."""
    collections = list_collections(setting, sentence_encoder)
    reproduction = Reproduction(
        EXPERIMENT,
        ", ".join(one.name for one in collections),
        claimant="the expectation",
        quick=setting.quick,
    )
    _data(reproduction, collections)
    values = [_values(setting, one) for one in collections]
    _fusions(reproduction, collections, values)
    _hindsight(reproduction, setting, collections)
    _few_judged(reproduction, setting, collections)
    _transfer(reproduction, setting, collections, values)
    return reproduction


def methods(setting: Setting) -> dict[str, Ranker]:
    """The methods that fuse."""
    quick = setting.quick
    trees: dict[str, Any] = {
        "n_trees": 10 if quick else N_TREES,
        "min_leaf_documents": 5 if quick else MIN_LEAF_DOCUMENTS,
        "random_state": setting.random_state,
        "n_jobs": 1,
    }
    return {
        RRF: ReciprocalRankFusion(60),
        AVERAGE: Fusion("equal"),
        TUNED: Fusion(),
        SMOOTHED: SmoothedFusion(),
        HYBRID: hybrid(**trees, n_folds=2 if quick else 3),
        COLUMNS: best(**trees),
        NEIGHBOURS: NeighbourColumns(best(**trees)),
    }


def _values(setting: Setting, collection: ListCollection) -> Values:
    """Every method on a collection, trained on the collection's own queries."""
    setting.say(f"{collection.name}: {collection.dataset.n_queries} queries")
    parts = collection.folds(setting.n_folds)
    tested = {query for fold in parts for query in fold.test.query_ids.tolist()}
    is_tested = np.array([query in tested for query in collection.query_ids])
    values: Values = {}
    for name, one in ((BY_WORDS, WORDS), (BY_VECTORS, DENSE)):
        scores = collection.of_list(one)
        alone = np.where(is_tested[collection.dataset.query_index], scores, np.nan)
        values |= _measured(collection, name, alone)
    return values | _trained(setting, collection, methods(setting), parts)


def _trained(
    setting: Setting,
    collection: ListCollection,
    rankers: Mapping[str, Ranker],
    parts: Sequence[Fold],
    kind: str = "own queries",
) -> Values:
    """The values of methods, trained and tested on folds of some kind."""
    known = {
        name: ranker
        for name, ranker in rankers.items()
        if collection.dataset.has_vectors or name not in WITHOUT_VECTORS
    }
    # A store has one place for each fold and method.
    store = None if setting.store is None else setting.store / f"{collection.name}, {kind}"
    values: Values = {}
    for name, result in setting.run(known, parts, store=store).items():
        values |= _measured(collection, name, collection.scores(result))
    for name in rankers:
        if name not in known:
            values |= {
                (key, name): of_method
                for (key, method), of_method in list(values.items())
                if method == WITHOUT_VECTORS[name]
            }
    return values


def _measured(collection: ListCollection, name: str, scores: Floats) -> Values:
    values = {
        (key, name): collection.values(scores, measure)
        for key, measure in collection.measures().items()
    }
    return values | {(UNJUDGED, name): collection.unjudged(scores)}


def pooled_values(collections: Sequence[ListCollection], values: Sequence[Floats]) -> Floats:
    """The values of all queries. A query of several pairs of lists has their mean.

    Parameters
    ----------
    collections : sequence of ListCollection
    values : sequence of ndarray of shape (n_queries,) or (n_draws, n_queries)
    """
    ids = np.array([query for one in collections for query in one.query_ids])
    every = np.concatenate([np.atleast_2d(of_one) for of_one in values], axis=1)
    _, numbers = np.unique(ids, return_inverse=True)
    result = np.array([np.bincount(numbers, row) for row in every]) / np.bincount(numbers)
    return result[0] if values[0].ndim == 1 else result


def _pooled(collections: Sequence[ListCollection], values: Sequence[Values]) -> Values:
    return {key: pooled_values(collections, [one[key] for one in values]) for key in values[0]}


def _means(values: Values, name: str) -> list[float]:
    return [float(np.nanmean(values[key, name])) for key in (*MEASURES, UNJUDGED)]


def _tests(values: Values, first: str, second: str) -> dict[str, PairedTest]:
    """Two methods by each measure, not corrected."""
    return {key: paired_test(values[key, first], values[key, second]) for key in MEASURES}


def _claim(
    reproduction: Reproduction, says: str, tests: Mapping[str, PairedTest]
) -> dict[str, PairedTest]:
    """A claim with its family of tests."""
    family = corrected(tests)
    told = "; ".join(f"{key} {difference(test)}" for key, test in family.items())
    reproduction.claim(says, told, *family.values())
    return family


def _data(reproduction: Reproduction, collections: Sequence[ListCollection]) -> None:
    rows: list[list[Value]] = []
    for one in collections:
        data, level = one.together.dataset, one.relevance_level
        n_relevant = int((data.labels >= level).sum())
        n_listed = int((one.dataset.labels >= level).sum())
        has = "yes" if one.dataset.has_vectors else "no"
        sizes = one.dataset.n_queries, one.dataset.n_documents
        rows.append([one.name, one.lists, *sizes, n_relevant, n_listed, has])
    reproduction.table(
        "The collections",
        ["collection", "lists", "queries", "candidates", "relevant", "in a list", "vectors"],
        rows,
        f"The candidates are the first 100 documents of both lists. Vectors are those of "
        f"{ENCODER}, which also makes the list of vectors. For DL, grades 2 and 3 are relevant "
        f"for MAP.",
    )


def _fusions(
    reproduction: Reproduction, collections: Sequence[ListCollection], values: Sequence[Values]
) -> None:
    together = _pooled(collections, values)
    names = list(dict.fromkeys(name for _, name in together))
    groups = dict(zip((one.name for one in collections), values, strict=True))
    rows: list[list[Value]] = [
        [group, name, *_means(of_group, name)]
        for group, of_group in {ALL: together, **groups}.items()
        for name in names
    ]
    rows += [
        [EACH, name, *np.mean([_means(one, name) for one in values], axis=0).tolist()]
        for name in names
    ]
    reproduction.table(
        "Every method",
        ["queries", "method", *MEASURES, "unjudged in the first ten"],
        rows,
        "Each method is trained on the queries of one collection. A query of two pairs of lists "
        "counts once among all queries, with its mean. Where documents have no vectors, smoothed "
        "fusion is the tuned weight, and there are no neighbour columns. The last column is the "
        "share of documents that nobody judged; they count as not relevant.",
    )
    for first, second in (
        (HYBRID, TUNED),
        (HYBRID, RRF),
        (HYBRID, NEIGHBOURS),
        (SMOOTHED, TUNED),
        (NEIGHBOURS, TUNED),
        (NEIGHBOURS, COLUMNS),
    ):
        _claim(
            reproduction,
            f"{first} ranks better than {second}",
            _tests(together, first, second),
        )
    by_collection = corrected(
        {
            (name, key): test
            for name, of_group in groups.items()
            for key, test in _tests(of_group, HYBRID, TUNED).items()
        }
    )
    reproduction.table(
        f"{HYBRID} against {TUNED}, on each collection",
        ["queries", "measure", "difference", "p", "won/tied/lost"],
        [[*key, *difference_cells(test)] for key, test in by_collection.items()],
        f"p is corrected by Holm's rule for the {len(by_collection)} tests.",
    )
    lowest = min(by_collection, key=lambda key: by_collection[key].mean_difference)
    reproduction.claim(
        f"{HYBRID} ranks better than {TUNED} on each collection",
        f"the lowest difference: {', '.join(lowest)} {difference(by_collection[lowest])}",
        *by_collection.values(),
    )


def _hindsight(
    reproduction: Reproduction, setting: Setting, collections: Sequence[ListCollection]
) -> None:
    """The best weight of each query, beside its control."""
    parts: list[dict[tuple[str, str], Floats]] = []
    one_weight, best_weight, control = "one weight", "best weight of each query", "control"
    for collection in collections:
        data = collection.dataset
        lists = values_of_lists(data, "z", data.feature_names)
        of_collection = {}
        for key, measure in collection.measures().items():

            def by_query(scores: Floats) -> Floats:
                return collection.values(scores, measure)  # noqa: B023

            n_controls = 1 if setting.quick else N_CONTROLS
            found = in_hindsight(by_query, lists, data.offsets, n_controls, setting.random_state)
            _, one, best_of_query, draws = found
            of_collection[key, one_weight] = one
            of_collection[key, best_weight] = best_of_query
            of_collection[key, control] = draws.mean(axis=0)
        parts.append(of_collection)
    together = {key: pooled_values(collections, [part[key] for part in parts]) for key in parts[0]}
    groups = dict(zip((one.name for one in collections), parts, strict=True))
    reproduction.table(
        "A weight for each query",
        ["queries", "weight", *MEASURES],
        [
            [group, name, *(float(of_group[key, name].mean()) for key in MEASURES)]
            for group, of_group in {ALL: together, **groups}.items()
            for name in (one_weight, best_weight, control)
        ],
        "All three are chosen in hindsight, by the labels of the queries themselves: they bound "
        "what a choice of weights could reach. The control starts from the one weight, too. There, "
        "the difference of the two lists is dealt out at random among ten documents that stand "
        "side by side in the ranking by the one weight.",
    )
    _claim(
        reproduction,
        "the best weight of each query, in hindsight, gains more than the same hindsight with the "
        "difference of the lists dealt out at random",
        {key: paired_test(together[key, best_weight], together[key, control]) for key in MEASURES},
    )


def _few_judged(
    reproduction: Reproduction, setting: Setting, collections: Sequence[ListCollection]
) -> None:
    """Methods that learn from few judged queries, drawn several times."""
    sizes, n_draws = (SIZES[:1], 1) if setting.quick else (SIZES, N_DRAWS)
    rankers = {name: ranker for name, ranker in methods(setting).items() if name in FEW_JUDGED}
    rows: list[list[Value]] = []
    against: list[list[Value]] = []
    for size in sizes:
        kept, values = [], []
        for collection in collections:
            parts = collection.folds(setting.n_folds)
            if min(fold.train.n_queries for fold in parts) <= size:
                continue
            setting.say(f"{collection.name}: {size} judged queries")
            draws = [
                _trained(
                    setting, collection, rankers, drawn(parts, size, draw), f"{size}, draw {draw}"
                )
                for draw in range(n_draws)
            ]
            kept.append(collection)
            values.append({key: np.array([one[key] for one in draws]) for key in draws[0]})
        if not kept:
            continue
        together = _pooled(kept, values)
        groups = dict(zip((one.name for one in kept), values, strict=True))
        for group, of_group in {ALL: together, **groups}.items():
            rows += [[size, group, name, *_means(of_group, name)] for name in FEW_JUDGED]
        for other in (AVERAGE, TUNED):
            _claim(
                reproduction,
                f"{HYBRID} ranks better than {other} with {size} judged queries",
                _tests(together, HYBRID, other),
            )
        by_collection = corrected(
            {
                (group, key, other): paired_test(of_group[key, HYBRID], of_group[key, other])
                for group, of_group in groups.items()
                for key in MEASURES
                for other in [_better(of_group, key)]
            }
        )
        against += [[size, *key, *difference_cells(test)] for key, test in by_collection.items()]
        lowest = min(by_collection, key=lambda key: by_collection[key].mean_difference)
        reproduction.claim(
            f"{HYBRID} ranks better than {AVERAGE} and {TUNED} with {size} judged queries, on "
            f"each collection",
            f"the lowest difference: {', '.join(lowest)} {difference(by_collection[lowest])}",
            *by_collection.values(),
        )
    if rows:
        reproduction.table(
            "Few judged queries",
            ["judged", "queries", "method", *MEASURES, "unjudged in the first ten"],
            rows,
            f"So many of a fold's training queries are drawn at random. Draws for each of the "
            f"folds: {n_draws}. Collections with too few queries are left out.",
        )
        reproduction.table(
            f"{HYBRID} with few judged queries, on each collection",
            ["judged", "queries", "measure", "against", "difference", "p", "won/tied/lost"],
            against,
            f"{HYBRID} against the better of {AVERAGE} and {TUNED}, as it turns out on the "
            f"collection. p is corrected by Holm's rule for the tests with so many judged queries.",
        )


def _better(values: Values, key: str) -> str:
    """The better of the untuned and the tuned average by a measure."""
    return max((AVERAGE, TUNED), key=lambda name: float(np.nanmean(values[key, name])))


def drawn(parts: Sequence[Fold], size: int, draw: int) -> list[Fold]:
    """Folds with some of their training queries, drawn at random."""
    result = []
    for number, fold in enumerate(parts):
        rng = np.random.default_rng([size, draw, number])
        queries = np.sort(rng.choice(fold.train.n_queries, size, replace=False))
        result.append(Fold(fold.name, fold.train.select(queries), None, fold.test))
    return result


def _transfer(
    reproduction: Reproduction,
    setting: Setting,
    collections: Sequence[ListCollection],
    values: Sequence[Values],
) -> None:
    """A model from other collections, on one that it has not seen."""
    own = dict(zip((one.name for one in collections), values, strict=True))
    rankers = {
        name: ranker for name, ranker in methods(setting).items() if name in (COLUMNS, NEIGHBOURS)
    }
    kept, found = [], []
    for collection in collections:
        # Another pair of lists of the same queries is not another collection.
        others, seen = [], {*collection.query_ids}
        for one in collections:
            if one.dataset.has_vectors and seen.isdisjoint(one.query_ids):
                others.append(one.dataset)
                seen.update(one.query_ids)
        if not collection.dataset.has_vectors or not others:
            continue
        setting.say(f"{collection.name}: models from {len(others)} other collections")
        fold = Fold("others", concatenate(others), None, collection.dataset)
        of_others = _trained(setting, collection, rankers, [fold], "others")
        # The same queries for all: a quick run tests some of them.
        tested = ~np.isnan(own[collection.name][MEASURES[0], RRF])
        of_others = {key: np.where(tested, one, np.nan) for key, one in of_others.items()}
        untrained = {
            (key, name): own[collection.name][key, name]
            for key in (*MEASURES, UNJUDGED)
            for name in (RRF, AVERAGE)
        }
        kept.append(collection)
        found.append(untrained | of_others)
    if not kept:
        return
    together = _pooled(kept, found)
    groups = dict(zip((one.name for one in kept), found, strict=True))
    reproduction.table(
        "Trained on other collections",
        ["queries", "method", *MEASURES, "unjudged in the first ten"],
        [
            [group, name, *_means(of_group, name)]
            for group, of_group in {ALL: together, **groups}.items()
            for name in (RRF, AVERAGE, *rankers)
        ],
        "What is learned comes from all other collections with vectors. No query of the "
        "collection itself is judged.",
    )
    for other in (RRF, AVERAGE):
        _claim(
            reproduction,
            f"{NEIGHBOURS}, trained on other collections, ranks better than {other}",
            _tests(together, NEIGHBOURS, other),
        )
