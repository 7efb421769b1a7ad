"""Leading eigenvectors of a symmetric matrix.

The matrices of queries are small and many, and few of their eigenvectors are wanted: LAPACK is
not at its best there. All eigenvalues are found by QR sweeps over a tridiagonal form, and only the
wanted eigenvectors are carried back through the rotations and reflections.
"""

from __future__ import annotations

import numpy as np

from localrank.arrays import Floats, Integers
from localrank.kernels.compilation import kernel

_EPSILON = 2.0**-53
_NOTHING = 1e-40  # far below rounding, yet its square is far from underflow
_MOST_SWEEPS = 30  # per eigenvalue; two are usual


@kernel
def leading_eigenvectors(matrix: Floats, n_vectors: int) -> tuple[Floats, Floats]:
    """All eigenvalues in descending order, and the first eigenvectors, one per column.

    Reads the matrix left of and on the diagonal, and overwrites it. Its largest entry should be
    of the order of 1. Errors are of the order of rounding the largest eigenvalue.
    """
    size = len(matrix)
    diagonal, beside, factors = _tridiagonal(matrix)
    turns, cosines, sines = _diagonalise(diagonal, beside, n_vectors > 0)
    order = np.argsort(-diagonal)
    vectors = np.zeros((size, n_vectors))
    for column in range(n_vectors):
        vectors[order[column], column] = 1.0
    for turn in range(len(turns) - 1, -1, -1):
        row, cosine, sine = turns[turn], cosines[turn], sines[turn]
        for column in range(n_vectors):
            a, b = vectors[row, column], vectors[row - 1, column]
            vectors[row, column] = cosine * a - sine * b
            vectors[row - 1, column] = sine * a + cosine * b
    for row in range(2, size):
        _reflect(vectors, matrix[row, :row], factors[row])
    return diagonal[order], vectors


# Sums may be taken in any order, which lets them run several terms at a time.
@kernel(fastmath={"reassoc", "contract"})
def _tridiagonal(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    """Diagonal and off-diagonal of a similar tridiagonal matrix, and the reflections to it.

    From the last row to the third, the reflection I - factor * v vᵀ turns all but one of the
    entries left of the diagonal to zero; v is left in their place.
    """
    size = len(matrix)
    diagonal, beside, factors = np.empty(size), np.zeros(size), np.zeros(size)
    product = np.empty(size)
    for last in range(size - 1, 1, -1):
        v, w = matrix[last, :last], product[:last]
        others = 0.0
        for i in range(last - 1):
            others += v[i] * v[i]
        beside[last - 1] = v[last - 1]
        if others <= _NOTHING:
            continue
        beside[last - 1] = -np.copysign(np.sqrt(others + v[last - 1] ** 2), v[last - 1])
        v[last - 1] -= beside[last - 1]
        factor = factors[last] = 2.0 / (others + v[last - 1] ** 2)
        # The block A above becomes A - v wᵀ - w vᵀ, with w = p - (factor / 2 * p·v) v for
        # p = factor * A v. Each entry of A left of the diagonal stands for two.
        for i in range(last):
            row, total = matrix[i], 0.0
            for j in range(i):
                total += row[j] * v[j]
                w[j] += row[j] * v[i]
            w[i] = total + row[i] * v[i]
        along = 0.0
        for i in range(last):
            along += w[i] * v[i]
        along *= 0.5 * factor
        for i in range(last):
            w[i] = factor * (w[i] - along * v[i])
        for i in range(last):
            row = matrix[i]
            for j in range(i + 1):
                row[j] -= v[i] * w[j] + w[i] * v[j]
    for i in range(size):
        diagonal[i] = matrix[i, i]
    if size > 1:
        beside[0] = matrix[1, 0]
    return diagonal, beside, factors


@kernel
def _diagonalise(
    diagonal: Floats, beside: Floats, keep_turns: bool
) -> tuple[Integers, Floats, Floats]:
    """Turn the diagonal of a tridiagonal matrix into its eigenvalues; the rotations in order.

    Implicit QR sweeps with Wilkinson's shift. A rotation turns the named row and the one before it.
    Sweeps run upwards and finish rows from the top, where reflections from below have left the
    small eigenvalues: that takes half as many rotations as the other way.
    """
    size = len(diagonal)
    room = size * size // 2 + size if keep_turns else 0
    turns, cosines, sines = np.empty(room, np.int64), np.empty(room), np.empty(room)
    n_turns = 0
    negligible = _EPSILON * (np.abs(diagonal).max() + 2 * np.abs(beside).max())
    first = 0
    for _ in range(_MOST_SWEEPS * size):
        while first < size - 1 and abs(beside[first]) <= negligible:
            first += 1
        if first == size - 1:
            break
        last = first + 1
        while last < size - 1 and abs(beside[last]) > negligible:
            last += 1
        if keep_turns and n_turns + last - first > len(turns):
            turns = np.concatenate((turns, np.empty_like(turns)))
            cosines = np.concatenate((cosines, np.empty_like(cosines)))
            sines = np.concatenate((sines, np.empty_like(sines)))
        # The eigenvalue of the first two rows that is nearer to the first diagonal entry.
        half, corner = 0.5 * (diagonal[first + 1] - diagonal[first]), beside[first]
        root = np.copysign(np.sqrt(half * half + corner * corner), half)
        shift = diagonal[first] - corner * corner / (half + root)
        x, z = diagonal[last] - shift, beside[last - 1]
        for i in range(last, first, -1):
            length = np.sqrt(x * x + z * z)
            cosine, sine = (x / length, z / length) if length > _NOTHING else (1.0, 0.0)
            if i < last:
                beside[i] = length
            twist = sine * (diagonal[i - 1] - diagonal[i]) + 2.0 * cosine * beside[i - 1]
            diagonal[i] += sine * twist
            diagonal[i - 1] -= sine * twist
            x = cosine * twist - beside[i - 1]
            beside[i - 1] = x
            if i - 1 > first:
                z = sine * beside[i - 2]
                beside[i - 2] *= cosine
            if keep_turns:
                turns[n_turns], cosines[n_turns], sines[n_turns] = i, cosine, sine
                n_turns += 1
    return turns[:n_turns], cosines[:n_turns], sines[:n_turns]


@kernel
def _reflect(vectors: Floats, v: Floats, factor: float) -> None:
    """Apply I - factor * v vᵀ to the first rows."""
    product = np.zeros(vectors.shape[1])
    for i in range(len(v)):
        row = vectors[i]
        for j in range(len(row)):
            product[j] += v[i] * row[j]
    for i in range(len(v)):
        row, weight = vectors[i], factor * v[i]
        for j in range(len(row)):
            row[j] -= weight * product[j]
