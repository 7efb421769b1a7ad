"""Missing values filled in, for models that cannot take them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.rules import Rules, floats, integers
from localrank._kernels.sorting import argsort_descending
from localrank.data._parts import over_parts
from localrank.data.dataset import RankingDataset

# The rows of a view that take no more bytes are copied once, and not for each pass over them.
SMALL_BYTES = 2**26


@dataclass(frozen=True, eq=False)
class Filling:
    """Fills missing values: a part of models that do not take them.

    A missing value becomes the median of the feature over the documents of its query that have
    it. If none of them has it, it becomes the feature's fill value. Indicator columns follow the
    features: 1 if the value is missing and 0 otherwise, so that a model can learn what it means
    that a value is missing.

    Parameters
    ----------
    values : ndarray of shape (n_features,)
        The fill values: the median of the training queries' medians. 0 for a feature that was
        never or always missing in training.
    indicators : ndarray of int
        The columns with an indicator. Features that were missing in the same training documents
        share the indicator of the first.

    Examples
    --------
    >>> X = [[1.0], [5.0], [np.nan], [np.nan], [7.0]]
    >>> dataset = RankingDataset.from_arrays(X, qid=["a", "a", "a", "b", "c"])
    >>> Filling.learned(dataset).filled(dataset).features
    array([[1., 0.],
           [5., 0.],
           [3., 1.],
           [5., 1.],
           [7., 0.]])
    """

    _fitted: ClassVar[Rules] = {
        "values": floats("n_features"),
        "indicators": integers(None, below="n_features"),
    }

    values: Floats
    indicators: Integers

    @classmethod
    def learned(cls, dataset: RankingDataset, *, indicators: bool = True) -> Self | None:
        """Learn fill values and indicators from training queries; None if nothing is missing.

        Parameters
        ----------
        dataset : RankingDataset
        indicators : bool
            Whether to add indicators.
        """
        if not dataset.has_missing:
            return None
        if 8 * dataset.n_documents * dataset.n_features <= SMALL_BYTES:
            dataset = dataset.in_memory(files=False)
        counted = over_parts(
            _missing, dataset, by_query=(np.arange(dataset.n_queries),), description="Missing"
        )
        n_missing, patterns = np.array(counted).sum(axis=0, dtype=np.uint64)
        columns = np.flatnonzero(n_missing)
        if not columns.size:
            return None
        medians = np.concatenate(
            over_parts(_medians, dataset, shared=(columns,), description="Medians"), axis=1
        )
        values = np.zeros(dataset.n_features)
        values[columns] = np.nan_to_num(
            query_medians(medians, np.array([0, dataset.n_queries])).ravel()
        )
        sometimes = columns[n_missing[columns] < dataset.n_documents]
        _, first = np.unique(patterns[sometimes], return_index=True)
        return cls(values, sometimes[np.sort(first)] if indicators else columns[:0])

    @classmethod
    def unlearned(cls, n_features: int) -> Self:
        """The filling of a model whose training queries have no missing values."""
        return cls(np.zeros(n_features), np.empty(0, np.int64))

    @property
    def n_columns(self) -> int:
        """Number of features and indicators."""
        return len(self.values) + len(self.indicators)

    def filled(self, dataset: RankingDataset) -> RankingDataset:
        """The same documents without missing values, and with the indicators."""
        if not len(self.indicators) and not dataset.has_missing:
            return dataset
        return dataset.derived(self._filled)

    def _filled(self, dataset: RankingDataset) -> RankingDataset:
        table = np.empty((dataset.n_documents, self.n_columns), dataset.dtype)
        n_features = len(self.values)
        table[:, :n_features] = dataset.features
        for queries, offsets, block in _blocks(dataset):
            rows = slice(dataset.offsets[queries.start], dataset.offsets[queries.stop])
            missing = np.isnan(block)
            table[rows, n_features:] = missing[:, self.indicators]
            columns = np.flatnonzero(missing.any(axis=0))
            if not columns.size:
                continue
            medians = query_medians(block[:, columns].T, offsets)
            medians = np.where(np.isnan(medians), self.values[columns, None], medians)
            fills = np.repeat(medians, np.diff(offsets), axis=1).T
            table[rows, columns] = np.where(missing[:, columns], fills, block[:, columns])
        names = dataset.feature_names and self.names(dataset.feature_names)
        return dataset.replaced(features=table, feature_names=names)

    def names(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names of features and indicators, given those of the features."""
        result = dict.fromkeys(names)
        for column in self.indicators:
            name = f"{names[column]} (missing)"
            while name in result:
                name += "'"
            result[name] = None
        return tuple(result)


def query_medians(values: Array, offsets: Integers) -> Floats:
    """The median of the values that are not missing in each query; NaN if all are missing.

    Parameters
    ----------
    values : ndarray of shape (n_columns, n_documents)
        NaN where missing.
    offsets : ndarray of shape (n_queries + 1,)

    Returns
    -------
    ndarray of shape (n_columns, n_queries)

    Examples
    --------
    >>> query_medians(np.array([[1.0, np.nan, 4.0, np.nan]]), np.array([0, 3, 4]))
    array([[2.5, nan]])
    """
    n_columns, n_documents = values.shape
    # Every column of every query is one list, with the missing values at its end.
    begins = (n_documents * np.arange(n_columns)[:, None] + offsets[:-1]).ravel()
    missing = np.isnan(values).ravel()
    known = np.where(missing, -np.inf, values.ravel())
    order = argsort_descending(known, np.append(begins, len(known)))
    counts = np.add.reduceat(~missing, begins, dtype=np.int64)
    above = known[order[begins + np.maximum(counts - 1, 0) // 2]]
    below = known[order[begins + counts // 2]]
    medians = np.where(counts > 0, 0.5 * (above + below), np.nan)
    return medians.reshape(n_columns, -1)


def _missing(dataset: RankingDataset, queries: Integers) -> NDArray[np.uint64]:
    """How often each feature is missing, and a number for the documents where it is.

    Columns that are missing in the same rows have the same sum of random numbers.
    """
    rng = np.random.default_rng(queries[0])
    counts = np.zeros((2, dataset.n_features), np.uint64)
    for _, _, block in _blocks(dataset):
        missing = np.isnan(block).astype(np.uint64)
        counts[0] += missing.sum(axis=0)
        counts[1] += rng.integers(2**64, size=len(block), dtype=np.uint64) @ missing
    return counts


def _medians(dataset: RankingDataset, columns: Integers) -> Floats:
    """The medians of some features in each query, of shape (n_columns, n_queries)."""
    medians = np.empty((len(columns), dataset.n_queries))
    for queries, offsets, block in _blocks(dataset):
        medians[:, queries] = query_medians(block[:, columns].T, offsets)
    return medians


def _blocks(dataset: RankingDataset) -> Iterator[tuple[slice, Integers, Array]]:
    """Some queries at a time: which, their offsets within the block, and their features."""
    for rows, block in dataset.feature_blocks():
        first, last = np.searchsorted(dataset.offsets, [rows.start, rows.stop]).tolist()
        yield slice(first, last), dataset.offsets[first : last + 1] - rows.start, block
