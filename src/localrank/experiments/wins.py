"""Query coordinates and the recipes beside global models of equal cost, on several collections.

Every method has its default parameters and no validation queries, so that test queries are only
scored. Documents are shuffled within their queries, and equal scores share their ranks. Tests are
paired t-tests over the queries of a collection, and over those of all collections together. They
cover the chance of training, too, and are corrected by Holm's rule for the number of tests in a
table. Where a collection has validation queries, the opponents also run with them: they stop each
model's trees. The recipes do not use them.

Means of models are composed from the scores of their members, so no member is trained twice.

The models of the recipes were chosen by three-fold cross-validation over the parts S1, S2 and S3
of MQ2007 (85 %), MQ2008 and OHSUMED. The coordinates were chosen by earlier trials on all parts.
"Held out" are the test queries of S4 and S5, and all of ClueWeb09: none of them was used to choose
the models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice, product
from pathlib import Path

import numpy as np

from localrank.data import Fold, RankingDataset
from localrank.evaluation import MethodResult, PairedTest, paired_test
from localrank.evaluation.significance import corrected
from localrank.experiments import recipe_members
from localrank.experiments.recipe_members import (
    CROSS_ENTROPY,
    GBRT,
    HAS_CATBOOST,
    LAMBDA_MART,
    LISTWISE,
    N_TREES,
    NET,
    RANK_SVM,
    SYMMETRIC,
    WITH_CATBOOST,
    WITHOUT_NETS,
    Sources,
    local,
    members,
    n_trees_of,
    needed,
    train,
    with_recipes,
)
from localrank.experiments.repeated_runs import (
    ALL,
    HELD_OUT,
    MEASURES,
    Pooled,
    Worse,
    cell,
    interval,
    less,
    note_of,
)
from localrank.experiments.reproduction import Reproduction, Value, difference
from localrank.experiments.setting import Setting, own_folds
from localrank.measures import NDCG, Measure
from localrank.rankers import (
    BestFeature,
    MultipleHyperplaneRanker,
    QueryCoordinates,
    Ranker,
    SVMMap,
)
from localrank.recipes import (
    adaptive_training,
    global_one,
    local_rank,
    one,
    pca_queries,
    query_neighbours,
)

BASELINE, SIX = LAMBDA_MART, "6 LambdaMARTs"
# What needs an extra, if it is installed: an opponent, and its kind of trees.
WITH_EXTRA = (WITH_CATBOOST,) if HAS_CATBOOST else ()
TREES_OF_EXTRA = (SYMMETRIC,) if HAS_CATBOOST else ()
EQUAL_COST = {
    "best": [SIX, "6 mixed", *WITH_EXTRA, "the kinds of best"],
    "fast": ["2 LambdaMARTs", "2 mixed"],
    "one": [BASELINE, "global one", "6 mixed"],
}
# The model that each of the papers' methods is made of.
MADE_OF = {
    "local_rank": "SVMMap",
    "pca_queries": RANK_SVM,
    "query_neighbours": RANK_SVM,
    "adaptive_training": BASELINE,
    "multiple hyperplanes": RANK_SVM,
}
# The order of the tables.
SINGLE = (RANK_SVM, "SVMMap", LISTWISE, GBRT, BASELINE, CROSS_ENTROPY, NET)
SHOWN = (
    "best feature",
    *SINGLE,
    *TREES_OF_EXTRA,
    "global one",
    "2 LambdaMARTs",
    "2 mixed",
    SIX,
    "6 mixed",
    *WITH_EXTRA,
    "the kinds of best",
    *MADE_OF,
    *(local(name) for name in (RANK_SVM, "SVMMap", BASELINE, CROSS_ENTROPY, NET)),
    *(local(name) for name in ("local_rank", "pca_queries")),
    "one",
    "fast",
    WITHOUT_NETS,
    "best",
)
EXPERIMENT = "wins"
SEEDS = recipe_members.SEEDS
POOLED = ("MQ2007-85", "MQ2008", "OHSUMED", "ClueWeb09")
FOR_INFORMATION = "MSLR-sample"
DUELS = [(ours, other) for ours, others in EQUAL_COST.items() for other in others]
# The duels of the figure.
PLOTTED = [
    ("best", SIX),
    *(("best", name) for name in ("6 mixed", *WITH_EXTRA)),
    ("fast", "2 mixed"),
    ("one", "global one"),
]
# Each once, in an order that decides the order of training: a set's differs between processes.
OPPONENTS = tuple(dict.fromkeys(chain(*EQUAL_COST.values())))
# The methods of a quick run, and the number of its collections.
FEW = (*OPPONENTS, *EQUAL_COST, "pca_queries", RANK_SVM)
N_QUICK = 1


def wins_methods(seed: int, n_trees: int = N_TREES) -> dict[str, Ranker]:
    """The rankers to train, by name. Means of them are composed from their scores.

    Parameters
    ----------
    seed : int
        Seed of the first member of an ensemble; the next members count up.
    n_trees : int, default=300
        Trees of LambdaMART and GBRT. CrossEntropyMART has half as many.

    Examples
    --------
    >>> wins_methods(1000)["LambdaMART, seed 1"].random_state
    1001
    """
    single = members(seed, n_trees)
    simple = {
        "SVMMap": SVMMap(),
        "local_rank": local_rank(),
        "pca_queries": pca_queries(random_state=seed),
    }
    return {
        "best feature": BestFeature(),
        **single,
        **simple,
        **{local(name): QueryCoordinates(ranker) for name, ranker in simple.items()},
        "adaptive_training": adaptive_training(ranker=single[LAMBDA_MART], random_state=seed),
        "query_neighbours": query_neighbours(),
        "multiple hyperplanes": MultipleHyperplaneRanker(),
        "global one": global_one(n_trees, random_state=seed),
        "one": one(n_trees, random_state=seed),
    }


def reproduce(setting: Setting) -> Reproduction:
    """Compare everything with global models of equal cost, on all collections of a folder."""
    folders = collections(setting)
    names = [name for name in folders if name != FOR_INFORMATION] or list(folders)
    reproduction = Reproduction(
        EXPERIMENT, ", ".join(names), claimant="localrank", quick=setting.quick
    )
    methods = FEW if setting.quick else SHOWN
    pooled = Pooled({name: _run(setting, folders[name], methods) for name in folders}, names)
    tests = _duels(
        reproduction,
        pooled,
        pooled,
        "The recipes against global models of equal cost",
        "Equal cost is the same number of models. '6 mixed' are two LambdaMARTs, two "
        "CrossEntropyMARTs, a GBRT and a ListwiseLinear. 'With CatBoost', SymmetricTrees stand "
        "for one CrossEntropyMART. 'The kinds of best' are the models of best, all on the "
        "features. 'Global one' learned the scores of 6 mixed, as one learned those of best. 'Held "
        "out' are test queries that were not used to choose the models of the recipes: parts S4 "
        "and S5, and all of ClueWeb09.",
    )
    place = ALL if ALL in pooled.places else names[0]
    where = {place: "", HELD_OUT: " on held-out queries"}
    for (ours, other), measure in product(DUELS, MEASURES):
        for queries, words in where.items():
            if queries in pooled.places:
                test = tests[(ours, other), queries, measure]
                says = f"{ours} ranks better than {other} by {measure}{words}"
                reproduction.claim(says, difference(test), test)
    _gains(reproduction, pooled, tests)
    validated = {
        name: _run(setting, folders[name], OPPONENTS, validation=True)
        for name in names
        if has_validation(folders[name])
    }
    if validated:
        stopped = Pooled(validated, list(validated))
        _duels(
            reproduction,
            replace(pooled, names=stopped.names),
            stopped,
            "The opponents with validation queries",
            "Each model of the opponents stops its trees by NDCG@10 on the validation part. The "
            "recipes are those of the first table.",
        )
    _papers(reproduction, pooled, place)
    _means(reproduction, pooled, "Everything")
    if validated:
        _means(reproduction, stopped, "The opponents alone, with validation queries")
    return reproduction


def collections(
    setting: Setting, names: Sequence[str] = (*POOLED, FOR_INFORMATION)
) -> dict[str, Path]:
    """The named collections that are in the folder, or the folder itself. Quick: the smallest."""
    inside = {name: setting.folder / name for name in names}
    known = {name: path for name, path in inside.items() if path.is_dir()}
    if setting.quick:
        smallest = sorted(known, key=lambda name: _size(known[name]))
        known = {name: known[name] for name in known if name in smallest[:N_QUICK]}
    return known or {setting.data: setting.folder}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def sources_of(setting: Setting) -> Sources:
    """The shuffled folds of each collection, for a seed. Quick: the first two."""

    def first_folds(folder: Path, seed: int) -> list[Fold]:
        return list(islice(shuffled_folds(folder, seed), setting.n_folds))

    return {name: partial(first_folds, folder) for name, folder in collections(setting).items()}


def has_validation(folder: Path) -> bool:
    """Whether a collection's folds have validation queries."""
    return own_folds(folder)[0].valid is not None


