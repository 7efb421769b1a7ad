"""Expectation-maximisation where a click depends on relevance and on the slot of the impression.

A slot is what decides how likely people are to look and to click, whatever the document is: a
position, a position in a group of sessions, or a position and that of the click above. A relevant
document is clicked with the slot's probability `hit`, any other one with its probability `miss`.
With `miss` = 0 it is examination times relevance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.clicks._maximisation import maximise
from localrank.clicks._shares import prior_logarithm, shrunk


@dataclass(frozen=True, eq=False)
class Cells:
    """Impressions counted by pair and slot: all that these models need to know of a log.

    Attributes
    ----------
    offsets : ndarray of shape (n_pairs + 1,)
        The cells of pair `i` are `offsets[i]` to `offsets[i + 1]`.
    slots : ndarray of shape (n_cells,)
    shown, clicked : ndarray of shape (n_cells,)
        Impressions, and those with a click.
    n_slots : int
    """

    offsets: Integers
    slots: Integers
    shown: Floats
    clicked: Floats
    n_slots: int


def cells_of(pairs: Integers, slots: Integers, clicks: Flags, n_pairs: int, n_slots: int) -> Cells:
    """Count impressions by pair and slot.

    Examples
    --------
    >>> cells = cells_of(np.array([1, 0, 1, 1]), np.array([0, 1, 1, 0]), np.array([1, 0, 0, 0]),
    ...                  n_pairs=2, n_slots=2)
    >>> cells.offsets, cells.slots, cells.shown, cells.clicked
    (array([0, 1, 3]), array([1, 0, 1]), array([1., 2., 1.]), array([0., 1., 0.]))
    """
    offsets, places, shown, clicked = _count(
        read_only(pairs, np.int64),
        read_only(slots, np.int64),
        read_only(clicks, np.bool_),
        n_pairs,
        n_slots,
    )
    return Cells(offsets, places, shown, clicked, n_slots)


@dataclass(frozen=True, eq=False)
class SlotEstimates:
    """What a log says of pairs and slots.

    Attributes
    ----------
    relevance : ndarray of shape (n_pairs,)
    hit, miss : ndarray of shape (n_slots,)
    objectives : ndarray
        The log-likelihood with that of the priors, after each pass.
    """

    relevance: Floats
    hit: Floats
    miss: Floats
    objectives: Floats


def slot_estimates(
    cells: Cells,
    *,
    certain: Flags,
    clean: Flags | None,
    prior: float,
    smoothing: float,
    max_iter: int,
    tol: float,
) -> SlotEstimates:
    """Estimate relevance by pair, and the click probabilities by slot.

    Parameters
    ----------
    cells : Cells
    certain : ndarray of bool of shape (n_slots,)
        The slots whose `hit` is 1. One at least: they set the scale of relevance.
    clean : ndarray of bool of shape (n_slots,) or None
        The slots whose `miss` is 0. None: all.
    prior : float
        The relevance of a pair that nothing is known of.
    smoothing : float
        The number of impressions that are added to each pair and each slot, with as many clicks as
        average ones have.
    max_iter : int
    tol : float
        Stop when a pass over the log gains less than this, per impression.
    """
    n_pairs, n_slots = len(cells.offsets) - 1, cells.n_slots
    pairs = np.repeat(np.arange(n_pairs), np.diff(cells.offsets))
    shown = np.bincount(pairs, cells.shown, n_pairs)
    slot_shown = np.bincount(cells.slots, cells.shown, n_slots)
    slot_clicked = np.bincount(cells.slots, cells.clicked, n_slots)
    # What a slot is like that nothing is known of, if all documents were alike.
    average = min(float(slot_clicked.sum() / slot_shown.sum()) / prior, 1.0)
    free, trusting = ~certain, np.zeros(n_slots, np.bool_) if clean is None else ~clean
    n_free = int(free.sum())
    relevant, relevant_shown, relevant_clicked = (np.empty(n) for n in (n_pairs, n_slots, n_slots))

    def split(values: Floats) -> tuple[Floats, Floats, Floats]:
        hit, miss = np.ones(n_slots), np.zeros(n_slots)
        hit[free] = values[n_pairs : n_pairs + n_free]
        miss[trusting] = values[n_pairs + n_free :]
        return values[:n_pairs], hit, miss

    def step(values: Floats) -> tuple[float, Floats]:
        relevance, hit, miss = split(values)
        objective = expectations(
            read_only(cells.offsets, np.int64),
            read_only(cells.slots, np.int64),
            read_only(cells.shown, np.float64),
            read_only(cells.clicked, np.float64),
            read_only(relevance, np.float64),
            read_only(hit, np.float64),
            read_only(miss, np.float64),
            relevant,
            relevant_shown,
            relevant_clicked,
        )
        of_pairs, of_free, of_trusting = np.split(values, [n_pairs, n_pairs + n_free])
        objective += prior_logarithm(of_pairs, prior, smoothing)
        objective += prior_logarithm(of_free, average, smoothing)
        objective += prior_logarithm(of_trusting, 0.0, smoothing)
        relevance = shrunk(relevant, shown, prior, smoothing)
        hit = shrunk(relevant_clicked, relevant_shown, average, smoothing)
        miss = shrunk(slot_clicked - relevant_clicked, slot_shown - relevant_shown, 0.0, smoothing)
        return objective, np.concatenate([relevance, hit[free], miss[trusting]])

    naive = np.clip(shrunk(slot_clicked, slot_shown, prior * average, 1.0) / prior, 0.01, 0.99)
    start = [np.full(n_pairs, prior), naive[free], naive[trusting] / 4]
    values, objectives = maximise(
        step, np.concatenate(start), max_iter=max_iter, tol=tol * float(slot_shown.sum())
    )
    return SlotEstimates(*split(values), objectives)


@kernel
def _count(
    pairs: Integers, slots: Integers, clicks: Flags, n_pairs: int, n_slots: int
) -> tuple[Integers, Integers, Floats, Floats]:
    n = len(pairs)
    # Impressions by pair, in two passes.
    begins = np.zeros(n_pairs + 1, np.int64)
    for i in range(n):
        begins[pairs[i] + 1] += 1
    for pair in range(n_pairs):
        begins[pair + 1] += begins[pair]
    # Twice the slot, and 1 for a click.
    codes = np.empty(n, np.int64)
    free = begins[:-1].copy()
    for i in range(n):
        codes[free[pairs[i]]] = 2 * slots[i] + clicks[i]
        free[pairs[i]] += 1

    offsets = np.zeros(n_pairs + 1, np.int64)
    places = np.empty(n, np.int64)
    shown, clicked = np.empty(n, np.float64), np.empty(n, np.float64)
    of_shown, of_clicked = np.zeros(n_slots, np.int64), np.zeros(n_slots, np.int64)
    n_cells = 0
    for pair in range(n_pairs):
        first = n_cells
        for i in range(begins[pair], begins[pair + 1]):
            slot = codes[i] >> 1
            if of_shown[slot] == 0:
                places[n_cells] = slot
                n_cells += 1
            of_shown[slot] += 1
            of_clicked[slot] += codes[i] & 1
        places[first:n_cells].sort()
        for cell in range(first, n_cells):
            slot = places[cell]
            shown[cell], clicked[cell] = of_shown[slot], of_clicked[slot]
            of_shown[slot] = of_clicked[slot] = 0
        offsets[pair + 1] = n_cells
    return offsets, places[:n_cells].copy(), shown[:n_cells].copy(), clicked[:n_cells].copy()


@kernel
def expectations(
    offsets: Integers,
    slots: Integers,
    shown: Floats,
    clicked: Floats,
    relevance: Floats,
    hit: Floats,
    miss: Floats,
    relevant: Floats,
    relevant_shown: Floats,
    relevant_clicked: Floats,
) -> float:
    """Expected impressions of relevant documents, by pair and by slot; returns the log-likelihood.

    Fills `relevant` by pair, and `relevant_shown` and `relevant_clicked` by slot.
    """
    relevant_shown[:] = 0
    relevant_clicked[:] = 0
    total = 0.0
    for pair in range(len(offsets) - 1):
        share = relevance[pair]
        expected = 0.0
        for cell in range(offsets[pair], offsets[pair + 1]):
            slot = slots[cell]
            with_click, without = clicked[cell], shown[cell] - clicked[cell]
            both = hit[slot] * share
            click = both + miss[slot] * (1 - share)
            if with_click > 0:
                total += with_click * np.log(max(click, 1e-300))
                with_click *= both / max(click, 1e-300)
                relevant_clicked[slot] += with_click
            if without > 0:
                total += without * np.log(max(1 - click, 1e-300))
                without *= (share - both) / max(1 - click, 1e-300)
            relevant_shown[slot] += with_click + without
            expected += with_click + without
        relevant[pair] = expected
    return total
