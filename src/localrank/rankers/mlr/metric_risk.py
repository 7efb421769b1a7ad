"""The margin-rescaled risk of average precision when documents are ranked by a metric."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Floats, Integers
from localrank.rankers.svm_map.average_precision_oracle import most_violated_rankings

# Rows whose products are held at a time.
_BLOCK = 1 << 14


class MetricRisk:
    """R(W), the weighted sum over queries of max over rankings of loss + margin violation.

    With x a document less its query, its score is -x'Wx, the product of W and φ = -xx'. A ranking
    of a query has the features psi, the mean over pairs of a relevant and an irrelevant document
    of their difference in φ, with the sign by which the ranking orders them; its margin violation
    is the product of W and psi(ranking) - psi(ideal ranking). So it is a plane in W. The most
    violated ranking depends on W by the scores alone, and the slope of its plane is
    -sum of c xx', where the search says what each document contributes, c: no pair is visited.
    One plane takes O(n log n + n d²).

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
        Documents less their query, by query, each query's relevant documents before its
        irrelevant ones.
    offsets : ndarray of shape (n_queries + 1,)
    n_relevant : ndarray of shape (n_queries,)
        At least one and not all.
    weights : ndarray of shape (n_queries,)
    """

    def __init__(
        self, features: Floats, offsets: Integers, n_relevant: Integers, weights: Floats
    ) -> None:
        self.features = features
        self.offsets = offsets
        self.n_relevant = n_relevant
        self.weights = weights

    def plane(self, components: Floats) -> tuple[Floats, float]:
        """Slope and intercept of the plane that touches R at W = components' components.

        Examples
        --------
        Without a metric the most violated ranking is the worst one: the relevant document, at
        distance 1 from the query, below the irrelevant one at distance 2.

        >>> features = np.array([[1.0, 0.0], [0.0, 2.0]])
        >>> risk = MetricRisk(features, np.array([0, 2]), np.array([1]), np.ones(1))
        >>> risk.plane(np.empty((0, 2)))
        (array([[ 2.,  0.],
               [ 0., -8.]]), 0.5)
        """
        scores = np.empty(len(self.features))
        for first in range(0, len(scores), _BLOCK):
            block = slice(first, first + _BLOCK)
            scores[block] = -np.sum((self.features[block] @ components.T) ** 2, axis=1)
        losses, contributions = most_violated_rankings(scores, self.offsets, self.n_relevant)
        contributions *= np.repeat(self.weights, np.diff(self.offsets))
        rows = np.flatnonzero(contributions)
        slope = np.zeros((self.features.shape[1],) * 2)
        for first in range(0, len(rows), _BLOCK):
            own = rows[first : first + _BLOCK]
            documents = self.features[own]
            slope -= (documents * contributions[own, None]).T @ documents
        return (slope + slope.T) / 2, float(self.weights @ losses)
