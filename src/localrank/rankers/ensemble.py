"""Several rankers as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from localrank._base.arrays import Flags
from localrank._base.estimator import clone
from localrank._base.parallel import number_of_jobs, one_thread
from localrank._base.rules import Rule, Rules, flag
from localrank.aggregation import Aggregator, ZScore
from localrank.data import RankingDataset
from localrank.persistence.keeping import Lesson, trained_models
from localrank.rankers._aggregated import Aggregated
from localrank.rankers._shared_rows import shared_rows
from localrank.rankers.base import HeldOut, Ranker, Weights
from localrank.registry import declare


@declare("ensemble", "several rankers, averaged", sample={"rankers": ["lambdamart", "rank-svm"]})
class Ensemble(Aggregated):
    """Several rankers whose lists are merged into one, by default by the mean of their scores.

    Parameters
    ----------
    rankers : sequence of Ranker
        The rankers, of any kinds. They stay unchanged: clones are trained. Give several models of
        one kind different seeds.
    aggregator : Aggregator, optional
        Aggregator from `localrank.aggregation` that merges the rankers' lists. None: ZScore(), the
        mean of scores standardised within each query. An aggregator that learns uses the rankers'
        scores of the training queries.
    stop_early : bool, default=True
        Whether the rankers get the validation queries given to `fit`. If they do, boosted trees
        stop when their own list is best, which may not be best for the mean of all lists.
    n_jobs : int or None, default=None
        Number of rankers trained at the same time, with one thread each. -1: one per core. None or
        1: rankers are trained one after the other, each with its own `n_jobs`. The result does not
        depend on it.

    Attributes
    ----------
    rankers_ : list of Ranker
        The trained clones.
    aggregator_ : Aggregator
        The aggregator, fitted if it learns.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART, RankSVM
    >>> dataset, _ = make_queries(80)
    >>> trees = [LambdaMART(20, random_state=seed) for seed in range(2)]
    >>> ensemble = Ensemble([*trees, RankSVM()]).fit(dataset)
    >>> len(ensemble.rankers_), ensemble.predict(dataset).shape == (dataset.n_documents,)
    (3, True)
    """

    # Each ranker reads the rows it needs into memory.
    needs = replace(Aggregated.needs, blocks=True)

    _parameters: ClassVar[Rules] = {
        "rankers": Rule(
            lambda value, _: (
                isinstance(value, Sequence)
                and len(value) > 0
                and all(isinstance(ranker, Ranker) for ranker in value)
            ),
            "a list of rankers, not empty",
        ),
        "stop_early": flag,
    }

    def __init__(
        self,
        rankers: Sequence[Ranker],
        *,
        aggregator: Aggregator | None = None,
        stop_early: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.rankers = rankers
        self.aggregator = aggregator
        self.stop_early = stop_early
        self.n_jobs = n_jobs

    def learns_from(self, dataset: RankingDataset) -> Flags:
        masks = np.array([ranker.learns_from(dataset) for ranker in self.rankers])
        return np.asarray(masks.all(axis=0))

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        alone = number_of_jobs(self.n_jobs) == 1
        rankers = [clone(ranker) if alone else one_thread(ranker) for ranker in self.rankers]
        lesson = (dataset, query_weights, valid if self.stop_early else None)
        with shared_rows():
            rankers = trained_models(
                _train,
                rankers,
                [Lesson(ranker, *lesson) for ranker in rankers],
                shared=lesson,
                n_jobs=self.n_jobs,
                description="Ensemble",
            )
        self._keep(rankers, self.aggregator or ZScore(), dataset, query_weights)


def _train(ranker: Ranker, dataset: RankingDataset, weights: Weights, valid: HeldOut) -> Ranker:
    return ranker.fit_rows(dataset, weights, valid)
