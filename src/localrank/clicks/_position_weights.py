"""The value of a ranking from clicks on documents that it would show where they were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Floats
from localrank.clicks._new_ranking import NewRanking
from localrank.clicks._relevance_weights import Estimate, positive, summed
from localrank.data.click_log import ClickLog

# How many clicks the usual rate of a position counts for.
SOME_CLICKS = 10.0


@dataclass(frozen=True)
class _Moved:
    """A value, and how far each impression moves it.

    Attributes
    ----------
    value : float
    mean : float
        What a session moves it by on average.
    by : ndarray of shape (n_impressions,)
    likely : ndarray of shape (n_impressions,)
        The standard deviation of `by`, going by likely rates of clicks.
    """

    value: float
    mean: float
    by: Floats
    likely: Floats


class PositionWeights:
    """Weighs each click by how much likelier the new ranking has the document at its position.

    Parameters
    ----------
    log : ClickLog
        With propensities.
    depth : int
        How many positions count.
    method : {"ips", "snips"}
    unit : {"session", "query"}
    """

    def __init__(self, log: ClickLog, depth: int, method: str, unit: str) -> None:
        if log.propensities is None:
            raise ValueError(
                "The log has no probabilities of documents at positions. Give 'bias': how much of "
                "each position is seen."
            )
        self.log = log
        self.depth = depth
        self.method = method
        self.unit = unit
        self._propensities = log.propensities

    def estimate(self, ranking: NewRanking) -> Estimate:
        """The clicks per list of a ranking."""
        return self._told(*self._of_ranking(ranking))

    def of_policy(self, probabilities: Floats) -> Estimate:
        """The clicks per list of a policy, by its probability of each impression."""
        sizes = np.bincount(self.log.session_sizes, minlength=self.depth + 1)
        reached = sizes[::-1].cumsum()[::-1][1:] / self.log.n_sessions
        return self._told(probabilities / self._propensities, reached)

    def difference(self, first: NewRanking, second: NewRanking) -> tuple[float, float]:
        """The value of the first ranking minus that of the second, and its standard error."""
        a, b = (self._moved(*self._of_ranking(one)) for one in (first, second))
        gap = _Moved(a.value - b.value, a.mean - b.mean, a.by - b.by, a.likely - b.likely)
        return gap.value, self._error(gap)

    def _of_ranking(self, ranking: NewRanking) -> tuple[Floats, Floats]:
        """The weight of each impression, and the share of new lists that reach each position."""
        log = self.log
        traffic = np.bincount(log.session_queries, minlength=log.n_queries).astype(np.float64)
        inside = ranking.positions < self.depth
        old = inside & (ranking.pairs >= 0)
        places = np.full(log.n_pairs, -1)
        places[ranking.pairs[old]] = ranking.positions[old]
        reached = np.bincount(
            ranking.positions[inside], traffic[ranking.queries[inside]], self.depth
        )
        same = places[log.pairs] == log.positions
        return same / self._propensities, reached / log.n_sessions

    def _told(self, weights: Floats, reached: Floats) -> Estimate:
        n = self.log.n_sessions
        moved = self._moved(weights, reached)
        totals, squares = self._by_position(weights), self._by_position(weights**2)
        # Weights add up to `reached`. What they lack, chance aside, was never shown there.
        chance = 2 * np.sqrt(np.maximum(squares / n - (totals / n) ** 2, 0) / n)
        missing = float(np.maximum(reached - totals / n - chance, 0).sum() / reached.sum())
        effective = n**2 * float(reached.sum() / squares.sum()) if squares.any() else 0.0
        return Estimate(moved.value, self._error(moved), effective, missing)

    def _moved(self, weights: Floats, reached: Floats) -> _Moved:
        log, n = self.log, self.log.n_sessions
        clicks = log.clicks.astype(np.float64)
        places = np.minimum(log.positions, self.depth - 1)
        totals = positive(self._by_position(weights))
        rates = self._by_position(weights * clicks) / totals
        # Few clicks, of which one weighs a lot, say little of how much clicks vary. The rate of
        # all documents at the position helps, as if it had brought some clicks.
        worth = totals**2 / positive(self._by_position(weights**2))
        usual = positive(self._by_position(clicks)) / positive(
            self._by_position(np.ones(len(clicks)))
        )
        likely = np.minimum((worth * rates + SOME_CLICKS) / (worth + SOME_CLICKS / usual), 1.0)
        if self.method == "ips":
            value = float(weights @ clicks) / n
            return _Moved(value, value, weights * clicks, weights * np.sqrt(likely)[places])
        factors = weights * (reached * n / totals)[places]
        varies = np.sqrt(likely * (1 - likely))[places]
        return _Moved(
            float(reached @ rates), 0.0, factors * (clicks - rates[places]), factors * varies
        )

    def _by_position(self, values: Floats) -> Floats:
        places = np.minimum(self.log.positions, self.depth)
        return summed(places, values, self.depth + 1)[: self.depth]

    def _error(self, moved: _Moved) -> float:
        """The standard error of the value."""
        log = self.log
        sums = summed(log.session_index, moved.by, log.n_sessions) - moved.mean
        if self.unit == "query":
            asked = np.bincount(log.session_queries, minlength=log.n_queries) > 0
            sums = summed(log.session_queries, sums, log.n_queries)[asked]
        if len(sums) < 2:
            return np.inf
        variance = float(sums @ sums)
        if self.unit == "session":
            # What clicks of a session have in common stays. Their own variance is the likely one.
            own = float(moved.likely @ moved.likely)
            variance = max(variance - float(moved.by @ moved.by) + own, own / 2)
        return float(np.sqrt(variance * len(sums) / (len(sums) - 1))) / log.n_sessions
