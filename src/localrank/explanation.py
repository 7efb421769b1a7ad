"""Why the documents of one query get their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.printing import Printed, Table

# Largest numbers of groups and documents to show.
N_GROUPS, N_DOCUMENTS = 6, 10


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Printed):
    """Why the documents of one query get their scores.

    Attributes
    ----------
    query : id
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
    document_ids : ndarray of shape (n_documents,)
        Ids of the documents. If they have none, their positions in the input, from 0.
    labels : ndarray of shape (n_documents,) or None
    scores : ndarray of shape (n_documents,)
        The scores that `predict` gives.
    group_scores : ndarray of shape (n_documents, n_groups)
        The scores that each group's model alone would give.
    """

    query: Any
    weights: Floats
    group_sizes: Integers
    neighbours: Array
    neighbour_groups: Integers
    distances: Floats
    similarities: Floats
    document_ids: Array
    labels: Floats | None
    scores: Floats
    group_scores: Floats

    def _shown(self) -> list[str | Table]:
        weights = self.weights
        in_use = np.flatnonzero(weights)
        chosen = ", ".join(
            f"group {group + 1}" + ("" if weights[group] == 1 else f" ({weights[group]:.2f})")
            for group in in_use[np.argsort(-weights[in_use], kind="stable")][:N_GROUPS]
        )
        return [
            f"Query {self.query} is served by {chosen} of {len(weights):,} groups.",
            self._nearest(),
            self._documents(in_use),
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

    def _documents(self, in_use: Integers) -> Table:
        # The groups in use first, then those of the neighbours, then the others.
        wanted = [*in_use, *self.neighbour_groups, *range(len(self.weights))]
        shown = list(dict.fromkeys(int(group) for group in wanted))[:N_GROUPS]
        # Rank of each document by each group's model alone.
        places = np.argsort(np.argsort(-self.group_scores[:, shown], axis=0, kind="stable"), 0)
        columns = ["document", "score", *(f"group {group + 1}" for group in shown)]
        if self.labels is not None:
            columns.insert(1, "label")
        rows = []
        for document in np.argsort(-self.scores, kind="stable")[:N_DOCUMENTS]:
            row = [str(self.document_ids[document])]
            if self.labels is not None:
                row.append(f"{self.labels[document]:g}")
            row += [f"{self.scores[document]:.4g}", *(str(p + 1) for p in places[document])]
            rows.append(row)
        title = f"First {len(rows)} of {len(self.scores):,} documents"
        return Table(f"{title}, with their rank by each group's model", columns, rows)
