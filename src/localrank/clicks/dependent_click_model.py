"""The dependent click model."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.rules import Rules, number, one_of, whole
from localrank.clicks._chain_model import ChainModel, chain_estimates, clicks_below, last_clicks
from localrank.clicks._shares import shrunk
from localrank.data.click_log import ClickLog


class DependentClickModel(ChainModel):
    """People read down, and after a click go on or stop, depending on its position [1]_.

    A document of relevance r that is examined is clicked with probability r. Without a click people
    examine the next one. After a click at position k they do so with probability
    `continuation_[k]`.

    Parameters
    ----------
    method : {"em", "counts"}, default="em"
        "em": maximum likelihood, by expectation-maximisation. "counts": the paper's estimate. It
        assumes that people stop at their last click, and read the whole list if they click nothing.
        It takes one pass.
    smoothing : float, default=2
        Every probability is estimated as if it had this many more trials, with the average result.
        0: none.
    max_iter : int, default=500
        At most this many passes over the log.
    tol : float, default=1e-8
        Stop when a pass gains less log-likelihood than this per impression.

    Attributes
    ----------
    relevance_ : ndarray of shape (n_pairs,)
    continuation_ : ndarray of shape (n_positions,)
        The probability to go on after a click at each position.
    objectives_ : ndarray
        With "em": the log-likelihood after each pass, with that of the priors.

    References
    ----------
    .. [1] Guo, Liu, Wang. Efficient Multiple-Click Models in Web Search. WSDM 2009.

    Examples
    --------
    >>> from localrank.clicks import ClickLog
    >>> log = ClickLog.from_sessions(["tea"] * 4, [["a", "b"]] * 4, [[0], [0, 1], [0, 1], [1]])
    >>> model = DependentClickModel(method="counts", smoothing=0).fit(log)
    >>> model.relevance_, model.continuation_.round(3)
    (array([0.75, 1.  ]), array([0.667, 0.   ]))
    """

    _parameters: ClassVar[Rules] = {
        "method": one_of("em", "counts"),
        "max_iter": whole(2),
        "tol": number(least=0),
    }

    def __init__(
        self,
        method: Literal["em", "counts"] = "em",
        *,
        smoothing: float = 2,
        max_iter: int = 500,
        tol: float = 1e-8,
    ) -> None:
        self.method = method
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, log: ClickLog) -> None:
        if self.method == "counts":
            self._count(log)
            return
        self.relevance_, satisfaction, _, _, self.objectives_ = chain_estimates(
            log,
            log.positions,
            self.n_positions_,
            1.0,
            prior=self.prior_,
            smoothing=self.smoothing,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self.continuation_ = 1 - satisfaction

    def _count(self, log: ClickLog) -> None:
        """Estimate as if the last click had been a satisfied one."""
        below, last = clicks_below(log), last_clicks(log)
        any_click = np.repeat(
            np.logical_or.reduceat(log.clicks, log.offsets[:-1]), log.session_sizes
        )
        read = (below > 0) | last | ~any_click
        examined = np.bincount(log.pairs[read], minlength=log.n_pairs)
        clicked = np.bincount(log.pairs[log.clicks], minlength=log.n_pairs)
        self.relevance_ = shrunk(clicked, examined, self.prior_, self.smoothing)
        goes_on = np.bincount(log.positions[log.clicks & ~last], minlength=self.n_positions_)
        tried = np.bincount(log.positions[log.clicks], minlength=self.n_positions_)
        mean = float(goes_on.sum() / tried.sum())
        self.continuation_ = shrunk(goes_on, tried, mean, self.smoothing)

    def _chain(self, log: ClickLog, pairs: Integers) -> tuple[Integers, Floats, float]:
        return self._places(log), 1 - self.continuation_, 1.0
