"""Reciprocal rank of the first relevant document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, one_of
from localrank._kernels.compilation import kernel
from localrank.measures._ties import RankedLists, tie_end
from localrank.measures.base import ABOVE_HALF, CutMeasure, RelevanceMeasure


@dataclass(frozen=True, repr=False)
class ReciprocalRank(CutMeasure, RelevanceMeasure):
    """One divided by the rank of the first relevant document; its mean over queries is MRR.

    Parameters
    ----------
    cutoff : int, optional
        Number of top documents that count. Without a relevant one among them the value is 0.
        None: all.
    relevance_level : float, optional
        The smallest relevant label; `rel` in a name. None: every label above 0 is relevant.
    target : {"relevant", "highest"}
        The documents of which the first counts. "relevant": all relevant ones. "highest": the
        relevant ones with the highest label of the query, as in allRank.
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
        "catboost": {"relevance_level": ABOVE_HALF, "ties": "pessimistic"},
        "allrank": {"target": "highest", "empty": 1.0, "ties": "input"},
    }

    _parameters: ClassVar[Rules] = {"target": one_of("relevant", "highest")}

    target: Literal["relevant", "highest"] = field(default="relevant", kw_only=True)

    def of_ranked(self, lists: RankedLists) -> Floats:
        highest = self.target == "highest"
        values: Floats = _reciprocal_rank(lists, self.threshold, self.depth, highest)
        return values

    def definition(self) -> str:
        which = "relevant document" if self.target == "relevant" else "of the best documents"
        first = f"the first {which}{self._among()}"
        text = f"1 / rank of {first}, 0 without one.\n{self._relevant()}"
        if self.target == "highest":
            text += " Best: relevant, with the highest label of the query."
        return text


@kernel
def _reciprocal_rank(lists: RankedLists, threshold: float, depth: int, highest: bool) -> Floats:
    labels, _, tied, ends, offsets, ideal = lists
    values = np.empty(len(ends), np.float64)
    for query in range(len(ends)):
        begin = offsets[query]
        if ideal[begin] < threshold:
            values[query] = np.nan
            continue
        values[query] = 0.0
        least = ideal[begin] if highest else threshold
        start, cut = begin, begin + min(ends[query] - begin, depth)
        while start < cut:
            stop = tie_end(tied, start, ends[query])
            relevant = 0
            for i in range(start, stop):
                relevant += labels[i] >= least
            if relevant > 0:
                none_yet = 1.0  # probability that the tie has no relevant one before place i
                for i in range(start, min(stop, cut)):
                    chance = min(1.0, relevant / (stop - i))
                    values[query] += none_yet * chance / (i - begin + 1)
                    none_yet *= 1.0 - chance
                break
            start = stop
    return values
