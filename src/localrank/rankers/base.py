"""What every ranker promises."""

from __future__ import annotations

from abc import abstractmethod
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from localrank.data import RankingDataset
from localrank.measures import NDCG
from localrank.persistence import save


class Ranker(BaseEstimator):
    """Learns from labelled queries to score documents; larger scores rank higher.

    Rankers follow scikit-learn's contract (`clone`, `get_params`, metadata routing, with `qid`
    requested by default). A ranker implements `_fit` and `_predict` on datasets; everything
    that all rankers check or convert is done here.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the training data names its features.
    training_data_ : dict
        Numbers of queries, documents and labels the ranker was fitted on; queries in which all
        documents have one label teach nothing about order.
    """

    # Whether NaN may stand for a missing feature value.
    accepts_missing: ClassVar[bool] = False

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__predict: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    @abstractmethod
    def _fit(
        self,
        dataset: RankingDataset,
        query_weights: NDArray[np.float64] | None,
        valid: RankingDataset | None,
    ) -> None:
        """Check the parameters, then learn."""

    @abstractmethod
    def _predict(self, dataset: RankingDataset) -> NDArray[Any]:
        """Score every row of a dataset that has the right features."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        valid: RankingDataset | tuple[Any, Any, Any] | None = None,
    ) -> Self:
        """Learn from a dataset, or from arrays.

        Parameters
        ----------
        X : RankingDataset, array or DataFrame
            A dataset, or features with one row per document.
        y, qid : array-like of shape (n_documents,)
            Labels and query ids, where X is not a dataset; in any order of queries.
        sample_weight : array-like of shape (n_documents,), optional
            A weight for each document, in input order, the same for all documents of a query:
            what a ranker weighs is queries.
        query_weight : array-like of shape (n_queries,), optional
            The same as one weight per query, queries in the order they first appear.
        valid : RankingDataset or (X, y, qid), optional
            Held-out queries for rankers that choose their size by them; others ignore it.
        """
        dataset = as_dataset(X, y, qid)
        labels = dataset.labels
        low = np.minimum.reduceat(labels, dataset.offsets[:-1])
        high = np.maximum.reduceat(labels, dataset.offsets[:-1])
        graded = low < high
        if not graded.any():
            raise ValueError("There is nothing to learn: no query has two different labels.")
        self._check_values(dataset)
        weights = _query_weights(dataset, sample_weight, query_weight)
        if weights is not None and not (weights[graded] > 0).any():
            raise ValueError("There is nothing to learn: queries with two labels weigh nothing.")
        held_out = None
        if valid is not None:
            held_out = valid if isinstance(valid, RankingDataset) else as_dataset(*valid)
        self._remember(dataset, int(np.sum(~graded)))
        if held_out is not None:
            self._check_same_features(held_out)
            self._check_values(held_out)
        self._fit(dataset, weights, held_out)
        return self

    def predict(self, X: Any, *, qid: Any = None) -> NDArray[np.float64]:
        """Score documents: one number each, in input order.

        Parameters
        ----------
        X : RankingDataset, array or DataFrame
        qid : array-like of shape (n_documents,)
            Query ids, where X is not a dataset.
        """
        check_is_fitted(self, "n_features_in_")
        dataset = as_dataset(X, None, qid)
        self._check_same_features(dataset)
        self._check_values(dataset)
        scores = np.asarray(self._predict(dataset), dtype=np.float64)
        return dataset.in_input_order(scores)

    def score(self, X: Any, y: Any = None, *, qid: Any = None) -> float:
        """Mean NDCG@10 of the ranking of labelled documents."""
        dataset = as_dataset(X, y, qid)
        return NDCG(10).mean(dataset, self.predict(dataset))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted ranker to one file, which `localrank.load` reads."""
        check_is_fitted(self, "n_features_in_")
        save(self, path)

    def _remember(self, dataset: RankingDataset, n_queries_with_one_label: int) -> None:
        self.n_features_in_ = dataset.n_features
        self.__dict__.pop("feature_names_in_", None)
        if dataset.feature_names is not None:
            self.feature_names_in_ = np.array(dataset.feature_names)
        labels, counts = np.unique(dataset.labels, return_counts=True)
        self.training_data_ = {
            "n_queries": dataset.n_queries,
            "n_queries_with_one_label": n_queries_with_one_label,
            "n_documents": dataset.n_documents,
            "n_labels": len(labels),
            "most_frequent_labels": {
                f"{labels[i]:g}": int(counts[i]) for i in np.sort(np.argsort(-counts)[:10])
            },
        }

    def _check_same_features(self, dataset: RankingDataset) -> None:
        name = type(self).__name__
        if dataset.n_features != self.n_features_in_:
            raise ValueError(
                f"{name} was fitted on {self.n_features_in_} features. "
                f"The dataset has {dataset.n_features}."
            )
        trained = getattr(self, "feature_names_in_", None)
        if trained is None or dataset.feature_names is None:
            return
        for column, (ours, theirs) in enumerate(zip(trained, dataset.feature_names, strict=True)):
            if ours != theirs:
                raise ValueError(
                    f"Feature {column + 1} was {str(ours)!r} when {name} was fitted. In the "
                    f"dataset it is {theirs!r}: put the features into the same order."
                )

    def _check_values(self, dataset: RankingDataset) -> None:
        # A finite sum proves that nothing is missing; only otherwise look where.
        if self.accepts_missing or np.isfinite(dataset.features.sum()):
            return
        missing = np.isnan(dataset.features).sum(axis=0)
        if not missing.any():
            return
        column = int(np.argmax(missing > 0))
        raise ValueError(
            f"{type(self).__name__} cannot take missing values, and {dataset.feature_label(column)}"
            f" has {missing[column]:,} of them. Impute first, for example "
            f"dataset.with_features(SimpleImputer().fit_transform(dataset.features)) with "
            f"scikit-learn's SimpleImputer."
        )


def as_dataset(X: Any, y: Any, qid: Any) -> RankingDataset:
    """The dataset itself, or one made of arrays."""
    if not isinstance(X, RankingDataset):
        return RankingDataset.from_arrays(X, y, qid)
    if y is not None or qid is not None:
        raise ValueError("A RankingDataset has its labels and query ids: leave out y and qid.")
    return X


def _query_weights(
    dataset: RankingDataset, sample_weight: ArrayLike | None, query_weight: ArrayLike | None
) -> NDArray[np.float64] | None:
    if sample_weight is None and query_weight is None:
        return None
    if sample_weight is not None and query_weight is not None:
        raise ValueError("Give sample_weight or query_weight, not both.")
    name, given, length = "query_weight", query_weight, dataset.n_queries
    if sample_weight is not None:
        name, given, length = "sample_weight", sample_weight, dataset.n_documents
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (length,):
        raise ValueError(f"{name} needs {length} entries. Got shape {weights.shape} instead.")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(f"{name} must hold finite numbers, 0 or larger.")
    if sample_weight is not None:
        rows = dataset.in_query_order(weights)
        weights = rows[dataset.offsets[:-1]]
        if (rows != weights[dataset.query_index]).any():
            raise ValueError("sample_weight must be the same for all documents of a query.")
    return weights
