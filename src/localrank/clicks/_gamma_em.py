"""Expectation-maximisation of a position-based model whose documents have a common prior.

The clicks c of a document of relevance r, shown n times at position k, have the mean n p[k] r. The
relevance is drawn from a Gamma distribution of shape `alpha`, whose mean m is that of the
document's kind. With C all clicks of the document, and N the sum of n p[k] over its positions,

    E step: r = (alpha + C) / (alpha / m + N)
    M step: p[k] = sum of c / sum of n r, over documents at k,    m = mean of r over its kind.

The likelihood is that of Poisson clicks. Its derivatives have the expectation 0 for clicks of any
distribution with these means, so that the estimate is consistent whether documents were shown once
or a thousand times. With a free relevance for each document it is not: the fewer times a document
was shown, the flatter the curve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.clicks._slot_em import Cells

# Bounds of the shape: nearly free relevances, and nearly equal ones.
_LEAST_SHAPE, _LARGEST_SHAPE = 0.02, 1e3
# Iterations that come before Newton's steps, and the most steps.
_N_ITERATIONS = 15
_MAX_STEPS = 50
# Iterations between two times that features are asked for the means.
_ITERATIONS_OF_MEANS = 5
# A step changes no logarithm by more than this.
_MAX_CHANGE = 1.0

# From the estimate of each pair's relevance by its own clicks, and the weight of each, to a mean.
Means = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True, eq=False)
class Estimate:
    """What the model estimates from a log.

    Attributes
    ----------
    examination : ndarray of shape (n_positions,)
        1 at the first position.
    relevance : ndarray of shape (n_pairs,)
        The expected relevance of each pair.
    shape : float
    changes : ndarray of shape (n_units, n_positions)
        How much the clicks of each unit moved the logarithm of the examination.
    """

    examination: Floats
    relevance: Floats
    shape: float
    changes: Floats


def estimated(
    cells: Cells,
    kinds: Integers,
    units: Integers,
    n_units: int,
    *,
    start: Floats,
    means: Means | None = None,
) -> Estimate:
    """Estimate the examination of each position, and the relevance of each pair.

    Iterations of expectation-maximisation come near the maximum. Newton's steps reach it, with the
    second derivatives that say how much each unit moves it.

    Parameters
    ----------
    cells : Cells
        Impressions and clicks by pair and position. Every position has clicks.
    kinds : ndarray of shape (n_pairs,)
        The kind of each document, from 0. A mean is learned for each.
    units : ndarray of shape (n_pairs,)
        What is resampled together.
    n_units : int
    start : ndarray of shape (n_positions,)
        Examination to begin with.
    means : callable, optional
        A function that gives the mean of each pair, up to a factor for its kind.
    """
    sums = _Sums.of(cells)
    n_kinds = int(kinds.max()) + 1
    examination = np.array(start)
    base = np.ones(len(kinds))
    scale, shape, _ = _expected(sums, examination, kinds, n_kinds, base)
    for iteration in range(_N_ITERATIONS):
        if means is not None and iteration % _ITERATIONS_OF_MEANS == 0:
            seen = sums.seen(examination)
            weights = seen / (1 + base * scale[kinds] * seen / shape)
            base = means(sums.clicks / seen, weights)
            scale = np.ones(n_kinds)
        scale, shape, relevance = _expected(sums, examination, kinds, n_kinds, base, scale, shape)
        examination = sums.by_position(relevance)
        scale, examination = scale * examination[0], examination / examination[0]
    parameters = np.log(np.append(examination, scale))
    n_positions = cells.n_slots
    for _ in range(_MAX_STEPS):
        scores, curvature, relevance = _derivatives(
            *sums.arrays, np.exp(parameters), read_only(base, np.float64), shape,
            read_only(kinds, np.int64), n_kinds, read_only(units, np.int64), n_units,
        )  # fmt: skip
        inverse = np.linalg.inv(curvature[1:, 1:])
        step = inverse @ scores[:, 1:].sum(axis=0)
        largest = np.abs(step).max(initial=0.0)
        if largest < 1e-9:
            break
        parameters[1:] += step * min(1.0, _MAX_CHANGE / largest)
    changes = np.zeros((n_units, n_positions))
    changes[:, 1:] = (scores[:, 1:] @ inverse)[:, : n_positions - 1]
    return Estimate(np.exp(parameters[:n_positions]), relevance, shape, changes)


def relevance_given(
    cells: Cells, kinds: Integers, examination: Floats, base: Floats | None = None
) -> Floats:
    """The expected relevance of each pair, where examination is known; NaN if it was not shown."""
    sums = _Sums.of(cells)
    n_kinds = int(kinds.max()) + 1
    base = np.ones(len(kinds)) if base is None else base
    scale, shape, relevance = _expected(sums, examination, kinds, n_kinds, base)
    for _ in range(_N_ITERATIONS):
        scale, shape, relevance = _expected(sums, examination, kinds, n_kinds, base, scale, shape)
    relevance[np.diff(cells.offsets) == 0] = np.nan
    return relevance


@dataclass(frozen=True, eq=False)
class _Sums:
    """What the iterations need of a log's cells."""

    arrays: tuple[Integers, Integers, Floats, Floats]
    pairs: Integers
    clicks: Floats
    n_positions: int

    @classmethod
    def of(cls, cells: Cells) -> _Sums:
        pairs = np.repeat(np.arange(len(cells.offsets) - 1), np.diff(cells.offsets))
        arrays = (
            read_only(cells.offsets, np.int64),
            read_only(cells.slots, np.int64),
            read_only(cells.shown, np.float64),
            read_only(cells.clicked, np.float64),
        )
        clicks = summed(pairs, cells.clicked, len(cells.offsets) - 1)
        return cls(arrays, pairs, clicks, cells.n_slots)

    def seen(self, examination: Floats) -> Floats:
        """How often each pair was seen, in expectation."""
        _, slots, shown, _ = self.arrays
        return summed(self.pairs, shown * examination[slots], len(self.clicks))

    def by_position(self, relevance: Floats) -> Floats:
        """The M step of the examination."""
        _, slots, shown, clicked = self.arrays
        clicks = summed(slots, clicked, self.n_positions)
        return clicks / summed(slots, shown * relevance[self.pairs], self.n_positions)


