"""Why the documents of one query get their scores from a local model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.printing import Table
from localrank.rankers._explanation import N_MODELS, Explanation


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LocalExplanation(Explanation):
    """Why the documents of one query get their scores from a local model.

    It has all that the explanation of any ranker has, and the groups.

    Attributes
    ----------
    weights : ndarray of shape (n_groups,)
        Weight of each group's model.
    group_sizes : ndarray of shape (n_groups,)
        Number of training queries of each group.
    neighbours : ndarray
        Ids of the nearest training queries, nearest first, by the selector's distance.
    neighbour_groups : ndarray
        The group that serves each neighbour.
    distances, similarities : ndarray
        Between the query and each neighbour.
    group_scores : ndarray of shape (n_documents, n_groups)
        The scores that each group's model alone would give.
    """

    weights: Floats
    group_sizes: Integers
    neighbours: Array
    neighbour_groups: Integers
    distances: Floats
    similarities: Floats
    group_scores: Floats

    def _shown(self) -> list[str | Table]:
        weights = self.weights
        in_use = np.flatnonzero(weights)
        chosen = ", ".join(
            f"group {group + 1}" + ("" if weights[group] == 1 else f" ({weights[group]:.2f})")
            for group in in_use[np.argsort(-weights[in_use], kind="stable")][:N_MODELS]
        )
        return [
            f"Query {self.query} is served by {chosen} of {len(weights):,} groups.",
            self._nearest(),
            self._ranks(in_use),
            *super()._shown(),
        ]

    def _nearest(self) -> Table:
        return Table(
            "Nearest training queries",
            ["query", "similarity", "distance", "group", "queries in it"],
            [
                [str(name), f"{similarity:.4f}", f"{distance:.4g}", str(group + 1), f"{size:,}"]
                for name, similarity, distance, group, size in zip(
                    self.neighbours,
                    self.similarities,
                    self.distances,
                    self.neighbour_groups,
                    self.group_sizes[self.neighbour_groups],
                    strict=True,
                )
            ],
        )

    def _ranks(self, in_use: Integers) -> Table:
        # The groups in use first, then those of the neighbours, then the others.
        wanted = [*in_use, *self.neighbour_groups, *range(len(self.weights))]
        shown = list(dict.fromkeys(int(group) for group in wanted))[:N_MODELS]
        return self._table(
            "with their rank by each group's model",
            [f"group {group + 1}" for group in shown],
            self._places(self.group_scores[:, shown]),
        )
