"""What features tell of the relevance of the documents in a log."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._base.estimator import clone
from localrank.clicks._gamma_em import Means
from localrank.clicks.relevance import pairs_of_rows
from localrank.data import RankingDataset
from localrank.data._offsets import offsets_of
from localrank.data._sources import locked
from localrank.data.click_log import ClickLog
from localrank.rankers.base import Ranker

# The relevance of a query's documents is told by clicks on other queries: folds of them.
_N_FOLDS = 3
# The least relevance that features tell, as a share of the mean.
_LEAST = 0.02


@dataclass(frozen=True, eq=False)
class Described:
    """Documents of a log that have features.

    Attributes
    ----------
    features : RankingDataset
    rows : ndarray of shape (n_pairs,)
        The row of each pair. -1: it has none.
    ranker : Ranker
        What learns relevance; a clone of it is fitted.
    """

    features: RankingDataset
    rows: Integers
    ranker: Ranker

    @classmethod
    def of(cls, log: ClickLog, features: RankingDataset, ranker: Ranker) -> Self:
        """Join a log and features by the ids of queries and documents."""
        pairs = pairs_of_rows(log, features)
        rows = np.full(log.n_pairs, -1)
        rows[pairs[pairs >= 0]] = np.flatnonzero(pairs >= 0)
        return cls(features, rows, ranker)

    def means(self, used: Flags) -> Means:
        """A function that gives the mean of each of these pairs from their rates and weights."""
        rows = self.rows[used]
        order = np.argsort(rows)
        shown = np.zeros(self.features.n_documents, np.bool_)
        shown[rows] = True
        dataset = _only(self.features, shown)
        # By ids, so that the order of the queries does not matter.
        folds = np.empty(dataset.n_queries, np.int64)
        folds[np.argsort(dataset.query_ids.astype(np.str_))] = np.arange(dataset.n_queries)
        of_rows = (folds % _N_FOLDS)[dataset.query_index]

        def told(rates: Floats, weights: Floats) -> Floats:
            labels, weights = rates[order], weights[order]
            means = np.full(len(labels), np.average(labels, weights=weights))
            for fold in range(_N_FOLDS):
                learned, asked = of_rows != fold, of_rows == fold
                if not asked.any() or not learned.any():
                    continue
                train = _labelled(_only(dataset, learned), labels[learned])
                low, high = train.label_bounds
                if (low == high).all():
                    continue
                with warnings.catch_warnings():
                    # Trees that find nothing to split on tell the mean.
                    warnings.simplefilter("ignore")
                    ranker = clone(self.ranker).fit(train, sample_weight=weights[learned])
                    means[asked] = ranker.predict(_only(dataset, asked))
            result = np.empty(len(labels))
            result[order] = np.maximum(means, _LEAST * means.mean())
            return result

        return told


def _only(dataset: RankingDataset, rows: Flags) -> RankingDataset:
    """Some documents, without queries that have none of them, in the order of their rows."""
    sizes = dataset.count(rows)
    kept = np.flatnonzero(sizes)
    return dataset.in_memory().with_rows(np.flatnonzero(rows), offsets_of(sizes[kept]), kept)


def _labelled(dataset: RankingDataset, labels: Floats) -> RankingDataset:
    return dataset.replaced(relevance=locked(labels), document_weights=None)
