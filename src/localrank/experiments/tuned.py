"""Methods whose parameters are chosen in each fold, on the same test queries."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from localrank.data import Fold, RankingDataset
from localrank.evaluation import tune
from localrank.measures import Measure, evaluate
from localrank.rankers import Ranker


@dataclass
class Tuned:
    """What a method reached on the test queries seen so far.

    Attributes
    ----------
    measures : sequence of Measure
    values : dict from measure to list of ndarray
        Of each fold.
    chosen : list of str
        The parameters in each fold.
    training, scoring : float
        Seconds, for all folds.
    """

    measures: Sequence[Measure]
    values: dict[Measure, list[NDArray[np.float64]]] = field(init=False)
    chosen: list[str] = field(default_factory=list)
    training: float = 0.0
    scoring: float = 0.0

    def __post_init__(self) -> None:
        self.values = {measure: [] for measure in self.measures}

    def fit(
        self,
        estimator: Ranker,
        grid: Mapping[str, Sequence[Any]],
        fold: Fold,
        n_jobs: int | None,
        measure: str | Measure = "map",
    ) -> Ranker:
        """Choose parameters on the fold's validation part, or by cross-validation; train, score."""
        ranker: Ranker = clone(estimator)
        if grid:
            tuning = tune(estimator, grid, fold.train, 3, measure, valid=fold.valid, n_jobs=n_jobs)
            ranker.set_params(**tuning.best_parameters)
            self.chosen.append("/".join(f"{v:g}" for v in tuning.best_parameters.values()))
        start = time.perf_counter()
        ranker.fit(fold.train)
        self.training += time.perf_counter() - start
        self.score(ranker, fold.test)
        return ranker

    def score(self, ranker: Ranker, test: RankingDataset) -> None:
        """Add what a fitted ranker reaches on more test queries."""
        start = time.perf_counter()
        scores = ranker.predict(test)
        self.scoring += time.perf_counter() - start
        for measure, values in evaluate(test, scores, self.measures).items():
            self.values[measure].append(values)

    def column(self, measure: Measure) -> NDArray[np.float64]:
        """The values of all test queries."""
        return np.concatenate(self.values[measure])

    def means(self) -> dict[str, float]:
        """The mean over the test queries by each measure."""
        return {str(measure): float(self.column(measure).mean()) for measure in self.measures}
