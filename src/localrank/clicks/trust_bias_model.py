"""The model of trust bias."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.rules import Rules, number, whole
from localrank.clicks._slot_em import cells_of, slot_estimates
from localrank.clicks.click_model import ClickModel
from localrank.data.click_log import ClickLog


class TrustBiasModel(ClickModel):
    """A position is examined, and what is shown high up is clicked even if it is not relevant [1]_.

    With e_k the examination of position k, r the relevance of a document for a query, and t_k the
    trust in position k,

        P(click) = e_k (r + t_k (1 - r)),    e_1 = 1,    t_K = 0 at the last position K.

    Parameters
    ----------
    smoothing : float, default=2
        Every probability is estimated as if it had this many more trials, with the average result.
        For trust, the added trials have no click. 0: maximum likelihood.
    max_iter : int, default=500
        At most this many passes over the log.
    tol : float, default=1e-8
        Stop when a pass gains less log-likelihood than this per impression.

    Attributes
    ----------
    examination_ : ndarray of shape (n_positions,)
        The probability that a relevant document is clicked: that of examination, where the paper's
        epsilon+ is 1.
    trust_ : ndarray of shape (n_positions,)
        The paper's epsilon-, relative to epsilon+: how likely a document that is not relevant is
        clicked when it is examined.
    relevance_ : ndarray of shape (n_pairs,)
    objectives_ : ndarray
        The log-likelihood after each pass, with that of the priors.

    Notes
    -----
    The paper has P(click) = theta_k (epsilon+_k r + epsilon-_k (1 - r)). Clicks tell the products
    theta_k epsilon+_k and theta_k epsilon-_k only, and these only up to a scale and a shift of
    relevance. Here epsilon+ is 1, the first position sets the scale, and the last position the
    shift. The order of documents by relevance does not depend on that.

    References
    ----------
    .. [1] Agarwal, Wang, Li, Bendersky, Najork. Addressing Trust Bias for Unbiased
       Learning-to-Rank. WWW 2019.

    Examples
    --------
    >>> from localrank.clicks import TrustBehaviour, simulate_clicks
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(20, n_documents=(8, 8), random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> orders = {f"{i}": rng.normal(size=len(dataset.labels)) for i in range(8)}
    >>> log = simulate_clicks(dataset, orders, TrustBehaviour(trust=0.6), n_sessions=100_000)
    >>> trust = TrustBiasModel().fit(log).trust_
    >>> bool(trust[0] > 0.4), bool(trust[1] < 0.3), bool(trust[4] < 0.05)
    (True, True, True)
    """

    _parameters: ClassVar[Rules] = {"max_iter": whole(2), "tol": number(least=0)}

    def __init__(self, *, smoothing: float = 2, max_iter: int = 500, tol: float = 1e-8) -> None:
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, log: ClickLog) -> None:
        places = np.arange(self.n_positions_)
        estimates = slot_estimates(
            cells_of(log.pairs, log.positions, log.clicks, log.n_pairs, self.n_positions_),
            certain=places == 0,
            clean=places == self.n_positions_ - 1,
            prior=self.prior_,
            smoothing=self.smoothing,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self.examination_ = estimates.hit
        self.trust_ = estimates.miss / np.maximum(estimates.hit, 1e-300)
        self.relevance_, self.objectives_ = estimates.relevance, estimates.objectives

    def _examination(self, log: ClickLog, pairs: Integers) -> Floats:
        return self.examination_[self._places(log)]

    def _click_probabilities(self, log: ClickLog, pairs: Integers, *, conditional: bool) -> Floats:
        relevance = self._with_prior(self.relevance_)[pairs]
        trust = self.trust_[self._places(log)]
        return self._examination(log, pairs) * (relevance + trust * (1 - relevance))
