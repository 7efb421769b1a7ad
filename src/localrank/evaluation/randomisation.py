"""The randomisation test: exchange the values of two methods at random."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Floats

# Sums of eight signed differences that are looked up at once, 8 bytes each.
_LOOKUPS = 2**21


def sign_flip_p_value(differences: Floats, n_resamples: int, random_state: int | None) -> float:
    """Two-sided p-value of the mean of paired differences, by exchanging the two of a pair.

    It is the share of sign patterns whose sum is at least as far from zero as the sum of the
    differences. Zeros have no sign. If there are at most `n_resamples` patterns, all are counted.
    Otherwise `n_resamples` are drawn, and the given pattern counts as one more.

    Examples
    --------
    >>> sign_flip_p_value(np.array([1.0, 2.0, 0.0, 4.0]), 1000, None)
    0.25
    """
    # The bits of a byte are the signs of eight differences, whose 256 sums are tabulated.
    differences = differences[differences != 0]
    exact = 2 ** len(differences) <= n_resamples
    n_patterns = 2 ** len(differences) if exact else n_resamples
    eights = np.resize(differences, (-(-len(differences) // 8), 8))
    eights.flat[len(differences) :] = 0.0
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    sums_of_eight = eights @ (1.0 - 2.0 * bits.T)
    n_bytes = len(eights)
    # Patterns with the same sum must not be told apart by rounding.
    threshold = abs(differences.sum()) - 1e-12 * np.abs(differences).sum()
    rng = np.random.default_rng(random_state)
    n_extreme = 0
    step = max(1, _LOOKUPS // max(1, n_bytes))
    for begin in range(0, n_patterns, step):
        n_rows = min(step, n_patterns - begin)
        if exact:
            counter = np.arange(begin, begin + n_rows, dtype="<u8")
            patterns = counter.view(np.uint8).reshape(n_rows, 8)[:, :n_bytes]
        else:
            patterns = rng.integers(256, size=(n_rows, n_bytes), dtype=np.uint8)
        sums = sums_of_eight[np.arange(n_bytes), patterns].sum(axis=1)
        n_extreme += int((np.abs(sums) >= threshold).sum())
    return n_extreme / n_patterns if exact else (n_extreme + 1) / (n_patterns + 1)
