"""The base class of all rankers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Flags, Floats
from localrank._base.estimator import check_is_fitted
from localrank._base.parallel import one_blas_thread
from localrank._base.rules import check_parameters, one_of
from localrank.data import RankingDataset
from localrank.data._content_order import content_order
from localrank.data._filling import Filling
from localrank.data._parts import over_parts
from localrank.data.drawing import Limit, checked_limit
from localrank.measures import NDCG
from localrank.persistence import save_model
from localrank.rankers._explained import Explained
from localrank.rankers._inputs import (
    all_drawn,
    as_dataset,
    check_same_features,
    checked_weights,
    drawn_validation,
    has_two_labels,
    held_out_queries,
)
from localrank.rankers._ranked_lists import Listed
from localrank.rankers._weighing import Weighing

# A weight for each query. None: all weigh the same.
Weights = Floats | None
# Validation queries, if any.
HeldOut = RankingDataset | None
# What a ranker that cannot handle NaN does with missing values.
Missing = Literal["impute", "refuse"]
missing_rule = one_of("impute", "refuse")


class Ranker(Weighing, Explained, Listed):
    """Learns from labelled queries to score documents; larger scores rank higher.

    Rankers follow scikit-learn's contract: `clone`, `get_params` and metadata routing, which
    requests `qid` by default. `fit` and `predict` check and convert their input. Rankers call each
    other's `fit_rows` and `predict_rows`, which trust the dataset and keep its row order. A
    subclass implements `_fit` and `_predict`.

    Both methods get features without missing values. A missing value is filled with the median of
    its query, and an indicator column marks it if the feature has missing values in training
    (`Filling`). A ranker with the parameter `missing` refuses missing values when it is set to
    "refuse". A ranker that can handle NaN sets `_sees_missing`. A ranker made of others sets it
    too, and leaves missing values to them.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the features, if the training data has names.
    filling_ : Filling
        The learned fill values, if the training data has missing values and the ranker cannot
        handle NaN.
    training_data_ : dict
        Numbers of queries, documents and labels in training. Queries in which all documents have
        the same label are counted too: they teach nothing about order. If the training queries
        are a sample, "drawn" holds the numbers before sampling. "learned_from" lists the models,
        this one or parts of it, that learned from a part of the queries, because the model has a
        limit on documents.
    """

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__predict: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    @property
    def n_models_(self) -> int:
        """Number of models in the fitted ranker."""
        return 1

    def _order_seed(self) -> int | None:
        """Seed of the order of the training rows. None: keep the order they come in.

        The order depends only on the content of the rows. A model therefore does not depend on
        the order of lines in a file. A ranker made of others returns None and leaves it to them.
        """
        return 0

    @property
    def _needs_trial(self) -> bool:
        """Whether loading must rank a small example to show that the model's parts fit together.

        False if the declared kinds and `_check_fitted` already rule out every failure of
        `_predict`. The trial is the first call of the kernels and takes longer than the rest of
        loading. A subclass that overrides `_predict` decides again.
        """
        return True

    # Whether `_fit` reads features only through `feature_blocks`. They then need not fit in memory.
    _reads_blocks: ClassVar[bool] = False

    # Whether `_fit` makes passes over partitions and never needs them in memory.
    _reads_partitions: ClassVar[bool] = False

    def learns_from(self, dataset: RankingDataset) -> Flags:
        """Whether this ranker can learn from each query, of shape (n_queries,)."""
        return has_two_labels(dataset)

    def _lesson(self) -> str:
        """What a query needs so that the ranker can learn from it, for error messages."""
        return "two different labels"

    def _teaching(self, dataset: RankingDataset, query_weights: Weights) -> Flags:
        """Which queries to learn from: those of positive weight. Raises an error if none is."""
        teaches = self.learns_from(dataset)
        if query_weights is not None:
            teaches = teaches & (query_weights > 0)
        if not teaches.any():
            raise ValueError(
                f"There is nothing to learn: no query of positive weight has {self._lesson()}."
            )
        return teaches

    @abstractmethod
    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        """Learn from rows in the order set by `_order_seed`."""

    @abstractmethod
    def _predict(self, dataset: RankingDataset) -> Array:
        """Score every row."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        valid: RankingDataset | tuple[Any, Any, Any] | None = None,
        max_documents: Limit = "auto",
    ) -> Self:
        """Learn from a dataset, or from arrays.

        Parameters
        ----------
        X : RankingDataset, array or DataFrame
            A dataset, or features with one row per document.
        y, qid : array-like of shape (n_documents,)
            Labels and query ids, if X is not a dataset. Queries may come in any order.
        sample_weight : array-like of shape (n_documents,), optional
            A weight for each document, in input order. Boosted trees, and rankers made only of
            boosted trees, take any weights. Other rankers weigh queries: all documents of a query
            must have the same weight.
        query_weight : array-like of shape (n_queries,), optional
            A weight for each query, in the order of first appearance. Give this or
            `sample_weight`, not both.
        valid : RankingDataset or (X, y, qid), optional
            Validation queries. Rankers such as boosted trees choose their size with them; others
            ignore them.
        max_documents : int, None or "auto", default="auto"
            Largest number of documents that each model learns from. If there are more, whole
            queries are drawn by a hash of their ids: the same queries for any order and layout of
            the data. A `SampleWarning` and `training_data_` report the sample. A local ranker
            describes and groups all queries, and draws a sample for each group's model. "auto":
            all documents of a dataset in memory, 2,000,000 of one in files. None: all
            documents. Validation queries are sampled in the same way.
        """
        dataset, weights, held_out = self._admitted(X, y, qid, sample_weight, query_weight, valid)
        limit = checked_limit(max_documents, dataset)
        if held_out is not None:
            held_out = drawn_validation(held_out, max_documents)
        self._fit_drawn(dataset, weights, held_out, limit)
        self._tell_parts()
        return self

    def _fit_drawn(
        self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut, limit: int | None
    ) -> Self:
        """Learn from queries with at most `limit` documents in all. None: from all queries."""
        if limit is None or self._reads_partitions:
            return self.fit_rows(dataset, query_weights, valid)
        drawn = all_drawn(dataset, limit, query_weights)
        weights = None if query_weights is None else query_weights[drawn]
        self.fit_rows(dataset.taken(drawn), weights, valid)
        self._remember_sample(dataset, drawn, limit)
        return self

    def fit_rows(
        self, dataset: RankingDataset, query_weights: Weights = None, valid: HeldOut = None
    ) -> Self:
        """Learn from labelled queries, without checking them: rankers call this on each other.

        Parameters
        ----------
        dataset : RankingDataset
        query_weights : ndarray of shape (n_queries,), optional
        valid : RankingDataset, optional
        """
        return self._learn(*self._ordered(dataset, query_weights), valid)

    def predict(self, X: Any, *, qid: Any = None) -> Floats:
        """Score documents: one number each, in input order. Larger scores rank higher.

        Parameters
        ----------
        X : RankingDataset, array or DataFrame
        qid : array-like of shape (n_documents,)
            Query ids, if X is not a dataset.
        """
        check_is_fitted(self, "n_features_in_")
        dataset = as_dataset(X, None, qid)
        self._check_same(dataset)
        scores = self.predict_rows(dataset)
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            query = dataset.query_ids[dataset.query_index[row]]
            raise ValueError(
                f"{type(self).__name__} gives a document of query {query} the score {scores[row]}: "
                f"its features lie too far from those of the training queries, or are too small "
                f"or too large to compute with."
            )
        return dataset.in_input_order(scores)

    def predict_rows(self, dataset: RankingDataset) -> Floats:
        """Score every row without checking the dataset, a few queries at a time."""
        return np.concatenate(over_parts(self._part_scores, dataset, description="Scores"))

    def _part_scores(self, dataset: RankingDataset) -> Floats:
        blocks = dataset.query_blocks(self._row_bytes(dataset))
        if not self._sees_missing:
            blocks = map(self._filling.filled, blocks)
        # Converted block by block: scores that are a view would keep their block in memory.
        return np.concatenate([np.asarray(self._predict(block), np.float64) for block in blocks])

    def _row_bytes(self, dataset: RankingDataset) -> int:
        """Bytes needed to score a row. They decide how many rows are scored at a time."""
        return dataset.n_features * dataset.dtype.itemsize

    def score(
        self, X: Any, y: Any = None, *, qid: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Mean NDCG@10 of the ranking of labelled documents.

        Parameters
        ----------
        X : RankingDataset, array or DataFrame
        y, qid : array-like of shape (n_documents,)
            Labels and query ids, if X is not a dataset.
        sample_weight : array-like of shape (n_documents,), optional
            A weight for each document, the same for all documents of a query.
        """
        dataset = as_dataset(X, y, qid)
        weights, unequal = checked_weights(dataset, sample_weight, None)
        if unequal is not None:
            raise ValueError(
                "sample_weight of score must be the same for all documents of a query."
            )
        values = NDCG(10)(dataset, self.predict(dataset))
        return float(np.average(values, weights=weights))

    def save(self, path: str | PathLike[str], *, private_key: bytes | None = None) -> None:
        """Write the fitted ranker to one file, which `localrank.load` reads.

        Parameters
        ----------
        path : path
        private_key : bytes, optional
            Ed25519 key of 32 bytes that signs the file, for `localrank.load(public_key=…)`. None:
            no signature.
        """
        check_is_fitted(self, "n_features_in_")
        save_model(self, path, private_key)

    def _admitted(
        self,
        X: Any,
        y: Any,
        qid: Any,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        valid: RankingDataset | tuple[Any, Any, Any] | None = None,
    ) -> tuple[RankingDataset, Weights, HeldOut]:
        """Check the arguments of `fit`: training queries, their weights, validation queries."""
        check_parameters(self)
        dataset = as_dataset(X, y, qid)
        name = type(self).__name__
        if dataset.n_features == 0:
            raise ValueError(f"{name} has nothing to learn from: the dataset has no features.")
        graded = has_two_labels(dataset)
        if not graded.any():
            raise ValueError("There is nothing to learn: no query has two different labels.")
        self._check_values(dataset)
        weights, document_weights = checked_weights(dataset, sample_weight, query_weight)
        largest = weights
        if document_weights is not None:
            self._check_weighs_documents()
            dataset = dataset.replaced(document_weights=document_weights)
            largest = np.maximum.reduceat(document_weights, dataset.offsets[:-1])
        if largest is not None and not (largest[graded] > 0).any():
            raise ValueError("There is nothing to learn: queries with two labels weigh nothing.")
        held_out = None if valid is None else held_out_queries(valid)
        if held_out is not None:
            check_same_features(name, dataset.n_features, dataset.feature_names, held_out)
            self._check_values(held_out)
        return dataset, weights, held_out

    def _ordered(
        self, dataset: RankingDataset, query_weights: Weights = None
    ) -> tuple[RankingDataset, Weights]:
        seed, weights = self._order_seed(), query_weights
        files = not self._reads_partitions
        dataset = dataset.in_memory(views=False, files=files)
        if seed is not None:
            rows, queries = content_order(dataset, seed)
            weights = None if weights is None else weights[queries]
            if self._reads_blocks:
                dataset = dataset.view()
            dataset = dataset.reordered(rows, queries)
        return dataset if self._reads_blocks else dataset.in_memory(files=files), weights

    def _learn(
        self, dataset: RankingDataset, query_weights: Weights = None, valid: HeldOut = None
    ) -> Self:
        """Learn from rows that are already in order, as `fit_path` does for each model."""
        if valid is not None and not self._reads_blocks:
            valid = valid.in_memory()
        filling = None if self._sees_missing else Filling.learned(dataset)
        filling_in_use = filling or Filling.unlearned(dataset.n_features)
        seen, seen_valid = dataset, valid
        if not self._sees_missing:
            seen = filling_in_use.filled(dataset)
            seen_valid = None if valid is None else filling_in_use.filled(valid)
        # A fit that failed may have left it.
        self.__dict__.pop("_part", None)
        # Sums over several threads are rounded differently on different machines.
        with one_blas_thread():
            self._fit(seen, query_weights, seen_valid)
        self._remember(dataset)
        self.__dict__.pop("filling_", None)
        if filling is not None:
            self.filling_ = filling
        return self


def lists_of(rankers: Sequence[Ranker], dataset: RankingDataset) -> Floats:
    """The scores of the rows by each ranker, of shape (n_rankers, n_documents)."""
    return np.array([ranker.predict_rows(dataset) for ranker in rankers])
