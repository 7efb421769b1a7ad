"""Differences between methods whose values are averaged over draws, and how they are printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Floats
from localrank.evaluation import MethodResult, PairedTest, paired_test
from localrank.evaluation.plots import Interval
from localrank.evaluation.significance import LEVEL
from localrank.measures import Measure, parse_measure

MEASURES = [parse_measure(name) for name in ("ndcg@10", "map")]
NOTE = (
    "Differences with their 95 % intervals; in brackets p before and after Holm's correction for "
    "the {n} comparisons of this section."
)


@dataclass(frozen=True)
class Draws:
    """Methods on one collection, once for each draw.

    Attributes
    ----------
    results : list of dict from method to MethodResult
        One dict for each draw, of the same test queries in the same order.
    two_labels : bool, default=False
        Whether a query counts only in draws where its documents have two labels or more. All
        rankings of documents with one label are equally good.
    """

    results: Sequence[Mapping[str, MethodResult]]
    two_labels: bool = False

    def values(self, method: str, measure: Measure) -> Floats:
        """One value per query: the mean of the draws in which it counts. NaN: it counts in none."""
        values = np.array([results[method].values(measure) for results in self.results])
        if self.two_labels:
            for row, results in zip(values, self.results, strict=True):
                low, high = results[method].test.label_bounds
                row[low == high] = np.nan
        n_draws = (~np.isnan(values)).sum(axis=0)
        return np.where(n_draws > 0, np.nansum(values, axis=0) / np.maximum(n_draws, 1), np.nan)

    def mean(self, method: str, measure: Measure) -> float:
        """The mean over the queries that count."""
        return float(np.nanmean(self.values(method, measure)))

    def gains(self, method: str, other: str, measure: Measure) -> Floats:
        """How much better a method ranks each query than another method does."""
        return self.values(method, measure) - self.values(other, measure)


def gain_test(gains: Floats) -> PairedTest:
    """Test whether gains, one per query, differ from zero. NaN does not count."""
    return paired_test(gains, np.zeros_like(gains))


def cell(test: PairedTest) -> str:
    """A difference, its interval, and p before and after correction.

    Examples
    --------
    >>> from localrank.evaluation.significance import corrected
    >>> gains = {"a": np.array([0.1, 0.2, 0.3]), "b": np.array([0.0, 0.1, 0.1])}
    >>> cell(corrected({name: gain_test(values) for name, values in gains.items()})["a"])
    '+0.2000 [-0.0484, +0.4484] (.074; .148)'
    """
    low, high = test.interval
    ps = f"{_short(test.p_value)}; {_short(test.p)}"
    return f"{test.mean_difference:+.4f} [{low:+.4f}, {high:+.4f}] ({ps})"


def interval(test: PairedTest) -> Interval:
    """A difference as a plot shows it. The mark is filled if p is small before correction."""
    return test.mean_difference, test.interval, test.p_value < LEVEL


def slopes(x: Floats, gains: Floats) -> Floats:
    """How steeply the gains of each query grow with x, by least squares; NaN below two points.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
    gains : ndarray of shape (n_points, n_queries)
        NaN: the query has no value at this point.

    Examples
    --------
    >>> slopes(np.array([1.0, 2.0, 4.0]), np.array([[2.0, np.nan], [4.0, np.nan], [8.0, 1.0]]))
    array([ 2., nan])
    """
    known = ~np.isnan(gains)
    n_points = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, x[:, None] - (known * x[:, None]).sum(axis=0) / n_points, 0.0)
    products = (centred * np.where(known, gains, 0.0)).sum(axis=0)
    squares = (centred**2).sum(axis=0)
    squares[known.sum(axis=0) < 2] = np.nan
    steep: Floats = products / squares
    return steep


def _short(value: float) -> str:
    """Three decimals without the zero, which no p-value here needs."""
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
