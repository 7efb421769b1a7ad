"""Logs of clicks as JSON lines: a session in each."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from localrank._base.arrays import Flags, Integers
from localrank.data._atomic import atomic_write
from localrank.data._checks import natural_ids
from localrank.data._click_damage import (
    UNREADABLE,
    Bad,
    Damage,
    check_bad,
    flags_of,
    left_out_lines,
    propensities_of,
)
from localrank.data._compression import compressed
from localrank.data._offsets import offsets_of
from localrank.data.click_log import ClickLog, Named
from localrank.data.feature_logs._responses import parsed, raw_lines
from localrank.data.feature_logs._values import as_id, shortened

# What a line may have besides its query, documents and clicks.
_OPTIONAL = ("time", "ranker", "group", "propensities")
_ID_TYPES, _INTEGERS = {str, int}, {int}
_NUMBERS = {int, float}
# A place is the number of a file, and that of a line in these bits.
_LINE_BITS = 40


def read_click_log(
    path_or_paths: str | PathLike[str] | Sequence[str | PathLike[str]], *, bad: Bad = "refuse"
) -> ClickLog:
    r"""Read a log of clicks from JSON lines.

    Each line is a session: `{"query": "tea", "documents": ["a", "b"], "clicks": [1]}`. `documents`
    are in the order shown, `clicks` are positions from 0. A line may also have

    - `time`: seconds since 1970, or a text such as "2026-03-01T12:00:00Z";
    - `ranker`: the name of the ranker that made the list;
    - `group`: a group of the session, such as a device;
    - `propensities`: for each document, the known probability that it was shown where it was.

    Either all lines have such a member, or none has. Other members are not read: no user is kept.

    Parameters
    ----------
    path_or_paths : path or sequence of paths
        The files of one log. Files that end in `.gz`, `.bz2` or `.xz` are decompressed.
    bad : "refuse" or "drop", default="refuse"
        What to do with a line that cannot be read, and with an impossible session: something was
        clicked that was not shown, or a document is shown twice. "refuse": an error names the line.
        "drop": leave it out and count it in the log's `left_out`. A session without a document is
        always left out and counted.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.jsonl")
    ...     _ = path.write_text('{"query": "tea", "documents": [7, 3], "clicks": [1]}\n')
    ...     log = read_click_log(path)
    >>> log.query_ids, log.document_ids[log.pairs], log.clicks
    (array(['tea'], dtype='<U3'), array([7, 3]), array([False,  True]))
    """
    lines, sessions = Lines(path_or_paths, bad), Sessions()
    for record in lines:
        try:
            sessions.add(record)
        except ValueError as error:
            lines.refuse(error)
        else:
            sessions.places.append(lines.place)
    return sessions.log(lines.damage(sessions.places))


class Lines:
    """The objects of files of JSON lines. A line that is damaged is refused, or left out.

    Attributes
    ----------
    place : int
        The file and the line that was read last.
    """

    def __init__(
        self, path_or_paths: str | PathLike[str] | Sequence[str | PathLike[str]], bad: Bad
    ) -> None:
        check_bad(bad)
        given = [path_or_paths] if isinstance(path_or_paths, str | PathLike) else path_or_paths
        if not given:
            raise ValueError("There is nothing to read: the list of paths is empty.")
        self.paths, self.place = [*map(Path, given)], 0
        self._bad, self._n_unreadable = bad, 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for number, path in enumerate(self.paths):
            for line, text in raw_lines(path):
                self.place = number << _LINE_BITS | line
                try:
                    record = parsed(path, line, text)
                except ValueError:
                    if self._bad == "refuse":
                        raise
                    self._n_unreadable += 1
                else:
                    yield record

    def name(self, place: int) -> str:
        """What messages call a place."""
        file, line = divmod(place, 1 << _LINE_BITS)
        return f"{self.paths[file]}:{line}"

    def refuse(self, error: ValueError) -> None:
        """Refuse the line that was read last, or count it."""
        if self._bad == "refuse":
            raise ValueError(f"{self.name(self.place)}: {error}") from None
        self._n_unreadable += 1

    def damage(self, places: Sequence[int]) -> Damage:
        """The damage of sessions that were read at these places."""
        damage = Damage(
            len(places),
            self._bad,
            lambda session: self.name(places[session]),
            f"{self.paths[0]}: ",
        )
        if self._n_unreadable:
            damage.counts[UNREADABLE] = self._n_unreadable
        if not places:
            left_out = "".join(f": {line}" for line in left_out_lines(damage.counts))
            raise ValueError(f"{self.paths[0]} has no sessions{left_out}.")
        return damage


class Ids(dict[Any, int]):
    """The numbers of ids. A text and the whole number that is written alike are one id."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.names: dict[str, int] = {}

    def __missing__(self, value: Any) -> int:
        self[value] = number = self.names.setdefault(as_id(value, self.what), len(self.names))
        return number


