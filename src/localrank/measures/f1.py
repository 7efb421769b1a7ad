"""F1, the harmonic mean of precision and recall."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, one_of
from localrank.measures._hits import hits
from localrank.measures._ties import RankedLists
from localrank.measures.base import CutMeasure, RelevanceMeasure
from localrank.measures.precision import divisors


@dataclass(frozen=True, repr=False)
class F1(CutMeasure, RelevanceMeasure):
    """Harmonic mean of the precision and the recall of the top `cutoff` documents.

    With h relevant documents among k, and R among all, it is 2 h / (k + R).

    Parameters
    ----------
    cutoff : int, optional
        Number of top documents that count. None: all that were retrieved.
    relevance_level : float, optional
        The smallest relevant label; `rel` in a name. None: every label above 0 is relevant.
    short : {"pad", "shrink"}
        The divisor of the precision for a query with fewer than `cutoff` retrieved documents.
        "pad": `cutoff`. "shrink": the number of retrieved documents.
    ties : {"averaged", "input", "pessimistic", "document_id"}
        How documents with equal scores count. "averaged": the mean over all their orders.
        "input": the order of the input. "pessimistic": the worst order. "document_id": descending
        document id, as in trec_eval.
    empty : 0.0, 1.0 or "skip"
        The value of a query without a relevant document. "skip": leave it out of the mean.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], y=[0, 1, 1], qid=[1, 1, 1])
    >>> F1(1)(dataset, [0.1, 0.9, 0.3]).round(4)  # precision 1, recall 1/2
    array([0.6667])
    """

    name = "f1"
    aliases = ("f1_score", "f_measure", "set_f", "setf")
    conventions: ClassVar[dict[str, dict[str, Any]]] = {"trec_eval": {"ties": "document_id"}}
    # trec_eval has set_F alone.
    uncut = ("trec_eval",)

    _parameters: ClassVar[Rules] = {"short": one_of("pad", "shrink")}

    short: Literal["pad", "shrink"] = field(default="pad", kw_only=True)

    def of_ranked(self, lists: RankedLists) -> Floats:
        found, relevant = hits(lists, self.threshold, self.depth, False)
        values: Floats = 2 * found / (divisors(lists, self.cutoff, self.short) + relevant)
        return values

    def definition(self) -> str:
        depth = "the number of retrieved documents"
        if self.cutoff:
            depth = str(self.cutoff)
            if self.short == "shrink":
                depth += " or the number of retrieved documents, whichever is smaller"
        return (
            f"2 h / (k + R), where h is the number of relevant documents{self._among()}, k is "
            f"{depth}, and R is the number of relevant documents.\n{self._relevant()}"
        )