def shuffled_folds(folder: Path, seed: int, *, validation: bool = False) -> Iterator[Fold]:
    """The folds of a collection, shuffled, without validation queries unless asked for."""
    return shuffled(own_folds(folder), seed, validation=validation)


def shuffled(parts: Iterable[Fold], seed: int, *, validation: bool = False) -> Iterator[Fold]:
    """Folds whose documents are shuffled within their queries.

    No method profits from the order of documents.
    """
    rng = np.random.default_rng(seed)

    def in_random_order(part: RankingDataset) -> RankingDataset:
        order = np.lexsort((rng.random(part.n_documents), part.query_index))
        queries = part.query_ids[part.query_index[order]]
        return RankingDataset.from_arrays(part.features[order], part.labels[order], queries)

    for fold in parts:
        train, test = in_random_order(fold.train), in_random_order(fold.test)
        valid = in_random_order(fold.valid) if validation and fold.valid is not None else None
        yield Fold(fold.name, train, valid, test)


def _run(
    setting: Setting, folder: Path, names: Sequence[str], *, validation: bool = False
) -> list[dict[str, MethodResult]]:
    """The named methods on a collection: one dict for each seed."""
    results = []
    for seed in setting.seeds:
        rankers = wins_methods(seed, n_trees_of(setting))
        parts = islice(shuffled_folds(folder, seed, validation=validation), setting.n_folds)
        trained = train(
            setting,
            {name: rankers[name] for name in needed(names)},
            parts,
            f"{folder.resolve().name}, {seed}{', validation' * validation}",
            valid=validation,
        )
        known = with_recipes(trained)
        results.append({name: known[name] for name in SHOWN if name in names})
    return results


