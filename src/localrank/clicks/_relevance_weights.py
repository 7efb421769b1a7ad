"""The value of a ranking as a weighted sum of estimated relevance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank.clicks._new_ranking import NewRanking, weights_by_line
from localrank.data.click_log import ClickLog

# A document that was examined fewer times than this counts partly as the relevance model says.
ENOUGH_EXAMINATIONS = 5.0


@dataclass(frozen=True)
class Estimate:
    """An estimate, before its interval is computed.

    Attributes
    ----------
    value, standard_error : float
    effective_sessions : float
    unseen : float
        Share of the ranking, by weight, that was never shown.
    """

    value: float
    standard_error: float
    effective_sessions: float
    unseen: float


@dataclass(frozen=True)
class _Weights:
    """The weights of a ranking: of the pairs of a log, and of what a query has never shown."""

    pairs: Floats
    unseen: Floats


class RelevanceWeights:
    """Estimates values of rankings from the relevance of each pair of a log.

    With w the weight of a pair's new position and r its estimated relevance, the value of a query
    is the sum of w r. It is linear in w, so that a difference of rankings is one of weights.

    Parameters
    ----------
    log : ClickLog
    seen : ndarray of shape (n_impressions,)
        How much each impression is seen.
    curve : ndarray
        How much each position is seen.
    weights : ndarray
        The weight of each position.
    method : {"ips", "snips", "dr"}
    model : ndarray of shape (n_pairs,) or None
        For "dr": the relevance of each pair. None: the rate of clicks, shrunk to the query's mean.
    unit : {"session", "query"}
    """

    def __init__(
        self,
        log: ClickLog,
        seen: Floats,
        curve: Floats,
        weights: Floats,
        method: str,
        model: Floats | None,
        unit: str,
    ) -> None:
        self.log = log
        self.curve = curve
        self.weights = weights
        self.unit = unit
        self._traffic = np.bincount(log.session_queries, minlength=log.n_queries).astype(float)
        self._estimate_relevance(seen, method, model)

    def _estimate_relevance(self, seen: Floats, method: str, model: Floats | None) -> None:
        """Estimate the relevance of each pair, and how far off it may be."""
        log, pairs, queries = self.log, self.log.pairs, self.log.pair_queries
        clicks = summed(pairs, log.clicks, log.n_pairs)
        examined = positive(summed(pairs, seen, log.n_pairs))
        self._query_examined = positive(summed(queries, examined, log.n_queries))
        self._means = summed(queries, clicks, log.n_queries) / self._query_examined
        means = self._means[queries]
        # By its own rate, a pair without a click would look certain.
        varies = np.minimum(seen * ((clicks + means) / (examined + 1))[pairs], 1.0)
        varies *= 1 - varies  # the variance of a click
        self._click_variances = summed(pairs, varies, log.n_pairs)
        # How much of the relevance is the mean of the query.
        self._of_mean = np.zeros(log.n_pairs)
        if method == "ips":
            shown = positive(summed(pairs, np.ones(log.n_impressions), log.n_pairs))
            self._relevance = summed(pairs, log.clicks / seen, log.n_pairs) / shown
            self._variances = summed(pairs, varies / seen**2, log.n_pairs) / shown**2
            self._covariances = summed(pairs, varies / seen, log.n_pairs) / shown
            self._spread = summed(pairs, 1 / seen, log.n_pairs) / shown**2
            return
        factors, wrong = 1 / examined, np.zeros(log.n_pairs)
        self._relevance = clicks / examined
        if method == "dr":
            divisors = np.maximum(examined, ENOUGH_EXAMINATIONS)
            rest = 1 - examined / divisors
            factors = 1 / divisors
            if model is None:
                shrunk = examined + ENOUGH_EXAMINATIONS
                model = (clicks + ENOUGH_EXAMINATIONS * means) / shrunk
                factors = factors + rest / shrunk
                rest = self._of_mean = rest * ENOUGH_EXAMINATIONS / shrunk
            self._relevance = model + (clicks - examined * model) / divisors
            # The model may be wrong by as much as the mean.
            wrong = (rest * means) ** 2
        self._variances = self._click_variances * factors**2 + wrong
        self._covariances = self._click_variances * factors
        # The variance if each examination had the variance 1.
        self._spread = examined * factors**2

    def estimate(self, ranking: NewRanking) -> Estimate:
        """The value of a ranking."""
        weights = self._weights_of(ranking)
        value, error = self._value(weights)
        lines = weights_by_line(ranking, self.weights)
        old = ranking.pairs >= 0
        # With as many clicks on every document: the variance here, and in the ranking's own log.
        places = np.minimum(ranking.positions, len(self.curve) - 1)
        own = float(self._traffic[ranking.queries] @ (old * lines**2 / self.curve[places]))
        here = float((self._traffic[self.log.pair_queries] * weights.pairs) ** 2 @ self._spread)
        whole = float(self._traffic[ranking.queries] @ lines)
        return Estimate(
            value,
            error,
            self.log.n_sessions * own / here if here else 0.0,
            float(self._traffic @ weights.unseen) / whole,
        )

    def difference(self, first: NewRanking, second: NewRanking) -> tuple[float, float]:
        """The value of the first ranking minus that of the second, and its standard error."""
        a, b = self._weights_of(first), self._weights_of(second)
        return self._value(_Weights(a.pairs - b.pairs, a.unseen - b.unseen))

    def _weights_of(self, ranking: NewRanking) -> _Weights:
        lines, old = weights_by_line(ranking, self.weights), ranking.pairs >= 0
        pairs = np.zeros(self.log.n_pairs)
        pairs[ranking.pairs[old]] = lines[old]
        return _Weights(pairs, summed(ranking.queries[~old], lines[~old], self.log.n_queries))

    def _value(self, weights: _Weights) -> tuple[float, float]:
        """The weighted sum per session, and its standard error."""
        n, n_queries, queries = self.log.n_sessions, self.log.n_queries, self.log.pair_queries
        values = summed(queries, weights.pairs * self._relevance, n_queries)
        values += weights.unseen * self._means
        value = float(self._traffic @ values) / n
        off = (values - value) ** 2
        if self.unit == "query":
            n_asked = np.count_nonzero(self._traffic)
            scale = n_asked / (n_asked - 1) if n_asked > 1 else np.inf
            return value, float(np.sqrt(self._traffic**2 @ off * scale)) / n
        # A click moves its pair, and the mean of its query.
        of_mean = weights.unseen + summed(queries, weights.pairs * self._of_mean, n_queries)
        by_mean = (of_mean / self._query_examined)[queries]
        variances = weights.pairs**2 * self._variances
        variances += 2 * weights.pairs * by_mean * self._covariances
        variances += by_mean**2 * self._click_variances
        variances = summed(queries, variances, n_queries)
        # Estimates differ more between queries than the truth does.
        between = max(float(self._traffic @ (off - variances)), 0.0)
        return value, float(np.sqrt(between + self._traffic**2 @ variances)) / n


def summed(numbers: Integers, values: Array, n: int) -> Floats:
    """The sum of the values with each number."""
    sums: Floats = np.bincount(numbers, values, n).astype(np.float64, copy=False)
    return sums


def positive(values: Floats) -> Floats:
    """The same numbers, and 1 for 0: without impressions there are no clicks to divide."""
    return np.where(values > 0, values, 1.0)
