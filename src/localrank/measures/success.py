"""Success: whether a relevant document is among the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Floats
from localrank._kernels.compilation import kernel
from localrank.measures._ties import RankedLists, tie_end
from localrank.measures.base import CutMeasure, RelevanceMeasure


@dataclass(frozen=True, repr=False)
class Success(CutMeasure, RelevanceMeasure):
    """1 if a relevant document is among the top `cutoff`, else 0; its mean is the hit rate.

    Parameters
    ----------
    cutoff : int, optional
        Number of top documents that count. None: all that were retrieved.
    relevance_level : float, optional
        The smallest relevant label; `rel` in a name. None: every label above 0 is relevant.
    ties : {"averaged", "input", "pessimistic", "document_id"}
        How documents with equal scores count. "averaged": the share of their orders with a
        relevant document among the top. "input": the order of the input. "pessimistic": the worst
        order. "document_id": descending document id, as in trec_eval.
    empty : 0.0, 1.0 or "skip"
        The value of a query without a relevant document. "skip": leave it out of the mean.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], y=[1, 0, 1], qid=[1, 1, 1])
    >>> Success(1)(dataset, [0.1, 0.9, 0.3]), Success(2)(dataset, [0.1, 0.9, 0.3])
    (array([0.]), array([1.]))
    >>> Success(1)(dataset, [0.9, 0.9, 0.3])  # first or second, equally likely
    array([0.5])
    """

    name = "success"
    aliases = ("hit_rate", "hitrate", "hr")
    conventions: ClassVar[dict[str, dict[str, Any]]] = {"trec_eval": {"ties": "document_id"}}

    def of_ranked(self, lists: RankedLists) -> Floats:
        values: Floats = _success(lists, self.threshold, self.depth)
        return values

    def definition(self) -> str:
        among = self._among() or " among those retrieved"
        return f"1 if there is a relevant document{among}, else 0.\n{self._relevant()}"


@kernel
def _success(lists: RankedLists, threshold: float, depth: int) -> Floats:
    labels, _, tied, ends, offsets, ideal = lists
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
                none_yet = 1.0  # probability that no relevant one is at a place of the tie so far
                for i in range(start, min(stop, cut)):
                    none_yet *= max(0.0, 1.0 - relevant / (stop - i))
                values[query] = 1.0 - none_yet
                break
            start = stop
    return values
