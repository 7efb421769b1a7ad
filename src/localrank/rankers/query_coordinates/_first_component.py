"""The first principal component of a query's documents."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats
from localrank._kernels.compilation import inner_kernel, kernel

# Steps at most, and between looks at the error.
MAX_STEPS, _STRIDE = 64, 4
# Errors relative to the largest eigenvalue: of what is wanted, and of what can be computed.
_TOLERANCE, _ROUNDING = 1e-12, 1e-14
_MAX_HALVINGS = 100
# A direction of variance (1 - gap) times the largest counts (CLOSE / (CLOSE + gap))^POWER.
CLOSE, POWER = 1e-6, 16


@inner_kernel(error_model="numpy")
def first_component(rows: Floats, scores: Floats) -> int:
    """Fill the scores of documents on the first principal component; the number of steps taken.

    One row per feature, each with mean 0, of the order of 1, and not all zero. The loadings of
    the features have length 1 and a positive sum; where that is zero, the largest is positive,
    the first of about equal ones. Equal documents have the same score to the last bit.

    Where the second variance is at least 1e-5 smaller than the largest, relative to that, the
    loadings are the eigenvector of the largest. Closer ones are not told apart by what rounding
    leaves of their difference. Each direction counts (1e-6 / (1e-6 + gap))^16 times its part in
    the start, with 1 - gap its variance over the largest, and loadings 1 + sin(i²) / 2 at the
    start for features i = 1, 2, …: of equal variances that is the direction nearest to the start.

    Lanczos' method from the start, at most 64 steps, which costs no more than a constant times
    features times documents. So many always suffice for 64 features or documents. With more of
    both, and a second variance less than some 4 % below the largest, the rule may hold only for
    the directions that 64 steps reach.
    """
    width, n = rows.shape
    room = min(width, MAX_STEPS)
    loadings, product = np.empty(width), np.empty(width)
    for i in range(width):
        # Irregular, so as to have a part in whatever direction comes out.
        loadings[i] = 1.0 + 0.5 * np.sin((i + 1.0) ** 2)
    # Of few features the products are made once: that takes as long as a few steps without them.
    by_products = width <= min(n, MAX_STEPS)
    products = np.empty((width, width) if by_products else (0, 0))
    if by_products:
        _fill_products(rows, products)
    basis = np.empty((room, width))
    diagonal, beside, weights = np.empty(room), np.empty(room), np.empty(room)
    _copy(loadings, 1.0 / _length(loadings), basis[0])
    n_steps, exact, largest, error = 0, False, 0.0, np.inf
    while n_steps < room and not exact:
        newest = basis[n_steps]
        if by_products:
            _weighted_sum(products, newest, product)
        else:
            _weighted_sum(rows, newest, scores)
            _dots(rows, scores, product)
        diagonal[n_steps] = _dot(product, newest)
        _add(-diagonal[n_steps], newest, product)
        if n_steps > 0:
            _add(-beside[n_steps - 1], basis[n_steps - 1], product)
        # In theory that is orthogonal to the earlier ones; rounding would grow from step to step.
        _dots(basis[: n_steps + 1], product, weights)
        for i in range(n_steps + 1):
            weights[i] = -weights[i]
        _add_rows(basis[: n_steps + 1], weights, product)
        rest = beside[n_steps] = _length(product)
        n_steps += 1
        at_end = n_steps == room or rest <= _TOLERANCE * diagonal[0]
        if at_end or n_steps % _STRIDE == 0:
            largest = _first_eigenvector(diagonal[:n_steps], beside, largest + error, weights)
            error = rest * weights[n_steps - 1]
            exact = error <= _TOLERANCE * largest
        if n_steps < room and not exact:
            _copy(product, 1.0 / rest, basis[n_steps])
    _blend(diagonal[:n_steps], beside, largest, weights)
    _weighted_sum(basis[:n_steps], weights, loadings)
    _copy(loadings, 1.0 / _length(loadings), loadings)
    _orient(loadings)
    _weighted_sum(rows, loadings, scores)
    return n_steps


@inner_kernel(error_model="numpy")
def _fill_products(rows: Floats, products: Floats) -> None:
    width = len(rows)
    for i in range(0, width - 1, 2):
        _dots_of_two(rows[: i + 2], rows[i], rows[i + 1], products[i], products[i + 1])
    if width % 2:
        _dots(rows, rows[width - 1], products[width - 1])
    for i in range(width):
        for j in range(i):
            products[j, i] = products[i, j]


@inner_kernel(error_model="numpy")
def _first_eigenvector(diagonal: Floats, beside: Floats, guess: float, vector: Floats) -> float:
    """The largest eigenvalue of a tridiagonal matrix; fills its eigenvector, of length 1.

    With positive entries beside the diagonal; a guess a little above the value is best.
    Elimination of the unknowns from the last to the second leaves a function of the eigenvalue
    whose largest zero it is: Newton's method, within bounds. At the zero all pivots are positive
    and nothing cancels in the eigenvector, unless its first entry is tiny.
    """
    last = len(diagonal) - 1
    low = high = diagonal[0]
    for i in range(last + 1):
        around = (beside[i] if i < last else 0.0) + (beside[i - 1] if i > 0 else 0.0)
        low, high = max(low, diagonal[i]), max(high, diagonal[i] + around)
    value: float = guess if low < guess < high else high
    slope = 1.0
    for _ in range(_MAX_HALVINGS):
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


@inner_kernel(error_model="numpy")
def _blend(diagonal: Floats, beside: Floats, largest: float, vector: Floats) -> None:
    """Fill ((1 + CLOSE) I - T / largest)^-POWER e_1, of length 1, for a tridiagonal matrix T.

    Its largest eigenvalue is given. No pivot is negative, so that nothing cancels.
    """
    size = len(diagonal)
    inverses, ratios = np.empty(size), np.zeros(size)
    around = 0.0
    for i in range(size - 1, -1, -1):
        inverses[i] = 1.0 / (1.0 + CLOSE - diagonal[i] / largest - around)
        if i > 0:
            ratios[i] = beside[i - 1] / largest * inverses[i]
            around = beside[i - 1] / largest * ratios[i]
    vector[1:size] = 0.0
    vector[0] = 1.0
    for _ in range(POWER):
        for i in range(size - 1, 0, -1):
            vector[i - 1] += ratios[i] * vector[i]
        vector[0] *= inverses[0]
        for i in range(1, size):
            vector[i] = vector[i] * inverses[i] + ratios[i] * vector[i - 1]
    _copy(vector[:size], 1.0 / _length(vector[:size]), vector)


@inner_kernel(error_model="numpy")
def _weighted_sum(rows: Floats, weights: Floats, to: Floats) -> None:
    """Fill the weighted sum of the rows; equal columns have the same sum to the last bit."""
    to[:] = 0.0
    _add_rows(rows, weights, to)


@inner_kernel(error_model="numpy")
def _add_rows(rows: Floats, weights: Floats, to: Floats) -> None:
    # Four at a time, so that sums are written once for four rows.
    n, last = rows.shape[1], len(rows) - len(rows) % 4
    for i in range(0, last, 4):
        a, b, c, d = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        row_a, row_b, row_c, row_d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for j in range(n):
            to[j] = to[j] + a * row_a[j] + b * row_b[j] + c * row_c[j] + d * row_d[j]
    for i in range(last, len(rows)):
        _add(weights[i], rows[i], to)


# Sums may be taken in any order, which lets them run several terms at a time.
@kernel(error_model="numpy", fastmath={"reassoc", "contract"})
def _dots(rows: Floats, vector: Floats, to: Floats) -> None:
    """Fill the products of rows with a vector."""
    n, last = rows.shape[1], len(rows) - len(rows) % 4
    for i in range(0, last, 4):
        a = b = c = d = 0.0
        row_a, row_b, row_c, row_d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for j in range(n):
            a += row_a[j] * vector[j]
            b += row_b[j] * vector[j]
            c += row_c[j] * vector[j]
            d += row_d[j] * vector[j]
        to[i], to[i + 1], to[i + 2], to[i + 3] = a, b, c, d
    for i in range(last, len(rows)):
        to[i] = _dot(rows[i], vector)


@kernel(error_model="numpy", fastmath={"reassoc", "contract"})
def _dots_of_two(rows: Floats, one: Floats, other: Floats, to: Floats, to_other: Floats) -> None:
    """The same for two vectors, for which each row is read once."""
    n, last = rows.shape[1], len(rows) - len(rows) % 4
    for i in range(0, last, 4):
        a = b = c = d = 0.0
        e = f = g = h = 0.0
        row_a, row_b, row_c, row_d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for j in range(n):
            a += row_a[j] * one[j]
            b += row_b[j] * one[j]
            c += row_c[j] * one[j]
            d += row_d[j] * one[j]
            e += row_a[j] * other[j]
            f += row_b[j] * other[j]
            g += row_c[j] * other[j]
            h += row_d[j] * other[j]
        to[i], to[i + 1], to[i + 2], to[i + 3] = a, b, c, d
        to_other[i], to_other[i + 1], to_other[i + 2], to_other[i + 3] = e, f, g, h
    for i in range(last, len(rows)):
        to[i], to_other[i] = _dot(rows[i], one), _dot(rows[i], other)


@inner_kernel(error_model="numpy")
def _add(weight: float, values: Floats, to: Floats) -> None:
    for i in range(len(to)):
        to[i] += weight * values[i]


@inner_kernel(error_model="numpy")
def _copy(values: Floats, factor: float, to: Floats) -> None:
    for i in range(len(values)):
        to[i] = factor * values[i]


@kernel(error_model="numpy", fastmath={"reassoc", "contract"})
def _dot(a: Floats, b: Floats) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@inner_kernel(error_model="numpy")
def _length(vector: Floats) -> float:
    length: float = np.sqrt(_dot(vector, vector))
    return length


@inner_kernel(error_model="numpy")
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
