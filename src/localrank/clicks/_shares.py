"""Shares of successes, drawn to a mean where there are few trials."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Array, Floats


def shrunk(successes: Array, trials: Array, mean: float, strength: float) -> Floats:
    """Shares of successes as if `strength` more trials had gone as the mean does.

    Examples
    --------
    >>> shrunk(np.array([0.0, 3.0]), np.array([0.0, 3.0]), 0.5, 1.0)
    array([0.5  , 0.875])
    """
    more = np.where(trials + strength > 0, strength, 1.0)
    shares: Floats = (successes + more * mean) / (trials + more)
    return shares


def prior_logarithm(shares: Floats, mean: float, strength: float) -> float:
    """What the trials of `shrunk` add to the log-likelihood.

    Examples
    --------
    >>> round(prior_logarithm(np.array([0.5]), 0.5, 2.0), 4)
    -1.3863
    """
    if strength == 0:
        return 0.0
    inside = np.clip(shares, 1e-300, 1 - 1e-16)
    return float(strength * (mean * np.log(inside) + (1 - mean) * np.log1p(-inside)).sum())
