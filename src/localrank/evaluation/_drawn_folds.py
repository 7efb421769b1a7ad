"""Folds with fewer training queries, the same for every method."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

from localrank.data import Fold, SampleWarning
from localrank.data.drawing import Limit, checked_limit
from localrank.data.fold import Folds
from localrank.rankers._inputs import all_drawn, drawn_in_memory


def drawn_folds(
    folds: Sequence[Fold], max_documents: Limit
) -> tuple[Sequence[Fold], dict[str, Any]]:
    """Folds with at most so many training documents, and what was drawn.

    Training and validation queries are read into memory, one fold at a time. Test queries are
    not read.

    Parameters
    ----------
    folds : sequence of Fold
    max_documents : int, None or "auto"
        Most documents to learn from, as for `Ranker.fit`.

    Returns
    -------
    folds : sequence of Fold
    facts : dict
        For each fold, the numbers of queries and documents drawn, and of all. Empty: nothing was
        left out.

    Examples
    --------
    >>> import warnings
    >>> from localrank.data import folds, make_queries
    >>> dataset, _ = make_queries(60)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     drawn, facts = drawn_folds(folds(dataset, 3), 500)
    >>> facts["training_queries"], drawn[0].train.n_queries
    ([(12, 20), (12, 20), (12, 20)], 12)
    """
    if max_documents == "auto" and all(fold.train.default_limit is None for fold in folds):
        return folds, {}
    queries, documents = [], []
    for fold in folds:
        drawn = all_drawn(fold.train, checked_limit(max_documents, fold.train))
        queries.append((len(drawn), fold.train.n_queries))
        documents.append((int(fold.train.query_sizes[drawn].sum()), fold.train.n_documents))
        # Release the fold before the next one is read.
        del fold
    made = Folds([partial(_drawn_fold, folds, i, max_documents) for i in range(len(folds))])
    if all(n == total for n, total in queries):
        return made, {}
    least = min(range(len(queries)), key=lambda i: queries[i][0] / queries[i][1])
    (n, total), (rows, all_rows) = queries[least], documents[least]
    where = f" of {folds[least].name}" if len(folds) > 1 else ""
    warnings.warn(
        f"Methods learn from {n:,} of {total:,} training queries{where} ({rows:,} of "
        f"{all_rows:,} documents), drawn by their ids. Validation queries are drawn the same way. "
        f"max_documents={max(map(max, documents))} takes all.",
        SampleWarning,
        stacklevel=3,
    )
    return made, {"training_queries": queries, "training_documents": documents}


def _drawn_fold(folds: Sequence[Fold], index: int, max_documents: Limit) -> Fold:
    fold = folds[index]
    valid = None if fold.valid is None else drawn_in_memory(fold.valid, max_documents)
    return Fold(fold.name, drawn_in_memory(fold.train, max_documents), valid, fold.test)
