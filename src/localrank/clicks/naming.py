"""Estimates of how much is seen, by the names that commands use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.names import unknown
from localrank.data import RankingDataset
from localrank.data.click_log import ClickLog

if TYPE_CHECKING:
    from localrank.clicks.click_model import ClickModel

# Models are compared on at most this many sessions.
MAX_COMPARED = 100_000
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
    "auto": "the model of clicks that predicts sessions best that it has not seen",
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

    A position of which nothing is known, such as a late one without a click, counts as one with
    the position before.

    Parameters
    ----------
    name : str
        "pbm", the position-based model: from swaps, or from features where the log has none;
        "swaps" and "em", by that method; a click model: "cascade", "dcm", "ubm", "dbn", "trust";
        "auto", the click model that predicts best; or "none".
    log : ClickLog
    features : RankingDataset, optional
        For "pbm", where no document was shown at several positions.
    say : callable, optional
        Called with a line about what could not be estimated.

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
            # Swaps need no relevance of each document, and have less to learn.
            swaps = isinstance(chosen, clicks.PositionBasedModel) and _is_swapped(log)
            return _of_positions("swaps", log, tell) if swaps else chosen.fit(log)
        case "groups":
            if log.groups is None:
                raise ValueError(
                    "The log names no groups of sessions. A line of it may have a member 'group', "
                    "such as a device."
                )
            return clicks.GroupedPositionBias().fit(log)
        case "swaps" | "em":
            return _of_positions(name, log, tell)
        case "pbm":
            if features is None or _is_swapped(log):
                return _of_positions("swaps", log, tell)
            tell("No document was shown at several positions: relevance is estimated from features")
            return clicks.PositionBias(method="em").fit(log, features)
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


def _is_swapped(log: ClickLog) -> bool:
    """Whether a document was shown at two positions."""
    first = np.full(log.n_pairs, -1)
    first[log.pairs] = log.positions
    return bool((first[log.pairs] != log.positions).any())


def _of_positions(method: Any, log: ClickLog, say: Callable[[str], None]) -> Any:
    from localrank.clicks import PositionBias

    bias = PositionBias(method=method).fit(log)
    missing = np.flatnonzero(np.isnan(bias.examination_))
    if not missing.size:
        return bias
    n_known = int(missing[0])
    for note in bias.notes_:
        say(note)
    say(f"Positions from {n_known} on count as one")
    return PositionBias(method=method, n_positions=n_known).fit(log)
