"""Features that are gathered, or made, a few queries at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from localrank._base.arrays import Array, Integers
from localrank.data._checks import sum_is_finite
from localrank.data.dataset import RankingDataset

# Memory for the features of a block, unless one query needs more.
BLOCK_BYTES = 2**22
# Memory for a block that is scored, with all that is computed from it, unless one query needs more.
SCORED_BYTES = 2**24


class BlockwiseDataset(RankingDataset, ABC):
    """A dataset whose features are not all in memory: `feature_blocks` reads or makes them.

    `features` makes a table of all rows each time. Use `gathered` if you need it more than once.
    """

    @property
    def features(self) -> Array:
        """All rows, made anew."""
        return self.gathered().features

    @property
    def n_documents(self) -> int:
        return int(self.offsets[-1])

    @abstractmethod
    def gathered(self) -> RankingDataset:
        """The same dataset with all its rows."""

    @abstractmethod
    def feature_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Blocks of whole queries: which rows, and their features."""


class DeferredDataset(BlockwiseDataset):
    """A dataset in another order or with other features. Few of its rows exist at a time.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[1.0], [2.0], [3.0]], qid=["a", "a", "b"])
    >>> doubled = DeferredDataset.of(dataset, lambda part: 2 * part.features)
    >>> doubled.reordered(np.array([2, 1, 0]), np.array([1, 0])).features.ravel()
    array([6., 4., 2.])
    """

    _source: RankingDataset
    _make: Callable[[RankingDataset], Array] | None
    _width: int
    _dtype: np.dtype[Any]
    # The row and the query of the source that each row and each query is.
    _source_rows: Integers | None
    _source_queries: Integers | None

    @classmethod
    def of(
        cls,
        dataset: RankingDataset,
        make: Callable[[RankingDataset], Array] | None = None,
        like: RankingDataset | None = None,
    ) -> Self:
        """A dataset with the features that a function makes of it, or with the same features.

        Parameters
        ----------
        dataset : RankingDataset
        make : callable, optional
            Makes the features of the rows of a dataset, one query at a time. If its input has no
            missing values, neither has its result. None: keep the features.
        like : RankingDataset, optional
            A dataset with the number, names and precision of the features that `make` makes.
        """
        like = like or dataset
        return cls._checked(
            **small_fields(dataset) | {"feature_names": like.feature_names},
            _source=dataset,
            _make=make,
            _width=like.n_features,
            _dtype=like.dtype,
            _source_rows=None,
            _source_queries=None,
        )

    @property
    def n_features(self) -> int:
        return self._width

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @cached_property
    def has_missing(self) -> bool:
        """Whether a feature is NaN, or one of the features that these are made of."""
        if not self._source.has_missing or self._make is not None:
            return self._source.has_missing
        return any(not sum_is_finite(block) for _, block in self.feature_blocks())

    @property
    def is_made(self) -> bool:
        """Whether reading a block is more work than gathering its rows."""
        return self._make is not None

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A view travels to another process as the rows that it shows, without its source."""
        if self.is_made:
            return super().__reduce_ex__(protocol)
        return gathered, (self.gathered(),)

    def gathered(self) -> RankingDataset:
        table = np.empty((self.n_documents, self.n_features), self._dtype)
        for rows, block in self.feature_blocks():
            table[rows] = block
        return RankingDataset._checked(features=table, **small_fields(self))

    def feature_blocks(self) -> Iterator[tuple[slice, Array]]:
        source, queries, order = self._source, self._source_queries, self._source_rows
        if queries is None or order is None:
            queries, order = np.arange(self.n_queries), np.arange(self.n_documents)
        for begin, end in blocks_of_queries(self.offsets, self._width * self._dtype.itemsize):
            rows = slice(int(self.offsets[begin]), int(self.offsets[end]))
            if self._make is None:
                yield rows, source.features[order[rows]]
                continue
            part = source.taken(queries[begin:end])
            # Made in the source's order, which may round otherwise than another, then reordered.
            shift = source.offsets[queries[begin:end]] - part.offsets[:-1]
            yield rows, self._make(part)[order[rows] - np.repeat(shift, part.query_sizes)]

    def replaced(self, **changes: Any) -> Self:
        if "features" in changes:
            return cast(Self, RankingDataset._checked(**small_fields(self) | changes))
        kept = {name: getattr(self, name) for name in _DEFERRED_FIELDS}
        return self._checked(**small_fields(self) | kept | changes)

    def with_rows(self, rows: Integers, offsets: Integers, queries: Integers) -> Self:
        order, positions = self._source_rows, self._source_queries
        return self.replaced(
            **self._of_rows(rows),
            offsets=offsets,
            query_ids=self.query_ids[queries],
            input_order=None,
            _source_rows=rows if order is None else order[rows],
            _source_queries=queries if positions is None else positions[queries],
        )


_DEFERRED_FIELDS = ("_source", "_make", "_width", "_dtype", "_source_rows", "_source_queries")


def view(dataset: RankingDataset) -> RankingDataset:
    """The same dataset, whose parts refer to rows of its table instead of copying them.

    A dataset whose features are not a table in memory does so already, and is returned.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[1.0], [2.0], [3.0]], qid=["a", "b", "c"])
    >>> part = view(dataset).select([2, 0])
    >>> type(part).__name__, part.features.ravel()
    ('DeferredDataset', array([3., 1.]))
    """
    return DeferredDataset.of(dataset) if type(dataset) is RankingDataset else dataset


def feature_blocks(dataset: RankingDataset) -> Iterator[tuple[slice, Array]]:
    """The features of a dataset a few queries at a time: which rows, and a table of them.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[1.0], [2.0]], qid=["a", "b"])
    >>> [(rows, block.tolist()) for rows, block in feature_blocks(dataset)]
    [(slice(0, 2, None), [[1.0], [2.0]])]
    """
    if isinstance(dataset, BlockwiseDataset):
        yield from dataset.feature_blocks()
        return
    row_bytes = dataset.n_features * dataset.dtype.itemsize
    for begin, end in blocks_of_queries(dataset.offsets, row_bytes):
        rows = slice(int(dataset.offsets[begin]), int(dataset.offsets[end]))
        yield rows, dataset.features[rows]


def query_blocks(dataset: RankingDataset, row_bytes: int) -> Iterator[RankingDataset]:
    """A dataset a few queries at a time, with their features; all at once if it is small.

    Parameters
    ----------
    dataset : RankingDataset
    row_bytes : int
        Memory for a row, with all that is computed from it.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[1.0], [2.0]], qid=["a", "b"])
    >>> [block.query_ids.tolist() for block in query_blocks(dataset, SCORED_BYTES)]
    [['a'], ['b']]
    """
    # The last query of a block may reach beyond its end. A ranker inside another one must not cut
    # such a block once more.
    if dataset.n_documents * row_bytes < 2 * SCORED_BYTES:
        yield gathered(dataset)
        return
    for begin, end in blocks_of_queries(dataset.offsets, row_bytes, SCORED_BYTES):
        if type(dataset) is RankingDataset:
            yield _stretch(dataset, begin, end)
        else:
            yield gathered(dataset.taken(np.arange(begin, end)))


def _stretch(dataset: RankingDataset, begin: int, end: int) -> RankingDataset:
    """Queries that follow each other, without a copy of their rows."""
    rows = slice(int(dataset.offsets[begin]), int(dataset.offsets[end]))
    return dataset.replaced(
        features=dataset.features[rows],
        **dataset._of_rows(rows),
        offsets=dataset.offsets[begin : end + 1] - rows.start,
        query_ids=dataset.query_ids[begin:end],
        input_order=None,
    )


def gathered(dataset: RankingDataset) -> RankingDataset:
    """The dataset with all its rows in memory."""
    return dataset.gathered() if isinstance(dataset, BlockwiseDataset) else dataset


def is_made(dataset: RankingDataset) -> bool:
    """Whether features are computed each time that they are read."""
    return isinstance(dataset, DeferredDataset) and dataset.is_made


def table_and_rows(dataset: RankingDataset) -> tuple[Array, Integers]:
    """A table of features in memory, and the row of each document in it.

    For a dataset in another order this is the table of its source. For made features it is a new
    table of all rows.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[1.0], [2.0], [3.0]], qid=["a", "b", "c"])
    >>> table, rows = table_and_rows(view(dataset).select([2, 0]))
    >>> table is dataset.features, rows
    (True, array([2, 0]))
    """
    if isinstance(dataset, DeferredDataset) and not dataset.is_made:
        rows = dataset._source_rows
        return dataset._source.features, np.arange(dataset.n_documents) if rows is None else rows
    return gathered(dataset).features, np.arange(dataset.n_documents)


def blocks_of_queries(
    offsets: Integers, row_bytes: int, block_bytes: int | None = None
) -> Iterator[tuple[int, int]]:
    """First query and end of each block: the queries that begin within one stretch of rows.

    Examples
    --------
    >>> list(blocks_of_queries(np.array([0, 2, 3, 7, 8]), row_bytes=10, block_bytes=30))
    [(0, 2), (2, 3), (3, 4)]
    """
    n_rows = max((block_bytes or BLOCK_BYTES) // max(row_bytes, 1), 1)
    starts = np.flatnonzero(np.diff(offsets[:-1] // n_rows, prepend=-1))
    yield from zip(starts.tolist(), [*starts[1:].tolist(), len(offsets) - 1], strict=True)


def small_fields(dataset: RankingDataset, *besides: str) -> dict[str, Any]:
    """All fields but the features and the named ones."""
    left_out = ("features", *besides)
    names = (field.name for field in fields(dataset) if field.name not in left_out)
    return {name: getattr(dataset, name) for name in names}
