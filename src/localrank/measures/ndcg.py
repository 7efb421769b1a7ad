"""Normalised discounted cumulative gain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, one_of
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.measures._ties import RankedLists, tie_end
from localrank.measures.base import CutMeasure

# Gains of higher labels may overflow.
_HIGHEST = 1000


@dataclass(frozen=True, repr=False)
class NDCG(CutMeasure):
    """Discounted gain of the top documents, divided by that of the ideal ranking.

    Parameters
    ----------
    cutoff : int, optional
        Number of top documents that count. None: all.
    gain : {"exponential", "linear"}
        The gain of a document with label y. "exponential": 2^y - 1 [1]. "linear": y [2].
    discount : {"log2", "letor"}
        The divisor of a gain. "log2": log2(1 + rank). "letor": 1 at ranks 1 and 2, then
        log2(rank).
    short : {"evaluate", "zero"}
        The value of a query with fewer than `cutoff` documents. "evaluate": the value on the
        documents it has. "zero": 0, as in LETOR 4's script.
    ties : {"averaged", "input", "pessimistic", "document_id"}
        How documents with equal scores count. "averaged": the mean over all their orders [3].
        "input": the order of the input. "pessimistic": the worst order. "document_id": descending
        document id, as in trec_eval.
    empty : 0.0, 1.0 or "skip"
        The value of a query whose labels are all 0. "skip": leave it out of the mean.

    References
    ----------
    1. Burges et al. Learning to Rank using Gradient Descent. ICML 2005.
    2. Järvelin, Kekäläinen. Cumulated Gain-based Evaluation of IR Techniques. TOIS 2002.
    3. McSherry, Najork. Computing Information Retrieval Performance Measures Efficiently
       in the Presence of Tied Scores. ECIR 2008.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], y=[2, 0, 1], qid=[1, 1, 1])
    >>> NDCG(3)(dataset, [0.1, 0.2, 0.3]).round(4)  # (1 + 3 / 2) / (3 + 1 / log2(3))
    array([0.6885])
    """

    name = "ndcg"
    aliases = ("ndcg_cut", "ndcg_burges", "ndcg_score", "normalized_discounted_cumulative_gain")
    conventions: ClassVar[dict[str, dict[str, Any]]] = {
        "letor3": {"discount": "letor", "ties": "input"},
        "letor4": {"discount": "letor", "short": "zero", "ties": "input"},
        "trec_eval": {"gain": "linear", "ties": "document_id"},
        "ranklib": {"cutoff": 10, "ties": "input"},
        "lightgbm": {"empty": 1.0, "ties": "input"},
        "xgboost": {"empty": 1.0, "ties": "input"},
        "sklearn": {"gain": "linear"},
        "catboost": {"gain": "linear", "empty": 1.0, "ties": "pessimistic"},
        "allrank": {"empty": 1.0, "ties": "input"},
    }

    _parameters: ClassVar[Rules] = {
        "gain": one_of("exponential", "linear"),
        "discount": one_of("log2", "letor"),
        "short": one_of("evaluate", "zero"),
    }

    gain: Literal["exponential", "linear"] = field(default="exponential", kw_only=True)
    discount: Literal["log2", "letor"] = field(default="log2", kw_only=True)
    short: Literal["evaluate", "zero"] = field(default="evaluate", kw_only=True)

    def of_ranked(self, lists: RankedLists) -> Floats:
        exponential = self.gain == "exponential"
        sizes = np.diff(lists.offsets)
        best = lists.ideal[lists.offsets[:-1]]
        if exponential and best.max() > _HIGHEST:
            # Relative to the highest gain of the query, which does not change the ratio.
            exponential, best = False, np.repeat(best, sizes)
            lists = lists._replace(
                labels=read_only(np.exp2(lists.labels - best) - np.exp2(-best), np.float64),
                ideal=read_only(np.exp2(lists.ideal - best) - np.exp2(-best), np.float64),
            )
        weights = self._weights(min(int(sizes.max()), self.depth))
        values: Floats = _ndcg(lists, weights, exponential)
        if self.short == "zero" and self.cutoff is not None:
            values[(sizes < self.cutoff) & ~np.isnan(values)] = 0.0
        return values

    def _weights(self, n_ranks: int) -> Floats:
        ranks = np.arange(1.0, n_ranks + 1)
        shifted = 1 + ranks if self.discount == "log2" else np.maximum(ranks, 2)
        weights: Floats = 1 / np.log2(shifted)
        return weights

    def definition(self) -> str:
        gain = "(2^label - 1)" if self.gain == "exponential" else "label"
        discount = "log2(1 + rank)" if self.discount == "log2" else "max(1, log2(rank))"
        text = (
            f"sum of {gain} / {discount} over the documents{self._among()}, divided by the same "
            "sum for the documents in descending order of their labels."
        )
        if self.short == "zero" and self.cutoff:
            text += f"\nA query with fewer than {self.cutoff} documents counts 0."
        return text


@kernel
def _ndcg(lists: RankedLists, weights: Floats, exponential: bool) -> Floats:
    labels, _, tied, ends, offsets, ideal = lists
    values = np.empty(len(ends), np.float64)
    for query in range(len(ends)):
        begin = offsets[query]
        best = 0.0
        for i in range(min(offsets[query + 1] - begin, len(weights))):
            label = ideal[begin + i]
            if label <= 0:
                break
            best += _gain(label, exponential) * weights[i]
        if best == 0:
            values[query] = np.nan
            continue
        total = 0.0
        start, cut = begin, min(ends[query], begin + len(weights))
        while start < cut:
            stop = tie_end(tied, start, ends[query])
            gain, weight = _gain(labels[start], exponential), weights[start - begin]
            if stop > start + 1:
                for i in range(start + 1, stop):
                    gain += _gain(labels[i], exponential)
                for i in range(start + 1, min(stop, cut)):
                    weight += weights[i - begin]
                gain /= stop - start
            total += gain * weight
            start = stop
        values[query] = total / best
    return values


@kernel
def _gain(label: float, exponential: bool) -> float:
    if not exponential:
        return label
    whole = int(label)
    if whole == label and whole < 63:
        return float((1 << whole) - 1)
    return float(2.0**label) - 1.0
