"""Average precision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, one_of, refuse
from localrank._kernels.compilation import kernel
from localrank.measures._ties import TIE_RULES, RankedLists, tie_end
from localrank.measures.base import ABOVE_HALF, CutMeasure, RelevanceMeasure


@dataclass(frozen=True, repr=False)
class AveragePrecision(CutMeasure, RelevanceMeasure):
    """Mean precision at the ranks of the relevant documents; its mean over queries is MAP.

    Parameters
    ----------
    cutoff : int, optional
        Number of top documents that count. None: all.
    relevance_level : float, optional
        The smallest relevant label; `rel` in a name. None: every label above 0 is relevant.
    denominator : {"relevant", "reachable"}
        The divisor. "relevant": the number of relevant documents. "reachable": that number, but
        at most `cutoff`.
    ties : {"averaged", "input", "pessimistic", "document_id", "threshold"}
        How documents with equal scores count. "averaged": the mean over all their orders [1].
        "input": the order of the input. "pessimistic": the worst order. "document_id": descending
        document id, as in trec_eval. "threshold": each has the precision at the end of the tie,
        as in scikit-learn.
    empty : 0.0, 1.0 or "skip"
        The value of a query without a relevant document. "skip": leave it out of the mean.

    References
    ----------
    1. McSherry, Najork. Computing Information Retrieval Performance Measures Efficiently
       in the Presence of Tied Scores. ECIR 2008.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], y=[1, 0, 1], qid=[1, 1, 1])
    >>> AveragePrecision()(dataset, [0.1, 0.2, 0.3]).round(4)  # (1 + 2 / 3) / 2
    array([0.8333])
    """

    name = "map"
    aliases = ("ap", "map_cut", "average_precision", "mean_average_precision")
    conventions: ClassVar[dict[str, dict[str, Any]]] = {
        "letor3": {"ties": "input"},
        "letor4": {"ties": "input"},
        "trec_eval": {"ties": "document_id"},
        "ranklib": {"ties": "input"},
        "lightgbm": {"denominator": "reachable", "empty": 1.0, "ties": "input"},
        "xgboost": {"denominator": "reachable", "empty": 1.0, "ties": "input"},
        "sklearn": {"ties": "threshold"},
        "catboost": {
            "denominator": "reachable",
            "relevance_level": ABOVE_HALF,
            "ties": "pessimistic",
        },
    }
    # RankLib ignores its cutoff, scikit-learn has none.
    uncut = ("ranklib", "sklearn")
    tie_rules: ClassVar[dict[str, str]] = TIE_RULES | {
        "threshold": "Documents with equal scores all have the precision at the end of their tie."
    }

    _parameters: ClassVar[Rules] = {"denominator": one_of("relevant", "reachable")}

    denominator: Literal["relevant", "reachable"] = field(default="relevant", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ties == "threshold" and self.cutoff is not None:
            refuse(self, "cutoff", "None with ties='threshold'")

    def of_ranked(self, lists: RankedLists) -> Floats:
        values: Floats = _average_precision(
            lists,
            self.threshold,
            self.depth,
            self.denominator == "reachable",
            self.ties == "threshold",
        )
        return values

    def definition(self) -> str:
        divisor = "the number of relevant documents"
        if self.denominator == "reachable":
            divisor += f", at most {self.cutoff}" if self.cutoff else ""
        return (
            f"sum of the precision at the rank of each relevant document{self._among()}, "
            f"divided by {divisor}.\n{self._relevant()}"
        )


@kernel
def _average_precision(
    lists: RankedLists, threshold: float, depth: int, reachable: bool, at_end: bool
) -> Floats:
    labels, _, tied, ends, offsets, ideal = lists
    values = np.empty(len(ends), np.float64)
    for query in range(len(ends)):
        begin, end = offsets[query], offsets[query + 1]
        n_relevant = 0
        while begin + n_relevant < end and ideal[begin + n_relevant] >= threshold:
            n_relevant += 1
        if n_relevant == 0:
            values[query] = np.nan
            continue
        total = 0.0
        above = 0  # relevant documents so far
        start, cut = begin, begin + min(ends[query] - begin, depth)
        while start < cut and above < n_relevant:
            stop = tie_end(tied, start, ends[query])
            relevant = int(labels[start] >= threshold)
            for i in range(start + 1, stop):
                relevant += labels[i] >= threshold
            if stop == start + 1:
                total += relevant * (above + 1) / (stop - begin)
            elif at_end:
                total += relevant * (above + relevant) / (stop - begin)
            elif relevant > 0:
                # Of the j places before a relevant document within the tie, the share
                # (relevant - 1) / (n_tied - 1) holds a relevant one on average.
                n_tied = stop - start
                share = (relevant - 1) / (n_tied - 1)
                precisions = 0.0
                for i in range(start, min(stop, cut)):
                    precisions += (above + 1 + (i - start) * share) / (i - begin + 1)
                total += precisions * relevant / n_tied
            above += relevant
            start = stop
        values[query] = total / (min(n_relevant, depth) if reachable else n_relevant)
    return values
