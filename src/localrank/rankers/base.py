"""The base class of all rankers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Flags, Floats
from localrank._base.estimator import Estimator, check_is_fitted
from localrank._base.names import explaining
from localrank._base.rules import Rules, one_of
from localrank.data import RankingDataset
from localrank.data._checks import check_index
from localrank.data._frames import FrameLibrary
from localrank.data._parts import over_parts
from localrank.data.sampling import Limit, checked_limit
from localrank.persistence import save_model
from localrank.rankers import _explaining, _training
from localrank.rankers._contribution_tables import no_contributions, no_importances
from localrank.rankers._inputs import (
    FIT_HINTS,
    Door,
    admitted_to,
    as_dataset,
    filled,
    finite_scores,
    has_two_labels,
    sampled_validation,
    warn_of_single_documents,
)
from localrank.rankers._ranked_lists import mean_ndcg, ranked_frame

if TYPE_CHECKING:
    from localrank.formulas import Formula
    from localrank.rankers._contributions import Contributions
    from localrank.rankers._explanation import Explanation

# A weight for each query. None: all weigh the same.
Weights = Floats | None
# Validation queries, if any.
HeldOut = RankingDataset | None
# What a ranker that cannot handle NaN does with missing values.
Missing = Literal["impute", "refuse"]
missing_rule = one_of("impute", "refuse")
Fit = TypeVar("Fit", bound=Callable[..., Any])


@dataclass(frozen=True)
class Needs:
    """What a ranker needs from its data.

    Attributes
    ----------
    missing : bool
        Whether `_fit` and `_predict` see a missing value as NaN, not filled. A ranker made of
        others sees it too, and leaves it to them.
    blocks : bool
        Whether `_fit` reads features only in blocks. They then need not fit in memory.
    partitions : bool
        Whether `_fit` makes passes over partitions and never needs them in memory.
    order : {"content", "random", "given"}
        Order of the training rows. "content" and "random" depend only on what the rows hold, so
        that a model does not depend on the order of lines in a file; "random" also depends on the
        ranker's `random_state`. "given": rows as they come, for a ranker made of others.
    document_weights : bool or None
        Whether documents of a query may have different weights. None: if all inner rankers can.
    categories : bool
        Whether `_fit` and `_predict` see a category as its code, and the dataset's `categories`. A
        ranker that is made of others, and any other, sees a column of 0 and 1 for each value.
    trial : bool
        Whether loading must rank a small example to show that the model's parts fit together.
        False if the declared kinds and `_check_fitted` already rule out every failure of
        `_predict`: the trial takes longer than the rest of loading.
    lists : bool
        Whether a score is relative to the other documents of the query, so that documents cannot
        be scored one by one.
    labels : bool
        Whether `fit` needs a query with two different labels. False: one that the ranker's
        `learns_from` marks.
    vectors : bool
        Whether documents need vectors, unless the ranker's parameter `neighbours` says otherwise.
    """

    missing: bool = False
    blocks: bool = False
    partitions: bool = False
    order: Literal["content", "random", "given"] = "content"
    document_weights: bool | None = None
    categories: bool = False
    trial: bool = True
    lists: bool = False
    labels: bool = True
    vectors: bool = False


def _explained(fit: Fit) -> Fit:
    """`fit` whose error for an argument of another library says what to write here."""
    return explaining(fit, "fit", FIT_HINTS)


class Ranker(Estimator):
    """Learns from labelled queries to score documents; larger scores rank higher.

    A subclass implements `_fit` and `_predict`, and declares in `needs` what they need from the
    data. By default both see no missing values: a missing value is filled with the median of its
    query, and an indicator column marks it if the feature has missing values in training. A feature
    of categories becomes a column of 0 and 1 for each value, such as `colour=red`. `fit` and
    `predict` check and convert their input. Rankers call each other's `fit_rows`, `predict_rows`
    and `score_block`, which trust the dataset and keep its row order. scikit-learn's `clone` and
    `get_params` work, and its metadata routing requests `qid` by default.

    Attributes
    ----------
    n_features_in_ : int
        Number of features, those of 0 and 1 that are made of categories included.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data has names.
    categories_ : dict
        The values of each feature of categories in training, by its name, if there are any. In
        other data, a value that is not among them counts as missing.
    filling_ : Filling
        Learned fill values, if training data has missing values and the ranker cannot handle NaN.
    training_data_ : dict
        Numbers of queries, documents and labels in training. Queries in which all documents have
        the same label are counted too: they teach nothing about order. If the training queries
        are a sample, "drawn" holds the numbers before sampling. "learned_from" lists the models,
        this one or parts of it, that learned from a part of the queries, because the model has a
        limit on documents.
    column_record_ : ColumnRecord
        What was said of the columns when the training data was read from files, such as where
        feature ids begin.
    curve_ : ndarray of shape (n_rounds, 2)
        If validation queries stopped the training: numbers of rounds, and the ranker's `measure`
        after as many rounds. It also has the rounds after the best one.
    n_dimensions_in_ : int
        Number of dimensions of the documents' vectors, if the ranker itself reads them.
    """

    needs: ClassVar[Needs] = Needs()
    n_features_in_: int

    _fitted: ClassVar[Rules] = _training.REMEMBERED
    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__predict: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    @abstractmethod
    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        """Learn from rows in the order that `needs` declares."""

    @abstractmethod
    def _predict(self, dataset: RankingDataset) -> Array:
        """Score every row."""

    @_explained
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
            Labels and query ids, if X is not a dataset. Queries may come in any order. Beside a
            DataFrame, a Series of pandas must have its index, in the same order.
        sample_weight : array-like of shape (n_documents,), optional
            A weight for each document, in input order. Boosted trees, and rankers made only of
            boosted trees, accept any weights. Other rankers weigh queries: all documents of a query
            must have the same weight.
        query_weight : array-like of shape (n_queries,), optional
            A weight for each query, in the order of first appearance, instead of `sample_weight`.
        valid : RankingDataset or (X, y, qid), optional
            Validation queries. Rankers such as boosted trees choose their size with them; others
            ignore them.
        max_documents : int, None or "auto", default="auto"
            At most this many documents for each model, and for validation. If there are more,
            whole queries are drawn by a hash of their ids: the same queries for any order and
            layout of the data. A `SampleWarning` and `training_data_` report the sample. A local
            ranker describes and groups all queries, and draws a sample for each group's model.
            "auto": all documents of a dataset in memory, 2,000,000 of one in partitions. None: all.
        """
        dataset, weights, held_out, categories = _training.admitted(
            self, X, y, qid, sample_weight, query_weight, valid
        )
        limit = checked_limit(max_documents, dataset)
        if held_out is not None:
            held_out = sampled_validation(held_out, max_documents)
        self._fit_sampled(dataset, weights, held_out, limit)
        _training.remember_categories(self, categories)
        _training.remember_columns(self, dataset)
        _training.tell_parts(self)
        return self

    def _fit_sampled(
        self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut, limit: int | None
    ) -> None:
        """Learn from queries with at most `limit` documents in all. None: from all queries."""
        _training.fit_sampled(self, dataset, query_weights, valid, limit)

    def fit_rows(
        self, dataset: RankingDataset, query_weights: Weights = None, valid: HeldOut = None
    ) -> Self:
        """Learn from labelled queries, without checking them: rankers call this on each other."""
        return _training.learn(self, *_training.ordered(self, dataset, query_weights), valid)

    def learns_from(self, dataset: RankingDataset) -> Flags:
        """Whether this ranker can learn from each query, of shape (n_queries,)."""
        return has_two_labels(dataset)

    def _lesson(self) -> str:
        """What a query needs so that the ranker can learn from it, for error messages."""
        return "two different labels"

    def _check_data(self, dataset: RankingDataset) -> None:
        """Refuse data that the ranker cannot learn from or score, beyond what all refuse."""

    def predict(self, X: Any, *, qid: Any = None) -> Floats:
        """Score documents: one number each, in input order. X and qid are as for `fit`."""
        dataset = admitted_to(self, X, qid)
        warn_of_single_documents(self, dataset)
        return dataset.in_input_order(finite_scores(self, dataset, self.predict_rows(dataset)))

    def predict_rows(self, dataset: RankingDataset) -> Floats:
        """Score every row without checking the dataset, a few queries at a time."""
        if dataset.is_block(self._door.row_bytes):
            return self.score_block(dataset)
        return np.concatenate(over_parts(self._score_blocks, dataset, description="Scores"))

    def _score_blocks(self, dataset: RankingDataset) -> Floats:
        blocks = dataset.query_blocks(self._door.row_bytes)
        return np.concatenate([self.score_block(block) for block in blocks])

    def score_block(self, block: RankingDataset) -> Floats:
        """Score queries that are in memory, and few enough to be scored at the same time."""
        if not self.needs.missing:
            block = filled(self, block)
        # A copy: scores that are a view would keep the features in memory.
        return np.array(self._predict(block), np.float64)

    @cached_property
    def _door(self) -> Door:
        return Door.of(self)

    def _row_bytes(self) -> int:
        """Bytes needed to score a row. They decide how many rows are scored at a time."""
        return 8 * self.n_features_in_

    def rank(
        self, X: Any, y: Any = None, *, qid: Any = None, library: FrameLibrary | None = None
    ) -> Any:
        """Rank documents: a table, best first within each query, queries in input order.

        The columns are `query`, `document` (the dataset's document ids, or positions in the input),
        `rank` from 1, `score`, and `label` if labels are known. Documents with equal scores keep
        the order of the input.

        Parameters
        ----------
        X, y, qid
            As for `fit`. Without labels, `label` is left out. Without query ids, all rows of X are
            documents of one query, 0.
        library : "pandas", "polars", "pyarrow", "dict" or None, default=None
            The library of the result; "dict" gives the columns by name, as arrays. None: the
            library of X, or of the DataFrame that the dataset X was built from; otherwise the
            first of pandas, polars and pyarrow that is installed.

        Examples
        --------
        >>> import pandas as pd
        >>> from localrank.rankers import BestFeature
        >>> X, y = pd.DataFrame({"bm25": [2.0, 7.5, 4.0]}), [0, 1, 0]
        >>> BestFeature().fit(X, y, qid=["a", "a", "a"]).rank(X)
           query  document  rank  score
        0      0         1     1    7.5
        1      0         2     2    4.0
        2      0         0     3    2.0
        """
        return ranked_frame(self, X, y, qid, library)

    def score(
        self, X: Any, y: Any = None, *, qid: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Mean NDCG@10 of the ranking of labelled documents. Arguments are as for `fit`."""
        check_index(X, sample_weight=sample_weight)
        return mean_ndcg(self, as_dataset(X, y, qid), sample_weight)

    def save(self, path: str | PathLike[str], *, private_key: bytes | None = None) -> None:
        """Write the fitted ranker to one file, which `localrank.load` reads.

        An Ed25519 key of 32 bytes signs the file, for `localrank.load(public_key=…)`.
        """
        check_is_fitted(self, "n_features_in_")
        save_model(self, path, private_key)

    def contributions(self, X: Any, *, qid: Any = None) -> Contributions:
        """The exact contribution of each feature to each document's score. They sum to the score.

        Linear rankers: weight times value. Boosted trees: TreeSHAP, as in LightGBM's
        `pred_contrib`. Rankers made of others: the sum of their contributions. A ranker whose
        score is not a sum over features raises a ValueError that says why.
        """
        return _explaining.contributions(self, admitted_to(self, X, qid))

    def explain(self, X: Any, query: Any, *, qid: Any = None) -> Explanation:
        """Explain the order of one query's documents.

        Every ranker gives the scores and what each feature contributes to them, or the reason why
        its score is not a sum over features. A ranker that merges others adds their scores. A
        `LocalRanker` adds the groups and the nearest training queries.

        Parameters
        ----------
        X, qid
            Data with the query, as for `predict`.
        query : id
            Id of the query. Ids are compared as texts: 7 is "7".
        """
        return _explaining.explained(self, X, query, qid)

    @property
    def feature_importances_(self) -> Floats:
        """The importance of each feature in the fitted ranker, as shares with sum 1.

        Boosted trees: shares of the gains of all splits. Linear rankers: shares of the absolute
        weights of scaled features. Rankers made of others: the mean of their shares. With
        `QueryCoordinates` the sum may be smaller: the rest belongs to its aggregates, which use
        all features together. A ranker for which importance has no meaning lacks this attribute.
        """
        return _explaining.importances(self)

    def formula(self) -> Formula:
        """The scores of the fitted ranker as a formula that can be exported.

        A ranker without such a formula raises `NotExportable`, which says why, and what to use
        instead. If nothing was missing in training, the formula holds for documents that have all
        features.
        """
        return _explaining.formula(self)

    def column_labels(self, dataset: RankingDataset) -> tuple[str, ...]:
        """Labels of the columns that the model sees: the dataset's features, then indicators."""
        return _explaining.column_labels(self, dataset)

    @property
    def n_models_(self) -> int:
        """Number of models in the fitted ranker."""
        return 1

    def _members(self) -> Sequence[Ranker]:
        """The rankers whose lists this one merges."""
        return ()

    def _member_names(self) -> Sequence[str]:
        """What explanations call them."""
        return [_explaining.described(member) for member in self._members()]

    def _contributions(self, dataset: RankingDataset) -> Floats:
        """Contributions of the columns that `_predict` sees, of all together, and the base."""
        raise no_contributions(type(self).__name__, "its score is not a sum over features")

    def _importances(self) -> Floats:
        """Shares of the columns that `_predict` sees."""
        raise no_importances(type(self).__name__, "it does not weigh features")

    def _formula(self) -> Formula:
        """The formula on the columns that `_predict` sees."""
        raise _explaining.no_formula(self)


def lists_of(rankers: Sequence[Ranker], dataset: RankingDataset) -> Floats:
    """The scores of the rows by each ranker, of shape (n_rankers, n_documents)."""
    return np.array([ranker.predict_rows(dataset) for ranker in rankers])
