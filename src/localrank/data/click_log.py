"""Sessions of a search engine: what was shown, in which order, and what was clicked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._kernels.keys import first_repeats
from localrank._kernels.sorting import read_only
from localrank.data._checks import checked_ids, first_repeated, is_missing, joined_ids
from localrank.data._click_damage import (
    EMPTY,
    REPEATED,
    Bad,
    Damage,
    flags_of,
    left_out_lines,
    places_of,
    propensities_of,
    summed,
)
from localrank.data._numbered_ids import numbered, numbered_keys
from localrank.data._offsets import offsets_of, rows_of

# The names of rankers or groups, and the number of each session's.
Named = tuple[tuple[str, ...], Integers]


@dataclass(frozen=True, eq=False, repr=False)
class ClickLog:
    """Sessions: the documents shown for a query, in order, and which of them were clicked.

    The impressions of session `i` are the rows `offsets[i]` to `offsets[i + 1]` of `pairs` and
    `clicks`, from the first position to the last. A pair is a query and one of its documents. All
    arrays are read-only. Most logs come from `from_sessions` or `localrank.data.read`.

    Attributes
    ----------
    query_ids : ndarray of shape (n_queries,)
    document_ids : ndarray of shape (n_pairs,)
        The document of each pair.
    pair_offsets : ndarray of shape (n_queries + 1,)
        The pairs of query `q` are `pair_offsets[q]` to `pair_offsets[q + 1]`.
    session_queries : ndarray of shape (n_sessions,)
        The number of each session's query.
    offsets : ndarray of shape (n_sessions + 1,)
    pairs : ndarray of shape (n_impressions,)
        The number of the pair that was shown.
    clicks : ndarray of bool of shape (n_impressions,)
    times : ndarray of shape (n_sessions,) or None
        Seconds since 1970.
    rankers : ndarray of shape (n_sessions,) or None
        The number of the ranker that made each list, among `ranker_names`.
    groups : ndarray of shape (n_sessions,) or None
        The number of each session's group, such as a device or a country, among `group_names`.
    propensities : ndarray of shape (n_impressions,) or None
        The known probability that the document was shown where it was.
    left_out : mapping from str to int
        How much was left out when the log was built, by the reason.

    Examples
    --------
    >>> log = ClickLog.from_sessions(
    ...     ["tea", "tea", "coffee"], [["a", "b"], ["b", "a", "c"], ["a"]], [[0], [0, 2], []]
    ... )
    >>> log
    ClickLog: 3 sessions, 2 queries, 4 documents of queries, 6 impressions, 3 clicks
    >>> log.offsets, log.pairs, log.positions
    (array([0, 2, 5, 6]), array([0, 1, 1, 0, 2, 3]), array([0, 1, 0, 1, 2, 0]))
    >>> log.document_ids[log.pairs[log.clicks]]
    array(['a', 'b', 'c'], dtype='<U1')
    """

    query_ids: Array
    document_ids: Array
    pair_offsets: Integers
    session_queries: Integers
    offsets: Integers
    pairs: Integers
    clicks: Flags
    times: Floats | None = None
    rankers: Integers | None = None
    ranker_names: tuple[str, ...] = ()
    groups: Integers | None = None
    group_names: tuple[str, ...] = ()
    propensities: Floats | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @classmethod
    def from_sessions(
        cls,
        queries: Iterable[Any],
        documents: Iterable[Sequence[Any]],
        clicks: Iterable[Sequence[int]],
        *,
        times: Iterable[float] | None = None,
        rankers: Iterable[Any] | None = None,
        groups: Iterable[Any] | None = None,
        propensities: Iterable[Sequence[float]] | None = None,
        bad: Bad = "refuse",
    ) -> Self:
        """Build a log from one entry per session.

        Parameters
        ----------
        queries : sequence of ids
        documents : sequence of sequences of ids
            The documents of each session, in the order shown. Ids count within their query. An
            empty list is left out and counted.
        clicks : sequence of sequences of int
            The positions that were clicked, from 0, in any order. A position that was clicked
            twice counts once.
        times : sequence of numbers, optional
            Seconds since 1970.
        rankers, groups : sequence of str, optional
            The ranker that made each list, and the group of each session.
        propensities : sequence of sequences of numbers, optional
            For each document shown, the known probability that it was shown where it was.
        bad : "refuse" or "drop", default="refuse"
            What to do with an impossible session: a position was clicked that was not shown, a list
            has a document twice, or a propensity is not above 0 and at most 1. "drop" leaves it out
            and counts it in `left_out`.

        Raises
        ------
        ValueError
            A session is impossible, or sequences differ in length. The message names the session,
            from 0.

        Examples
        --------
        >>> log = ClickLog.from_sessions(
        ...     ["tea", "tea", "mate"], [["a", "b"], ["a", "a"], []], [[1], [0], []], bad="drop"
        ... )
        >>> log.n_sessions
        1
        >>> log.left_out
        {'sessions without a document': 1, 'sessions with a document twice': 1}
        """
        shown = _lists(documents, "documents", ordered=True)
        clicked = _lists(clicks, "clicks")
        n_sessions, sizes = len(shown), np.fromiter(map(len, shown), np.int64, len(shown))
        if not n_sessions or not sizes.any():
            raise ValueError("A click log needs a session with a document. Got none.")
        ids = _of_sessions(list(queries), n_sessions, "queries")
        flat = checked_ids(list(chain.from_iterable(shown)), sizes.sum(), "documents", "impression")
        n_clicks = np.fromiter(
            map(len, _of_sessions(clicked, n_sessions, "clicks")), np.int64, n_sessions
        )
        damage = Damage(n_sessions, bad, places_of(None))
        flags = flags_of(_positions(clicked), n_clicks, sizes, damage)
        weights = None
        if propensities is not None:
            given = _of_sessions(
                _lists(propensities, "propensities", ordered=True), n_sessions, "propensities"
            )
            lengths = np.fromiter(map(len, given), np.int64, n_sessions)
            weights = propensities_of(
                np.array(list(chain.from_iterable(given)), np.float64), lengths, sizes, damage
            )
        whens, makers, kinds = (
            None if values is None else _of_sessions(list(values), n_sessions, name)
            for name, values in (("times", times), ("rankers", rankers), ("groups", groups))
        )
        return cls.from_impressions(
            checked_ids(ids, n_sessions, "queries", "session"),
            offsets_of(sizes),
            flat,
            flags,
            times=whens,
            rankers=makers,
            groups=kinds,
            propensities=weights,
            damage=damage,
        )

    @classmethod
    def from_impressions(
        cls,
        queries: Array,
        offsets: Integers,
        documents: Array,
        clicks: Flags,
        *,
        times: ArrayLike | None = None,
        rankers: Sequence[Any] | None = None,
        groups: Sequence[Any] | None = None,
        propensities: Floats | None = None,
        bad: Bad = "refuse",
        damage: Damage | None = None,
    ) -> Self:
        """Build a log from a row for each impression, session after session.

        Parameters
        ----------
        queries : ndarray of shape (n_sessions,)
        offsets : ndarray of shape (n_sessions + 1,)
        documents : ndarray of shape (n_impressions,)
        clicks : ndarray of bool of shape (n_impressions,)
        times, rankers, groups : sequence of length n_sessions, optional
        propensities : ndarray of shape (n_impressions,), optional
        bad : "refuse" or "drop", default="refuse"
            As in `from_sessions`.
        damage : Damage, optional
            What a reader has found before, in place of `bad`.

        Examples
        --------
        >>> log = ClickLog.from_impressions(
        ...     np.array(["q"]), np.array([0, 2]), np.array(["a", "b"]), np.array([False, True])
        ... )
        >>> log.n_sessions, log.clicks
        (1, array([False,  True]))
        """
        return cls.from_numbers(
            *numbered(queries), offsets, *numbered(documents), clicks,
            times=None if times is None else _finite(times, "times"),
            rankers=_names(rankers, "rankers"),
            groups=_names(groups, "groups"),
            propensities=propensities,
            damage=Damage(len(queries), bad, places_of(None)) if damage is None else damage,
        )  # fmt: skip

    @classmethod
    def from_numbers(
        cls,
        query_ids: Array,
        queries: Integers,
        offsets: Integers,
        document_ids: Array,
        documents: Integers,
        clicks: Flags,
        *,
        times: Floats | None = None,
        rankers: Named | None = None,
        groups: Named | None = None,
        propensities: Floats | None = None,
        damage: Damage | None = None,
    ) -> Self:
        """Build a log from numbers in place of ids, which takes a fraction of the time.

        Parameters
        ----------
        query_ids, document_ids : ndarray
            Each id once. Some may not occur.
        queries : ndarray of shape (n_sessions,)
            The place of each session's query among `query_ids`.
        offsets : ndarray of shape (n_sessions + 1,)
        documents : ndarray of shape (n_impressions,)
            The place of each document among `document_ids`.
        clicks : ndarray of bool of shape (n_impressions,)
        times : ndarray of shape (n_sessions,), optional
        rankers, groups : pair of names and of a number for each session, optional
        propensities : ndarray of shape (n_impressions,), optional
        damage : Damage, optional
            What is known of damaged sessions. None: damage is refused.

        Examples
        --------
        >>> log = ClickLog.from_numbers(
        ...     np.array(["q"]), np.array([0, 0]), np.array([0, 1, 2]),
        ...     np.array(["a", "b"]), np.array([1, 0]), np.array([True, False]),
        ... )
        >>> log.document_ids[log.pairs]
        array(['b', 'a'], dtype='<U1')
        """
        offsets = np.array(offsets, np.int64)
        n_sessions = len(queries)
        _check_shapes(n_sessions, offsets, documents, clicks, times, propensities)
        _check_numbers("queries", queries, query_ids)
        _check_numbers("documents", documents, document_ids)
        damage = Damage(n_sessions, "refuse", places_of(None)) if damage is None else damage
        damage.found(np.diff(offsets) == 0, EMPTY, lambda session: "")
        if propensities is not None:
            sizes = np.diff(offsets)
            propensities = propensities_of(np.array(propensities, np.float64), sizes, sizes, damage)
        repeats = np.empty(n_sessions, np.int64)
        first_repeats(
            read_only(documents, np.int64), read_only(offsets, np.int64),
            np.full(len(document_ids), -1), repeats,
        )  # fmt: skip
        damage.found(
            repeats >= 0,
            REPEATED,
            lambda session: (
                f"the document {document_ids[documents[repeats[session]]]} is shown twice. A "
                f"document has one position in a list."
            ),
        )
        if not damage.kept.all():
            kept = np.flatnonzero(damage.kept)
            rows, offsets = rows_of(offsets, kept)
            queries, documents, clicks = queries[kept], documents[rows], clicks[rows]
            times = None if times is None else times[kept]
            rankers, groups = (
                None if one is None else (one[0], one[1][kept]) for one in (rankers, groups)
            )
            propensities = None if propensities is None else propensities[rows]
        known, session_queries = numbered_keys(queries)
        # Pairs are in the order of ids, whatever the order of sessions.
        order = np.argsort(document_ids)
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        keys = ranks[documents]
        keys += np.repeat(session_queries * len(order), np.diff(offsets))
        pair_keys, pairs = numbered_keys(keys)
        by_key = np.argsort(pair_keys)
        places = np.empty(len(by_key), np.int64)
        places[by_key] = np.arange(len(by_key))
        pair_queries, document_ranks = np.divmod(pair_keys[by_key], len(order))
        ranker_names, ranker_numbers = ((), None) if rankers is None else rankers
        group_names, group_numbers = ((), None) if groups is None else groups
        return cls(
            query_ids[known],
            document_ids[order[document_ranks]],
            offsets_of(np.bincount(pair_queries, minlength=len(known))),
            session_queries,
            offsets,
            places[pairs],
            np.array(clicks, np.bool_),
            times,
            ranker_numbers,
            ranker_names,
            group_numbers,
            group_names,
            propensities,
            damage.counts,
        )

    @classmethod
    def joined(cls, logs: Sequence[ClickLog]) -> Self:
        """The sessions of several logs as one, in their order.

        Equal ids of queries are the same query. Either all logs have times, or none has. The same
        holds for rankers, groups and propensities.

        Examples
        --------
        >>> one = ClickLog.from_sessions(["a"], [["x", "y"]], [[0]])
        >>> other = ClickLog.from_sessions(["a", "b"], [["y", "x"], ["x"]], [[1], []])
        >>> log = ClickLog.joined([one, other])
        >>> log
        ClickLog: 3 sessions, 2 queries, 3 documents of queries, 5 impressions, 2 clicks
        >>> log.pairs
        array([0, 1, 1, 0, 2])
        """
        if not logs:
            raise ValueError("There is nothing to join: the list of logs is empty.")
        query_ids, queries = _joined([log.query_ids for log in logs])
        document_ids, documents = _joined([log.document_ids for log in logs])
        joined = cls.from_numbers(
            query_ids,
            np.concatenate(
                [of[log.session_queries] for of, log in zip(queries, logs, strict=True)]
            ),
            offsets_of(np.concatenate([log.session_sizes for log in logs])),
            document_ids,
            np.concatenate([of[one.pairs] for of, one in zip(documents, logs, strict=True)]),
            np.concatenate([log.clicks for log in logs]),
            times=_all_or_none([log.times for log in logs], "times"),
            rankers=_joined_names([(log.ranker_names, log.rankers) for log in logs], "rankers"),
            groups=_joined_names([(log.group_names, log.groups) for log in logs], "groups"),
            propensities=_all_or_none([log.propensities for log in logs], "propensities"),
        )
        return replace(joined, left_out=summed([log.left_out for log in logs]))

    @property
    def n_sessions(self) -> int:
        """Number of sessions."""
        return len(self.session_queries)

    @property
    def n_queries(self) -> int:
        """Number of queries, also those whose sessions `select` left out."""
        return len(self.query_ids)

    @property
    def n_pairs(self) -> int:
        """Number of pairs of a query and a document, also of sessions left out."""
        return len(self.document_ids)

    @property
    def n_empty(self) -> int:
        """Number of sessions without any document, which were left out."""
        return self.left_out.get(EMPTY, 0)

    @property
    def n_impressions(self) -> int:
        """Number of documents shown, over all sessions."""
        return len(self.pairs)

    @property
    def n_clicks(self) -> int:
        """Number of impressions with a click."""
        return int(np.count_nonzero(self.clicks))

    @cached_property
    def session_sizes(self) -> Integers:
        """Number of documents of each session."""
        return np.diff(self.offsets)

    @property
    def n_positions(self) -> int:
        """Length of the longest list."""
        return int(self.session_sizes.max(initial=0))

    @cached_property
    def positions(self) -> Integers:
        """The position of each impression, from 0."""
        return np.arange(self.n_impressions) - np.repeat(self.offsets[:-1], self.session_sizes)

    @cached_property
    def session_index(self) -> Integers:
        """The session of each impression."""
        return np.repeat(np.arange(self.n_sessions), self.session_sizes)

    @cached_property
    def pair_queries(self) -> Integers:
        """The number of each pair's query."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.pair_offsets))

    def select(self, sessions: ArrayLike) -> Self:
        """Some sessions, by their numbers or by flags.

        Queries and pairs keep their numbers, even if none of their sessions is left. A session may
        be named several times, as in a bootstrap.

        Examples
        --------
        >>> log = ClickLog.from_sessions(["a", "b"], [[1, 2], [3]], [[0], []])
        >>> log.select([1]).n_sessions, log.select([1]).pairs, log.select([1]).n_queries
        (1, array([2]), 2)
        """
        chosen = np.arange(self.n_sessions)[np.asarray(sessions)]
        rows, offsets = rows_of(self.offsets, chosen)
        return replace(
            self,
            session_queries=self.session_queries[chosen],
            offsets=offsets,
            pairs=self.pairs[rows],
            clicks=self.clicks[rows],
            times=None if self.times is None else self.times[chosen],
            rankers=None if self.rankers is None else self.rankers[chosen],
            groups=None if self.groups is None else self.groups[chosen],
            propensities=None if self.propensities is None else self.propensities[rows],
        )

    def split(
        self, share: float = 0.8, *, by_time: bool = False, random_state: int | None = 0
    ) -> tuple[Self, Self]:
        """Two parts of the sessions, such as one to fit a click model and one to judge it.

        Queries and pairs keep their numbers, so that what was learned of the pairs of one part
        can be looked up for the other.

        Parameters
        ----------
        share : float, default=0.8
            Share of the sessions in the first part, above 0 and below 1.
        by_time : bool, default=False
            The first part has the earliest sessions. Otherwise sessions are drawn at random.
        random_state : int or None, default=0

        Examples
        --------
        >>> log = ClickLog.from_sessions("abcd", ["x"] * 4, [[0]] * 4, times=[4, 3, 1, 2])
        >>> early, late = log.split(0.5, by_time=True)
        >>> early.times, late.times
        (array([1., 2.]), array([4., 3.]))
        """
        n_first = round(share * self.n_sessions) if 0 < share < 1 else 0
        if not 0 < n_first < self.n_sessions:
            raise ValueError(
                f"The 'share' argument of split must leave sessions in both parts, of "
                f"{self.n_sessions:,}. Got {share} instead."
            )
        if by_time:
            if self.times is None:
                raise ValueError("The log has no times. Split it at random, with by_time=False.")
            order = np.argsort(self.times, kind="stable")
            # Within each part, sessions keep their order in time.
            return self.select(order[:n_first]), self.select(np.sort(order[n_first:]))
        order = np.random.default_rng(random_state).permutation(self.n_sessions)
        return self.select(np.sort(order[:n_first])), self.select(np.sort(order[n_first:]))

    def __repr__(self) -> str:
        return (
            f"ClickLog: {self.n_sessions:,} sessions, {self.n_queries:,} queries, "
            f"{self.n_pairs:,} documents of queries, {self.n_impressions:,} impressions, "
            f"{self.n_clicks:,} clicks"
            + "".join(f"\n  {line}" for line in left_out_lines(self.left_out))
        )


