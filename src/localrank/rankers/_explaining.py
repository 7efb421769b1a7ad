"""What a fitted ranker says of its scores: contributions and importances of features, formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.estimator import check_is_fitted
from localrank.data import RankingDataset
from localrank.rankers._inputs import filling_of

if TYPE_CHECKING:
    from localrank.formulas import Formula
    from localrank.rankers._contributions import Contributions
    from localrank.rankers.base import Ranker


def contributions(ranker: Ranker, dataset: RankingDataset) -> Contributions:
    """The exact contribution of each feature to each document's score.

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

    return Contributions.of_table(dataset, contribution_rows(ranker, dataset))


def contribution_rows(ranker: Ranker, dataset: RankingDataset) -> Floats:
    """The table of contributions, row by row, without checking the dataset.

    It has a column for each feature, one for all features together, and one for the base.
    """
    seen = dataset.in_memory()
    if ranker.needs.missing:
        return ranker._contributions(seen)
    return _without_indicators(ranker, ranker._contributions(filling_of(ranker).filled(seen)))


def importances(ranker: Ranker) -> Floats:
    """The importance of each feature, as shares with sum 1."""
    check_is_fitted(ranker, "n_features_in_")
    return _without_indicators(ranker, ranker._importances())


def _without_indicators(ranker: Ranker, table: Floats) -> Floats:
    """Add the columns of indicators to those of their features."""
    indicators = filling_of(ranker).indicators
    if not len(indicators):
        return table
    n = ranker.n_features_in_
    table = table.copy()
    table[..., indicators] += table[..., n : n + len(indicators)]
    return np.delete(table, np.s_[n : n + len(indicators)], axis=-1)


def formula(ranker: Ranker) -> Formula:
    """The scores as a formula that can be exported.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(60)
    >>> ranker = RankSVM().fit(dataset)
    >>> bool(np.allclose(ranker.formula().score(dataset), ranker.predict(dataset)))
    True
    """
    check_is_fitted(ranker, "n_features_in_")
    fills = not ranker.needs.missing and hasattr(ranker, "filling_")
    return filled_formula(ranker) if fills else ranker._formula()


def filled_formula(ranker: Ranker) -> Formula:
    """The formula with missing values filled, even if nothing was missing in training.

    It is for a ranker that cannot handle NaN, and is one of several trained on parts of the same
    data.
    """
    # Only exports need it.
    from localrank.formulas import Column, OnColumns

    filling = filling_of(ranker)
    columns = [Column("filled", feature) for feature in range(len(filling.values))]
    columns += [Column("missing", feature) for feature in filling.indicators.tolist()]
    return OnColumns(tuple(columns), ranker._formula(), filling.filled)


def no_formula(ranker: Ranker) -> Exception:
    """The error of a ranker that no search engine can compute."""
    from localrank.formulas import NotExportable

    return NotExportable(
        type(ranker).__name__,
        "its scores have no formula that a search engine knows",
        "Call it as a service instead: localrank serve.",
    )


def column_labels(ranker: Ranker, dataset: RankingDataset) -> tuple[str, ...]:
    """Labels for display of the columns that the model sees: features, then indicators."""
    labels = tuple(dataset.feature_label(column) for column in range(dataset.n_features))
    return labels if ranker.needs.missing else filling_of(ranker).names(labels)
