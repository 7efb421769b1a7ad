"""Precision among the first documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, one_of
from localrank._kernels.compilation import kernel
from localrank.measures._ties import RankedLists, tie_end
from localrank.measures.base import RelevanceMeasure


@dataclass(frozen=True, repr=False)
class Precision(RelevanceMeasure):
    """Share of relevant documents among the top `cutoff`.

    Parameters
    ----------
    cutoff : int, optional
        Number of top documents that count. None: all of the query.
    relevance_level : float, optional
        The smallest relevant label; `rel` in a name. None: every label above 0 is relevant.
    short : {"pad", "shrink"}
        The divisor for a query with fewer than `cutoff` documents. "pad": `cutoff`, as if the
        rest were irrelevant documents. "shrink": the number of its documents.
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
    >>> Precision(2)(dataset, [0.1, 0.9, 0.3]), Precision(5)(dataset, [0.1, 0.9, 0.3])
    (array([0.5]), array([0.4]))
    """

    name = "p"
    aliases = ("precision", "pre", "prec")
    conventions: ClassVar[dict[str, dict[str, Any]]] = {
        "letor3": {"ties": "input"},
        "letor4": {"ties": "input"},
        "trec_eval": {"ties": "document_id"},
        "ranklib": {"cutoff": 10, "short": "shrink", "ties": "input"},
        "xgboost": {"short": "shrink", "ties": "input"},
    }

    _parameters: ClassVar[Rules] = {"short": one_of("pad", "shrink")}

    short: Literal["pad", "shrink"] = field(default="pad", kw_only=True)

    def of_ranked(self, lists: RankedLists) -> Floats:
        sizes = np.diff(lists.offsets)
        hits: Floats = _hits(lists, self.threshold, self.depth)
        if self.cutoff is None or self.short == "shrink":
            return hits / np.minimum(sizes, self.depth)
        return hits / self.cutoff

    def definition(self) -> str:
        divisor = "the number of documents"
        if self.cutoff:
            divisor = str(self.cutoff)
            if self.short == "shrink":
                divisor += " or the number of documents, whichever is smaller"
        return (
            f"number of relevant documents{self._among()}, divided by {divisor}."
            f"\n{self._relevant()}"
        )


@kernel
def _hits(lists: RankedLists, threshold: float, depth: int) -> Floats:
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
            values[query] += relevant * (min(stop, cut) - start) / (stop - start)
            start = stop
    return values
