"""Counting relevant documents at the top of ranked lists."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats
from localrank._kernels.compilation import kernel
from localrank.measures._ties import RankedLists, tie_end


@kernel
def hits(
    lists: RankedLists, threshold: float, depth: int, at_relevant: bool
) -> tuple[Floats, Floats]:
    """Relevant documents among the first `depth` of each query, and among all of them.

    With `at_relevant`, the depth of a query is the number of its relevant documents. A tie counts
    with the mean over its orders. Where a query has no relevant document, both are NaN.
    """
    labels, _, tied, ends, offsets, ideal = lists
    values = np.empty(len(ends), np.float64)
    all_relevant = np.empty(len(ends), np.float64)
    for query in range(len(ends)):
        begin, end = offsets[query], offsets[query + 1]
        n_relevant = 0
        while begin + n_relevant < end and ideal[begin + n_relevant] >= threshold:
            n_relevant += 1
        if n_relevant == 0:
            values[query] = np.nan
            all_relevant[query] = np.nan
            continue
        total = 0.0
        start = begin
        cut = begin + min(ends[query] - begin, n_relevant if at_relevant else depth)
        while start < cut:
            stop = tie_end(tied, start, ends[query])
            relevant = 0
            for i in range(start, stop):
                relevant += labels[i] >= threshold
            total += relevant * (min(stop, cut) - start) / (stop - start)
            start = stop
        values[query] = total
        all_relevant[query] = n_relevant
    return values, all_relevant
