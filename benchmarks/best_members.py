"""Which models belong into `best`: mixtures by cross-validation on training parts.

Run with `python benchmarks/best_members.py [--store FOLDER] [COLLECTION ...]`. Collections from the
folder in LOCALRANK_DATA or from `../shared/data` beside the project. Parts S1, S2 and S3 of a
collection: two train, the third is scored. A collection of one file is split by queries. No other
part is read, so test queries stay unseen. Every model is trained once for each fold and seed.
Scores are kept in the folder: an interrupted run goes on where it stopped. With CatBoost installed,
symmetric trees are among the models. The whole takes about ten minutes of one core.

The tables, NDCG@10 and MAP with p of paired t-tests over queries and seeds, uncorrected:

- Headroom: the gain if each query had the best of several mixtures, chosen by its labels. Each
  mixture leans to one member. In the control, how members depart from the mean of all is moved to
  other documents of the query. The choice gains there, too: by chance.
- Which member errs where: differences to the mean of all, by length of list and by labels.
- Members replaced, one or two at a time.
- More weight for the models on the features where lists are short. The control exchanges the
  lengths of lists within each collection.
- The winner of these mixtures, measured on queries and on collections that did not choose it.
- Weights of members, learned on two parts and measured on the third: for all queries, and for
  groups of them. The control has random groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from measuring import DATA, mq2007_fold, options, sized

from localrank import rankers
from localrank._base.arrays import Array, Floats, Integers
from localrank.aggregation import ZScore
from localrank.data import Fold, RankingDataset, concatenate, read_letor
from localrank.evaluation import paired_test, run
from localrank.experiments.recipe_members import (
    COMPOSED,
    CROSS_ENTROPY,
    FEW_TREES,
    GBRT,
    HAS_CATBOOST,
    LAMBDA_MART,
    LISTWISE,
    N_TREES,
    SYMMETRIC,
    WITH_CATBOOST,
    local,
    members,
    needed,
)
from localrank.experiments.wins import shuffled
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import QueryCoordinates, Ranker
from localrank.rankers.boosted_trees._boosted_trees import Gradient
from localrank.rankers.query_coordinates.query_coordinates import COORDINATES_FRACTION

COLLECTIONS = ("MQ2007-85", "MQ2008", "OHSUMED", "Yandex")
PARTS = ("S1", "S2", "S3")
SEEDS = sized((0, 1000), (0,))
TREES = sized(N_TREES, FEW_TREES)
MEASURES: tuple[Measure, ...] = (NDCG(10), AveragePrecision())
MEMBERS = list(chain.from_iterable(COMPOSED["best"]))
OPPONENT = WITH_CATBOOST if HAS_CATBOOST else "6 mixed"
# Upper ends of groups of queries, by documents and by relevant documents.
LENGTHS, RELEVANT = (10, 20, 40), (0, 2, 5, 11)
SHORT, LEANS = 20, (10, 15, 20, 25)
N_WEIGHTS, N_BEST, N_HALVES = sized((250, 15, 200), (20, 3, 5))


class QueryRegression(rankers.GBRT):
    """GBRT by the loss "query-rmse": the mean of each query is taken off labels and scores."""

    def _gradient(
        self, target: Floats, sizes: Integers, weights: Floats | None, n_threads: int
    ) -> Gradient:
        begins, constant = np.cumsum(sizes) - sizes, np.ones(len(target), dtype=np.float32)

        def gradient(scores: Floats) -> tuple[Array, Array]:
            rest = scores - target
            rest -= np.repeat(np.add.reduceat(rest, begins) / sizes, sizes)
            return rest.astype(np.float32), constant

        return gradient


class RandomCuts(QueryRegression):
    """The same with extremely random trees: one cut of a feature is drawn, not the best chosen."""

    def _objective(self, dataset: RankingDataset) -> tuple[dict[str, Any], Floats]:
        more, target = super()._objective(dataset)
        return {**more, "extra_trees": True}, target


REGRESSION, RANDOM_CUTS, SLOW = "GBRT by query-rmse", "random cuts", "slow GBRT"


def candidates(seed: int) -> dict[str, Ranker]:
    """The models to train, by name: members of `best` and of its opponents, and what may join."""
    known = members(seed, TREES)
    opponents = needed(["best", "6 mixed", OPPONENT])
    result = {name: known[name] for name in [*opponents, local(GBRT)]}
    few: dict[str, Any] = {"min_leaf_documents": sized(50, 5), "random_state": seed}
    narrow: dict[str, Any] = {"feature_fraction": COORDINATES_FRACTION}
    slow: dict[str, Any] = {"n_leaves": 15, "min_leaf_documents": 20, "random_state": seed}
    cuts: dict[str, Any] = {"n_trees": sized(500, FEW_TREES), "n_leaves": sized(31, 7), **few}
    result |= {
        REGRESSION: QueryRegression(TREES, **few),
        local(REGRESSION): QueryCoordinates(QueryRegression(TREES, **few, **narrow)),
        RANDOM_CUTS: RandomCuts(**cuts),
        local(RANDOM_CUTS): QueryCoordinates(RandomCuts(**cuts, **narrow)),
        SLOW: rankers.GBRT(3 * TREES, learning_rate=0.02, **slow),
    }
    if HAS_CATBOOST:
        symmetric = known[SYMMETRIC].set_params(**narrow)
        result[SYMMETRIC] = members(seed, TREES)[SYMMETRIC]
        result[local(SYMMETRIC)] = QueryCoordinates(symmetric)
    return result


def parts_of(name: str) -> list[RankingDataset]:
    """The three training parts of a collection."""
    if name == "made-up":
        return thirds(mq2007_fold()[0])
    files = [path for part in PARTS for path in sorted((DATA / name).glob(f"{part}.txt*"))]
    if files:
        return [read_letor(path) for path in files]
    return thirds(read_letor(next((DATA / name).glob("train.txt*"))))


def thirds(dataset: RankingDataset) -> list[RankingDataset]:
    """Three parts of the queries, drawn at random."""
    order = np.random.default_rng(0).permutation(dataset.n_queries)
    return [dataset.select(np.sort(queries)) for queries in np.array_split(order, 3)]


@dataclass
class Results:
    """What the models scored, of all collections together.

    Attributes
    ----------
    queries : RankingDataset
    places, parts : ndarray of shape (n_queries,)
        The collection of each query, and the part that it is in.
    scores : dict from model to ndarray of shape (n_seeds, n_documents)
        Standardised within the query.
    """

    queries: RankingDataset
    places: Any
    parts: Integers
    scores: dict[str, Floats]
    _known: dict[tuple[str, ...], Floats] = field(default_factory=dict)

    def values(self, scores: Floats) -> Floats:
        """Values of shape (n_measures, n_seeds, n_queries)."""
        return np.array([[m.of_rows(self.queries, row) for row in scores] for m in MEASURES])

    def mixture(self, names: Sequence[str]) -> Floats:
        """The mean of some models' scores."""
        return np.asarray(np.mean([self.scores[name] for name in names], axis=0))

    def mean(self, names: Sequence[str]) -> Floats:
        """The values of the mean of some models."""
        key = tuple(sorted(names))
        if key not in self._known:
            self._known[key] = self.values(self.mixture(key))
        return self._known[key]

    def row(self, label: str, gains: Floats) -> None:
        """Print differences, of shape (n_measures, n_seeds, n_queries), as a row of a table.

        NaN: the query does not count.
        """
        cells = []
        for place in [None, *dict.fromkeys(self.places)]:
            chosen = (self.places == place if place else True) & ~np.isnan(gains).any(axis=(0, 1))
            if chosen.sum() < 2:
                cells += ["–"] * len(MEASURES)
                continue
            tests = [paired_test(rows[:, chosen], np.zeros(chosen.sum())) for rows in gains]
            cells += [f"{test.mean_difference:+.4f} ({test.p_value:.3f})" for test in tests]
        print(f"| {label} | " + " | ".join(cells) + " |", flush=True)

    def header(self, title: str) -> None:
        """Print the head of a table of such rows."""
        places = ["all", *dict.fromkeys(self.places)]
        columns = [f"{place}, {measure}" for place in places for measure in MEASURES]
        print(f"\n| {title} | " + " | ".join(columns) + " |")
        print("|---" * (len(columns) + 1) + "|")


