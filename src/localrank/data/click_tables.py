"""Logs of clicks in tables: a row for each document that was shown."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank.data._checks import checked_ids, natural_ids
from localrank.data._click_damage import CHANGING, GAPS, Bad, Damage, check_bad, propensities_of
from localrank.data._numbered_ids import numbered
from localrank.data._offsets import offsets_of
from localrank.data.click_lines import seconds_of
from localrank.data.click_log import ClickLog, Named
from localrank.data.errors import AdvisedError
from localrank.data.feature_logs._values import as_id
from localrank.data.tables import as_frame, read_file

# Columns that a table may lack.
OPTIONAL = ("time", "ranker", "group", "propensity")


def read_click_table(
    table: Any,
    *,
    session: str = "session",
    query: str = "query",
    document: str = "document",
    position: str = "position",
    click: str = "click",
    time: str | None = None,
    ranker: str | None = None,
    group: str | None = None,
    propensity: str | None = None,
    bad: Bad = "refuse",
) -> ClickLog:
    """Read a log of clicks from a table with a row for each document that was shown.

    Rows may stand in any order. Other columns are not read: no user is kept.

    Parameters
    ----------
    table : path or DataFrame
        A Parquet, CSV or Arrow file, which need the extra `localrank[tables]`, or a DataFrame of
        pandas, polars, pyarrow or any other library that narwhals knows.
    session : str, default="session"
        The column that tells one list of documents from another. It is not kept.
    query, document : str
        Columns of ids.
    position : str, default="position"
        The column of places in the list. They begin at 0 or at 1, and have no gaps.
    click : str, default="click"
        The column of clicks: true and false, or numbers of clicks.
    time, ranker, group, propensity : str or None, default=None
        Columns of what is known of a session, and of the probability that the document was shown
        where it was. None: the column `time`, `ranker`, `group` or `propensity`, if there is one.
        Times are seconds since 1970, texts such as "2026-03-01T12:00:00Z", or moments.
    bad : "refuse" or "drop", default="refuse"
        What to do with an impossible session: a document or a position occurs twice, a position is
        missing, or the session has several queries, rankers or groups. "refuse": an error names the
        session. "drop": leave it out and count it in the log's `left_out`.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame(
    ...     {"visit": [1, 1], "query": "tea", "document": ["b", "a"], "position": [2, 1],
    ...      "click": [True, False]}
    ... )
    >>> log = read_click_table(table, session="visit")
    >>> log.document_ids[log.pairs], log.clicks
    (array(['a', 'b'], dtype='<U1'), array([False,  True]))
    """
    check_bad(bad)
    source = ""
    if isinstance(table, str | PathLike):
        path, source = Path(table), f"{table}: "
        texts = (session, query, document, ranker or "ranker", group or "group")
        table = read_file(path, texts)
    frame = as_frame(table, source)
    try:
        return _log_of(
            frame,
            {"session": session, "query": query, "document": document, "position": position}
            | {"click": click},
            {"time": time, "ranker": ranker, "group": group, "propensity": propensity},
            bad,
        )
    except AdvisedError as error:
        raise error.at(source.removesuffix(": ")) if source else error from None
    except ValueError as error:
        raise ValueError(f"{source}{error}") from None


def _log_of(
    frame: nw.DataFrame[Any], needed: dict[str, str], optional: dict[str, str | None], bad: Bad
) -> ClickLog:
    columns = _columns(frame, needed, optional)
    session_ids, sessions = _ids(columns["session"])
    n_sessions = len(session_ids)
    places = _whole(columns["position"])
    if (base := int(places.min())) not in (0, 1):
        raise ValueError(
            f"the column {needed['position']!r} must begin at 0 or at 1. Its lowest position is "
            f"{base}."
        )
    order = _order(sessions, places)
    sessions, places = sessions[order], places[order] - base
    offsets = offsets_of(np.bincount(sessions, minlength=n_sessions))
    firsts = offsets[:-1]
    damage = Damage(n_sessions, bad, lambda number: f"session {session_ids[number]}")
    counted = np.arange(len(places)) - firsts[sessions]
    damage.found(
        _any(places != counted, sessions, n_sessions),
        GAPS,
        lambda number: (
            f"its positions are {_listed(places[offsets[number] : offsets[number + 1]] + base)}. "
            f"They must count up from {base}, without a gap."
        ),
    )

    def of_sessions(name: str) -> tuple[Array, Integers]:
        ids, numbers = _ids(columns[name])
        numbers = numbers[order]
        damage.found(
            _any(numbers != numbers[firsts][sessions], sessions, n_sessions),
            CHANGING,
            lambda number: f"it has several values in the column {columns[name].name!r}.",
        )
        return ids, numbers[firsts]

    query_ids, queries = of_sessions("query")
    named: dict[str, Named | None] = {"ranker": None, "group": None}
    for name in named.keys() & columns.keys():
        ids, numbers = of_sessions(name)
        names = ids.astype(str).tolist()
        ranks = np.argsort(np.argsort(names))
        named[name] = tuple(sorted(names)), ranks[numbers]
    times = None
    if "time" in columns:
        times = np.minimum.reduceat(_seconds(columns["time"])[order], firsts)
    document_ids, documents = _ids(columns["document"])
    sizes = np.diff(offsets)
    weights = None
    if "propensity" in columns:
        weights = propensities_of(_numbers(columns["propensity"])[order], sizes, sizes, damage)
    return ClickLog.from_numbers(
        query_ids,
        queries,
        offsets,
        document_ids,
        documents[order],
        _flags(columns["click"])[order],
        times=times,
        rankers=named["ranker"],
        groups=named["group"],
        propensities=weights,
        damage=damage,
    )


def _columns(
    frame: nw.DataFrame[Any], needed: dict[str, str], optional: dict[str, str | None]
) -> dict[str, nw.Series[Any]]:
    """The columns by their roles."""
    names: dict[str, str] = dict(needed)
    for role, name in optional.items():
        if name is not None or role in frame.columns:
            names[role] = name or role
    for role, name in names.items():
        if name not in frame.columns:
            listed = ", ".join(map(repr, frame.columns[:20]))
            more = ", ..." if len(frame.columns) > 20 else ""
            raise AdvisedError(
                f"there is no column {name!r}. The columns are {listed}{more}.",
                f"Name the right one with {role}='...'.",
                f"Name the right one with --click-columns {role}=....",
            )
    if not len(frame):
        raise ValueError("the table has no rows.")
    return {role: frame[name] for role, name in names.items()}


def _order(sessions: Integers, places: Integers) -> Any:
    """The rows by session and position; all of them as they are, if that is their order."""
    same = sessions[1:] == sessions[:-1]
    if ((sessions[1:] > sessions[:-1]) | (same & (places[1:] >= places[:-1]))).all():
        return slice(None)
    return np.lexsort((places, sessions))


def _ids(column: nw.Series[Any]) -> tuple[Array, Integers]:
    """The different ids of a column, and the place of each row's."""
    if (missing := column.is_null()).any():
        raise ValueError(
            f"the column {column.name!r} must not have missing values. Row "
            f"{missing.to_list().index(True) + 1} has one."
        )
    if column.dtype in (nw.String, nw.Categorical, nw.Enum):
        # A dictionary numbers texts faster than arrays of them are built.
        known: dict[str, int] = {}
        numbers = [known.setdefault(text, len(known)) for text in column.to_list()]
        for text in known:
            as_id(text, f"an id in the column {column.name!r}")
        return natural_ids(list(known)), np.array(numbers, np.int64)
    return numbered(
        checked_ids(column.to_numpy(), len(column), f"the column {column.name!r}", "row")
    )


