"""What nets see of a document, and how they score it: equal documents get equal scores."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Self

import numba
import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.instructions import (
    add_positive,
    add_products,
    load,
    store,
    total,
    zeros,
)
from localrank._kernels.numba_internals import COMPILER_ERRORS
from localrank._kernels.sorting import read_only
from localrank.rankers.query_coordinates._coordinates import N_AGGREGATES

# Inputs end here on either side.
MAX_INPUT = 4.0
# Documents that are scored at a time, and units. Their sums fill 12 of AVX2's 16 registers.
DOCUMENTS, _LANES = 6, 16
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
        The features, z, p and the aggregates, as `coordinates` has them, and maybe more.
    offsets : ndarray of shape (n_queries + 1,)
    n_features : int
    inputs : ndarray of shape (n_documents or more, 2 * n_features + 9)
        Filled with z up to ±4, (p - 1/2) √12, and the aggregates standardised within the query.
    """
    aggregates, n_aggregates = 3 * n_features, N_AGGREGATES
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


class PackedNets(NamedTuple):
    """The parameters of nets in the order in which `net_scores` reads them.

    Units stand in tiles of 16, which a processor computes together. Units of zeros, whose output
    is 0, complete the last tile of a net.

    Attributes
    ----------
    hidden : ndarray of shape (n_nets, n_tiles, n_inputs, 16)
    bias, output : ndarray of shape (n_nets, n_tiles, 16)
    skip : ndarray of shape (n_nets / 16, n_inputs, 16)
        One lane per net.
    """

    hidden: Array
    bias: Array
    output: Array
    skip: Array

    @classmethod
    def of(cls, hidden: Array, bias: Array, output: Array, skip: Array) -> Self:
        """Pack arrays of shape (n_nets, n_units, n_inputs), (n_nets, n_units) and so on."""
        n_nets, n_units, n_inputs = hidden.shape
        more_units, more_nets = -n_units % _LANES, -n_nets % _LANES
        units, nets = [(0, 0), (0, more_units)], [(0, more_nets), (0, 0)]
        tiles = (n_nets, -1, _LANES)
        arrays = (
            np.pad(hidden, [*units, (0, 0)]).reshape(*tiles, n_inputs).swapaxes(2, 3),
            np.pad(bias, units).reshape(tiles),
            np.pad(output, units).reshape(tiles),
            np.pad(skip, nets).reshape(-1, _LANES, n_inputs).swapaxes(1, 2),
        )
        return cls(*(read_only(array, np.float32) for array in arrays))


def net_scores(inputs: Array, nets: PackedNets) -> Floats:
    """The score that each net gives each document, of shape (n_nets, n_documents).

    Equal documents have equal scores: sums are taken in one order, wherever a document stands.

    Parameters
    ----------
    inputs : ndarray of shape (n_documents, n_inputs)
        A multiple of `DOCUMENTS` rows.
    nets : PackedNets
    """
    global _fill_scores
    if len(inputs) % DOCUMENTS or inputs.shape[1] != nets.hidden.shape[2]:
        raise ValueError(f"Inputs of shape {inputs.shape} do not fit the nets.")
    rows, scores = read_only(inputs, np.float32), np.empty((len(nets.hidden), len(inputs)))
    try:
        _fill_scores(rows, *nets, scores)
    except COMPILER_ERRORS as error:
        if _fill_scores is fill_scores_in_loops:
            raise
        warnings.warn(
            f"numba {numba.__version__} cannot compile the instructions that localrank scores nets "
            f"with ({type(error).__name__}). Loops score them, many times slower.",
            RuntimeWarning,
            stacklevel=2,
        )
        _fill_scores = fill_scores_in_loops
        _fill_scores(rows, *nets, scores)
    return scores


@kernel(error_model="numpy")
def fill_scores(
    inputs: Array, hidden: Array, bias: Array, output: Array, skip: Array, scores: Floats
) -> None:
    """Fill the scores of six documents at a time: their sums for 16 units are in registers."""
    width, n_tiles = inputs.shape[1], hidden.shape[1]
    linear = np.empty(DOCUMENTS * _LANES, np.float32)
    for row in range(0, len(inputs), DOCUMENTS):
        for net in range(len(hidden)):
            if net % _LANES == 0:
                place = net * width  # a net fills one lane of the tile
                a, b, c, d, e, f = _sums(zeros(inputs, _LANES), inputs, row, skip, place)
                store(linear, 0, a)
                store(linear, _LANES, b)
                store(linear, 2 * _LANES, c)
                store(linear, 3 * _LANES, d)
                store(linear, 4 * _LANES, e)
                store(linear, 5 * _LANES, f)
            p = q = r = s = t = u = zeros(inputs, _LANES)
            for tile in range(net * n_tiles, (net + 1) * n_tiles):
                biases, place = load(bias, tile * _LANES, _LANES), tile * width * _LANES
                a, b, c, d, e, f = _sums(biases, inputs, row, hidden, place)
                outputs = load(output, tile * _LANES, _LANES)
                p, q = add_positive(p, a, outputs), add_positive(q, b, outputs)
                r, s = add_positive(r, c, outputs), add_positive(s, d, outputs)
                t, u = add_positive(t, e, outputs), add_positive(u, f, outputs)
            lane = net % _LANES
            scores[net, row] = total(p) + linear[lane]
            scores[net, row + 1] = total(q) + linear[_LANES + lane]
            scores[net, row + 2] = total(r) + linear[2 * _LANES + lane]
            scores[net, row + 3] = total(s) + linear[3 * _LANES + lane]
            scores[net, row + 4] = total(t) + linear[4 * _LANES + lane]
            scores[net, row + 5] = total(u) + linear[5 * _LANES + lane]


@kernel(error_model="numpy", inline="always")
def _sums(start: Any, inputs: Array, row: int, weights: Array, place: int) -> Any:
    """The sums of six documents for one tile of weights."""
    a = b = c = d = e = f = start
    # Numbers without sign: numba would ask of others whether they are negative.
    first, following = np.uintp(row), np.uintp(place)
    for i in range(np.uintp(inputs.shape[1])):
        tile = load(weights, following, _LANES)
        a = add_products(a, tile, inputs[first, i])
        b = add_products(b, tile, inputs[first + np.uintp(1), i])
        c = add_products(c, tile, inputs[first + np.uintp(2), i])
        d = add_products(d, tile, inputs[first + np.uintp(3), i])
        e = add_products(e, tile, inputs[first + np.uintp(4), i])
        f = add_products(f, tile, inputs[first + np.uintp(5), i])
        following += np.uintp(_LANES)
    return a, b, c, d, e, f


@kernel(error_model="numpy")
def fill_scores_in_loops(
    inputs: Array, hidden: Array, bias: Array, output: Array, skip: Array, scores: Floats
) -> None:
    """The same without instructions written by hand."""
    sums = np.empty(_LANES, np.float32)
    for row in range(len(inputs)):
        for net in range(len(hidden)):
            score = np.float32(0.0)
            for i in range(inputs.shape[1]):
                score += inputs[row, i] * skip[net // _LANES, i, net % _LANES]
            for tile in range(hidden.shape[1]):
                sums[:] = bias[net, tile]
                for i in range(inputs.shape[1]):
                    for lane in range(_LANES):
                        sums[lane] += inputs[row, i] * hidden[net, tile, i, lane]
                for lane in range(_LANES):
                    score += max(sums[lane], np.float32(0.0)) * output[net, tile, lane]
            scores[net, row] = score


_fill_scores: Any = fill_scores
