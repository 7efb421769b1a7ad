"""What a fitted ranker says of its scores: explanations, importances of features, formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.estimator import check_is_fitted
from localrank.data import RankingDataset
from localrank.rankers._inputs import admitted_to, as_dataset, filling_of, finite_scores

if TYPE_CHECKING:
    from localrank.formulas import Formula
    from localrank.rankers._contributions import Contributions
    from localrank.rankers._explanation import Explanation, NearDocuments
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


def explained(ranker: Ranker, X: Any, query: Any, qid: Any) -> Explanation:
    """Why the documents of one query get their scores."""
    from localrank.rankers._explanation import Explanation

    return Explanation(**facts_of(ranker, documents_of(ranker, X, query, qid)))


def documents_of(ranker: Ranker, X: Any, query: Any, qid: Any) -> RankingDataset:
    """The documents of one query, with ids, as a dataset that the fitted ranker can score."""
    from localrank.rankers._contributions import document_ids_of, position_of_query

    check_is_fitted(ranker, "n_features_in_")
    dataset = as_dataset(X, None, qid)
    number = position_of_query(dataset, query)
    ids = document_ids_of(dataset)[slice(*dataset.offsets[number : number + 2])]
    one = dataset.taken(np.array([number])).in_memory()
    return admitted_to(ranker, one.replaced(document_ids=ids), None)


def facts_of(ranker: Ranker, documents: RankingDataset) -> dict[str, Any]:
    """What every ranker can say of one query: the fields of `Explanation`."""
    members = ranker._members()
    lists = [member.predict_rows(documents) for member in members]
    try:
        result, reason = contributions(ranker, documents).centred(), None
    except ValueError as error:
        result, reason = None, str(error)
    return {
        "query": documents.query_ids[0],
        "document_ids": documents.document_ids,
        "labels": documents.relevance,
        "scores": finite_scores(ranker, documents, ranker.predict_rows(documents)),
        "members": tuple(ranker._member_names()),
        "member_scores": np.array(lists).reshape(len(lists), documents.n_documents).T,
        "contributions": result,
        "no_contributions": reason,
        "near_documents": near_documents(ranker, documents),
    }


def near_documents(ranker: Ranker, documents: RankingDataset) -> NearDocuments | None:
    """The neighbours by the first part that lets documents borrow from each other."""
    from localrank.rankers._explanation import borrowing_part

    part = borrowing_part(ranker)
    return None if part is None else part.near_documents(documents)


def described(ranker: Ranker) -> str:
    """The name of a ranker's class, with that of the ranker it wraps in parentheses.

    Examples
    --------
    >>> from localrank.rankers import QueryCoordinates, RankSVM
    >>> described(QueryCoordinates(RankSVM()))
    'QueryCoordinates(RankSVM)'
    """
    name = type(ranker).__name__
    wrapped = getattr(ranker, "ranker", None)
    return name if wrapped is None else f"{name}({described(wrapped)})"


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
