"""Methods that ran several times, with other seeds or samples: their values and differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from localrank._base.arrays import Flags, Floats
from localrank.evaluation import MethodResult, PairedTest, paired_test
from localrank.evaluation.plots import Interval
from localrank.evaluation.significance import LEVEL, corrected
from localrank.experiments.reproduction import Reproduction
from localrank.measures import Measure, parse_measure

MEASURES = [parse_measure(name) for name in ("ndcg@10", "map")]
ALL, HELD_OUT = "all", "held out"
# The folds that test on the parts S4 and S5; fold k tests on S(k + 4). ClueWeb09 was not used to
# choose models.
LATE_FOLDS = {
    "MQ2007-85": ("Fold1", "Fold5"),
    "MQ2008": ("Fold1", "Fold5"),
    "OHSUMED": ("Fold1", "Fold5"),
    "ClueWeb09": tuple(f"Fold{k}" for k in range(1, 6)),
}

# Gains, one for each query, and their tests: by names of what is compared and where.
Gains = Mapping[tuple[str, ...], Floats]
Tests = Mapping[tuple[str, ...], PairedTest]


@dataclass(frozen=True)
class Repeats:
    """Methods on one collection, once for each seed.

    Attributes
    ----------
    results : list of dict from method to MethodResult
        One dict for each seed, of the same test queries in the same order.
    two_labels : bool, default=False
        Whether a query counts only in runs where its documents have two labels or more. All
        rankings of documents with one label are equally good.
    """

    results: Sequence[Mapping[str, MethodResult]]
    two_labels: bool = False

    def by_run(self, method: str, measure: Measure) -> Floats:
        """Values of shape (n_runs, n_queries). NaN: the query does not count in this run."""
        values = np.array([results[method].values(measure) for results in self.results])
        if self.two_labels:
            for row, results in zip(values, self.results, strict=True):
                low, high = results[method].test.label_bounds
                row[low == high] = np.nan
        return values

    def values(self, method: str, measure: Measure) -> Floats:
        """One value per query: the mean of its runs. NaN: it does not count in one of them."""
        return np.asarray(self.by_run(method, measure).mean(axis=0))

    def test(self, method: str, other: str, measure: Measure) -> PairedTest:
        """Test whether a method is better than another, over queries and runs."""
        return paired_test(self.by_run(method, measure), self.by_run(other, measure))

    def spread(self, method: str, measure: Measure) -> float:
        """Standard deviation of the runs' means. NaN: there is one run."""
        return _spread(self.by_run(method, measure))

    def mean(self, method: str, measure: Measure) -> float:
        """The mean over the queries that count."""
        return float(np.nanmean(self.values(method, measure)))

    def means(self, method: str) -> str:
        """The means by `MEASURES`, in print."""
        return " / ".join(f"{self.mean(method, measure):.4f}" for measure in MEASURES)

    def gains(self, method: str, other: str, measure: Measure) -> Floats:
        """How much better a method ranks each query, of shape (n_runs, n_queries)."""
        return self.by_run(method, measure) - self.by_run(other, measure)


@dataclass(frozen=True)
class Pooled:
    """Results of methods on several collections.

    Attributes
    ----------
    results : dict from collection to list of dict from method to MethodResult
        One dict for each seed.
    names : sequence of str
        The collections whose queries count as one collection, "all".
    """

    results: Mapping[str, Sequence[Mapping[str, MethodResult]]]
    names: Sequence[str]

    @property
    def methods(self) -> list[str]:
        """The methods, the same on every collection."""
        return list(self.results[self.names[0]][0])

    @property
    def places(self) -> list[str]:
        """Where differences are tested: each collection, all together, and the held-out queries."""
        method = self.methods[0]
        n_late = sum(self._late(name, method).sum() for name in self.names)
        return [*with_all(self.names), HELD_OUT] if n_late > 1 else with_all(self.names)

    def by_run(self, place: str, method: str, measure: Measure) -> Floats:
        """The values of the queries of a place, of shape (n_runs, n_queries)."""
        parts = []
        for name in self.names if place in (ALL, HELD_OUT) else [place]:
            values = Repeats(self.results[name]).by_run(method, measure)
            parts.append(values[:, self._late(name, method)] if place == HELD_OUT else values)
        return np.hstack(parts)

    def mean(self, place: str, method: str, measure: Measure) -> float:
        """The mean over queries and seeds."""
        return float(self.by_run(place, method, measure).mean())

    def spread(self, place: str, method: str, measure: Measure) -> float:
        """Standard deviation of the seeds' means. NaN: there is one seed."""
        return _spread(self.by_run(place, method, measure))

    def test(self, place: str, method: str, other: str, measure: Measure) -> PairedTest:
        """Test whether a method is better than another, over queries and seeds."""
        return paired_test(*(self.by_run(place, name, measure) for name in (method, other)))

    def n_models(self, method: str) -> int:
        """The number of models, on the first collection."""
        return self.results[self.names[0]][0][method].n_models

    def cpu_seconds(self, method: str) -> float:
        """CPU seconds to train on one fold of each collection, summed; mean of folds and seeds."""
        return sum(
            float(np.mean([r[method].train_cpu_seconds / len(r[method].runs) for r in seeds]))
            for seeds in (self.results[name] for name in self.names)
        )

    def milliseconds(self, method: str) -> float:
        """Mean time to score a query of the first collection."""
        return self.results[self.names[0]][0][method].milliseconds_per_query

    def _late(self, name: str, method: str) -> Flags:
        fold_names = self.results[name][0][method].fold_names
        return np.isin(fold_names, LATE_FOLDS.get(name, ()))