def _lists(values: Iterable[Any], name: str, *, ordered: bool = False) -> list[list[Any]]:
    """A list for each session. A set has no order."""
    result = []
    for place, value in enumerate(values):
        if not isinstance(value, Iterable) or (ordered and isinstance(value, Set | Mapping)):
            raise ValueError(
                f"'{name}' must have a list for each session. Entry {place} is {value!r}."
            )
        result.append([*value])
    return result


def _of_sessions(values: list[Any], n_sessions: int, name: str) -> list[Any]:
    if len(values) != n_sessions:
        raise ValueError(
            f"'{name}' must have one entry per session: {n_sessions:,}, as 'documents' has. "
            f"Got {len(values):,} instead."
        )
    return values


def _check_shapes(
    n_sessions: int,
    offsets: Integers,
    documents: Integers,
    clicks: Flags,
    times: Floats | None,
    propensities: Floats | None,
) -> None:
    n_impressions = len(documents)
    if (
        offsets.shape != (n_sessions + 1,)
        or offsets[0] != 0
        or offsets[-1] != n_impressions
        or (np.diff(offsets) < 0).any()
    ):
        raise ValueError(
            f"'offsets' must rise from 0 to the number of impressions, {n_impressions:,}, with one "
            f"entry more than there are sessions, {n_sessions:,}."
        )
    for name, values, length, one_per in (
        ("clicks", clicks, n_impressions, "impression"),
        ("propensities", propensities, n_impressions, "impression"),
        ("times", times, n_sessions, "session"),
    ):
        if values is not None and np.shape(values) != (length,):
            raise ValueError(
                f"'{name}' must have one entry per {one_per}: {length:,}. Got shape "
                f"{np.shape(values)} instead."
            )
    if np.asarray(clicks).dtype.kind not in "b" and not np.isin(clicks, (0, 1)).all():
        raise ValueError("'clicks' must be flags: True where the document was clicked.")


