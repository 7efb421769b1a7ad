"""Lists of several retrievers as one dataset."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import Qrels, RankingDataset, Run, as_qrels, as_run, pooled, read_vectors
from localrank.data._offsets import offsets_of
from localrank.data.pooling import UNJUDGED
from localrank.fusion._list_columns import COLUMNS, list_columns


def lists_dataset(
    lists: Mapping[str, Any],
    qrels: Any = None,
    vectors: Any = None,
    query_vectors: Any = None,
) -> RankingDataset:
    """The documents of several lists as one dataset, with columns for each list.

    The documents of a query are those that at least one list has. Each list has six columns, such
    as `bm25.score`, `bm25.z`, `bm25.min_max`, `bm25.rank`, `bm25.reciprocal_rank` and
    `bm25.presence`. With the n documents that a list has for a query, and
    t = (score - lowest) / (highest - lowest):

    | column | value | documents that the list lacks |
    |---|---|---|
    | score | the score | the lowest score |
    | z | (t - mean of t) / standard deviation of t | the lowest z |
    | min_max | t | 0 |
    | rank | from 1; the mean rank for equal scores | n + 1 |
    | reciprocal_rank | 1 / rank | 0 |
    | presence | 1 | 0 |

    If all scores of a list are equal, z is 0 and t is 1. If a list lacks the whole query, its
    score, z and t are 0, and its rank is the number of documents + 1.

    Parameters
    ----------
    lists : mapping of str
        Runs by name, of anything that `localrank.data.as_run` takes: a TREC file, a dict
        `{query: {document: score}}`, a DataFrame.
    qrels : path, Qrels, dict, DataFrame, ... or None, default=None
        Judgments, as for `localrank.data.as_qrels`. The dataset then has only the judged queries,
        with labels, to learn from and to test on. A document has the label 0 if nobody judged it,
        or if its judgment is negative. None: the dataset has all queries of the lists, without
        labels.
    vectors : path, mapping of id to vector, (ids, array), Vectors, or None, default=None
        Vectors of the documents; a path is read by `localrank.data.read_vectors`. A document
        without a vector is no other document's neighbour; a warning counts these documents.
    query_vectors : path, mapping of id to vector, (ids, array), Vectors, or None, default=None
        Vectors of the queries.

    Raises
    ------
    ValueError
        A list is empty, or has a document twice for a query. No query is judged. No document has
        a vector.

    Warns
    -----
    UserWarning
        Two lists are the same. Both count.

    Examples
    --------
    >>> bm25 = {"q1": {"a": 9.0, "b": 7.0}, "q2": {"a": 3.0}}
    >>> dense = {"q1": {"b": 0.8, "c": 0.7}}
    >>> dataset = lists_dataset({"bm25": bm25, "dense": dense})
    >>> dataset.document_ids, dataset.query_ids
    (array(['a', 'b', 'c', 'a'], dtype='<U1'), array(['q1', 'q2'], dtype='<U2'))
    >>> dataset.to_frame("pandas")[["bm25.score", "bm25.rank", "dense.z", "dense.presence"]]
       bm25.score  bm25.rank  dense.z  dense.presence
    0         9.0        1.0     -1.0             0.0
    1         7.0        2.0      1.0             1.0
    2         7.0        3.0     -1.0             1.0
    3         3.0        1.0      0.0             0.0
    >>> lists_dataset({"bm25": bm25, "dense": dense}, {"q1": {"b": 1}}).relevance
    array([0., 1., 0.])
    """
    if not isinstance(lists, Mapping) or not lists:
        raise ValueError(
            "The 'lists' argument must be a mapping from names to runs, with at least one: "
            "{'bm25': 'bm25.trec', 'dense': 'dense.trec'}."
        )
    runs = {str(name): as_run(run, str(name)) for name, run in lists.items()}
    if len(runs) < len(lists):
        raise ValueError("The names of lists must be different texts. Two are the same.")
    known = None if qrels is None else as_qrels(qrels)
    together = pooled(runs, _of_all_queries(runs) if known is None else known)
    dataset, scores = together.dataset, together.scores
    retrieved = np.any([values > -np.inf for values in scores.values()], axis=0)
    n_retrieved = dataset.count(retrieved)
    queries = np.flatnonzero(n_retrieved)
    rows = np.flatnonzero(retrieved)
    dataset = dataset.with_rows(rows, offsets_of(n_retrieved[queries]), queries)
    tables = []
    for values in scores.values():
        of_list: Floats = values[rows]
        tables.append(list_columns(np.where(of_list > -np.inf, of_list, np.nan), dataset.offsets))
    names = [f"{name}.{column}" for name in runs for column in COLUMNS]
    dataset = dataset.with_features(np.concatenate(tables, axis=1), names)
    labels = None if known is None else np.where(dataset.labels == UNJUDGED, 0.0, dataset.labels)
    dataset = dataset.replaced(relevance=labels)
    if vectors is None and query_vectors is None:
        return dataset
    return dataset.with_vectors(
        *(read_vectors(given) if isinstance(given, str | PathLike) else given
          for given in (vectors, query_vectors))
    )  # fmt: skip


def _of_all_queries(runs: Mapping[str, Run]) -> Qrels:
    """Judgments of every query, so that no query is left out. They say nothing."""
    queries = np.concatenate([np.asarray(run.query_ids).astype(str) for run in runs.values()])
    documents = np.concatenate([np.asarray(run.document_ids).astype(str) for run in runs.values()])
    _, firsts = np.unique(queries, return_index=True)
    firsts.sort()
    return Qrels(queries[firsts], documents[firsts], np.zeros(len(firsts)))