def _spread(by_run: Floats) -> float:
    means = np.nanmean(by_run, axis=1)
    return float(means.std(ddof=1)) if len(means) > 1 else np.nan


@dataclass(frozen=True)
class Worse:
    """Turns a test around: it asks whether the first method is worse."""

    test: PairedTest

    @property
    def sign(self) -> int:
        """1: a loss. -1: a gain. 0: neither is established."""
        return -self.test.sign


def with_all(names: Sequence[str]) -> list[str]:
    """The collections, and all of them together if they are several."""
    return [*names, ALL] if len(names) > 1 else list(names)


def less(pair: tuple[str, str]) -> str:
    """The name of a difference between two methods."""
    return f"{pair[0]} − {pair[1]}"


def gain_test(gains: Floats) -> PairedTest:
    """Test whether gains differ from zero; of shape (n_queries,) or (n_runs, n_queries).

    A query with NaN does not count.
    """
    return paired_test(gains, np.zeros(gains.shape[-1]))


def gain_tests(gains: Gains) -> Tests:
    """The tests of a section, corrected by Holm's rule for their number."""
    return corrected({key: gain_test(values) for key, values in gains.items()})


def note_of(tests: Mapping[Any, PairedTest]) -> str:
    """What a reader must know about the cells of a section, and how many are established."""
    gains, losses = (sum(test.sign == sign for test in tests.values()) for sign in (1, -1))
    n_runs = max(test.n_runs for test in tests.values())
    return (
        "Differences with their 95 % intervals; in brackets p before and after Holm's correction "
        f"for the {len(tests)} comparisons of this section. Tests cover the chance of the queries "
        f"and of {n_runs} trainings. After correction {gains} differences are significant gains, "
        f"and {losses} significant losses."
    )


def cell(test: PairedTest) -> str:
    """A difference, its interval, and p before and after correction.

    Examples
    --------
    >>> gains = {("a",): np.array([0.1, 0.2, 0.3]), ("b",): np.array([0.0, 0.1, 0.1])}
    >>> cell(gain_tests(gains)["a",])
    '+0.2000 [-0.0484, +0.4484] (.074; .148)'
    """
    low, high = test.interval
    ps = f"{short_p(test.p_value)}; {short_p(test.p)}"
    return f"{test.mean_difference:+.4f} [{low:+.4f}, {high:+.4f}] ({ps})"


def short_p(value: float) -> str:
    """A p-value in three decimals without the zero, which no p-value here needs."""
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def interval(test: PairedTest) -> Interval:
    """A difference as a plot shows it. The mark is filled if the difference is established."""
    return test.mean_difference, test.interval, test.p < LEVEL


def slopes(x: Floats, gains: Floats) -> Floats:
    """How steeply the gains of each query grow with x, by least squares.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
    gains : ndarray of shape (n_points, ...)
        NaN: the query has no value at this point, and no slope.

    Examples
    --------
    >>> slopes(np.array([1.0, 2.0, 4.0]), np.array([[2.0, np.nan], [4.0, 3.0], [8.0, 1.0]]))
    array([ 2., nan])
    """
    centred = x - x.mean()
    return np.asarray(np.tensordot(centred, gains, axes=1) / (centred**2).sum())


def add_means(
    reproduction: Reproduction,
    title: str,
    methods: Sequence[str],
    repeats: Mapping[str, Repeats],
    note: str = "",
) -> None:
    """Add a table of the methods' means, with a column for each collection or size."""
    reproduction.table(
        title,
        ["", *repeats],
        [[method, *(runs.means(method) for runs in repeats.values())] for method in methods],
        " / ".join(map(str, MEASURES)) + note,
    )
