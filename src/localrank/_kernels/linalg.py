"""Principal axes of all queries at once, and the geometric mean of two matrices."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.rows import longest_query
from localrank._kernels.sorting import read_only

# A variance below this share of the largest cannot be told from rounding. A spread of a millionth
# of the widest still counts.
_RESOLUTION = 1e-12


def principal_axes(features: Array, offsets: Integers, n_axes: int) -> tuple[Floats, Floats]:
    """Principal components of the documents of each query.

    An axis that the documents of a query do not determine is a zero vector with a share of 0. A
    query has as many axes as its documents have independent directions: none if it has one
    document, or only equal ones. The sign of an axis makes its largest entry positive.

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
    offsets : ndarray of shape (n_queries + 1,)
        First row of each query, and the number of rows at the end.
    n_axes : int
        Number of axes to return. 0: only the shares.

    Returns
    -------
    shares : ndarray of shape (n_queries, n_features)
        Share of each axis in the query's variance, descending.
    axes : ndarray of shape (n_queries, n_axes, n_features)
        The first axes, of length 1 or 0.

    Examples
    --------
    >>> features = np.array([[0.0, 1.0], [3.0, 5.0], [6.0, 9.0], [7.0, 7.0]])
    >>> shares, axes = principal_axes(features, np.array([0, 3, 4]), 1)
    >>> shares
    array([[1., 0.],
           [0., 0.]])
    >>> axes.round(3)
    array([[[0.6, 0.8]],
           [[0. , 0. ]]])
    """
    shares, axes = spread_of_clouds(
        read_only(features, features.dtype), read_only(offsets, np.int64), n_axes, _RESOLUTION
    )
    return shares, axes


def geometric_mean(S: Floats, D: Floats, t: float = 0.5) -> Floats:
    """The matrix at fraction `t` of the geodesic from S^-1 to D.

    It is S^-1 at t = 0 and D at t = 1. At t = 1/2 it is the geometric mean of S^-1 and D: the
    only positive definite solution of M S M = D. With S = L L^T, D = K K^T and the singular
    value decomposition K^T L = U s V^T, it equals L^-T V s^2t V^T L^-1. Singular values are more
    precise than the eigenvalues of L^T D L if S and D are nearly singular.

    Parameters
    ----------
    S, D : ndarray of shape (n, n)
        Symmetric positive definite matrices.
    t : float, default=0.5
        Position on the geodesic, from 0 to 1.

    Examples
    --------
    >>> geometric_mean(np.diag([1.0, 4.0]), np.diag([9.0, 1.0]))
    array([[3. , 0. ],
           [0. , 0.5]])
    """
    # Imported here: loading a model does not need it.
    from scipy.linalg import solve_triangular

    L, K = np.linalg.cholesky(S), np.linalg.cholesky(D)
    _, spreads, axes = np.linalg.svd(K.T @ L)
    root = solve_triangular(L, axes.T * spreads**t, trans="T", lower=True, check_finite=False)
    mean: Floats = root @ root.T
    return mean


@kernel
def spread_of_clouds(
    features: Array, offsets: Integers, n_axes: int, resolution: float
) -> tuple[Floats, Floats]:
    """The share of each principal axis in a query's variance, and the first axes themselves.

    A variance of at most `resolution` times the largest is taken for none, and its axis is zero.
    """
    n_queries, n_features = len(offsets) - 1, features.shape[1]
    shares = np.zeros((n_queries, n_features))
    axes = np.zeros((n_queries, n_axes, n_features))
    longest = longest_query(offsets)
    room = np.empty(longest * n_features)
    columns = np.empty(n_features, np.int64)
    for query in range(n_queries):
        begin, end = offsets[query], offsets[query + 1]
        centred = _centred(features, begin, end, columns, room)
        n_documents, n_varying = centred.shape
        if n_varying == 0:
            continue
        # The products of documents have the eigenvalues of those of columns, and are fewer here.
        by_documents = n_documents < n_varying
        products = np.dot(centred, centred.T) if by_documents else np.dot(centred.T, centred)
        variances, vectors = leading_eigenvectors(products, min(n_axes, len(products)))
        rank = 0
        while rank < len(variances) and variances[rank] > resolution * variances[0]:
            rank += 1
        shares[query, :rank] = variances[:rank] / variances[:rank].sum()
        directions = np.ascontiguousarray(vectors.T)
        if by_documents:
            directions = np.dot(directions, centred)
        for axis in range(min(rank, len(directions))):
            _orient(directions[axis])
            for i in range(n_varying):
                axes[query, axis, columns[i]] = directions[axis, i]
    return shares, axes


@inner_kernel
def _centred(features: Array, begin: int, end: int, columns: Integers, room: Floats) -> Floats:
    """The rows of a query less their mean, in the columns that vary, in units of their spread.

    Names the columns in `columns`. Differences from the first row are taken before the mean, so
    that a column is left out exactly where all its values are equal, however large they are.
    """
    n_features = features.shape[1]
    first, spread = np.empty(n_features), np.zeros(n_features)
    # Halves, because the difference of two numbers may be too large for a number.
    for column in range(n_features):
        first[column] = 0.5 * features[begin, column]
    for row in range(begin + 1, end):
        for column in range(n_features):
            difference = abs(0.5 * features[row, column] - first[column])
            spread[column] = max(spread[column], difference)
    n_varying = 0
    for column in range(n_features):
        if spread[column] > 0.0:
            columns[n_varying] = column
            n_varying += 1
    unit = spread.max()
    centred = room[: (end - begin) * n_varying].reshape(end - begin, n_varying)
    means = np.zeros(n_varying)
    for row in range(end - begin):
        for i in range(n_varying):
            difference = 0.5 * features[begin + row, columns[i]] - first[columns[i]]
            centred[row, i] = difference / unit
            means[i] += centred[row, i]
    means /= end - begin
    for row in range(end - begin):
        for i in range(n_varying):
            centred[row, i] -= means[i]
    return centred


@inner_kernel
def _orient(direction: Floats) -> None:
    """Make a direction of length 1, with its largest entry positive, the first of about equal."""
    length = np.sqrt((direction * direction).sum())
    largest = np.abs(direction).max()
    for i in range(len(direction)):
        if abs(direction[i]) > 0.999999 * largest:
            direction /= np.copysign(length, direction[i])
            break


_EPSILON = 2.0**-53
_NOTHING = 1e-40  # far below rounding, yet its square is far from underflow
_MAX_SWEEPS = 30  # per eigenvalue; two are usual


@inner_kernel
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


@inner_kernel
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
    for _ in range(_MAX_SWEEPS * size):
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


@inner_kernel
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
