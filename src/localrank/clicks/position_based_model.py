"""The position-based model."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.rules import Rules, number, whole
from localrank.clicks._slot_em import cells_of, slot_estimates
from localrank.clicks.click_model import ClickModel
from localrank.data.click_log import ClickLog


class PositionBasedModel(ClickModel):
    """A document is clicked if its position is examined and it is relevant [1]_ [2]_.

    With e_k the examination of position k, and r the relevance of a document for a query,

        P(click) = e_k r,    e_1 = 1.

    Clicks of a list do not depend on each other. The parameters have the largest likelihood, found
    by expectation-maximisation.

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
    examination_ : ndarray of shape (n_positions,)
        The probability that each position is examined; 1 at the first.
    relevance_ : ndarray of shape (n_pairs,)
    objectives_ : ndarray
        The log-likelihood after each pass, with that of the priors.

    References
    ----------
    .. [1] Craswell, Zoeter, Taylor, Ramsey. An Experimental Comparison of Click Position-Bias
       Models. WSDM 2008.
    .. [2] Chuklin, Markov, de Rijke. Click Models for Web Search. Morgan & Claypool 2015.

    Examples
    --------
    >>> from localrank.clicks import ClickLog
    >>> log = ClickLog.from_sessions(
    ...     ["tea"] * 40, [["a", "b"]] * 20 + [["b", "a"]] * 20,
    ...     [[0]] * 8 + [[1]] * 2 + [[]] * 10 + [[0]] * 4 + [[1]] * 4 + [[]] * 12,
    ... )
    >>> model = PositionBasedModel(smoothing=0).fit(log)
    >>> model.examination_.round(3), model.relevance_.round(3)
    (array([1. , 0.5]), array([0.4, 0.2]))
    """

    _parameters: ClassVar[Rules] = {"max_iter": whole(2), "tol": number(least=0)}

    def __init__(self, *, smoothing: float = 2, max_iter: int = 500, tol: float = 1e-8) -> None:
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, log: ClickLog) -> None:
        first = np.arange(self.n_positions_) == 0
        estimates = slot_estimates(
            cells_of(log.pairs, log.positions, log.clicks, log.n_pairs, self.n_positions_),
            certain=first,
            clean=None,
            prior=self.prior_,
            smoothing=self.smoothing,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self.examination_ = estimates.hit
        self.relevance_, self.objectives_ = estimates.relevance, estimates.objectives

    def _examination(self, log: ClickLog, pairs: Integers) -> Floats:
        return self.examination_[self._places(log)]

    def _click_probabilities(self, log: ClickLog, pairs: Integers, *, conditional: bool) -> Floats:
        return self._with_prior(self.relevance_)[pairs] * self._examination(log, pairs)
