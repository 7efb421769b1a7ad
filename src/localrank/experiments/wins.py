"""Query coordinates and the recipes beside global models of equal cost, on several collections.

Every method has its default parameters and no validation queries, so that test queries are only
scored. Documents are shuffled within their queries, and equal scores share their ranks. Tests are
paired t-tests over the queries of a collection, and over those of all collections together,
corrected by Holm's rule for the number of tests in a table. Where a collection has validation
queries, the opponents also run with them: they stop each model's trees. The recipes do not use
them.

Means of models are composed from the scores of their members, so no member is trained twice.

The models of the recipes were chosen by three-fold cross-validation over the parts S1, S2 and S3
of MQ2007 (85 %), MQ2008 and OHSUMED. The coordinates were chosen by earlier trials on all parts.
"Held out" are the test queries of S4 and S5, and all of ClueWeb09: none of them was used to choose
the models.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, product
from pathlib import Path

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.estimator import clone
from localrank.data import Fold, RankingDataset
from localrank.evaluation import MethodResult, PairedTest, paired_test
from localrank.evaluation.significance import corrected
from localrank.experiments._query_descriptors import query_descriptors
from localrank.experiments.recipe_members import (
    CROSS_ENTROPY,
    GBRT,
    LAMBDA_MART,
    LISTWISE,
    N_TREES,
    NET,
    RANK_SVM,
    WITHOUT_NETS,
    Sources,
    available,
    for_coordinates,
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
    Repeats,
    add_means,
    cell,
    gain_tests,
    interval,
    less,
    note_of,
    short_p,
)
from localrank.experiments.reproduction import Reproduction, Value
from localrank.experiments.setting import Setting, own_folds
from localrank.experiments.where_coordinates_pay import learning_curves, list_lengths, unnormalised
from localrank.measures import NDCG, Measure
from localrank.rankers import (
    LGMML,
    BestFeature,
    Distilled,
    MultipleHyperplaneRanker,
    QueryCoordinates,
    Ranker,
    SVMMap,
)
from localrank.rankers.base import HeldOut, Weights
from localrank.recipes import (
    adaptive_training,
    best,
    global_one,
    local_rank,
    one,
    pca_queries,
    query_neighbours,
)

BASELINE, SIX = LAMBDA_MART, "6 LambdaMARTs"
EQUAL_COST = {
    "best": [SIX, "6 mixed", "the kinds of best"],
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
LOCAL = ("local_rank", "pca_queries", "adaptive_training")
SHOWN = (
    "best feature",
    *SINGLE,
    "global one",
    "2 LambdaMARTs",
    "2 mixed",
    SIX,
    "6 mixed",
    "the kinds of best",
    *LOCAL,
    "query_neighbours",
    "multiple hyperplanes",
    "L-GMML",
    *(local(name) for name in (*SINGLE, SIX, "6 mixed", *LOCAL)),
    "local_rank of models in coordinates",
    "one",
    "fast",
    WITHOUT_NETS,
    "best",
)
EXPERIMENT = "wins"
POOLED = ("MQ2007-85", "MQ2008", "OHSUMED", "ClueWeb09")
FOR_INFORMATION = "MSLR-sample"
DUELS = [(ours, other) for ours, others in EQUAL_COST.items() for other in others]
# The duels of the figure.
PLOTTED = [("best", SIX), ("best", "6 mixed"), ("fast", "2 mixed"), ("one", "global one")]
OPPONENTS = set(chain(*EQUAL_COST.values()))
# The methods of a quick run.
FEW = {BASELINE, *EQUAL_COST, *OPPONENTS, *MADE_OF, *MADE_OF.values()}


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

    def papers(lambda_mart: Ranker) -> dict[str, Ranker]:
        return {
            "SVMMap": SVMMap(),
            "local_rank": local_rank(),
            "pca_queries": pca_queries(),
            "adaptive_training": adaptive_training(ranker=lambda_mart, random_state=seed),
        }

    single = members(seed, n_trees)
    few = for_coordinates(seed, n_trees)[LAMBDA_MART]
    return {
        "best feature": BestFeature(),
        **single,
        **papers(single[LAMBDA_MART]),
        "query_neighbours": query_neighbours(),
        "multiple hyperplanes": MultipleHyperplaneRanker(),
        "L-GMML": LGMML(random_state=seed),
        **{local(name): QueryCoordinates(ranker) for name, ranker in papers(few).items()},
        "local_rank of models in coordinates": local_rank(ranker=QueryCoordinates(SVMMap())),
        "global one": global_one(n_trees, random_state=seed),
        "one": one(n_trees, random_state=seed),
    }


def reproduce(setting: Setting) -> Reproduction:
    """Compare everything with global models of equal cost, on all collections of a folder."""
    folders = collections(setting.folder)
    names = [name for name in folders if name != FOR_INFORMATION] or list(folders)
    reproduction = Reproduction(EXPERIMENT, ", ".join(names), claimant="localrank")
    plain = {
        name: _run(setting, folder, FEW if setting.quick else SHOWN)
        for name, folder in folders.items()
    }
    validated = {
        name: _run(setting, folders[name], OPPONENTS, validation=True)
        for name in names
        if has_validation(folders[name])
    }
    pooled = Pooled(plain, names)
    tests = _duels(reproduction, pooled, pooled, "The recipes against global models of equal cost")
    place = ALL if ALL in pooled.places else names[0]
    for (ours, other), measure in product(DUELS, MEASURES):
        says = f"{ours} ranks better than {other} by {measure}"
        test = tests[(ours, other), place, measure]
        reproduction.claim_better(says, f"on {place}", test)
    if len(setting.seeds) > 1:
        for i, seed in enumerate(setting.seeds):
            single_seed = Pooled(
                {name: by_seed[i : i + 1] for name, by_seed in plain.items()}, names
            )
            _duels(reproduction, single_seed, single_seed, f"Seeds from {seed}")
    if validated:
        stopped = Pooled(validated, list(validated))
        same = replace(pooled, names=stopped.names)
        _duels(reproduction, same, stopped, "The opponents with validation queries")
        _means(reproduction, stopped, "The opponents alone, with validation queries")
    _papers(reproduction, pooled)
    _means(reproduction, pooled, "Everything")
    _gains(reproduction, pooled)
    sources = {name: partial(shuffled_folds, folder) for name, folder in folders.items()}
    for section in SECTIONS:
        section(reproduction, setting, sources)
    return reproduction


def collections(folder: Path) -> dict[str, Path]:
    """The collections that are in a folder, or the folder itself."""
    inside = {name: folder / name for name in (*POOLED, FOR_INFORMATION)}
    known = {name: path for name, path in inside.items() if path.is_dir()}
    return known or {folder.resolve().name: folder}


def has_validation(folder: Path) -> bool:
    """Whether a collection's folds have validation queries."""
    return own_folds(folder)[0].valid is not None


