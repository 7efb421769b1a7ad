"""The single feature that ranks best."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.rules import Rules, check_together, flag, floats, one_of, optional, whole
from localrank.data import RankingDataset
from localrank.data._parts import over_parts
from localrank.measures import Measure, parse_measure
from localrank.measures._single_features import lowest_where_missing, measure_features
from localrank.measures.parsing import a_measure
from localrank.rankers._contribution_tables import table_of
from localrank.rankers.base import HeldOut, Needs, Ranker, Weights
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.formulas import Formula


@declare("best-feature", "the single best feature as a score")
class BestFeature(Ranker):
    """Ranks by the one feature with the best mean measure on the training queries.

    It is the baseline that a model must beat, and the reference of best-feature calibration [1].
    Training is one pass over the queries. It uses all of them, whatever `max_documents` of `fit`
    says. The value of the feature is the score, larger values first. A document without the
    feature ranks below all documents of the query that have it, in both directions. Its score is
    1 + |low| below the lowest score `low` of the others, or 0 if no document has the feature.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@5"
        Measure that chooses the feature.
    both_directions : bool, default=False
        Whether a feature may also rank smaller values first.

    Attributes
    ----------
    feature_ : int
        Column of the best feature; the first of equally good ones.
    direction_ : int
        1 if larger values rank first, -1 if smaller values do.
    missing_ : bool
        Whether some training documents lack the best feature.
    values_ : ndarray of shape (n_features,) or (2, n_features)
        Mean measure of each feature. With both directions: first with larger values first, then
        with smaller values first.

    References
    ----------
    1. Kuzi, Labhishetty, Karmaker Santu, Joshi, Zhai. Analysis of Adaptive Training for
       Learning to Rank in Information Retrieval. CIKM 2019.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(50, random_state=0)
    >>> ranker = BestFeature().fit(dataset)
    >>> dataset.feature_label(ranker.feature_), round(ranker.score(dataset), 2)
    ('f17', 0.6)
    """

    needs = Needs(missing=True, partitions=True, order="given")

    _parameters: ClassVar[Rules] = {"measure": a_measure, "both_directions": flag}

    _fitted: ClassVar[Rules] = {
        "feature_": whole(0, below="n_features"),
        "direction_": one_of(1, -1),
        "missing_": optional(one_of(True, False)),
        "values_": floats(),
    }

    def __init__(self, measure: str | Measure = "ndcg@5", *, both_directions: bool = False) -> None:
        self.measure = measure
        self.both_directions = both_directions

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        measure = parse_measure(self.measure)
        directions = (1, -1) if self.both_directions else (1,)
        values = measure_features(
            dataset, measure, query_weights, directions=directions, in_content_order=True
        )
        best = values.argmax() if measure.higher_is_better else values.argmin()
        row, self.feature_ = (int(i) for i in np.unravel_index(best, values.shape))
        self.direction_ = directions[row]
        lacking = over_parts(_lacking, dataset, shared=(self.feature_,), description="Missing")
        self.missing_ = any(lacking)
        self.values_ = values if self.both_directions else values[0]

    def _check_fitted(self) -> None:
        directions = (2,) if self.both_directions else ()
        check_together(self, holds=self.values_.shape == (*directions, self.n_features_in_))

    def _predict(self, dataset: RankingDataset) -> Array:
        return lowest_where_missing(dataset, self.direction_ * dataset.features[:, self.feature_])

    def _formula(self) -> Formula:
        from localrank.formulas import Linear, NotExportable

        if getattr(self, "missing_", False):
            raise NotExportable(
                "BestFeature",
                "some training documents lack the feature and rank last, but search engines treat "
                "a missing value as a number",
                "Train it on data in which all documents have the feature.",
            )
        weights = np.zeros(self.n_features_in_)
        weights[self.feature_] = self.direction_
        return Linear(weights)

    def _contributions(self, dataset: RankingDataset) -> Floats:
        values = np.zeros(dataset.features.shape)
        values[:, self.feature_] = self._predict(dataset)
        return table_of(values)

    def _importances(self) -> Floats:
        importances = np.zeros(self.n_features_in_)
        importances[self.feature_] = 1.0
        return importances


def _lacking(dataset: RankingDataset, feature: int) -> bool:
    """Whether some documents lack a feature."""
    return any(bool(np.isnan(block[:, feature]).any()) for _, block in dataset.feature_blocks())
