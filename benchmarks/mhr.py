"""Ranking with multiple hyperplanes, and rank aggregation, beside the paper's Tables 3, 5, 6, 7.

Run with `python benchmarks/mhr.py [COLLECTION ...]`. Collections from the folder in LOCALRANK_DATA
or from `../shared/data` beside the project. Folds rotate with a validation part, ClueWeb09's too;
MSLR-sample holds out every third training query. C is chosen there by NDCG@10, the same for all
hyperplanes of a model; test parts are only scored. MAP counts only the highest label as relevant,
as in the paper. Rank pairs are written its way: 1 is the best rank.

The paper has four folds of OHSUMED with 30 features of its own, and SVMlight, which lists the
pairs of documents: a part of the pairs is a part of the time. RankSVM here lists none, so that a
hyperplane takes nearly as long as one for all pairs, and Table 7's saving is not to be expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np
from measuring import collections, seconds
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from localrank.aggregation import Aggregator, Borda, MarkovChain, MedianRank, WeightedBorda
from localrank.data import Fold, RankingDataset, concatenate, folds
from localrank.evaluation import paired_tests
from localrank.evaluation.hyperplanes import (
    HyperplaneCosines,
    OrderErrorRates,
    hyperplane_cosines,
    order_error_rates,
)
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import BestFeature, MultipleHyperplaneRanker, RankSVM

# Qin, Liu, Lai, Zhang, Wang, Li. Ranking with Multiple Hyperplanes. SIGIR 2007, on OHSUMED.
# Table 3: relative improvement over RankSVM in NDCG@1, NDCG@10 and MAP, in per cent.
TABLE_3 = {"MHR, Borda": (6.78, 0.92, 0.34), "MHR, weighted Borda": (11.96, 1.06, 1.60)}
# Table 5 (b): cosines in four trials, of RankSVM with (1,2), (1,3), (2,3), then among these.
TABLE_5 = [
    (0.61, 0.94, 0.71, 0.71, 0.39, 0.54),
    (0.58, 0.92, 0.71, 0.62, 0.38, 0.47),
    (0.32, 0.79, 0.62, 0.55, 0.08, 0.20),
    (0.62, 0.94, 0.34, 0.64, 0.33, 0.12),
]
# Table 6 (b): order error rates on training data of rank pairs (1,2), (1,3), (2,3), on average.
TABLE_6 = {"RankSVM": (0.3924, 0.3095, 0.3944), "own plane": (0.3621, 0.3052, 0.3856)}
# Table 7 (b): minutes of training in four trials, of (1,2), (1,3), (2,3), and of RankSVM.
TABLE_7 = [(17, 90, 175, 823), (17, 75, 200, 841), (16, 78, 154, 663), (22, 92, 196, 887)]

CS = [10.0**k for k in range(-4, 4)]
# Tables 5 and 6 are of a loss summed over the pairs, which hardly regularises.
LARGE_C = 1e4
BASELINE = "RankSVM"
AGGREGATORS: dict[str, Aggregator] = {
    "Borda": Borda(),
    "weighted Borda": WeightedBorda(),
    "median rank": MedianRank(),
    "Markov chain": MarkovChain(),
}
NDCG_10: Measure = NDCG(10)
RANK_PAIRS = ("(1,2)", "(1,3)", "(2,3)")

Scores = NDArray[np.float64]
Choice = tuple[float, RankSVM | MultipleHyperplaneRanker]


@dataclass
class Diagnostics:
    """Cosines and order error rates of one way to choose C, in each fold."""

    cosines: list[HyperplaneCosines] = field(default_factory=list)
    training: list[dict[str, Scores]] = field(default_factory=list)
    # Scores of the test documents, the hyperplanes' by label pair.
    single: list[Scores] = field(default_factory=list)
    own: list[dict[tuple[float, float], Scores]] = field(default_factory=list)

    def add(self, single: RankSVM, many: MultipleHyperplaneRanker, fold: Fold) -> None:
        self.cosines.append(hyperplane_cosines(many, {BASELINE: single}))
        planes = many.pair_scores(fold.train)
        self.training.append(
            order_error_rates(
                fold.train, {BASELINE: single.predict(fold.train), "own plane": planes}
            ).rates
        )
        self.single.append(single.predict(fold.test))
        self.own.append(many.pair_scores(fold.test))

    def test_errors(self, test: RankingDataset) -> OrderErrorRates:
        """Of all folds' test documents, where every fold has a hyperplane for a label pair."""
        pairs = set.intersection(*(set(own) for own in self.own))
        planes = {pair: np.concatenate([own[pair] for own in self.own]) for pair in pairs}
        return order_error_rates(test, {BASELINE: np.concatenate(self.single), "own plane": planes})


