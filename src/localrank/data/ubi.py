"""User Behavior Insights, by which OpenSearch and others record searches and clicks."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from localrank._base.arrays import Flags, Integers
from localrank.data._click_damage import NOT_SHOWN, UNKNOWN_QUERIES, WITHOUT_OBJECT, Bad, Damage
from localrank.data._numbered_ids import numbered_keys
from localrank.data.click_lines import Lines, Sessions
from localrank.data.click_log import ClickLog
from localrank.data.feature_logs._values import as_id

# Names that versions of the schema have given to the documents that were returned.
HITS = ("query_response_hit_ids", "query_response_object_ids", "query_response_objects_ids")
# What precedes a document in the body of a bulk request.
_BULK = ("index", "create")
# Numbers of seconds since 1970 are smaller, those of milliseconds larger, from 1973 on.
_MILLISECONDS = 1e11


def read_ubi(
    path_or_paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    actions: Sequence[str] = ("click",),
    bad: Bad = "refuse",
) -> ClickLog:
    r"""Read searches and clicks that User Behavior Insights has recorded, such as in OpenSearch.

    The files have JSON lines in any order: the documents of the indexes `ubi_queries` and
    `ubi_events`, as they are, as hits with `_source`, or as the body of a bulk request. A session
    is a search with its `query_id`. It shows the `query_response_hit_ids` to `user_query`, at its
    `timestamp`. A click is an event with this `query_id` on `event_attributes.object.object_id`.
    The place of a document is its place among the hits. `client_id` and other members are not
    read: no user is kept.

    Clicks of searches that are not in the files, and clicks on no document, are left out and
    counted in the log's `left_out`.

    Parameters
    ----------
    path_or_paths : path or sequence of paths
        Files of queries and of events. Files that end in `.gz`, `.bz2` or `.xz` are decompressed.
    actions : sequence of str, default=("click",)
        Values of `action_name` that count as a click.
    bad : "refuse" or "drop", default="refuse"
        What to do with an impossible search: a click is on a document that it did not return, it
        returned a document twice, or its `query_id` is that of an earlier search. "refuse": an
        error names the line. "drop": leave it out and count it. A search without hits is always
        left out and counted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> query = '{"query_id": "1", "user_query": "tea", "query_response_hit_ids": ["a", "b"]}'
    >>> event = '{"query_id": "1", "action_name": "click", "event_attributes": %s}'
    >>> event %= '{"object": {"object_id": "b"}}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "ubi.ndjson")
    ...     _ = path.write_text(f"{query}\n{event}\n")
    ...     log = read_ubi(path)
    >>> log.query_ids, log.document_ids[log.pairs], log.clicks
    (array(['tea'], dtype='<U3'), array(['a', 'b'], dtype='<U1'), array([False,  True]))
    """
    if isinstance(actions, str):
        raise ValueError(
            f"The 'actions' argument of read_ubi must be a sequence of names. Got the string "
            f"{actions!r} instead."
        )
    lines, sessions, clicks = Lines(path_or_paths, bad), Sessions(), _Clicks(actions)
    searches: dict[str, int] = {}
    for record in lines:
        try:
            body = unwrapped(record)
            if body is None:
                continue
            if "action_name" in body:
                clicks.add(body, sessions, lines.place)
                continue
            search = as_id(body.get("query_id"), "the query_id of a search")
            if search in searches:
                raise ValueError(f"the query_id {search!r} is that of an earlier search, too.")
            sessions.add(_search(body))
        except ValueError as error:
            lines.refuse(error)
        else:
            searches[search] = len(sessions.places)
            sessions.places.append(lines.place)
    damage = lines.damage(sessions.places)
    if not clicks.actions:
        raise ValueError(
            f"{lines.paths[0]} has searches and no events. Give the events of ubi_events, too."
        )
    if not clicks.places:
        known = ", ".join(f"{name!r} ({n:,})" for name, n in clicks.actions.most_common(10))
        raise ValueError(
            f"{lines.paths[0]} has no event of the action {' or '.join(map(repr, actions))} on a "
            f"document. Its actions are {known}. Name those that are clicks."
        )
    return sessions.log(damage, clicks.flags(searches, sessions, damage, lines))


def unwrapped(record: dict[str, Any]) -> dict[str, Any] | None:
    """The document of a line; None: the line announces one of a bulk request.

    Examples
    --------
    >>> unwrapped({"_id": "7", "_source": {"query_id": "1"}}), unwrapped({"index": {}})
    ({'query_id': '1'}, None)
    """
    inner = record.get("_source")
    if isinstance(inner, dict):
        return inner
    if len(record) == 1 and isinstance(record.get(next(iter(record))), dict):
        return None if next(iter(record)) in _BULK else record
    return record


def is_ubi(body: dict[str, Any]) -> bool:
    """Whether a document is of `ubi_queries` or of `ubi_events`."""
    return "query_id" in body and any(name in body for name in ("action_name", "user_query", *HITS))


def _search(body: dict[str, Any]) -> dict[str, Any]:
    """A search as a session without clicks."""
    if not is_ubi(body):
        raise ValueError(
            f"the line is neither a search, with user_query and {HITS[0]}, nor an event, with "
            f"action_name. It has {', '.join(list(body)[:10]) or 'nothing'}."
        )
    hits: Any = next((body[name] for name in HITS if body.get(name) is not None), [])
    when: Any = body.get("timestamp")
    if isinstance(when, int | float) and abs(when) >= _MILLISECONDS:
        when /= 1000
    return {"query": body.get("user_query"), "documents": hits, "clicks": [], "time": when}


class _Clicks:
    """Events on documents, by the id of their search."""

    def __init__(self, actions: Sequence[str]) -> None:
        self.actions = Counter[str]()
        self.places = array("q")
        self._wanted = frozenset(actions)
        self._searches, self._documents = list[str](), array("q")
        self._n_without_object = 0

    def add(self, body: dict[str, Any], sessions: Sessions, place: int) -> None:
        """Add an event, if it is a click on a document."""
        action = as_id(body["action_name"], "the action_name")
        self.actions[action] += 1
        if action not in self._wanted:
            return
        attributes = body.get("event_attributes")
        thing = attributes.get("object") if isinstance(attributes, dict) else None
        document = thing.get("object_id") if isinstance(thing, dict) else None
        if document is None:
            self._n_without_object += 1
            return
        as_id(document, "the object_id")
        search = body.get("query_id")
        # Events of other pages have no search.
        self._searches.append("" if search is None else as_id(search, "the query_id of an event"))
        self._documents.append(sessions.documents[document])
        self.places.append(place)

    def flags(
        self, searches: dict[str, int], sessions: Sessions, damage: Damage, lines: Lines
    ) -> Flags:
        """Which impressions were clicked."""
        found = np.array([searches.get(search, -1) for search in self._searches], np.int64)
        known = np.flatnonzero(found >= 0)
        for fault, n in (
            (UNKNOWN_QUERIES, len(found) - len(known)),
            (WITHOUT_OBJECT, self._n_without_object),
        ):
            if n:
                damage.counts[fault] = n
        if not known.size:
            raise ValueError(
                f"{lines.name(self.places[0])}: none of the {len(found):,} clicks has the query_id "
                f"of a search in the files."
            )
        sizes, shown = sessions.impressions()
        documents, clicked = np.array(self._documents, np.int64)[known], found[known]
        rows = _rows_shown(sizes, shown, clicked, documents)
        missing = np.flatnonzero((rows < 0) & (sizes[clicked] > 0))
        names = list(sessions.documents.names)

        def said(click: int) -> str:
            place = lines.name(self.places[known[click]])
            return f"the click on {names[documents[click]]!r} ({place}) is on none of its hits"

        if missing.size == known.size:
            search = lines.name(sessions.places[clicked[0]])
            raise ValueError(
                f"{search}: {said(0)}, and so are all {known.size:,} clicks. The ids of hits and "
                f"of objects must be of one kind: search with ext.ubi.object_id_field."
            )
        wrong = np.zeros(len(sizes), np.bool_)
        wrong[clicked[missing]] = True
        damage.found(
            wrong,
            NOT_SHOWN,
            lambda session: f"{said(int(missing[clicked[missing] == session][0]))}.",
        )
        flags = np.zeros(len(shown), np.bool_)
        flags[rows[rows >= 0]] = True
        return flags


def _rows_shown(
    sizes: Integers, shown: Integers, sessions: Integers, documents: Integers
) -> Integers:
    """The impression of a document in a session, for each pair of them; -1: it was not shown.

    Examples
    --------
    >>> sizes, shown = np.array([2, 1]), np.array([5, 6, 5])
    >>> _rows_shown(sizes, shown, np.array([1, 0, 1]), np.array([5, 6, 6]))
    array([ 2,  1, -1])
    """
    n_documents = 1 + max(int(shown.max(initial=0)), int(documents.max(initial=0)))
    keys = np.repeat(np.arange(len(sizes)), sizes) * n_documents + shown
    known, numbers = numbered_keys(np.concatenate([keys, sessions * n_documents + documents]))
    rows = np.full(len(known), -1)
    # A document that is shown twice has two rows. Its session is left out, whichever is taken.
    rows[numbers[: len(keys)]] = np.arange(len(keys))
    return rows[numbers[len(keys) :]]
