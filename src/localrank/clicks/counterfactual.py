"""What a new ranking would do, estimated from a log of another one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Flags, Floats
from localrank.clicks._new_ranking import NewRanking, new_ranking
from localrank.clicks._position_weights import PositionWeights
from localrank.clicks._relevance_weights import Estimate, RelevanceWeights
from localrank.data import RankingDataset
from localrank.data.click_log import ClickLog

METHODS = {
    "ips": "inverse propensities",
    "snips": "self-normalised",
    "dr": "doubly robust",
}
GAINS = ("clicks", "dcg")
UNITS = ("session", "query")
# An estimate that is worth fewer sessions is refused, in logs of at least its square.
FEWEST_SESSIONS = 10


class UnseenRankingError(ValueError):
    """The log says too little about a ranking: most of what it would show was never shown."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RankingValue:
    """What a ranking would bring per list, estimated from the log of another one.

    Attributes
    ----------
    value : float
        Expected clicks per list, or the discounted sum of relevance.
    interval : (float, float)
    standard_error : float
    confidence : float
        Confidence of the interval.
    gain, method, unit : str
        As they were asked for.
    n_sessions : int
        Number of sessions that the estimate rests on.
    n_left_out : int
        Number of sessions left out, because the ranking does not have their query.
    effective_sessions : float
        A log of the ranking itself with this many sessions would tell as much. NaN: unknown.
    unseen : float
        Share of the ranking, weighted by position and traffic, that was never shown.
    """

    value: float
    interval: tuple[float, float]
    standard_error: float
    confidence: float
    gain: str
    method: str
    unit: str
    n_sessions: int
    n_left_out: int
    effective_sessions: float
    unseen: float

    def __repr__(self) -> str:
        low, high = self.interval
        what = "clicks per list" if self.gain == "clicks" else "DCG per list"
        unseen = (
            f"; {self.unseen:.1%} was never shown and counts like the rest of its query"
            if self.unseen
            else ""
        )
        return (
            f"{self.value:.4f} {what} [{low:.4f}, {high:.4f}] ({METHODS[self.method]}; "
            f"{self.n_sessions:,} sessions, worth {self.effective_sessions:,.0f} of its own"
            f"{unseen})"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class ValueDifference:
    """The difference between two rankings, from the same sessions.

    Attributes
    ----------
    first, second : str
        Names of the rankings.
    difference : float
        Value of the first minus value of the second.
    interval : (float, float)
    p_value : float
        Two-sided, not corrected for the number of pairs.
    """

    first: str
    second: str
    difference: float
    interval: tuple[float, float]
    p_value: float

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"{self.first} - {self.second}: {self.difference:+.4f} [{low:+.4f}, {high:+.4f}], "
            f"p = {self.p_value:.2g}"
        )


