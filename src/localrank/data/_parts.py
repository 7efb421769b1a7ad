"""The same work on each part of a dataset: on each of its files, or on a dataset in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from localrank._base.arrays import Array, Floats
from localrank._base.parallel import in_parallel
from localrank.data.dataset import RankingDataset

if TYPE_CHECKING:
    from localrank.data.partition_files import Partition

Result = TypeVar("Result")

_n_jobs: ContextVar[int | None] = ContextVar("n_jobs", default=None)


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
    >>> import numpy as np
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
    partitions = dataset.partitions
    if not partitions:
        return [function(dataset, *by_query, *shared)]
    ends = dataset.partition_offsets
    weights = dataset.document_weights
    items = []
    for partition, begin, end in zip(
        partitions, ends[:-1].tolist(), ends[1:].tolist(), strict=True
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
    item: tuple[Partition, list[Array | None], Floats | None],
    function: Callable[..., Result],
    *shared: Any,
) -> Result:
    partition, entries, weights = item
    part = partition.read()
    if weights is not None:
        part = part.replaced(document_weights=weights)
    return function(part, *entries, *shared)
