"""Sessions of a log of clicks that cannot be used: refused, or left out and counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank.data._offsets import offsets_of, rows_of

Bad = Literal["refuse", "drop"]
# What is left out, in the words of `ClickLog.left_out`.
EMPTY = "sessions without a document"
NOT_SHOWN = "sessions with a click on something that was not shown"
REPEATED = "sessions with a document twice"
PROPENSITIES = "sessions with wrong propensities"
GAPS = "sessions with missing or repeated positions"
CHANGING = "sessions of several queries, rankers or groups"
UNREADABLE = "lines that cannot be read"
UNKNOWN_QUERIES = "clicks of searches that are not in the log"
WITHOUT_OBJECT = "clicks on no document"
# In so many sessions, clicks that could be flags are no chance.
_MANY_SESSIONS = 10


class Damage:
    """The faults of sessions.

    Parameters
    ----------
    n_sessions : int
    bad : "refuse" or "drop"
        Raise an error for the first fault, or leave the session out and count it.
    place : callable
        What messages call a session, by its number.
    source : str, default=""
        The file, with a colon, in an error about all sessions.

    Attributes
    ----------
    kept : ndarray of bool of shape (n_sessions,)
        The sessions without a fault.
    counts : dict of int
        The number of sessions that are left out, by their fault. A session counts once.
    source : str

    Examples
    --------
    >>> damage = Damage(3, "drop", lambda session: f"Session {session}")
    >>> damage.found(np.array([False, True, False]), "sessions of the moon", lambda session: "")
    >>> damage.kept, damage.counts
    (array([ True, False,  True]), {'sessions of the moon': 1})
    """

    def __init__(
        self, n_sessions: int, bad: Bad, place: Callable[[int], str], source: str = ""
    ) -> None:
        check_bad(bad)
        self.kept = np.ones(n_sessions, np.bool_)
        self.counts: dict[str, int] = {}
        self.source = source
        self._bad, self._place = bad, place

    def found(self, wrong: Flags, fault: str, said: Callable[[int], str]) -> None:
        """Note that some sessions have a fault; `said` says it of one of them, by its number."""
        new = np.flatnonzero(wrong & self.kept)
        if not new.size:
            return
        if self._bad == "refuse" and fault != EMPTY:
            session = int(new[0])
            raise ValueError(f"{self._place(session)}: {said(session)}")
        self.kept[new] = False
        self.counts[fault] = self.counts.get(fault, 0) + len(new)
        if not self.kept.any():
            raise ValueError(
                f"{self.source}no session is left: {', '.join(left_out_lines(self.counts))}."
            )


def check_bad(bad: str) -> None:
    """Refuse a choice that does not exist."""
    if bad not in ("refuse", "drop"):
        raise ValueError(
            f"The 'bad' argument of a click log must be 'refuse' or 'drop'. Got {bad!r} instead."
        )


def places_of(sessions: Sequence[Any] | Array | None) -> Callable[[int], str]:
    """What messages call sessions: their names, or their numbers from 0."""
    if sessions is None:
        return "Session {}".format
    return lambda number: f"Session {sessions[number]}"


def flags_of(places: Integers, n_clicks: Integers, sizes: Integers, damage: Damage) -> Flags:
    """Positions that were clicked, as a flag for each impression.

    `n_clicks` of `places` belong to each session. Those that were not shown are damage.

    Examples
    --------
    >>> damage = Damage(2, "drop", "Session {}".format)
    >>> flags_of(np.array([1, 5]), np.array([1, 1]), np.array([2, 1]), damage)
    array([False,  True, False])
    >>> damage.counts
    {'sessions with a click on something that was not shown': 1}
    """
    if len(sizes) >= _MANY_SESSIONS and _are_flags(places, n_clicks, sizes):
        raise ValueError(
            f"{damage.source}each session has as many clicks as documents, and all of them are 0 "
            f"or 1. These are flags, and clicks must be positions from 0: [0, 2] in place of "
            f"[1, 0, 1]."
        )
    flags = np.zeros(sizes.sum(), np.bool_)
    sessions = np.repeat(np.arange(len(sizes)), n_clicks)
    right = (places >= 0) & (places < sizes[sessions])

    def said(session: int) -> str:
        place = places[np.flatnonzero(~right & (sessions == session))[0]]
        return (
            f"a click is on position {place}, but {sizes[session]} documents are shown. Positions "
            f"begin at 0."
        )

    # A session without documents is left out anyway.
    damage.found(_of_sessions(~right, sessions, len(sizes)) & (sizes > 0), NOT_SHOWN, said)
    flags[offsets_of(sizes)[sessions[right]] + places[right]] = True
    return flags


def _are_flags(places: Integers, n_clicks: Integers, sizes: Integers) -> bool:
    """Whether the clicks of all sessions are a flag for each document, in place of positions."""
    return bool(
        places.size
        and sizes.max() > 2
        and (n_clicks == sizes).all()
        and ((places == 0) | (places == 1)).all()
    )


def propensities_of(values: Floats, lengths: Integers, sizes: Integers, damage: Damage) -> Floats:
    """Propensities that are one for each document shown, above 0 and at most 1.

    `lengths` of the values belong to each session. Sessions with others are damage.
    """
    damage.found(
        lengths != sizes,
        PROPENSITIES,
        lambda session: (
            f"it shows {sizes[session]} documents and has {lengths[session]} propensities. Each "
            f"document needs one."
        ),
    )
    sessions = np.repeat(np.arange(len(sizes)), lengths)
    wrong = ~((values > 0) & (values <= 1))

    def said(session: int) -> str:
        value = values[np.flatnonzero(wrong & (sessions == session))[0]]
        return f"a propensity must be above 0, and at most 1. Got {value} instead."

    damage.found(_of_sessions(wrong, sessions, len(sizes)), PROPENSITIES, said)
    if (lengths == sizes).all():
        return values
    # Sessions of another length are left out: what stands for them is never read.
    result = np.ones(sizes.sum())
    same = lengths == sizes
    rows, _ = rows_of(offsets_of(sizes), np.flatnonzero(same))
    result[rows] = values[np.repeat(same, lengths)]
    return result


def summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """What was left out of several logs.

    Examples
    --------
    >>> summed([{"lines": 1}, {"lines": 2, "clicks": 3}])
    {'lines': 3, 'clicks': 3}
    """
    names = dict.fromkeys(name for one in counts for name in one)
    return {name: sum(one.get(name, 0) for one in counts) for name in names}


def left_out_lines(counts: Mapping[str, int]) -> list[str]:
    """What was left out, in words.

    Examples
    --------
    >>> left_out_lines({EMPTY: 1200})
    ['1,200 sessions without a document are left out']
    """
    return [
        f"{counted(n, what)} {'is' if n == 1 else 'are'} left out" for what, n in counts.items()
    ]


def counted(n: int, what: str) -> str:
    """A number of things, in words.

    Examples
    --------
    >>> counted(1, EMPTY), counted(2, EMPTY)
    ('1 session without a document', '2 sessions without a document')
    """
    noun, rest = what.split(" ", 1)
    return f"{n:,} {noun.removesuffix('s') if n == 1 else noun} {rest}"


def _of_sessions(wrong: Integers | Flags, session_index: Integers, n_sessions: int) -> Flags:
    """The sessions of some impressions, as flags."""
    flags = np.zeros(n_sessions, np.bool_)
    flags[session_index[wrong]] = True
    return flags
