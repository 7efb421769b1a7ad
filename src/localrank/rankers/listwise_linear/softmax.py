"""Softmax over the documents of each query."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Floats, Integers
from localrank.kernels.compilation import kernel
from localrank.kernels.offsets import longest_query


# Sums may be taken in another order, which lets them use vector instructions.
@kernel(fastmath={"reassoc", "contract"})
def cross_entropy(
    features: Floats, offsets: Integers, targets: Floats, weights: Floats, direction: Floats
) -> tuple[float, Floats]:
    """The weighted sum over queries of -Σ t_i log softmax(X w)_i, and its gradient in w.

    The targets of a query sum to 1. Queries of weight 0 are passed over. Each query's rows are
    read twice in a row, so that the second time they are at hand.
    """
    n_features = features.shape[1]
    scores = np.empty(longest_query(offsets))
    value, gradient = 0.0, np.zeros(n_features)
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        if weights[query] == 0.0:
            continue
        largest = -np.inf
        for row in range(begin, end):
            score = 0.0
            for column in range(n_features):
                score += features[row, column] * direction[column]
            scores[row - begin] = score
            largest = max(largest, score)
        total = 0.0
        for place in range(end - begin):
            scores[place] -= largest
            total += np.exp(scores[place])
        log_total = np.log(total)
        for row in range(begin, end):
            log_share = scores[row - begin] - log_total
            value -= weights[query] * targets[row] * log_share
            excess = weights[query] * (np.exp(log_share) - targets[row])
            for column in range(n_features):
                gradient[column] += excess * features[row, column]
    return value, gradient
