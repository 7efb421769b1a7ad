"""Iterations of expectation-maximisation, accelerated and never downhill."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from localrank._base.arrays import Floats

# An extrapolation keeps at least this share of a probability's distances to 0 and to 1: it could
# not come back from there.
_KEPT = 0.2

Step = Callable[[Floats], tuple[float, Floats]]


def maximise(step: Step, start: Floats, *, max_iter: int, tol: float) -> tuple[Floats, Floats]:
    """Iterate until a pass gains little; returns probabilities and the objective of each pass.

    Two steps of expectation-maximisation tell where a sequence of them leads. It goes there at once
    (SQUAREM [1]_), and comes back where that is downhill.

    Parameters
    ----------
    step : callable
        From probabilities to the objective there, and to what one iteration makes of them.
    start : ndarray
        Probabilities to begin with.
    max_iter : int
        At most this many calls of `step`.
    tol : float
        Stop when two steps gain no more than this.

    Returns
    -------
    probabilities : ndarray
    objectives : ndarray
        They never decrease.

    References
    ----------
    .. [1] Varadhan, Roland. Simple and Globally Convergent Methods for Accelerating the Convergence
       of Any EM Algorithm. Scandinavian Journal of Statistics 35, 2008.

    Examples
    --------
    >>> def halfway(x):
    ...     return -float(((x - 0.3) ** 2).sum()), (x + 0.3) / 2
    >>> maximise(halfway, np.array([0.9]), max_iter=20, tol=1e-12)[0].round(6)
    array([0.3])
    """
    objectives: list[float] = []
    here, safe = start, start
    while len(objectives) < max_iter:
        objective, once = step(here)
        if objectives and objective < objectives[-1]:
            here = safe
            objective, once = step(here)
        objectives.append(objective)
        objective, twice = step(once)
        gained = objective - objectives[-1]
        objectives.append(objective)
        safe = twice
        if gained <= tol:
            break
        here = _extrapolated(here, once, twice)
    return safe, np.array(objectives)


def _extrapolated(before: Floats, once: Floats, twice: Floats) -> Floats:
    first, change = once - before, twice - 2 * once + before
    curvature = float(np.sqrt((change**2).sum()))
    if curvature == 0:
        return twice
    length = max(float(np.sqrt((first**2).sum())) / curvature, 1.0)
    ahead = before + 2 * length * first + length**2 * change
    kept: Floats = np.clip(ahead, _KEPT * twice, 1 - _KEPT * (1 - twice))
    return kept