def results_of(names: Sequence[str], store: Path | None) -> Results:
    """Train all models on all collections, or read what the folder has of them."""
    labels, places, parts = [], [], []
    scores: dict[str, list[list[Floats]]] = {}
    for name in names:
        folds = folds_of(name)
        for number, fold in enumerate(folds):
            labels.append(of_collection(name, fold.test))
            places += [name] * fold.test.n_queries
            parts += [number] * fold.test.n_queries
        for place, seed in enumerate(SEEDS):
            folder = None if store is None else store / f"{name}, {seed}"
            for model, result in run(
                candidates(seed), folds, valid=False, store=folder, say=said
            ).items():
                of_seeds = scores.setdefault(model, [[] for _ in SEEDS])
                of_seeds[place].append(result.scores)
    queries = concatenate(labels)
    standardised = {
        model: np.array(
            [ZScore().aggregate_rows(queries, np.concatenate(rows)[None]) for rows in of_seeds]
        )
        for model, of_seeds in scores.items()
    }
    return Results(queries, np.array(places), np.array(parts), standardised)


def folds_of(name: str) -> list[Fold]:
    """Each part as test queries, the others as training queries; all documents shuffled."""
    parts = parts_of(name)
    turns = [
        Fold(part, concatenate([other for other in parts if other is not test]), None, test)
        for part, test in zip(PARTS, parts, strict=True)
    ]
    return list(shuffled(turns, 0))


