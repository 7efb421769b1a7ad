"""Expected reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import refuse
from localrank._kernels.compilation import kernel
from localrank.measures._ties import RankedLists, tie_end
from localrank.measures.base import CutMeasure, is_number


@dataclass(frozen=True, repr=False)
class ExpectedReciprocalRank(CutMeasure):
    """Expected 1 / rank of the document that satisfies a reader going down the list [1].

    A document of label y satisfies the reader with probability R = (2^y - 1) / 2^max_relevance.
    Otherwise the reader goes on.

    Parameters
    ----------
    cutoff : int, optional
        Number of documents that are read. None: all.
    max_relevance : float
        The largest label of the scale. The default of 4 is that of gdeval and RankLib. Larger
        labels are refused.
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
    conventions: ClassVar[dict[str, dict[str, Any]]] = {"ranklib": {"cutoff": 10, "ties": "input"}}

    max_relevance: float = field(default=4.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        largest = self.max_relevance
        if not is_number(largest) or not 0 < largest <= 1000:
            refuse(self, "max_relevance", "a number above 0, at most 1000")
        object.__setattr__(self, "max_relevance", float(largest))

    def of_ranked(self, lists: RankedLists) -> Floats:
        if (largest := lists.ideal[lists.offsets[:-1]].max()) > self.max_relevance:
            raise ValueError(
                f"Labels must be at most the 'max_relevance' of {self}, {self.max_relevance:g}. "
                f"The largest is {largest:g}: use max_relevance={largest:g}."
            )
        satisfied = (np.exp2(lists.labels) - 1) / np.exp2(self.max_relevance)
        values: Floats = _expected_reciprocal_rank(lists, satisfied, self.depth)
        values[lists.ideal[lists.offsets[:-1]] <= 0] = np.nan
        return values

    def definition(self) -> str:
        return (
            f"sum over the documents{self._among()} of R / rank times the product of (1 - R) of "
            f"those above, where R = (2^label - 1) / 2^{self.max_relevance:g}."
        )


@kernel
def _expected_reciprocal_rank(lists: RankedLists, satisfied: Floats, depth: int) -> Floats:
    tied, ends, offsets = lists.tied, lists.ends, lists.offsets
    values = np.empty(len(ends), np.float64)
    for query in range(len(ends)):
        begin = offsets[query]
        values[query] = 0.0
        reading = 1.0  # probability that nothing above has satisfied
        start, cut = begin, begin + min(ends[query] - begin, depth)
        while start < cut:
            stop = tie_end(tied, start, ends[query])
            if stop == start + 1:
                values[query] += reading * satisfied[start] / (stop - begin)
                reading *= 1.0 - satisfied[start]
            else:
                still = _mean_products(satisfied[start:stop], min(stop, cut) - start)
                for i in range(1, len(still)):
                    values[query] += reading * (still[i - 1] - still[i]) / (start - begin + i)
                reading *= still[-1]
            start = stop
    return values


@kernel
def _mean_products(satisfied: Floats, n_places: int) -> Floats:
    """Mean product of (1 - satisfied) over all choices of 0, 1, ..., n_places documents.

    Documents are taken in one at a time: of the choices of i among j documents the share i / j
    holds the last one. By Maclaurin's inequality the mean product of i is at most the mean to
    the power i, so places where that vanishes are not computed.
    """
    mean = 0.0
    j = 0  # documents so far: first those that never satisfy, whose product is 1
    for chance in satisfied:
        mean += (1.0 - chance) / len(satisfied)
        j += chance == 0
    if mean <= 0.0:
        n_places = 1
    elif mean < 1.0:
        n_places = min(n_places, int(-40.0 / np.log(mean)) + 1)
    products = np.ones(n_places + 1)
    for chance in satisfied:
        if chance > 0:
            j += 1
            for i in range(min(j, n_places), 0, -1):
                share = i / j
                products[i] = (1 - share) * products[i] + share * (1 - chance) * products[i - 1]
    return products
