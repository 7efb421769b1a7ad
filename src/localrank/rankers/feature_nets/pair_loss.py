"""The logistic loss of all pairs of documents of each list, and its slope."""

from __future__ import annotations

from math import exp, log

import numpy as np

from localrank.arrays import Array, Floats, Integers
from localrank.kernels.compilation import kernel
from localrank.kernels.sorting import read_only

# Products are turned into logarithms before they grow out of bounds.
_LARGE = 1e200


def pair_loss(
    scores: Array, sizes: Integers, levels: Array, weights: Array
) -> tuple[Floats, Array]:
    """Σ_q w_q times the mean over the pairs of log(1 + exp(s_j - s_i)), and its slope.

    The pairs of a list are those with level i above level j. They are gone through one after
    another, and none is stored.

    Parameters
    ----------
    scores : ndarray of shape (n_documents, n_nets)
    sizes : ndarray of shape (n_lists,)
    levels : ndarray of shape (n_documents,)
    weights : ndarray of shape (n_lists,)

    Returns
    -------
    values : ndarray of shape (n_nets,)
    slopes : ndarray of shape (n_documents, n_nets)

    Examples
    --------
    >>> scores = np.array([[0.0], [0.0], [1.0]])
    >>> values, slopes = pair_loss(scores, np.array([3]), np.array([1.0, 0.0, 1.0]), np.ones(1))
    >>> values.round(3), slopes[:, 0].round(3)
    (array([0.503]), array([-0.25 ,  0.384, -0.134]))
    """
    slopes = np.zeros((scores.shape[1], len(scores)))
    values = _fill_slopes(
        read_only(scores.T, np.float64),
        read_only(np.append(0, np.cumsum(sizes)), np.int64),
        read_only(levels, np.float64),
        read_only(weights, np.float64),
        slopes,
    )
    return values, slopes.T.astype(scores.dtype)


@kernel
def _fill_slopes(
    scores: Floats, offsets: Integers, levels: Floats, weights: Floats, slopes: Floats
) -> Floats:
    values = np.zeros(len(scores))
    for net in range(len(scores)):
        for query in range(len(weights)):
            begin, end = offsets[query], offsets[query + 1]
            n_pairs, total, product = 0, 0.0, 1.0
            for i in range(begin, end):
                for j in range(begin, i):
                    if levels[i] == levels[j]:
                        continue
                    high, low = (i, j) if levels[i] > levels[j] else (j, i)
                    lead = scores[net, high] - scores[net, low]
                    small = exp(-abs(lead))
                    # The sum of log(1 + exp(-lead)), with few logarithms.
                    total += max(-lead, 0.0)
                    product *= 1.0 + small
                    if product > _LARGE:
                        total += log(product)
                        product = 1.0
                    # The share 1 / (1 + exp(lead)) by which the pair is wrong.
                    wrong = (small if lead > 0 else 1.0) / (1.0 + small)
                    slopes[net, high] -= wrong
                    slopes[net, low] += wrong
                    n_pairs += 1
            if n_pairs > 0:
                share = weights[query] / n_pairs
                values[net] += share * (total + log(product))
                slopes[net, begin:end] *= share
    return values
