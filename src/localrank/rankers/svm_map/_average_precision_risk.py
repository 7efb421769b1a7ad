"""The margin-rescaled risk of average precision, from the queries' most violated rankings."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.sorting import read_only
from localrank.data._offsets import rows_of
from localrank.rankers.rank_svm._centred_table import CentredTable
from localrank.rankers.svm_map._average_precision_oracle import most_violated_rankings
from localrank.rankers.svm_map._query_planes import centre_by_query, store_planes, sum_of_highest


class AveragePrecisionRisk:
    """R(w), the weighted sum over queries of max over rankings of loss + margin violation.

    A ranking of a query is a plane in w. The intercept is its loss 1 - AP. The slope is the
    difference between its Psi and that of the ideal ranking. R is the sum of each query's highest
    plane. For each query, the plane of the ideal ranking and a few planes of its most violated
    rankings are kept. They give a lower bound on R at a fraction of the cost [1].

    Values and intercepts are those of R(w) - R(0), which is precise even for tiny changes of w. At
    w = 0 the most violated ranking is the worst one.

    Parameters
    ----------
    features : ndarray or CentredTable of shape (n_documents, n_features)
        Rows ordered by query. In each query, relevant documents come first.
    offsets : ndarray of shape (n_queries + 1,)
    n_relevant : ndarray of shape (n_queries,)
        Number of relevant documents of each query: at least one, and not all.
    weights : ndarray of shape (n_queries,)
    n_kept : int
        Number of planes kept per query.
    overwrite : bool
        Whether the features may be centred in place.

    Attributes
    ----------
    at_zero : float
        R(0).

    References
    ----------
    1. Joachims, Finley, Yu. Cutting-Plane Training of Structural SVMs. Machine Learning
       77(1), 2009.
    """

    def __init__(
        self,
        features: Floats | CentredTable,
        offsets: Integers,
        n_relevant: Integers,
        weights: Floats,
        n_kept: int = 8,
        overwrite: bool = False,
    ) -> None:
        self.offsets = read_only(offsets, np.int64)
        if isinstance(features, CentredTable):
            self.features: Floats | CentredTable = features
        else:
            copy = None if overwrite else True
            centred = np.array(features, dtype=np.float64, order="C", copy=copy)
            centre_by_query(centred, self.offsets)
            self.features = read_only(centred, np.float64)
        self.n_relevant = n_relevant
        self.weights = read_only(weights, np.float64)
        n_documents, n_features = self.features.shape
        self.worst, _ = most_violated_rankings(np.zeros(n_documents), self.offsets, n_relevant)
        self.at_zero = float(self.weights @ self.worst)
        # The first slot always holds the ideal ranking. The others are empty at first.
        self.slopes = np.zeros((1 + n_kept, len(n_relevant), n_features))
        self.intercepts = np.tile(-self.worst, (1 + n_kept, 1))
        self.last_used = np.full(self.intercepts.shape, -1)
        self.last_used[0] = np.iinfo(np.int64).max
        self.n_slots = 1  # slots in use
        self.time = 0

    def separate(self, w: Floats) -> float:
        """R(w) - R(0). Keeps the most violated ranking of a query if no kept one is as high."""
        scores = self.features @ w
        losses, contributions = most_violated_rankings(scores, self.offsets, self.n_relevant)
        losses -= self.worst
        values = losses + np.add.reduceat(contributions * scores, self.offsets[:-1])
        known = self.heights(w).max(axis=0)
        new = np.flatnonzero(values > known + 1e-11 * np.abs(known))
        if len(new):
            self.n_slots = min(self.n_slots + 1, len(self.slopes))
            self._store(contributions, losses, new)
        return float(self.weights @ values)

    def _store(self, contributions: Floats, losses: Floats, queries: Integers) -> None:
        """Keep the planes of some queries, each in its least recently used slot."""
        kept = self.slopes, self.intercepts, self.last_used
        if isinstance(self.features, CentredTable):
            rows, _ = rows_of(self.offsets, queries)
            slopes = self.features.taken(rows).group_sums(contributions[rows])
            slots = self.last_used[:, queries].argmin(axis=0)
            self.slopes[slots, queries] = slopes[queries]
            self.intercepts[slots, queries] = losses[queries]
        else:
            store_planes(self.features, self.offsets, contributions, losses, queries, *kept)

    def heights(self, w: Floats) -> Floats:
        """Height of each kept plane at w, of shape (n_slots, n_queries)."""
        slopes = self.slopes[: self.n_slots]
        flat = slopes.reshape(-1, slopes.shape[2])
        heights: Floats = (flat @ w).reshape(slopes.shape[:2]) + self.intercepts[: self.n_slots]
        return heights

    def lower_bound(self, heights: Floats) -> float:
        """Lower bound on R(w) - R(0), from the heights of the kept planes."""
        return float(self.weights @ heights.max(axis=0))

    def highest(self, heights: Floats) -> tuple[Floats, float]:
        """Slope and intercept of the plane below R(w) - R(0) that attains the lower bound."""
        self.time += 1
        slope, intercept = sum_of_highest(
            heights, self.weights, self.slopes, self.intercepts, self.last_used, self.time
        )
        return slope, float(intercept)
