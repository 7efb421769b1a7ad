"""A large table of scaled and centred features, of which a few rows exist at a time.

In double precision it would take twice the memory of features in single precision, and more
than all else beside it. Its rows are scaled and centred anew for each product, exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset

# Rows that are held in double precision at a time: few enough for the cache.
_BLOCK = 256


# A table that would take more bytes in double precision is not made.
LARGE_BYTES = 2**28


def is_large(dataset: RankingDataset) -> bool:
    """Whether a table of the features in double precision would take much room."""
    return 8 * dataset.n_documents * dataset.n_features > LARGE_BYTES


@dataclass(frozen=True)
class Scaled:
    """Documents as rows of a table of features, and what each feature is divided by, or None."""

    features: Array
    rows: Integers
    scale: Floats | None


@dataclass(frozen=True)
class CentredTable:
    """Rows of features divided by a scale, less the mean of their group.

    Parameters
    ----------
    features : ndarray of shape (n, n_features)
        In any precision.
    rows : ndarray of shape (n_rows,)
        Rows of the features, group by group.
    groups : ndarray of shape (n_rows,)
        The row of the means that each belongs to.
    scale : ndarray of shape (n_features,)
    means : ndarray of shape (n_groups, n_features)
        Of the scaled features.

    Examples
    --------
    >>> scaled = Scaled(np.array([[2.0], [6.0], [9.0]]), np.arange(3), np.array([2.0]))
    >>> table = CentredTable.of(scaled, np.arange(3), np.array([0, 2, 3]))
    >>> table @ np.ones(1)
    array([-1.,  1.,  0.])
    """

    features: Array
    rows: Integers
    groups: Integers
    scale: Floats
    means: Floats

    # Makes numpy leave `array @ table` to the table.
    __array_ufunc__ = None

    @classmethod
    def of(cls, scaled: Scaled, rows: Integers, offsets: Integers) -> Self:
        """The given documents, in groups."""
        features = read_only(scaled.features, scaled.features.dtype)
        scale = np.ones(features.shape[1]) if scaled.scale is None else scaled.scale
        rows, scale = read_only(scaled.rows[rows], np.int64), read_only(scale, np.float64)
        groups = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        means = _means(features, rows, read_only(offsets, np.int64), scale)
        return cls(features, rows, groups, scale, read_only(means, np.float64))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.scale)

    def __len__(self) -> int:
        return len(self.rows)

    def taken(self, rows: Integers) -> Self:
        """Some of the rows, of the same features."""
        return replace(self, rows=read_only(self.rows[rows], np.int64), groups=self.groups[rows])

    def __matmul__(self, vectors: Floats) -> Floats:
        products = np.empty((len(self), *vectors.shape[1:]))
        for rows, block in self._blocks():
            products[rows] = block @ vectors
        return products

    def __rmatmul__(self, weights: Floats) -> Floats:
        total = np.zeros((*weights.shape[:-1], len(self.scale)))
        for rows, block in self._blocks():
            total += weights[..., rows] @ block
        return total

    def weighted_squares(self, weights: Floats) -> Floats:
        """The sum over the rows of a weight times the squares; or such sums."""
        total = np.zeros((*weights.shape[:-1], len(self.scale)))
        for rows, block in self._blocks():
            total += weights[..., rows] @ (block * block)
        return total

    def group_sums(self, weights: Floats) -> Floats:
        """The sums over the rows of each group of a weight times the row, in the order of means."""
        sums = np.zeros_like(self.means)
        for rows, block in self._blocks():
            groups = self.groups[rows]
            begins = np.flatnonzero(np.diff(groups, prepend=-1))
            block *= weights[rows, None]
            sums[groups[begins]] += np.add.reduceat(block, begins)
        return sums

    def filled(self, begin: int, block: Floats) -> Floats:
        """The rows from `begin` on, as many as the block has, written into it."""
        _centre(self.features, self.rows, self.groups, self.scale, self.means, begin, block)
        return block

    def _blocks(self) -> Iterator[tuple[slice, Floats]]:
        room = np.empty((_BLOCK, len(self.scale)))
        for begin in range(0, len(self), _BLOCK):
            rows = slice(begin, min(begin + _BLOCK, len(self)))
            yield rows, self.filled(begin, room[: rows.stop - begin])


@kernel
def _means(features: Array, rows: Integers, offsets: Integers, scale: Floats) -> Floats:
    """Of each group; exactly the value where all are equal, which leaves 0 of it."""
    means = np.zeros((len(offsets) - 1, len(scale)))
    for group in range(len(means)):
        mean, first = means[group], features[rows[offsets[group]]]
        for place in range(offsets[group], offsets[group + 1]):
            row = features[rows[place]]
            for column in range(len(scale)):
                mean[column] += row[column] / scale[column]
        for column in range(len(scale)):
            mean[column] /= offsets[group + 1] - offsets[group]
            equal = True
            for place in range(offsets[group], offsets[group + 1]):
                equal = equal and features[rows[place], column] == first[column]
                if not equal:
                    break
            if equal:
                mean[column] = first[column] / scale[column]
    return means


@kernel
def _centre(
    features: Array,
    rows: Integers,
    groups: Integers,
    scale: Floats,
    means: Floats,
    begin: int,
    block: Floats,
) -> None:
    for place in range(len(block)):
        row, mean = features[rows[begin + place]], means[groups[begin + place]]
        for column in range(len(scale)):
            block[place, column] = row[column] / scale[column] - mean[column]