def ranking_value(
    log: ClickLog,
    ranking: Any,
    bias: Any = None,
    *,
    features: RankingDataset | None = None,
    method: Literal["ips", "snips", "dr"] = "snips",
    gain: Literal["clicks", "dcg"] = "clicks",
    cutoff: int | None = None,
    relevance: ArrayLike | None = None,
    unit: Literal["session", "query"] = "session",
    confidence: float = 0.95,
    max_unseen: float = 0.1,
) -> RankingValue:
    """Estimate what a ranking would bring, from a log of other rankings.

    With w(k) the weight of position k, the value of a query's list is the sum of w(k) times the
    relevance of the document there, and the value of the ranking is its mean over the sessions of
    the log. Relevance is the probability of a click on a document that is examined. A click at a
    position that is examined with probability e counts 1 / e [1]_.

    Parameters
    ----------
    log : ClickLog
    ranking : run, Ranker, or scores
        A run is whatever `as_run` takes: a file, a dict `{query: {document: score}}`, a frame. A
        ranker and scores (one per document of `features`, in input order) need `features`.
    bias : examination, optional
        How much is seen: a fitted `PositionBias` or click model, or the examination of each
        position, in (0, 1]. None: the log has the probability of each document at its position
        (`log.propensities`). A click then counts 1 / probability where the new ranking has the
        document at the same position, and 0 elsewhere [2]_.
    features : RankingDataset, optional
        The candidates, for a ranker or scores.
    method : {"ips", "snips", "dr"}, default="snips"
        "ips" is the mean of weighted clicks. "snips" divides a document's clicks by the number of
        its expected examinations, which varies less. "dr" adds a model of relevance [3]_, which
        decides about documents that were hardly examined.
    gain : {"clicks", "dcg"}, default="clicks"
        w(k): the examination of position k, so that the value is the expected number of clicks;
        or 1 / log2(k + 1).
    cutoff : int, optional
        How many positions count. None: as many as the longest list of the log has.
    relevance : array-like of shape (n_pairs,), optional
        For "dr": the relevance of each pair of the log, such as `relevance_` of a click model.
        None: the estimate of "snips", shrunk to the mean of the query.
    unit : {"session", "query"}, default="session"
        What the interval generalises to: further sessions of the same queries, or other queries
        too.
    confidence : float, default=0.95
    max_unseen : float, default=0.1
        The largest share of the ranking, weighted by position and traffic, that may have never
        been shown. Up to it, documents that were never shown count as the mean of their query.
        1: estimate whatever the log says.

    Raises
    ------
    UnseenRankingError
        More of the ranking was never shown. The message says how much.

    References
    ----------
    .. [1] Joachims, Swaminathan, Schnabel. Unbiased Learning-to-Rank with Biased Feedback. WSDM
       2017.
    .. [2] Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay, Wen. Offline Evaluation of Ranking
       Policies with Click Models. KDD 2018.
    .. [3] Oosterhuis. Doubly Robust Estimation for Correcting Position Bias in Click Feedback for
       Unbiased Learning to Rank. TOIS 2023.

    Examples
    --------
    >>> log = ClickLog.from_sessions(
    ...     ["tea"] * 4, [["a", "b"], ["b", "a"]] * 2, [[0], [1], [], [0, 1]]
    ... )
    >>> ranking_value(log, {"tea": {"a": 2.0, "b": 1.0}}, [1.0, 0.5])
    1.1667 clicks per list [0.5632, 1.7702] (self-normalised; 4 sessions, worth 4 of its own)
    """
    _check_choices(method, gain, unit, confidence)
    log, (found,), n_left_out = _common(log, [ranking], features)
    weighted = _weighted(log, bias, method, gain, cutoff, relevance, unit)
    estimate = weighted.estimate(found)
    _refuse_unseen(estimate, log, max_unseen, "this ranking")
    return _told(estimate, log, n_left_out, gain, method, unit, confidence)


def compare_rankings(
    log: ClickLog,
    rankings: Mapping[str, Any],
    bias: Any = None,
    *,
    features: RankingDataset | None = None,
    method: Literal["ips", "snips", "dr"] = "snips",
    gain: Literal["clicks", "dcg"] = "clicks",
    cutoff: int | None = None,
    relevance: ArrayLike | None = None,
    unit: Literal["session", "query"] = "session",
    confidence: float = 0.95,
    max_unseen: float = 0.1,
) -> tuple[dict[str, RankingValue], list[ValueDifference]]:
    """Estimate several rankings from one log, and the difference of each pair of them.

    The differences are paired: chance that moves both rankings alike cancels out. Queries that one
    of the rankings lacks are left out of all.

    Parameters
    ----------
    log : ClickLog
    rankings : mapping of str to run, Ranker or scores
        The rankings by name, at least two.
    bias, features, method, gain, cutoff, relevance, unit, confidence, max_unseen
        As in `ranking_value`.

    Returns
    -------
    values : dict of str to RankingValue
    differences : list of ValueDifference
        One for each pair of rankings.

    Examples
    --------
    >>> log = ClickLog.from_sessions(
    ...     ["tea"] * 40, [["a", "b"], ["b", "a"]] * 20, [[0], [1], [], [0]] * 10
    ... )
    >>> _, differences = compare_rankings(
    ...     log, {"new": {"tea": {"a": 2, "b": 1}}, "old": {"tea": {"a": 1, "b": 2}}}, [1.0, 0.5]
    ... )
    >>> differences
    [new - old: +0.1667 [+0.0352, +0.2981], p = 0.013]
    """
    if len(rankings) < 2:
        raise ValueError(f"A comparison needs at least two rankings. Got {len(rankings)}.")
    _check_choices(method, gain, unit, confidence)
    log, found, n_left_out = _common(log, list(rankings.values()), features)
    weighted = _weighted(log, bias, method, gain, cutoff, relevance, unit)
    by_name = dict(zip(rankings, found, strict=True))
    values = {}
    for name, one in by_name.items():
        estimate = weighted.estimate(one)
        _refuse_unseen(estimate, log, max_unseen, f"the ranking {name!r}")
        values[name] = _told(estimate, log, n_left_out, gain, method, unit, confidence)
    return values, [
        _difference(
            first, second, *weighted.difference(by_name[first], by_name[second]), confidence
        )
        for first, second in combinations(by_name, 2)
    ]


