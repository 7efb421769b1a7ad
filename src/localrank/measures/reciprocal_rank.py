"""Reciprocal rank of the first relevant document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Floats
from localrank._kernels.compilation import kernel
from localrank.measures._ties import RankedLists, tie_end
from localrank.measures.base import RelevanceMeasure


@dataclass(frozen=True, repr=False)
class ReciprocalRank(RelevanceMeasure):
    """One divided by the rank of the first relevant document; its mean over queries is MRR.

    Parameters
    ----------
    cutoff : int, optional
        Number of top documents that count. Without a relevant one among them the value is 0.
        None: all.
    relevance_level : float, optional
        The smallest relevant label; `rel` in a name. None: every label above 0 is relevant.
    ties : {"averaged", "input", "pessimistic", "document_id"}
        How documents with equal scores count. "averaged": the mean over all their orders.
        "input": the order of the input. "pessimistic": the worst order. "document_id": descending
        document id, as in trec_eval.
    empty : 0.0, 1.0 or "skip"
        The value of a query without a relevant document. "skip": leave it out of the mean.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], y=[1, 0, 1], qid=[1, 1, 1])
    >>> ReciprocalRank()(dataset, [0.1, 0.9, 0.3])
    array([0.5])
    >>> ReciprocalRank()(dataset, [0.1, 0.9, 0.9])  # rank 1 or 2, equally likely
    array([0.75])
    """

    name = "mrr"
    aliases = ("rr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank")
    conventions: ClassVar[dict[str, dict[str, Any]]] = {
        "trec_eval": {"ties": "document_id"},
        "ranklib": {"ties": "input"},
    }

    def of_ranked(self, lists: RankedLists) -> Floats:
        values: Floats = _reciprocal_rank(lists, self.threshold, self.depth)
        return values

    def definition(self) -> str:
        first = f"the first relevant document{self._among()}"
        return f"1 / rank of {first}, 0 without one.\n{self._relevant()}"


@kernel
def _reciprocal_rank(lists: RankedLists, threshold: float, depth: int) -> Floats:
    labels, tied, ends, offsets, ideal = lists
    values = np.empty(len(ends), np.float64)
    for query in range(len(ends)):
        begin = offsets[query]
        if ideal[begin] < threshold:
            values[query] = np.nan
            continue
        values[query] = 0.0
        start, cut = begin, begin + min(ends[query] - begin, depth)
        while start < cut:
            stop = tie_end(tied, start, ends[query])
            relevant = 0
            for i in range(start, stop):
                relevant += labels[i] >= threshold
            if relevant > 0:
                none_yet = 1.0  # probability that the tie has no relevant one before place i
                for i in range(start, min(stop, cut)):
                    chance = min(1.0, relevant / (stop - i))
                    values[query] += none_yet * chance / (i - begin + 1)
                    none_yet *= 1.0 - chance
                break
            start = stop
    return values