Duel = tuple[tuple[str, str], str, Measure]


def _duels(
    reproduction: Reproduction, ours: Pooled, theirs: Pooled, title: str, note: str
) -> dict[Duel, PairedTest]:
    """The recipes against their opponents. The opponents may come from other runs."""
    tests = corrected(
        {
            (duel, place, measure): paired_test(
                ours.by_run(place, duel[0], measure), theirs.by_run(place, duel[1], measure)
            )
            for duel, place, measure in product(DUELS, theirs.places, MEASURES)
        }
    )
    reproduction.table(
        title,
        ["", "measure", *map(_label, theirs.places)],
        [
            [less(duel), str(m), *(cell(tests[duel, place, m]) for place in theirs.places)]
            for duel, m in product(DUELS, MEASURES)
        ],
        f"{note_of(tests)} {note}",
    )
    return tests


def _papers(reproduction: Reproduction, pooled: Pooled, place: str) -> None:
    """The papers' local methods against the model they are made of, and in coordinates."""
    pairs = list(MADE_OF.items())
    for method, other in MADE_OF.items():
        pairs += [(local(method), method), (local(method), local(other))]
    pairs = [pair for pair in pairs if set(pair) <= set(pooled.methods)]
    tests = corrected(
        {(pair, m): pooled.test(place, *pair, m) for pair, m in product(pairs, MEASURES)}
    )
    reproduction.table(
        "The papers' local methods against the models they are made of, and in coordinates",
        ["", "against", *map(str, MEASURES)],
        [[*pair, *(cell(tests[pair, measure]) for measure in MEASURES)] for pair in pairs],
        f"On {place}, with default parameters. {note_of(tests)}",
    )
    for pair, measure in product(MADE_OF.items(), MEASURES):
        if (pair, measure) in tests:
            test = tests[pair, measure]
            says = f"{pair[0]} ranks worse than {pair[1]}, which it is made of, by {measure}"
            reproduction.claim(says, difference(test), Worse(test))


def _means(reproduction: Reproduction, pooled: Pooled, title: str) -> None:
    """Every method on every collection, with its costs. Numbers, not tests."""
    more = [name for name in pooled.results if name not in pooled.names]
    places = [place for place in pooled.places if place != HELD_OUT] + more
    measures = [NDCG(5), *MEASURES]
    rows: list[list[Value]] = []
    for method in pooled.methods:
        means = [
            " / ".join(f"{pooled.mean(place, method, m):.4f}"[1:] for m in measures)
            for place in places
        ]
        spread = pooled.spread(ALL, method, MEASURES[0])
        seconds = f"{pooled.cpu_seconds(method):.1f} s"
        time = f"{pooled.milliseconds(method):.2f} ms"
        rows.append([method, *means, spread, pooled.n_models(method), seconds, time])
    reproduction.table(
        title,
        ["", *map(_label, places), "spread", "models", "training", "a query"],
        rows,
        f"{' / '.join(map(str, measures))}, means of the seeds. The spread is the standard "
        f"deviation of {MEASURES[0]} on all queries between the seeds. Training is CPU seconds for "
        f"the mean fold of each collection, added up. A query is the mean time to score one of "
        f"{_label(pooled.names[0])}. Of several models, times are the sums of theirs. "
        f"{FOR_INFORMATION}, where it is shown, is not among all.",
    )


def _gains(reproduction: Reproduction, pooled: Pooled, tests: dict[Duel, PairedTest]) -> None:
    """The recipes' gains over global models of equal cost, with 95 % intervals."""
    places = [place for place in pooled.places if place != HELD_OUT]
    reproduction.figure(
        "gains",
        "Gains over global models of equal cost, with 95 % intervals; filled marks are p < 0.05 "
        "after correction.",
        "intervals",
        panels={
            less(duel): {
                str(m): [interval(tests[duel, place, m]) for place in places] for m in MEASURES
            }
            for duel in PLOTTED
        },
        ticks=[_label(place) for place in places],
    )


def _label(place: str) -> str:
    # One collection is incomplete.
    return "MQ2007 (85 %)" if place == "MQ2007-85" else place