def shuffled_folds(folder: Path, seed: int, *, validation: bool = False) -> Iterator[Fold]:
    """The folds of a collection, without validation queries unless asked for.

    Documents are shuffled within their queries, so no method profits from their order.
    """
    rng = np.random.default_rng(seed)

    def shuffled(part: RankingDataset) -> RankingDataset:
        order = np.lexsort((rng.random(part.n_documents), part.query_index))
        queries = part.query_ids[part.query_index[order]]
        return RankingDataset.from_arrays(part.features[order], part.labels[order], queries)

    for fold in own_folds(folder):
        train, test = shuffled(fold.train), shuffled(fold.test)
        valid = shuffled(fold.valid) if validation and fold.valid is not None else None
        yield Fold(fold.name, train, valid, test)


def _run(
    setting: Setting, folder: Path, names: Collection[str], *, validation: bool = False
) -> list[dict[str, MethodResult]]:
    """The named methods on a collection: one dict for each seed."""
    results = []
    for seed in setting.seeds:
        rankers = wins_methods(seed, n_trees_of(setting))
        parts = list(shuffled_folds(folder, seed, validation=validation))
        kind = f"{folder.resolve().name}, {seed}{', validation' * validation}"
        setting.say(kind)
        trained = setting.run(
            {name: rankers[name] for name in needed(names)},
            parts[: setting.n_folds],
            valid=True,
            store=None if setting.store is None else setting.store / kind,
        )
        known = with_recipes(trained)
        results.append({name: known[name] for name in SHOWN if name in names})
    return results


