"""What every ranker promises."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from localrank.arrays import Array, Flags, Floats, Integers
from localrank.data import RankingDataset
from localrank.data.content_order import content_order
from localrank.data.deferred import DeferredDataset, gathered, query_blocks
from localrank.data.drawing import Limit, checked_limit
from localrank.data.filling import Filling
from localrank.data.passes import in_partitions, over_parts
from localrank.estimator import check_is_fitted
from localrank.measures import NDCG
from localrank.parallel import one_blas_thread
from localrank.parameters import check_parameters, one_of
from localrank.persistence import save_model
from localrank.rankers.explained import Explained
from localrank.rankers.inputs import (
    all_drawn,
    as_dataset,
    check_same_features,
    checked_weights,
    drawn_validation,
    has_two_labels,
    held_out_queries,
)
from localrank.rankers.ranked_lists import Listed
from localrank.rankers.weighing import Weighing

# A weight for each query; None weighs all alike.
Weights = Floats | None
# Validation queries, where there are any.
HeldOut = RankingDataset | None
# What becomes of missing values where a ranker does not see them.
Missing = Literal["impute", "refuse"]
missing_rule = one_of("impute", "refuse")


class Ranker(Weighing, Explained, Listed):
    """Learns from labelled queries to score documents; larger scores rank higher.

    Rankers follow scikit-learn's contract (`clone`, `get_params`, metadata routing, with `qid`
    requested by default). `fit` and `predict` are the doors: they check and convert what they are
    given. Behind them rankers call each other's `fit_rows` and `predict_rows`, which trust the
    data and speak of its rows in their order. A ranker implements `_fit` and `_predict`.

    Both see the features without missing values: filled by the median of the query, with an
    indicator for what was missing in training (`Filling`). A ranker that has the parameter
    `missing`, and is given "refuse", refuses missing values instead. One that can take NaN says
    so by `_sees_missing`, and a ranker made of others leaves it to them.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where the training data names its features.
    filling_ : Filling
        Only where the training data has missing values, and the ranker does not see them.
    training_data_ : dict
        Numbers of queries, documents and labels the ranker was fitted on; queries in which all
        documents have one label teach nothing about order. Where these were drawn from more,
        "drawn" says from how many. "learned_from" names the models, this one or some inside, that
        learned from a part of these, because they take so many documents at most.
    """

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__predict: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    @property
    def n_models_(self) -> int:
        """How many models the fitted ranker consists of."""
        return 1

    def _order_seed(self) -> int | None:
        """Seed of the order that training rows are put into; None leaves them as they come.

        The order is decided by the content of the rows alone, so that a model does not depend on
        the order of lines in a file. A ranker made of others leaves it to them.
        """
        return 0

    @property
    def _needs_trial(self) -> bool:
        """Whether a loaded model must rank something to show that its parts fit each other.

        Not where what the class declares, with `_check_fitted`, leaves nothing in `_predict` that
        could fail. A trial is the first to call kernels, which takes longer than all the rest of
        loading. A subclass with another `_predict` answers anew.
        """
        return True

    # Whether `_fit` reads features by `feature_blocks` alone, so that they need not all exist.
    _reads_blocks: ClassVar[bool] = False

    # Whether `_fit` makes passes over partitions, so that it needs no part of them in memory.
    _reads_partitions: ClassVar[bool] = False

    # Whether models of groups are trained together, by `fit_groups`; else each is fitted alone.
    trains_groups_together: ClassVar[bool] = False

    def learns_from(self, dataset: RankingDataset) -> Flags:
        """Whether each query has something that this ranker can learn from."""
        return has_two_labels(dataset)

    def _lesson(self) -> str:
        """What a query must have to be learned from, for an error."""
        return "two different labels"

    def _teaching(self, dataset: RankingDataset, query_weights: Weights) -> Flags:
        """The queries to learn from, that weigh something; an error where there are none."""
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
        """Learn from rows in the order that `_order_seed` asks for."""

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
            Labels and query ids, where X is not a dataset; in any order of queries.
        sample_weight : array-like of shape (n_documents,), optional
            A weight for each document, in input order. Boosted trees, and what is made of them
            alone, take any weights. Other rankers weigh queries: the weights of a query's
            documents must be the same.
        query_weight : array-like of shape (n_queries,), optional
            The same as one weight per query, queries in the order they first appear.
        valid : RankingDataset or (X, y, qid), optional
            Held-out queries for rankers that choose their size by them; others ignore it.
        max_documents : int, None or "auto", default="auto"
            Documents that each model learns from at most. Where there are more, whole queries are
            drawn by a hash of their ids: the same ones for any order and layout of the data. A
            `SampleWarning` and `training_data_` say what was drawn. A local ranker describes and
            groups all queries, and draws for each group's model. "auto": all of a dataset that is
            in memory, 2,000,000 of a `PartitionedDataset`. None: all. Validation queries are
            drawn likewise.
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
        """Learn from queries of at most so many documents; None: from all."""
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
        """Learn from labelled queries that a door has checked.

        Parameters
        ----------
        dataset : RankingDataset
        query_weights : ndarray of shape (n_queries,), optional
        valid : RankingDataset, optional
        """
        return self._learn(*self._ordered(dataset, query_weights), valid)

    def fit_groups(
        self, dataset: RankingDataset, groups: Sequence[Integers], query_weights: Weights = None
    ) -> list[Self]:
        """A model for each group of queries, where `trains_groups_together` says so.

        Parameters
        ----------
        dataset : RankingDataset
        groups : sequence of ndarray
            Positions of the queries of each group, with something to learn in each.
        query_weights : ndarray of shape (n_queries,), optional
        """
        raise NotImplementedError

    def predict(self, X: Any, *, qid: Any = None) -> Floats:
        """Score documents: one number each, in input order.

        Parameters
        ----------
        X : RankingDataset, array or DataFrame
        qid : array-like of shape (n_documents,)
            Query ids, where X is not a dataset.
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
        """Score every row of a dataset that a door has checked, a few queries at a time."""
        if in_partitions(dataset):
            return np.concatenate(over_parts(self.predict_rows, dataset, description="Scores"))
        blocks = query_blocks(dataset, self._row_bytes(dataset))
        if not self._sees_missing:
            blocks = map(self._filling.filled, blocks)
        # Numbers of their own: a column of a block would keep the block.
        return np.concatenate([np.asarray(self._predict(own), np.float64) for own in blocks])

    def _row_bytes(self, dataset: RankingDataset) -> int:
        """What it takes to score a row, which decides how many are scored at a time."""
        return dataset.n_features * dataset.dtype.itemsize

    def score(
        self, X: Any, y: Any = None, *, qid: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Mean NDCG@10 of the ranking of labelled documents.

        Parameters
        ----------
        X : RankingDataset, array or DataFrame
        y, qid : array-like of shape (n_documents,)
            Labels and query ids, where X is not a dataset.
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
            An Ed25519 key of 32 bytes to sign the file with, for `localrank.load(public_key=…)`.
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
        """Training queries, their weights and validation queries, as `fit` takes them, checked."""
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
        most = weights
        if document_weights is not None:
            self._check_weighs_documents()
            dataset = dataset.replaced(document_weights=document_weights)
            most = np.maximum.reduceat(document_weights, dataset.offsets[:-1])
        if most is not None and not (most[graded] > 0).any():
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
        if in_partitions(dataset):
            if self._reads_partitions:
                return dataset, weights
            dataset = gathered(dataset)
        if seed is not None:
            rows, queries = content_order(dataset, seed)
            weights = None if weights is None else weights[queries]
            if self._reads_blocks and not isinstance(dataset, DeferredDataset):
                dataset = DeferredDataset.of(dataset)
            dataset = dataset.reordered(rows, queries)
        return dataset if self._reads_blocks else gathered(dataset), weights

    def _learn(
        self, dataset: RankingDataset, query_weights: Weights = None, valid: HeldOut = None
    ) -> Self:
        """Learn from rows that are in order already, as along a path of models."""
        if valid is not None and not self._reads_blocks:
            valid = gathered(valid)
        filling = None if self._sees_missing else Filling.learned(dataset)
        usual = filling or Filling.unlearned(dataset.n_features)
        seen, seen_valid = dataset, valid
        if not self._sees_missing:
            seen = usual.filled(dataset)
            seen_valid = None if valid is None else usual.filled(valid)
        # What a fit that failed has left.
        self.__dict__.pop("_part", None)
        # Sums over several threads round differently from one machine to the next.
        with one_blas_thread():
            self._fit(seen, query_weights, seen_valid)
        self._remember(dataset)
        self.__dict__.pop("filling_", None)
        if filling is not None:
            self.filling_ = filling
        return self


def lists_of(rankers: Sequence[Ranker], dataset: RankingDataset) -> Floats:
    """The scores that each ranker gives the rows, of shape (n_rankers, n_documents)."""
    return np.array([ranker.predict_rows(dataset) for ranker in rankers])
