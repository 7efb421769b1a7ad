"""Explanations of a ranker's scores: contributions and importances of features, formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.estimator import check_is_fitted
from localrank.data import RankingDataset
from localrank.rankers._contribution_tables import no_contributions, no_importances
from localrank.rankers._inputs import as_dataset
from localrank.rankers._known_features import KnowsFeatures

if TYPE_CHECKING:
    from localrank.formulas import Formula
    from localrank.rankers._contributions import Contributions


class Explained(KnowsFeatures):
    """The part of `Ranker` that explains scores.

    A ranker implements `_contributions`, `_importances` and `_formula`.
    """

    def formula(self) -> Formula:
        """The scores of the fitted ranker as a formula that can be exported.

        A ranker without such a formula raises `NotExportable`, which says why, and what to take
        instead. If nothing was missing in training, the formula holds for documents that have all
        features.

        Examples
        --------
        >>> from localrank.data import make_queries
        >>> from localrank.rankers import RankSVM
        >>> dataset, _ = make_queries(60)
        >>> ranker = RankSVM().fit(dataset)
        >>> bool(np.allclose(ranker.formula().score(dataset), ranker.predict(dataset)))
        True
        """
        check_is_fitted(self, "n_features_in_")
        if self._sees_missing or not hasattr(self, "filling_"):
            return self._formula()
        return self.filled_formula()

    def filled_formula(self) -> Formula:
        """The formula with missing values filled, even if nothing was missing in training.

        It is for a ranker that cannot handle NaN, and is one of several trained on parts of the
        same data.
        """
        # Only exports need it.
        from localrank.formulas import Column, OnColumns

        filling = self._filling
        columns = [Column("filled", feature) for feature in range(len(filling.values))]
        columns += [Column("missing", feature) for feature in filling.indicators.tolist()]
        return OnColumns(tuple(columns), self._formula(), filling.filled)

    def _formula(self) -> Formula:
        """The formula on the columns that `_predict` sees."""
        from localrank.formulas import NotExportable

        raise NotExportable(
            type(self).__name__,
            "its scores have no formula that a search engine knows",
            "Call it as a service instead: localrank serve.",
        )

    def contributions(self, X: Any, *, qid: Any = None) -> Contributions:
        """The exact contribution of each feature to each document's score. They sum to the score.

        Linear rankers: weight times value. Boosted trees: TreeSHAP, as in LightGBM's
        `pred_contrib`. Rankers made of others: the sum of their contributions. A ranker whose
        score is not a sum over features raises a ValueError that says why.

        Parameters
        ----------
        X : RankingDataset, array or DataFrame
        qid : array-like of shape (n_documents,)
            Query ids, if X is not a dataset.

        Examples
        --------
        >>> from localrank.rankers import BestFeature
        >>> X, y, qid = [[5.0, 1.0], [7.0, 1.0]], [0, 1], ["a", "a"]
        >>> BestFeature().fit(X, y, qid=qid).contributions(X, qid=qid).values
        array([[5., 0.],
               [7., 0.]])
        """
        # Only explanations need it.
        from localrank.rankers._contributions import Contributions

        check_is_fitted(self, "n_features_in_")
        dataset = as_dataset(X, None, qid)
        self._check_same(dataset)
        return Contributions.of_table(dataset, self.contribution_rows(dataset))

    def contribution_rows(self, dataset: RankingDataset) -> Floats:
        """The table of contributions, row by row, without checking the dataset.

        It has a column for each feature, one for all features together, and one for the base.
        """
        seen = dataset.in_memory()
        if self._sees_missing:
            return self._contributions(seen)
        return self._without_indicators(self._contributions(self._filling.filled(seen)))

    @property
    def feature_importances_(self) -> Floats:
        """The importance of each feature in the fitted ranker, as shares with sum 1.

        Boosted trees: shares of the gains of all splits. Linear rankers: shares of the absolute
        weights of scaled features. Rankers made of others: the mean of their shares. With
        `QueryCoordinates` the sum may be smaller: the rest belongs to its aggregates, which use
        all features together. A ranker for which importance has no meaning lacks this attribute.
        """
        check_is_fitted(self, "n_features_in_")
        return self._without_indicators(self._importances())

    def _without_indicators(self, table: Floats) -> Floats:
        """Add the columns of indicators to those of their features."""
        indicators = self._filling.indicators
        if not len(indicators):
            return table
        n = self.n_features_in_
        table = table.copy()
        table[..., indicators] += table[..., n : n + len(indicators)]
        return np.delete(table, np.s_[n : n + len(indicators)], axis=-1)

    def _contributions(self, dataset: RankingDataset) -> Floats:
        """The table of `contribution_rows`."""
        raise no_contributions(type(self).__name__, "its score is not a sum over features")

    def _importances(self) -> Floats:
        """The shares of `feature_importances_`."""
        raise no_importances(type(self).__name__, "it does not weigh features")