def _expected(
    sums: _Sums,
    examination: Floats,
    kinds: Integers,
    n_kinds: int,
    base: Floats,
    scale: Floats | None = None,
    shape: float | None = None,
) -> tuple[Floats, float, Floats]:
    """A mean for each kind, the shape by its moment, and the E step."""
    seen = sums.seen(examination)
    if scale is None:
        possible = summed(kinds, base * seen, n_kinds)
        clicks = summed(kinds, sums.clicks, n_kinds)
        scale = np.maximum(clicks, 0.5) / np.maximum(possible, 1e-300)
    expected = base * scale[kinds] * seen
    excess = float(((sums.clicks - expected) ** 2 - expected).sum())
    square = float((expected**2).sum())
    if excess * _LARGEST_SHAPE <= square:
        shape = _LARGEST_SHAPE
    else:
        shape = max(square / excess, _LEAST_SHAPE)
    relevance = (shape + sums.clicks) / (shape / (base * scale[kinds]) + seen)
    scale = summed(kinds, relevance / base, n_kinds) / np.maximum(
        np.bincount(kinds, minlength=n_kinds), 1
    )
    return scale, shape, relevance


def summed(places: Integers, values: Floats, n_places: int) -> Floats:
    """The sum of the values at each place.

    Examples
    --------
    >>> summed(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3)
    array([4., 0., 2.])
    """
    totals: Floats = np.bincount(places, values, n_places).astype(np.float64, copy=False)
    return totals


@kernel
def _derivatives(
    offsets: Integers,
    slots: Integers,
    shown: Floats,
    clicked: Floats,
    parameters: Floats,
    base: Floats,
    shape: float,
    kinds: Integers,
    n_kinds: int,
    units: Integers,
    n_units: int,
) -> tuple[Floats, Floats, Floats]:
    """First derivatives by unit, minus the second derivatives, and the relevance of each pair.

    Of the log-likelihood by the logarithms of p and of the means.
    """
    n_positions = len(parameters) - n_kinds
    scores = np.zeros((n_units, len(parameters)))
    curvature = np.zeros((len(parameters), len(parameters)))
    relevance = np.empty(len(units))
    for pair in range(len(units)):
        begin, end = offsets[pair], offsets[pair + 1]
        clicks, seen = 0.0, 0.0
        for cell in range(begin, end):
            clicks += clicked[cell]
            seen += shown[cell] * parameters[slots[cell]]
        unit, kind = units[pair], n_positions + kinds[pair]
        mean = base[pair] * parameters[kind]
        total = shape / mean + seen
        r = (shape + clicks) / total
        relevance[pair] = r
        scores[unit, kind] += shape * (r / mean - 1)
        curvature[kind, kind] += shape * r / mean * seen / total
        for cell in range(begin, end):
            slot = slots[cell]
            expected = shown[cell] * parameters[slot] * r
            scores[unit, slot] += clicked[cell] - expected
            curvature[slot, slot] += expected
            shared = expected * shape / mean / total
            curvature[slot, kind] += shared
            curvature[kind, slot] += shared
            for other in range(begin, end):
                curvature[slot, slots[other]] -= (
                    expected * shown[other] * parameters[slots[other]] / total
                )
    return scores, curvature, relevance
