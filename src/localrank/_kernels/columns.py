"""Lines of columns, separated by blanks, to ids and numbers, a block of whole lines at a time."""

from __future__ import annotations

from typing import Any

from localrank._kernels.compilation import kernel
from localrank._kernels.instructions import byte_at
from localrank._kernels.numbers import NUMBER, inlined, parse_number

NEWLINE, RETURN = (ord(c) for c in "\n\r")
# The columns of a line that hold ids: the query's and the document's.
QUERY, DOCUMENT = 0, 2

# Places in the state that caller and kernel share.
POSITION, LINE, ROW, N_FIXES = range(4)
STATE_SIZE = 4


@inlined
def _is_blank(c: int) -> bool:
    return c == 32 or c == 9 or c == 11 or c == 12


@inlined
def _in_token(c: int) -> bool:
    # What Python's `split` leaves together: also control characters that are no white space.
    return c > 32 or (c != 0 and c != 32 and not 9 <= c <= 13)


@kernel
def read_columns(
    stop: int, state: Any, n_columns: int, number: int, max_line: int,
    values: Any, lines: Any, queries: Any, query_begins: Any,
    documents: Any, document_begins: Any, fixes: Any,
) -> bool:  # fmt: skip
    """Read lines from state[POSITION] to `stop`, where the last of them ends with a newline.

    False: the line at state[POSITION] has another number of columns, is too long, or has a NUL
    byte or a lone carriage return; what was read before it is complete. Bytes around the lines
    may be read (`parsing.MARGIN`).

    A row takes `2 * n_columns` bytes at least, which bounds the rows of `values`, `lines`,
    `query_begins`, `document_begins` (one place more) and `fixes`. Ids take no more bytes than
    the lines. A fix is the row, the line, the begin and the end of a number left to Python.
    """
    line, row, n_fixes, p = state[LINE], 0, 0, state[POSITION]
    query_end = document_end = 0
    while p < stop:
        begin = p
        n_query, n_document = query_end, document_end
        column = 0
        fix = False
        while True:
            while _is_blank(byte_at(p)):
                p += 1
            token, c = p, byte_at(p)
            if not _in_token(c):
                break
            if column == QUERY:
                while _in_token(c):
                    queries[n_query] = c
                    n_query += 1
                    p += 1
                    c = byte_at(p)
            elif column == DOCUMENT:
                while _in_token(c):
                    documents[n_document] = c
                    n_document += 1
                    p += 1
                    c = byte_at(p)
            else:
                while _in_token(c):
                    p += 1
                    c = byte_at(p)
                if column == number:
                    outcome, value, end = parse_number(token)
                    fix = outcome != NUMBER or end != p
                    values[row] = value
                    if fix:
                        fixes[n_fixes, 0], fixes[n_fixes, 1] = row, line
                        fixes[n_fixes, 2], fixes[n_fixes, 3] = token, p
            column += 1
        while byte_at(p) == RETURN:
            p += 1
        good = byte_at(p) == NEWLINE and (column == n_columns or column == 0)
        if not good or p + 1 - begin > max_line:
            state[POSITION], state[LINE], state[ROW], state[N_FIXES] = begin, line, row, n_fixes
            return False
        p += 1
        if column > 0:
            lines[row] = line
            row += 1
            n_fixes += fix
            query_end, document_end = n_query, n_document
            query_begins[row], document_begins[row] = query_end, document_end
        line += 1
    state[POSITION], state[LINE], state[ROW], state[N_FIXES] = p, line, row, n_fixes
    return True
