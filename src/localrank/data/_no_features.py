"""Columns that are probably not features: ids, numbers of rows, the label in another form."""

from __future__ import annotations

import re

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank.data._offsets import rows_of
from localrank.data.dataset import RankingDataset
from localrank.data.errors import ColumnWarning, warn

# Numbers of fewer documents count up, or differ, by chance.
_MIN_DOCUMENTS = 20
# Documents and queries that are looked at first. Nearly all columns need no more.
_N_DOCUMENTS, _N_QUERIES = 500, 16
# An id is different in this share of the rows. In small tables, so are lengths and prices.
_UNIQUE, _MIN_UNIQUE = 0.999, 1000
# Of a column with the name of an id, the ids need only differ within queries.
_ID_NAME = re.compile(r"(.*[^A-Za-z])?(id|ID|Id|ids|uid|sku|SKU|docid|docno)|.*[a-z](Id|ID)")
# The label in another form orders at least this share of the queries as the label does, and there
# are queries and documents enough that no feature does so by chance.
_ORDERED, _MIN_QUERIES, _MIN_PLACES = 0.9, 10, 50
# At most this many columns stand in a message.
_MAX_NAMED = 5


def warn_of_suspects(dataset: RankingDataset, kind: str = "table", source: str = "") -> None:
    """Warn of columns that are probably not features.

    Parameters
    ----------
    dataset : RankingDataset
        In memory.
    kind : "table", "frame" or "letor", default="table"
        What the data came in. Nobody writes ids among the features of LETOR text, which have no
        names: there, only the label in another form is looked for.
    source : str, default=""
        The beginning of the message.
    """
    found = suspects(dataset, ids=kind != "letor")
    if not found:
        return
    columns = list(found)[:_MAX_NAMED]
    names = [dataset.feature_label(column) for column in columns]
    said = [
        f"{name if dataset.feature_names is None else f'column {name!r}'} {found[column]}"
        for column, name in zip(columns, names, strict=True)
    ]
    text = f"{source}{', '.join(said)}"
    text += f", and {len(found) - len(said):,} more are suspect" if len(found) > len(said) else ""
    one = len(found) == 1
    advice = f"If {'it is no feature' if one else 'they are no features'}, leave "
    advice += "it out" if one else "them out"
    python = f"{advice} with ignore={names}; otherwise name all features with features=[...]."
    command = f"{advice} with --ignore {','.join(names)}; otherwise name all with --features."
    if kind != "table":
        python = command = f"{advice} of {'X' if kind == 'frame' else 'the file'}."
    warn(ColumnWarning(f"{text if source else text[0].upper() + text[1:]}.", python, command))


def suspects(dataset: RankingDataset, *, ids: bool = True) -> dict[int, str]:
    """What makes columns suspect, by their numbers.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays(np.c_[np.arange(40), np.ones(40)], qid=[1, 2] * 20)
    >>> suspects(dataset)
    {0: 'counts up with the rows'}
    """
    if dataset.n_documents < _MIN_DOCUMENTS:
        return {}
    found = _like_ids(dataset) if ids else {}
    if dataset.relevance is not None:
        found |= _like_label(dataset)
    return dict(sorted(found.items()))


def _like_ids(dataset: RankingDataset) -> dict[int, str]:
    """Columns of whole numbers that count up, or are different in nearly every row."""
    table, n = dataset.features, dataset.n_documents
    some = table[np.linspace(0, n - 1, min(n, _N_DOCUMENTS)).astype(np.int64)]
    names, categories = dataset.feature_names, dataset.categories or {}
    # NaN is no whole number.
    whole = np.flatnonzero((some == np.rint(some)).all(axis=0))
    ordered = np.sort(some[:, whole], axis=0)
    different = (np.diff(ordered, axis=0) > 0).mean(axis=0) >= 0.99
    found = {}
    for column, differs in zip(whole.tolist(), different.tolist(), strict=True):
        named = names is not None and _ID_NAME.fullmatch(names[column]) is not None
        if not (differs or named):
            continue
        values = table[:, column]
        if not (values == np.rint(values)).all():
            continue
        # The numbers of categories are those of their values, in any order.
        is_category = names is not None and names[column] in categories
        if not is_category and (np.diff(dataset.in_input_order(values)) > 0).all():
            found[column] = "counts up with the rows"
        elif n >= _MIN_UNIQUE and len(np.unique(values)) >= _UNIQUE * n:
            found[column] = "is different in nearly every row, like an id"
        elif named and not is_category and _n_repeated(dataset, values) <= 0.01 * n:
            found[column] = "holds ids, by its name"
    return found


def _n_repeated(dataset: RankingDataset, values: Array) -> int:
    """How many documents have the value of another document of their query."""
    order = np.lexsort((values, dataset.query_index))
    same = (np.diff(values[order]) == 0) & (np.diff(dataset.query_index[order]) == 0)
    return int(same.sum())


def _like_label(dataset: RankingDataset) -> dict[int, str]:
    """Columns that are the label, or order the documents of nearly all queries as it does."""
    low, high = dataset.label_bounds
    graded = np.flatnonzero(low < high)
    n_places = int((dataset.query_sizes[graded] - 1).sum())
    if len(graded) < _MIN_QUERIES or n_places < _MIN_PLACES:
        return {}
    few = graded[np.linspace(0, len(graded) - 1, min(len(graded), _N_QUERIES)).astype(np.int64)]
    # Of so few queries, a column that orders nine of ten in all orders six of ten at least.
    columns = np.flatnonzero(_ordered(dataset, few, dataset.features) >= _ORDERED - 0.3)
    if not columns.size:
        return {}
    if dataset.categories:
        names = dataset.feature_names or ()
        columns = np.array([c for c in columns if names[c] not in dataset.categories], np.int64)
    shares = _ordered(dataset, graded, dataset.features[:, columns])
    found = {}
    for column, share in zip(columns.tolist(), shares.tolist(), strict=True):
        if share >= _ORDERED:
            equal = bool((dataset.features[:, column] == dataset.labels).all())
            found[column] = (
                "equals the label"
                if equal
                else f"orders the documents of {100 * share:.0f} % of the queries exactly as the "
                f"label does"
            )
    return found


def _ordered(dataset: RankingDataset, queries: Integers, table: Array) -> Floats:
    """The share of queries, all with two labels, that columns order as the label, or reversed.

    All documents of a label must have larger values than those of the next lower one.
    """
    rows, offsets = rows_of(dataset.offsets, queries)
    query = np.repeat(np.arange(len(queries)), np.diff(offsets))
    order = np.lexsort((dataset.labels[rows], query))
    rows, query = rows[order], query[order]
    labels, values = dataset.labels[rows], table[rows]
    begins = np.flatnonzero(
        (np.diff(labels, prepend=np.nan) != 0) | (np.diff(query, prepend=-1) > 0)
    )
    low, high = np.minimum.reduceat(values, begins), np.maximum.reduceat(values, begins)
    follows = np.flatnonzero(np.diff(query[begins]) == 0)
    first = np.flatnonzero(np.diff(query[begins[follows]], prepend=-1))

    def share(holds: Flags) -> Floats:
        return np.asarray(np.logical_and.reduceat(holds[follows], first).mean(axis=0))

    return np.maximum(share(high[:-1] < low[1:]), share(low[:-1] > high[1:]))