def of_collection(name: str, part: RankingDataset) -> RankingDataset:
    """The labels alone, with ids that differ between collections."""
    ids = [f"{name} {query}" for query in part.query_ids]
    return RankingDataset(
        np.empty((part.n_documents, 0)), part.relevance, part.offsets, np.array(ids)
    )


def headroom(results: Results) -> None:
    """What the best of several mixtures for each query would gain, chosen by its labels."""
    best, scores = results.mean(MEMBERS), np.array([results.scores[name] for name in MEMBERS])
    mean = scores.mean(axis=0)
    rng = np.random.default_rng(0)
    # Other documents of the same query.
    others = np.lexsort((rng.random(results.queries.n_documents), results.queries.query_index))
    results.header("gain if each query had the best of seven mixtures, chosen by its labels")
    for lean, words in ((1.0, "a member alone"), (0.5, "half a member, half the mean")):
        for moved, how in ((False, "members"), (True, "control")):
            departures = scores - mean
            if moved:
                departures = departures[:, :, others]
            values = np.array([best, *(results.values(mean + lean * d) for d in departures)])
            results.row(f"{words}, {how}", values.max(axis=0) - best)
            if len(SEEDS) > 1:
                # Chosen by one training, measured with the next.
                chosen = np.roll(values, 1, axis=2).argmax(axis=0)[None]
                carried = np.take_along_axis(values, chosen, axis=0)[0]
                results.row(f"{words}, {how}, chosen by another training", carried - best)


def errors(results: Results) -> None:
    """The members beside their mean, on queries of several kinds."""
    sizes = results.queries.query_sizes
    relevant = np.add.reduceat(results.queries.labels > 0, results.queries.offsets[:-1])
    best = results.mean(MEMBERS)[0].mean(axis=0)
    print(f"\n| NDCG@10 less best | queries | best | {' | '.join(MEMBERS)} | {OPPONENT} |")
    print("|---" * (len(MEMBERS) + 4) + "|")
    opponent = results.mean(COMPOSED[OPPONENT][0])
    for what, counts, ends in (("documents", sizes, LENGTHS), ("relevant", relevant, RELEVANT)):
        for low, high in pairwise([-1, *ends, int(counts.max())]):
            chosen = (counts > low) & (counts <= high)
            if not chosen.any():
                continue
            values = [*(results.mean([name]) for name in MEMBERS), opponent]
            means = [rows[0].mean(axis=0)[chosen].mean() for rows in values]
            level = best[chosen].mean()
            cells = " | ".join(f"{mean - level:+.4f}" for mean in means)
            print(f"| {low + 1} to {high} {what} | {chosen.sum()} | {level:.4f} | {cells} |")


