"""Principal components of the highest values of each feature."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar, Literal

import numpy as np

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.fitted import Kinds, floats
from localrank.parameters import Rules, one_of, refuse, whole
from localrank.representations.base import Points
from localrank.representations.moments import query_means
from localrank.representations.top_scores.top_values import top_values

# By how much rounding may keep a sum of shares from the share it equals.
_ROUNDING = 1e-12


@declare("top-scores", "principal components of the highest values of each feature")
class TopScores(Points):
    """Describes a query by the highest values of each feature, in principal components [1]_.

    Each feature's values are sorted on their own and the h highest kept, which makes a matrix of
    h rows. One analysis of principal components is fitted to the rows of all training queries; a
    query is the mean of its projected rows. (With an analysis for each query, as the paper can
    be read, projected rows are centred, and every query would be the zero vector.) Features with
    large values count most, unless they are scaled.

    Parameters
    ----------
    h : int, default=10
        How many values of each feature; a query with fewer documents keeps what it has.
    n_components : int or float, default=0.95
        Number of components or, as a float, the share of the variance that they have to reach.
    scaling : {"standard"} or None, default=None
        Whether each feature's highest values are divided by their standard deviation over the
        rows of all training queries: needed where features come in different units. `Scaled`
        divides by the spread within queries: a feature that varies little there and much from
        query to query would decide alone.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Mean of the training rows.
    components_ : ndarray of shape (n_components, n_features)
        By descending variance; the largest loading of each is positive. With `scaling` each
        loading is divided by the feature's deviation, so that a query's mean is projected as it is.

    References
    ----------
    .. [1] Lwin, Kham. Query Dependent Ranking based on PCA-based Query Representation.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(50, n_features=20)
    >>> TopScores(n_components=3).fit(dataset).transform(dataset).shape
    (50, 3)
    """

    _parameters: ClassVar[Rules] = {"h": whole(1), "scaling": one_of("standard", None)}

    _fitted: ClassVar[Kinds] = {
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
        rows, _ = top_values(dataset.features, dataset.offsets, self.h)
        self._check_n_components(min(rows.shape))
        self.mean_ = rows.mean(axis=0)
        rows = rows - self.mean_
        spread = self._spread(rows)
        # The triangular factor has the singular values and directions of all rows.
        factor = np.linalg.qr(rows / spread, mode="r")
        _, spreads, directions = np.linalg.svd(factor, full_matrices=False)
        components = directions[: self._count_components(spreads**2)]
        largest = np.abs(components).argmax(axis=1)[:, None]
        signs = np.sign(np.take_along_axis(components, largest, axis=1))
        self.components_ = components * signs / spread

    def _transform(self, dataset: RankingDataset) -> Floats:
        # Projection is linear: that of the mean is the mean of the projected rows.
        means = query_means(*top_values(dataset.features, dataset.offsets, self.h))
        points: Floats = (means - self.mean_) @ self.components_.T
        return points

    def _spread(self, centred: Floats) -> Floats:
        """What each feature is divided by; 1 where its values are all the same."""
        if self.scaling is None:
            return np.ones(centred.shape[1])
        spread: Floats = np.sqrt(np.mean(centred**2, axis=0))
        return np.where(spread > _ROUNDING * (np.abs(self.mean_) + spread), spread, 1.0)

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
