"""Strict and slow rules for tables, to compare the fast reader with: a cell at a time."""

import math
import re

CELL = re.compile(r'"((?:[^"]|"")*)"|([^",\r\n]*)')
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
NAN = re.compile(r"[+-]?nan(\([0-9A-Za-z_]*\))?", re.IGNORECASE)
UNNAMED = re.compile(r"\s*|Unnamed: [0-9]+(_level_[0-9]+)?|__index_level_[0-9]+__")
MISSING = {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"}
MISSING |= {"1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"}
TRUTHS = {"1": 1.0, "true": 1.0, "True": 1.0, "TRUE": 1.0}
TRUTHS |= {"0": 0.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}


class RefusedError(ValueError):
    """The table is wrong."""


def rows_of(text):
    """The rows of a text table as lists of pairs: what a cell holds, and whether in quotes."""
    rows, row, place = [], [], 0
    text = text.removeprefix("\ufeff")
    while place < len(text):
        if not row and text[place] in "\r\n":
            # An empty line is no row.
            place += 1
            continue
        match = CELL.match(text, place)
        quoted = match[1] is not None
        row.append((match[1].replace('""', '"') if quoted else match[2], quoted))
        place = match.end()
        if place < len(text) and text[place] == ",":
            place += 1
            if place < len(text) and text[place] not in "\r\n":
                continue
            # The line ends with a comma: the last cell is empty. Without a line end, pyarrow takes
            # it for one in quotes if the cell before it is.
            row.append(("", place == len(text) and row[-1][1]))
        if place < len(text) and text[place] not in "\r\n":
            raise RefusedError("a cell goes on after its closing quote")
        rows.append(row)
        row = []
    return rows


def table_of(rows):
    """Columns by name, of rows with a header."""
    if not rows:
        raise RefusedError("empty")
    header = [name for name, _ in rows[0]]
    if any(len(row) != len(header) for row in rows):
        raise RefusedError("rows of different lengths")
    names = [name if name.strip() else f"Unnamed: {place}" for place, name in enumerate(header)]
    columns = [[row[place] for row in rows[1:]] for place in range(len(names))]
    return names, columns


def numbers_in_text(cells, truths):
    """The numbers of a column of a text table."""
    bare = [cell.strip(" \t") for cell, _ in cells]
    missing = [cell in MISSING and not quoted for cell, quoted in cells]
    if truths:
        present = {cell for cell, gone in zip(bare, missing, strict=True) if not gone}
        if not present <= {"0", "1"} and present <= set(TRUTHS):
            return [
                math.nan if gone else TRUTHS[cell] for cell, gone in zip(bare, missing, strict=True)
            ]
    values = []
    for cell, gone in zip(bare, missing, strict=True):
        if gone or NAN.fullmatch(cell):
            values.append(math.nan)
        elif NUMBER.fullmatch(cell):
            values.append(float(cell))
        else:
            raise RefusedError(cell)
    return values


def ids_in_text(cells):
    """The ids of a column of a text table: integers if all are written as integers are printed."""
    if any(cell == "" or (cell in MISSING and not quoted) for cell, quoted in cells):
        raise RefusedError("a missing id")
    return natural([cell for cell, _ in cells])


def natural(ids):
    plain = all(re.fullmatch(r"0|-?[1-9][0-9]*", name) for name in ids)
    if plain and all(-(2**63) <= int(name) < 2**63 for name in ids):
        return [int(name) for name in ids]
    return ids


def dataset_of(names, columns, ignore, numbers, ids):
    """What a dataset of the columns holds, by the rules of `read_table`.

    `numbers(column, truths)` gives the numbers of a column, and `ids(column)` the ids.
    """
    if len(set(names)) < len(names):
        raise RefusedError("two columns of one name")
    table = dict(zip(names, columns, strict=True))
    if "qid" not in table or "label" not in table or any(name not in table for name in ignore):
        raise RefusedError("a column that is missing")
    others = {"qid", "label", "document_id", *ignore}
    features = [name for name in names if name not in others]
    if not features or any(UNNAMED.fullmatch(name) for name in features):
        raise RefusedError("no features, or one without a name")
    queries = ids(table["qid"])
    if not queries:
        raise RefusedError("no rows")
    documents = None
    if "document_id" in table and "document_id" not in ignore:
        documents = ids(table["document_id"])
    labels = numbers(table["label"], False)
    values = [numbers(table[name], True) for name in features]
    if any(math.isnan(label) or abs(label) > 1e100 for label in labels):
        raise RefusedError("a label that is missing or too large")
    if any(abs(value) > 1e100 for column in values for value in column):
        raise RefusedError("a value that is too large")
    first = {}
    for query in queries:
        first.setdefault(query, len(first))
    order = sorted(range(len(queries)), key=lambda row: first[queries[row]])
    return {
        "feature_names": tuple(features),
        "query_ids": list(first),
        "sizes": [queries.count(query) for query in first],
        "labels": [labels[row] for row in order],
        "document_ids": None if documents is None else [documents[row] for row in order],
        "features": [[column[row] for column in values] for row in order],
    }
