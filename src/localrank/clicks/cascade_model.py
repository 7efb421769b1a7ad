"""The cascade model."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.clicks._chain_model import ChainModel
from localrank.clicks._shares import shrunk
from localrank.data.click_log import ClickLog


class CascadeModel(ChainModel):
    """People read down to the first document that attracts them, click it, and stop [1]_.

    With r_i the relevance of the document at position i,

        P(click at k) = r_k (1 - r_1) ... (1 - r_(k-1)).

    A second click in a list is impossible. Relevance is the share of clicks among the impressions
    down to the first click of each list, which is its maximum-likelihood estimate.

    Parameters
    ----------
    smoothing : float, default=2
        Relevance is estimated as if each document had been examined this many times more, with the
        click rate of the first position. 0: maximum likelihood.

    Attributes
    ----------
    relevance_ : ndarray of shape (n_pairs,)

    References
    ----------
    .. [1] Craswell, Zoeter, Taylor, Ramsey. An Experimental Comparison of Click Position-Bias
       Models. WSDM 2008.

    Examples
    --------
    >>> from localrank.clicks import ClickLog
    >>> log = ClickLog.from_sessions(["tea"] * 4, [["a", "b"]] * 4, [[0], [1], [], []])
    >>> CascadeModel(smoothing=0).fit(log).relevance_.round(3)
    array([0.25 , 0.333])
    """

    def __init__(self, *, smoothing: float = 2) -> None:
        self.smoothing = smoothing

    def _fit(self, log: ClickLog) -> None:
        so_far: Integers = np.cumsum(log.clicks)
        before_session: Integers = so_far[log.offsets[:-1]] - log.clicks[log.offsets[:-1]]
        above: Integers = so_far - log.clicks - np.repeat(before_session, log.session_sizes)
        read = above == 0
        examined = np.bincount(log.pairs[read], minlength=log.n_pairs)
        clicked = np.bincount(log.pairs[read & log.clicks], minlength=log.n_pairs)
        self.relevance_ = shrunk(clicked, examined, self.prior_, self.smoothing)

    def _chain(self, log: ClickLog, pairs: Integers) -> tuple[Integers, Floats, float]:
        return np.zeros_like(pairs), np.ones(1), 1.0
