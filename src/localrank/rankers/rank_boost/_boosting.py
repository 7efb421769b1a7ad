"""Weights of all document pairs by sums over documents, and the thresholds that split them best.

Within a query, a pair of a document i and one with a lower label j weighs

    D(i, j) = w exp(H_j - H_i)

for scores H and the query's weight w. It factorises, so that the weight of all pairs of a
document is one product, whatever the number of pairs. Rows stand query by query and within a
query by ascending label; a run of rows with one query and label is a level.
"""

from __future__ import annotations

from math import exp

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only

# falls exp(A_s - H_i) per document, factors exp(log w + B_{s-1} - A_s) and decays
# exp(B_{s-1} - B_s) per level, rises exp(H_j - B_t) per document: see PairWeights.
Products = tuple[Floats, ...]


class PairWeights:
    """The pairs' weights under given scores, in product form.

    Number the levels of a query upwards. With B_s the largest score of level s and below, and
    A_s the smallest of level s and above, a pair of i in level s and j in level t < s weighs

        D(i, j) = exp(A_s - H_i) * exp(log w + B_{s-1} - A_s) * exp(B_t - B_{s-1}) * exp(H_j - B_t).

    No exponent but the second can be positive, and that one is the logarithm of a pair's weight:
    nothing overflows while the sum of all weights does not.

    Parameters
    ----------
    levels : ndarray of shape (n_levels + 1,)
        Where each level's rows begin, and the end.
    queries : ndarray of shape (n_queries + 1,)
        Where each query's levels begin, and the end.
    log_weights : ndarray of shape (n_queries,)

    Examples
    --------
    Labels 0, 1, 2 of one query, and scores that have the upper two the wrong way round:

    >>> weights = PairWeights(np.array([0, 1, 2, 3]), np.array([0, 3]), np.zeros(1))
    >>> total = weights.update(np.log([1.0, 4.0, 2.0]))
    >>> round(total, 9)  # 1/4 + 1/2 + 4/2
    2.75
    >>> weights.potentials.round(9)
    array([-0.75, -1.75,  2.5 ])
    >>> weights.split(np.array([0, 1, 1]), 0)  # the upper two from the lowest
    (0.75, 0.0)
    """

    def __init__(
        self,
        levels: Integers,
        queries: Integers,
        log_weights: Floats,
    ) -> None:
        self._levels = read_only(levels, np.int64)
        self._queries = read_only(queries, np.int64)
        self._log_weights = read_only(log_weights, np.float64)
        self.potentials = np.zeros(levels[-1])
        n_levels = len(levels) - 1
        sizes = (levels[-1], n_levels, n_levels, levels[-1])
        self._products: Products = tuple(np.zeros(size) for size in sizes)

    def update(self, scores: Floats) -> float:
        """Weigh the pairs under new scores; return the sum of all weights.

        The potential of a document is the weight of its pairs with lower documents less that of
        its pairs with higher ones.
        """
        total: float = _weigh(
            read_only(scores, np.float64),
            self._levels,
            self._queries,
            self._log_weights,
            self._products,
            self.potentials,
        )
        return total

    def split(self, bins: Array, threshold: int) -> tuple[float, float]:
        """Weight of the pairs with the upper document alone above a threshold, or the lower."""
        right, wrong = _split(
            read_only(bins, bins.dtype),
            threshold,
            self._levels,
            self._queries,
            self._products,
        )
        return right, wrong


def best_threshold(
    bins: Array, n_bins: Integers, potentials: Floats, tolerance: float
) -> tuple[int, int]:
    """The feature and bin b with the largest |sum of the potentials of rows in bins above b|.

    Of sums that differ by no more than `tolerance` the first counts, by feature, then by bin, so
    that rounding does not decide between equals. Both are -1 where no sum exceeds `tolerance`.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_documents)
        Unsigned integers.
    n_bins : ndarray of shape (n_features,)
    potentials : ndarray of shape (n_documents,)
        With sum 0.
    tolerance : float

    Examples
    --------
    >>> bins = np.array([[0, 0, 0], [0, 1, 2]], np.uint8)
    >>> best_threshold(bins, np.array([1, 3]), np.array([-2.0, -1.0, 3.0]), 1e-12)
    (1, 1)
    """
    feature, threshold = _best_threshold(
        read_only(bins, bins.dtype),
        read_only(n_bins, np.int64),
        read_only(potentials, np.float64),
        tolerance,
    )
    return feature, threshold


