"""Where coordinates pay: short and long lists, few and many queries, raw and normalised features.

Lists: those of training and test queries are cut to the same length, at random or to the documents
that one feature puts first. The coordinates are those of the cut list, or those that the documents
had in the whole list. If the second kind ranks better, a short list has too few documents to
describe the query. If the gain of both falls with the length, short lists leave less to gain.

Training queries: fewer of them are drawn at random, a draw for each seed.

Features: LETOR's are already normalised within the query, which is a part of what coordinates do.
Here a random factor for each query and feature undoes that normalisation, and then it is made
again. Such factors do not change coordinates, but the features beside them.

Labels: a third of the training queries has them. One model learns the scores of `best`, of these
lists or of all.

Folds, documents and models are those of `wins`. Every seed shuffles and draws anew, and trains all
models again. Tests are paired t-tests that cover queries and seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import clone
from localrank.data import Fold, RankingDataset
from localrank.data._offsets import offsets_of
from localrank.evaluation import MethodResult
from localrank.experiments import recipe_members
from localrank.experiments._query_descriptors import query_descriptors
from localrank.experiments.recipe_members import (
    COMPOSED,
    LAMBDA_MART,
    NET,
    WITHOUT_NETS,
    Sources,
    available,
    composed,
    for_coordinates,
    local,
    n_trees_of,
    train,
    train_members,
    with_recipes,
)
from localrank.experiments.repeated_runs import (
    ALL,
    MEASURES,
    Repeats,
    Tests,
    Worse,
    add_means,
    cell,
    gain_tests,
    interval,
    less,
    note_of,
    slopes,
    with_all,
)
from localrank.experiments.reproduction import Reproduction, difference
from localrank.experiments.setting import Setting
from localrank.experiments.wins import sources_of
from localrank.rankers import BestFeature, Distilled, Ranker
from localrank.rankers.base import HeldOut, Weights
from localrank.rankers.query_coordinates.query_coordinates import query_coordinates
from localrank.recipes import best, one

EXPERIMENT = "where-coordinates-pay"
SEEDS = recipe_members.SEEDS
# The column for the slope of a gain.
DOUBLING = "per doubling"
# The measure of the figures.
SHOWN = str(MEASURES[0])
FILLED = "with 95 % intervals; filled marks are p < 0.05 after correction."

LENGTH_COLLECTIONS = ("OHSUMED", "ClueWeb09")
LENGTHS, FEW_LENGTHS = (10, 40, 160), (10, 20)
RANDOM, TOP = "at random", "to the top of one feature"
# A model in coordinates against itself on the features, and a recipe against equal cost. Nets
# compute the coordinates from the list that they get, so the recipe has none.
LENGTH_PAIRS = [(local(LAMBDA_MART), LAMBDA_MART), (WITHOUT_NETS, "6 mixed")]
# Ending of the names of methods with coordinates of the whole list.
WHOLE = ", whole list"


def reproduce(setting: Setting) -> Reproduction:
    """Ask where coordinates gain, and why, on all collections of a folder."""
    sources = sources_of(setting)
    reproduction = Reproduction(
        EXPERIMENT, ", ".join(sources), claimant="localrank", quick=setting.quick
    )
    for section in QUICK_SECTIONS if setting.quick else SECTIONS:
        section(reproduction, setting, sources)
    return reproduction


def list_lengths(reproduction: Reproduction, setting: Setting, sources: Sources) -> None:
    """Add the gain of coordinates against the length of the lists."""
    names = available(sources, LENGTH_COLLECTIONS)
    lengths = FEW_LENGTHS if setting.quick else LENGTHS
    repeats = {
        (name, way, length): _cut_lists(setting, sources, name, way, length)
        for name, way, length in product(names, (RANDOM, TOP), lengths)
    }
    pairs = [*LENGTH_PAIRS, *((f"{ours}{WHOLE}", other) for ours, other in LENGTH_PAIRS)]
    pairs += [(f"{ours}{WHOLE}", ours) for ours, _ in LENGTH_PAIRS]
    place = with_all(names)[-1]
    gains: dict[tuple[str, ...], Floats] = {}
    for way, pair, measure in product((RANDOM, TOP), pairs, MEASURES):
        by_length = {
            n: np.hstack([repeats[name, way, n].gains(*pair, measure) for name in names])
            for n in lengths
        }
        gains |= _with_slope((way, less(pair), str(measure)), by_length)
    tests = gain_tests(gains)
    columns = [*map(str, lengths), DOUBLING]
    for way in (RANDOM, TOP):
        counted = (tests[way, less(pairs[0]), SHOWN, c].n_queries for c in columns)
        reproduction.table(
            f"Gain of coordinates on lists cut {way}: {place}",
            ["", "measure", *columns],
            [
                [less(pair), m, *(cell(tests[way, less(pair), m, c]) for c in columns)]
                for pair, m in product(pairs, map(str, MEASURES))
            ],
            f"{note_of(tests)} Columns are documents per list; shorter lists stay whole. "
            f"'Whole list' means coordinates computed before cutting. A query counts if its "
            f"documents have two labels with every seed; queries counted: "
            f"{', '.join(map(str, counted))}. The last column is the slope of each query's gain "
            f"for twice as many documents.",
        )
    slope = tests[RANDOM, less(LENGTH_PAIRS[-1]), SHOWN, DOUBLING]
    ours, other = LENGTH_PAIRS[-1]
    reproduction.claim(
        f"{ours} gains more over {other} on longer lists, cut at random, by {SHOWN}",
        f"{difference(slope)} for twice as many documents, on {place}",
        slope,
    )
    for way, file in ((RANDOM, "lengths-random"), (TOP, "lengths-top")):
        _length_figures(reproduction, tests, way, file, lengths)


def cut_rows(dataset: RankingDataset, priorities: Floats, length: int) -> Integers:
    """The rows of the documents with the highest priorities, at most `length` of each query.

    Rows keep their order. Among documents with equal priorities the first are taken.
    """
    order = np.lexsort((-priorities, dataset.query_index))
    places = np.arange(dataset.n_documents) - dataset.offsets[dataset.query_index]
    return np.sort(order[places < length])


def cut(dataset: RankingDataset, rows: Integers) -> RankingDataset:
    """Some documents of each query: at least one, by their rows in ascending order."""
    sizes = np.bincount(dataset.query_index[rows], minlength=dataset.n_queries)
    return dataset.with_rows(rows, offsets_of(sizes), np.arange(dataset.n_queries))


def cut_folds(fold: Fold, way: str, length: int, seed: int) -> tuple[Fold, Fold]:
    """A fold with lists cut, and the same documents with their coordinates in the whole list.

    With the same seed, the longer random list holds the shorter one.
    """
    rng = np.random.default_rng(seed)
    feature = BestFeature().fit(fold.train).feature_
    plain, whole = [], []
    for part in (fold.train, fold.test):
        random = rng.random(part.n_documents)
        rows = cut_rows(part, random if way == RANDOM else part.features[:, feature], length)
        plain.append(cut(part, rows))
        whole.append(cut(query_coordinates(part), rows))
    return Fold(fold.name, plain[0], None, plain[1]), Fold(fold.name, whole[0], None, whole[1])


def _cut_lists(setting: Setting, sources: Sources, name: str, way: str, length: int) -> Repeats:
    """All methods on cut lists, with both kinds of coordinates."""
    methods = [method for pair in LENGTH_PAIRS for method in pair]
    results = []
    for seed in setting.seeds:
        cut_parts, whole_parts = zip(
            *(cut_folds(fold, way, length, seed) for fold in sources[name](seed)), strict=True
        )
        kind = f"{name}, {seed}, {length} {way}"
        plain = train_members(setting, seed, methods, cut_parts, kind)
        # The models that some method uses in coordinates.
        rankers = {
            local(kind): ranker
            for kind, ranker in for_coordinates(seed, n_trees_of(setting)).items()
            if local(kind) in plain
        }
        whole = train(setting, rankers, whole_parts, f"{kind}{WHOLE}")
        results.append(with_recipes(plain) | _of_whole(plain, whole))
    return Repeats(results, two_labels=True)


def _of_whole(
    plain: Mapping[str, MethodResult], whole: Mapping[str, MethodResult]
) -> dict[str, MethodResult]:
    """The methods with coordinates of the whole list."""
    both = {**plain, **whole}
    return {
        f"{method}{WHOLE}": composed(both, method, COMPOSED[method])
        if method in COMPOSED
        else whole[method]
        for method, _ in LENGTH_PAIRS
    }


def _length_figures(
    reproduction: Reproduction, tests: Tests, way: str, file: str, lengths: Sequence[int]
) -> None:
    labels = {"coordinates of the cut list": "", "of the whole list": WHOLE}
    reproduction.figure(
        file,
        f"Gains by {SHOWN} on lists cut {way}, {FILLED}",
        "intervals",
        panels={
            less(pair): {
                label: [
                    interval(tests[way, less((f"{pair[0]}{whole}", pair[1])), SHOWN, f"{n}"])
                    for n in lengths
                ]
                for label, whole in labels.items()
            }
            for pair in LENGTH_PAIRS
        },
        ticks=[f"{n} documents" for n in lengths],
    )


def _with_slope(
    key: tuple[str, ...], by_size: Mapping[int, Floats]
) -> dict[tuple[str, ...], Floats]:
    """The gains at each size, and how they grow when the size doubles."""
    gains = {(*key, f"{size}"): values for size, values in by_size.items()}
    return gains | {(*key, DOUBLING): slopes(np.log2([*by_size]), np.array([*by_size.values()]))}


CURVE_COLLECTIONS = ("MQ2007-85", "MQ2008")
SIZES, FEW_SIZES = (15, 60, 250), (12,)
CURVE_PAIRS = [(local(LAMBDA_MART), LAMBDA_MART), ("best", "6 mixed"), ("best", WITHOUT_NETS)]
CURVE_METHODS = (LAMBDA_MART, local(LAMBDA_MART), local(NET), "6 mixed", WITHOUT_NETS, "best")


def learning_curves(reproduction: Reproduction, setting: Setting, sources: Sources) -> None:
    """Add the methods and the gain of coordinates against the number of training queries."""
    curves = {
        name: _curve(setting, sources, name) for name in available(sources, CURVE_COLLECTIONS)
    }
    gains: dict[tuple[str, ...], Floats] = {}
    for name, pair, measure in product(curves, CURVE_PAIRS, MEASURES):
        by_size = {size: runs.gains(*pair, measure) for size, runs in curves[name].items()}
        gains |= _with_slope((name, less(pair), str(measure)), by_size)
    tests = gain_tests(gains)
    for name, curve in curves.items():
        columns = [*map(str, curve), DOUBLING]
        note = "Columns are numbers of training queries, the last all of a fold."
        reproduction.table(
            f"Gain against the number of training queries: {name}",
            ["", "measure", *columns],
            [
                [less(pair), m, *(cell(tests[name, less(pair), m, column]) for column in columns)]
                for pair, m in product(CURVE_PAIRS, map(str, MEASURES))
            ],
            f"{note_of(tests)} {note} The last column is the slope of each query's gain for twice "
            f"as many training queries.",
        )
        add_means(
            reproduction,
            f"Means against the number of training queries: {name}",
            CURVE_METHODS,
            {str(size): runs for size, runs in curve.items()},
            f". {note}",
        )
        ours, other = CURVE_PAIRS[1]
        slope = tests[name, less((ours, other)), SHOWN, DOUBLING]
        reproduction.claim(
            f"{ours} gains less over {other} with more training queries of {name}, by {SHOWN}",
            f"{difference(slope)} for twice as many queries",
            Worse(slope),
        )
    _curve_figures(reproduction, tests, curves)


def fewer_queries(fold: Fold, size: int, seed: int) -> Fold:
    """A fold with some of its training queries, sampled at random.

    With the same seed, the larger sample holds the smaller one.
    """
    order = np.random.default_rng(seed).permutation(fold.train.n_queries)
    return Fold(fold.name, fold.train.select(np.sort(order[:size])), None, fold.test)


def _curve(setting: Setting, sources: Sources, name: str) -> dict[int, Repeats]:
    """The results by the number of training queries. The last number is all of them."""
    first = list(sources[name](setting.seeds[0]))
    every = round(float(np.mean([fold.train.n_queries for fold in first])))
    sizes = [size for size in (FEW_SIZES if setting.quick else SIZES) if size < every]
    curve = {}
    for size in [*sizes, every]:
        results = []
        for seed in setting.seeds:
            parts, kind = list(sources[name](seed)), f"{name}, {seed}"
            if size != every:
                parts = [fewer_queries(fold, size, seed) for fold in parts]
                kind += f", {size} queries"
            trained = train_members(setting, seed, CURVE_METHODS, parts, kind)
            results.append(with_recipes(trained))
        curve[size] = Repeats(results)
    return curve


def _curve_figures(
    reproduction: Reproduction, tests: Tests, curves: Mapping[str, Mapping[int, Repeats]]
) -> None:
    reproduction.figure(
        "learning-curves",
        f"{SHOWN} against the number of training queries.",
        "curves",
        panels={
            name: {
                method: ([*curve], [runs.mean(method, MEASURES[0]) for runs in curve.values()])
                for method in CURVE_METHODS
            }
            for name, curve in curves.items()
        },
        x_label="training queries",
        y_label=SHOWN,
        log_x=True,
    )
    for name, curve in curves.items():
        reproduction.figure(
            f"learning-gains-{name}",
            f"Gains by {SHOWN} on {name} against the number of training queries, {FILLED}",
            "intervals",
            panels={
                name: {
                    less(pair): [
                        interval(tests[name, less(pair), SHOWN, f"{size}"]) for size in curve
                    ]
                    for pair in CURVE_PAIRS
                }
            },
            ticks=[f"{size} queries" for size in curve],
        )


AS_THEY_ARE, MULTIPLIED, NORMALISED = "as they are", "multiplied", "normalised"
# The forms of each collection's features: not normalised, and normalised. LETOR's are normalised.
FORMS = {
    "MSLR-sample": (AS_THEY_ARE, NORMALISED),
    "OHSUMED": (MULTIPLIED, AS_THEY_ARE),
    "MQ2008": (MULTIPLIED, AS_THEY_ARE),
}
# Factors lie between these powers of ten.
LOWEST, HIGHEST = -1.0, 1.0
FORM_METHODS = (LAMBDA_MART, local(LAMBDA_MART), "6 mixed", "best")
FORM_PAIRS = [(local(LAMBDA_MART), LAMBDA_MART), ("best", "6 mixed")]


def unnormalised(reproduction: Reproduction, setting: Setting, sources: Sources) -> None:
    """Add the gain of coordinates for each form of the features."""
    names = available(sources, list(FORMS))
    forms = {name: FORMS.get(name, FORMS["OHSUMED"]) for name in names}
    repeats = {
        (name, form): _with_form(setting, sources, name, form)
        for name in names
        for form in forms[name]
    }
    gains: dict[tuple[str, ...], Floats] = {}
    for measure, (name, form), pair in product(MEASURES, repeats, FORM_PAIRS):
        gains[name, less(pair), form, str(measure)] = repeats[name, form].gains(*pair, measure)
    for measure, name, (ours, other) in product(MEASURES, names, FORM_PAIRS):
        crude, last = forms[name]
        before, normal = repeats[name, crude], repeats[name, last].by_run(other, measure)
        part = f"{other}: normalised − {crude}"
        gains[name, part, "", str(measure)] = normal - before.by_run(other, measure)
        rest = f"{ours}, {crude} − {other}, normalised"
        gains[name, rest, "", str(measure)] = before.by_run(ours, measure) - normal
    tests = gain_tests(gains)
    reproduction.table(
        "Gain of coordinates and of normalisation within the query",
        ["", "", "features", *map(str, MEASURES)],
        [
            [*key, *(cell(tests[*key, str(measure)]) for measure in MEASURES)]
            for key in dict.fromkeys(key[:3] for key in sorted(tests, key=lambda key: key[:2]))
        ],
        f"{note_of(tests)} Normalised features lie between 0 and 1 in each query, as LETOR's do as "
        f"they are. Multiplied ones have a factor between 0.1 and 10 for each query and feature.",
    )
    for name, pair in product(names, FORM_PAIRS):
        test = tests[name, less(pair), forms[name][0], SHOWN]
        says = f"{pair[0]} ranks better than {pair[1]} on {name}, {forms[name][0]}, by {SHOWN}"
        reproduction.claim(says, difference(test), test)
    reproduction.table(
        "Means for each form of the features",
        ["", "features", *FORM_METHODS],
        [[*key, *map(runs.means, FORM_METHODS)] for key, runs in repeats.items()],
        " / ".join(map(str, MEASURES)),
    )
    reproduction.figure(
        "unnormalised",
        f"Gain of coordinates by {SHOWN} for each form of the features, {FILLED}",
        "intervals",
        panels={
            f"gain in {SHOWN}": {
                less(pair): [
                    interval(tests[name, less(pair), form, SHOWN]) for name, form in repeats
                ]
                for pair in FORM_PAIRS
            }
        },
        ticks=[f"{name}, {form}" for name, form in repeats],
    )


def multiplied(dataset: RankingDataset, rng: np.random.Generator) -> RankingDataset:
    """Each feature times a random factor in each query, log-uniform."""
    powers = rng.uniform(LOWEST, HIGHEST, (dataset.n_queries, dataset.n_features))
    return dataset.replaced(features=dataset.features * (10.0**powers)[dataset.query_index])


def normalised(dataset: RankingDataset) -> RankingDataset:
    """Each feature scaled to 0…1 in each query. A feature that is constant in a query becomes 0."""
    begins, queries = dataset.offsets[:-1], dataset.query_index
    low = np.minimum.reduceat(dataset.features, begins)
    width = np.maximum.reduceat(dataset.features, begins) - low
    width[width == 0] = 1.0
    features: Array = (dataset.features - low[queries]) / width[queries]
    return dataset.replaced(features=features)


def with_form(fold: Fold, form: str, seed: int) -> Fold:
    """A fold with another form of the features."""
    rng = np.random.default_rng(seed)
    steps: dict[str, list[Callable[[RankingDataset], RankingDataset]]] = {
        AS_THEY_ARE: [],
        NORMALISED: [normalised],
        MULTIPLIED: [lambda part: multiplied(part, rng)],
    }
    parts = []
    for part in (fold.train, fold.test):
        for step in steps[form]:
            part = step(part)
        parts.append(part)
    return Fold(fold.name, parts[0], None, parts[1])


def _with_form(setting: Setting, sources: Sources, name: str, form: str) -> Repeats:
    results = []
    for seed in setting.seeds:
        parts = [with_form(fold, form, seed) for fold in sources[name](seed)]
        kind = f"{name}, {seed}" + (f", {form}" if form != AS_THEY_ARE else "")
        results.append(with_recipes(train_members(setting, seed, FORM_METHODS, parts, kind)))
    return Repeats(results)


TAUGHT_COLLECTIONS = ("MQ2008", "OHSUMED")
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
        by_name[ALL] = np.hstack(list(by_name.values()))
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


SECTIONS = (list_lengths, learning_curves, query_descriptors, unnormalised, distillation)
QUICK_SECTIONS = (learning_curves, query_descriptors, unnormalised)
