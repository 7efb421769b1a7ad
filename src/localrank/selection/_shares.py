"""Which group's model ranks which queries, and with what weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank.data import RankingDataset
from localrank.data._offsets import rows_of
from localrank.rankers import Ranker
from localrank.selection.base import Selector

# Weights of groups that are held at a time.
_N_WEIGHTS = 1 << 24


@dataclass(frozen=True, eq=False)
class Share:
    """The queries that one model ranks, and its weight for each of their documents.

    Parameters
    ----------
    model : Ranker
    queries : RankingDataset
        The queries that the model ranks.
    rows : ndarray of shape (n_rows,)
        Positions of their documents in the whole dataset.
    weights : ndarray of shape (n_rows,)
        The model's weight.
    standardised : ndarray of shape (n_rows,)
        Whether the model's score is standardised within the query before it is weighted. That is
        so for queries that several models rank, if the selector asks for it.
    """

    model: Ranker
    queries: RankingDataset
    rows: Integers
    weights: Floats
    standardised: Flags


def shares(
    selector: Selector, models: Sequence[Ranker], dataset: RankingDataset
) -> Iterator[Share]:
    """The share of each model in the scores of a dataset.

    Queries are taken in blocks so that the weights fit into memory. Each block yields its own
    shares.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import local_rank
    >>> dataset, _ = make_queries(60)
    >>> ranker = local_rank(3).fit(dataset)
    >>> [share.queries.n_queries for share in shares(ranker.selector_, ranker.models_, dataset)]
    [11, 24, 25]
    """
    n_queries = max(_N_WEIGHTS // len(models), 1)
    for first in range(0, dataset.n_queries, n_queries):
        positions = np.arange(first, min(first + n_queries, dataset.n_queries))
        block = dataset if len(positions) == dataset.n_queries else dataset.taken(positions)
        weights = selector.weights(block, models)
        several = ((weights != 0).sum(axis=1) > 1) & selector.standardises
        query, group = np.nonzero(weights)
        query = query[np.argsort(group, kind="stable")]
        groups, sizes = np.unique(group, return_counts=True)
        for number, queries in zip(groups, np.split(query, np.cumsum(sizes)[:-1]), strict=True):
            rows, _ = rows_of(dataset.offsets, positions[queries])
            ranked = block.taken(queries)
            yield Share(
                models[number],
                ranked,
                rows,
                np.repeat(weights[queries, number], ranked.query_sizes),
                np.repeat(several[queries], ranked.query_sizes),
            )


def validation_queries(
    selector: Selector, ranker: Ranker, valid: RankingDataset
) -> list[RankingDataset]:
    """The validation queries of each group: those that the selector sends to it.

    A group gets all of them if none of those sent to it can be learned from, or if the selector
    needs labels.
    """
    if selector.needs_labels:
        return [valid] * selector.n_groups_
    weights = selector.weights(valid, [])
    decides = ranker.learns_from(valid)
    sent = [np.flatnonzero(weights[:, group]) for group in range(selector.n_groups_)]
    return [valid.select(queries) if decides[queries].any() else valid for queries in sent]