@kernel
def _weigh(
    scores: Floats,
    levels: Integers,
    queries: Integers,
    log_weights: Floats,
    products: Products,
    potentials: Floats,
) -> float:
    """Fill the products and the potentials; return the sum of all weights."""
    falls, factors, decays, rises = products
    total = 0.0
    smallest, above = np.empty(len(factors)), np.empty(len(factors))
    for query in range(len(queries) - 1):
        first, last = queries[query], queries[query + 1] - 1

        # Downwards: A_s, and the sum of exp(A_s - H_i) over level s and those above it.
        least, reached = np.inf, 0.0
        for level in range(last, first, -1):
            begin, end = levels[level], levels[level + 1]
            before = least
            for i in range(begin, end):
                least = min(least, scores[i])
            reached *= exp(least - before)
            for i in range(begin, end):
                falls[i] = exp(least - scores[i])
                reached += falls[i]
            smallest[level], above[level] = least, reached

        # Upwards: B_s, and the sum of exp(H_j - B_s) over level s and those below it.
        largest, below = -np.inf, 0.0
        for level in range(first, last + 1):
            begin, end = levels[level], levels[level + 1]
            to_lower = factors[level] * below if level > first else 0.0
            for i in range(begin, end):
                potentials[i] = to_lower * falls[i]
                total += potentials[i]
            if level == last:
                break
            before = largest
            for i in range(begin, end):
                largest = max(largest, scores[i])
            decays[level] = exp(before - largest)
            factors[level + 1] = exp(log_weights[query] + largest - smallest[level + 1])
            to_higher = factors[level + 1] * above[level + 1]
            below *= decays[level]
            for i in range(begin, end):
                rises[i] = exp(scores[i] - largest)
                below += rises[i]
                potentials[i] -= to_higher * rises[i]
    return total


@kernel
def _split(
    bins: Array, threshold: int, levels: Integers, queries: Integers, products: Products
) -> tuple[float, float]:
    falls, factors, decays, rises = products
    right, wrong = 0.0, 0.0
    for query in range(len(queries) - 1):
        first, last = queries[query], queries[query + 1] - 1
        # Sums over the lower levels, of documents above the threshold and of the others.
        high, low = 0.0, 0.0
        for level in range(first, last + 1):
            begin, end = levels[level], levels[level + 1]
            if level > first:
                upper_high, upper_low = 0.0, 0.0
                for i in range(begin, end):
                    if bins[i] > threshold:
                        upper_high += falls[i]
                    else:
                        upper_low += falls[i]
                right += factors[level] * low * upper_high
                wrong += factors[level] * high * upper_low
            if level < last:
                high *= decays[level]
                low *= decays[level]
                for i in range(begin, end):
                    if bins[i] > threshold:
                        high += rises[i]
                    else:
                        low += rises[i]
    return right, wrong


@kernel
def _best_threshold(
    bins: Array, n_bins: Integers, potentials: Floats, tolerance: float
) -> tuple[int, int]:
    n_documents = len(potentials)
    feature, threshold, largest = -1, -1, 0.0
    # Neighbouring rows often share a bin: four histograms in turn, so that an addition does not
    # wait for the one before.
    size = n_bins.max()
    a, b, c, d = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    for column in range(len(bins)):
        row = bins[column]
        size = n_bins[column]
        if size < 2:
            continue
        for k in range(size):
            a[k] = b[k] = c[k] = d[k] = 0.0
        whole = n_documents - n_documents % 4
        for i in range(0, whole, 4):
            a[row[i]] += potentials[i]
            b[row[i + 1]] += potentials[i + 1]
            c[row[i + 2]] += potentials[i + 2]
            d[row[i + 3]] += potentials[i + 3]
        for i in range(whole, n_documents):
            a[row[i]] += potentials[i]
        # All potentials sum to 0: those above a bin are the negative of those up to it.
        up_to = 0.0
        for k in range(size - 1):
            up_to += (a[k] + b[k]) + (c[k] + d[k])
            if abs(up_to) > largest + tolerance:
                feature, threshold, largest = column, k, abs(up_to)
    return feature, threshold