def _duels(
    reproduction: Reproduction, ours: Pooled, theirs: Pooled, title: str
) -> dict[tuple[tuple[str, str], str, Measure], PairedTest]:
    """The recipes against their opponents. The opponents may come from other runs."""
    tests = corrected(
        {
            (duel, place, measure): paired_test(
                ours.values(place, duel[0], measure), theirs.values(place, duel[1], measure)
            )
            for duel, place, measure in product(DUELS, theirs.places, MEASURES)
        }
    )

    def both_p(test: PairedTest) -> str:
        return f"{test.mean_difference:+.4f} ({short_p(test.p_value)}; {short_p(test.p)})"

    reproduction.table(
        title,
        ["", "measure", *map(_label, theirs.places)],
        [
            [less(duel), str(m), *(both_p(tests[duel, place, m]) for place in theirs.places)]
            for duel, m in product(DUELS, MEASURES)
        ],
        "Differences; in brackets p before and after Holm's correction for all tests of the table.",
    )
    return tests


def _papers(reproduction: Reproduction, pooled: Pooled) -> None:
    """The papers' local methods against the model they are made of, and in coordinates."""
    pairs = list(MADE_OF.items())
    for method, other in MADE_OF.items():
        pairs += [(local(method), method), (local(method), local(other))]
    pairs.append(("local_rank of models in coordinates", local("SVMMap")))
    pairs = [pair for pair in pairs if set(pair) <= set(pooled.methods)]
    tests = corrected(
        {(pair, m): pooled.test(ALL, *pair, m) for pair, m in product(pairs, MEASURES)}
    )
    reproduction.table(
        "Do the papers' local methods gain from coordinates?",
        ["", "against", *map(str, MEASURES)],
        [[*pair, *(_one_p(tests[pair, measure]) for measure in MEASURES)] for pair in pairs],
        "On all queries, p after Holm's correction.",
    )
    better = [pair[0] for pair in MADE_OF.items() if any(tests[pair, m].sign > 0 for m in MEASURES)]
    reproduction.claim(
        "no local method of the papers ranks better than the model it is made of",
        not better,
        f"{len(better)} of {len(MADE_OF)} do{': ' * bool(better)}{', '.join(better)}",
    )


def _means(reproduction: Reproduction, pooled: Pooled, title: str) -> None:
    """Every method on every collection, and its difference from six LambdaMARTs on all."""
    others = [method for method in pooled.methods if method != SIX]
    tests = corrected(
        {(method, m): pooled.test(ALL, method, SIX, m) for method, m in product(others, MEASURES)}
    )
    more = [name for name in pooled.results if name not in pooled.names]
    places = [place for place in pooled.places if place != HELD_OUT] + more
    measures = [NDCG(5), *MEASURES]
    rows: list[list[Value]] = []
    for method in pooled.methods:
        means = [
            " / ".join(f"{pooled.values(place, method, m).mean():.4f}"[1:] for m in measures)
            for place in places
        ]
        against = ", ".join(_one_p(tests[method, m]) for m in MEASURES) if method != SIX else ""
        seconds = f"{pooled.cpu_seconds(method):.1f} s"
        rows.append([method, *means, against, pooled.n_models(method), seconds])
    reproduction.table(
        title,
        ["", *map(_label, places), f"all, to {SIX}", "models", "training"],
        rows,
        f"{' / '.join(map(str, measures))}. Differences to {SIX} by "
        f"{' and '.join(map(str, MEASURES))}, p after Holm's correction. Training is CPU seconds "
        f"for the mean fold of each collection, added up.",
    )


