"""Passes over the queries of a dataset, a partition at a time if they are in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeGuard, TypeVar, cast

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.parallel import in_parallel
from localrank.data._deferred import BlockwiseDataset, small_fields
from localrank.data.dataset import RankingDataset
from localrank.data.partitions import PartitionedDataset

Result = TypeVar("Result")
Step = Callable[[RankingDataset], RankingDataset]

_n_jobs: ContextVar[int | None] = ContextVar("n_jobs", default=None)


class Readable(Protocol):
    """Reads some queries: a `Partition`, or one whose features are computed from it."""

    def read(self) -> RankingDataset: ...


@contextmanager
def passes_with(n_jobs: int | None) -> Iterator[None]:
    """Let passes inside the block read `n_jobs` partitions at the same time.

    Examples
    --------
    >>> with passes_with(2):
    ...     pass
    """
    token = _n_jobs.set(n_jobs)
    try:
        yield
    finally:
        _n_jobs.reset(token)


def over_parts(
    function: Callable[..., Result],
    dataset: RankingDataset,
    *,
    shared: Sequence[Any] = (),
    by_query: Sequence[Array | None] = (),
    description: str,
) -> list[Result]:
    """The results of a function, one for each partition; one for a dataset in memory.

    Parameters
    ----------
    function : callable
        Takes the queries of a partition, the entries of `by_query` for them, and `shared`.
    dataset : RankingDataset
    shared : sequence
        Further arguments, the same for every partition.
    by_query : sequence of ndarray or None
        Arrays with one entry per query; the function gets the entries of its queries.
    description : str
        What the progress bar says.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[1.0], [2.0]], qid=["a", "b"])
    >>> weights = np.array([3.0, 4.0])
    >>> over_parts(
    ...     lambda part, weights_of_part: part.features.ravel() @ weights_of_part,
    ...     dataset,
    ...     by_query=(weights,),
    ...     description="Products",
    ... )
    [np.float64(11.0)]
    """
    if not in_partitions(dataset):
        return [function(dataset, *by_query, *shared)]
    ends = dataset.partition_offsets
    weights = dataset.document_weights
    items = []
    for partition, begin, end in zip(
        dataset.partitions, ends[:-1].tolist(), ends[1:].tolist(), strict=True
    ):
        entries = [None if values is None else values[begin:end] for values in by_query]
        rows = slice(dataset.offsets[begin], dataset.offsets[end])
        items.append((partition, entries, None if weights is None else weights[rows]))
    return in_parallel(
        _on_part,
        items,
        shared=(function, *shared),
        n_jobs=_n_jobs.get(),
        description=description,
    )


def _on_part(
    item: tuple[Readable, list[Array | None], Floats | None],
    function: Callable[..., Result],
    *shared: Any,
) -> Result:
    partition, entries, weights = item
    part = partition.read()
    if weights is not None:
        part = part.replaced(document_weights=weights)
    return function(part, *entries, *shared)


def in_partitions(dataset: RankingDataset) -> TypeGuard[PartitionedDataset | MappedDataset]:
    """Whether the features are in files, so that only passes see all of them."""
    return isinstance(dataset, PartitionedDataset | MappedDataset)


@dataclass(frozen=True, eq=False)
class MappedPartition:
    """A partition whose queries go through a function when they are read."""

    partition: Readable
    step: Step

    def read(self) -> RankingDataset:
        """The queries with other features."""
        return self.step(self.partition.read())


class MappedDataset(BlockwiseDataset):
    """The queries of a partitioned dataset with other features, made when they are read.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> table = pd.DataFrame({"qid": [7, 7], "label": [0, 1], "bm25": [7.5, 9.0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_parquet(f"{folder}/part-0.parquet")
    ...     dataset = PartitionedDataset.open(folder)
    ...     doubled = MappedDataset.of(dataset, lambda part: part.with_features(2 * part.features))
    ...     over_parts(lambda part: part.features.tolist(), doubled, description="Twice")
    [[[15.0], [18.0]]]
    """

    _source: PartitionedDataset | MappedDataset
    _step: Step
    _like: RankingDataset

    @classmethod
    def of(cls, dataset: PartitionedDataset | MappedDataset, step: Step) -> Self:
        """Queries that go through a function when they are read.

        Parameters
        ----------
        dataset : PartitionedDataset or MappedDataset
        step : callable
            Gives the same documents with other features, looking at one query at a time. If its
            input has no missing values, neither has its result.
        """
        first = dataset.taken(np.zeros(1, np.int64)).gathered()
        like = step(first)
        return cls._checked(
            **small_fields(dataset, "document_ids") | {"feature_names": like.feature_names},
            document_ids=None,
            _source=dataset,
            _step=step,
            _like=like,
        )

    @property
    def partitions(self) -> list[MappedPartition]:
        """In the order of the queries."""
        return [MappedPartition(partition, self._step) for partition in self._source.partitions]

    @property
    def partition_offsets(self) -> Integers:
        """Where the queries of each partition begin among those of the dataset, and the end."""
        return self._source.partition_offsets

    @property
    def n_features(self) -> int:
        return self._like.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._like.dtype

    @property
    def has_missing(self) -> bool:
        """Whether a feature of the source is NaN, so that one here may be."""
        return self._source.has_missing

    def gathered(self) -> RankingDataset:
        return self._step(self._source.gathered())

    def feature_blocks(self) -> Iterator[tuple[slice, Array]]:
        begin = 0
        for partition in self.partitions:
            features = partition.read().features
            yield slice(begin, begin + len(features)), features
            begin += len(features)

    def taken(self, positions: Integers) -> Self:
        taken: RankingDataset = self._source.taken(positions)
        # In another order than that of the files it is in memory.
        return self.of(taken, self._step) if in_partitions(taken) else cast(Self, self._step(taken))

    def with_rows(self, rows: Integers, offsets: Integers, queries: Integers) -> Self:
        return cast(Self, self.gathered().with_rows(rows, offsets, queries))
