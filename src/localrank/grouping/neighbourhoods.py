"""One group around each training query."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.rules import Rules, optional, whole
from localrank.grouping.base import Grouping, Groups, drawn_positions
from localrank.registry import declare
from localrank.representations.base import Representation

# Bytes of the distances that are computed at once.
BLOCK_BYTES = 2**26


@declare(
    "neighbourhoods",
    "each query with its nearest queries; groups overlap",
    sample={"n_neighbours": 15},
)
class Neighbourhoods(Grouping):
    """One group per training query: the query and its nearest queries; groups overlap [1].

    If there are more than `max_centres` training queries, only a sample of that many has groups.
    Every other query is served by the group of its nearest sampled query.

    Parameters
    ----------
    n_neighbours : int, default=50
        Number of nearest queries in a group, besides the query itself. If there are fewer, all of
        them. With 0 each query is a group by itself.
    max_centres : int or None, default=2000
        Largest number of groups. None: one for each query. Models then grow with the number of
        queries, and the search for neighbours with its square.
    random_state : int or None, default=0
        Seed of the sample.

    References
    ----------
    1. Geng, Liu, Qin, Arnold, Li, Shum. Query Dependent Ranking Using K-Nearest Neighbor.
       SIGIR 2008.

    Examples
    --------
    >>> from localrank.representations import Mean
    >>> groups = Neighbourhoods(1).group(Mean(), np.array([[0.0], [1.0], [10.0]]))
    >>> groups[0], groups[1], groups[2]
    (array([0, 1]), array([0, 1]), array([1, 2]))
    """

    _parameters: ClassVar[Rules] = {"n_neighbours": whole(0), "max_centres": optional(whole(1))}

    def __init__(
        self,
        n_neighbours: int = 50,
        *,
        max_centres: int | None = 2000,
        random_state: int | None = 0,
    ) -> None:
        self.n_neighbours = n_neighbours
        self.max_centres = max_centres
        self.random_state = random_state

    def _group(self, representation: Representation, descriptions: Array) -> Groups:
        n = len(descriptions)
        centres = np.arange(n)
        if self.max_centres is not None and n > self.max_centres:
            centres = drawn_positions(n, self.max_centres, self.random_state)
        size = min(self.n_neighbours + 1, n)
        members = np.empty((len(centres), size), dtype=np.int64)
        home, apart = np.empty(n, dtype=np.int64), np.full(n, np.inf)
        block = max(BLOCK_BYTES // (8 * n), 1)
        for begin in range(0, len(centres), block):
            middle = centres[begin : begin + block]
            distances = representation.distances(descriptions[middle], descriptions)
            # Every query belongs to its own neighbourhood, even if others are as near.
            distances[np.arange(len(middle)), middle] = -np.inf
            members[begin : begin + block] = _nearest(distances, size)
            nearest = np.argmin(distances, axis=0)
            least = np.min(distances, axis=0)
            home = np.where(least < apart, begin + nearest, home)
            apart = np.minimum(least, apart)
        return Groups(members.ravel(), np.arange(0, members.size + 1, size), home)


def _nearest(distances: Floats, size: int) -> Integers:
    """The columns of the smallest distances in each row, ascending; the first if tied."""
    last = np.partition(distances, size - 1, axis=1)[:, size - 1]
    chosen = np.empty((len(distances), size), dtype=np.int64)
    for row, (of_row, largest) in enumerate(zip(distances, last, strict=True)):
        nearer = np.flatnonzero(of_row < largest)
        equal = np.flatnonzero(of_row == largest)[: size - len(nearer)]
        chosen[row] = np.sort(np.concatenate([nearer, equal]))
    return chosen
