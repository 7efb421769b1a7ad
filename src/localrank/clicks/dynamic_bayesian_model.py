"""The model of a dynamic Bayesian network."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.rules import Rules, number, optional, whole
from localrank.clicks._chain_model import ChainModel, chain_estimates
from localrank.data.click_log import ClickLog


class DynamicBayesianModel(ChainModel):
    """People read down, click what attracts them, and stop where it satisfies them [1]_.

    A document that is examined is clicked with the probability r of its pair, which is how much its
    snippet attracts. After a click it satisfies with another probability s of the pair, and people
    stop. Whoever is not satisfied examines the next document with probability g. So

        P(next examined | examined) = g (1 - r s).

    The parameters have the largest likelihood, found by expectation-maximisation with all clicks of
    a session in view.

    Parameters
    ----------
    continuation : float or None, default=None
        The probability g. None: learned. 1: the simplified model, in which only the satisfied stop.
    smoothing : float, default=2
        Every probability of a pair is estimated as if it had this many more trials, with the
        average result. 0: maximum likelihood.
    max_iter : int, default=500
        At most this many passes over the log.
    tol : float, default=1e-8
        Stop when a pass gains less log-likelihood than this per impression.

    Attributes
    ----------
    relevance_ : ndarray of shape (n_pairs,)
        The attraction of each document, r.
    satisfaction_ : ndarray of shape (n_pairs,)
        The satisfaction after a click, s. Chapelle and Zhang rank by r s.
    continuation_ : float
    objectives_ : ndarray
        The log-likelihood after each pass, with that of the priors.

    References
    ----------
    .. [1] Chapelle, Zhang. A Dynamic Bayesian Network Click Model for Web Search Ranking. WWW
       2009.

    Examples
    --------
    >>> from localrank.clicks import ClickLog
    >>> log = ClickLog.from_sessions(["tea"] * 4, [["a", "b"]] * 4, [[0], [0, 1], [0, 1], [1]])
    >>> model = DynamicBayesianModel(continuation=1, smoothing=0).fit(log)
    >>> model.relevance_.round(2), model.satisfaction_.round(2)
    (array([0.75, 1.  ]), array([0.33, 0.38]))
    """

    _parameters: ClassVar[Rules] = {
        "continuation": optional(number(least=0, most=1)),
        "max_iter": whole(2),
        "tol": number(least=0),
    }

    def __init__(
        self,
        continuation: float | None = None,
        *,
        smoothing: float = 2,
        max_iter: int = 500,
        tol: float = 1e-8,
    ) -> None:
        self.continuation = continuation
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, log: ClickLog) -> None:
        (
            self.relevance_,
            self.satisfaction_,
            self.satisfaction_prior_,
            self.continuation_,
            self.objectives_,
        ) = chain_estimates(
            log,
            log.pairs,
            log.n_pairs,
            None if self.continuation is None else float(self.continuation),
            prior=self.prior_,
            smoothing=self.smoothing,
            max_iter=self.max_iter,
            tol=self.tol,
        )

    def _chain(self, log: ClickLog, pairs: Integers) -> tuple[Integers, Floats, float]:
        satisfaction = np.append(self.satisfaction_, self.satisfaction_prior_)
        return pairs, satisfaction, self.continuation_
