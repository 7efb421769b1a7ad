"""Precision among the first documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, one_of
from localrank.measures._hits import hits
from localrank.measures._ties import RankedLists
from localrank.measures.base import ABOVE_HALF, CutMeasure, RelevanceMeasure


@dataclass(frozen=True, repr=False)
class Precision(CutMeasure, RelevanceMeasure):
    """Share of relevant documents among the top `cutoff`.

    Parameters
    ----------
    cutoff : int, optional
        Number of top documents that count. None: all that were retrieved.
    relevance_level : float, optional
        The smallest relevant label; `rel` in a name. None: every label above 0 is relevant.
    short : {"pad", "shrink"}
        The divisor for a query with fewer than `cutoff` retrieved documents. "pad": `cutoff`, as
        if the rest were irrelevant documents. "shrink": the number of retrieved documents.
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
    aliases = ("precision", "pre", "prec", "set_p", "setp", "precisionat")
    conventions: ClassVar[dict[str, dict[str, Any]]] = {
        "letor3": {"ties": "input"},
        "letor4": {"ties": "input"},
        "trec_eval": {"ties": "document_id"},
        "ranklib": {"cutoff": 10, "short": "shrink", "ties": "input"},
        "xgboost": {"short": "shrink", "ties": "input"},
        "catboost": {"relevance_level": ABOVE_HALF, "short": "shrink", "ties": "pessimistic"},
    }

    _parameters: ClassVar[Rules] = {"short": one_of("pad", "shrink")}

    short: Literal["pad", "shrink"] = field(default="pad", kw_only=True)

    def of_ranked(self, lists: RankedLists) -> Floats:
        found, _ = hits(lists, self.threshold, self.depth, False)
        values: Floats = found / divisors(lists, self.cutoff, self.short)
        return values

    def definition(self) -> str:
        divisor = "the number of retrieved documents"
        if self.cutoff:
            divisor = str(self.cutoff)
            if self.short == "shrink":
                divisor += " or the number of retrieved documents, whichever is smaller"
        return (
            f"number of relevant documents{self._among()}, divided by {divisor}."
            f"\n{self._relevant()}"
        )


def divisors(lists: RankedLists, cutoff: int | None, short: str) -> Floats:
    """The divisor of the number of relevant documents at the top of each query."""
    if cutoff is not None and short == "pad":
        return np.full(len(lists.ends), float(cutoff))
    retrieved = lists.ends - lists.offsets[:-1]
    depths = retrieved if cutoff is None else np.minimum(retrieved, cutoff)
    # Nothing of nothing retrieved is 0 / 1.
    values: Floats = np.maximum(depths, 1).astype(np.float64)
    return values
