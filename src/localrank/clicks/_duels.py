"""Positions that compete for the clicks of the documents that both of them showed."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.clicks._slot_em import Cells

# Newton's steps: many more than a concave likelihood of some positions needs.
_MAX_STEPS = 100
# A step changes no logarithm by more than this.
_MAX_CHANGE = 2.0
# Part of the duels of all queries that a resampled set of duels begins with: where a draw leaves
# out all clicks of a position, its estimate is small, and not minus infinity.
_SHARE_OF_ALL = 1e-6


def count_duels(cells: Cells, units: Integers, n_units: int) -> Floats:
    """Weighted clicks of each position on documents that another position showed as well.

    A document that was shown n times at position j and m times at position k adds
    c m / (n + m) to `[unit, j, k]`, where c are its clicks at j.

    Parameters
    ----------
    cells : Cells
        Impressions and clicks by pair and position.
    units : ndarray of shape (n_pairs,)
        What is counted together, such as the pairs of a query.
    n_units : int

    Returns
    -------
    wins : ndarray of shape (n_units, n_positions, n_positions)

    Examples
    --------
    >>> from localrank.clicks._slot_em import cells_of
    >>> cells = cells_of(np.array([0, 0, 0]), np.array([0, 1, 1]), np.array([1, 1, 0]), 1, 2)
    >>> count_duels(cells, np.array([0]), 1)[0].round(3)
    array([[0.   , 0.667],
           [0.333, 0.   ]])
    """
    wins: Floats = _count_duels(
        read_only(cells.offsets, np.int64),
        read_only(cells.slots, np.int64),
        read_only(cells.shown, np.float64),
        read_only(cells.clicked, np.float64),
        read_only(units, np.int64),
        n_units,
        cells.n_slots,
    )
    return wins


@kernel
def _count_duels(
    offsets: Integers,
    slots: Integers,
    shown: Floats,
    clicked: Floats,
    units: Integers,
    n_units: int,
    n_positions: int,
) -> Floats:
    wins = np.zeros((n_units, n_positions, n_positions))
    for pair in range(len(units)):
        unit = units[pair]
        for one in range(offsets[pair], offsets[pair + 1]):
            for other in range(offsets[pair], offsets[pair + 1]):
                if one != other and clicked[one] > 0:
                    share = shown[other] / (shown[one] + shown[other])
                    wins[unit, slots[one], slots[other]] += clicked[one] * share
    return wins


def count_weighed_duels(cells: Cells, units: Integers, n_units: int, examination: Floats) -> Floats:
    """The same, with documents weighted by their clicks at third positions.

    The weight in the duel of two positions is the rate of clicks, by expected examination, at all
    other positions: it says how relevant the document is, and is independent of the clicks in the
    duel.
    """
    wins: Floats = _count_weighed(
        read_only(cells.offsets, np.int64),
        read_only(cells.slots, np.int64),
        read_only(cells.shown, np.float64),
        read_only(cells.clicked, np.float64),
        read_only(units, np.int64),
        n_units,
        read_only(examination, np.float64),
    )
    return wins


@kernel
def _count_weighed(
    offsets: Integers,
    slots: Integers,
    shown: Floats,
    clicked: Floats,
    units: Integers,
    n_units: int,
    examination: Floats,
) -> Floats:
    n_positions = len(examination)
    wins = np.zeros((n_units, n_positions, n_positions))
    for pair in range(len(units)):
        begin, end = offsets[pair], offsets[pair + 1]
        # With two positions there is no third one.
        if end - begin < 3:
            continue
        clicks, seen = 0.0, 0.0
        for cell in range(begin, end):
            clicks += clicked[cell]
            seen += shown[cell] * examination[slots[cell]]
        for one in range(begin, end):
            if clicked[one] == 0:
                continue
            for other in range(begin, end):
                if other == one:
                    continue
                elsewhere = clicks - clicked[one] - clicked[other]
                possible = seen - shown[one] * examination[slots[one]]
                possible -= shown[other] * examination[slots[other]]
                if elsewhere > 0:
                    share = shown[other] / (shown[one] + shown[other])
                    weight = elsewhere / possible
                    wins[units[pair], slots[one], slots[other]] += clicked[one] * share * weight
    return wins


def comparable(wins: Floats) -> Flags:
    """The positions that chains of clicks connect with the first one, in both directions.

    Only these have a finite estimate beside the first [1]_.

    Parameters
    ----------
    wins : ndarray of shape (n_positions, n_positions)

    References
    ----------
    .. [1] Ford. Solution of a Ranking Problem from Binary Comparisons. American Mathematical
       Monthly 64, 1957.

    Examples
    --------
    >>> comparable(np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    array([ True,  True, False])
    """
    beats = (wins > 0) | np.eye(len(wins), dtype=np.bool_)
    for _ in range(len(wins).bit_length()):
        beats = beats @ beats
    both: Flags = beats[0] & beats[:, 0]
    return both


def strengths(wins: Floats, everything: Floats | None = None) -> Floats:
    """The logarithm of each position's examination, by which it wins such duels; 0 for the first.

    With w[j, k] the wins of j over k, it maximises the likelihood of Bradley and Terry,

        sum over j and k of w[j, k] log(p[j] / (p[j] + p[k])),

    by Newton's method, for many sets of duels at once.

    Parameters
    ----------
    wins : ndarray of shape (n_sets, n_positions, n_positions)
        Between positions that are all `comparable`.
    everything : ndarray of shape (n_positions, n_positions), optional
        All duels. The sets are drawn from them.

    Examples
    --------
    >>> np.exp(strengths(np.array([[[0.0, 4.0], [1.0, 0.0]]]))).round(6)
    array([[1.  , 0.25]])
    """
    if everything is not None:
        wins = wins + _SHARE_OF_ALL * everything
    theta = np.zeros(wins.shape[:2])
    if wins.shape[1] == 1:
        return theta
    floor = 1e-12 * wins.sum(axis=(1, 2))[:, None, None] * np.eye(wins.shape[1] - 1)
    for _ in range(_MAX_STEPS):
        gradient, curvature = duel_derivatives(wins, theta)
        # Far from the maximum a curvature may be 0 after rounding.
        raised = curvature[:, 1:, 1:] + floor
        step = np.linalg.solve(raised, gradient[:, 1:, None])[:, :, 0]
        largest = np.abs(step).max(axis=1, keepdims=True)
        theta[:, 1:] += step * np.minimum(1, _MAX_CHANGE / np.maximum(largest, 1e-300))
        if largest.max() < 1e-10:
            break
    return theta


def duel_derivatives(wins: Floats, theta: Floats) -> tuple[Floats, Floats]:
    """The gradient of the likelihood by the logarithms, and minus its second derivatives.

    Parameters
    ----------
    wins : ndarray of shape (n_sets, n_positions, n_positions)
    theta : ndarray of shape (n_sets, n_positions), or one of its rows
    """
    duels = wins + wins.swapaxes(-1, -2)
    chances = 1 / (1 + np.exp(theta[..., None, :] - theta[..., :, None]))
    gradient = (wins - duels * chances).sum(axis=-1)
    between = duels * chances * (1 - chances)
    curvature = -between
    diagonal = np.arange(wins.shape[-1])
    curvature[..., diagonal, diagonal] += between.sum(axis=-1)
    return gradient, curvature
