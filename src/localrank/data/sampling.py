"""Whole queries drawn by their ids: the same ones for any order and layout of the data."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Array, Flags, Integers
from localrank.data._content_order import hash_factors, stirred
from localrank.data.dataset import RankingDataset

# Values of `max_documents`: a number, None for all, or "auto".
Limit = int | Literal["auto"] | None

# Ids whose texts are looked at together.
_BLOCK = 2**14
# Of longer ids this many characters at the beginning and at the end are hashed.
_WIDTH = 256


class SampleWarning(UserWarning):
    """A model learned from a part of the queries.

    Examples
    --------
    >>> import warnings
    >>> from localrank.data import SampleWarning, make_queries
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(50)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = RankSVM().fit(dataset, max_documents=1000)
    >>> print(caught[0].message)
    RankSVM was trained on 24 of 50 queries (969 of 2,006 documents), drawn by their ids.
    max_documents=2006 uses all.
    """


def sampled_queries(
    dataset: RankingDataset, queries: Integers, max_documents: int, teaches: Flags
) -> Integers:
    """Draw queries from those at the given positions, with at most `max_documents` in all.

    Queries are drawn in the order of a hash of their ids, until the next one would exceed the
    limit. So the draw is the same for any order of the queries and any layout of their files. A
    draw of fewer documents is a part of a draw of more.

    Parameters
    ----------
    dataset : RankingDataset
    queries : ndarray of int
        Positions, ascending.
    max_documents : int
        Limit on the documents; at least the size of the largest query.
    teaches : ndarray of shape (n_queries,)
        Queries that a model can learn from. If none of them would be drawn, the draw is from them
        alone.

    Returns
    -------
    ndarray of int
        Positions, ascending.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays(np.zeros((60, 1)), qid=np.repeat(np.arange(20), 3))
    >>> sampled_queries(dataset, np.arange(20), 10, np.ones(20, bool))
    array([ 0, 15, 16])
    """
    sizes = dataset.query_sizes[queries]
    if sizes.sum() <= max_documents:
        return queries
    shuffled = queries[np.argsort(id_keys(dataset.query_ids[queries]), kind="stable")]
    drawn = _first(shuffled, dataset.query_sizes, max_documents)
    if not teaches[drawn].any() and teaches[shuffled].any():
        drawn = _first(shuffled[teaches[shuffled]], dataset.query_sizes, max_documents)
    return np.sort(drawn)


def checked_limit(max_documents: Limit, dataset: RankingDataset) -> int | None:
    """The number of documents to learn from; None where all are.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[1.0], [2.0]], qid=[1, 1])
    >>> checked_limit("auto", dataset), checked_limit(100, dataset)
    (None, None)
    """
    if max_documents == "auto":
        max_documents = dataset.default_limit
    if max_documents is None:
        return None
    whole = isinstance(max_documents, int | np.integer) and not isinstance(max_documents, bool)
    if not whole:
        raise ValueError(
            f"The 'max_documents' argument must be a whole number, None or 'auto'. "
            f"Got {max_documents!r} instead."
        )
    largest = int(dataset.query_sizes.max())
    if max_documents < largest:
        raise ValueError(
            f"The 'max_documents' argument must be at least {largest:,}, the size of the largest "
            f"query: queries are taken whole. Got {max_documents} instead."
        )
    return int(max_documents) if max_documents < dataset.n_documents else None


def id_keys(query_ids: Array, seed: int = 0) -> NDArray[np.uint64]:
    """A random number for each query by the text of its id: 7 and "7" have the same.

    Examples
    --------
    >>> bool((id_keys(np.array([7, 12])) == id_keys(np.array(["7", "12"]))).all())
    True
    """
    factors = hash_factors(2 * _WIDTH + 1, seed)
    keys = np.empty(len(query_ids), np.uint64)
    for begin in range(0, len(query_ids), _BLOCK):
        texts = _texts(query_ids[begin : begin + _BLOCK])
        # Missing characters are 0, and count nothing.
        letters = np.ascontiguousarray(texts).view(np.uint32).reshape(len(texts), -1)
        sums = letters.astype(np.uint64) @ factors[1 : letters.shape[1] + 1]
        keys[begin : begin + _BLOCK] = stirred(stirred(sums + factors[0]))
    return keys


def _texts(ids: Array) -> Array:
    """Ids as texts of one width, of which very long ones lack the middle."""
    if ids.dtype.kind == "S":
        ids = np.char.decode(ids, "latin-1")
    if ids.dtype.kind == "T" or ids.dtype.itemsize > 8 * _WIDTH:
        cut = [
            text if len(text) <= 2 * _WIDTH else text[:_WIDTH] + text[-_WIDTH:]
            for text in ids.tolist()
        ]
        ids = np.array(cut)
    return ids.astype(np.str_, copy=False)


def _first(queries: Integers, sizes: Integers, max_documents: int) -> Integers:
    """The first of some queries, as long as they fit."""
    return queries[: np.searchsorted(np.cumsum(sizes[queries]), max_documents, side="right")]