def _numbers(column: nw.Series[Any]) -> Floats:
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise ValueError(
            f"the column {column.name!r} must hold numbers. It holds {column.dtype} instead."
        )
    values = np.asarray(column.cast(nw.Float64).to_numpy(), np.float64)
    if (wrong := np.flatnonzero(~np.isfinite(values))).size:
        raise ValueError(
            f"the column {column.name!r} must not have missing or infinite values. Row "
            f"{wrong[0] + 1} has {values[wrong[0]]}."
        )
    return values


def _whole(column: nw.Series[Any]) -> Integers:
    values = _numbers(column)
    if (wrong := np.flatnonzero((values % 1 != 0) | (np.abs(values) >= 2**53))).size:
        raise ValueError(
            f"the column {column.name!r} must hold whole numbers. Row {wrong[0] + 1} has "
            f"{values[wrong[0]]}."
        )
    return values.astype(np.int64)


def _flags(column: nw.Series[Any]) -> Flags:
    values = _numbers(column)
    # A probability or a rate of clicks is no click, however small.
    if (wrong := np.flatnonzero((values < 0) | (values % 1 != 0))).size:
        raise ValueError(
            f"the column {column.name!r} must hold flags or numbers of clicks. Row {wrong[0] + 1} "
            f"has {values[wrong[0]]:g}."
        )
    return values > 0


def _seconds(column: nw.Series[Any]) -> Floats:
    if column.dtype in (nw.Datetime, nw.Date):
        if (missing := column.is_null()).any():
            raise ValueError(
                f"the column {column.name!r} must not have missing values. Row "
                f"{missing.to_list().index(True) + 1} has one."
            )
        return np.asarray(column.dt.timestamp("us").to_numpy(), np.float64) / 1e6
    if column.dtype == nw.String:
        return np.array([seconds_of(text) for text in column.to_list()], np.float64)
    return _numbers(column)


def _any(wrong: Flags, sessions: Integers, n_sessions: int) -> Flags:
    flags = np.zeros(n_sessions, np.bool_)
    flags[sessions[wrong]] = True
    return flags


def _listed(values: Sequence[int] | Integers) -> str:
    return ", ".join(map(str, values[:10])) + (", ..." if len(values) > 10 else "")
