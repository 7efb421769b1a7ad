"""Exact search: the rows of a table with the highest products with queries."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.vectors import Singles

# Rows and queries whose products are in memory at once: 16 MB.
_BLOCK_ROWS, _BLOCK_QUERIES = 2**16, 2**6


def nearest_rows(
    values: Singles, lengths: Floats | None, queries: Singles, k: int
) -> tuple[Integers, Floats, Integers]:
    """The k rows with the highest product with each query, the highest first.

    Rows with equal products are in their order. Memory holds the products of a block.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_dimensions)
        They may be mapped from a file, and are read once for each block of queries.
    lengths : ndarray of shape (n_rows,) or None
        What to divide the products by. A row of length 0 is never found. None: 1.
    queries : ndarray of shape (n_queries, n_dimensions)
    k : int

    Returns
    -------
    rows : ndarray
        Rows of the first query, of the second, and so on.
    products : ndarray
    offsets : ndarray of shape (n_queries + 1,)
    """
    rows: list[Integers] = []
    products: list[Floats] = []
    for begin in range(0, len(queries), _BLOCK_QUERIES):
        block = queries[begin : begin + _BLOCK_QUERIES]
        found: list[list[tuple[Integers, Floats]]] = [[] for _ in block]
        for first in range(0, len(values), _BLOCK_ROWS):
            part = values[first : first + _BLOCK_ROWS]
            # For one query, the product with a vector reads memory once and in order.
            table = (part @ block[0])[None] if len(block) == 1 else block @ part.T
            if lengths is not None:
                divided = lengths[first : first + _BLOCK_ROWS]
                with np.errstate(divide="ignore", invalid="ignore"):
                    table /= divided.astype(np.float32)
                if (empty := divided == 0).any():
                    table[:, empty] = -np.inf
            for query, scores in enumerate(table):
                chosen = _highest(scores, k)
                found[query].append((chosen + first, scores[chosen].astype(np.float64)))
        for parts in found:
            candidates = np.concatenate([part[0] for part in parts])
            scores = np.concatenate([part[1] for part in parts])
            best = _highest(scores, k)
            rows.append(candidates[best])
            products.append(scores[best])
    sizes = np.array([len(part) for part in rows], np.int64)
    offsets = np.append(0, np.cumsum(sizes))
    return np.concatenate(rows), np.concatenate(products), offsets


def _highest(scores: Array, k: int) -> Integers:
    """Places of the k highest values, the highest first, equal ones in their order."""
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        places = np.flatnonzero(scores >= least)
    else:
        places = np.arange(len(scores))
    places = places[scores[places] > -np.inf]
    return places[np.argsort(-scores[places], kind="stable")[:k]]
