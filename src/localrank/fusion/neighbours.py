"""Columns that say what the neighbours of a document are like, in the query's own list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.rules import Rules, one_of, whole
from localrank.data import RankingDataset
from localrank.data._row_vectors import RowVectors
from localrank.fusion._list_columns import (
    columns_of_lists,
    learn_names,
    list_names,
    n_lists,
    trained_names,
    values_of_lists,
)
from localrank.fusion._neighbours import (
    N_FIRST,
    N_FIRST_FUSED,
    feature_vectors,
    near_documents,
    nearest_documents,
    neighbour_columns,
)
from localrank.rankers._contributions import document_ids_of, position_of_query
from localrank.rankers._expanded import Expanded
from localrank.rankers._explanation import NearDocuments
from localrank.rankers.base import HeldOut, Ranker, Weights
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.formulas import Column

By = Literal["vectors", "features"]
neighbours_rule = one_of("vectors", "features")
n_neighbours_rule = whole(1, 10_000)


@declare(
    "neighbour-columns",
    "a ranker on the lists and on what each document's neighbours are like",
    kind="local",
    sample={"ranker": "lambdamart", "neighbours": "features"},
)
class NeighbourColumns(Expanded):
    """Trains a ranker on the features, and on what the neighbours of each document are like.

    Neighbours are other documents of the same query with similar vectors. A document borrows
    evidence from them: it gains if two retrievers rank documents like it high. No labels are used,
    so new queries have the columns too.

    With c the cosine of two documents, w = max(c, 0), and N the nearest documents, the columns
    after the features are

    - `bm25.near`, ..., `fused.near`: the mean of the z of N, weighted by w, for each list and for
      the mean of all lists;
    - `bm25.like3`, ..., `fused.like3`: the mean of c to the first three of each list, and of the
      mean of all lists;
    - `fused.like10`: the mean of c to the first ten of the mean of all lists;
    - `density10`: the mean of w over N; `density`: the mean of c over all other documents.

    A document is not its own neighbour. A document without a neighbour (its vector is zeros, or no
    cosine is positive) has its own z as the mean, and 0 as `density10`. If its vector is zeros, all
    other columns are 0 as well. The columns do not depend on the order of documents, on the unit of
    a list's scores, or on a rotation of the vectors.

    Parameters
    ----------
    ranker : Ranker
        The ranker to train. It stays unchanged: a clone is trained.
    neighbours : {"vectors", "features"}, default="vectors"
        What makes documents neighbours: the dataset's vectors, or its features (the z of each
        feature within the query).
    n_neighbours : int, default=10
        Number of nearest documents. Documents that tie with the last one count as well.

    Attributes
    ----------
    ranker_ : Ranker
        The trained clone.

    Notes
    -----
    The lists are those of `lists_dataset`. In any other dataset each feature is a list of scores.
    Smoothing scores over similar documents is due to Diaz, Regularizing Ad Hoc Retrieval Scores,
    CIKM 2005.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(60, n_features=2, n_types=1)
    >>> ranker = NeighbourColumns(RankSVM(), neighbours="features").fit(dataset)
    >>> ranker.ranker_.feature_names_in_[2:8].tolist()
    ['f1.near', 'f2.near', 'fused.near', 'f1.like3', 'f2.like3', 'fused.like3']
    """

    needs = replace(Expanded.needs, lists=True, vectors=True)

    _parameters: ClassVar[Rules] = {
        "neighbours": neighbours_rule,
        "n_neighbours": n_neighbours_rule,
    }

    def __init__(
        self, ranker: Ranker, *, neighbours: By = "vectors", n_neighbours: int = 10
    ) -> None:
        self.ranker = ranker
        self.neighbours = neighbours
        self.n_neighbours = n_neighbours

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        learn_names(self, dataset)
        super()._fit(dataset, query_weights, valid)

    def n_expanded(self, n_features: int) -> int:
        return n_features + 2 * n_lists(trained_names(self), n_features) + 5

    def expanded(self, dataset: RankingDataset) -> RankingDataset:
        names = trained_names(self)
        columns = neighbour_columns(
            vectors_of(dataset, self.neighbours),
            values_of_lists(dataset, "z", names),
            dataset.offsets,
            self.n_neighbours,
        )
        features: Array = np.concatenate(
            [dataset.features, columns.astype(dataset.dtype, copy=False)], axis=1
        )
        return dataset.replaced(
            features=features,
            feature_names=None if names is None else (*names, *_names(names, self.n_neighbours)),
            categories=None,
        )

    def near_documents(self, dataset: RankingDataset) -> NearDocuments:
        """The neighbours of the documents of one query, and their parts in `fused.near`."""
        values = values_of_lists(dataset, "z", trained_names(self)).mean(axis=1)
        near = near_documents(vectors_of(dataset, self.neighbours), values, self.n_neighbours)
        return NearDocuments("the column fused.near of NeighbourColumns", *near)

    def columns(self, n_features: int) -> tuple[Column, ...]:
        from localrank.formulas import NotExportable

        raise NotExportable(
            "NeighbourColumns",
            "it compares the vectors of a query's documents with each other",
            "Call it as a service instead: localrank serve. Or export Fusion.",
        )

    def folded(self, values: Floats, n_features: int) -> Floats:
        """Values of columns, added up by feature. The last entry: columns of all lists."""
        names = trained_names(self)
        n = n_lists(names, n_features)
        places = columns_of_lists(names, "z") or list(range(n_features))
        result = np.zeros((*values.shape[:-1], n_features + 1))
        result[..., :n_features] = values[..., :n_features]
        more = values[..., n_features:]
        # The means of each list, and the likeness to its first ones, belong to the list.
        result[..., places] += more[..., :n] + more[..., n + 1 : 2 * n + 1]
        result[..., -1] = more[..., n] + more[..., 2 * n + 1 :].sum(axis=-1)
        return result


def _names(names: tuple[str, ...], n_neighbours: int) -> list[str]:
    """Names of the neighbour columns."""
    lists = [*(list_names(names) or names), "fused"]
    columns = [f"{name}.near" for name in lists]
    columns += [f"{name}.like{N_FIRST}" for name in lists]
    columns += [f"fused.like{N_FIRST_FUSED}", f"density{n_neighbours}", "density"]
    result = dict.fromkeys(names)
    for name in columns:
        # A feature may already have the name.
        while name in result:
            name += "'"
        result[name] = None
    return list(result)[len(names) :]


def vectors_of(dataset: RankingDataset, neighbours: By) -> RowVectors:
    """The vectors by which documents are neighbours."""
    if neighbours == "features":
        return feature_vectors(dataset)
    if dataset._vectors is None:
        raise ValueError(
            "The dataset has no vectors to find neighbours by. Give them by "
            "dataset.with_vectors(vectors), or set neighbours='features'."
        )
    return dataset._vectors


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The neighbours of the documents of a query.

    Attributes
    ----------
    query : id
    documents : dict of id to list of (id, float)
        For each document, the nearest other documents and their cosines, nearest first.
    """

    query: Any
    documents: dict[Any, list[tuple[Any, float]]]