def _check_numbers(name: str, numbers: Integers, ids: Array) -> None:
    """Refuse numbers that are no place among the ids, and ids that have two."""
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(ids):
        raise ValueError(
            f"'{name}' must be places among {len(ids):,} ids, from 0. Got "
            f"{numbers.min() if numbers.min() < 0 else numbers.max()}."
        )
    if len(set(ids.tolist())) < len(ids):
        raise ValueError(f"The ids of '{name}' must differ. {first_repeated(ids)} occurs twice.")


def _positions(clicked: list[list[int]]) -> Integers:
    """Positions that were clicked, session after session."""
    places = [*chain.from_iterable(clicked)]
    for kind in {*map(type, places)}:
        # Flags among numbers would become numbers.
        if not issubclass(kind, int | np.integer) or kind is bool:
            wrong = next(place for place in places if type(place) is kind)
            raise ValueError(
                f"'clicks' must hold positions, which are whole numbers from 0. Got {wrong!r}."
            )
    try:
        return np.array(places, np.int64)
    except OverflowError:
        raise ValueError(f"No list has a position {max(places, key=abs)}.") from None


def _finite(values: ArrayLike, name: str) -> Floats:
    array = np.array(values, np.float64)
    if (wrong := np.flatnonzero(~np.isfinite(array))).size:
        raise ValueError(f"'{name}' must be finite. Entry {wrong[0]} is {array[wrong[0]]}.")
    return array


