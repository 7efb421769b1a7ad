"""What `read_letor` says about a line that it refuses."""

from __future__ import annotations

import re

from localrank.kernels import parsing
from localrank.kernels.numbers import MAX_MAGNITUDE
from localrank.kernels.parsing import MAX_FEATURES, MAX_ID_LENGTH

LARGE_LABEL = f"is too large; labels lie between -{MAX_MAGNITUDE:g} and {MAX_MAGNITUDE:g}"
LARGE_VALUE = (
    f"is too large; values lie between -{MAX_MAGNITUDE:g} and {MAX_MAGNITUDE:g} (in float32 "
    f"between -3.4e38 and 3.4e38). Write NULL for a missing value"
)
NOT_UTF_8 = "is not UTF-8; convert the file to UTF-8"
NUL = "NUL byte; the file is damaged or is no text in UTF-8"
LONE_RETURN = (
    "carriage return (CR) inside a line; lines end in LF or CRLF: convert the line ends, "
    "for example with tr '\\r' '\\n'"
)


def shown_token(token: bytes) -> str:
    """A token as it stands in an error message."""
    text = token.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


def message(status: int, token: bytes, n_features: int | None, first: int = 1) -> str:
    """What is wrong with a token, and what would be right."""
    shown = shown_token(token)
    feature = shown_token(token.partition(b":")[0])[1:-1]
    value = shown_token(token.partition(b":")[2])
    match status:
        case parsing.BAD_LABEL:
            return f"label {shown} is not a finite number; a line begins like '0 qid:1 1:0.5'"
        case parsing.LARGE_LABEL:
            return f"label {shown} {LARGE_LABEL}"
        case parsing.NO_QID:
            found = shown if token else "nothing"
            return (
                f"found {found} after the label; the query id is needed there, like 'qid:7', or in "
                f"the comment of every line, like '#qid = 7', or the numbers of lines of the "
                f"queries in a file with the same name and .query or .group at its end"
            )
        case parsing.SECOND_QID:
            return f"found {shown}; in the lines before, the query id is not after the label"
        case parsing.BAD_QID:
            return f"query id in {shown} is empty or damaged; it should be like 'qid:7'"
        case parsing.LONG_QUERY_ID:
            return f"query id in {shown} is longer than {MAX_ID_LENGTH} bytes"
        case parsing.LARGE_FEATURE if n_features is None:
            return f"feature id {feature} in {shown}; the largest allowed is {MAX_FEATURES}"
        case parsing.LARGE_FEATURE:
            return f"feature id {feature} in {shown}; 'n_features' is {n_features}"
        case parsing.REPEATED_FEATURE:
            return f"feature id {feature} in {shown} is there twice; each may be once in a line"
        case parsing.LARGE_VALUE:
            return f"value {value} of feature {int(feature)} {LARGE_VALUE}"
        case parsing.BAD_VALUE:
            return f"value {value} in {shown} is not a finite number, nor NULL for a missing one"
        case parsing.LONG_DOCUMENT_ID:
            return f"document id {shown} is longer than {MAX_ID_LENGTH} bytes"
        case _ if b":" not in token:
            return f"found {shown} where a feature like '1:0.5' is expected"
        case _ if re.fullmatch(rb"-?[0-9]+", token.partition(b":")[0]):
            return f"feature id {feature} in {shown}; ids start at {first}"
        case _:
            return f"feature id {feature!r} in {shown} is not a number; ids start at {first}"
