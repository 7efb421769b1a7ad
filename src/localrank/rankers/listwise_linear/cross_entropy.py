"""The cross entropy between targets and the softmax of linear scores, and its minimum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from localrank.arrays import Flags, Floats, Integers
from localrank.kernels.sorting import read_only
from localrank.rankers.listwise_linear.softmax import cross_entropy

# With more features than this, the second derivatives at 0 are treated as a diagonal matrix.
_EXPLICIT = 2000
# Size of a block of features that is multiplied at a time.
_BLOCK_BYTES = 2**26


@dataclass(frozen=True)
class Minimum:
    """Weights, their objective, the number of steps, and whether the search converged."""

    weights: Floats
    objective: float
    n_steps: int
    converged: bool


@dataclass(frozen=True)
class CrossEntropy:
    """The weighted mean over queries of -Σ t_i log softmax(Xw)_i.

    L-BFGS takes more steps the more second derivatives differ between directions. If features are
    correlated, they differ by orders of magnitude. The search therefore uses coordinates z in which
    all second derivatives at w = 0 are 1: w = V z / sqrt(curvatures + l2), where V holds the
    eigenvectors of the covariance within queries.

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
        Rows query by query, each query's near the origin. Shifting a query changes nothing.
    offsets : ndarray of shape (n_queries + 1,)
    targets : ndarray of shape (n_documents,)
        Target of each document. The targets of a query with positive weight sum to 1.
    weights : ndarray of shape (n_queries,)
        Weights of the queries, with sum 1.
    curvatures : ndarray of shape (n_features,)
        Eigenvalues of the covariance.
    axes : ndarray of shape (n_features, n_features) or None
        V. None: the axes are the features.
    """

    features: Floats
    offsets: Integers
    targets: Floats
    weights: Floats
    curvatures: Floats
    axes: Floats | None

    @classmethod
    def of(cls, features: Floats, offsets: Integers, targets: Floats, weights: Floats) -> Self:
        """The cross entropy for query weights with any positive sum."""
        weights = weights / weights.sum()
        curvatures, axes = _curvatures(features, offsets, weights)
        return cls(
            read_only(features, np.float64),
            read_only(offsets, np.int64),
            read_only(targets, np.float64),
            read_only(weights, np.float64),
            curvatures,
            axes,
        )

    def without(self, queries: Flags) -> Self:
        """The mean over the other queries, in the same coordinates."""
        weights = np.where(queries, 0.0, self.weights)
        return replace(self, weights=read_only(weights / weights.sum(), np.float64))

    def evaluate(self, weights: Floats, l2: float) -> tuple[float, Floats]:
        """The cross entropy plus l2/2 |w|², and its gradient."""
        value, gradient = cross_entropy(
            self.features, self.offsets, self.targets, self.weights, weights
        )
        return value + 0.5 * l2 * float(weights @ weights), gradient + l2 * weights

    def minimum(self, l2: float, tol: float, max_iter: int, start: Floats | None = None) -> Minimum:
        """The minimum of the cross entropy plus l2/2 |w|²."""
        # Imported here: loading a model does not need it.
        from scipy.optimize import minimize

        units = 1.0 / np.sqrt(self.curvatures + l2)
        axes = self.axes

        def weights_at(place: Floats) -> Floats:
            return place * units if axes is None else axes @ (place * units)

        def slope(gradient: Floats) -> Floats:
            return units * (gradient if axes is None else gradient @ axes)

        def evaluate(place: Floats) -> tuple[float, Floats]:
            value, gradient = self.evaluate(weights_at(place), l2)
            return value, slope(gradient)

        place = np.zeros_like(units)
        if start is not None:
            place = (start if axes is None else start @ axes) / units
        result = minimize(
            evaluate,
            place,
            jac=True,
            method="L-BFGS-B",
            options={
                "gtol": tol * np.abs(slope(self._gradient_at_zero)).max(),
                "ftol": 0.0,
                "maxiter": max_iter,
                "maxfun": 20 * max_iter,
            },
        )
        # Status 2: rounding stops the search along a line. That counts as converged.
        return Minimum(weights_at(result.x), float(result.fun), int(result.nit), result.status != 1)

    def path(self, l2s: Iterable[float], tol: float, max_iter: int) -> Iterator[Floats]:
        """The weights for each l2. Each search starts at the result of the one before."""
        weights = None
        for l2 in l2s:
            weights = self.minimum(l2, tol, max_iter, weights).weights
            yield weights

    @cached_property
    def _gradient_at_zero(self) -> Floats:
        return self.evaluate(np.zeros_like(self.curvatures), 0.0)[1]


def _curvatures(
    features: Floats, offsets: Integers, weights: Floats
) -> tuple[Floats, Floats | None]:
    """Second derivatives at w = 0, where every softmax is uniform, and their axes."""
    sizes = np.diff(offsets)
    shares = np.repeat(weights / sizes, sizes)
    means = np.add.reduceat(features, offsets[:-1]) / sizes[:, None]
    if features.shape[1] > _EXPLICIT:
        squares = np.einsum("i,ij,ij->j", shares, features, features, optimize=False)
        return np.maximum(squares - weights @ means**2, 0.0), None
    second = -(means * weights[:, None]).T @ means
    n_rows = max(_BLOCK_BYTES // features[0].nbytes, 1)
    for begin in range(0, len(features), n_rows):
        block = features[begin : begin + n_rows]
        second += (block * shares[begin : begin + n_rows, None]).T @ block
    values, axes = np.linalg.eigh(second)
    return np.maximum(values, 0.0), axes
