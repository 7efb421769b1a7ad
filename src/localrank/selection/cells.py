"""The nearest training queries, searched in a few cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import Estimator
from localrank._base.rules import (
    Rules,
    check_parameters,
    check_together,
    integers,
    optional,
    refuse,
    whole,
)
from localrank.data._content_order import hash_factors, stirred
from localrank.data._offsets import offsets_of
from localrank.representations.base import Representation, nearest_columns

# Candidates that are held at a time.
_BLOCK = 1 << 22
# The distance of a missing candidate.
_MISSING = 1e300


class Cells(Estimator):
    """Fast search for the nearest training queries, in the cells around a query.

    Some training queries are the centres of cells. Each training query lies in the cell of its
    nearest centre. A query is compared with all centres, then with the training queries in the
    `n_probes` cells whose centres are nearest. This needs about 2 √(n_probes n) distances for n
    training queries, and may miss the nearest one. It works for any representation, because
    centres are queries.

    Centres are chosen by a hash of their descriptions, so they do not depend on the order of the
    training queries.

    Parameters
    ----------
    n_cells : int, optional
        Number of cells. None: √(n_probes n), which needs the fewest distances.
    n_probes : int, default=16
        Number of cells to search. More cells find the nearest query more often and take longer.
    random_state : int, default=0
        Seed of the hash.

    Attributes
    ----------
    centres_ : ndarray of shape (n_cells,)
        Positions of the training queries that are centres.
    cells_ : ndarray of shape (n_queries,)
        The cell of each training query.
    members_, offsets_ : ndarray
        The training queries cell by cell, and the start of each cell.

    Examples
    --------
    >>> from localrank.representations import Mean
    >>> points = np.random.default_rng(0).normal(size=(1000, 2))
    >>> cells = Cells().fit(Mean(), points)
    >>> len(cells.centres_)
    126
    >>> positions, distances = cells.neighbours(Mean(), points, points[[7, 5]], 1)
    >>> positions.ravel(), distances.ravel()
    (array([7, 5]), array([0., 0.]))
    """

    _parameters: ClassVar[Rules] = {
        "n_cells": optional(whole(1)),
        "n_probes": whole(1),
        "random_state": whole(0),
    }

    _fitted: ClassVar[Rules] = {
        "cells_": integers("n_queries", below=2**62),
        "centres_": integers("n_cells", below="n_queries"),
    }

    def __init__(
        self, n_cells: int | None = None, n_probes: int = 16, *, random_state: int = 0
    ) -> None:
        self.n_cells = n_cells
        self.n_probes = n_probes
        self.random_state = random_state

    def fit(self, representation: Representation, descriptions: Array) -> Self:
        """Put the training queries into cells."""
        check_parameters(self)
        n = len(descriptions)
        if self.n_cells is not None and self.n_cells > n:
            refuse(self, "n_cells", f"at most the number of training queries ({n})")
        n_cells = self.n_cells or min(round((self.n_probes * n) ** 0.5), n)
        self.centres_ = some_by_content(descriptions, n_cells, self.random_state)
        self.cells_ = representation.nearest(descriptions, descriptions[self.centres_])
        # Even if another centre is as near, so that no cell is empty.
        self.cells_[self.centres_] = np.arange(n_cells)
        self._restored()
        return self

    def _saved(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name in self._fitted}

    def _check_fitted(self) -> None:
        check_together(
            self, holds=np.array_equal(np.unique(self.cells_), np.arange(len(self.centres_)))
        )

    def _restored(self) -> None:
        """Sort the queries by cell. Files do not hold that order."""
        self.members_ = np.argsort(self.cells_, kind="stable")
        self.offsets_ = offsets_of(np.bincount(self.cells_))

    def neighbours(
        self, representation: Representation, descriptions: Array, asked: Array, k: int
    ) -> tuple[Integers, Floats]:
        """The k nearest training queries in the searched cells.

        A query that finds fewer than k is compared with all training queries.

        Parameters
        ----------
        representation : Representation
            The representation, as in `fit`.
        descriptions : ndarray
            The descriptions of the training queries, as in `fit`.
        asked : ndarray
            The descriptions of the queries to search for.
        k : int
            Number of neighbours.

        Returns
        -------
        positions : ndarray of shape (len(asked), k)
            Ascending. All positions if k is at least their number.
        distances : ndarray of shape (len(asked), k)
            The distances to these training queries.
        """
        k = min(k, len(descriptions))
        members, offsets = self.members_, self.offsets_
        centres = descriptions[self.centres_]
        positions, distances = np.empty((len(asked), k), np.int64), np.empty((len(asked), k))
        n_probes = min(self.n_probes, len(centres))
        n_rows = max(_BLOCK // (n_probes * k), 1)
        for row in range(0, len(asked), n_rows):
            block = asked[row : row + n_rows]
            probed, _ = representation.neighbours(block, centres, n_probes)
            candidates = np.full((len(block), n_probes, k), len(descriptions))
            apart = np.full((len(block), n_probes, k), _MISSING)
            for query, probe, cell in _by_cell(probed):
                in_cell = members[offsets[cell] : offsets[cell + 1]]
                near, far = representation.neighbours(block[query], descriptions[in_cell], k)
                candidates[query, probe, : near.shape[1]] = in_cell[near]
                apart[query, probe, : near.shape[1]] = far
            rows = slice(row, row + len(block))
            positions[rows], distances[rows] = _best(candidates, apart, k)
        few = np.flatnonzero((positions == len(descriptions)).any(axis=1))
        if len(few):
            positions[few], distances[few] = representation.neighbours(asked[few], descriptions, k)
        return positions, distances


def some_by_content(descriptions: Array, n: int, seed: int = 0) -> Integers:
    """Positions of n queries, chosen and ordered by a hash of their descriptions.

    Examples
    --------
    >>> points = np.arange(6.0)[:, None]
    >>> [data[some_by_content(data, 3)].ravel().tolist() for data in (points, points[::-1])]
    [[0.0, 5.0, 4.0], [0.0, 5.0, 4.0]]
    """
    # The sum with 0.0 turns -0.0 into 0.0.
    values = np.ascontiguousarray(descriptions.reshape(len(descriptions), -1), np.float64) + 0.0
    keys = stirred(values.view(np.uint64) @ hash_factors(values.shape[1], seed))
    return np.argsort(keys, kind="stable")[:n]


def _by_cell(probed: Integers) -> Iterator[tuple[Integers, Integers, int]]:
    """For each cell, the queries that search it, and which of their probes it is."""
    query, probe = np.divmod(np.argsort(probed, axis=None, kind="stable"), probed.shape[1])
    cells, begins = np.unique(probed[query, probe], return_index=True)
    ends = [*begins[1:], len(query)]
    for cell, begin, end in zip(cells.tolist(), begins.tolist(), ends, strict=True):
        yield query[begin:end], probe[begin:end], cell


def _best(candidates: Integers, apart: Floats, k: int) -> tuple[Integers, Floats]:
    """The k nearest candidates of each query, ascending; the first if tied."""
    order = np.argsort(candidates.reshape(len(candidates), -1), axis=1, kind="stable")
    candidates = np.take_along_axis(candidates.reshape(order.shape), order, axis=1)
    apart = np.take_along_axis(apart.reshape(order.shape), order, axis=1)
    chosen = nearest_columns(apart, k)
    return np.take_along_axis(candidates, chosen, axis=1), np.take_along_axis(apart, chosen, axis=1)
