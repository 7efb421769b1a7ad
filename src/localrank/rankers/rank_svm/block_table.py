"""Copies of the features side by side, in blocks, each times a weight of the query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from localrank.arrays import Floats, Integers
from localrank.rankers.rank_svm.centred_table import CentredTable


@dataclass(frozen=True)
class BlockTable:
    """Rows a ⊗ x of features x and block weights a. Only x and a are stored.

    The product with stacked weight vectors w_1, …, w_B is Σ_b a_b w_b·x. A linear model on this
    table has one weight vector per block. Each query mixes them with its own shares a.

    Parameters
    ----------
    features : ndarray or CentredTable of shape (n_rows, n_features)
    weights : ndarray of shape (n_rows, n_blocks)
        Weights of the blocks, the same for all rows of a query.

    Examples
    --------
    >>> table = BlockTable(np.array([[1.0, 2.0]]), np.array([[1.0, 0.5]]))
    >>> table.shape
    (1, 4)
    >>> table @ np.array([10.0, 0.0, 0.0, 100.0])
    array([110.])
    >>> np.array([2.0]) @ table
    array([2., 4., 1., 2.])
    """

    features: Floats | CentredTable
    weights: Floats

    # Makes numpy leave `array @ table` to the table.
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.weights), self.weights.shape[1] * self.features.shape[1]

    def __len__(self) -> int:
        return len(self.weights)

    def taken(self, rows: Integers) -> Self:
        """Some of the rows."""
        features = self.features
        chosen = features[rows] if isinstance(features, np.ndarray) else features.taken(rows)
        return replace(self, features=chosen, weights=self.weights[rows])

    def __matmul__(self, vector: Floats) -> Floats:
        products: Floats = self.features @ vector.reshape(self.weights.shape[1], -1).T
        sums: Floats = np.einsum("ib,ib->i", products, self.weights)
        return sums

    def __rmatmul__(self, weights: Floats) -> Floats:
        sums: Floats = (weights * self.weights.T) @ self.features
        return sums.ravel()

    def weighted_squares(self, weights: Floats) -> Floats:
        """Weighted sum of the squares over the rows, for each column."""
        of_blocks = weights * self.weights.T**2
        if isinstance(self.features, np.ndarray):
            sums: Floats = of_blocks @ (self.features * self.features)
        else:
            sums = self.features.weighted_squares(of_blocks)
        return sums.ravel()