def policy_value(
    log: ClickLog,
    probabilities: ArrayLike,
    *,
    method: Literal["ips", "snips"] = "snips",
    unit: Literal["session", "query"] = "session",
    confidence: float = 0.95,
    max_unseen: float = 0.1,
) -> RankingValue:
    """Estimate the clicks per list of a policy that draws its lists at random.

    Parameters
    ----------
    log : ClickLog
        With `propensities`: the probability that each document was shown where it was.
    probabilities : array-like of shape (n_impressions,)
        The probability that the new policy shows each document of the log where it was.
    method, unit, confidence, max_unseen
        As in `ranking_value`. At each position, the weights should add up to the share of lists
        that reach it. By how much they fall short, beyond chance, is the share that was never
        shown.

    Examples
    --------
    >>> log = ClickLog.from_sessions(
    ...     ["q"] * 4, [["a"], ["b"]] * 2, [[0], [], [0], [0]], propensities=[[0.5]] * 4
    ... )
    >>> round(policy_value(log, [0.2, 0.8, 0.2, 0.8]).value, 3)
    0.6
    """
    given = np.asarray(probabilities, np.float64)
    if given.shape != (log.n_impressions,):
        raise ValueError(
            f"'probabilities' must have one number per impression: {log.n_impressions:,}. Got "
            f"shape {given.shape} instead."
        )
    if not ((given >= 0) & (given <= 1)).all():
        raise ValueError("'probabilities' must lie in [0, 1].")
    _check_choices(method, "clicks", unit, confidence, methods=("ips", "snips"))
    _refuse_no_click(log)
    estimate = PositionWeights(log, log.n_positions, method, unit).of_policy(given)
    _refuse_unseen(estimate, log, max_unseen, "this policy")
    return _told(estimate, log, 0, "clicks", method, unit, confidence)


def _common(
    log: ClickLog, rankings: list[Any], features: RankingDataset | None
) -> tuple[ClickLog, list[NewRanking], int]:
    """The sessions whose query all rankings have, the rankings, and how many were left out."""
    found = [new_ranking(log, ranking, features) for ranking in rankings]
    common = np.logical_and.reduce([one.ranked for one in found])
    if not common[log.session_queries].any():
        raise ValueError("No query of the log is in all rankings.")
    rest = log.select(common[log.session_queries])
    _refuse_no_click(rest)
    # A session that was left out may have been the only one with a pair.
    return rest, [_of_log(one, rest, common) for one in found], log.n_sessions - rest.n_sessions


def _weighted(
    log: ClickLog,
    bias: Any,
    method: str,
    gain: str,
    cutoff: int | None,
    relevance: ArrayLike | None,
    unit: str,
) -> RelevanceWeights | PositionWeights:
    """What estimates the values of rankings."""
    if cutoff is not None and cutoff < 1:
        raise ValueError(f"The 'cutoff' argument must be at least 1. Got {cutoff} instead.")
    depth = log.n_positions if cutoff is None else min(cutoff, log.n_positions)
    if bias is None:
        if gain == "dcg" or method == "dr":
            raise ValueError(
                f"{'The gain dcg' if gain == 'dcg' else 'The method dr'} needs to know how much "
                f"is seen: give 'bias'."
            )
        return PositionWeights(log, depth, method, unit)
    seen, curve = _examination(log, bias)
    weights = curve if gain == "clicks" else 1 / np.log2(np.arange(len(curve)) + 2)
    model = None if relevance is None else _checked_relevance(relevance, log)
    return RelevanceWeights(log, seen, curve, weights[:depth], method, model, unit)


def _of_log(ranking: NewRanking, log: ClickLog, common: Flags) -> NewRanking:
    """The ranking of some queries. A pair without an impression in the log was never shown."""
    lines = common[ranking.queries]
    shown = np.append(np.bincount(log.pairs, minlength=log.n_pairs) > 0, False)
    pairs = ranking.pairs[lines]
    return NewRanking(
        ranking.queries[lines],
        ranking.positions[lines],
        np.where(shown[pairs], pairs, -1),
        common,
    )