def compare(name: str, parts: Iterator[Fold]) -> None:
    """All methods on all folds of a collection."""
    tests: list[RankingDataset] = []
    scores: dict[str, list[Scores]] = {}
    chosen: dict[str, list[str]] = {}
    diagnostics = {"C as chosen": Diagnostics(), f"C = {LARGE_C:g}": Diagnostics()}
    times = []
    n_levels = 0
    for fold in parts:
        tests.append(fold.test)
        n_levels = max(n_levels, len(np.unique(fold.train.labels)))
        best = choose(fold, n_levels)
        for method, (C, model) in best.items():
            scores.setdefault(method, []).append(model.predict(fold.test))
            chosen.setdefault(method, []).append(f"{C:g}")
        for setting, found in diagnostics.items():
            single, many = best[BASELINE][1], best["MHR, Borda"][1]
            if setting != "C as chosen":
                single = RankSVM(LARGE_C).fit(fold.train)
                many = MultipleHyperplaneRanker(RankSVM(LARGE_C), n_jobs=-1).fit(fold.train)
            assert isinstance(single, RankSVM)
            assert isinstance(many, MultipleHyperplaneRanker)
            found.add(single, many, fold)
        times.append(training_times(fold.train))
    test = concatenate(tests)
    print(f"\n== {name}: {test.n_queries} queries, {n_levels} levels, folds: {len(tests)}")
    paper = name == "OHSUMED"
    whole = {method: np.concatenate(own) for method, own in scores.items()}
    compare_scores(test, whole, chosen, paper)
    if n_levels == 3:
        report_errors(diagnostics, test, paper)
        report_cosines(diagnostics, paper)
    else:
        first = diagnostics["C as chosen"]
        print("order error rates on the test queries, by label, and cosines of the first fold")
        print(first.test_errors(test))
        print(first.cosines[0])
    report_times(np.array(times), paper)


def choose(fold: Fold, n_levels: int) -> dict[str, Choice]:
    """The C of each method that ranks the validation queries best, and its model."""
    train, valid = fold.train, fold.valid
    assert valid is not None
    found: dict[str, tuple[float, Choice]] = {}

    def offer(method: str, C: float, model: RankSVM | MultipleHyperplaneRanker) -> None:
        value = NDCG_10.mean(valid, model.predict(valid))
        if method not in found or value > found[method][0]:
            found[method] = value, (C, model)

    for C in CS:
        offer(BASELINE, C, RankSVM(C).fit(train))
        model = MultipleHyperplaneRanker(RankSVM(C), n_jobs=-1).fit(train)
        lists = np.column_stack(list(model.pair_scores(train).values()))
        for name, aggregator in AGGREGATORS.items():
            # The hyperplanes are the same whatever makes one list of theirs.
            own = clone(model).set_params(aggregator=aggregator)
            vars(own).update({key: value for key, value in vars(model).items() if key[-1] == "_"})
            own.aggregator_ = clone(aggregator).fit(train, lists)
            offer(f"MHR, {name}", C, own)
        if n_levels > 3:
            adjacent = MultipleHyperplaneRanker(RankSVM(C), pairs="adjacent", n_jobs=-1)
            offer("MHR, adjacent pairs, Borda", C, adjacent.fit(train))
    return {method: choice for method, (_, choice) in found.items()}


def compare_scores(
    test: RankingDataset, scores: dict[str, Scores], chosen: dict[str, list[str]], paper: bool
) -> None:
    level = test.labels.max()
    measures: list[Measure] = [NDCG(1), NDCG_10, AveragePrecision(relevance_level=level)]
    n_top = int(np.sum(np.maximum.reduceat(test.labels, test.offsets[:-1]) == level))
    there = ", Table 3's in brackets" if paper else ""
    print(
        f"{n_top} queries have a document of the top level; improvement over RankSVM{there}; "
        f"Holm-corrected p of paired t-tests"
    )
    print(f"{'':28}" + "".join(f"{measure!s:>32}" for measure in measures) + "  C in each fold")
    values = {m: {method: m(test, own) for method, own in scores.items()} for m in measures}
    p_values = {}
    for measure, own in values.items():
        others = {method: value for method, value in own.items() if method != BASELINE}
        p_values[measure] = paired_tests(others, own[BASELINE])
    for method in scores:
        line = f"{method:28}"
        for place, measure in enumerate(measures):
            mean, base = values[measure][method].mean(), values[measure][BASELINE].mean()
            cell = f"{mean:.4f}"
            if method != BASELINE:
                cell += f" {100 * (mean / base - 1):+6.2f} %"
                if paper and method in TABLE_3:
                    cell += f" ({TABLE_3[method][place]:+.2f})"
                cell += f" p {p_values[measure][method].corrected_p_value:.2f}"
            line += f"{cell:>32}"
        print(f"{line}  {', '.join(chosen[method])}")


def report_errors(diagnostics: dict[str, Diagnostics], test: RankingDataset, paper: bool) -> None:
    print(f"order error rates of rank pairs {' '.join(RANK_PAIRS)}; training: mean over the folds")
    for setting, found in diagnostics.items():
        for method in (BASELINE, "own plane"):
            training = np.mean([rates[method] for rates in found.training], axis=0)
            line = f"  {setting:12}{method:10}training {_row(training)}"
            line += f"   test {_row(found.test_errors(test).rates[method])}"
            print(line + (f"   Table 6, training: {_row(TABLE_6[method])}" if paper else ""))


