"""Documents that were shown at several positions, counted by sets of queries to resample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._base.memory import check_memory
from localrank.clicks._duels import count_duels, strengths
from localrank.clicks._gamma_em import summed
from localrank.clicks._slot_em import Cells, cells_of
from localrank.data._offsets import offsets_of
from localrank.data.click_log import ClickLog

# Queries are resampled in this many sets at most.
MAX_SETS = 1000


@dataclass(frozen=True, eq=False)
class Swaps:
    """What a log says of positions.

    Attributes
    ----------
    cells : Cells
        Impressions and clicks by pair and position.
    sets_of_pairs : ndarray of shape (n_pairs,)
        The set of each pair's query.
    duels : ndarray of shape (n_sets, n_positions, n_positions)
    shown, clicks : ndarray of shape (n_positions,)
    """

    cells: Cells
    sets_of_pairs: Integers
    n_sets: int
    duels: Floats
    shown: Floats
    clicks: Floats

    @classmethod
    def of(cls, log: ClickLog, n_positions: int | None = None) -> Self:
        """Count a log, where positions from `n_positions` on count as one."""
        if not log.n_sessions:
            raise ValueError("The log has no session. Nothing can be learned from it.")
        sets, n_sets = sets_of(log.n_queries)
        return cls.counted(
            log.pairs, positions_of(log, n_positions), log.clicks, sets[log.pair_queries], n_sets
        )

    @classmethod
    def counted(
        cls,
        pairs: Integers,
        positions: Integers,
        clicks: Flags,
        sets_of_pairs: Integers,
        n_sets: int,
    ) -> Self:
        """Count impressions whose pairs belong to sets."""
        n_positions = int(positions.max()) + 1
        check_memory(
            # The duels of each set, and a few arrays of those of each draw.
            8 * (n_sets + 4 * MAX_SETS) * n_positions**2,
            f"Comparing {n_positions:,} positions with one another",
            "Give a smaller n_positions, so that late positions count as one.",
        )
        cells = cells_of(pairs, positions, clicks, len(sets_of_pairs), n_positions)
        return cls(
            cells,
            sets_of_pairs,
            n_sets,
            count_duels(cells, sets_of_pairs, n_sets),
            summed(cells.slots, cells.shown, n_positions),
            summed(cells.slots, cells.clicked, n_positions),
        )

    @property
    def n_positions(self) -> int:
        """Number of positions."""
        return self.cells.n_slots

    def n_swapped(self) -> Integers:
        """Pairs that were shown at each position and at another one."""
        sizes = np.diff(self.cells.offsets)
        several = np.repeat(sizes > 1, sizes)
        return np.bincount(self.cells.slots[several], minlength=self.n_positions)


def sets_of(n_queries: int) -> tuple[Integers, int]:
    """The set of each query, and how many there are: one for each query, unless there are many."""
    if n_queries <= MAX_SETS:
        return np.arange(n_queries), n_queries
    return np.random.default_rng(0).permutation(n_queries) % MAX_SETS, MAX_SETS


def positions_of(log: ClickLog, n_positions: int | None) -> Integers:
    """The position of each impression, where all from `n_positions` on count as one."""
    return log.positions if n_positions is None else np.minimum(log.positions, n_positions - 1)


@dataclass(frozen=True, eq=False)
class Resampling:
    """Sets of queries drawn with replacement, many times.

    Attributes
    ----------
    counts : ndarray of shape (n_draws, n_sets)
        How often each set was drawn.
    """

    counts: Floats

    @classmethod
    def drawn(cls, n_sets: int, n_draws: int, random_state: int | None) -> Self:
        """Draw as many sets as there are, `n_draws` times."""
        rng = np.random.default_rng(random_state)
        drawn = rng.multinomial(n_sets, np.full(n_sets, 1 / n_sets), size=n_draws)
        return cls(drawn.astype(np.float64))

    def totals(self, of_sets: Floats) -> Floats:
        """The sum over the sets of each draw, of an array with a row for each set."""
        return np.tensordot(self.counts, of_sets, 1)

    def changes(self, of_sets: Floats) -> Floats:
        """How much each draw changes the sum over all sets."""
        return np.tensordot(self.counts - 1, of_sets, 1)

    def bounds(self, moved: Floats, confidence: float, n_sets: int) -> Iterator[Floats]:
        """Quantiles of what the draws changed, wider if there are few sets to draw from.

        They are widened as by the t distribution: draws from 20 sets spread less than samples of 20
        would.
        """
        from scipy import stats

        if n_sets < 2:
            yield from np.full((2, moved.shape[1]), np.nan)
            return
        upper = (1 + confidence) / 2
        wider = stats.t.ppf(upper, n_sets - 1) / stats.norm.ppf(upper)
        wider *= np.sqrt(n_sets / (n_sets - 1))
        yield from wider * np.quantile(moved, [1 - upper, upper], axis=0)


def estimated_by_swaps(
    duels: Floats, known: Flags, resampling: Resampling
) -> tuple[Floats, Floats]:
    """The logarithm of examination at positions that are known, and its change by each draw."""
    among = duels[:, known][:, :, known]
    everything = among.sum(axis=0)
    theta = strengths(everything[None])[0]
    return theta, strengths(resampling.totals(among), everything) - theta


def of_positions(cells: Cells, known: Flags) -> Cells:
    """The cells at some positions, which are numbered anew."""
    kept = known[cells.slots]
    sizes = np.add.reduceat(np.append(kept, False), cells.offsets[:-1], dtype=np.int64)
    sizes[np.diff(cells.offsets) == 0] = 0
    return Cells(
        offsets_of(sizes),
        (np.cumsum(known) - 1)[cells.slots[kept]],
        cells.shown[kept],
        cells.clicked[kept],
        int(known.sum()),
    )


def of_pairs(cells: Cells, kept: Flags) -> Cells:
    """The cells of some pairs."""
    sizes = np.diff(cells.offsets)
    rows = np.repeat(kept, sizes)
    return Cells(
        offsets_of(sizes[kept]),
        cells.slots[rows],
        cells.shown[rows],
        cells.clicked[rows],
        cells.n_slots,
    )
