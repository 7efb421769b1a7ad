"""Whether a conclusion depends on unjudged documents: the largest p between bounds, and words."""

from __future__ import annotations

import numpy as np
from scipy import stats

from localrank._base.arrays import Floats
from localrank.evaluation.significance import LEVEL, PairedTest, p_text


def largest_p_value(low: Floats, high: Floats) -> float:
    """An upper bound of the paired t-test's p over all differences between two bounds.

    It is 1 if the mean could be zero. Otherwise let Q be the sum of squares and S the sum of the
    n differences: t² = (n - 1) / (n Q / S² - 1), so the smallest t has the largest Q / S². For a
    number u, let -g be the largest Q - 2 u S within the bounds. If g > 0, then
    Q / S² <= (2 u S - g) / S² <= u² / g, the largest value over all S. To compute g, each
    difference is at its upper bound if the middle of its bounds is above u, and at its lower one
    otherwise. Between two middles Q and S do not change, so the best u there is Q / S, where the
    bound is reached, or one of the middles.

    Parameters
    ----------
    low, high : ndarray of shape (n_queries,)
        NaN: the query is left out.

    Examples
    --------
    >>> same = np.array([0.1, 0.3, 0.2, 0.4])
    >>> round(largest_p_value(same, same), 4), round(float(stats.ttest_1samp(same, 0).pvalue), 4)
    (0.0305, 0.0305)
    >>> largest_p_value(same - 0.3, same)
    1.0
    """
    counted = ~np.isnan(low)
    low, high = low[counted], high[counted]
    if high.sum() < 0:
        low, high = -high, -low
    n = len(low)
    if n < 2 or low.sum() <= 0:
        return 1.0
    middle = (low + high) / 2
    order = np.argsort(middle)
    low, high, middle = low[order], high[order], middle[order]
    # With the first j at the lower bound and the others at the upper one.
    S = (
        np.concatenate([[0.0], np.cumsum(low)])
        + high.sum()
        - np.concatenate([[0.0], np.cumsum(high)])
    )
    Q = np.concatenate([[0.0], np.cumsum(low**2)]) + (high**2).sum()
    Q -= np.concatenate([[0.0], np.cumsum(high**2)])
    inner = np.clip(Q / S, np.r_[-np.inf, middle], np.r_[middle, np.inf])
    denominators = 2 * inner * S - Q
    usable = (inner > 0) & (denominators > 0)
    if not usable.any():
        return 1.0
    ratio = float((inner[usable] ** 2 / denominators[usable]).min())
    spread = n * ratio - 1
    return float(2 * stats.t.sf(np.sqrt((n - 1) / spread), n - 1)) if spread > 1e-12 else 0.0


def verdict_on(
    name: str,
    baseline: str,
    tests: tuple[PairedTest, PairedTest, PairedTest | None, PairedTest | None],
    largest_p: float | None,
    exact: bool,
    n_unjudged: int,
) -> tuple[bool, str]:
    """Whether the conclusion depends on the unjudged documents, and the sentence."""
    judged, condensed, best, worst = tests
    documents = (
        "the unjudged document" if n_unjudged == 1 else f"the {n_unjudged:,} unjudged documents"
    )
    found = f"{judged.mean_difference:+.4f}, {p_text(judged.p)}"
    kind = {1: "gain", -1: "loss", 0: "difference"}[judged.sign]
    if judged.sign:
        begin = f"{name}: the {kind} against {baseline} ({found})"
    else:
        begin = f"{name}: no difference to {baseline} is established as judged ({found})"
    if n_unjudged == 0:
        return False, f"{begin}{' stands' if judged.sign else ''}: every document is judged."
    if best is None or worst is None or largest_p is None:
        depends = condensed.sign != judged.sign
        same = "is another" if depends else "is the same"
        return depends, (
            f"{begin}. Without {documents} the conclusion {same} "
            f"({condensed.mean_difference:+.4f}, {p_text(condensed.p)}). Bounds are not known."
        )
    between = f"between {worst.mean_difference:+.4f} and {best.mean_difference:+.4f}"
    if judged.sign == 0:
        if best.mean_difference - worst.mean_difference < 1e-9:
            return False, f"{begin}, and {documents} change nothing."
        depends = best.sign != 0 or worst.sign != 0
        open_or_not = "could establish one" if depends else "leave it open"
        return depends, f"{begin}, and {documents} {open_or_not}: it lies {between}."
    against = worst if judged.sign > 0 else best
    if against.sign == judged.sign and largest_p < LEVEL:
        return False, (
            f"{begin} stands whatever {documents} are: it lies {between}, "
            f"{p_text(largest_p)} at most."
        )
    if against.sign == judged.sign:
        reason = f"the mean lies {between}, but values between the bounds may vary more"
    else:
        favoured = baseline if judged.sign > 0 else name
        verb = "would be" if exact else "could be as little as"
        reason = (
            f"if they favour {favoured} as much as they can, the difference {verb} "
            f"{against.mean_difference:+.4f} ({p_text(against.p)})"
        )
    return True, f"{begin} depends on {documents}: {reason}."
