"""The single feature that ranks best."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank.data import RankingDataset
from localrank.measures import Measure, parse_measure
from localrank.progress import progress
from localrank.rankers.base import Ranker


class BestFeature(Ranker):
    """Ranks by the one feature with the best mean measure on the training queries.

    What a model must beat, and the yardstick of best-feature calibration [1]_. The feature is
    used as a score as it is, larger first.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@5"
    both_directions : bool, default=False
        Whether a feature may also rank smaller values first.

    Attributes
    ----------
    feature_ : int
        Column of the best feature; the first of equally good ones.
    direction_ : int
        1 where larger values rank first, -1 where smaller ones do.
    values_ : ndarray of shape (n_features,) or (2, n_features)
        Mean measure of each feature; with both directions, larger first and smaller first.

    References
    ----------
    .. [1] Cremers, Kaur, Koesomo, et al. Adaptive Training With K-Means and Hierarchical
       Clustering.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(50, random_state=0)
    >>> ranker = BestFeature().fit(dataset)
    >>> dataset.feature_label(ranker.feature_), round(ranker.score(dataset), 2)
    ('f17', 0.6)
    """

    def __init__(self, measure: str | Measure = "ndcg@5", *, both_directions: bool = False) -> None:
        self.measure = measure
        self.both_directions = both_directions

    def _fit(
        self,
        dataset: RankingDataset,
        query_weights: NDArray[np.float64] | None,
        valid: RankingDataset | None,
    ) -> None:
        measure = parse_measure(self.measure)
        directions = (1, -1) if self.both_directions else (1,)
        values = np.empty((len(directions), dataset.n_features))
        with progress("Best feature", values.size) as advance:
            for row, direction in enumerate(directions):
                for column in range(dataset.n_features):
                    scores = dataset.in_input_order(direction * dataset.features[:, column])
                    values[row, column] = _weighted_mean(measure(dataset, scores), query_weights)
                    advance()
        best = values.argmax() if measure.higher_is_better else values.argmin()
        row, self.feature_ = (int(i) for i in np.unravel_index(best, values.shape))
        self.direction_ = directions[row]
        self.values_ = values if self.both_directions else values[0]

    def _predict(self, dataset: RankingDataset) -> NDArray[Any]:
        scores: NDArray[Any] = self.direction_ * dataset.features[:, self.feature_]
        return scores


def _weighted_mean(values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> float:
    counted = ~np.isnan(values)
    return float(np.average(values[counted], weights=None if weights is None else weights[counted]))
