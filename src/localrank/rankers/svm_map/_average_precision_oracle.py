"""The rankings that violate an average-precision margin most, all queries at once.

A query has a relevant documents with scores s_1 >= ... >= s_a and b irrelevant ones with scores
t_1 >= ... >= t_b. Of all its rankings one that maximises loss + margin violation,

    1 - AP(ranking) - 2/(ab) * sum of (s_m - t_j) over the pairs ranked the wrong way round,

keeps both kinds in the order of their scores [1]_, so it is given by k_j, the number of relevant
documents above irrelevant document j. The j-th irrelevant document above relevant document m
lowers its precision from m/(m+j-1) to m/(m+j), so the objective is a sum over j of
D_j(a) - D_j(k_j) with

    D_j(k) = sum over m <= k of 1/a (m/(m+j-1) - m/(m+j)) - 2/(ab) (s_m - t_j)
           = 1/a (H(k+j-1) - H(j-1) + j/(k+j) - 1) - 2/(ab) (s_1 + ... + s_k - k t_j)

with harmonic numbers H: each D_j(k) takes constant time. Terms of the sum fall with j, so the
best k_j rises with j: the best place of the middle document bounds those of all others, and
halving finds every place in O(b + a log b).

.. [1] Yue, Finley, Radlinski, Joachims. A Support Vector Method for Optimizing Average
   Precision. SIGIR 2007.
"""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.sorting import read_only, sort_rows


def most_violated_rankings(
    scores: Floats, offsets: Integers, n_relevant: Integers
) -> tuple[Floats, Floats]:
    """Loss of each query's most violated ranking, and what its documents contribute to it.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,)
        By query, each query's relevant documents before its irrelevant ones.
    offsets : ndarray of shape (n_queries + 1,)
        Where each query's rows begin, and the end.
    n_relevant : ndarray of shape (n_queries,)
        Relevant documents of each query, at least one and not all.

    Returns
    -------
    losses : ndarray of shape (n_queries,)
        1 - average precision of the ranking.
    contributions : ndarray of shape (n_documents,)
        With x the features of the documents, the sum of contribution * x over a query is
        Psi(x, ranking) - Psi(x, ideal ranking); with the scores for x it is the violation.

    Examples
    --------
    One relevant document scored just above the two irrelevant ones: all that is gained by
    ranking it last is loss, 2/3, and the scores hardly matter.

    >>> losses, contributions = most_violated_rankings(
    ...     np.array([0.1, 0.0, 0.0]), np.array([0, 3]), np.array([1])
    ... )
    >>> losses.round(4), contributions
    (array([0.6667]), array([-2.,  1.,  1.]))
    """
    longest = int(np.diff(offsets).max())
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, longest + 1))])
    losses, contributions = _most_violated(
        read_only(scores, np.float64),
        read_only(offsets, np.int64),
        read_only(n_relevant, np.int64),
        read_only(harmonic, np.float64),
    )
    return losses, contributions


@kernel
def _most_violated(
    scores: Floats, offsets: Integers, n_relevant: Integers, harmonic: Floats
) -> tuple[Floats, Floats]:
    longest = len(harmonic) - 1
    losses = np.empty(len(n_relevant), np.float64)
    contributions = np.empty(len(scores), np.float64)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    places = np.empty(longest + 2, np.int64)
    sums = np.empty(longest + 1, np.float64)
    for query in range(len(n_relevant)):
        begin, end = offsets[query], offsets[query + 1]
        a = n_relevant[query]
        b = end - begin - a
        relevant, irrelevant = order[:a], order[a : a + b]
        sort_rows(scores, begin, begin + a, relevant, spare)
        sort_rows(scores, begin + a, end, irrelevant, spare)
        sums[0] = 0.0
        for m in range(a):
            sums[m + 1] = sums[m] + scores[relevant[m]]
        _best_places(scores, irrelevant, sums[: a + 1], harmonic, places)
        losses[query] = _contribute(relevant, irrelevant, places, harmonic, contributions)
    return losses, contributions


@inner_kernel
def _best_places(
    scores: Floats, irrelevant: Integers, sums: Floats, harmonic: Floats, places: Integers
) -> None:
    """Fill places[1], ..., places[b] with the smallest k_j that minimises a * D_j."""
    a, b = len(sums) - 1, len(irrelevant)
    per_score = 2.0 / b
    places[0], places[b + 1] = 0, a
    stride = 1
    while 2 * stride <= b:
        stride *= 2
    while stride > 0:
        for j in range(stride, b + 1, 2 * stride):
            low, high = places[j - stride], places[min(j + stride, b + 1)]
            score = scores[irrelevant[j - 1]]
            best, least = low, np.inf
            for k in range(low, high + 1):
                value = harmonic[k + j - 1] + j / (k + j) - per_score * (sums[k] - k * score)
                if value < least:
                    best, least = k, value
            places[j] = best
        stride //= 2


@inner_kernel
def _contribute(
    relevant: Integers,
    irrelevant: Integers,
    places: Integers,
    harmonic: Floats,
    contributions: Floats,
) -> float:
    """Fill in the contributions of one query's documents; return the loss of its ranking."""
    a, b = len(relevant), len(irrelevant)
    unit = 2.0 / (a * b)
    precisions = 0.0
    above = 0  # irrelevant documents above relevant document m
    for m in range(1, a + 1):
        while above < b and places[above + 1] < m:
            contributions[irrelevant[above]] = unit * (a - places[above + 1])
            above += 1
        contributions[relevant[m - 1]] = -unit * above
        precisions += m / (m + above)
    while above < b:
        contributions[irrelevant[above]] = 0.0
        above += 1
    return 1.0 - precisions / a
