"""INST: an adaptive measure of a user who wants a number of relevant documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.rules import Rules, number
from localrank._kernels.compilation import inner_kernel, kernel
from localrank.measures._ties import TIE_RULES, RankedLists
from localrank.measures.base import Measure, RelevanceMeasure


@dataclass(frozen=True, repr=False)
class INST(RelevanceMeasure):
    """Rate of relevant documents for a reader who wants `target` of them, and adapts [1].

    After rank i, with t relevant documents still wanted, the reader goes on with probability
    ((i + T + t - 1) / (i + T + t))², where T is the target: more of the wanted documents above
    make the reader stop earlier. The weight of a rank is the share of all documents read that are
    read there. Beyond the list the reader finds nothing, and goes on without an end.

    The weights depend on the order of the documents above, so ties cannot be averaged in closed
    form: the default is the worst document first.

    Parameters
    ----------
    target : float
        Number of relevant documents that the reader wants, at least 1/2; `T` in a name.
    relevance_level : float, optional
        The smallest relevant label; `rel` in a name. None: every label above 0 is relevant.
    ties : {"pessimistic", "input", "document_id"}
        The order of documents with equal scores. "pessimistic": lower labels first. "input": the
        order of the input. "document_id": descending document id, as in trec_eval.
    empty : 0.0, 1.0 or "skip"
        The value of a query without a relevant document. "skip": leave it out of the mean.

    References
    ----------
    1. Moffat, Bailey, Scholer, Thomas. INST: An Adaptive Metric for Information Retrieval
       Evaluation. ADCS 2015.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], y=[1, 0, 1], qid=[1, 1, 1])
    >>> INST()(dataset, [3, 2, 1]).round(4), INST(target=2)(dataset, [3, 2, 1]).round(4)
    (array([0.7231]), array([0.4254]))
    """

    name = "inst"
    short_names: ClassVar[dict[str, str]] = Measure.short_names | {"target": "t"}
    tie_rules: ClassVar[dict[str, str]] = {
        rule: words for rule, words in TIE_RULES.items() if rule != "averaged"
    }

    _parameters: ClassVar[Rules] = {"target": number(least=0.5)}

    ties: str = field(default="pessimistic", kw_only=True)
    target: float = field(default=1.0, kw_only=True)

    def of_ranked(self, lists: RankedLists) -> Floats:
        values: Floats = _inst(lists, self.threshold, float(self.target))
        return values

    def definition(self) -> str:
        return (
            "sum of the weights of the ranks with a relevant document. The weight of rank i + 1 "
            "is that of rank i times ((i + T + t - 1) / (i + T + t))^2, with "
            f"T = {self.target:g} and t = T minus the relevant documents down to rank i; all "
            f"weights, without an end of the list, add up to 1.\n{self._relevant()}"
        )


@kernel
def _inst(lists: RankedLists, threshold: float, target: float) -> Floats:
    labels, _, _, ends, offsets, ideal = lists
    values = np.empty(len(ends), np.float64)
    for query in range(len(ends)):
        begin = offsets[query]
        if ideal[begin] < threshold:
            values[query] = np.nan
            continue
        gained, total, weight = 0.0, 0.0, 1.0
        wanted = target
        for i in range(begin, ends[query]):
            total += weight
            if labels[i] >= threshold:
                gained += weight
                wanted -= 1.0
            place = (i - begin + 1) + target + wanted
            weight *= ((place - 1.0) / place) ** 2
        # From rank n + 1 on nothing changes: with x = n + T + t, rank n + 1 + k has the weight of
        # rank n + 1 times (x / (x + k))², and the sum over k is x² trigamma(x).
        place = (ends[query] - begin) + target + wanted
        total += weight * place**2 * _trigamma(place)
        values[query] = gained / total
    return values


@inner_kernel
def _trigamma(x: float) -> float:
    """The sum of 1 / (x + k)² over k = 0, 1, ..., for x > 0."""
    total = 0.0
    while x < 12.0:
        total += 1.0 / x**2
        x += 1.0
    y = 1.0 / x**2
    series = y * (1 / 6 - y * (1 / 30 - y * (1 / 42 - y * (1 / 30 - y * 5 / 66))))
    return total + 1.0 / x + y / 2 + series / x