def _names(values: Sequence[Any] | None, name: str) -> Named | None:
    if values is None:
        return None
    for place, value in enumerate(values):
        if is_missing(value):
            raise ValueError(f"'{name}' must not be missing. Entry {place} is {value}.")
    known, numbers = np.unique([str(value) for value in values], return_inverse=True)
    return tuple(known.tolist()), numbers.astype(np.int64)


def _joined(ids: Sequence[Array]) -> tuple[Array, list[Integers]]:
    """The different ids of several arrays, and the place of each entry, array by array."""
    known, numbers = numbered(joined_ids(ids))
    return known, np.split(numbers, np.cumsum([len(one) for one in ids])[:-1])


def _all_or_none(arrays: Sequence[Array | None], name: str) -> Array | None:
    given = [one for one in arrays if one is not None]
    if given and len(given) < len(arrays):
        raise ValueError(f"Some of the logs have {name}, and some have not. Join logs of one kind.")
    return np.concatenate(given) if given else None


def _joined_names(
    logs: Sequence[tuple[tuple[str, ...], Integers | None]], name: str
) -> Named | None:
    known = sorted({one for names, _ in logs for one in names})
    places = {one: place for place, one in enumerate(known)}
    numbers = _all_or_none(
        [
            None if of is None else np.array([places[one] for one in names], np.int64)[of]
            for names, of in logs
        ],
        name,
    )
    return None if numbers is None else (tuple(known), numbers)
