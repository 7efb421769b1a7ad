"""What `read_letor` says about a line that it refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from localrank._kernels import parsing
from localrank._kernels.numbers import MAX_MAGNITUDE
from localrank._kernels.parsing import MAX_FEATURES, MAX_ID_LENGTH

LARGE_LABEL = f"is too large; labels lie between -{MAX_MAGNITUDE:g} and {MAX_MAGNITUDE:g}"
LARGE_VALUE = (
    f"is too large; values lie between -{MAX_MAGNITUDE:g} and {MAX_MAGNITUDE:g} (in float32 "
    f"between -3.4e38 and 3.4e38). Write NULL for a missing value"
)
NOT_UTF_8 = "is not UTF-8; convert the file to UTF-8"
NUL = "the line has a NUL byte; the file is damaged, or is not text in UTF-8"
LONE_RETURN = (
    "the line has a carriage return (CR) inside; lines must end in LF or CRLF. Convert the line "
    "ends, for example with tr '\\r' '\\n'"
)


# How the first lines of other files begin, and what these files are.
_OTHER_KINDS = {
    re.compile(rb"localrank model [0-9]"): "the file is a model that localrank saved, not data",
    re.compile(rb"\s*<(!doctype )?html", re.IGNORECASE): "the file is a web page, not data",
    re.compile(rb"\S+\s+Q0\s+\S+\s+[0-9]+\s+\S+\s+\S+\s*$"): (
        "the file is a TREC run, which has scores and no features; `localrank evaluate` reads it, "
        "and `localrank fuse --table` makes features of several"
    ),
    re.compile(rb"\S+\s+(0|Q0)\s+\S+\s+-?[0-9.]+\s*$"): (
        "the file has TREC judgments and no features; `localrank evaluate` reads it"
    ),
}


def other_kind(line: bytes) -> str | None:
    """The kind of file that has this line, which is not LETOR text. None: unknown."""
    return next((kind for begin, kind in _OTHER_KINDS.items() if begin.match(line)), None)


def shown_token(token: bytes) -> str:
    """A token as an error message shows it: in quotes, at most 40 characters."""
    text = token.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


def unequal(n_columns: Mapping[Path, int], first: int) -> str:
    """What to say of files in which the largest feature ids differ."""
    short, long = (choose(n_columns, key=n_columns.__getitem__) for choose in (min, max))
    return (
        f"{short}: the largest feature id is {n_columns[short] - 1 + first}, but "
        f"{n_columns[long] - 1 + first} in {long.name}; the features between are 0 in all its "
        f"documents. If the files have different features, do not read them together"
    )


def message(status: int, token: bytes, n_features: int | None, first: int = 1) -> str:
    """What is wrong with a token, and what would be right."""
    shown = shown_token(token)
    feature = shown_token(token.partition(b":")[0])[1:-1]
    value = shown_token(token.partition(b":")[2])
    match status:
        case parsing.BAD_LABEL:
            return f"label {shown} is not a finite number; a line looks like '0 qid:1 1:0.5'"
        case parsing.LARGE_LABEL:
            return f"label {shown} {LARGE_LABEL}"
        case parsing.NO_QID:
            after_label = shown if token else "nothing"
            return (
                f"expected a query id like 'qid:7' after the label, found {after_label}. A query "
                f"id may also stand in the comment of every line, like '#qid = 7'. Or a file with "
                f"the same name and .query or .group at its end has the number of lines of each "
                f"query"
            )
        case parsing.SECOND_QID:
            return (
                f"found the query id {shown} after the label; the lines before have it elsewhere, "
                f"and all lines must have it in the same place"
            )
        case parsing.BAD_QID:
            return f"query id in {shown} is empty or damaged; write it like 'qid:7'"
        case parsing.LONG_QUERY_ID:
            return f"query id in {shown} is longer than {MAX_ID_LENGTH} bytes"
        case parsing.LARGE_FEATURE if n_features is None:
            return f"feature id {feature} in {shown} is too large; the limit is {MAX_FEATURES}"
        case parsing.LARGE_FEATURE:
            return (
                f"feature id {feature} in {shown} is too large; n_features is {n_features}, and "
                f"ids start at {first}"
            )
        case parsing.REPEATED_FEATURE:
            return f"feature id {feature} in {shown} occurs twice in the line; once is allowed"
        case parsing.LARGE_VALUE:
            return f"value {value} of feature {int(feature)} {LARGE_VALUE}"
        case parsing.BAD_VALUE:
            return f"value {value} in {shown} is not a finite number; write NULL if it is missing"
        case parsing.LONG_DOCUMENT_ID:
            return f"document id {shown} is longer than {MAX_ID_LENGTH} bytes"
        case _ if b":" not in token:
            return f"expected a feature like '1:0.5', found {shown}"
        case _ if re.fullmatch(rb"-?[0-9]+", token.partition(b":")[0]):
            return f"feature id {feature} in {shown} is too small; ids start at {first}"
        case _:
            return f"feature id {feature!r} in {shown} is not a number; ids start at {first}"
