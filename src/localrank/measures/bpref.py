"""Bpref: how many judged irrelevant documents are above the relevant ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Floats
from localrank._kernels.compilation import kernel
from localrank.measures._ties import RankedLists, tie_end
from localrank.measures.base import RelevanceMeasure


@dataclass(frozen=True, repr=False)
class Bpref(RelevanceMeasure):
    """Binary preference: relevant documents above judged irrelevant ones [1].

    With R relevant and N judged irrelevant documents, a retrieved relevant document with n judged
    irrelevant ones above it counts 1 - min(n, R) / min(N, R). The sum is divided by R, as in
    trec_eval. Documents that nobody judged, which are those with a negative label, do not count:
    the value is stable where judgments are incomplete.

    Parameters
    ----------
    relevance_level : float, optional
        The smallest relevant label; `rel` in a name. None: every label above 0 is relevant.
    ties : {"averaged", "input", "pessimistic", "document_id"}
        How documents with equal scores count. "averaged": the mean over all their orders.
        "input": the order of the input. "pessimistic": the worst order. "document_id": descending
        document id, as in trec_eval.
    empty : 0.0, 1.0 or "skip"
        The value of a query without a relevant document. "skip": leave it out of the mean.

    References
    ----------
    1. Buckley, Voorhees. Retrieval Evaluation with Incomplete Information. SIGIR 2004.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> labels = [0, 1, -1, 1, 0]
    >>> dataset = RankingDataset.from_arrays(np.zeros((5, 0)), y=labels, qid=[1] * 5)
    >>> Bpref()(dataset, [5, 4, 3, 2, 1])  # each relevant one has one of two above it
    array([0.5])
    """

    name = "bpref"
    aliases = ("binary_preference",)
    conventions: ClassVar[dict[str, dict[str, Any]]] = {"trec_eval": {"ties": "document_id"}}

    def of_ranked(self, lists: RankedLists) -> Floats:
        values: Floats = _bpref(lists, self.threshold)
        return values

    def definition(self) -> str:
        return (
            "sum over the retrieved relevant documents of 1 - min(n, R) / min(N, R), divided by "
            "R, where n is the number of judged irrelevant documents above it, N that of all, "
            "and R the number of relevant documents."
            f"\n{self._relevant()}\nJudged: label >= 0."
        )


@kernel
def _bpref(lists: RankedLists, threshold: float) -> Floats:
    labels, judged, tied, ends, offsets, ideal = lists
    values = np.empty(len(ends), np.float64)
    for query in range(len(ends)):
        begin, end = offsets[query], offsets[query + 1]
        n_relevant, n_judged = 0, 0
        for i in range(begin, end):
            n_relevant += ideal[i] >= threshold
            n_judged += judged[i]
        if n_relevant == 0:
            values[query] = np.nan
            continue
        most = min(n_judged - n_relevant, n_relevant)
        total = 0.0
        above = 0  # judged irrelevant documents so far
        start = begin
        while start < ends[query]:
            stop = tie_end(tied, start, ends[query])
            relevant, others = 0, 0
            for i in range(start, stop):
                relevant += labels[i] >= threshold
                others += judged[i] and labels[i] < threshold
            if relevant > 0:
                lost = 0.0
                if most > 0:
                    # Of the irrelevant documents of the tie, 0, 1, ... or all of them are above a
                    # relevant one, equally likely.
                    for n in range(above, above + others + 1):
                        lost += min(n, n_relevant)
                    lost /= (others + 1) * most
                total += relevant * (1.0 - lost)
            above += others
            start = stop
        values[query] = total / n_relevant
    return values
