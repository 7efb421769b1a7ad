"""A weighted sum of lists, smoothed over neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.rules import Rule, Rules, Sizes, check_together, floats, number
from localrank.data import RankingDataset
from localrank.fusion._list_columns import learn_names, trained_names, values_of_lists
from localrank.fusion._list_ranker import ListRanker
from localrank.fusion._neighbours import near_documents, neighbour_columns
from localrank.fusion._tuning import ROUNDING, measured, tuned_weights, weighted
from localrank.fusion.fusion import (
    COLUMN_OF,
    Normalisation,
    are_fitted_weights,
    given_weights,
    judged_by,
    normalisation_rule,
    weights_rule,
)
from localrank.fusion.neighbours import By, n_neighbours_rule, neighbours_rule, vectors_of
from localrank.measures import Measure
from localrank.measures.parsing import a_measure
from localrank.rankers._contribution_tables import shares, table_of
from localrank.rankers._explanation import NearDocuments
from localrank.rankers._judged import Judged
from localrank.rankers.base import HeldOut, Needs, Weights
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.formulas import Formula

# Shares of the neighbours that are tried. Of equally good ones, the smallest is taken.
_SHARES = tuple(place / 10 for place in range(10))


def _is_share(value: Any, sizes: Sizes) -> bool:
    return value == "tuned" if isinstance(value, str) else number(least=0, most=1).holds(value, {})


@declare(
    "smoothed-fusion",
    "a weighted sum of lists, smoothed over similar documents",
    kind="local",
    grid={"normalisation": ["z", "min-max"], "n_neighbours": [5, 10, 20]},
    sample={"neighbours": "features"},
)
class SmoothedFusion(ListRanker):
    """A weighted sum of lists in which each document borrows from its neighbours.

    With f the weighted sum of `Fusion`, c the cosine of two documents' vectors, w = max(c, 0), and
    N the nearest other documents of the query,

        score = (1 - s) f + s (sum of w f over N) / (sum of w over N).

    The weights of the lists and the share s are tuned on training queries. With two lists these are
    two numbers, and about ten judged queries may be enough for them.

    Parameters
    ----------
    weights : {"tuned", "equal"} or sequence of float, default="tuned"
        As for `Fusion`.
    share : "tuned" or float, default="tuned"
        The share s of the neighbours, from 0 to 1. "tuned": the best of 0, 0.1, ..., 0.9. With two
        lists, the share and the weights are tuned together; with more lists, in turn.
    normalisation : {"z", "min-max"}, default="z"
        As for `Fusion`.
    measure : str or Measure, default="ndcg@10"
        The measure that tuning maximises.
    neighbours : {"vectors", "features"}, default="vectors"
        As for `NeighbourColumns`.
    n_neighbours : int, default=10
        Number of nearest documents. Documents that tie with the last one count as well.

    Attributes
    ----------
    weights_ : ndarray of shape (n_lists,)
        The weight of each list, in the order of `list_names_`.
    share_ : float
        The share of the neighbours.

    Notes
    -----
    Contributions are those of the lists. That of a list includes what it adds through the
    neighbours. `explain` also names the neighbours, and says how far each moved the score.

    Examples
    --------
    >>> from localrank.fusion import lists_dataset
    >>> lists = {
    ...     "bm25": {"q": {"a": 9.0, "b": 7.0, "c": 6.0}},
    ...     "dense": {"q": {"a": 0.9, "b": 0.5, "c": 0.5}},
    ... }
    >>> vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.9, 0.1]}
    >>> dataset = lists_dataset(lists, {"q": {"a": 1, "c": 1}}, vectors)
    >>> ranker = SmoothedFusion().fit(dataset)
    >>> ranker.share_, ranker.rank(dataset, library="dict")["document"].tolist()
    (0.1, ['a', 'c', 'b'])
    """

    needs = Needs(missing=True, trial=False, lists=True, labels=False, vectors=True)

    _parameters: ClassVar[Rules] = {
        "weights": weights_rule,
        "share": Rule(_is_share, "'tuned', or a number from 0 to 1"),
        "normalisation": normalisation_rule,
        "measure": a_measure,
        "neighbours": neighbours_rule,
        "n_neighbours": n_neighbours_rule,
    }

    _fitted: ClassVar[Rules] = {"weights_": floats(None), "share_": number(least=0, most=1)}

    weights_: Floats
    share_: float

    def __init__(
        self,
        weights: Literal["tuned", "equal"] | Sequence[float] = "tuned",
        *,
        share: Literal["tuned"] | float = "tuned",
        normalisation: Normalisation = "z",
        measure: str | Measure = "ndcg@10",
        neighbours: By = "vectors",
        n_neighbours: int = 10,
    ) -> None:
        self.weights = weights
        self.share = share
        self.normalisation = normalisation
        self.measure = measure
        self.neighbours = neighbours
        self.n_neighbours = n_neighbours

    def _check_fitted(self) -> None:
        check_together(self, holds=are_fitted_weights(self.weights_, self.n_lists_))

    def _row_bytes(self) -> int:
        # With the vectors, of which a document has hundreds of numbers.
        return super()._row_bytes() + 2**12

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        learn_names(self, dataset)
        weights = given_weights(self, dataset)
        share = None if isinstance(self.share, str) else float(self.share)
        if weights is None or share is None:
            judged = judged_by(self, dataset, query_weights)
            weights, share = _tuned(judged, *self._values(judged.dataset), weights, share)
        self.weights_, self.share_ = weights, share

    def _values(self, dataset: RankingDataset) -> tuple[Floats, Floats]:
        """The values of each list, and their means over the neighbours."""
        values = values_of_lists(dataset, COLUMN_OF[self.normalisation], trained_names(self))
        vectors = vectors_of(dataset, self.neighbours)
        columns = neighbour_columns(vectors, values, dataset.offsets, self.n_neighbours)
        return values, columns[:, : values.shape[1]]

    def _predict(self, dataset: RankingDataset) -> Array:
        return weighted(_mixed(*self._values(dataset), self.share_), self.weights_)

    def _contributions(self, dataset: RankingDataset) -> Floats:
        values = _mixed(*self._values(dataset), self.share_) * self.weights_
        return table_of(self._by_feature(values, COLUMN_OF[self.normalisation]))

    def _importances(self) -> Floats:
        return shares(self._by_feature(self.weights_[None], COLUMN_OF[self.normalisation])[0])

    def near_documents(self, dataset: RankingDataset) -> NearDocuments:
        """The neighbours of the documents of one query, and their parts in the score."""
        values = values_of_lists(dataset, COLUMN_OF[self.normalisation], trained_names(self))
        rows, cosines, moves, others = near_documents(
            vectors_of(dataset, self.neighbours), weighted(values, self.weights_), self.n_neighbours
        )
        # No share of a fall is 0, and not -0.
        moves, others = self.share_ * moves + 0.0, self.share_ * others + 0.0
        return NearDocuments("the score by SmoothedFusion", rows, cosines, moves, others)

    def _formula(self) -> Formula:
        from localrank.formulas import NotExportable

        raise NotExportable(
            "SmoothedFusion",
            "it compares the vectors of a query's documents with each other",
            "Call it as a service instead: localrank serve. Or export Fusion, which has no "
            "neighbours.",
        )


def _tuned(
    judged: Judged, values: Floats, near: Floats, weights: Floats | None, share: float | None
) -> tuple[Floats, float]:
    """The weights and the share, of which None is to be tuned."""
    if share is not None:
        found, _ = (
            (weights, 0)
            if weights is not None
            else tuned_weights(judged, _mixed(values, near, share))
        )
        return found, share
    if weights is None and values.shape[1] > 2:
        # In turn: weights without neighbours, the share for these, weights for this share.
        start, _ = tuned_weights(judged, values)
        _, share = _tuned(judged, values, near, start, None)
        return _tuned(judged, values, near, None, share)
    best, reached = (np.empty(0), 0.0), -np.inf
    for tried in _SHARES:
        mixed = _mixed(values, near, tried)
        found, mean = (
            tuned_weights(judged, mixed)
            if weights is None
            else (weights, measured(judged, mixed, weights))
        )
        if mean > reached + ROUNDING:
            best, reached = (found, tried), mean
    return best


def _mixed(values: Floats, near: Floats, share: float) -> Floats:
    """Values with the share of the neighbours' means."""
    return (1.0 - share) * values + share * near
