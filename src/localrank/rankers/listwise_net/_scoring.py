"""What nets see of a document, and how they score it: equal documents get equal scores."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.compilation import kernel

# Inputs end here on either side.
MAX_INPUT = 4.0
# Documents that are scored at a time.
DOCUMENTS = 4
# The deviation of percentiles that are spread evenly.
_EVEN = np.sqrt(1 / 12)
# Aggregates whose deviation is smaller, relative to their size, count as constant.
_CONSTANT = 1e-12
# Standardised aggregates are multiples of this, so that they do not depend on the order in which
# the documents of a query come.
_GRID = 2.0**-20


@kernel(error_model="numpy")
def fill_inputs(table: Array, offsets: Integers, n_features: int, inputs: Array) -> None:
    """Fill the inputs of nets from the coordinates z and p of the features, and the aggregates.

    Parameters
    ----------
    table : ndarray of shape (n_documents, n_columns)
        The features, z, p and the aggregates, as `coordinates` has them.
    offsets : ndarray of shape (n_queries + 1,)
    n_features : int
    inputs : ndarray of shape (n_documents or more, n_columns - n_features)
        Filled with z up to ±4, (p - 1/2) √12, and the aggregates standardised within the query.
    """
    aggregates = 3 * n_features
    n_aggregates = table.shape[1] - aggregates
    mean, deviation = np.empty(n_aggregates), np.empty(n_aggregates)
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        for i in range(n_aggregates):
            total = squares = largest = 0.0
            for row in range(begin, end):
                total += table[row, aggregates + i]
                largest = max(largest, abs(table[row, aggregates + i]))
            mean[i] = total / (end - begin)
            for row in range(begin, end):
                squares += (table[row, aggregates + i] - mean[i]) ** 2
            deviation[i] = np.sqrt(squares / (end - begin))
            if deviation[i] <= _CONSTANT * largest:
                deviation[i] = np.inf
        for row in range(begin, end):
            for i in range(n_features):
                z = table[row, n_features + i]
                inputs[row, i] = min(max(z, -MAX_INPUT), MAX_INPUT)
                inputs[row, n_features + i] = (table[row, 2 * n_features + i] - 0.5) / _EVEN
            for i in range(n_aggregates):
                z = (table[row, aggregates + i] - mean[i]) / deviation[i]
                inputs[row, 2 * n_features + i] = np.rint(z / _GRID) * _GRID


# Sums may be taken in another order, which lets them use vector instructions. It is one order for
# all documents: they are scored four at a time, and rows of zeros complete the last four.
@kernel(error_model="numpy", fastmath={"reassoc", "contract"})
def net_scores(
    inputs: Array, hidden: Array, bias: Array, output: Array, skip: Array, scores: Floats
) -> None:
    """Fill the score that each net gives each document.

    Parameters
    ----------
    inputs : ndarray of shape (n_documents, n_inputs)
        A multiple of four documents.
    hidden : ndarray of shape (n_nets, n_units, n_inputs)
    bias, output : ndarray of shape (n_nets, n_units)
    skip : ndarray of shape (n_nets, n_inputs)
    scores : ndarray of shape (n_nets, n_documents)
    """
    width = inputs.shape[1]
    zero, n_pairs = np.float32(0.0), output.shape[1] - output.shape[1] % 2
    for row in range(0, len(inputs), DOCUMENTS):
        one, two, three, four = inputs[row], inputs[row + 1], inputs[row + 2], inputs[row + 3]
        for net in range(len(output)):
            a = b = c = d = zero
            weights = skip[net]
            for i in range(width):
                a += one[i] * weights[i]
                b += two[i] * weights[i]
                c += three[i] * weights[i]
                d += four[i] * weights[i]
            for unit in range(0, n_pairs, 2):
                e = f = g = h = bias[net, unit]
                p = q = r = s = bias[net, unit + 1]
                weights, others = hidden[net, unit], hidden[net, unit + 1]
                for i in range(width):
                    e += one[i] * weights[i]
                    f += two[i] * weights[i]
                    g += three[i] * weights[i]
                    h += four[i] * weights[i]
                    p += one[i] * others[i]
                    q += two[i] * others[i]
                    r += three[i] * others[i]
                    s += four[i] * others[i]
                weight, other = output[net, unit], output[net, unit + 1]
                a += max(e, zero) * weight + max(p, zero) * other
                b += max(f, zero) * weight + max(q, zero) * other
                c += max(g, zero) * weight + max(r, zero) * other
                d += max(h, zero) * weight + max(s, zero) * other
            for unit in range(n_pairs, output.shape[1]):
                e = f = g = h = bias[net, unit]
                weights = hidden[net, unit]
                for i in range(width):
                    e += one[i] * weights[i]
                    f += two[i] * weights[i]
                    g += three[i] * weights[i]
                    h += four[i] * weights[i]
                a += max(e, zero) * output[net, unit]
                b += max(f, zero) * output[net, unit]
                c += max(g, zero) * output[net, unit]
                d += max(h, zero) * output[net, unit]
            scores[net, row], scores[net, row + 1] = a, b
            scores[net, row + 2], scores[net, row + 3] = c, d