class Sessions:
    """Sessions as they are read: numbers alone, and each id once."""

    def __init__(self) -> None:
        self.queries, self.documents = Ids("the query"), Ids("a document")
        self.rankers, self.groups = Ids("the ranker"), Ids("the group")
        self.places = array("q")
        self._given: list[bool] | None = None
        self._columns = {name: array("q") for name in ("query", "size", "n_clicks", "n_weights")}
        self._columns |= {name: array("q") for name in ("document", "click", "ranker", "group")}
        self._times, self._weights = array("d"), array("d")

    def add(self, record: dict[str, Any]) -> None:
        """Add a session, or raise an error that says what is wrong with it."""
        try:
            query, documents, clicks = record["query"], record["documents"], record["clicks"]
        except KeyError as error:
            raise ValueError(
                f"a session has query, documents and clicks. The line has no {error}; it has "
                f"{', '.join(list(record)[:10]) or 'nothing'}."
            ) from None
        if type(query) not in _ID_TYPES:
            as_id(query, "the query")
        if type(documents) is not list or not _ID_TYPES.issuperset(map(type, documents)):
            raise ValueError(
                f"'documents' must be a list of ids, which are strings or whole numbers. Got "
                f"{shortened(documents)} instead."
            )
        if type(clicks) is not list or not _INTEGERS.issuperset(map(type, clicks)):
            raise ValueError(
                f"'clicks' must be a list of positions, which are whole numbers from 0. Got "
                f"{shortened(clicks)} instead."
            )
        when, ranker, group, weights = map(record.get, _OPTIONAL)
        given = [when is not None, ranker is not None, group is not None, weights is not None]
        if self._given is not None and given != self._given:
            raise ValueError(_unlike(given, self._given))
        numbers = [*map(self.documents.__getitem__, documents)]
        try:
            positions = array("q", clicks)
        except OverflowError:
            raise ValueError(f"no list has a position {max(clicks, key=abs)}.") from None
        columns = self._columns
        seconds = when if when is None else seconds_of(when)
        if weights is not None:
            if type(weights) is not list or not _NUMBERS.issuperset(map(type, weights)):
                raise ValueError(
                    f"'propensities' must be a list of numbers. Got {shortened(weights)} instead."
                )
            weights = array("d", [min(weight, 2) for weight in weights])
        made_by = None if ranker is None else self.rankers[_id(ranker, "the ranker")]
        kind = None if group is None else self.groups[_id(group, "the group")]
        columns["query"].append(self.queries[query])
        # From here on, nothing can fail: a damaged line says nothing of the others.
        self._given = given
        columns["size"].append(len(numbers))
        columns["document"].fromlist(numbers)
        columns["n_clicks"].append(len(positions))
        columns["click"].extend(positions)
        if seconds is not None:
            self._times.append(seconds)
        if made_by is not None:
            columns["ranker"].append(made_by)
        if kind is not None:
            columns["group"].append(kind)
        if weights is not None:
            columns["n_weights"].append(len(weights))
            self._weights.extend(weights)

    def impressions(self) -> tuple[Integers, Integers]:
        """How many documents each session shows, and the numbers of all of them."""
        return _integers(self._columns["size"]), _integers(self._columns["document"])

    def log(self, damage: Damage, flags: Flags | None = None) -> ClickLog:
        """The log of all sessions but for the damaged ones. Flags take the place of clicks."""
        columns = {name: _integers(values) for name, values in self._columns.items()}
        has_time, has_ranker, has_group, has_weights = self._given or [False] * 4
        sizes = columns["size"]
        if flags is None:
            flags = flags_of(columns["click"], columns["n_clicks"], sizes, damage)
        weights = None
        if has_weights:
            weights = propensities_of(np.array(self._weights), columns["n_weights"], sizes, damage)
        return ClickLog.from_numbers(
            natural_ids(list(self.queries.names)),
            columns["query"],
            offsets_of(sizes),
            natural_ids(list(self.documents.names)),
            columns["document"],
            flags,
            times=np.array(self._times) if has_time else None,
            rankers=_named(self.rankers, columns["ranker"]) if has_ranker else None,
            groups=_named(self.groups, columns["group"]) if has_group else None,
            propensities=weights,
            damage=damage,
        )


