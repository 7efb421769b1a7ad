"""Whether one method ranks better than another, query by query."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats

from localrank._base.arrays import Floats
from localrank._base.printing import as_html

TESTS = {
    "t": "paired t",
    "wilcoxon": "Wilcoxon signed rank",
    "randomisation": "randomisation",
    "sign": "sign",
}
# A difference is established below this p-value.
LEVEL = 0.05
CORRECTIONS = ("holm", "benjamini-hochberg")

Key = TypeVar("Key", bound=Hashable)

# Differences up to this size are rounding: both methods rank the query alike.
_EQUAL = 1e-9
# Beyond this, scipy's noncentral t takes ever longer, and its limit is exact to 0.3 %.
_LARGE_T = 1000.0


@dataclass(frozen=True, kw_only=True, repr=False)
class PairedTest:
    """A comparison of two methods by their values on the same queries.

    Attributes
    ----------
    test : str
    mean_difference : float
        Mean of the first method's values minus the second's.
    interval : (float, float)
        Confidence interval of the mean difference, by the t distribution for every test.
    effect_size : float
        Mean difference divided by the standard deviation of the differences (Cohen's d_z).
        Infinite: all differences are equal and not zero.
    effect_interval : (float, float)
        Confidence interval of the effect size, by the noncentral t distribution, or its limit for
        |t| > 1000. NaN: the effect is infinite.
    confidence : float
        Confidence of both intervals.
    p_value : float
        Two-sided p-value.
    wins, ties, losses : int
        Queries on which the first method's value is larger, equal (to 1e-9) and smaller.
    n_queries : int
    n_left_out : int
        Number of queries that lack a value of one of the methods.
    n_runs : int, default=1
        Number of trainings. If there are several, intervals and p cover both chances: that of the
        queries and that of the training.
    corrected_p_value : float or None
        P-value corrected for the number of tests. None: the test is the only one.
    """

    test: str
    mean_difference: float
    interval: tuple[float, float]
    effect_size: float
    effect_interval: tuple[float, float]
    confidence: float
    p_value: float
    wins: int
    ties: int
    losses: int
    n_queries: int
    n_left_out: int
    n_runs: int = 1
    corrected_p_value: float | None = None

    @property
    def p(self) -> float:
        """The corrected p-value, or the p-value of a test that is the only one."""
        return self.p_value if self.corrected_p_value is None else self.corrected_p_value

    @property
    def sign(self) -> int:
        """1: a gain. -1: a loss. 0: neither is established.

        The sign test counts queries. Its gain is more wins than losses, whatever the mean.
        """
        if self.p >= LEVEL:
            return 0
        direction = self.wins - self.losses if self.test == "sign" else self.mean_difference
        return int(np.sign(direction))

    def _repr_html_(self) -> str:
        return as_html([repr(self)])

    def __repr__(self) -> str:
        corrected = self.corrected_p_value is not None
        runs = f"{self.n_runs} runs; " if self.n_runs > 1 else ""
        return (
            f"{self.mean_difference:+.4f} [{self.interval[0]:+.4f}, {self.interval[1]:+.4f}], "
            f"effect {self.effect_size:.2f} [{self.effect_interval[0]:.2f}, "
            f"{self.effect_interval[1]:.2f}], {p_text(self.p)}{' corrected' * corrected} "
            f"({TESTS[self.test]}; {runs}{self.n_queries:,} queries: {self.wins:,} won, "
            f"{self.ties:,} tied, {self.losses:,} lost)"
        )


def paired_test(
    a: ArrayLike,
    b: ArrayLike,
    *,
    test: str = "t",
    n_resamples: int = 100_000,
    confidence: float = 0.95,
    random_state: int | None = 0,
) -> PairedTest:
    """Compare two methods by their values on the same queries, two-sided.

    Differences up to 1e-9 count as zero in every test. If all are zero, p is 1.

    Where training is random, give several runs. A difference that one run shows on all queries may
    be gone in the next. So the variance of the mean has two parts, both estimated: that of the
    queries' means over runs, divided by the number of queries, and that of the runs' means over
    queries, divided by the number of runs. Each contains the variance that is due to neither alone,
    so the sum errs on the safe side. The critical value is the mean of the critical values of the
    two parts, weighted by the sizes of the parts (Cochran and Cox [3]): few runs that differ much
    are little evidence.

    - `"t"`: the paired t-test.
    - `"wilcoxon"`: the signed-rank test. Zero differences are ranked, and then their ranks are
      dropped (Pratt [1]). So the many queries on which two methods agree are not evidence.
      Differences that agree to nine decimals share their rank. The test is exact up to 16
      non-zero differences, and up to 50 if none are zero or of equal size. For more it uses the
      normal approximation.
    - `"randomisation"`: each query's two values are exchanged at random. p is how often the mean
      difference is at least as large as the observed one [2]. If the non-zero differences have
      at most `n_resamples` sign patterns, all are counted. Otherwise `n_resamples` are drawn, and
      the observed pattern counts as one more.
    - `"sign"`: the exact binomial test of wins against losses. Tied queries are dropped. It asks
      whether more queries gain than lose, not by how much.

    Parameters
    ----------
    a, b : array-like of shape (n_queries,) or (n_runs, n_queries)
        Values of each query. Larger is better: negate a measure that is better when smaller. NaN:
        the measure skips the query, and it is left out. At least two queries must remain.
        Several runs: run k of one method is compared with run k of the other. A method whose
        training is not random has one row of values.
    test : {"t", "wilcoxon", "randomisation", "sign"}, default="t"
        Several runs: only "t".
    n_resamples : int, default=100_000
        Number of resamples of the randomisation test.
    confidence : float, default=0.95
    random_state : int or None, default=0

    References
    ----------
    1. Pratt. Remarks on Zeros and Ties in the Wilcoxon Signed Rank Procedures. 1959.
    2. Smucker, Allan, Carterette. A Comparison of Statistical Significance Tests for
       Information Retrieval Evaluation. CIKM 2007.
    3. Cochran, Cox. Experimental Designs. 1950.

    Examples
    --------
    >>> paired_test([0.5, 0.7, 0.9, 0.4], [0.4, 0.7, 0.6, 0.2])
    +0.1500 [-0.0554, +0.3554], effect 1.16 [-0.20, 2.44], p = 0.103 (paired t; 4 queries: 3 won,
    1 tied, 0 lost)
    >>> paired_test([0.5, 0.7, 0.9, 0.4], [0.4, 0.7, 0.6, 0.2], test="randomisation").p_value
    0.25

    Two trainings, of which only the first is better on every query:

    >>> one_run = paired_test([0.5, 0.8, 0.9], [0.4, 0.7, 0.7])
    >>> two_runs = paired_test([[0.5, 0.8, 0.9], [0.4, 0.6, 0.7]], [0.4, 0.7, 0.7])
    >>> round(one_run.p_value, 2), round(two_runs.p_value, 2)
    (0.06, 0.67)
    """
    _check_choice("test", test, tuple(TESTS))
    if n_resamples < 1:
        raise ValueError(f"The 'n_resamples' argument must be 1 or larger. Got {n_resamples}.")
    if not 0 < confidence < 1:
        raise ValueError(
            f"The 'confidence' argument must lie between 0 and 1. Got {confidence} instead."
        )
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    shapes = {values.shape[-1:] for values in (first, second)}
    runs = {len(values) for values in (first, second) if values.ndim == 2}
    if not {first.ndim, second.ndim} <= {1, 2} or len(shapes) > 1 or len(runs) > 1:
        raise ValueError(
            f"A paired test needs two values for each query. Got shapes {first.shape} and "
            f"{second.shape} instead."
        )
    by_run = np.atleast_2d(first - second)
    both = ~np.logical_or.reduce(np.isnan(by_run), axis=0)
    n_runs, n_queries = len(by_run), int(both.sum())
    if n_queries < 2:
        raise ValueError(
            f"A paired test needs two queries or more with values of both methods. Got {n_queries}."
        )
    if n_runs > 1 and test != "t":
        raise ValueError(f"Several runs are compared by test='t'. Got {test!r} instead.")
    by_run = by_run[:, both]
    if not np.isfinite(by_run).all():
        raise ValueError("A paired test needs finite values.")
    differences = by_run.mean(axis=0)
    differences[np.abs(differences) <= _EQUAL] = 0.0
    mean, deviation = _mean_and_deviation(differences)
    # The parts of the variance of the mean, and their degrees of freedom.
    parts = np.array([deviation**2 / n_queries])
    freedoms = np.array([n_queries - 1.0])
    if n_runs > 1:
        of_runs = _mean_and_deviation(by_run.mean(axis=1))[1] ** 2 / n_runs
        parts, freedoms = np.append(parts, of_runs), np.append(freedoms, n_runs - 1.0)
    variance = float(parts.sum())
    error = float(np.sqrt(variance))
    t, effect = _ratio(mean, error), _ratio(mean, deviation)
    shares = parts / variance if variance else np.eye(len(parts))[0]
    half = float(shares @ stats.t.isf((1 - confidence) / 2, freedoms)) * error
    if test == "t":
        p_value = _weighted_t_p_value(abs(t), shares, freedoms)
    elif test == "wilcoxon":
        p_value = _wilcoxon_p_value(differences.round(9))
    elif test == "sign":
        p_value = _sign_p_value(differences)
    else:
        p_value = sign_flip_p_value(differences, n_resamples, random_state)
    scale = error / deviation if deviation else 1 / np.sqrt(n_queries)
    freedom = 1 / float(shares**2 @ (1 / freedoms))  # Satterthwaite's
    return PairedTest(
        test=test,
        mean_difference=mean,
        interval=(float(mean - half), float(mean + half)),
        effect_size=effect,
        effect_interval=_effect_interval(t, freedom, scale, confidence),
        confidence=confidence,
        p_value=p_value,
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
        n_queries=n_queries,
        n_left_out=len(both) - n_queries,
        n_runs=n_runs,
    )


def paired_tests(
    methods: Mapping[str, ArrayLike],
    baseline: ArrayLike,
    *,
    correction: str = "holm",
    **options: Any,
) -> dict[str, PairedTest]:
    """Compare several methods with one baseline, p-values corrected for their number.

    Parameters
    ----------
    methods : dict from name to array-like of shape (n_queries,)
    baseline : array-like of shape (n_queries,)
    correction : {"holm", "benjamini-hochberg"}, default="holm"
    **options
        Options of `paired_test`.

    Examples
    --------
    >>> values = {"alike": [0.1, 0.2, 0.4], "better": [0.4, 0.6, 0.7]}
    >>> results = paired_tests(values, [0.1, 0.2, 0.4])
    >>> {name: round(result.corrected_p_value, 3) for name, result in results.items()}
    {'alike': 1.0, 'better': 0.02}
    """
    return corrected(
        {name: paired_test(values, baseline, **options) for name, values in methods.items()},
        correction,
    )


def corrected(tests: Mapping[Key, PairedTest], method: str = "holm") -> dict[Key, PairedTest]:
    """The tests of one table, with p-values corrected for their number.

    Parameters
    ----------
    tests : dict from any key to PairedTest
    method : {"holm", "benjamini-hochberg"}, default="holm"
    """
    p_values = correct([test.p_value for test in tests.values()], method).tolist()
    return {
        key: replace(test, corrected_p_value=p_value)
        for (key, test), p_value in zip(tests.items(), p_values, strict=True)
    }


@overload
def correct(p_values: Mapping[str, float], method: str = "holm") -> dict[str, float]: ...
@overload
def correct(p_values: Iterable[float], method: str = "holm") -> Floats: ...
def correct(
    p_values: Mapping[str, float] | Iterable[float], method: str = "holm"
) -> dict[str, float] | Floats:
    """Correct p-values for the number of tests.

    Parameters
    ----------
    p_values : sequence of float, or dict from name to float
    method : {"holm", "benjamini-hochberg"}, default="holm"
        Holm bounds the chance of any false discovery. Benjamini-Hochberg bounds the expected
        share of false discoveries.

    Examples
    --------
    >>> correct([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    >>> correct({"fusion": 0.01, "selective": 0.04}, "benjamini-hochberg")
    {'fusion': 0.02, 'selective': 0.04}
    """
    if isinstance(p_values, Mapping):
        return dict(zip(p_values, correct(list(p_values.values()), method).tolist(), strict=True))
    _check_choice("method", method, CORRECTIONS)
    values = np.array(list(p_values), dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"p-values lie in [0, 1]. Got {values} instead.")
    if method == "benjamini-hochberg" and values.size:
        return np.asarray(stats.false_discovery_control(values, method="bh"))
    order = np.argsort(values)
    stepped = np.arange(len(values), 0, -1) * values[order]
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return corrected


def p_text(p_value: float) -> str:
    """A p-value as text.

    Examples
    --------
    >>> p_text(0.04), p_text(1e-9)
    ('p = 0.040', 'p < 0.001')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(
            f"The '{name}' argument must be {', '.join(map(repr, choices[:-1]))} or "
            f"{choices[-1]!r}. Got {value!r} instead."
        )


def _mean_and_deviation(differences: Floats) -> tuple[float, float]:
    """Mean and standard deviation. It is zero if the differences differ only by rounding."""
    deviation = differences.std(ddof=1) if np.ptp(differences) > _EQUAL else 0.0
    return float(differences.mean()), float(deviation)


def _ratio(mean: float, deviation: float) -> float:
    return mean / deviation if deviation else float(np.copysign(np.inf, mean)) if mean else 0.0


def _weighted_t_p_value(t: float, shares: Floats, freedoms: Floats) -> float:
    """Two-sided p-value whose critical value, weighted by the shares of the variance, is t."""
    if len(shares) == 1 or t == 0 or np.isinf(t):
        return float(2 * stats.t.sf(t, freedoms[0]))
    bounds = np.sort(np.log(2 * stats.t.sf(t, freedoms[shares > 0])))
    if bounds[0] == bounds[-1]:
        return float(np.exp(bounds[0]))

    def excess(log_p: float) -> float:
        return float(shares @ stats.t.isf(np.exp(log_p) / 2, freedoms)) - t

    return float(np.exp(optimize.brentq(excess, bounds[0], bounds[-1], xtol=1e-9)))


def _effect_interval(
    t: float, freedom: float, scale: float, confidence: float
) -> tuple[float, float]:
    """Effects under which a t as small, or as large, would have probability (1 - confidence)/2."""
    if np.isinf(t):
        return np.nan, np.nan
    tails = np.array([(1 + confidence) / 2, (1 - confidence) / 2])
    if abs(t) <= _LARGE_T:
        centres = special.nctdtrinc(freedom, tails, t)
    else:
        centres = np.sort(t * np.sqrt(stats.chi2.ppf(tails, freedom) / freedom))
    low, high = centres * scale
    return float(low), float(high)


def _wilcoxon_p_value(differences: Floats) -> float:
    if np.count_nonzero(differences) > 16:
        return float(stats.wilcoxon(differences, zero_method="pratt").pvalue)
    signed_ranks = np.sign(differences) * stats.rankdata(np.abs(differences))
    return sign_flip_p_value(signed_ranks, 2**16, None)


def _sign_p_value(differences: Floats) -> float:
    """Twice the chance of so few queries on the rarer side, if both sides are equally likely."""
    n_rarer = min((differences > 0).sum(), (differences < 0).sum())
    return min(1.0, 2 * float(stats.binom.cdf(n_rarer, np.count_nonzero(differences), 0.5)))


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
