"""What each feature contributes to the score of each document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.printing import Printed, Table
from localrank.data import RankingDataset
from localrank.data._lookup import positions_of
from localrank.rankers._contribution_tables import N_MORE, centred_rows, query_means

# Name of the joint contribution of features, such as that of their mean percentile.
TOGETHER = "all features together"
# Largest number of lines of a printed explanation.
N_LINES = 10
# What the error for an unknown document says if the documents have no ids.
NO_IDS = " The documents have no ids: give their positions in the input, from 0."


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(Printed):
    """The score of each document as a sum: base + contribution of each feature, up to rounding.

    Documents are in input order, as are the scores of `predict`.

    Attributes
    ----------
    dataset : RankingDataset
        The documents.
    values : ndarray of shape (n_documents, n_features)
        Contribution of each feature to the score of each document.
    together : ndarray of shape (n_documents,)
        Contribution of all features together, which no single feature has: from the aggregates of
        `QueryCoordinates` and the biases of nets. 0 for other rankers.
    base : ndarray of shape (n_documents,)
        Score without any feature. It is the same for all documents of a query.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(60, n_features=5, random_state=0)
    >>> ranker = LambdaMART(n_trees=20).fit(dataset)
    >>> contributions = ranker.contributions(dataset)
    >>> contributions.values.shape == (dataset.n_documents, 5)
    True
    >>> sums = contributions.base + contributions.values.sum(axis=1)
    >>> np.allclose(sums, ranker.predict(dataset))
    True
    """

    dataset: RankingDataset
    values: Floats
    together: Floats
    base: Floats

    @classmethod
    def of_table(cls, dataset: RankingDataset, table: Floats) -> Contributions:
        """Build from rows whose last two columns are the joint contribution and the base."""
        table = dataset.in_input_order(table)
        return cls(dataset, table[:, :-N_MORE], table[:, -2], table[:, -1])

    @property
    def scores(self) -> Floats:
        """The scores: the sum of all contributions and the base."""
        sums: Floats = self.values.sum(axis=1) + self.together + self.base
        return sums

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of `entries`: the features, and at the end all together."""
        label = self.dataset.feature_label
        return (*(label(column) for column in range(self.dataset.n_features)), TOGETHER)

    @property
    def entries(self) -> Floats:
        """Contributions of the features, and of all features together in the last column."""
        return np.column_stack([self.values, self.together])

    def centred(self) -> Contributions:
        """Contributions relative to the mean document of each query. Its score becomes the base.

        Only differences within a query decide the ranking. A contribution that is the same for
        all documents of a query becomes 0.

        Examples
        --------
        >>> from localrank.rankers import BestFeature
        >>> X, y, qid = [[5.0], [7.0], [9.0]], [0, 1, 2], ["a", "a", "a"]
        >>> ranker = BestFeature().fit(X, y, qid=qid)
        >>> centred = ranker.contributions(X, qid=qid).centred()
        >>> centred.base.tolist(), centred.values.ravel().tolist()
        ([7.0, 7.0, 7.0], [-2.0, 0.0, 2.0])
        """
        dataset = self.dataset
        table = np.column_stack([self.entries, self.base])
        table = centred_rows(dataset.in_query_order(table), dataset.offsets)
        table[:, -1] = query_means(dataset.in_query_order(self.scores), dataset.offsets)
        return Contributions.of_table(dataset, table)

    def largest(self, n: int = N_LINES) -> Integers:
        """Columns of `entries` with the largest absolute contributions to each document.

        Parameters
        ----------
        n : int, default=10
            Number of columns; at most all.

        Returns
        -------
        ndarray of shape (n_documents, n)
        """
        return np.argsort(-np.abs(self.entries), axis=1, kind="stable")[:, :n]

    def why(self, above: Any, below: Any, *, query: Any = None) -> Preference:
        """Explain why one document of a query ranks above another.

        Parameters
        ----------
        above, below : id
            Ids of the two documents, as `rank` lists them. Documents without ids have their
            position in the input, from 0. Ids are compared as texts: 7 is "7".
        query : id, optional
            The query of both documents. None: the only query that has both.

        Examples
        --------
        >>> from localrank.rankers import RankSVM
        >>> X, y, qid = [[1.0, 0.0], [2.0, 3.0], [3.0, 1.0]], [0, 1, 2], [7, 7, 7]
        >>> dataset = RankingDataset.from_arrays(X, y, qid, document_ids=["tea", "rice", "fern"])
        >>> ranker = RankSVM().fit(dataset)
        >>> preference = ranker.contributions(dataset).why("fern", "tea")
        >>> scores = ranker.predict(dataset)
        >>> bool(np.isclose(preference.values.sum(), scores[2] - scores[0]))
        True
        """
        dataset = self.dataset
        rows = _rows_of(dataset, above, below, query)
        number = dataset.query_index[rows[0]]
        first, second = rows if dataset.input_order is None else dataset.input_order[rows]
        differences = self.entries[first] - self.entries[second]
        features = dataset.features[rows].astype(np.float64)
        features = np.column_stack([features, np.full(2, np.nan)])
        order = np.argsort(-np.abs(differences), kind="stable")
        order = order[(order < dataset.n_features) | (differences[order] != 0)]
        ids = document_ids_of(dataset)
        scores = self.scores
        return Preference(
            query=dataset.query_ids[number],
            above=ids[rows[0]],
            below=ids[rows[1]],
            scores=(float(scores[first]), float(scores[second])),
            names=tuple(self.names[column] for column in order),
            values=differences[order],
            features=features[:, order],
        )

    def _shown(self) -> list[str | Table]:
        n, width = self.values.shape
        # What all documents of a query have in common decides no ranking.
        sizes = np.abs(self.centred().entries).mean(axis=0)
        order = np.argsort(-sizes, kind="stable")[:N_LINES]
        rows = [[self.names[column], f"{sizes[column]:.4g}"] for column in order if sizes[column]]
        return [
            f"Contributions of {width:,} features to the scores of {n:,} documents",
            Table(
                "Largest within queries: the mean distance from the query's mean",
                ["feature", "distance"],
                rows,
            ),
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Preference(Printed):
    """Why one document of a query ranks above another; prints as a small table.

    Attributes
    ----------
    query : id
        The query of both documents.
    above, below : id
        Ids of the two documents, or their positions in the input if they have no ids.
    scores : tuple of two floats
        Scores of the two documents.
    names : tuple of str
        Names of the features, largest absolute difference first.
    values : ndarray of shape (n_names,)
        Contribution of each feature to the first document minus that to the second. Their sum is
        the difference of the scores.
    features : ndarray of shape (2, n_names)
        Feature values of both documents; NaN for all features together.
    """

    query: Any
    above: Any
    below: Any
    scores: tuple[float, float]
    names: tuple[str, ...]
    values: Floats
    features: Floats

    def _shown(self) -> list[str | Table]:
        gap = self.scores[0] - self.scores[1]
        place = "above" if gap > 0 else "below" if gap < 0 else "level with"
        n_shown = int(min(N_LINES, np.sum(self.values != 0)))
        rows = [
            [name, f"{value:+.4g}", *("" if name == TOGETHER else f"{x:.4g}" for x in pair)]
            for name, value, pair in zip(
                self.names[:n_shown],
                self.values[:n_shown],
                self.features[:, :n_shown].T,
                strict=True,
            )
        ]
        rest = self.values[n_shown:]
        if np.any(rest != 0):
            rows.append([f"{len(rest):,} others", f"{rest.sum():+.4g}", "", ""])
        names = [f"document {self.above}", f"document {self.below}"]
        return [
            f"Query {self.query}: document {self.above} is {place} document {self.below}, "
            f"with a score of {self.scores[0]:.4g} against {self.scores[1]:.4g}.",
            Table("What makes the difference", ["feature", "difference", *names], rows),
        ]


def document_ids_of(dataset: RankingDataset) -> Array:
    """The id of each row; its position in the input, from 0, if the documents have no ids."""
    ids = dataset.document_ids
    return dataset.in_query_order(np.arange(dataset.n_documents)) if ids is None else ids


def _rows_of(dataset: RankingDataset, above: Any, below: Any, query: Any) -> Integers:
    """The rows of two documents of one query."""
    ids = document_ids_of(dataset)
    note = "" if dataset.document_ids is not None else NO_IDS
    begin, end, holder = 0, dataset.n_documents, "The data"
    if query is not None:
        number = position_of_query(dataset, query)
        begin, end = dataset.offsets[number : number + 2]
        holder = f"Query {query}"
    rows = [
        begin + positions_of(ids[begin:end], wanted, holder=holder, kind="document", note=note)
        for wanted in (above, below)
    ]
    queries = [dataset.query_index[found] for found in rows]
    common = np.intersect1d(queries[0], queries[1])
    if not len(common):
        first, second = (dataset.query_ids[found[0]] for found in queries)
        raise ValueError(
            f"Scores can only be compared within a query. Document {above} is in query "
            f"{first}, document {below} in query {second}."
        )
    if len(common) > 1:
        names = ", ".join(str(name) for name in dataset.query_ids[common[:3]])
        raise ValueError(
            f"{len(common):,} queries have the documents {above} and {below}: {names}"
            f"{', ...' if len(common) > 3 else ''}. Say which one: "
            f"why({above!r}, {below!r}, query={dataset.query_ids[common[0]].item()!r})."
        )
    chosen = [found[of == common[0]] for found, of in zip(rows, queries, strict=True)]
    for wanted, found in zip((above, below), chosen, strict=True):
        if len(found) > 1:
            raise ValueError(
                f"Query {dataset.query_ids[common[0]]} has {len(found)} documents with the id "
                f"{wanted}. Give every document of a query an id of its own."
            )
    return np.concatenate(chosen)


def position_of_query(dataset: RankingDataset, query: Any) -> int:
    """The number of the query with this id."""
    return int(positions_of(dataset.query_ids, query, holder="The data", kind="query")[0])
