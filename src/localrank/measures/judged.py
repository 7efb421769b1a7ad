"""Judged: how much of the top of a list somebody has judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Floats
from localrank._kernels.compilation import kernel
from localrank.measures._ties import RankedLists, tie_end
from localrank.measures.base import CutMeasure


@dataclass(frozen=True, repr=False)
class Judged(CutMeasure):
    """Share of the top `cutoff` documents that somebody judged: their label is not negative.

    It says nothing about quality. Where it is low, other measures count many documents as not
    relevant that nobody has looked at. A list of fewer than `cutoff` documents divides by their
    number, as in ir_measures.

    Parameters
    ----------
    cutoff : int, optional
        Number of top documents that count. None: all that were retrieved.
    ties : {"averaged", "input", "pessimistic", "document_id"}
        How documents with equal scores count. "averaged": the mean over all their orders.
        "input": the order of the input. "pessimistic": unjudged documents first. "document_id":
        descending document id, as in trec_eval.
    empty : 0.0, 1.0 or "skip"
        The value of a query without a judged document. "skip": leave it out of the mean.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], y=[1, -1, 0], qid=[1, 1, 1])
    >>> Judged(2)(dataset, [0.1, 0.9, 0.3])
    array([0.5])
    """

    name = "judged"
    aliases = ("judged_at", "judgment_rate")

    def of_ranked(self, lists: RankedLists) -> Floats:
        values: Floats = _judged(lists, self.depth)
        return values

    def definition(self) -> str:
        among = self._among() or " among those retrieved"
        return f"share of judged documents{among}.\nJudged: label >= 0."

    def _needed(self) -> str:
        return "a judged document"


@kernel
def _judged(lists: RankedLists, depth: int) -> Floats:
    _, judged, tied, ends, offsets, _ = lists
    values = np.empty(len(ends), np.float64)
    for query in range(len(ends)):
        begin = offsets[query]
        some = False
        for i in range(begin, offsets[query + 1]):
            some = some or judged[i]
        if not some:
            values[query] = np.nan
            continue
        total = 0.0
        start, cut = begin, begin + min(ends[query] - begin, depth)
        while start < cut:
            stop = tie_end(tied, start, ends[query])
            count = 0
            for i in range(start, stop):
                count += judged[i]
            total += count * (min(stop, cut) - start) / (stop - start)
            start = stop
        values[query] = total / (cut - begin) if cut > begin else 0.0
    return values
