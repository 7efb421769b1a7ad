"""Estimates of how much is seen, by the names that commands use."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.names import unknown
from localrank.data import RankingDataset
from localrank.data.click_log import ClickLog
from localrank.data.errors import AdvisedError

if TYPE_CHECKING:
    from localrank.clicks.click_model import ClickModel
    from localrank.clicks.position_bias import PositionBias

# Models are compared on at most this many sessions.
MAX_COMPARED = 100_000
# Late positions that nothing is known of count as one, if they have at most this share of clicks.
MAX_CLICKS_BELOW = 0.1
# Names, and what they mean. The first is the position-based model as users ask for it.
BIASES = {
    "pbm": "the position-based model: from swaps, or from features where the log has none",
    "swaps": "the position-based model, from documents that were shown at several positions",
    "em": "the position-based model, by expectation-maximisation",
    "groups": "a position-based model for each group of sessions that the log names",
    "cascade": "people read down to the first click",
    "dcm": "people read on after some clicks",
    "ubm": "examination depends on the distance to the last click",
    "dbn": "people stop where a click satisfies them",
    "auto": "the click model that best predicts sessions it has not seen",
    "trust": "positions are trusted: high ones are clicked more readily",
    "none": "everything is seen: labels are click rates",
}


def fitted_bias(
    name: str,
    log: ClickLog,
    features: RankingDataset | None = None,
    say: Callable[[str], None] | None = None,
) -> Any:
    """Estimate from a log how much is seen, by the method with this name. "none" gives None.

    Late positions that nothing is known of, such as those without a click, count as one with the
    position before. If they have more than a tenth of the clicks, swaps tell too little: "pbm" then
    uses features, and all other names are refused.

    Parameters
    ----------
    name : str
        "pbm", the position-based model: from swaps, or from features where swaps tell too little;
        "swaps" and "em", by that method; a click model: "cascade", "dcm", "ubm", "dbn", "trust";
        "groups", a curve for each group of sessions; "auto", the click model that predicts best; or
        "none".
    log : ClickLog
    features : RankingDataset, optional
        For "pbm" and "auto", where few documents were shown at several positions.
    say : callable, optional
        Called with a line about what could not be estimated, and with a sentence where the
        position-based model is wrong for the log.

    Examples
    --------
    >>> from localrank.clicks import fitted_bias
    >>> log = ClickLog.from_sessions(
    ...     ["q"] * 40, [["a", "b"]] * 20 + [["b", "a"]] * 20,
    ...     [[0]] * 8 + [[1]] * 2 + [[]] * 10 + [[0]] * 4 + [[1]] * 4 + [[]] * 12,
    ... )
    >>> fitted_bias("swaps", log).examination_.round(2)
    array([1. , 0.5])
    """
    from localrank import clicks

    check_bias(name)
    models = {
        "cascade": clicks.CascadeModel,
        "dcm": clicks.DependentClickModel,
        "ubm": clicks.UserBrowsingModel,
        "dbn": clicks.DynamicBayesianModel,
        "trust": clicks.TrustBiasModel,
    }
    tell = say or (lambda line: None)
    match name:
        case "none":
            return None
        case "auto":
            chosen = _best_model(log, tell)
            if not isinstance(chosen, clicks.PositionBasedModel):
                return chosen.fit(log)
            try:
                # Swaps need no relevance of each document, and have less to learn.
                return _position_based(log, features, tell)
            except AdvisedError:
                return chosen.fit(log)
        case "groups":
            if log.groups is None:
                raise ValueError(
                    "The log names no groups of sessions. A line of it may have a member 'group', "
                    "such as a device."
                )
            return _known_below(clicks.GroupedPositionBias, log, None, tell)
        case "swaps" | "em":
            bias = _known_below(partial(clicks.PositionBias, name), log, None, tell)
            return _checked(bias, log, say)
        case "pbm":
            bias = _position_based(log, features, tell)
            return _checked(bias, log, say) if bias.method == "swaps" else bias
    return models[name]().fit(log)


def check_bias(name: str) -> None:
    """Refuse a name that is not among `BIASES`."""
    if name not in BIASES:
        raise unknown("There is no estimate of what is seen", name, BIASES, BIASES)


def _best_model(log: ClickLog, say: Callable[[str], None]) -> ClickModel:
    from localrank.clicks import compare_click_models

    rng = np.random.default_rng(0)
    n_sessions = min(log.n_sessions, MAX_COMPARED)
    some = np.sort(rng.choice(log.n_sessions, n_sessions, replace=False))
    compared = compare_click_models(log.select(some))
    say(compared.sentence)
    return compared.models[compared.best]


def _position_based(
    log: ClickLog, features: RankingDataset | None, say: Callable[[str], None]
) -> PositionBias:
    """The position-based model: from swaps, or from features where swaps tell too little."""
    from localrank.clicks import PositionBias

    lines: list[str] = []
    try:
        bias: PositionBias = _known_below(PositionBias, log, None, lines.append)
    except AdvisedError:
        if features is None:
            raise
        swapped = "Few documents were" if _is_swapped(log) else "No document was"
        say(f"{swapped} shown at several positions: relevance is estimated from features")
        by_features: PositionBias = _known_below(partial(PositionBias, "em"), log, features, say)
        return by_features
    for line in lines:
        say(line)
    return bias


def _checked(bias: Any, log: ClickLog, say: Callable[[str], None] | None) -> Any:
    """The same, after a sentence where clicks do not depend on position and document alone."""
    from localrank.clicks import check_position_model

    # Without anybody to tell, there is no need to know.
    if say is not None:
        check = check_position_model(log, n_positions=bias.n_positions)
        if check.is_refused:
            say(f"{check} 'auto' chooses the best of them.")
    return bias


def _is_swapped(log: ClickLog) -> bool:
    """Whether a document was shown at two positions."""
    first = np.full(log.n_pairs, -1)
    first[log.pairs] = log.positions
    return bool((first[log.pairs] != log.positions).any())


def _known_below(
    made: Callable[..., Any],
    log: ClickLog,
    features: RankingDataset | None,
    say: Callable[[str], None],
) -> Any:
    """A fitted curve, or curves, in which late positions that nothing is known of count as one."""
    bias = made().fit(log, features)
    curve = getattr(bias, "common_", bias).examination_
    missing = np.flatnonzero(np.isnan(curve))
    if not missing.size:
        return bias
    n_known = int(missing[0])
    below = np.count_nonzero(log.clicks & (log.positions >= n_known)) / log.n_clicks
    if below > MAX_CLICKS_BELOW:
        fault = (
            f"Nothing is known of how much position {n_known + 1} is seen, and {below:.0%} of the "
            f"clicks are there or below. {' '.join(bias.notes_)}"
        )
        if features is not None:
            raise ValueError(f"{fault} Leave the position out of the log.")
        raise AdvisedError(
            f"{fault} Shuffle lists a little at all positions, log another ranker too, or",
            "let features tell: fitted_bias('pbm', log, features).",
            "let features tell: pbm, with --features FILE.",
        )
    for note in bias.notes_:
        say(note)
    say(f"Positions from {n_known} on count as one")
    return made(n_positions=n_known).fit(log, features)
