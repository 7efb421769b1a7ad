"""Logs of clicks read line by line, as slowly as they are described."""

import json
import math
from datetime import UTC, datetime


class BadError(Exception):
    """The line or the session cannot be."""


def read_lines(text):
    """The sessions of a text of JSON lines, how many lines cannot be read, and damaged sessions.

    A session is the query, the documents, the clicked positions, and the optional members.
    """
    sessions, counts, first = [], {}, None
    for line in text.split("\n"):
        if not line.strip():
            continue
        try:
            session = session_of(line)
            given = [session[name] is not None for name in ("time", "ranker", "group")]
            given.append(session["propensities"] is not None)
            if first is None:
                first = given
            if given != first:
                raise BadError
        except BadError:
            counts["lines that cannot be read"] = counts.get("lines that cannot be read", 0) + 1
            continue
        fault = fault_of(session)
        if fault is None:
            sessions.append(session)
        else:
            counts[fault] = counts.get(fault, 0) + 1
    return sessions, counts


def session_of(line):
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise BadError from None
    if not isinstance(record, dict):
        raise BadError
    if not {"query", "documents", "clicks"} <= record.keys():
        raise BadError
    documents, clicks = record["documents"], record["clicks"]
    if not isinstance(documents, list) or not isinstance(clicks, list):
        raise BadError
    for click in clicks:
        if type(click) is not int or not -(2**63) <= click < 2**63:
            raise BadError
    weights = record.get("propensities")
    if weights is not None:
        if not isinstance(weights, list):
            raise BadError
        if any(type(weight) not in (int, float) for weight in weights):
            raise BadError
    return {
        "query": id_of(record["query"]),
        "documents": [id_of(one) for one in documents],
        "clicks": sorted(set(clicks)),
        "time": None if record.get("time") is None else seconds_of(record["time"]),
        "ranker": None if record.get("ranker") is None else id_of(record["ranker"]),
        "group": None if record.get("group") is None else id_of(record["group"]),
        "propensities": weights,
    }


def id_of(value):
    if type(value) is int:
        return str(value)
    if type(value) is not str or value == "" or "\0" in value:
        raise BadError
    if any(0xD800 <= ord(letter) < 0xE000 for letter in value):
        raise BadError
    return value


def seconds_of(value):
    if type(value) in (int, float):
        if not math.isfinite(value) or abs(value) >= 2**63:
            raise BadError
        return float(value)
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise BadError from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def fault_of(session):
    documents, weights = session["documents"], session["propensities"]
    if any(not 0 <= click < len(documents) for click in session["clicks"]) and documents:
        return "sessions with a click on something that was not shown"
    if weights is not None and (
        len(weights) != len(documents) or not all(0 < weight <= 1 for weight in weights)
    ):
        return "sessions with wrong propensities"
    if not documents:
        return "sessions without a document"
    if len(set(documents)) < len(documents):
        return "sessions with a document twice"
    return None
