"""The margin-rescaled risk of average precision if documents are ranked by a metric."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.rankers.svm_map._average_precision_oracle import most_violated_rankings

# Number of rows whose products are in memory at a time.
_BLOCK = 1 << 14


class MetricRisk:
    """R(W), the weighted sum over queries of max over rankings of loss + margin violation.

    Let x be a document less its query. Its score is -x'Wx, the product of W and φ = -xx'. The
    features psi of a ranking are the mean, over pairs of a relevant and an irrelevant document, of
    their difference in φ, with the sign of their order in the ranking. The margin violation of a
    ranking is the product of W and psi(ranking) - psi(ideal ranking): a plane in W. The most
    violated ranking depends on W only through the scores. The slope of its plane is -sum of c xx',
    where the search gives the contribution c of each document. No pair is visited. One plane takes
    O(n log n + n d²).

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
        Documents less their query, ordered by query. In each query, relevant documents come first.
    offsets : ndarray of shape (n_queries + 1,)
    n_relevant : ndarray of shape (n_queries,)
        Number of relevant documents of each query: at least one, and not all.
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
            block_rows = rows[first : first + _BLOCK]
            documents = self.features[block_rows]
            slope -= (documents * contributions[block_rows, None]).T @ documents
        return (slope + slope.T) / 2, float(self.weights @ losses)
