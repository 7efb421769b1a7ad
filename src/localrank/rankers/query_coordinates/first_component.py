"""The first principal component of a query's documents."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Floats
from localrank.kernels.compilation import kernel

# Steps before a restart, and between looks at the error.
_ROOM, _STRIDE = 64, 4
_MOST_RESTARTS = 100
# Errors relative to the largest eigenvalue: of what is wanted, and of what can be computed.
_TOLERANCE, _ROUNDING = 1e-12, 1e-14
_MOST_HALVINGS = 100


@kernel
def first_component(rows: Floats, scores: Floats) -> None:
    """Fill the scores of documents on the first principal component of the features.

    One row per feature, each with mean 0; they must not all be zero. The loadings of the features
    have length 1 and a positive sum; where that is zero, the largest is positive, the first of
    about equal ones. Equal documents have the same score to the last bit.

    Lanczos' method on the products of rows with rows, which are never made. One start leads to
    one direction, also where several have the largest variance.
    """
    width = len(rows)
    loadings = np.empty(width)
    for i in range(width):
        # Irregular, so as to have a part in whatever direction comes out.
        loadings[i] = 1.0 + 0.5 * np.sin((i + 1.0) ** 2)
    basis, product = np.empty((min(width, _ROOM), width)), np.empty(width)
    for _ in range(_MOST_RESTARTS):
        # One step shows that there is nothing to improve.
        if _improve(rows, loadings, basis, product, scores) == 1:
            break
    _orient(loadings)
    _weighted_sum(rows, loadings, scores)


@kernel
def _improve(rows: Floats, loadings: Floats, basis: Floats, product: Floats, scores: Floats) -> int:
    """Replace loadings by better ones; the number of steps, at most what the basis has room for."""
    room = len(basis)
    diagonal, beside, weights = np.empty(room), np.empty(room), np.empty(room)
    _copy(loadings, 1.0 / _length(loadings), basis[0])
    n_steps, exact = 0, False
    while n_steps < room and not exact:
        newest = basis[n_steps]
        _weighted_sum(rows, newest, scores)
        for i in range(len(rows)):
            product[i] = _dot(rows[i], scores)
        diagonal[n_steps] = _dot(product, newest)
        for other in range(n_steps + 1):
            _add(-_dot(product, basis[other]), basis[other], product)
        rest = beside[n_steps] = _length(product)
        n_steps += 1
        at_end = n_steps == room or rest <= _TOLERANCE * diagonal[0]
        if at_end or n_steps % _STRIDE == 0:
            largest = _first_eigenvector(diagonal[:n_steps], beside, weights)
            exact = rest * weights[n_steps - 1] <= _TOLERANCE * largest
        if n_steps < room and not exact:
            _copy(product, 1.0 / rest, basis[n_steps])
    loadings[:] = 0.0
    for step in range(n_steps):
        _add(weights[step], basis[step], loadings)
    _copy(loadings, 1.0 / _length(loadings), loadings)
    return n_steps


@kernel
def _first_eigenvector(diagonal: Floats, beside: Floats, vector: Floats) -> float:
    """The largest eigenvalue of a tridiagonal matrix; fills its eigenvector, of length 1.

    With positive entries beside the diagonal. Elimination of the unknowns from the last to the
    second leaves a function of the eigenvalue whose largest zero it is: Newton's method, within
    bounds. At the zero all pivots are positive and nothing cancels in the eigenvector, unless its
    first entry is tiny: then a start from what was found is better.
    """
    last = len(diagonal) - 1
    low = high = diagonal[0]
    for i in range(last + 1):
        around = (beside[i] if i < last else 0.0) + (beside[i - 1] if i > 0 else 0.0)
        low, high = max(low, diagonal[i]), max(high, diagonal[i] + around)
    value: float = high
    slope = 1.0
    for _ in range(_MOST_HALVINGS):
        row, pivot, slope = last, value - diagonal[last], 1.0
        while row > 0 and pivot > 0.0:
            vector[row] = beside[row - 1] / pivot
            slope = 1.0 + slope * vector[row] ** 2
            row -= 1
            pivot = value - diagonal[row] - beside[row] * vector[row + 1]
        near = high - low <= _ROUNDING * value
        if row == 0 and (near or abs(pivot) <= _ROUNDING * value * slope):
            break
        low, high = (low, value) if pivot > 0.0 else (value, high)
        # The upper bound has positive pivots, whatever rounding makes of values next to it.
        following = value - pivot / slope if row == 0 else low
        value = following if low < following < high else (high if near else 0.5 * (low + high))
    vector[0] = 1.0 / np.sqrt(slope)
    for i in range(last):
        vector[i + 1] *= vector[i]
    return value


@kernel
def _weighted_sum(rows: Floats, weights: Floats, scores: Floats) -> None:
    """Fill the weighted sum of the rows; equal columns have the same sum to the last bit."""
    scores[:] = 0.0
    for i in range(len(rows)):
        _add(weights[i], rows[i], scores)


@kernel
def _add(weight: float, values: Floats, to: Floats) -> None:
    for i in range(len(to)):
        to[i] += weight * values[i]


@kernel
def _copy(values: Floats, factor: float, to: Floats) -> None:
    for i in range(len(to)):
        to[i] = factor * values[i]


# Sums may be taken in any order, which lets them run several terms at a time.
@kernel(fastmath={"reassoc", "contract"})
def _dot(a: Floats, b: Floats) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@kernel
def _length(vector: Floats) -> float:
    length: float = np.sqrt(_dot(vector, vector))
    return length


@kernel
def _orient(loadings: Floats) -> None:
    """Make the sum positive; where it is zero, the largest, the first of about equal ones."""
    sign, size, largest = 0.0, 0.0, 0.0
    for i in range(len(loadings)):
        sign += loadings[i]
        size += abs(loadings[i])
        largest = max(largest, abs(loadings[i]))
    if abs(sign) <= 1e-9 * size:
        for i in range(len(loadings)):
            if abs(loadings[i]) > 0.999999 * largest:
                sign = loadings[i]
                break
    if sign < 0.0:
        for i in range(len(loadings)):
            loadings[i] = -loadings[i]
