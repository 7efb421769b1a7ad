"""How far grades agree, and orders: kappa, alpha and tau, as formulas of arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localrank._base.arrays import Floats, Integers

# Numbers that are drawn at once, 8 bytes each.
_AT_ONCE = 2**22


def disagreement(grades: Floats, kind: str) -> Floats:
    """How much two grades disagree, for each pair of grades: 0 on the diagonal."""
    distances = np.abs(grades[:, None] - grades)
    if kind == "unweighted":
        return (distances > 0).astype(np.float64)
    return distances if kind == "linear" else distances**2


def kappa(tables: Floats, weights: Floats) -> Floats:
    """Weighted kappa of each table of counts, given as a row. NaN: chance leaves no disagreement.

    Examples
    --------
    >>> kappa(np.array([[4.0, 1, 1, 4]]), 1 - np.eye(2)).round(3)
    array([0.6])
    """
    k = len(weights)
    shares = tables.reshape(-1, k, k)
    shares = shares / shares.sum(axis=(1, 2), keepdims=True)
    seen = (shares * weights).sum(axis=(1, 2))
    chance = np.einsum("ri,ij,rj->r", shares.sum(axis=2), weights, shares.sum(axis=1))
    result: Floats = 1 - np.divide(
        seen, chance, out=np.full(len(shares), np.nan), where=chance > 1e-15
    )
    return result


def kappa_error(table: Integers, weights: Floats, value: float) -> float:
    """The large-sample standard error of Fleiss, Cohen and Everitt (1969)."""
    if np.isnan(value):
        return float("nan")
    n = table.sum()
    shares = table / n
    agreement = 1 - weights / weights.max()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    chance = float(rows @ agreement @ columns)
    means = (agreement @ columns)[:, None] + rows @ agreement
    spread = float((shares * (agreement - means * (1 - value)) ** 2).sum())
    spread -= (value - chance * (1 - value)) ** 2
    return float(np.sqrt(max(spread, 0.0) / n) / (1 - chance))


def resampled_sums(values: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Sums of the columns over as many rows, drawn with replacement, a row for each sample."""
    n = len(values)
    step = max(1, _AT_ONCE // n)
    shares = np.full(n, 1 / n)
    return np.concatenate(
        [
            rng.multinomial(n, shares, size=min(step, n_resamples - begin)) @ values
            for begin in range(0, n_resamples, step)
        ]
    )


def percentiles(drawn: Floats, confidence: float) -> tuple[float, float]:
    """The percentiles of the samples that have a value."""
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return np.nan, np.nan
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def krippendorff_alpha(grades: Floats) -> float:
    """Krippendorff's alpha by squared differences, of rows with two grades or more."""
    counts = (~np.isnan(grades)).sum(axis=1)
    grades, counts = grades[counts > 1], counts[counts > 1]
    if not len(grades):
        return float("nan")
    sums, squares = np.nansum(grades, axis=1), np.nansum(grades**2, axis=1)
    # Sums of squared differences over the ordered pairs of a document, and of all grades.
    n = counts.sum()
    seen = float((2 * (counts * squares - sums**2) / (counts - 1)).sum()) / n
    chance = 2 * (n * squares.sum() - sums.sum() ** 2) / (n * (n - 1))
    return float(1 - seen / chance) if chance > 1e-15 else float("nan")


def kendall_tau(a: Floats, b: Floats) -> Floats:
    """Kendall's tau-b between the rows of two arrays. NaN: all values of a row are equal.

    Examples
    --------
    >>> kendall_tau(np.array([[1.0, 2, 3]]), np.array([[1.0, 3, 2]])).round(3)
    array([0.333])
    """
    first, second = np.triu_indices(a.shape[1], 1)
    # Means that differ by rounding are equal.
    signs = [np.sign((x[:, first] - x[:, second]).round(12)) for x in (a, b)]
    ties = np.sqrt((signs[0] ** 2).sum(axis=1) * (signs[1] ** 2).sum(axis=1))
    concordant = (signs[0] * signs[1]).sum(axis=1)
    taus: Floats = np.divide(concordant, ties, out=np.full(len(a), np.nan), where=ties > 0)
    return taus


def tau_ap(a: Sequence[float] | Floats, b: Sequence[float] | Floats) -> float:
    """Correlation of two orders in which the top of the first counts more: tau_AP.

    Of the items above each item by `a`, it is the mean share that `b` has above it too, from -1 to
    1. Items that are tied by `b` are half above each other.

    Examples
    --------
    >>> round(tau_ap([3, 2, 1], [3, 1, 2]), 3), round(tau_ap([3, 2, 1], [2, 3, 1]), 3)
    (0.5, 0.0)
    """
    order = np.argsort(-np.asarray(a, dtype=np.float64), kind="stable")
    ranked = np.asarray(b, dtype=np.float64)[order]
    above = (1 + np.sign((ranked[:, None] - ranked).round(12))) / 2
    n = len(ranked)
    shares = np.triu(above, 1).sum(axis=0)[1:] / np.arange(1, n)
    return float(2 * shares.mean() - 1)
