"""Bounds of reciprocal rank and success, which depend on the first relevant document alone.

If the first relevant document of the first run is a hole, another relevant hole helps only the
second run, unless it is tied with the first. The bounds are exact without ties.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.evaluation._hole_bounds import HoleBounds
from localrank.evaluation._places import Places
from localrank.measures import ReciprocalRank, Success


class FirstRelevantBounds(HoleBounds):
    """Reciprocal rank and success."""

    measure: ReciprocalRank | Success

    def is_exact(self, a: Places, b: Places) -> bool:
        return not (a.is_tied() | b.is_tied()).any()

    def of_run(self, places: Places) -> tuple[Floats, Floats]:
        as_judged, _, tied = self._values(places)
        high = np.maximum(as_judged, self._largest(tied))
        if self.measure.empty == 1.0:
            high[~np.logical_or.reduceat(self._relevant, self.dataset.offsets[:-1])] = 1.0
        return as_judged, high

    def of_difference(self, a: Places, b: Places) -> tuple[Floats, Floats]:
        judged_a, alone_a, tied_a = self._values(a)
        judged_b, alone_b, tied_b = self._values(b)
        low = np.maximum(judged_b - judged_a, self._largest(tied_b - alone_a))
        high = np.maximum(judged_a - judged_b, self._largest(tied_a - alone_b))
        return -low, high

    def if_relevant(self, places: Places) -> Floats:
        return self._values(places)[1]

    @cached_property
    def _relevant(self) -> Flags:
        flags: Flags = self.dataset.labels >= self.measure.threshold
        return flags

    @cached_property
    def _worth(self) -> Floats:
        """The value if the first relevant document is at a rank that counts."""
        n_ranks = min(int(self.dataset.query_sizes.max()), self.measure.depth)
        if isinstance(self.measure, Success):
            return np.ones(n_ranks)
        return 1 / np.arange(1.0, n_ranks + 1)

    def _largest(self, values: Floats) -> Floats:
        """The largest value of the holes of each query."""
        return np.maximum.reduceat(
            np.where(self.is_hole, values, -np.inf), self.dataset.offsets[:-1]
        )

    def _values(self, places: Places) -> tuple[Floats, Floats, Floats]:
        """The values as judged; of each row, if it alone is relevant, and all holes of its tie."""
        sizes, order = places.sizes, places.order
        n_relevant = np.add.reduceat(self._relevant[order], places.blocks, dtype=np.int64)
        n_holes = np.add.reduceat(self.is_hole[order], places.blocks, dtype=np.int64)
        query = self.dataset.query_index[order[places.blocks]]
        judged, alone, tied = (
            np.asarray(
                _first_of_tie(
                    read_only(places.first, np.int64),
                    read_only(places.last, np.int64),
                    read_only(sizes, np.int64),
                    read_only(count, np.int64),
                    read_only(self._worth, np.float64),
                )
            )
            for count in (n_relevant, n_relevant + (n_holes > 0), n_relevant + n_holes)
        )
        as_judged = np.maximum.reduceat(judged, np.flatnonzero(np.diff(query, prepend=-1)))
        # A hole below the first relevant document changes nothing.
        return (
            as_judged,
            places.by_row(np.maximum(alone, as_judged[query])),
            places.by_row(np.maximum(tied, as_judged[query])),
        )


@kernel
def _first_of_tie(
    first: Integers, last: Integers, sizes: Integers, n_relevant: Integers, worth: Floats
) -> Floats:
    """The expected worth of the first relevant document of each tie, 0 without one."""
    values = np.zeros(len(first), np.float64)
    for block in range(len(first)):
        none_yet = 1.0
        if n_relevant[block] > 0:
            for i in range(first[block], min(last[block], len(worth))):
                chance = min(1.0, n_relevant[block] / (sizes[block] - (i - first[block])))
                values[block] += none_yet * chance * worth[i]
                none_yet *= 1.0 - chance
    return values
