"""The user browsing model."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._base.rules import Rules, number, whole
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.clicks._slot_em import cells_of, slot_estimates
from localrank.clicks.click_model import ClickModel
from localrank.data.click_log import ClickLog


class UserBrowsingModel(ClickModel):
    """A position is examined depending on where the last click above it was [1]_.

    With e_kj the examination of position k after a click at position j (0: after none), and r the
    relevance of a document for a query,

        P(click | clicks above) = e_kj r,    e_10 = 1.

    The parameters have the largest likelihood, found by expectation-maximisation.

    Parameters
    ----------
    smoothing : float, default=2
        Every probability is estimated as if it had this many more trials, with the average result.
        0: maximum likelihood.
    max_iter : int, default=500
        At most this many passes over the log.
    tol : float, default=1e-8
        Stop when a pass gains less log-likelihood than this per impression.

    Attributes
    ----------
    examination_ : ndarray of shape (n_positions, n_positions)
        A row for each position. The first column is for lists without a click above it, column j
        for those whose last click was at position j, counted from 1. NaN: the last click cannot be
        there.
    relevance_ : ndarray of shape (n_pairs,)
    objectives_ : ndarray
        The log-likelihood after each pass, with that of the priors.

    References
    ----------
    .. [1] Dupret, Piwowarski. A User Browsing Model to Predict Search Engine Click Data from Past
       Observations. SIGIR 2008.

    Examples
    --------
    >>> from localrank.clicks import ClickLog
    >>> log = ClickLog.from_sessions(
    ...     ["tea"] * 40, [["a", "b"]] * 20 + [["b", "a"]] * 20, [[0, 1], []] * 20
    ... )
    >>> UserBrowsingModel(smoothing=0).fit(log).examination_.round(2)
    array([[ 1., nan],
           [ 0.,  1.]])
    """

    _parameters: ClassVar[Rules] = {"max_iter": whole(2), "tol": number(least=0)}

    def __init__(self, *, smoothing: float = 2, max_iter: int = 500, tol: float = 1e-8) -> None:
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, log: ClickLog) -> None:
        n_slots = self.n_positions_ * (self.n_positions_ + 1) // 2
        estimates = slot_estimates(
            cells_of(log.pairs, self._slots(log), log.clicks, log.n_pairs, n_slots),
            certain=np.arange(n_slots) == 0,
            clean=None,
            prior=self.prior_,
            smoothing=self.smoothing,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self.examination_ = np.full((self.n_positions_, self.n_positions_), np.nan)
        self.examination_[np.tril_indices(self.n_positions_)] = estimates.hit
        self.relevance_, self.objectives_ = estimates.relevance, estimates.objectives

    def _by_slot(self) -> Floats:
        return self.examination_[np.tril_indices(self.n_positions_)]

    def _slots(self, log: ClickLog) -> Integers:
        slots: Integers = _slots_of(
            read_only(log.offsets, np.int64), read_only(log.clicks, np.bool_), self.n_positions_
        )
        return slots

    def _examination(self, log: ClickLog, pairs: Integers) -> Floats:
        return self._by_slot()[self._slots(log)]

    def _click_probabilities(self, log: ClickLog, pairs: Integers, *, conditional: bool) -> Floats:
        relevance = self._with_prior(self.relevance_)[pairs]
        if conditional:
            return relevance * self._examination(log, pairs)
        clicked: Floats = _clicked(
            read_only(log.offsets, np.int64),
            read_only(relevance, np.float64),
            read_only(self._by_slot(), np.float64),
            self.n_positions_,
        )
        return clicked


@kernel
def _slots_of(offsets: Integers, clicks: Flags, n_positions: int) -> Integers:
    """The slot of each impression: row by row of a triangle, a row for each position."""
    slots = np.empty(len(clicks), np.int64)
    for session in range(len(offsets) - 1):
        last = 0
        for i in range(offsets[session], offsets[session + 1]):
            place = i - offsets[session]
            row = min(place, n_positions - 1)
            slots[i] = row * (row + 1) // 2 + min(last, row)
            if clicks[i]:
                last = place + 1
    return slots


@kernel
def _clicked(offsets: Integers, relevance: Floats, examination: Floats, n_positions: int) -> Floats:
    """The probability of each click, over all that may have been clicked above."""
    clicked = np.empty(len(relevance), np.float64)
    longest = 0
    for session in range(len(offsets) - 1):
        longest = max(longest, offsets[session + 1] - offsets[session])
    # The probability of each position of the last click so far, counted from 1; first: no click.
    last = np.empty(longest + 1, np.float64)
    for session in range(len(offsets) - 1):
        begin = offsets[session]
        last[0] = 1
        for i in range(begin, offsets[session + 1]):
            place = i - begin
            row = min(place, n_positions - 1)
            total = 0.0
            for above in range(place + 1):
                slot = row * (row + 1) // 2 + min(above, row)
                click = last[above] * examination[slot] * relevance[i]
                last[above] -= click
                total += click
            last[place + 1] = total
            clicked[i] = total
    return clicked
