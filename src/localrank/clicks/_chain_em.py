"""Expectation-maximisation where people read from the top and stop: one pass over the sessions.

The first document is examined. One that is examined is clicked with the probability of its pair,
`attraction`. After a click people stop satisfied with the probability of the click's *stop*, which
is its position or its pair. Whoever is not satisfied goes on with probability `continuation`, and
whoever has stopped never comes back.
"""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._kernels.compilation import inner_kernel, kernel


@kernel
def chain_expectations(
    offsets: Integers,
    pairs: Integers,
    stops: Integers,
    clicks: Flags,
    attraction: Floats,
    satisfaction: Floats,
    continuation: float,
    examined: Floats,
    satisfied: Floats,
    continued: Floats,
) -> float:
    """Expected examinations and stops given all clicks; returns the log-likelihood.

    Fills `examined` by pair, `satisfied` by stop, and `continued` with how often people, not
    satisfied, could have gone on to a next document, and how often they did.
    """
    examined[:] = 0
    satisfied[:] = 0
    continued[:] = 0
    total = 0.0
    longest = 0
    for session in range(len(offsets) - 1):
        longest = max(longest, offsets[session + 1] - offsets[session])
    # The probability of no click from here on, if this document is examined.
    silent = np.ones(longest + 1)
    for session in range(len(offsets) - 1):
        begin, end = offsets[session], offsets[session + 1]
        last = last_click(clicks, begin, end)
        _fill_silent(silent, pairs, attraction, continuation, last + 1, end)
        total += _until_last_click(
            pairs, stops, clicks, attraction, satisfaction, continuation, begin, last, examined,
            continued,
        )  # fmt: skip
        here = 1.0
        if last >= begin:
            if last + 1 == end:
                continue
            goes_on = continuation * silent[0]
            unsatisfied = (1 - satisfaction[stops[last]]) * (1 - continuation + goes_on)
            quiet = max(satisfaction[stops[last]] + unsatisfied, 1e-300)
            total += np.log(quiet)
            satisfied[stops[last]] += satisfaction[stops[last]] / quiet
            here = (1 - satisfaction[stops[last]]) * goes_on / quiet
            continued[0] += unsatisfied / quiet
            continued[1] += here
        else:
            total += np.log(max(silent[0], 1e-300))
        for i in range(last + 1, end):
            examined[pairs[i]] += here
            if i + 1 < end:
                continued[0] += here
                goes_on = continuation * silent[i - last]
                here *= goes_on / max(1 - continuation + goes_on, 1e-300)
                continued[1] += here
    return total


@inner_kernel
def last_click(clicks: Flags, begin: int, end: int) -> int:
    """The row of the last click of a session; `begin - 1` without one."""
    last = end - 1
    while last >= begin and not clicks[last]:
        last -= 1
    return last


@inner_kernel
def _fill_silent(
    silent: Floats,
    pairs: Integers,
    attraction: Floats,
    continuation: float,
    first: int,
    end: int,
) -> None:
    """The probability of no click from each row on, if it is examined; 1 behind the last."""
    silent[end - first] = 1
    for i in range(end - 1, first - 1, -1):
        goes_on = 1 - continuation + continuation * silent[i + 1 - first]
        silent[i - first] = (1 - attraction[pairs[i]]) * goes_on


@inner_kernel
def _until_last_click(
    pairs: Integers,
    stops: Integers,
    clicks: Flags,
    attraction: Floats,
    satisfaction: Floats,
    continuation: float,
    begin: int,
    last: int,
    examined: Floats,
    continued: Floats,
) -> float:
    """Count what is certain above the last click; returns its log-likelihood."""
    product = 1.0
    total = 0.0
    for i in range(begin, last + 1):
        attracts = attraction[pairs[i]]
        examined[pairs[i]] += 1
        product *= attracts if clicks[i] else 1 - attracts
        if i < last:
            if clicks[i]:
                product *= 1 - satisfaction[stops[i]]
            product *= continuation
            continued[0] += 1
            continued[1] += 1
        # A logarithm now and then: it takes longer than all else.
        if product < 1e-200:
            total += np.log(max(product, 1e-300))
            product = 1.0
    rest: float = np.log(max(product, 1e-300))
    return total + rest


@kernel
def chain_examination(
    offsets: Integers,
    pairs: Integers,
    stops: Integers,
    clicks: Flags,
    attraction: Floats,
    satisfaction: Floats,
    continuation: float,
    conditional: bool,
) -> Floats:
    """The probability that each impression was examined, given the clicks above it or not."""
    examination = np.empty(len(pairs), np.float64)
    for session in range(len(offsets) - 1):
        here = 1.0
        for i in range(offsets[session], offsets[session + 1]):
            examination[i] = here
            attracts, satisfies = attraction[pairs[i]], satisfaction[stops[i]]
            if not conditional:
                here *= 1 - attracts * satisfies
            elif clicks[i]:
                here = 1 - satisfies
            else:
                here *= (1 - attracts) / max(1 - here * attracts, 1e-300)
            here *= continuation
    return examination
