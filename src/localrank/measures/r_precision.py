"""R-precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from localrank._base.arrays import Floats
from localrank.measures._hits import hits
from localrank.measures._ties import RankedLists
from localrank.measures.base import RelevanceMeasure


@dataclass(frozen=True, repr=False)
class RPrecision(RelevanceMeasure):
    """Precision among the first R documents, where R is the number of relevant ones.

    At this depth, precision and recall are equal.

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

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], y=[1, 0, 1], qid=[1, 1, 1])
    >>> RPrecision()(dataset, [0.1, 0.9, 0.3])
    array([0.5])
    """

    name = "rprec"
    aliases = ("r_precision", "r-precision", "rprecision")
    conventions: ClassVar[dict[str, dict[str, Any]]] = {"trec_eval": {"ties": "document_id"}}

    def of_ranked(self, lists: RankedLists) -> Floats:
        found, relevant = hits(lists, self.threshold, 0, True)
        values: Floats = found / relevant
        return values

    def definition(self) -> str:
        return (
            "number of relevant documents among the first R, divided by R, the number of all "
            f"relevant documents.\n{self._relevant()}"
        )
