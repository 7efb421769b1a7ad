"""PFound: the probability that a reader finds what they look for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, number
from localrank._kernels.sorting import read_only
from localrank.measures._cascade import cascade
from localrank.measures._ties import RankedLists
from localrank.measures.base import CutMeasure, refuse_larger


@dataclass(frozen=True, repr=False)
class PFound(CutMeasure):
    """Probability that a reader going down the list is satisfied before giving up [1].

    A document of label y satisfies the reader with probability y / max_relevance. Otherwise the
    reader goes on to the next with probability `decay`.

    Parameters
    ----------
    cutoff : int, optional
        Number of documents that are read. None: all.
    decay : float
        Probability to go on after a document that did not satisfy.
    max_relevance : float
        The largest label of the scale; 1 in CatBoost. Larger labels are refused.
    ties : {"averaged", "input", "pessimistic", "document_id"}
        How documents with equal scores count. "averaged": the mean over all their orders.
        "input": the order of the input. "pessimistic": the worst order. "document_id": descending
        document id, as in trec_eval.
    empty : 0.0, 1.0 or "skip"
        The value of a query whose labels are all 0. "skip": leave it out of the mean.

    References
    ----------
    1. Gulin, Karpovich, Raskovalov, Segalovich. Yandex at ROMIP 2009: Optimization of Ranking
       Algorithms by Machine Learning Methods. ROMIP 2009.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0]], y=[2, 4], qid=[1, 1])
    >>> PFound()(dataset, [0.9, 0.1])  # 0.5 + 0.85 * 0.5 * 1
    array([0.925])
    """

    name = "pfound"
    conventions: ClassVar[dict[str, dict[str, Any]]] = {
        "catboost": {"max_relevance": 1.0, "ties": "pessimistic"}
    }

    _parameters: ClassVar[Rules] = {
        "decay": number(above=0, most=1),
        "max_relevance": number(above=0),
    }

    decay: float = field(default=0.85, kw_only=True)
    max_relevance: float = field(default=4.0, kw_only=True)

    def of_ranked(self, lists: RankedLists) -> Floats:
        best = lists.ideal[lists.offsets[:-1]]
        refuse_larger(self, best.max(), self.max_relevance)
        satisfied = read_only(lists.labels / self.max_relevance, np.float64)
        n_ranks = min(int(np.diff(lists.offsets).max()), self.depth)
        weights: Floats = np.float64(self.decay) ** np.arange(n_ranks)
        values: Floats = cascade(lists, satisfied, weights)
        values[best <= 0] = np.nan
        return values

    def definition(self) -> str:
        return (
            f"sum over the documents{self._among()} of R * {self.decay:g}^(rank - 1) times the "
            f"product of (1 - R) of those above, where R = label / {self.max_relevance:g}."
        )
