"""Principal components of the highest values of each feature."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar, Literal

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.rules import Rules, floats, one_of, refuse, whole
from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.rows import longest_query
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.data._exact_sums import ExactSums, added
from localrank.data._offsets import offsets_of
from localrank.data._parts import over_parts
from localrank.registry import declare
from localrank.representations.base import Points
from localrank.representations.moments import query_means

# Rounding error of a sum of shares.
_ROUNDING = 1e-12
# Bits of a whole number, and rows whose products of two such numbers add up to less than 2^53.
_BITS, _ROWS = 20, 2**12


@declare("top-scores", "principal components of the highest values of each feature")
class TopScores(Points):
    """Describes a query by the highest values of each feature, in principal components [1].

    Each feature is sorted by itself, and its h highest values are kept. This gives a matrix of h
    rows per query. One principal component analysis is fitted to the rows of all training
    queries. A query is described by the mean of its projected rows. (The paper can also be read
    as one analysis per query. Projected rows are then centred, and every query would be the zero
    vector.) Features with large values count most, unless they are scaled.

    Parameters
    ----------
    h : int, default=10
        Number of highest values of each feature. A query with fewer documents uses all of them.
    n_components : int or float, default=0.95
        Number of components (int), or share of the variance that they must reach (float).
    scaling : {"standard"} or None, default=None
        Scaling of the highest values. "standard": divide those of each feature by their standard
        deviation over the rows of all training queries, as features in different units need.
        None: no scaling. `Scaled` is no substitute: it divides by the spread within queries, so
        a feature that varies little within queries and much between them would decide alone.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Mean of the training rows.
    components_ : ndarray of shape (n_components, n_features)
        The components, by descending variance. The largest loading of each is positive. With
        `scaling`, loadings are already divided by the features' standard deviations.

    References
    ----------
    1. Lwin, Kham. Query Dependent Ranking based on PCA-based Query Representation.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(50, n_features=20)
    >>> TopScores(n_components=3).fit(dataset).transform(dataset).shape
    (50, 3)
    """

    _parameters: ClassVar[Rules] = {"h": whole(1), "scaling": one_of("standard", None)}

    _fitted: ClassVar[Rules] = {
        "mean_": floats("n_features"),
        "components_": floats(None, "n_features"),
    }

    def __init__(
        self,
        h: int = 10,
        *,
        n_components: float = 0.95,
        scaling: Literal["standard"] | None = None,
    ) -> None:
        self.h = h
        self.n_components = n_components
        self.scaling = scaling

    def _fit(self, dataset: RankingDataset) -> None:
        parts = over_parts(_extent, dataset, shared=(self.h,), description="Top values")
        n_rows = sum(n for n, _, _ in parts)
        self._check_n_components(min(n_rows, dataset.n_features))
        self.mean_ = added(sums for _, sums, _ in parts).rounded(n_rows)
        largest = np.max([high for _, _, high in parts], axis=0) + np.abs(self.mean_)
        # A power of two larger than every difference from the mean.
        unit = np.ldexp(1.0, np.frexp(np.where(largest > 0, largest, 1.0))[1])
        products = over_parts(
            _centred_products, dataset, shared=(self.h, self.mean_, unit), description="Covariance"
        )
        products_of_units = _rounded(sum(products[1:], start=products[0]))
        spread = self._spread(np.sqrt(np.diagonal(products_of_units) / n_rows) * unit)
        factor = unit / spread
        variances, directions = np.linalg.eigh(factor[:, None] * products_of_units * factor)
        n_components = self._count_components(np.maximum(variances[::-1], 0.0))
        components = directions.T[::-1][:n_components]
        largest_loading = np.abs(components).argmax(axis=1)[:, None]
        signs = np.sign(np.take_along_axis(components, largest_loading, axis=1))
        self.components_ = components * signs / spread

    def _transform(self, dataset: RankingDataset) -> Floats:
        # Projection is linear: the projected mean is the mean of the projected rows.
        means = query_means(*top_values(dataset.features, dataset.offsets, self.h))
        # Not a matrix product: its rounding may depend on the number of rows.
        points: Floats = np.einsum("qf,cf->qc", means - self.mean_, self.components_)
        return points

    def _spread(self, deviations: Floats) -> Floats:
        """The divisor of each feature; 1 if the feature is constant."""
        if self.scaling is None:
            return np.ones(len(deviations))
        varies = deviations > _ROUNDING * (np.abs(self.mean_) + deviations)
        return np.where(varies, deviations, 1.0)

    def _check_n_components(self, most: int) -> None:
        value = self.n_components
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        share = isinstance(value, Real) and not isinstance(value, Integral)
        if not (whole and 1 <= value <= most) and not (share and 0 < value <= 1):
            refuse(
                self,
                "n_components",
                f"a whole number from 1 to {most} (features, or rows of values if fewer), or a "
                f"float above 0, at most 1",
            )

    def _count_components(self, variances: Floats) -> int:
        if isinstance(self.n_components, Integral):
            return int(self.n_components)
        reached = np.cumsum(variances)
        return int(np.searchsorted(reached, (self.n_components - _ROUNDING) * reached[-1])) + 1


def _extent(dataset: RankingDataset, h: int) -> tuple[int, ExactSums, Floats]:
    """The number of rows of top values, their sums, and the largest absolute value per feature."""
    rows, offsets = top_values(dataset.features, dataset.offsets, h)
    sums = ExactSums.of(np.add.reduceat(rows, offsets[:-1]))
    return len(rows), sums, np.abs(rows).max(axis=0)


def _centred_products(dataset: RankingDataset, h: int, mean: Floats, unit: Floats) -> Integers:
    """The products of all pairs of columns of the centred rows, in the given units.

    Each value is rounded to 40 bits below its unit and held as two whole numbers of 20 bits. Sums
    of their products are exact in double precision for some thousand rows, and then as whole
    numbers. So the result does not depend on the order of the queries, or on how they are
    partitioned.

    Returns
    -------
    ndarray of int64, shape (3, 2, n_features, n_features)
        The products of two high numbers, of a high and a low one, and of two low ones. Each is
        in two parts, the upper and the lower 20 bits, so that many of them can be added.
    """
    rows, _ = top_values(dataset.features, dataset.offsets, h)
    parts = np.zeros((3, 2, len(unit), len(unit)), np.int64)
    for begin in range(0, len(rows), _ROWS):
        scaled = (rows[begin : begin + _ROWS] - mean) / unit * 2.0**_BITS
        high = np.rint(scaled)
        low = np.rint((scaled - high) * 2.0**_BITS)
        mixed = high.T @ low
        products = np.stack([high.T @ high, mixed + mixed.T, low.T @ low]).astype(np.int64)
        upper = products >> _BITS
        parts[:, 0] += upper
        parts[:, 1] += products - (upper << _BITS)
    return parts


def _rounded(parts: Integers) -> Floats:
    """The sums of products, each the nearest number in double precision."""
    first, second = np.triu_indices(parts.shape[-1])
    upper, lower = parts[:, :, first, second].astype(object).swapaxes(0, 1)
    high, mixed, low = (upper << _BITS) + lower
    totals = (high << 2 * _BITS) + (mixed << _BITS) + low
    products = np.empty(parts.shape[-2:])
    products[first, second] = products[second, first] = totals / (1 << 4 * _BITS)
    return products


def top_values(features: Array, offsets: Integers, n: int) -> tuple[Floats, Integers]:
    """The n largest values of each feature in each query, each column in descending order.

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
        Without NaN.
    offsets : ndarray of shape (n_queries + 1,)
        Where each query's rows begin, and the end.
    n : int
        A query with fewer documents keeps what it has.

    Returns
    -------
    values : ndarray of shape (n_rows, n_features)
    offsets : ndarray of shape (n_queries + 1,)
        Where each query's rows of values begin, and the end.

    Examples
    --------
    >>> features = np.array([[1.0, 7.0], [3.0, 5.0], [2.0, 9.0], [0.0, 0.0]])
    >>> values, offsets = top_values(features, np.array([0, 3, 4]), 2)
    >>> values
    array([[3., 9.],
           [2., 7.],
           [0., 0.]])
    >>> offsets
    array([0, 2, 3])
    """
    ends = offsets_of(np.minimum(np.diff(offsets), n))
    values = _top_values(
        read_only(features, np.float64), read_only(offsets, np.int64), read_only(ends, np.int64)
    )
    return values, ends


@kernel
def _top_values(features: Floats, offsets: Integers, ends: Integers) -> Floats:
    """Pass over each column with a heap of its largest values so far, the smallest on top."""
    values = np.empty((ends[-1], features.shape[1]))
    heap = np.empty(longest_query(ends))
    for query in range(len(ends) - 1):
        size = ends[query + 1] - ends[query]
        begin, end = offsets[query], offsets[query + 1]
        for column in range(features.shape[1]):
            for place in range(size):
                heap[place] = features[begin + place, column]
            for place in range(size // 2 - 1, -1, -1):
                _sink(heap, place, size)
            for row in range(begin + size, end):
                if features[row, column] > heap[0]:
                    heap[0] = features[row, column]
                    _sink(heap, 0, size)
            for left in range(size - 1, -1, -1):
                values[ends[query] + left, column] = heap[0]
                heap[0] = heap[left]
                _sink(heap, 0, left)
    return values


@inner_kernel
def _sink(heap: Floats, place: int, size: int) -> None:
    """Let a value sink until none below it is smaller."""
    value = heap[place]
    child = 2 * place + 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = value
