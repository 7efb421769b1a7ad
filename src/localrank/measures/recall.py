"""Recall among the first documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from localrank._base.arrays import Floats
from localrank.measures._hits import hits
from localrank.measures._ties import RankedLists
from localrank.measures.base import ABOVE_HALF, CutMeasure, RelevanceMeasure


@dataclass(frozen=True, repr=False)
class Recall(CutMeasure, RelevanceMeasure):
    """Share of the relevant documents that are among the top `cutoff`.

    Parameters
    ----------
    cutoff : int, optional
        Number of top documents that count. None: all that were retrieved.
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
    >>> Recall(2)(dataset, [0.1, 0.9, 0.3])
    array([0.5])
    """

    name = "recall"
    aliases = ("r", "rec", "set_recall", "setr", "recallat")
    conventions: ClassVar[dict[str, dict[str, Any]]] = {
        "trec_eval": {"ties": "document_id"},
        "catboost": {"relevance_level": ABOVE_HALF, "empty": 1.0, "ties": "pessimistic"},
    }

    def of_ranked(self, lists: RankedLists) -> Floats:
        found, relevant = hits(lists, self.threshold, self.depth, False)
        values: Floats = found / relevant
        return values

    def definition(self) -> str:
        among = self._among() or " among those retrieved"
        return (
            f"number of relevant documents{among}, divided by the number of relevant documents."
            f"\n{self._relevant()}"
        )