def _row(values: Iterable[float]) -> str:
    return " ".join(f"{value:.4f}" for value in values)


def report_cosines(diagnostics: dict[str, Diagnostics], paper: bool) -> None:
    names = (BASELINE, *RANK_PAIRS)
    print(f"cosines, mean and range over the folds: {', '.join(diagnostics)}")
    for i, j in combinations(range(4), 2):
        line = f"  {names[i]:8}{names[j]:7}"
        for found in diagnostics.values():
            line += _range([cosines.cosines[i, j] for cosines in found.cosines])
        if paper:
            column = list(combinations(range(4), 2)).index((i, j))
            line += f"  Table 5:{_range([trial[column] for trial in TABLE_5])}"
        print(line)


def _range(values: list[float]) -> str:
    return f"{np.mean(values):7.2f} [{min(values):5.2f}, {max(values):5.2f}]"


def training_times(train: RankingDataset) -> tuple[float, float]:
    """Seconds of RankSVM, and of one hyperplane after another; the best of several runs each."""
    single, many = RankSVM(), MultipleHyperplaneRanker()
    runs = [
        (seconds(lambda: single.fit(train)), seconds(lambda: many.fit(train))) for _ in range(5)
    ]
    one, several = np.min(runs, axis=0)
    return float(one), float(several)


def report_times(times: NDArray[np.float64], paper: bool) -> None:
    one, several = times.mean(axis=0)
    there = ""
    if paper:
        minutes = np.array(TABLE_7).mean(axis=0)
        there = f"; Table 7: {minutes[:3].sum() / minutes[3]:.2f}"
    print(
        f"training, C = 1, one thread, a fold: RankSVM {1000 * one:.0f} ms, MHR "
        f"{1000 * several:.0f} ms, ratio {several / one:.2f}{there}"
    )


def aggregators_alone(folder: Path) -> None:
    """Ranks by 21 systems aggregated; the lower the number in the file, the better."""
    measures: list[Measure] = [NDCG_10, AveragePrecision()]
    tests: list[RankingDataset] = []
    scores: dict[str, list[Scores]] = {}
    times = dict.fromkeys(AGGREGATORS, 0.0)
    systems = []
    for fold in folds(folder):
        tests.append(fold.test)
        lists, new_lists = -fold.train.features, -fold.test.features
        # Documents that a system does not have come last, as for the aggregators.
        filled, new_filled = (np.where(np.isnan(x), -1e9, x) for x in (lists, new_lists))
        best = BestFeature(NDCG_10).fit(fold.train.with_features(filled))
        systems.append(str(best.feature_ + 1))
        scores.setdefault("best system", []).append(new_filled[:, best.feature_])
        for name, aggregator in AGGREGATORS.items():
            aggregate = clone(aggregator).fit(fold.train, lists).aggregate
            scores.setdefault(name, []).append(aggregate(fold.test, new_lists))
            times[name] += seconds(lambda: aggregate(fold.test, new_lists))  # noqa: B023
    test = concatenate(tests)
    values = {
        measure: {name: measure(test, np.concatenate(own)) for name, own in scores.items()}
        for measure in measures
    }
    print(f"\n== {folder.name}: {test.n_queries} queries, 21 systems, 5 folds")
    print(f"{np.isnan(test.features).mean():.0%} of the entries are missing; ", end="")
    print(f"best system in training: number {', '.join(systems)}; p Holm-corrected, against it")
    print(f"{'':16}" + "".join(f"{measure!s:>26}" for measure in measures) + "  µs per query")
    for name in scores:
        line = f"{name:16}"
        for measure in measures:
            own = values[measure]
            cell = f"{own[name].mean():.4f}"
            if name in AGGREGATORS:
                others = {key: own[key] for key in AGGREGATORS}
                found = paired_tests(others, own["best system"])[name]
                cell += f" {found.mean_difference:+.4f} p {found.corrected_p_value:.0e}"
            line += f"{cell:>26}"
        print(line + (f"{1e6 * times[name] / test.n_queries:12.0f}" if name in times else ""))


def one_split(folder: Path) -> Iterator[Fold]:
    """A train and a test file; every third training query validates."""
    (fold,) = folds(folder)
    held_out = np.arange(fold.train.n_queries) % 3 == 2
    yield Fold(fold.name, fold.train.select(~held_out), fold.train.select(held_out), fold.test)


def main() -> None:
    # One thread, for times that can be compared; hyperplanes train beside each other.
    with threadpool_limits(1, user_api="blas"):
        for folder in collections(
            "OHSUMED", "MQ2008", "ClueWeb09", "MSLR-sample", "MQ2007-aggregation"
        ):
            if folder.name == "MQ2007-aggregation":
                aggregators_alone(folder)
            elif folder.name == "MSLR-sample":
                compare(folder.name, one_split(folder))
            else:
                compare(folder.name, folds(folder))


if __name__ == "__main__":
    main()