def nearest(
    dataset: RankingDataset, query: Any, *, n_neighbours: int = 10, neighbours: By = "vectors"
) -> Neighbours:
    """The neighbours of each document of a query: those with a positive cosine, nearest first.

    They are the documents from which `SmoothedFusion` and `NeighbourColumns` borrow evidence.

    Parameters
    ----------
    dataset : RankingDataset
    query : id
        Ids are compared as texts: 7 is "7".
    n_neighbours : int, default=10
        At most this many.
    neighbours : {"vectors", "features"}, default="vectors"
        As for `NeighbourColumns`.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays(
    ...     np.eye(3), qid=["q"] * 3, document_ids=["a", "b", "c"], vectors=[[1, 0], [3, 4], [0, 1]]
    ... )
    >>> nearest(dataset, "q", n_neighbours=1).documents["a"]
    [('b', 0.6)]
    """
    for name, value, rule in (
        ("n_neighbours", n_neighbours, n_neighbours_rule),
        ("neighbours", neighbours, neighbours_rule),
    ):
        if not rule.holds(value, {}):
            raise ValueError(
                f"The {name!r} argument of nearest must be {rule.words}. Got {value!r} instead."
            )
    number = position_of_query(dataset, query)
    ids = document_ids_of(dataset)[slice(*dataset.offsets[number : number + 2])].tolist()
    one = dataset.taken(np.array([number])).in_memory()
    rows, cosines = nearest_documents(vectors_of(one, neighbours), one.offsets, n_neighbours)
    documents = {
        document: [
            (ids[row], round(cosine, 6))
            for row, cosine in zip(near, values, strict=True)
            if row >= 0
        ]
        for document, near, values in zip(ids, rows.tolist(), cosines.tolist(), strict=True)
    }
    return Neighbours(dataset.query_ids[number], documents)
