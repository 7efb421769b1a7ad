"""A weighted sum of lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.rules import Rule, Rules, Sizes, check_together, floats, one_of, refuse
from localrank.data import RankingDataset
from localrank.fusion._list_columns import learn_names, n_lists, trained_names, values_of_lists
from localrank.fusion._list_ranker import ListRanker
from localrank.fusion._tuning import tuned_weights, weighted
from localrank.measures import Measure, parse_measure
from localrank.measures.parsing import a_measure
from localrank.rankers._contribution_tables import shares, table_of
from localrank.rankers._judged import Judged
from localrank.rankers._training import teaching
from localrank.rankers.base import HeldOut, Needs, Weights
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.formulas import Formula

Normalisation = Literal["z", "min-max"]
# The column of each list that a normalisation names.
COLUMN_OF = {"z": "z", "min-max": "min_max"}


def _are_weights(value: Any, sizes: Sizes) -> bool:
    if isinstance(value, str):
        return value in ("tuned", "equal")
    if not isinstance(value, list | tuple | np.ndarray) or not len(value):
        return False
    numbers = [isinstance(number, int | float | np.number) for number in value]
    return all(numbers) and bool(np.isfinite(value).all()) and min(value) >= 0 and max(value) > 0


# The parameter `weights` of rankers that weigh lists.
weights_rule = Rule(
    _are_weights, "'tuned', 'equal', or a number of 0 or more for each list, not all 0"
)
normalisation_rule = one_of("z", "min-max")


@declare(
    "fusion",
    "a weighted sum of lists, weights tuned by a measure",
    grid={"normalisation": ["z", "min-max"]},
)
class Fusion(ListRanker):
    """A weighted sum of the scores of lists, each brought to a common scale first.

    The weights are 0 or more and have the sum 1. They are tuned on training queries by a measure,
    or you give them, or they are equal. With few judged queries, tuned weights may be worse than
    equal ones: `hybrid` tests them by cross-validation before it uses them.

    Parameters
    ----------
    weights : {"tuned", "equal"} or sequence of float, default="tuned"
        "tuned": the weights with the largest mean measure on the training queries. For two lists,
        they are searched in steps of 1/50. Of equally good weights, those nearest to equal weights
        are used. For more lists, the search moves weight between lists. "equal": the average, which
        needs no labels. A sequence: the weight of each list, in the order of the lists; the weights
        are divided by their sum.
    normalisation : {"z", "min-max"}, default="z"
        The scale of a list within a query: standard deviations from its mean, or 0 to 1 from its
        lowest score to its highest. `lists_dataset` says which value a missing document gets.
    measure : str or Measure, default="ndcg@10"
        The measure that tuning maximises.

    Attributes
    ----------
    weights_ : ndarray of shape (n_lists,)
        The weight of each list, in the order of `list_names_`.

    Notes
    -----
    The lists are those of `lists_dataset`. In any other dataset each feature is a list of scores;
    a missing value means that the list lacks the document.

    Examples
    --------
    >>> from localrank.fusion import lists_dataset
    >>> lists = {"bm25": {"q": {"a": 9.0, "b": 7.0}}, "dense": {"q": {"b": 0.8, "a": 0.7}}}
    >>> dataset = lists_dataset(lists, {"q": {"b": 1}})
    >>> ranker = Fusion().fit(dataset)
    >>> ranker.list_names_, ranker.weights_
    (('bm25', 'dense'), array([0.48, 0.52]))
    """

    needs = Needs(missing=True, trial=False, lists=True, labels=False)

    _parameters: ClassVar[Rules] = {
        "weights": weights_rule,
        "normalisation": normalisation_rule,
        "measure": a_measure,
    }

    _fitted: ClassVar[Rules] = {"weights_": floats(None)}

    weights_: Floats

    def __init__(
        self,
        weights: Literal["tuned", "equal"] | Sequence[float] = "tuned",
        *,
        normalisation: Normalisation = "z",
        measure: str | Measure = "ndcg@10",
    ) -> None:
        self.weights = weights
        self.normalisation = normalisation
        self.measure = measure

    def _check_fitted(self) -> None:
        check_together(self, holds=are_fitted_weights(self.weights_, self.n_lists_))

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        learn_names(self, dataset)
        given = given_weights(self, dataset)
        if given is None:
            judged = judged_by(self, dataset, query_weights)
            given, _ = tuned_weights(judged, self._values(judged.dataset))
        self.weights_ = given

    def _values(self, dataset: RankingDataset) -> Floats:
        return values_of_lists(dataset, COLUMN_OF[self.normalisation], trained_names(self))

    def _predict(self, dataset: RankingDataset) -> Array:
        return weighted(self._values(dataset), self.weights_)

    def _contributions(self, dataset: RankingDataset) -> Floats:
        values = self._values(dataset) * self.weights_
        return table_of(self._by_feature(values, COLUMN_OF[self.normalisation]))

    def _importances(self) -> Floats:
        return shares(self._by_feature(self.weights_[None], COLUMN_OF[self.normalisation])[0])

    def _formula(self) -> Formula:
        from localrank.formulas import Column, Linear, NotExportable, OnColumns

        names = trained_names(self)
        if n_lists(names, 0):
            return Linear(self._by_feature(self.weights_[None], COLUMN_OF[self.normalisation])[0])
        if self.normalisation != "z":
            raise NotExportable(
                "Fusion with normalisation='min-max' of features",
                "a list of equal scores counts as 1 here, and otherwise in an engine",
                "Train it on lists_dataset, or with normalisation='z'.",
            )
        columns = tuple(Column("deviation", feature) for feature in range(self.n_features_in_))
        return OnColumns(columns, Linear(self.weights_), self._with_values)

    def _with_values(self, dataset: RankingDataset) -> RankingDataset:
        return dataset.with_features(self._values(dataset), dataset.feature_names)


def given_weights(ranker: Any, dataset: RankingDataset) -> Floats | None:
    """The weights that need no training, with sum 1. None: the weights must be tuned."""
    n = n_lists(dataset.feature_names, dataset.n_features)
    if isinstance(ranker.weights, str):
        return np.full(n, 1.0 / n) if ranker.weights == "equal" else None
    weights: Floats = np.asarray(ranker.weights, np.float64)
    if len(weights) != n:
        refuse(ranker, "weights", f"'tuned', 'equal' or {n} numbers, one for each list")
    return np.asarray(weights / weights.sum())


def judged_by(ranker: Any, dataset: RankingDataset, query_weights: Weights) -> Judged:
    """The queries to learn from, with the ranker's measure."""
    teaches = teaching(ranker, dataset, query_weights)
    return Judged.of(dataset, parse_measure(ranker.measure), query_weights, teaches)


def are_fitted_weights(weights: Floats, n: int) -> bool:
    """Whether there is a weight of 0 or more for each list."""
    return len(weights) == n and bool((weights >= 0).all())
