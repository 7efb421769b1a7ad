"""LETOR text to arrays, a block of whole lines at a time.

The common token is predicted, not searched: in a dense row the text after a value is ` 17:` when
the last feature was 16. What is not common goes the long way round.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank._kernels.instructions import (
    blanks_at,
    byte_at,
    line_ends_at,
    trailing_zeros,
    word_at,
)
from localrank._kernels.numbers import (
    MAX_MAGNITUDE,
    NINE,
    NO_NUMBER,
    NUMBER,
    UNSURE,
    ZERO,
    inlined,
    inner_kernel,
    kernel,
    parse_number,
    plain_number,
)

NEWLINE, RETURN, HASH, COLON, EQUALS = (ord(c) for c in "\n\r#:=")

MAX_FEATURES = 100_000
# Of a query or document id, in bytes.
MAX_ID_LENGTH = 1_000

# The text lies in a buffer that may be read this far before its begin and past its end.
MARGIN = 128

# What `parse_lines` returns. The first stand for a need: met by the caller, who calls again.
DONE, NEED_ROWS, NEED_COLUMNS, NEED_FIXES = range(4)
# The others for an error at the position state[TOKEN].
BAD_LABEL, LARGE_LABEL, NO_QID, BAD_QID, LONG_QUERY_ID = range(4, 9)
BAD_FEATURE, LARGE_FEATURE, REPEATED_FEATURE, BAD_VALUE, LARGE_VALUE = range(9, 14)
LONG_DOCUMENT_ID, NUL_BYTE, LONE_RETURN, SECOND_QID = range(14, 18)

# Places in the state that caller and kernel share.
POSITION, LINE, ROW, N_RUNS, ID_BYTES, LAST_ID, N_FIXES = range(7)
LARGEST_FEATURE, DOCUMENT_BYTES, N_DOCUMENT_IDS, NEEDED, TOKEN, STAMP = range(7, 13)
FIRST_FEATURE, QUERY_PLACE, DOCUMENT_PLACE, N_FIRST_WORDS = range(13, 17)
STATE_SIZE = 17

# Where a file has its query ids: after the label, behind the `#`, or not in itself.
AFTER_LABEL, IN_COMMENT, NOT_IN_FILE = range(3)
# Where a file has its document ids: its first document tells. After `docid =`, or as the first
# words of comments. Both in one file: nowhere.
UNKNOWN, AFTER_DOCID, FIRST_WORD, BOTH = range(4)

# Columns of a fix other than features: what Python still has to put into the row or to check.
FIX_LABEL, FIX_DOCUMENT_ID = -1, -2

_U = ord("U")
_QID = int.from_bytes(b"qid:", "little")
_DOCID = int.from_bytes(b"docid", "little")
_BARE_QID = int.from_bytes(b"qid", "little")
_MISSING = tuple(int.from_bytes(word, "little") for word in (b"NULL", b"nan", b"NaN"))
_NULL, _SMALL_NAN, _NAN = _MISSING
_LOW_3, _LOW_4, _LOW_5 = np.uint64(2**24 - 1), np.uint64(2**32 - 1), np.uint64(2**40 - 1)


@inlined
def _is_blank(c: int) -> bool:
    return c == 32 or c == 9 or c == 11 or c == 12


@inlined
def _ends_data(c: int) -> bool:
    return c in (NEWLINE, HASH, RETURN)


@inlined
def _ends_token(c: int) -> bool:
    return _is_blank(c) or _ends_data(c)


@inlined
def _skip_blanks(p: int) -> int:
    while _is_blank(byte_at(p)):
        p += 1
    return p


@inlined
def _is_missing(p: int) -> bool:
    word = np.int64(word_at(p) & _LOW_4)
    if word == _NULL:
        return _ends_token(byte_at(p + 4))
    word &= 0xFFFFFF
    return word in (_SMALL_NAN, _NAN) and _ends_token(byte_at(p + 3))


@inlined
def _fix(state: Any, fixes: Any, column: int, begin: int, end: int) -> None:
    n = state[N_FIXES]
    fixes[n, 0], fixes[n, 1], fixes[n, 2] = state[ROW], column, state[LINE]
    fixes[n, 3], fixes[n, 4] = begin, end
    state[N_FIXES] = n + 1


@inner_kernel
def _fail(state: Any, status: int, token: int) -> int:
    state[TOKEN] = token
    return status


@inlined
def _parse_query(state: Any, runs: Any, ids: Any, token: int, first: int) -> int:
    """Read the query id from `first` on; errors are at `token`."""
    p = first
    last = state[LAST_ID]
    same = state[N_RUNS] > 0
    while byte_at(p) > 32 and byte_at(p) != HASH:
        same = same and byte_at(p) == ids[last + p - first]
        p += 1
    if p == first or not _ends_token(byte_at(p)):
        return _fail(state, BAD_QID, token)
    if p - first > MAX_ID_LENGTH:
        return _fail(state, LONG_QUERY_ID, token)
    if not same or ids[last + p - first] != NEWLINE:
        run, used = state[N_RUNS], state[ID_BYTES]
        runs[run, 0], runs[run, 1] = state[ROW], state[LINE]
        for i in range(p - first):
            ids[used + i] = byte_at(first + i)
        ids[used + p - first] = NEWLINE
        state[N_RUNS], state[LAST_ID], state[ID_BYTES] = run + 1, used, used + p - first + 1
    state[POSITION] = p
    return DONE


@inner_kernel
def _parse_head(state: Any, labels: Any, runs: Any, ids: Any, fixes: Any) -> int:
    """Read the label, and the query id where it follows."""
    begin = state[POSITION]
    outcome, value, p = parse_number(begin)
    if outcome == NO_NUMBER or not _ends_token(byte_at(p)):
        return _fail(state, BAD_LABEL, begin)
    if abs(value) > MAX_MAGNITUDE:
        return _fail(state, LARGE_LABEL, begin)
    if outcome == UNSURE:
        _fix(state, fixes, FIX_LABEL, begin, p)
    labels[state[ROW]] = value
    state[POSITION] = p
    p = _skip_blanks(p)
    if np.int64(word_at(p) & _LOW_4) != _QID:
        return DONE if state[QUERY_PLACE] != AFTER_LABEL else _fail(state, NO_QID, p)
    if state[QUERY_PLACE] != AFTER_LABEL:
        return _fail(state, SECOND_QID, p)
    return _parse_query(state, runs, ids, p, p + 4)


@inner_kernel
def _parse_features(
    state: Any,
    features: Any,
    width: int,
    limit: int,
    prefixes: int,
    seen: Any,
    fixes: Any,
) -> int:
    """Read the features of a line, up to its comment or end.

    However often the line is read, it leaves one fix for each feature at most.
    """
    begin = p = state[POSITION]
    n_fixes = state[N_FIXES]
    row_begin = state[ROW] * width
    column = needed = last = 0
    careful = False
    while True:
        # The blanks not yet passed among the 64 bytes from `base`: where the next tokens end.
        base, blanks = p + 1 - 64, 0
        while column < width:
            prefix = prefixes + 24 * column
            if (word_at(p) ^ word_at(prefix)) & word_at(prefix + 8):
                break
            if blanks == 0:
                base += 64
                blanks = blanks_at(base)
            end = base + trailing_zeros(blanks)
            blanks &= blanks - 1
            success, value = plain_number(p + np.int64(word_at(prefix + 16)), end)
            if not success:
                break
            features[np.uint64(row_begin + column)] = value
            column += 1
            last = column
            p = end
        token = p = _skip_blanks(p)
        if _ends_data(byte_at(p)):
            break
        feature = 0
        while ZERO <= byte_at(p) <= NINE:
            feature = min(10 * feature + (byte_at(p) - ZERO), MAX_FEATURES + 1)
            p += 1
        # From here on its place in the row, counted from 1.
        feature += 1 - state[FIRST_FEATURE]
        if p == token or feature == 0 or byte_at(p) != COLON:
            return _fail(state, BAD_FEATURE, token)
        if feature > limit:
            return _fail(state, LARGE_FEATURE, token)
        p += 1
        value_begin = p
        if _is_missing(p):
            outcome, value = NUMBER, np.nan
            p += 4 if byte_at(p + 1) == _U else 3
        else:
            outcome, value, p = parse_number(p)
            if outcome == NO_NUMBER or not _ends_token(byte_at(p)):
                return _fail(state, BAD_VALUE, token)
        if feature > width:
            needed = max(needed, feature)
            continue
        if feature <= last and not careful:
            # Out of order: begin the line again, now marking each feature.
            careful = True
            state[N_FIXES] = n_fixes
            state[STAMP] += 1
            p = begin
            column = width
            continue
        if careful:
            if seen[feature - 1] == state[STAMP]:
                return _fail(state, REPEATED_FEATURE, token)
            seen[feature - 1] = state[STAMP]
        else:
            column = feature
        last = feature
        features[row_begin + feature - 1] = value
        # As stored: what float32 cannot hold has become an infinity.
        if abs(features[row_begin + feature - 1]) > MAX_MAGNITUDE:
            return _fail(state, LARGE_VALUE, token)
        if outcome == UNSURE:
            _fix(state, fixes, feature - 1, value_begin, p)
        state[LARGEST_FEATURE] = max(state[LARGEST_FEATURE], feature)
    if needed:
        state[NEEDED] = needed
        return NEED_COLUMNS
    state[LARGEST_FEATURE] = max(state[LARGEST_FEATURE], last)
    state[POSITION] = p
    return DONE


@inlined
def _add_document(state: Any, documents: Any, sizes: Any, first: int, size: int) -> None:
    used = state[DOCUMENT_BYTES]
    for i in range(size):
        documents[used + i] = byte_at(first + i)
    documents[used + size] = NEWLINE
    sizes[state[ROW]] = size
    state[DOCUMENT_BYTES] = used + size + 1


@inner_kernel
def _parse_first_word(state: Any, documents: Any, sizes: Any, first: int) -> None:
    """Read the first word of a comment: printable ASCII, and not the name in `name = value`."""
    p = first
    while 32 < byte_at(p) < 127 and byte_at(p) != EQUALS:
        p += 1
    ends = _is_blank(byte_at(p)) or byte_at(p) == NEWLINE or byte_at(p) == RETURN
    is_id = ends and 0 < p - first <= MAX_ID_LENGTH and byte_at(first) != HASH
    if is_id and byte_at(_skip_blanks(p)) != EQUALS:
        _add_document(state, documents, sizes, first, p - first)
        state[N_FIRST_WORDS] += 1
        state[DOCUMENT_PLACE] = FIRST_WORD
    elif state[DOCUMENT_PLACE] == UNKNOWN:
        state[DOCUMENT_PLACE] = AFTER_DOCID


@inner_kernel
def _parse_comment(state: Any, documents: Any, sizes: Any, runs: Any, ids: Any, fixes: Any) -> int:
    """Read the query id where it stands in comments, and the document id where there is one."""
    p = _skip_blanks(state[POSITION] + 1)
    if state[QUERY_PLACE] == IN_COMMENT:
        token = p
        if np.int64(word_at(p) & _LOW_3) != _BARE_QID:
            return _fail(state, NO_QID, token)
        p = _skip_blanks(p + 3)
        if byte_at(p) != EQUALS and byte_at(p) != COLON:
            return _fail(state, NO_QID, token)
        status = _parse_query(state, runs, ids, token, _skip_blanks(p + 1))
        if status != DONE:
            return status
        p = _skip_blanks(state[POSITION])
    first = 0
    if np.int64(word_at(p) & _LOW_5) == _DOCID:
        equals = _skip_blanks(p + 5)
        if byte_at(equals) == EQUALS:
            first = _skip_blanks(equals + 1)
    place = state[DOCUMENT_PLACE]
    if first == 0:
        if place in (UNKNOWN, FIRST_WORD):
            _parse_first_word(state, documents, sizes, p)
        return DONE
    if place != AFTER_DOCID:
        state[DOCUMENT_PLACE] = AFTER_DOCID if place == UNKNOWN else BOTH
    p = first
    ascii_only = True
    while not _is_blank(byte_at(p)) and byte_at(p) != NEWLINE and byte_at(p) != RETURN:
        ascii_only = ascii_only and byte_at(p) < 128
        p += 1
    size = p - first
    if size == 0:
        return DONE
    if size > MAX_ID_LENGTH:
        return _fail(state, LONG_DOCUMENT_ID, first)
    if not ascii_only:
        _fix(state, fixes, FIX_DOCUMENT_ID, first, p)
    _add_document(state, documents, sizes, first, size)
    state[N_DOCUMENT_IDS] += 1
    return DONE


@kernel
def parse_lines(
    stop: int,
    state: Any,
    capacity: int,
    features: Any,
    width: int,
    limit: int,
    labels: Any,
    documents: Any,
    sizes: Any,
    prefixes: int,
    seen: Any,
    runs: Any,
    ids: Any,
    fixes: Any,
) -> int:
    """Read lines from state[POSITION] to `stop`, where the last of them ends with a newline.

    A line is taken over as a whole: on a need or an error, position and row are still those of
    its begin, and reading it again does no harm. What is written per line has a bound: a row of
    `features` (of `width` places), `labels` and `sizes`, which hold `capacity` rows; a row of
    `runs`, of which a line fills 8 bytes of text at least; in `ids` and `documents` an id and a
    newline, less than the line; in `fixes` one row per feature, label and document id.
    """
    while state[POSITION] < stop:
        begin = state[POSITION]
        n_fixes = state[N_FIXES]
        p = _skip_blanks(begin)
        state[POSITION] = p
        has_document = not _ends_data(byte_at(p))
        if has_document:
            status = DONE
            if state[ROW] >= capacity:
                status = NEED_ROWS
            elif n_fixes + width + 2 > len(fixes):
                status = NEED_FIXES
            if status == DONE:
                status = _parse_head(state, labels, runs, ids, fixes)
            if status == DONE:
                status = _parse_features(state, features, width, limit, prefixes, seen, fixes)
            if status == DONE and byte_at(state[POSITION]) == HASH:
                status = _parse_comment(state, documents, sizes, runs, ids, fixes)
            elif status == DONE and state[QUERY_PLACE] == IN_COMMENT:
                status = _fail(state, NO_QID, state[POSITION])
            elif status == DONE and state[DOCUMENT_PLACE] == UNKNOWN:
                state[DOCUMENT_PLACE] = AFTER_DOCID
            if status != DONE:
                state[POSITION] = begin
                state[N_FIXES] = n_fixes
                return status
        p = state[POSITION]
        ends = line_ends_at(p)
        while ends == 0:
            p += 64
            ends = line_ends_at(p)
        p += trailing_zeros(ends)
        token = p
        while byte_at(p) == RETURN:
            p += 1
        if byte_at(p) != NEWLINE:
            state[POSITION] = begin
            return _fail(state, NUL_BYTE if byte_at(token) == 0 else LONE_RETURN, token)
        state[POSITION] = p + 1
        state[LINE] += 1
        state[ROW] += has_document
    return DONE


@kernel
def respace(values: Any, n_rows: int, width: int, new_width: int) -> None:
    """Move rows laid end to end so that each has `new_width` places, the new ones zero."""
    kept = min(width, new_width)
    for i in range(n_rows):
        # Towards the end from the last row on, towards the begin from the first.
        row = n_rows - 1 - i if new_width > width else i
        for step in range(kept):
            column = kept - 1 - step if new_width > width else step
            values[row * new_width + column] = values[row * width + column]
        for column in range(kept, new_width):
            values[row * new_width + column] = 0


@kernel
def spread_letters(text: Any, sizes: Any, letters: Any) -> None:
    """Fill each row of `letters` with a string of `text`, where a newline follows each.

    Of ASCII characters; `sizes` are the lengths, none above the width of `letters`.
    """
    begin = 0
    for row in range(len(sizes)):
        for i in range(sizes[row]):
            letters[row, i] = text[begin + i]
        begin += sizes[row] + 1


def feature_prefixes(n_features: int, first: int = 1) -> NDArray[np.uint64]:
    r"""For each feature the bytes ` id:` as a word, the mask of those bytes, and their number.

    Ids are counted from `first`, which is 1 or 0.

    Examples
    --------
    >>> word, mask, size = feature_prefixes(12)[-3:].tolist()
    >>> word.to_bytes(8, "little"), hex(mask), size
    (b' 12:\x00\x00\x00\x00', '0xffffffff', 4)
    """
    texts = [b" %d:" % feature for feature in range(first, first + n_features)]
    rows = [(int.from_bytes(t, "little"), 2 ** (8 * len(t)) - 1, len(t)) for t in texts]
    return np.array(rows, dtype=np.uint64).ravel()