def variants() -> Iterator[tuple[str, list[str]]]:
    """Mixtures to try: a new model for a member, two for two."""
    symmetric = [SYMMETRIC, local(SYMMETRIC)] if HAS_CATBOOST else []
    regressions = [REGRESSION, local(REGRESSION), RANDOM_CUTS, local(RANDOM_CUTS), SLOW]
    for new in [*symmetric, *regressions, local(GBRT), LISTWISE, CROSS_ENTROPY]:
        for old in MEMBERS:
            yield f"{new} for {old}", [new if name == old else name for name in MEMBERS]
    for gone in combinations(MEMBERS, 2) if symmetric else []:
        kept = [name for name in MEMBERS if name not in gone]
        yield f"{' and '.join(symmetric)} for {' and '.join(gone)}", [*kept, *symmetric]


def replaced(results: Results) -> dict[str, Floats]:
    """The gains over `best` of all mixtures of six, by their labels."""
    best, sizes = results.mean(MEMBERS), results.queries.query_sizes
    opponent = COMPOSED[OPPONENT][0]
    results.header("mixture less best")
    for name in dict.fromkeys([OPPONENT, "6 mixed"]):
        gain = results.mean(COMPOSED[name][0]) - best
        results.row(name, gain)
        for short, words in ((True, "at most"), (False, "more than")):
            some = np.where((sizes <= SHORT) == short, gain, np.nan)
            results.row(f"{name}, lists of {words} {SHORT} documents", some)
    results.row(f"{OPPONENT} and best, twelve", results.mean([*MEMBERS, *opponent]) - best)
    for more in ([SYMMETRIC], [local(SYMMETRIC)], [SYMMETRIC, local(SYMMETRIC)]):
        if HAS_CATBOOST:
            results.row(f"best and {' and '.join(more)}", results.mean([*MEMBERS, *more]) - best)
    gains = {label: results.mean(names) - best for label, names in variants()}
    for label, of_mixture in gains.items():
        results.row(label, of_mixture)
    return gains


def leaned(results: Results) -> dict[str, Floats]:
    """More weight for the models on the features where lists are short: k / (k + documents)."""
    best, sizes = results.mean(MEMBERS), results.queries.query_sizes
    local_members = [name for name in MEMBERS if name not in (LAMBDA_MART, GBRT)]
    _, collection = np.unique(results.places, return_inverse=True)
    rng = np.random.default_rng(0)
    order = np.lexsort((rng.random(len(sizes)), collection))
    exchanged = np.empty_like(sizes)
    exchanged[np.argsort(collection, kind="stable")] = sizes[order]
    results.header("weights by length of list, less best")
    gains = {}
    for other in [GBRT, RANDOM_CUTS, *([SYMMETRIC] if HAS_CATBOOST else [])]:
        views = [results.mixture(names) for names in ([LAMBDA_MART, other], local_members)]

        def gain(lengths: Integers, k: int, views: list[Floats] = views) -> Floats:
            weight = np.maximum(k / (k + lengths), 1 / 3)[results.queries.query_index]
            return results.values(weight * views[0] + (1 - weight) * views[1]) - best

        for k in LEANS:
            label = f"LambdaMART and {other} on the features, k = {k}"
            gains[label] = gain(sizes, k)
            results.row(label, gains[label])
        label = f"the same, k = {LEANS[1]}, lengths exchanged within the collection"
        results.row(label, gain(exchanged, LEANS[1]))
    return gains


