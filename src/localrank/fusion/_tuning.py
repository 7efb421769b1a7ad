"""Weights of lists that are best by a measure on training queries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from localrank._base.arrays import Floats
from localrank._kernels.rows import projections
from localrank._kernels.sorting import read_only
from localrank.rankers._judged import Judged

# Weights of the first of two lists: multiples of 1 / 50.
_N_STEPS = 50
# Shares of weight that move from one list to another, if there are more than two.
_MOVES = (0.3, 0.1, 0.03)
# At most this many rounds over all pairs of lists.
_MAX_ROUNDS = 20
# Means that differ by less are equal.
ROUNDING = 1e-9


def tuned_weights(judged: Judged, values: Floats) -> tuple[Floats, float]:
    """Weights that are 0 or more, with sum 1, and the mean measure that they reach.

    With two lists, all multiples of 1/50 are tried. Of equally good weights, those nearest to equal
    weights are used. With more lists, weight moves from list to list as long as the measure grows.
    This search starts from equal weights, and again from the best list alone.

    Parameters
    ----------
    judged : Judged
    values : ndarray of shape (n_documents, n_lists)
        Of the documents of `judged.dataset`.
    """
    n_lists = values.shape[1]
    equal = np.full(n_lists, 1.0 / n_lists)
    if n_lists == 1:
        return equal, measured(judged, values, equal)
    if n_lists == 2:
        return _best_of(judged, values, _pairs_of_weights())
    alone, _ = _best_of(judged, values, iter(np.eye(n_lists)))
    climbs = [_climb(judged, values, start) for start in (equal, alone)]
    return climbs[1] if climbs[1][1] > climbs[0][1] + ROUNDING else climbs[0]


def measured(judged: Judged, values: Floats, weights: Floats) -> float:
    """The mean measure of weighted sums."""
    return judged.mean(weighted(values, weights))


def weighted(values: Floats, weights: Floats) -> Floats:
    """The weighted sum of each row's values: the same bits wherever the row stands."""
    return projections(read_only(values, np.float64), read_only(weights, np.float64))


def _pairs_of_weights() -> Iterator[Floats]:
    """Weights of two lists, the nearest to equal ones first."""
    half = _N_STEPS // 2
    for place in sorted(range(_N_STEPS + 1), key=lambda place: (abs(place - half), place)):
        yield np.array([place / _N_STEPS, 1.0 - place / _N_STEPS])


def _best_of(judged: Judged, values: Floats, choices: Iterator[Floats]) -> tuple[Floats, float]:
    """The first of the best choices."""
    best, reached = None, -np.inf
    for weights in choices:
        mean = measured(judged, values, weights)
        if mean > reached + ROUNDING:
            best, reached = weights, mean
    assert best is not None
    return best, reached


def _climb(judged: Judged, values: Floats, weights: Floats) -> tuple[Floats, float]:
    """The weights at the end of a climb: each step moves weight from one list to another."""
    n_lists, reached = len(weights), measured(judged, values, weights)
    for move in _MOVES:
        for _ in range(_MAX_ROUNDS):
            before = reached
            for giver in range(n_lists):
                for taker in range(n_lists):
                    moved = min(move, weights[giver])
                    if taker == giver or moved <= 0:
                        continue
                    tried = weights.copy()
                    tried[giver] -= moved
                    tried[taker] += moved
                    mean = measured(judged, values, tried)
                    if mean > reached + ROUNDING:
                        weights, reached = tried, mean
            if reached <= before + ROUNDING:
                break
    return weights, reached
