"""One group around each training query."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from localrank.arrays import Array
from localrank.declaration import declare
from localrank.grouping.base import Grouping, Groups
from localrank.parameters import Rules, whole
from localrank.representations.base import Representation

# Distances are computed for as many queries at once as keep them within this many bytes.
BLOCK_BYTES = 2**26


@declare(
    "neighbourhoods", "each query with its nearest; groups overlap", sample={"n_neighbours": 15}
)
class Neighbourhoods(Grouping):
    """For each training query, a group of it and its nearest queries; groups overlap [1]_.

    Parameters
    ----------
    n_neighbours : int, default=50
        Queries beside the one in the middle, all others where there are fewer. With 0 each
        query is a group of its own.

    References
    ----------
    .. [1] Geng, Liu, Qin, Arnold, Li, Shum. Query Dependent Ranking Using K-Nearest Neighbor.
       SIGIR 2008.

    Examples
    --------
    >>> from localrank.representations import Mean
    >>> groups = Neighbourhoods(1).group(Mean(), np.array([[0.0], [1.0], [10.0]]))
    >>> groups[0], groups[1], groups[2]
    (array([0, 1]), array([0, 1]), array([1, 2]))
    """

    _parameters: ClassVar[Rules] = {"n_neighbours": whole(0)}

    def __init__(self, n_neighbours: int = 50) -> None:
        self.n_neighbours = n_neighbours

    def _group(self, representation: Representation, descriptions: Array) -> Groups:
        n = len(descriptions)
        size = min(self.n_neighbours + 1, n)
        members = np.empty((n, size), dtype=np.int64)
        block = max(BLOCK_BYTES // (8 * n), 1)
        for begin in range(0, n, block):
            own = np.arange(begin, min(begin + block, n))
            distances = representation.distances(descriptions[own], descriptions)
            # Every query belongs to its own neighbourhood, also where others lie as near.
            distances[np.arange(len(own)), own] = -np.inf
            members[own] = np.sort(np.argsort(distances, axis=1, kind="stable")[:, :size], axis=1)
        return Groups(members.ravel(), np.arange(0, n * size + 1, size), np.arange(n))