def choice(results: Results, gains: dict[str, Floats]) -> None:
    """The winner among mixtures, on queries that did not choose it."""
    # Of each mixture and query, the mean over seeds.
    by_query = np.array(list(gains.values())).mean(axis=2)
    rng, tested = np.random.default_rng(0), []
    for _ in range(N_HALVES):
        half = rng.random(by_query.shape[-1]) < 0.5
        winner = by_query[:, 0, half].mean(axis=1).argmax()
        tested.append(by_query[winner][:, ~half].mean(axis=1))
    told = zip(np.mean(tested, axis=0), MEASURES, strict=True)
    means = ", ".join(f"{mean:+.4f} {measure}" for mean, measure in told)
    print(f"\nThe best of {len(gains)} on half of the queries, on the other half: {means}")
    names = list(dict.fromkeys(results.places))
    for name in names if len(names) > 1 else []:
        inside = results.places == name
        winner = by_query[:, 0, ~inside].mean(axis=1).argmax()
        told = zip(by_query[winner][:, inside].mean(axis=1), MEASURES, strict=True)
        means = ", ".join(f"{mean:+.4f} {measure}" for mean, measure in told)
        print(f"The best without {name}, on it: {means} ({list(gains)[winner]})")


def weighted(results: Results) -> None:
    """Weights of the members, learned on two parts and measured on the third."""
    rng = np.random.default_rng(0)
    best, scores = results.mean(MEMBERS), np.array([results.scores[name] for name in MEMBERS])
    equal = np.full(len(MEMBERS), 1 / len(MEMBERS))
    weights = np.vstack([equal, rng.dirichlet(np.full(len(MEMBERS), 6.0), N_WEIGHTS)])
    tried = np.array([results.values(np.tensordot(row, scores, 1)) for row in weights])
    goodness = tried[:, 0].mean(axis=1)
    _, collection = np.unique(results.places, return_inverse=True)
    spread = np.add.reduceat(scores.mean(axis=1).var(axis=0), results.queries.offsets[:-1])
    spread /= results.queries.query_sizes
    groups = {
        "all queries": np.zeros(len(collection), dtype=int),
        "collections": collection,
        "4 groups by documents": np.digitize(results.queries.query_sizes, LENGTHS, right=True),
        "4 groups by disagreement of members": quarters(spread, collection),
        "4 random groups": rng.integers(0, 4, len(collection)),
        "4 other random groups": rng.integers(0, 4, len(collection)),
    }
    results.header("learned weights less equal ones")
    for n_best in (1, N_BEST):
        for label, group in groups.items():
            gains = np.zeros_like(best)
            for part, place in np.ndindex(len(PARTS), int(group.max()) + 1):
                learns = (results.parts != part) & (group == place)
                tests = (results.parts == part) & (group == place)
                if not learns.any() or not tests.any():
                    continue
                order = np.argsort(-goodness[:, learns].mean(axis=1), kind="stable")[:n_best]
                mixed = results.values(np.tensordot(weights[order].mean(axis=0), scores, 1))
                gains[:, :, tests] = (mixed - best)[:, :, tests]
            results.row(f"for {label}, mean of the best {n_best}", gains)


def quarters(values: Floats, collection: Integers) -> Integers:
    """Four groups of equal size in each collection."""
    group = np.zeros(len(values), dtype=int)
    for place in np.unique(collection):
        inside = collection == place
        group[inside] = np.digitize(values[inside], np.quantile(values[inside], [0.25, 0.5, 0.75]))
    return group


def is_there(name: str) -> bool:
    """Whether a collection is in the folder. If not, it says so."""
    found = (DATA / name).is_dir()
    if not found:
        print(f"{name}: skipped, there is no {DATA / name} (set LOCALRANK_DATA)")
    return found


def said(line: str) -> None:
    """Print a line about the training."""
    print(line, flush=True)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("collections", nargs="*", default=COLLECTIONS)
    parser.add_argument("--store", type=Path, help="a folder for finished work")
    arguments = parser.parse_args()
    names = sized([name for name in arguments.collections if is_there(name)], ["made-up"])
    if not names:
        return
    results = results_of(names, arguments.store)
    print(f"{results.queries.n_queries:,} queries, {len(SEEDS)} seeds")
    headroom(results)
    errors(results)
    gains = replaced(results) | leaned(results)
    print("\nAll mixtures:", end="")
    choice(results, gains)
    if HAS_CATBOOST:
        plain = {label: gain for label, gain in gains.items() if SYMMETRIC not in label}
        print("\nWithout CatBoost:", end="")
        choice(results, plain)
    weighted(results)


if __name__ == "__main__":
    main()