def _gains(reproduction: Reproduction, pooled: Pooled) -> None:
    """The recipes' gains over global models of equal cost, with 95 % intervals."""
    places = [place for place in pooled.places if place != HELD_OUT]
    reproduction.figure(
        "gains",
        "Gains over global models of equal cost, with 95 % intervals; filled marks are p < 0.05 "
        "before correction.",
        "intervals",
        panels={
            less(duel): {
                str(m): [interval(pooled.test(place, *duel, m)) for place in places]
                for m in MEASURES
            }
            for duel in PLOTTED
        },
        ticks=[_label(place) for place in places],
    )


def _label(place: str) -> str:
    # One collection is incomplete.
    return "MQ2007 (85 %)" if place == "MQ2007-85" else place


def _one_p(test: PairedTest) -> str:
    return f"{test.mean_difference:+.4f} ({short_p(test.p)})"


TAUGHT_COLLECTIONS = ("MQ2007-85", "MQ2008", "OHSUMED")
# The share of the training queries whose labels are used: the rest are lists without labels.
LABELLED = 1 / 3
TEACHER, STUDENT, MORE = "best", "one", "one, lists without labels too"
TAUGHT_PAIRS = [(STUDENT, TEACHER), (MORE, TEACHER), (MORE, STUDENT)]


class TaughtByMore(Distilled):
    """Learns the scores of all training lists. The teacher saw the labels of the first third."""

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        teacher: Ranker = clone(self.ranker)
        teacher.fit_rows(dataset.taken(np.arange(n_labelled(dataset))))
        self._teach(dataset.replaced(relevance=teacher.predict_rows(dataset)))


def distillation(reproduction: Reproduction, setting: Setting, sources: Sources) -> None:
    """Add what lists without labels teach one model when a third of the queries has labels."""
    names = available(sources, TAUGHT_COLLECTIONS)
    repeats = {name: _taught(setting, sources, name) for name in names}
    gains: dict[tuple[str, ...], Floats] = {}
    for pair, measure in product(TAUGHT_PAIRS, MEASURES):
        by_name = {name: runs.gains(*pair, measure) for name, runs in repeats.items()}
        by_name[ALL] = np.concatenate(list(by_name.values()))
        gains |= {(less(pair), str(measure), place): v for place, v in by_name.items()}
    tests = gain_tests(gains)
    reproduction.table(
        "Lists without labels",
        ["", "measure", *names, ALL],
        [
            [less(pair), m, *(cell(tests[less(pair), m, place]) for place in (*names, ALL))]
            for pair, m in product(TAUGHT_PAIRS, map(str, MEASURES))
        ],
        f"{note_of(tests)} A third of each fold's training queries has labels; best is trained on "
        f"them. One model learns its scores of these lists, or of all training lists.",
    )
    add_means(reproduction, "Lists without labels: means", (TEACHER, STUDENT, MORE), repeats)


def n_labelled(dataset: RankingDataset) -> int:
    """How many of the queries have labels."""
    return max(round(LABELLED * dataset.n_queries), 1)


def shuffled_queries(fold: Fold, seed: int) -> Fold:
    """A fold whose training queries come in a random order: the first ones have labels."""
    order = np.random.default_rng(seed).permutation(fold.train.n_queries)
    return Fold(fold.name, fold.train.select(order), None, fold.test)


def _taught(setting: Setting, sources: Sources, name: str) -> Repeats:
    results = []
    for seed in setting.seeds:
        n_trees = n_trees_of(setting)
        every = [shuffled_queries(fold, seed) for fold in sources[name](seed)]
        few = [
            Fold(fold.name, fold.train.select(range(n_labelled(fold.train))), None, fold.test)
            for fold in every
        ]
        student = one(n_trees, random_state=seed)
        rankers = {TEACHER: best(n_trees, random_state=seed), STUDENT: student}
        more = {MORE: TaughtByMore(student.ranker, student.student)}
        taught = train(setting, rankers, few, f"{name}, {seed}, a third")
        results.append(taught | train(setting, more, every, f"{name}, {seed}, by more"))
    return Repeats(results)


# Where coordinates pay, and why; what lists without labels add.
SECTIONS = (list_lengths, learning_curves, query_descriptors, unnormalised, distillation)
