"""Removing what no ranker can learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Array, Integers
from localrank.data._offsets import offsets_of
from localrank.data.dataset import RankingDataset


@dataclass(frozen=True, eq=False, repr=False)
class CleaningReport:
    """What `clean` removed."""

    n_documents: int
    n_queries: int
    query_ids: Array
    """Queries that were removed, because they had no relevant document (left)."""

    def __repr__(self) -> str:
        return (
            f"removed {self.n_documents:,} documents whose features occur in the same query with "
            f"another label, and {self.n_queries:,} queries without a relevant document"
        )


def clean(dataset: RankingDataset) -> tuple[RankingDataset, CleaningReport]:
    """Remove contradictory documents, then queries without a relevant document.

    Within a query, all documents with identical features and conflicting labels are removed [1].
    Then queries in which no document is relevant are removed. The input order of the result is
    the order of its rows.

    References
    ----------
    1. Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. SIGIR Workshop on Learning to Rank, 2009. Section 4.1.1.

    Examples
    --------
    >>> X = [[1.0], [1.0], [2.0], [3.0]]
    >>> dataset = RankingDataset.from_arrays(X, y=[0, 1, 1, 0], qid=["a", "a", "a", "b"])
    >>> cleaned, report = clean(dataset)
    >>> cleaned.features.ravel(), cleaned.query_ids
    (array([2.]), array(['a'], dtype='<U1'))
    >>> print(report)
    removed 2 documents whose features occur in the same query with another label, and 1 queries
    without a relevant document
    """
    relevance = dataset.labels
    twin = _twins(dataset)
    lowest, highest = np.full(twin.max() + 1, np.inf), np.full(twin.max() + 1, -np.inf)
    np.minimum.at(lowest, twin, relevance)
    np.maximum.at(highest, twin, relevance)
    consistent = (lowest == highest)[twin]

    relevant = np.zeros(dataset.n_queries, dtype=bool)
    relevant[dataset.query_index[consistent & (relevance > 0)]] = True
    if not relevant.any():
        raise ValueError("Cleaning leaves nothing: no query has a relevant document.")
    keep = np.flatnonzero(consistent & relevant[dataset.query_index])
    sizes = np.bincount(dataset.query_index[keep], minlength=dataset.n_queries)[relevant]
    cleaned = dataset.with_rows(keep, offsets_of(sizes), np.flatnonzero(relevant))
    report = CleaningReport(
        n_documents=int(np.sum(~consistent)),
        n_queries=int(np.sum(~relevant)),
        query_ids=dataset.query_ids[~relevant],
    )
    return cleaned, report


def _twins(dataset: RankingDataset) -> Integers:
    """A number for each document, shared by documents of a query with identical features."""
    rows = np.empty((dataset.n_documents, dataset.n_features + 1))
    rows[:, 0] = dataset.query_index
    rows[:, 1:] = dataset.features
    rows += 0.0  # minus zero becomes zero, which it equals
    rows[np.isnan(rows)] = np.nan  # one bit pattern for every missing value
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    return np.unique(keys, return_inverse=True)[1]
