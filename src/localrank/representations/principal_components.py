"""A query as the directions in which its documents spread."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.rules import Rules, check_together, floats, refuse, whole
from localrank._kernels.linalg import principal_axes
from localrank.data import RankingDataset
from localrank.data._exact_sums import ExactSums, added
from localrank.data._parts import over_parts
from localrank.registry import declare
from localrank.representations.base import Representation

# Numbers in a block of distances, few enough for the processor's cache, and rows of a block.
_BLOCK, _BLOCK_ROWS = 1 << 18, 512
# Rounding error of a sum of shares.
_ROUNDING = 1e-12


@declare("principal-components", "the directions in which its documents spread")
class PrincipalComponents(Representation):
    """Describes a query by the leading principal components of its documents.

    Let u_1, …, u_P be the eigenvectors of the covariance of a query's documents, by decreasing
    eigenvalue. The similarity of two queries is (|u_1 · u'_1| + … + |u_P · u'_P|) / P [1], and
    their distance is 1 minus the similarity. Neither changes when the documents of a query are
    shifted, scaled or reordered.

    If the documents vary in fewer than P directions, the missing ones are zero vectors, which
    are similar to nothing. So a query with r < P directions has similarity r / P to itself. A
    direction counts as missing when its variance is less than 1e-12 of the largest.

    Parameters
    ----------
    n_components : int or float, default=0.8
        An int: the number P of components. A float, above 0 and at most 1: a share of variance.
        P is then the smallest number of components that reach this share in the average training
        query. Queries without variance are left out of the average; if all are, P is 1.

    Attributes
    ----------
    n_components_ : int
        The number P.
    explained_ : ndarray of shape (n_features,)
        Share of each component in the variance of the average training query.

    References
    ----------
    1. Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. 2009.

    Examples
    --------
    >>> line = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> upright = np.array([[0.0, 0.0], [0.0, 1.0]])
    >>> documents = np.vstack([line, 7 - 2 * line, upright])
    >>> dataset = RankingDataset.from_arrays(documents, qid=[1, 1, 1, 2, 2, 2, 3, 3])
    >>> representation = PrincipalComponents().fit(dataset)
    >>> components = representation.transform(dataset)
    >>> components.round(3)
    array([[[0.6, 0.8]],
           [[0.6, 0.8]],
           [[0. , 1. ]]])
    >>> representation.distances(components[:1], components).round(3)
    array([[0. , 0. , 0.2]])
    """

    _fitted: ClassVar[Rules] = {"explained_": floats("n_features"), "n_components_": whole(1)}

    def __init__(self, n_components: float = 0.8) -> None:
        self.n_components = n_components

    def _fit(self, dataset: RankingDataset) -> None:
        self._check_n_components(dataset.n_features)
        parts = over_parts(self._shares, dataset, description="Shares of variance")
        n_varying = sum(n for n, _ in parts)
        self.explained_ = added(sums for _, sums in parts).rounded(max(n_varying, 1))
        n_needed = np.argmax(np.cumsum(self.explained_) >= self.n_components - _ROUNDING) + 1
        whole = isinstance(self.n_components, Integral)
        self.n_components_ = int(self.n_components if whole else n_needed)

    def _shares(self, dataset: RankingDataset) -> tuple[int, ExactSums]:
        """The number of queries with any variance, and the sums of their directions' shares."""
        shares, _ = self._axes(dataset, 0)
        varying = shares[shares[:, 0] > 0]
        return len(varying), ExactSums.of(varying)

    def _check_n_components(self, n_features: int) -> None:
        value = self.n_components
        most = n_features if isinstance(value, Integral) else 1
        if not isinstance(value, Real) or isinstance(value, bool) or not 0 < value <= most:
            refuse(
                self,
                "n_components",
                f"an int from 1 to the number of features, {n_features}, or a float above 0, "
                f"at most 1",
            )

    def _check_fitted(self) -> None:
        check_together(self, holds=self.n_components_ <= self.n_features_in_)

    def _transform(self, dataset: RankingDataset) -> Floats:
        _, components = self._axes(dataset, self.n_components_)
        return components

    def _axes(self, dataset: RankingDataset, n_axes: int) -> tuple[Floats, Floats]:
        """For each query, the variance shares of all directions, and the first directions."""
        return principal_axes(dataset.features, dataset.offsets, n_axes)

    def centroid(self, descriptions: Array) -> Floats:
        """The directions c_1, …, c_P that agree best with those of several queries.

        c_p maximises the sum over queries of (c · u_p)². So it is the first eigenvector of the
        mean projector on the p-th directions, which is the first principal component of the cloud
        of all u_p and -u_p. The centre of one query is the query itself. Directions are averaged
        one by one because the similarity pairs them by their order. A mean projector on all P
        directions together would lose the order.

        Parameters
        ----------
        descriptions : ndarray of shape (n_queries, P, n_features)

        Examples
        --------
        >>> components = np.array([[[1.0, 0.0]], [[0.8, 0.6]], [[-0.8, 0.6]], [[0.0, 0.0]]])
        >>> PrincipalComponents(1).centroid(components[:2]).round(3)
        array([[0.949, 0.316]])
        >>> PrincipalComponents(1).centroid(components)
        array([[1., 0.]])
        """
        n_queries, n_components, n_features = descriptions.shape
        both = np.concatenate([descriptions, -descriptions]).swapaxes(0, 1)
        offsets = 2 * n_queries * np.arange(n_components + 1)
        _, axes = principal_axes(both.reshape(-1, n_features), offsets, 1)
        return axes[:, 0]

    def distances(self, A: Array, B: Array) -> Floats:
        distances = np.zeros((len(A), len(B)))
        n_rows = min(max(len(A), 1), _BLOCK_ROWS)
        n_columns = _BLOCK // n_rows
        for row in range(0, len(A), n_rows):
            for column in range(0, len(B), n_columns):
                a, b = A[row : row + n_rows], B[column : column + n_columns]
                block = distances[row : row + n_rows, column : column + n_columns]
                for component in range(A.shape[1]):
                    products = a[:, component] @ b[:, component].T
                    block += np.abs(products, out=products)
        distances /= -A.shape[1]
        distances += 1.0
        return np.clip(distances, 0.0, 1.0, out=distances)

    def similarities(self, distances: Floats) -> Floats:
        """The similarity of the paper: 1 minus the distance."""
        similarities: Floats = 1.0 - distances
        return similarities
