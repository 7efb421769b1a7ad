"""Where the features of a dataset come from: a table in memory, a view of one, or files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.arrays import Array, Integers
from localrank._base.memory import check_memory
from localrank._base.parallel import in_parallel
from localrank.data._checks import joined_ids, sum_of_squares

if TYPE_CHECKING:
    from localrank.data.dataset import RankingDataset
    from localrank.data.partition_files import Partition

# Memory for the features of a block, unless one query needs more.
BLOCK_BYTES = 2**22
# Features that a function makes of a view are made once and kept if they take no more bytes.
SMALL_BYTES = 2**26

# Gives the same documents with other features, looking at one query at a time. If its input has no
# missing values, neither has its result.
Step = Callable[["RankingDataset"], "RankingDataset"]
# Some rows, or some queries, in their new order.
Chosen = Integers | slice


class Source(ABC):
    """The features of a dataset. Algorithms ask the dataset for a table, or for blocks of rows."""

    width: int
    dtype: np.dtype[Any]
    # The files that hold the features; none if they are in memory.
    partitions: tuple[Partition, ...] = ()
    # Documents that a model learns from by default. None: all.
    default_limit: int | None = None
    # Whether rows can be read one by one, in any order, from a table in memory.
    has_table: bool = False

    @property
    @abstractmethod
    def has_missing(self) -> bool:
        """Whether a feature may be NaN: it is, or one of those that these are made of."""

    @abstractmethod
    def table(self) -> Array:
        """All rows in memory."""

    @abstractmethod
    def blocks(self, offsets: Integers) -> Iterator[tuple[slice, Array]]:
        """A few whole queries at a time: which rows, and a table of them."""

    @abstractmethod
    def of_rows(self, rows: Chosen, offsets: Integers, queries: Chosen) -> Source | None:
        """Some rows of some queries, query by query. None: only if all rows are in memory."""

    def of_queries(self, positions: Integers, rows: Integers, offsets: Integers) -> Source | None:
        """Some queries with all their rows. None: only if all rows are in memory."""
        return self.of_rows(rows, offsets, positions)

    def view(self) -> Source:
        """The same rows, of which a part is no copy."""
        return self

    def derived(self, dataset: RankingDataset, step: Step, like: RankingDataset) -> Source | None:
        """Features that a function makes of these when they are read. None: make them at once."""
        if dataset.n_documents * like.n_features * like.dtype.itemsize <= SMALL_BYTES:
            return None
        return Made(dataset, step, like.n_features, like.dtype, dataset.offsets)

    def table_and_rows(self) -> tuple[Array, Integers]:
        """A table in memory and the row of each document in it."""
        table = self.table()
        return table, np.arange(len(table))

    def document_ids(self) -> Array | None:
        """Ids of the documents, if they are read from where the features are."""
        return None

    def read(self) -> tuple[Array, Array | None]:
        """All rows in memory, and the document ids that are read with them."""
        return self.table(), None

    def cuts(self, offsets: Integers) -> Iterator[tuple[slice, slice]]:
        """The rows and the queries of each block."""
        for begin, end in blocks_of_queries(offsets, self.width * self.dtype.itemsize):
            yield slice(int(offsets[begin]), int(offsets[end])), slice(begin, end)


class InMemory(Source):
    """All rows in memory, in their order."""

    has_table = True

    def __init__(self, array: Array, *, complete: bool = False) -> None:
        self.array = locked(array)
        self.width = int(array.shape[1])
        self.dtype = array.dtype
        if complete:  # known, so that nobody looks for missing values
            self.has_missing = False

    @cached_property
    def has_missing(self) -> bool:
        return _has_nan(self.array)

    def table(self) -> Array:
        return self.array

    def blocks(self, offsets: Integers) -> Iterator[tuple[slice, Array]]:
        for rows, _ in self.cuts(offsets):
            yield rows, self.array[rows]

    def of_rows(self, rows: Chosen, offsets: Integers, queries: Chosen) -> InMemory:
        return InMemory(self.array[rows])

    def view(self) -> Rows:
        return Rows(self)

    def derived(self, dataset: RankingDataset, step: Step, like: RankingDataset) -> None:
        """A table stays a table: those who read it need all rows."""


class Rows(Source):
    """Rows of a table in memory in another order, without a copy.

    Parameters
    ----------
    of : InMemory
    rows : ndarray, optional
        The row of the table that each row is. None: all, in their order.
    """

    has_table = True

    def __init__(self, of: InMemory, rows: Integers | None = None) -> None:
        self.of = of
        self.rows = rows
        self.width = of.width
        self.dtype = of.dtype

    @cached_property
    def has_missing(self) -> bool:
        if not self.of.has_missing or self.rows is None:
            return self.of.has_missing
        n = max(BLOCK_BYTES // max(self.width * self.dtype.itemsize, 1), 1)
        pieces = (self.rows[begin : begin + n] for begin in range(0, len(self.rows), n))
        return any(_has_nan(self.of.array[piece]) for piece in pieces)

    def table(self) -> Array:
        return self.of.array if self.rows is None else self.of.array[self.rows]

    def blocks(self, offsets: Integers) -> Iterator[tuple[slice, Array]]:
        for rows, _ in self.cuts(offsets):
            yield rows, self.of.array[rows if self.rows is None else self.rows[rows]]

    def of_rows(self, rows: Chosen, offsets: Integers, queries: Chosen) -> Rows:
        return Rows(self.of, _chosen(self.rows, rows))

    def table_and_rows(self) -> tuple[Array, Integers]:
        return self.of.table_and_rows() if self.rows is None else (self.of.array, self.rows)

    def __reduce__(self) -> tuple[type[InMemory], tuple[Array]]:
        """A view travels to another process as the rows that it shows."""
        return InMemory, (self.table(),)


@dataclass(frozen=True, eq=False)
class Made(Source):
    """Features that a function makes of a dataset when they are read, in any order of its rows."""

    dataset: RankingDataset
    step: Step
    width: int
    dtype: np.dtype[Any]
    # Where the queries shown begin among the rows shown.
    offsets: Integers
    # The row and the query of the dataset that each row and each query is. None: all.
    rows: Integers | None = None
    queries: Integers | None = None

    @property
    def has_missing(self) -> bool:
        return self.dataset.has_missing

    def table(self) -> Array:
        table = np.empty((int(self.offsets[-1]), self.width), self.dtype)
        for rows, block in self.blocks(self.offsets):
            table[rows] = block
        return table

    def blocks(self, offsets: Integers) -> Iterator[tuple[slice, Array]]:
        for rows, queries in self.cuts(offsets):
            chosen = _chosen(self.queries, queries)
            part = self.dataset.taken(chosen)
            # Made in the dataset's order, which may round otherwise than another, then reordered.
            features = self.step(part).features
            if self.rows is None:
                yield rows, features
                continue
            shifts = self.dataset.offsets[chosen] - part.offsets[:-1]
            sizes = np.diff(offsets[queries.start : queries.stop + 1])
            yield rows, features[self.rows[rows] - np.repeat(shifts, sizes)]

    def of_rows(self, rows: Chosen, offsets: Integers, queries: Chosen) -> Made:
        return replace(
            self,
            offsets=offsets,
            rows=_chosen(self.rows, rows),
            queries=_chosen(self.queries, queries),
        )


@dataclass(frozen=True, eq=False)
class Files(Source):
    """Rows in files, each with whole queries. They may go through functions when they are read."""

    width: int
    dtype: np.dtype[Any]
    partitions: tuple[Partition, ...]
    # The files without the last function.
    of: Files | None = None

    default_limit = 2_000_000

    @cached_property
    def has_missing(self) -> bool:
        """Found by a pass over all files."""
        if self.of is not None:
            return self.of.has_missing
        return any(in_parallel(_misses, self.partitions, n_jobs=1, description="Missing values"))

    def table(self) -> Array:
        return self.read()[0]

    def blocks(self, offsets: Integers) -> Iterator[tuple[slice, Array]]:
        begin = 0
        for partition in self.partitions:
            end = begin + partition.n_documents
            yield slice(begin, end), partition.read().features
            begin = end

    def of_rows(self, rows: Chosen, offsets: Integers, queries: Chosen) -> Files | None:
        if not isinstance(queries, slice) or not isinstance(rows, slice):
            return None
        positions = np.arange(queries.start, queries.stop)
        return self.of_queries(positions, np.arange(rows.start, rows.stop), offsets)

    def of_queries(self, positions: Integers, rows: Integers, offsets: Integers) -> Files | None:
        if (np.diff(positions) <= 0).any():
            return None
        bounds = np.cumsum([0, *(partition.n_queries for partition in self.partitions)])
        cuts = np.searchsorted(positions, bounds).tolist()
        chosen = [
            partition.of_queries(
                positions[begin:end] - first, int(offsets[end]) - int(offsets[begin])
            )
            for partition, begin, end, first in zip(
                self.partitions, cuts[:-1], cuts[1:], bounds[:-1], strict=True
            )
            if begin < end
        ]
        of = None if self.of is None else self.of.of_queries(positions, rows, offsets)
        return replace(self, partitions=tuple(chosen), of=of)

    def derived(self, dataset: RankingDataset, step: Step, like: RankingDataset) -> Files:
        partitions = tuple(partition.through(step) for partition in self.partitions)
        return Files(like.n_features, like.dtype, partitions, self)

    def document_ids(self) -> Array | None:
        ids = [partition.without_features().document_ids for partition in self.partitions]
        present = [part for part in ids if part is not None]
        return joined_ids(present) if present else None

    def read(self) -> tuple[Array, Array | None]:
        sizes = [partition.n_documents for partition in self.partitions]
        check_memory(
            self.width * self.dtype.itemsize * (sum(sizes) + 2 * max(sizes)),
            f"A table of {sum(sizes):,} documents and {self.width:,} features",
            "Use a part of the queries with select, or work on partitions one by one.",
        )
        table = np.empty((sum(sizes), self.width), self.dtype)
        begin, documents = 0, []
        for partition in self.partitions:
            part = partition.read()
            table[begin : begin + part.n_documents] = part.features
            documents += [] if part.document_ids is None else [part.document_ids]
            begin += part.n_documents
        return table, joined_ids(documents) if documents else None


def joined_files(sources: Sequence[Source]) -> Files | None:
    """Several sources one after another, if the rows of all are in files."""
    if not all(source.partitions for source in sources):
        return None
    partitions = [partition for source in sources for partition in source.partitions]
    dtype = np.result_type(*(source.dtype for source in sources))
    common: dict[str, Any] = {"dtype": str(dtype)}
    if any(partition.columns.document_id is None for partition in partitions):
        common["document_id"] = None
    alike = (
        replace(partition, columns=replace(partition.columns, **common)) for partition in partitions
    )
    return Files(sources[0].width, dtype, tuple(alike))


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


def _chosen(known: Integers | None, chosen: Chosen) -> Integers:
    """Some of the known numbers; None stands for all numbers from 0."""
    if known is not None:
        return known[chosen]
    return np.arange(chosen.start, chosen.stop) if isinstance(chosen, slice) else chosen


def locked(array: Array) -> Array:
    """A read-only view, or the array itself if nobody can write to it.

    Examples
    --------
    >>> locked(np.zeros(2)).flags.writeable
    False
    """
    if array.flags.writeable:
        array = array.view()
        array.setflags(write=False)
    return array


def _has_nan(features: Array) -> bool:
    return not isfinite(sum_of_squares(features)) and bool(np.isnan(features).any())


def _misses(partition: Partition) -> bool:
    return _has_nan(partition.read().features)
