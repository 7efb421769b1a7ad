"""Order error rate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.rules import refuse
from localrank._kernels.compilation import kernel
from localrank.measures._ties import RankedLists, tie_end
from localrank.measures.base import Empty, Measure, is_number


@dataclass(frozen=True, repr=False)
class OrderErrorRate(Measure):
    """Share of pairs with different labels whose lower label is ranked above the higher [1].

    Lower is better: 0 is a perfect ranking. A tied pair is half an error. Documents that were not
    retrieved are below all others and tied with each other.

    Parameters
    ----------
    high, low : float, optional
        Labels of the pairs that count. None: all pairs with different labels.
    ties : {"averaged", "input", "pessimistic", "document_id"}
        How documents with equal scores count. "averaged": half an error. "input": by the order
        of the input. "pessimistic": an error. "document_id": by descending document id, as in
        trec_eval.
    empty : "skip", 0.0 or 1.0
        The value of a query without such a pair. "skip": leave it out of the mean. The value 0
        would count a query in which nothing can go wrong as perfectly ranked.

    References
    ----------
    1. Qin, Liu, Lai, Zhang, Wang, Li. Ranking with Multiple Hyperplanes. SIGIR 2007.

    Examples
    --------
    >>> from localrank.data import RankingDataset
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], y=[2, 1, 0], qid=[1, 1, 1])
    >>> OrderErrorRate()(dataset, [0.5, 0.9, 0.5])  # one pair wrong, one tied, of three
    array([0.5])
    >>> OrderErrorRate(high=2, low=1)(dataset, [0.5, 0.9, 0.5])
    array([1.])
    """

    name = "oer"
    aliases = ("order_error_rate",)
    higher_is_better = False

    empty: Empty = field(default="skip", kw_only=True)
    high: float | None = field(default=None, kw_only=True)
    low: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.high is None and self.low is None:
            return
        for parameter, value in (("high", self.high), ("low", self.low)):
            if not is_number(value) or value < 0:
                refuse(self, parameter, "a label: 'high' and 'low' go together")
            object.__setattr__(self, parameter, float(value))
        if not (is_number(self.high) and is_number(self.low) and self.high > self.low):
            refuse(self, "high", f"larger than 'low', {self.low}")

    def of_ranked(self, lists: RankedLists) -> Floats:
        high = np.nan if self.high is None else self.high
        low = np.nan if self.low is None else self.low
        longest = int(np.diff(lists.offsets).max())
        values: Floats = _order_error_rate(lists, high, low, longest)
        return values

    def definition(self) -> str:
        pairs = "different labels"
        if self.high is not None:
            pairs = f"labels {self.high:g} and {self.low:g}"
        return f"share of pairs with {pairs} in which the lower label is ranked above the higher."

    def _needed(self) -> str:
        return "such a pair"


@kernel
def _order_error_rate(lists: RankedLists, high: float, low: float, longest: int) -> Floats:
    labels, _, tied, ends, offsets, ideal = lists
    values = np.empty(len(ends), np.float64)
    level = np.empty(longest, np.int64)
    distinct = np.empty(longest, np.float64)
    tree = np.empty(longest + 1, np.int64)
    every = np.isnan(high)
    for query in range(len(ends)):
        begin, n = offsets[query], offsets[query + 1] - offsets[query]
        n_levels, same, counted, pairs = 0, 0, 0, 0
        for i in range(n - 1, -1, -1):  # ascending labels
            label = ideal[begin + i]
            if not every and label != high and label != low:
                continue
            if n_levels == 0 or label != distinct[n_levels - 1]:
                distinct[n_levels] = label
                n_levels += 1
                same = 0
            pairs += counted - same
            counted += 1
            same += 1
        if pairs == 0:
            values[query] = np.nan
            continue
        for node in range(n_levels + 1):
            tree[node] = 0
        for i in range(n):
            level[i] = _find(distinct, n_levels, labels[begin + i])
        errors = 0.0
        i = 0
        while i < n:
            stop = n
            if begin + i < ends[query]:
                stop = tie_end(tied, begin + i, ends[query]) - begin
            # Pairs within a tie are in the count after its documents are added and not in the
            # one before, so the mean of both counts them half.
            errors += _lower_above(level, i, stop, tree) / 2
            _add(level, i, stop, tree, n_levels)
            errors += _lower_above(level, i, stop, tree) / 2
            i = stop
        values[query] = errors / pairs
    return values


@kernel
def _find(ascending: Floats, n: int, value: float) -> int:
    """The position of a value among the first n; -1 if it is not among them."""
    first, last = 0, n - 1
    while first < last:
        middle = (first + last) // 2
        if ascending[middle] < value:
            first = middle + 1
        else:
            last = middle
    return first if ascending[first] == value else -1


@kernel
def _lower_above(level: Integers, start: int, stop: int, tree: Integers) -> int:
    """The number of documents in the tree with a lower level, summed over the given ones."""
    total = 0
    for i in range(start, stop):
        node = level[i]
        while node > 0:
            total += tree[node]
            node -= node & -node
    return total


@kernel
def _add(level: Integers, start: int, stop: int, tree: Integers, n_levels: int) -> None:
    for i in range(start, stop):
        node = level[i] + 1
        while 0 < node <= n_levels:
            tree[node] += 1
            node += node & -node