def seconds_of(value: Any) -> float:
    """Seconds since 1970 from a number of them, or from a text that says the time.

    A text without a time zone is in UTC.

    Examples
    --------
    >>> seconds_of(7), seconds_of("1970-01-01T00:01Z"), seconds_of("1970-01-01T01:00:00+01:00")
    (7.0, 60.0, 0.0)
    """
    if type(value) in _NUMBERS and abs(value) < 2**63 and math.isfinite(value):
        return float(value)
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"the time must be a number of seconds since 1970, or a text such as "
            f"2026-03-01T12:00:00Z. Got {shortened(value)} instead."
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def write_click_log(log: ClickLog, path: str | PathLike[str]) -> None:
    """Write a log as JSON lines, which `read_click_log` reads.

    A file of that name is replaced once the new one is complete. One that ends in `.gz`, `.bz2` or
    `.xz` is compressed.

    Examples
    --------
    >>> import tempfile
    >>> log = ClickLog.from_sessions(["tea"], [["a", "b"]], [[1]], rankers=["bm25"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_click_log(log, f"{folder}/log.jsonl")
    ...     print(Path(folder, "log.jsonl").read_text(), end="")
    {"query": "tea", "documents": ["a", "b"], "clicks": [1], "ranker": "bm25"}
    """
    if not isinstance(log, ClickLog) or not isinstance(path, str | PathLike):
        raise TypeError(
            f"The order of arguments is write_click_log(log, path): 'log' must be a ClickLog and "
            f"'path' a path. Got a {type(log).__name__} and a {type(path).__name__} instead."
        )
    with atomic_write(path) as plain, compressed(plain, Path(path).suffix) as file:
        for line in _lines(log):
            file.write(line.encode())


def _lines(log: ClickLog) -> Iterator[str]:
    """The text of each session. Ids become text once."""
    queries, documents = (_texts(ids) for ids in (log.query_ids, log.document_ids))
    positions = log.positions.tolist()
    by_session: list[list[str]] = []
    for name, numbers, names in (
        ("ranker", log.rankers, log.ranker_names),
        ("group", log.groups, log.group_names),
    ):
        if numbers is not None:
            texts = [f', "{name}": {json.dumps(one, ensure_ascii=False)}' for one in names]
            by_session.append([texts[number] for number in numbers.tolist()])
    if log.times is not None:
        by_session.append([f', "time": {one:.17g}' for one in log.times.tolist()])
    pairs, clicks = log.pairs.tolist(), log.clicks.tolist()
    weights = None if log.propensities is None else log.propensities.tolist()
    offsets = log.offsets.tolist()
    for session, query in enumerate(log.session_queries.tolist()):
        rows = range(offsets[session], offsets[session + 1])
        shown = ", ".join([documents[pairs[row]] for row in rows])
        clicked = ", ".join([str(positions[row]) for row in rows if clicks[row]])
        more = "".join([column[session] for column in by_session])
        if weights is not None:
            listed = ", ".join([f"{weights[row]:.17g}" for row in rows])
            more += f', "propensities": [{listed}]'
        members = f'"query": {queries[query]}, "documents": [{shown}], "clicks": [{clicked}]{more}'
        yield f"{{{members}}}\n"


def _texts(ids: Any) -> list[str]:
    plain = ids.tolist() if ids.dtype.kind in "iuUT" else ids.astype(str).tolist()
    return [json.dumps(one, ensure_ascii=False) for one in plain]


def _integers(values: array[int]) -> Integers:
    return np.array(values, np.int64)


def _named(ids: Ids, numbers: Integers) -> Named:
    """Names in their order, and the number of each session's."""
    names = sorted(ids.names)
    ranks = {name: rank for rank, name in enumerate(names)}
    return tuple(names), np.array([ranks[name] for name in ids.names], np.int64)[numbers]


def _id(value: Any, what: str) -> Any:
    """An id that may be looked up: true would be taken for 1."""
    return value if type(value) in _ID_TYPES else as_id(value, what)


def _unlike(given: list[bool], first: list[bool]) -> str:
    """What to say of a line that has not the optional members of the first."""
    name = next(
        name for name, one, other in zip(_OPTIONAL, given, first, strict=True) if one != other
    )
    has = given[_OPTIONAL.index(name)]
    return (
        f"the line has {'a' if has else 'no'} {name!r}, and the first line has "
        f"{'none' if has else 'one'}. All sessions of a log need the same members."
    )
