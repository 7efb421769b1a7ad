"""Expected reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, number, one_of
from localrank._kernels.sorting import read_only
from localrank.measures._cascade import cascade
from localrank.measures._ties import RankedLists
from localrank.measures.base import CutMeasure, refuse_larger


@dataclass(frozen=True, repr=False)
class ExpectedReciprocalRank(CutMeasure):
    """Expected 1 / rank of the document that satisfies a reader going down the list [1].

    A document satisfies the reader with a probability R that depends on its label. Otherwise the
    reader goes on.

    Parameters
    ----------
    cutoff : int, optional
        Number of documents that are read. None: all.
    max_relevance : float
        The largest label of the scale. The default of 4 is that of gdeval and RankLib. Larger
        labels are refused.
    gain : {"exponential", "linear"}
        R of a document with label y. "exponential": (2^y - 1) / 2^max_relevance [1]. "linear":
        y / max_relevance, as in CatBoost with max_relevance=1.
    ties : {"averaged", "input", "pessimistic", "document_id"}
        How documents with equal scores count. "averaged": the mean over all their orders.
        "input": the order of the input. "pessimistic": the worst order. "document_id": descending
        document id, as in trec_eval.
    empty : 0.0, 1.0 or "skip"
        The value of a query whose labels are all 0. "skip": leave it out of the mean.

    References
    ----------
    1. Chapelle, Metzler, Zhang, Grinspan. Expected Reciprocal Rank for Graded Relevance.
       CIKM 2009.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0]], y=[1, 4], qid=[1, 1])
    >>> ExpectedReciprocalRank()(dataset, [0.9, 0.1])  # 1/16 + (1 - 1/16) 15/16 / 2
    array([0.50195312])
    """

    name = "err"
    aliases = ("expected_reciprocal_rank",)
    conventions: ClassVar[dict[str, dict[str, Any]]] = {
        "ranklib": {"cutoff": 10, "ties": "input"},
        "catboost": {"gain": "linear", "max_relevance": 1.0, "ties": "pessimistic"},
    }

    _parameters: ClassVar[Rules] = {
        "max_relevance": number(above=0, most=1000),
        "gain": one_of("exponential", "linear"),
    }

    max_relevance: float = field(default=4.0, kw_only=True)
    gain: Literal["exponential", "linear"] = field(default="exponential", kw_only=True)

    def of_ranked(self, lists: RankedLists) -> Floats:
        best = lists.ideal[lists.offsets[:-1]]
        refuse_larger(self, best.max(), self.max_relevance)
        if self.gain == "linear":
            satisfied = lists.labels / self.max_relevance
        else:
            satisfied = (np.exp2(lists.labels) - 1) / np.exp2(self.max_relevance)
        n_ranks = min(int(np.diff(lists.offsets).max()), self.depth)
        weights = 1 / np.arange(1.0, n_ranks + 1)
        values: Floats = cascade(lists, read_only(satisfied, np.float64), weights)
        values[best <= 0] = np.nan
        return values

    def definition(self) -> str:
        chance = f"(2^label - 1) / 2^{self.max_relevance:g}"
        if self.gain == "linear":
            chance = f"label / {self.max_relevance:g}"
        return (
            f"sum over the documents{self._among()} of R / rank times the product of (1 - R) of "
            f"those above, where R = {chance}."
        )
