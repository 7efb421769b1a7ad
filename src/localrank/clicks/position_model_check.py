"""Whether the position-based model is right for a log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.clicks._duels import comparable, count_weighed_duels
from localrank.clicks._gamma_em import summed
from localrank.clicks._swaps import Resampling, Swaps, estimated_by_swaps, of_positions, sets_of
from localrank.clicks.position_bias import PositionBias, positions_named
from localrank.data import RankingDataset
from localrank.data.click_log import ClickLog

# Tests that decide together: each counts as if there were so many.
_N_TESTS = 3


@dataclass(frozen=True, eq=False)
class CurveDifference:
    """Two curves of examination that the position-based model says are the same.

    Attributes
    ----------
    ratios : ndarray of shape (n_positions,)
        The second curve divided by the first. NaN: it is not known.
    intervals : ndarray of shape (n_positions, 2)
        Bounds that hold for all positions together.
    p_value : float
        Of the largest difference over the positions. NaN: there is nothing to compare.
    """

    ratios: Floats
    intervals: Floats
    p_value: float

    @property
    def positions(self) -> Integers:
        """Positions, from 0, whose interval does not contain 1."""
        low, high = self.intervals.T
        return np.flatnonzero((low > 1) | (high < 1))


@dataclass(frozen=True, eq=False)
class PositionModelCheck:
    """Evidence in a log against the position-based model. `str` says it in words.

    Attributes
    ----------
    swaps, em : PositionBias
        Both estimates.
    methods : CurveDifference
        The curve of EM divided by that of swaps.
    relevance : CurveDifference
        The curve of documents that are clicked often elsewhere, divided by that of all documents.
        In the model it does not depend on relevance. With trust bias it does.
    after_click : float
        Clicks below a click, divided by those that the model expects there. In the model it is 1.
        In a cascade it is 0. Above 1: some people click much, others little.
    after_click_interval : tuple of float
    p_after_click : float
    level : float
        The model is refused if one of the three p-values times 3 is at most this.
    """

    swaps: PositionBias
    em: PositionBias
    methods: CurveDifference
    relevance: CurveDifference
    after_click: float
    after_click_interval: tuple[float, float]
    p_after_click: float
    level: float

    @property
    def p_value(self) -> float:
        """The smallest of the three p-values, corrected for their number (Bonferroni)."""
        values = [self.methods.p_value, self.relevance.p_value, self.p_after_click]
        known = [value for value in values if not np.isnan(value)]
        return min(1.0, _N_TESTS * min(known)) if known else float("nan")

    @property
    def is_refused(self) -> bool:
        """Whether the model is wrong for this log."""
        return self.p_value <= self.level

    def __str__(self) -> str:
        reasons = []
        limit = self.level / _N_TESTS
        if self.methods.p_value <= limit:
            reasons.append(f"swaps and EM disagree at {positions_named(self.methods.positions)}")
        if self.relevance.p_value <= limit:
            places = self.relevance.positions
            reasons.append(
                f"{positions_named(places)} {'is' if len(places) == 1 else 'are'} seen more or "
                f"less where documents are clicked often elsewhere"
            )
        if self.p_after_click <= limit:
            low, high = self.after_click_interval
            reasons.append(
                f"below a click there are {self.after_click:.2f} times the expected clicks "
                f"({low:.2f} to {high:.2f})"
            )
        if reasons:
            return (
                f"The position-based model is wrong for this log: {'; '.join(reasons)} "
                f"({self._told_p()}). Compare click models before you trust the curve."
            )
        return (
            f"Nothing speaks against the position-based model: swaps and EM agree within their "
            f"intervals, and clicks depend on position and document alone, as far as this log "
            f"tells ({self._told_p()})."
        )

    def _told_p(self) -> str:
        return "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.2g}"


def check_position_model(
    log: ClickLog,
    features: RankingDataset | None = None,
    *,
    n_positions: int | None = None,
    level: float = 0.05,
    n_bootstrap: int = 500,
    random_state: int = 0,
) -> PositionModelCheck:
    """Test whether clicks depend on the position and the document alone.

    Three tests, each of what the position-based model says:

    - swaps and EM estimate the same curve. Without features they often do even where the model is
      wrong: both compare a document with itself.
    - the curve is the same for documents that are clicked often at third positions. Trust bias
      breaks it.
    - clicks of a session are independent, given its documents. Where people stop after a click, as
      in a cascade, or where some people click more than others, there are fewer or more clicks
      below a click than expected.

    Intervals and p-values resample queries.

    Parameters
    ----------
    log : ClickLog
    features : RankingDataset, optional
        For regression EM, as in `PositionBias`.
    n_positions : int, optional
        Positions from this one on count as one.
    level : float, default=0.05
        How often a right model may be refused.
    n_bootstrap : int, default=500
    random_state : int, default=0

    Examples
    --------
    >>> from localrank.clicks import CascadeBehaviour, simulate_clicks
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(100)
    >>> scores = dataset.features[:, -1]
    >>> log = simulate_clicks(dataset, scores, CascadeBehaviour(), n_sessions=20_000, shuffle=1)
    >>> check = check_position_model(log)
    >>> check.is_refused, check.after_click
    (True, 0.0)
    """
    settings = {
        "n_positions": n_positions,
        "n_bootstrap": n_bootstrap,
        "random_state": random_state,
    }
    swaps = PositionBias("swaps", **settings).fit(log)  # type: ignore[arg-type]
    em = PositionBias("em", **settings).fit(log, features)  # type: ignore[arg-type]
    ratio, interval, p_after_click = _after_clicks(log, swaps, level, n_bootstrap, random_state)
    return PositionModelCheck(
        swaps,
        em,
        _difference(swaps.examination_, swaps.draws_, em.examination_, em.draws_, level),
        _by_relevance(log, swaps, level),
        ratio,
        interval,
        p_after_click,
        level,
    )


def _difference(
    first: Floats, first_draws: Floats, second: Floats, second_draws: Floats, level: float
) -> CurveDifference:
    """Compare two curves by draws of the same queries."""
    change = np.log(second / first)
    draws = np.log(second_draws / first_draws)
    intervals = np.full((len(change), 2), np.nan)
    known = np.flatnonzero(~np.isnan(change))[1:]
    spread = draws[:, known].std(axis=0)
    known, spread = known[spread > 0], spread[spread > 0]
    if not known.size:
        return CurveDifference(np.exp(change), intervals, float("nan"))
    largest = (np.abs(draws[:, known] - draws[:, known].mean(axis=0)) / spread).max(axis=1)
    measured = (np.abs(change[known]) / spread).max()
    p_value = (1 + int((largest >= measured).sum())) / (1 + len(draws))
    width = np.quantile(largest, 1 - level) * spread
    intervals[known] = np.exp(np.stack([change[known] - width, change[known] + width], axis=1))
    return CurveDifference(np.exp(change), intervals, p_value)


def _by_relevance(log: ClickLog, swaps: PositionBias, level: float) -> CurveDifference:
    """The curve of documents that are clicked often elsewhere, beside that of all."""
    known = ~np.isnan(swaps.examination_)
    counted = Swaps.of(log, swaps.n_positions)
    cells = of_positions(counted.cells, known)
    duels = count_weighed_duels(
        cells, counted.sets_of_pairs, counted.n_sets, swaps.examination_[known]
    )
    among = comparable(duels.sum(axis=0))
    resampling = Resampling.drawn(counted.n_sets, swaps.n_bootstrap, swaps.random_state)
    theta, moved = estimated_by_swaps(duels, among, resampling)
    kept = np.flatnonzero(known)[among]
    curve, draws = np.full_like(swaps.examination_, np.nan), np.full_like(swaps.draws_, np.nan)
    curve[kept], draws[:, kept] = np.exp(theta), np.exp(theta + moved)
    return _difference(swaps.examination_, swaps.draws_, curve, draws, level)


def _after_clicks(
    log: ClickLog, swaps: PositionBias, level: float, n_bootstrap: int, random_state: int
) -> tuple[float, tuple[float, float], float]:
    """Clicks below a click by those expected, an interval, and a p-value.

    What is expected of a document comes from its own clicks, which the model says are independent
    of those on others.
    """
    from scipy import stats

    seen = swaps.examination_[np.minimum(log.positions, len(swaps.examination_) - 1)]
    known = ~np.isnan(seen)
    seen = np.where(known, seen, 0.0)
    clicks = log.clicks & known
    looks = summed(log.pairs, seen, log.n_pairs)
    rates = summed(log.pairs, clicks.astype(np.float64), log.n_pairs) / np.maximum(looks, 1e-300)
    before: Integers = np.cumsum(log.clicks) - log.clicks
    below = known & (before > before[log.offsets[:-1]][log.session_index])
    sets, n_sets = sets_of(log.n_queries)
    of_rows = sets[log.session_queries][log.session_index][below]
    observed = summed(of_rows, clicks[below].astype(np.float64), n_sets)
    expected = summed(of_rows, seen[below] * rates[log.pairs[below]], n_sets)
    n_used = int((expected > 0).sum())
    if n_used < 2:
        return float("nan"), (float("nan"), float("nan")), float("nan")
    ratio = float(observed.sum() / expected.sum())
    # How much each set moves the ratio. With few clicks the sets say less than Poisson's law.
    moves = (observed - ratio * expected) / expected.sum()
    variance = float((moves**2).sum()) * n_used / (n_used - 1)
    error = float(np.sqrt(max(variance, 1 / expected.sum())))
    width = float(stats.t.ppf(1 - level / 2, n_used - 1)) * error
    p_value = float(2 * stats.t.sf(abs(ratio - 1) / error, n_used - 1))
    return ratio, (max(ratio - width, 0.0), ratio + width), p_value
