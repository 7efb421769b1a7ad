"""Rankers that learn from pairs of documents by Newton's method."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.data.deferred import gathered, is_made, table_and_rows
from localrank.data.offsets import n_first
from localrank.fitted import Kinds, count, real
from localrank.parameters import Rules, number, one_of, whole
from localrank.rankers.base import Missing, Weights, missing_rule
from localrank.rankers.inputs import MOST_DOCUMENTS
from localrank.rankers.linear import ScalingRanker

if TYPE_CHECKING:
    from localrank.rankers.rank_svm.ranking_pairs import RankingPairs


class PairwiseRanker(ScalingRanker):
    """Base class of rankers that minimise ½‖w‖² + C/N · Σ loss over N pairs of documents.

    A pair is two documents of the same query. A subclass has the parameters declared here. It
    makes the pairs with `_pairs` and minimises with `_minimized`.

    Attributes
    ----------
    objective_ : float
        Value of the formula above at its minimum.
    duality_gap_ : float
        Largest possible distance of the objective from its minimum.
    n_iter_ : int
        Number of steps.
    n_pairs_ : int
        Number of pairs.
    """

    C: float
    loss: Literal["squared_hinge", "hinge"]
    pair_weight: Literal["pair", "query"]
    tol: float
    max_iter: int
    missing: Missing

    _parameters: ClassVar[Rules] = {
        "C": number(above=0),
        "loss": one_of("squared_hinge", "hinge"),
        "pair_weight": one_of("pair", "query"),
        "tol": number(above=0),
        "max_iter": whole(1, 1_000_000),
        "missing": missing_rule,
    }

    _fitted: ClassVar[Kinds] = {
        "objective_": real,
        "duality_gap_": real,
        "n_iter_": count(0),
        "n_pairs_": count(1),
    }

    _reads_blocks = True

    def _pairs(
        self,
        dataset: RankingDataset,
        query_weights: Weights,
        label_pairs: Sequence[tuple[float, float]] | None = None,
    ) -> RankingPairs:
        """The pairs of a dataset, with features scaled by a scaling learned from it."""
        # Only training needs these kernels: `best` and linear models load without them.
        from localrank.rankers.rank_svm.centred_table import Scaled, is_large
        from localrank.rankers.rank_svm.ranking_pairs import EXPLICIT, RankingPairs

        teaching = self._teaching(dataset, query_weights)
        wide = dataset.n_features > EXPLICIT or is_large(dataset)
        in_place = wide and self.scaling != "query" and label_pairs is None
        if in_place and is_made(dataset) and dataset.n_documents > MOST_DOCUMENTS:
            # All rows must be in memory. Queries are in an order that is as good as random.
            lessons = np.flatnonzero(teaching)
            queries = lessons[: n_first(dataset.query_sizes[lessons], MOST_DOCUMENTS)]
            self._learns_from_part(dataset, lessons, queries)
            dataset = dataset.taken(queries)
            query_weights = None if query_weights is None else query_weights[queries]
        if label_pairs is not None or (in_place and is_made(dataset)):
            # The rows are read many times, or not query by query.
            dataset = gathered(dataset)
        self._learn_scaling(dataset)
        features: Any = self._scaled_blocks(dataset)
        if label_pairs is not None:
            features = self._scaled(dataset)
        elif in_place:
            features = Scaled(*table_and_rows(dataset), getattr(self, "scale_", None))
        return RankingPairs.of(
            dataset,
            features,
            query_weights,
            label_pairs=label_pairs,
            by_query=self.pair_weight == "query",
        )

    def _minimized(self, pairs: RankingPairs, start: Floats | None = None) -> Floats:
        """The weights at the minimum. Sets the fitted attributes that describe it."""
        from localrank.rankers.rank_svm.hinge import minimize_hinge
        from localrank.rankers.rank_svm.newton import minimize

        solve = minimize_hinge if self.loss == "hinge" else minimize
        solution = solve(pairs, self.C, start, self.tol, self.max_iter)
        self.objective_ = solution.objective
        self.duality_gap_ = solution.gap
        self.n_iter_ = solution.n_steps
        self.n_pairs_ = int(pairs.n_pairs.sum())
        if not solution.gap <= self.tol * solution.objective:
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(
                f"{type(self).__name__} stopped after {self.n_iter_} steps with a relative duality "
                f"gap of {solution.gap / solution.objective:.2g}, above tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return solution.weights
