"""A mixture of the ways to fuse lists, weighed by judged queries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._base.estimator import clone
from localrank._base.progress import progress
from localrank._base.rules import (
    Rule,
    Rules,
    check_together,
    facts,
    floats,
    have_features,
    instances,
    text,
    whole,
)
from localrank.aggregation import ZScore
from localrank.data import RankingDataset
from localrank.data._content_order import keys_of_values
from localrank.fusion._list_columns import values_of_lists
from localrank.fusion.fusion import Fusion
from localrank.fusion.neighbours import NeighbourColumns, n_neighbours_rule
from localrank.fusion.smoothed_fusion import SmoothedFusion
from localrank.measures import AveragePrecision, Measure, parse_measure
from localrank.measures.parsing import a_measure
from localrank.rankers._contribution_tables import N_MORE, centred_rows
from localrank.rankers._explaining import contribution_rows
from localrank.rankers._inputs import is_graded
from localrank.rankers._judged import Judged
from localrank.rankers.base import HeldOut, Needs, Ranker, Weights
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.formulas import Formula

AVERAGE, TUNED, NEAR, LEARNED = "average", "tuned weights", "neighbours", "all columns"
# The weights that are tried are multiples of 1 / 5.
_N_STEPS = 5
# A mixture counts exp(5 v), where v is the sum of the values of the judged queries.
_SHARPNESS = 5.0
# So many queries more speak for the average alone.
_N_FOR_AVERAGE = 5


@declare(
    "hybrid",
    "ways to fuse lists, mixed with weights from cross-validation",
    kind="local",
)
class Hybrid(Ranker):
    """Mixes ways to fuse lists, by how well each mixture ranks judged queries it has not seen.

    The members are

    - "average": the average of z-scores, which needs no judgments;
    - "tuned weights": `Fusion` with tuned weights;
    - "neighbours", if documents have vectors: the mean of the average over a document's nearest
      documents, which is `SmoothedFusion` with share 1;
    - "all columns", if a ranker is given: this ranker, with `NeighbourColumns` if documents have
      vectors.

    The score is the weighted mean of the members' scores, each standardised within the query.
    Weights are learned by cross-validation on the judged queries: the model that scores a query has
    not seen it. All weights w in steps of 1/5 with the sum 1 are tried. Let v(w) be the sum, over
    the n judged queries, of the mean of `measure` and average precision; m the mean of all w, each
    weighted by exp(5 v(w)); and a the weights of the average alone. The learned weights are

        (n m + 5 a) / (n + 5).

    So with few judged queries the average counts most, and the other members have about equal
    weights. With many, the best mixture wins.

    With fewer than `min_judged` judged queries, the score is the average. Training then needs no
    labels.

    Parameters
    ----------
    ranker : Ranker or None, default=None
        A ranker that learns from all columns. None: there is no member "all columns".
    measure : str or Measure, default="ndcg@10"
        The measure that tuning maximises. Together with average precision, it weighs the members.
    n_folds : int, default=3
        Folds of the cross-validation.
    min_judged : int, default=5
        With fewer judged queries than this, nothing is learned.
    n_neighbours : int, default=10
        Number of nearest documents that are a document's neighbours.

    Attributes
    ----------
    choice_ : str
        A sentence with the weights and the values of the members.
    gains_ : dict
        Facts by member: "weight"; "mean", the cross-validated value; "gain", this value minus that
        of the average; "error", the standard error of the gain. Empty if nothing was learned.
    rankers_ : list of Ranker
        The trained members, the average first.
    weights_ : ndarray of shape (n_members,)
        The weights of the members, with sum 1.

    Notes
    -----
    To weigh members by cross-validated scores is stacking [1]. The weights are a mean of all
    weights, each counted by an exponential of its value, in place of the best ones. This is
    exponential weighting [2].

    References
    ----------
    .. [1] Wolpert. Stacked Generalization. Neural Networks 1992.
    .. [2] Dalalyan, Tsybakov. Aggregation by Exponential Weighting, Sharp PAC-Bayesian Bounds and
       Sparsity. Machine Learning 2008.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60, n_features=3, n_types=1)
    >>> ranker = Hybrid().fit(dataset)
    >>> list(ranker.gains_), ranker.weights_.shape
    (['average', 'tuned weights'], (2,))
    >>> print(Hybrid().fit(dataset.replaced(relevance=None)).choice_)
    The average of z-scores: at least 5 judged queries are needed to learn anything. Got 0.
    """

    needs = Needs(missing=True, trial=False, lists=True, labels=False)

    _parameters: ClassVar[Rules] = {
        "ranker": Rule(
            lambda value, _: value is None or isinstance(value, Ranker), "a ranker, or None"
        ),
        "measure": a_measure,
        "n_folds": whole(2, 1000),
        "min_judged": whole(2),
        "n_neighbours": n_neighbours_rule,
    }

    _fitted: ClassVar[Rules] = {
        "choice_": text,
        "gains_": facts,
        "rankers_": instances(Ranker, "n_members"),
        "weights_": floats("n_members"),
    }

    rankers_: list[Ranker]
    weights_: Floats

    def __init__(
        self,
        ranker: Ranker | None = None,
        *,
        measure: str | Measure = "ndcg@10",
        n_folds: int = 3,
        min_judged: int = 5,
        n_neighbours: int = 10,
    ) -> None:
        self.ranker = ranker
        self.measure = measure
        self.n_folds = n_folds
        self.min_judged = min_judged
        self.n_neighbours = n_neighbours

    @property
    def n_models_(self) -> int:
        return sum(ranker.n_models_ for ranker in self.rankers_)

    def learns_from(self, dataset: RankingDataset) -> Flags:
        return np.ones(dataset.n_queries, np.bool_)

    def _check_fitted(self) -> None:
        named = isinstance(self.gains_, dict) and len(self._member_names()) == len(self.rankers_)
        check_together(self, holds=named and have_features(self.n_features_in_, *self.rankers_))

    def _row_bytes(self) -> int:
        return max(ranker._row_bytes() for ranker in self.rankers_)

    def _members(self) -> Sequence[Ranker]:
        return self.rankers_

    def _member_names(self) -> Sequence[str]:
        return list(self.gains_) or [AVERAGE]

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        self.rankers_, self.weights_ = [Fusion("equal").fit_rows(dataset)], np.ones(1)
        self.gains_ = {}
        counted = is_graded(dataset)
        if query_weights is not None:
            counted = counted & (query_weights > 0)
        n_judged = int(counted.sum())
        if n_judged < self.min_judged:
            self.choice_ = (
                f"The average of z-scores: at least {self.min_judged} judged queries are needed to "
                f"learn anything. Got {n_judged}."
            )
            return
        judged = Judged.of(dataset, parse_measure(self.measure), query_weights, counted)
        members = self._untrained(dataset)
        unseen = np.empty((judged.dataset.n_documents, len(members)))
        with progress("Hybrid", len(members)) as advance:
            for place, ranker in enumerate(members.values()):
                scores = self._cross_validated(ranker, judged)
                unseen[:, place] = _standardised(scores, judged.dataset)
                advance()
        self.weights_ = _mean_of_weights(judged, unseen)
        self.rankers_ = [
            clone(ranker).fit_rows(judged.dataset, judged.weights) for ranker in members.values()
        ]
        values = {name: _values(judged, of) for name, of in zip(members, unseen.T, strict=True)}
        for name, weight in zip(members, self.weights_.tolist(), strict=True):
            mean = float(judged.weights @ values[name])
            gain, error = _gain(judged, values[name] - values[AVERAGE])
            self.gains_[name] = {"weight": weight, "mean": mean, "gain": gain, "error": error}
        self.choice_ = self._in_words(len(judged.weights))

    def _untrained(self, dataset: RankingDataset) -> dict[str, Ranker]:
        """The members, the average first."""
        near, measure = self.n_neighbours, self.measure
        members: dict[str, Ranker] = {AVERAGE: Fusion("equal"), TUNED: Fusion(measure=measure)}
        if dataset.has_vectors:
            members[NEAR] = SmoothedFusion("equal", share=1.0, n_neighbours=near)
        if self.ranker is not None:
            learned = self.ranker
            if dataset.has_vectors:
                learned = NeighbourColumns(learned, n_neighbours=near)
            members[LEARNED] = learned
        return members

    def _cross_validated(self, ranker: Ranker, judged: Judged) -> Floats:
        """Scores of each judged query by a model that has not seen it."""
        dataset = judged.dataset
        scores = np.empty(dataset.n_documents)
        folds = _folds(dataset, self.n_folds)
        for fold in range(int(folds.max()) + 1):
            inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            model: Ranker = clone(ranker)
            model.fit_rows(dataset.taken(inside), judged.weights[inside])
            rows = folds[dataset.query_index] == fold
            scores[rows] = model.predict_rows(dataset.taken(outside))
        return scores

    def _in_words(self, n_judged: int) -> str:
        """The members with their weights and values."""
        mixed = ", ".join(f"{facts['weight']:.0%} {name}" for name, facts in self.gains_.items())
        told = "; ".join(
            f"{name}: {facts['mean']:.4f}"
            + (f" ({facts['gain']:+.4f} ± {facts['error']:.4f})" if name != AVERAGE else "")
            for name, facts in self.gains_.items()
        )
        return (
            f"A mixture: {mixed}. Mean of {parse_measure(self.measure)} and map of {n_judged} "
            f"judged queries by cross-validation: {told}."
        )

    def _predict(self, dataset: RankingDataset) -> Array:
        if len(self.rankers_) == 1:
            return self.rankers_[0].score_block(dataset)
        mixed = np.zeros(dataset.n_documents)
        for ranker, weight in zip(self.rankers_, self.weights_, strict=True):
            mixed += weight * _standardised(ranker.score_block(dataset), dataset)
        return mixed

    def _contributions(self, dataset: RankingDataset) -> Floats:
        if len(self.rankers_) == 1:
            return contribution_rows(self.rankers_[0], dataset)
        table = np.zeros((dataset.n_documents, dataset.n_features + N_MORE))
        for ranker, weight in zip(self.rankers_, self.weights_, strict=True):
            form = ZScore().linear_form(ranker.predict_rows(dataset)[None], dataset.offsets)
            rows = centred_rows(contribution_rows(ranker, dataset), dataset.offsets)
            table += weight * form.weights[0][dataset.query_index, None] * rows
        return table

    def _importances(self) -> Floats:
        of_members = [ranker.feature_importances_ for ranker in self.rankers_]
        return np.average(of_members, axis=0, weights=self.weights_)

    def _formula(self) -> Formula:
        from localrank.formulas import Standardised, WeightedSum

        terms = tuple(ranker.formula() for ranker in self.rankers_)
        if len(terms) == 1:
            return terms[0]
        return WeightedSum(tuple(map(Standardised, terms)), self.weights_)


def _standardised(scores: Floats, dataset: RankingDataset) -> Floats:
    """Scores with mean 0 and standard deviation 1 within each query."""
    return ZScore().aggregate_rows(dataset, scores[None])


def _mean_of_weights(judged: Judged, unseen: Floats) -> Floats:
    """The mean of all weights, counted by how well they rank, mixed with the first member."""
    tried, n_judged = _weights(unseen.shape[1]), len(judged.weights)
    sums = np.array([n_judged * judged.weights @ _values(judged, unseen @ w) for w in tried])
    mean = np.average(tried, axis=0, weights=np.exp(_SHARPNESS * (sums - sums.max())))
    first = np.eye(len(mean))[0]
    result: Floats = (n_judged * mean + _N_FOR_AVERAGE * first) / (n_judged + _N_FOR_AVERAGE)
    return result


def _weights(n_members: int) -> Floats:
    """All weights in steps of 1/5 with sum 1.

    Examples
    --------
    >>> _weights(2).T
    array([[0. , 0.2, 0.4, 0.6, 0.8, 1. ],
           [1. , 0.8, 0.6, 0.4, 0.2, 0. ]])
    """
    # Bars between stars: the weights are the numbers of stars from bar to bar.
    places = _N_STEPS + n_members - 1
    bars = np.array(list(combinations(range(places), n_members - 1)), np.int64)
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, places)))
    return (np.diff(edges) - 1) / _N_STEPS


def _values(judged: Judged, scores: Floats) -> Floats:
    """The mean of the measure and of average precision, for each query."""
    precision = AveragePrecision().of_rows(judged.dataset, scores)
    mean: Floats = 0.5 * (judged.by_query(scores) + precision)
    return mean


def _gain(judged: Judged, differences: Floats) -> tuple[float, float]:
    """The weighted mean of the differences of queries, and its standard error."""
    weights = judged.weights
    mean = float(weights @ differences)
    n = len(weights)
    spread = float(weights**2 @ (differences - mean) ** 2) * n / max(n - 1, 1)
    return mean, float(np.sqrt(spread))


def _folds(dataset: RankingDataset, n_folds: int) -> Integers:
    """The fold of each query: in turn, in an order by the ranks and labels of its documents.

    So neither the order of the data nor the unit of a feature changes the folds.
    """
    ranks = values_of_lists(dataset, "rank", dataset.feature_names)
    keys = keys_of_values(
        np.column_stack([ranks, dataset.labels]), np.zeros(dataset.n_documents, np.int64)
    )
    order = np.argsort(np.add.reduceat(keys, dataset.offsets[:-1]), kind="stable")
    folds = np.empty(dataset.n_queries, np.int64)
    folds[order] = np.arange(dataset.n_queries) % min(n_folds, dataset.n_queries)
    return folds
