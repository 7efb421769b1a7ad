"""Small convex quadratic programs over the simplex."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats
from localrank._kernels.compilation import inner_kernel, kernel

# Relative size of the ridge that keeps the equations of a support solvable.
_RIDGE = 1e-13


@kernel
def minimise_over_simplex(G: Floats, b: Floats, x: Floats, tol: float) -> int:
    """Minimise x'Gx / 2 - b'x over x >= 0, sum(x) = 1, in place from a feasible x.

    A primal active-set method. Step towards the minimum over the support of x; drop the variable
    that reaches 0 on the way; at the minimum take in the variable with the smallest gradient,
    until no feasible direction promises to lower the objective by more than `tol` times its size.
    G is positive semidefinite.

    Returns
    -------
    n_steps : int
        Number of systems of equations solved.

    Examples
    --------
    >>> x = np.array([1.0, 0.0, 0.0])
    >>> _ = minimise_over_simplex(np.diag([1.0, 1.0, 0.1]), np.array([1.0, 1.0, 0.0]), x, 1e-12)
    >>> x.round(12)
    array([0.5, 0.5, 0. ])
    """
    n = len(b)
    # A constant added to all entries of G changes nothing on the simplex, and keeps the equations
    # regular where a row of the support is 0.
    lift = 0.0
    for i in range(n):
        lift = max(lift, G[i, i])
    if lift < 1e-200:
        lift = 1.0
    support = np.empty(n, np.int64)
    factor = np.empty((n, n), np.float64)
    step, ones = np.empty(n, np.float64), np.empty(n, np.float64)
    gradient = np.empty(n, np.float64)
    member = x > 0
    entered, n_steps, most = -1, 0, 20 * n + 100
    while n_steps < most:
        n_steps += 1
        _gradient(G, b, x, gradient)
        size, level = 0, 0.0
        for i in range(n):
            if member[i]:
                support[size] = i
                level += gradient[i]
                size += 1
        level /= size
        for i in range(size):
            step[i], ones[i] = level - gradient[support[i]], 1.0
            for j in range(i, size):
                factor[i, j] = G[support[i], support[j]] + lift
            factor[i, i] += _RIDGE * lift
        _factorise(factor[:size], _RIDGE * lift)
        _solve(factor[:size], step)
        _solve(factor[:size], ones)
        shift = step[:size].sum() / ones[:size].sum()
        length, blocking = 1.0, -1
        for i in range(size):
            step[i] -= shift * ones[i]
            if x[support[i]] + length * step[i] < 0:
                length, blocking = -x[support[i]] / step[i], support[i]
        total = 0.0
        for i in range(size):
            x[support[i]] = max(0.0, x[support[i]] + length * step[i])
            if support[i] == blocking:
                x[blocking] = 0.0
            total += x[support[i]]
        x /= total
        if blocking >= 0:
            member[blocking] = False
            if blocking == entered and length == 0.0:
                break
            continue
        _gradient(G, b, x, gradient)
        entered = int(np.argmin(gradient))
        objective, promise = 0.0, 0.0
        for i in range(n):
            objective += 0.5 * x[i] * (gradient[i] - b[i])
            promise += x[i] * (gradient[i] - gradient[entered])
        if promise <= tol * abs(objective) or member[entered]:
            break
        member[entered] = True
    return n_steps


@inner_kernel
def _gradient(G: Floats, b: Floats, x: Floats, gradient: Floats) -> None:
    for i in range(len(b)):
        gradient[i] = -b[i]
    for j in range(len(b)):
        if x[j] > 0:
            for i in range(len(b)):
                gradient[i] += x[j] * G[j, i]


@inner_kernel
def _factorise(U: Floats, least: float) -> None:
    """Cholesky factor U of U'U in place, in the upper triangle; pivots are at least `least`."""
    n = len(U)
    for k in range(n):
        root = np.sqrt(max(U[k, k], least))
        for j in range(k, n):
            U[k, j] /= root
        U[k, k] = root
        for i in range(k + 1, n):
            for j in range(i, n):
                U[i, j] -= U[k, i] * U[k, j]


@inner_kernel
def _solve(U: Floats, y: Floats) -> None:
    """Solve U'U z = y in place."""
    n = len(U)
    for k in range(n):
        y[k] /= U[k, k]
        for j in range(k + 1, n):
            y[j] -= U[k, j] * y[k]
    for k in range(n - 1, -1, -1):
        total = y[k]
        for j in range(k + 1, n):
            total -= U[k, j] * y[j]
        y[k] = total / U[k, k]
