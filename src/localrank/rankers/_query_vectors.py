"""The base class of rankers that see documents relative to a vector of their query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._base.rules import Rule, Rules, check_parameters, check_together, refuse
from localrank.data import RankingDataset
from localrank.data._feature_columns import values_of_queries
from localrank.persistence.encoding import MAX_NUMBERED
from localrank.rankers._inputs import filling_of
from localrank.rankers._relevance import a_relevance_level, has_both, lesson_of_relevance
from localrank.rankers.base import Ranker

# Columns of the features, or vectors by query id.
QueryVectors = Sequence[int | str] | Mapping[Any, Any]


def _is_vector(value: Any) -> bool:
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return numbers.ndim == 1 and bool(np.isfinite(numbers).all())


def _is_column(value: Any) -> bool:
    return isinstance(value, int | np.integer | str) and not isinstance(value, bool)


def _are_query_vectors(value: Any) -> bool:
    if isinstance(value, dict):
        # A model file may hold few keys that are numbers: many could be made to collide.
        saved = len(value) <= MAX_NUMBERED or all(type(query) is str for query in value)
        return len(value) > 0 and saved and all(map(_is_vector, value.values()))
    listed = isinstance(value, list | tuple) and len(value) > 0
    return value is None or (listed and all(map(_is_column, value)))


class QueryVectorRanker(Ranker):
    """Base class of rankers on documents minus their query, a vector in the space of the documents.

    A subclass has the parameter `query_vectors`, which gives the vectors of the queries:

    - None: the features are already a document minus its query.
    - A list: columns, by number or name, that hold the query's vector. There are as many as remain
      for the document, in the same order, with the same values for all documents of a query.
    - A dict: vectors by query id, with one number for each feature. Ids are compared as text: 7
      and "7" are the same.

    `_fit` and `_predict` subtract the queries with `_displaced`. It leaves the columns of the
    documents and the indicators of missing values. Missing values are filled before. A coordinate
    of the query that is missing in some documents is filled from the query's other documents.

    It learns from queries with both relevant and irrelevant documents, by the parameter
    `relevance_level`.
    """

    _parameters: ClassVar[Rules] = {
        "relevance_level": a_relevance_level,
        "query_vectors": Rule(
            lambda value, _: _are_query_vectors(value),
            f"None, a list of columns, or a dict from query ids to vectors of finite numbers, not "
            f"empty, with texts as ids if there are more than {MAX_NUMBERED:,}",
        ),
    }

    query_vectors: QueryVectors | str | None
    relevance_level: float | None

    def learns_from(self, dataset: RankingDataset) -> Flags:
        return has_both(dataset, self.relevance_level)

    def _lesson(self) -> str:
        return lesson_of_relevance(self.relevance_level)

    def _displaced(self, dataset: RankingDataset) -> RankingDataset:
        """The documents less their queries."""
        if self._vectors is None:
            return dataset
        names = dataset.feature_names
        if isinstance(self._vectors, Mapping):
            columns, vectors = np.empty(0, np.int64), self._known_vectors(dataset)
        else:
            columns = self._columns(self._names(dataset))
            vectors = values_of_queries(dataset, columns, "a coordinate of queries")
        kept = np.setdiff1d(np.arange(dataset.n_features), columns)
        features = dataset.features[:, kept].astype(np.float64)
        features[:, : vectors.shape[1]] -= vectors[dataset.query_index]
        return dataset.replaced(
            features=features, feature_names=names and tuple(names[column] for column in kept)
        )

    @property
    def _vectors(self) -> QueryVectors | None:
        """The vectors to subtract. None for None and for words such as LGMML's "origin"."""
        return None if isinstance(self.query_vectors, str) else self.query_vectors

    @property
    def _n_displaced(self) -> int:
        """Number of columns that `_displaced` returns, for a fitted ranker."""
        return filling_of(self).n_columns - len(self._columns(()))

    def _columns(self, names: Sequence[str]) -> Integers:
        """Numbers of the columns that hold queries; -1 for an unknown name."""
        if self._vectors is None or isinstance(self._vectors, Mapping):
            return np.empty(0, np.int64)
        places = {name: column for column, name in enumerate(names)}
        columns = [places.get(v, -1) if isinstance(v, str) else v for v in self._vectors]
        return np.array(columns, np.int64)

    def _known_vectors(self, dataset: RankingDataset) -> Floats:
        """The vector of each query, from the dict."""
        vectors: Any = self.query_vectors
        known = {str(query): vector for query, vector in vectors.items()}
        queries = [str(query) for query in dataset.query_ids.tolist()]
        unknown = [query for query in queries if query not in known]
        if unknown:
            raise ValueError(
                f"The 'query_vectors' parameter of {type(self).__name__} has no vector for "
                f"{len(unknown):,} of {len(queries):,} queries, query {unknown[0]} among them."
            )
        return np.array([known[query] for query in queries], np.float64)

    def _fits(self, n_features: int, names: Sequence[str]) -> bool:
        """Whether the vectors have as many numbers as documents, given the input features."""
        vectors = self._vectors
        if vectors is None:
            return True
        if isinstance(vectors, Mapping):
            return all(len(vector) == n_features for vector in vectors.values())
        columns = np.unique(self._columns(names))
        within = columns[0] >= 0 and columns[-1] < n_features
        return bool(within) and len(columns) == len(vectors) and 2 * len(columns) == n_features

    def _check_data(self, dataset: RankingDataset) -> None:
        # Vectors of new queries may have been added since training.
        check_parameters(self)
        n_features = dataset.n_features
        if not self._fits(n_features, self._names(dataset)):
            refuse(
                self,
                "query_vectors",
                f"half of the {n_features} columns of the dataset, each once, or vectors of "
                f"{n_features} numbers",
            )

    def _names(self, dataset: RankingDataset) -> Sequence[str]:
        """Names of the features: those of the dataset, or else those of the training data."""
        return dataset.feature_names or tuple(getattr(self, "feature_names_in_", ()))

    def _check_fitted(self) -> None:
        fits = self._fits(self.n_features_in_, getattr(self, "feature_names_in_", ()))
        check_together(self, holds=fits)
