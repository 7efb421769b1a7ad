"""Rank-biased precision, and its residual."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, number
from localrank._kernels.compilation import kernel
from localrank.data import RankingDataset
from localrank.measures._ties import RankedLists, checked_scores, rank, tie_end
from localrank.measures.base import CutMeasure, RelevanceMeasure


@dataclass(frozen=True, repr=False)
class RankBiasedPrecision(CutMeasure, RelevanceMeasure):
    """Rate of relevant documents for a reader who goes on to the next with probability `p` [1].

    The document at rank r has the weight (1 - p) p^(r - 1). All weights add up to 1. `residual`
    gives the part of them that lies on documents nobody judged, or beyond the list: the value
    could be larger by that much, and not by more.

    Parameters
    ----------
    cutoff : int, optional
        Number of top documents that count. None: all.
    p : float
        Persistence: the probability to go on from one document to the next.
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
    1. Moffat, Zobel. Rank-Biased Precision for Measurement of Retrieval Effectiveness. TOIS 2008.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], y=[1, -1, 0], qid=[1, 1, 1])
    >>> measure = RankBiasedPrecision(p=0.5)
    >>> measure(dataset, [3, 2, 1])
    array([0.5])
    >>> measure.residual(dataset, [3, 2, 1])  # 1/4 at rank 2, 1/8 beyond rank 3
    array([0.375])
    """

    name = "rbp"
    aliases = ("rank_biased_precision", "rank-biased_precision")

    _parameters: ClassVar[Rules] = {"p": number(above=0, below=1)}

    p: float = field(default=0.8, kw_only=True)

    def of_ranked(self, lists: RankedLists) -> Floats:
        values: Floats = _rank_biased(lists, self.threshold, self.depth, self.p)[0]
        values[lists.ideal[lists.offsets[:-1]] < self.threshold] = np.nan
        return values

    def residual(self, dataset: RankingDataset, scores: ArrayLike) -> Floats:
        """The weight of unjudged documents and of ranks beyond the list, one value per query.

        Parameters
        ----------
        dataset : RankingDataset
            Queries with labels. A label below 0 means that nobody judged the document.
        scores : array-like of shape (n_documents,)
            Scores in the order of the input.

        Examples
        --------
        >>> from localrank.data import RankingDataset
        >>> dataset = RankingDataset.from_arrays([[0], [0]], y=[0, 1], qid=[1, 1])
        >>> RankBiasedPrecision(p=0.5).residual(dataset, [1, 2])
        array([0.25])
        """
        lists = rank(dataset, checked_scores(dataset, scores), self.ties)
        values: Floats = _rank_biased(lists, self.threshold, self.depth, self.p)[1]
        return values

    def definition(self) -> str:
        return (
            f"sum over the relevant documents{self._among()} of {1 - self.p:g} * "
            f"{self.p:g}^(rank - 1).\n{self._relevant()}"
        )


@kernel
def _rank_biased(
    lists: RankedLists, threshold: float, depth: int, p: float
) -> tuple[Floats, Floats]:
    """The weight of relevant documents; that of unjudged ones, and of ranks beyond the list."""
    labels, judged, tied, ends, offsets, _ = lists
    values = np.empty(len(ends), np.float64)
    residuals = np.empty(len(ends), np.float64)
    for query in range(len(ends)):
        begin = offsets[query]
        value, residual = 0.0, 0.0
        beyond = 1.0  # the weight of the ranks from here on
        start, cut = begin, begin + min(ends[query] - begin, depth)
        while start < cut:
            stop = tie_end(tied, start, ends[query])
            relevant, unjudged = 0, 0
            for i in range(start, stop):
                relevant += labels[i] >= threshold
                unjudged += not judged[i]
            weight = 0.0
            for _ in range(start, min(stop, cut)):
                weight += (1.0 - p) * beyond
                beyond *= p
            value += weight * relevant / (stop - start)
            residual += weight * unjudged / (stop - start)
            start = stop
        values[query] = value
        residuals[query] = residual + beyond
    return values, residuals