def _examination(log: ClickLog, bias: Any) -> tuple[Floats, Floats]:
    """How much each impression, and each position, is seen."""
    if hasattr(bias, "examination_of"):
        seen = np.asarray(bias.examination_of(log), np.float64)
        # Every position of a log has an impression.
        curve = np.bincount(log.positions, seen) / np.bincount(log.positions)
    else:
        curve = np.asarray(bias, np.float64)
        if curve.ndim != 1 or len(curve) < log.n_positions:
            raise ValueError(
                f"'bias' must be a fitted model of examination, or the examination of each of "
                f"{log.n_positions} positions. Got shape {curve.shape} instead."
            )
        seen = curve[log.positions]
        if not ((curve > 0) & (curve <= 1)).all():
            raise ValueError("The examination of every position must lie in (0, 1].")
    if (wrong := np.flatnonzero(~(seen > 0))).size:
        raise ValueError(
            f"The examination of position {log.positions[wrong[0]] + 1} is not known. Let all "
            f"positions from there on count as one, as PositionBias(n_positions=…) does."
        )
    return seen, curve


def _refuse_unseen(estimate: Estimate, log: ClickLog, most: float, what: str) -> None:
    if estimate.unseen > most:
        raise UnseenRankingError(
            f"The log says too little about {what}: {estimate.unseen:.0%} of what it would show, "
            f"weighted by position, was never shown there. At most {most:.0%} is allowed. Show "
            f"such documents first, for example in a live test."
        )
    fewest = min(FEWEST_SESSIONS, log.n_sessions / FEWEST_SESSIONS)
    if estimate.effective_sessions < fewest and most < 1:
        raise UnseenRankingError(
            f"The log says too little about {what}: {log.n_sessions:,} sessions are worth "
            f"{estimate.effective_sessions:.2g} of its own. What it would show was hardly ever "
            f"shown there. Show it first, for example in a live test."
        )


def _refuse_no_click(log: ClickLog) -> None:
    """Refuse a log without a click, whose estimate would be 0, and look certain."""
    if not log.clicks.any():
        raise ValueError(
            f"The {log.n_sessions:,} sessions whose queries are ranked have no click. Nothing "
            f"tells how many clicks a ranking would bring."
        )


def _told(
    estimate: Estimate,
    log: ClickLog,
    n_left_out: int,
    gain: str,
    method: str,
    unit: str,
    confidence: float,
) -> RankingValue:
    low, high = _interval(estimate.value, estimate.standard_error, confidence)
    return RankingValue(
        value=estimate.value,
        # There are no clicks below 0.
        interval=(max(low, 0.0), high),
        standard_error=estimate.standard_error,
        confidence=confidence,
        gain=gain,
        method=method,
        unit=unit,
        n_sessions=log.n_sessions,
        n_left_out=n_left_out,
        effective_sessions=estimate.effective_sessions,
        unseen=estimate.unseen,
    )


def _difference(
    first: str, second: str, value: float, error: float, confidence: float
) -> ValueDifference:
    # Equal rankings have no error.
    p_value = math.erfc(abs(value) / error / math.sqrt(2)) if value else 1.0
    return ValueDifference(
        first=first,
        second=second,
        difference=value,
        interval=_interval(value, error, confidence),
        p_value=p_value,
    )


def _interval(value: float, error: float, confidence: float) -> tuple[float, float]:
    half = NormalDist().inv_cdf((1 + confidence) / 2) * error
    return value - half, value + half


def _checked_relevance(relevance: ArrayLike, log: ClickLog) -> Floats:
    values = np.asarray(relevance, np.float64)
    if values.shape != (log.n_pairs,):
        raise ValueError(
            f"'relevance' must have one number per pair of the log: {log.n_pairs:,}. Got shape "
            f"{values.shape} instead."
        )
    return values


def _check_choices(
    method: str,
    gain: str,
    unit: str,
    confidence: float,
    methods: tuple[str, ...] = tuple(METHODS),
) -> None:
    for name, value, choices in (
        ("method", method, methods),
        ("gain", gain, GAINS),
        ("unit", unit, UNITS),
    ):
        if value not in choices:
            raise ValueError(
                f"The '{name}' argument must be one of {', '.join(map(repr, choices))}. Got "
                f"{value!r} instead."
            )
    if not 0 < confidence < 1:
        raise ValueError(f"The 'confidence' argument must lie in (0, 1). Got {confidence} instead.")
