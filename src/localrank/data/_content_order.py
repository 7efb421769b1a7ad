"""An order of rows that does not depend on the order of the input.

Sums round differently in another order, and LightGBM ranks equal scores in the order of rows.
Here, only the content of the rows decides their order. A model trained in this order does not
depend on the order of lines in a file, to the last bit.
"""

from __future__ import annotations

from math import isfinite

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Array, Integers
from localrank.data._checks import sum_of_squares
from localrank.data._parts import over_parts
from localrank.data.dataset import RankingDataset

# Number of rows that are held in double precision at the same time.
_BLOCK = 4096


def content_order(dataset: RankingDataset, seed: int = 0) -> tuple[Integers, Integers]:
    """The order of rows by a hash of their features and label, and the order of the queries.

    Parameters
    ----------
    dataset : RankingDataset
        With or without relevance labels.
    seed : int
        Other seeds give other orders.

    Examples
    --------
    >>> X, y, qid = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 2]), np.array([7, 8, 7])
    >>> one, two = (RankingDataset.from_arrays(X[i], y[i], qid[i]) for i in ([0, 1, 2], [2, 0, 1]))
    >>> [data.features[content_order(data)[0]].ravel().tolist() for data in (one, two)]
    [[1.0, 3.0, 2.0], [1.0, 3.0, 2.0]]
    """
    return order_by_keys(dataset, row_keys(dataset, seed))


def query_order(dataset: RankingDataset, seed: int = 0) -> Integers:
    """The order of the queries by `content_order` alone.

    Examples
    --------
    >>> X, y, qid = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 2]), np.array([7, 8, 7])
    >>> dataset = RankingDataset.from_arrays(X, y, qid)
    >>> bool((query_order(dataset) == content_order(dataset)[1]).all())
    True
    """
    keys = over_parts(_query_keys, dataset, shared=(seed,), description="Order of queries")
    return np.argsort(np.concatenate(keys), kind="stable")


def _query_keys(dataset: RankingDataset, seed: int) -> NDArray[np.uint64]:
    keys: NDArray[np.uint64] = np.add.reduceat(
        stirred(row_keys(dataset, seed)), dataset.offsets[:-1]
    )
    return keys


def rows_in_content_order(dataset: RankingDataset) -> RankingDataset:
    """The same queries, each with its rows in the order of `content_order`.

    Examples
    --------
    >>> X, y, qid = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 2]), np.array([7, 7, 7])
    >>> one, two = (RankingDataset.from_arrays(X[i], y[i], qid) for i in ([0, 1, 2], [2, 0, 1]))
    >>> [rows_in_content_order(data).features.ravel().tolist() for data in (one, two)]
    [[1.0, 3.0, 2.0], [1.0, 3.0, 2.0]]
    """
    rows = np.lexsort((stirred(row_keys(dataset, 0)), dataset.query_index))
    return dataset.with_rows(rows, dataset.offsets, np.arange(dataset.n_queries))


def row_keys(dataset: RankingDataset, seed: int) -> NDArray[np.uint64]:
    """A number for each row, from the values of its features, its label and its weight.

    Only values count, not how they are stored. 0.0 and -0.0 are the same, and so are single and
    double precision, and all bit patterns of a missing value.
    """
    factors = hash_factors(dataset.n_features + 2, seed)
    labels = np.zeros(dataset.n_documents) if dataset.relevance is None else dataset.relevance
    keys: NDArray[np.uint64] = (labels + 0.0).view(np.uint64) * factors[0]
    if dataset.document_weights is not None:
        keys += (dataset.document_weights + 0.0).view(np.uint64) * factors[-1]
    for rows, features in dataset.feature_blocks():
        keys[rows] += _products(features, factors[1:-1])
    return keys


def keys_of_values(values: Array, numbers: Integers) -> NDArray[np.uint64]:
    """A number for each row, from its values and a whole number.

    Examples
    --------
    >>> keys = keys_of_values(np.array([[0.0], [1.0], [-0.0]]), np.array([3, 3, 3]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    factors = hash_factors(values.shape[1] + 1, 0)
    return stirred(_products(values, factors[1:]) + numbers.astype(np.uint64) * factors[0])


def _products(rows: Array, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """For each row, the sum of its values as integers, each times its factor."""
    products = np.empty(len(rows), np.uint64)
    for begin in range(0, len(rows), _BLOCK):
        # Adding 0.0 turns -0.0 into 0.0.
        values = rows[begin : begin + _BLOCK].astype(np.float64, order="C")
        values += 0.0
        if not isfinite(sum_of_squares(values)):
            values[np.isnan(values)] = np.nan
        products[begin : begin + _BLOCK] = values.view(np.uint64) @ factors
    return products


def hash_factors(n: int, seed: int) -> NDArray[np.uint64]:
    """Random factors: a row's key is the sum of its values as integers, each times its factor."""
    return np.random.default_rng(seed).integers(2**64, size=n, dtype=np.uint64)


def order_by_keys(dataset: RankingDataset, keys: NDArray[np.uint64]) -> tuple[Integers, Integers]:
    """Rows by query, then by key; queries by the sum of their keys."""
    keys = stirred(keys)
    queries = np.argsort(np.add.reduceat(keys, dataset.offsets[:-1]), kind="stable")
    place = np.empty_like(queries)
    place[queries] = np.arange(dataset.n_queries)
    return np.lexsort((keys, place[dataset.query_index])), queries


def stirred(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Keys with their high bits mixed into the low ones.

    Without it, similar rows have similar keys.
    """
    keys = (keys ^ (keys >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    keys ^= keys >> np.uint64(29)
    return keys
