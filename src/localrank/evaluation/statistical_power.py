"""How many queries establish a gain, and how large a gain a comparison could have missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats

from localrank._base.printing import Printed, Table
from localrank.data._frames import FrameLibrary, columns_of, frame_of
from localrank.evaluation.plots.chart import Chart, Plotted
from localrank.evaluation.significance import LEVEL, PairedTest, paired_test

# Nobody judges more queries. Beyond it, a gain counts as out of reach.
MAX_QUERIES = 10**9


@dataclass(frozen=True)
class GainPower:
    """How many queries establish a gain of this size, and with what chance these do.

    Attributes
    ----------
    gain : float
        The true mean difference.
    power : float
        The chance that the given number of queries establishes it.
    n_queries : int
        The number of queries that establish it with the wanted chance.
    interval : (int, int)
        The same for the ends of the interval of the standard deviation.
    """

    gain: float
    power: float
    n_queries: int
    interval: tuple[int, int]


@dataclass(frozen=True, eq=False, repr=False)
class Power(Printed, Plotted):
    """Which gains a comparison on these queries can establish, by the paired t-test.

    Attributes
    ----------
    test : PairedTest
        The comparison.
    level : float
        A difference is established below this p-value, after correction.
    n_tests : int
        The number of tests that p-values are corrected for.
    target : float
        The wanted chance to establish a gain.
    deviation : float
        The standard deviation of the queries' differences.
    deviation_interval : (float, float)
        Its confidence interval, for differences with a normal distribution.
    gains : list of GainPower
    detectable : float
        The smallest true gain that these queries establish with the wanted chance.
    detectable_interval : (float, float)
        The same for the ends of the interval of the standard deviation.
    largest : float
        The largest gain that is possible. If `detectable` is larger, there are too few queries to
        establish any gain.
    """

    test: PairedTest
    level: float
    n_tests: int
    target: float
    deviation: float
    deviation_interval: tuple[float, float]
    gains: list[GainPower]
    detectable: float
    detectable_interval: tuple[float, float]
    largest: float = np.inf

    @property
    def detectable_text(self) -> str:
        """The smallest true gain that is established, or that none is."""
        return self._gain(self.detectable)

    def _gain(self, gain: float) -> str:
        return f"{gain:.4f}" if gain <= self.largest else f"over {self.largest:g}"

    @property
    def verdict(self) -> str:
        """How large a gain the comparison could have missed, in words."""
        n, (low, high) = self.test.n_queries, self.test.interval
        often = f"in {100 * self.target:.0f} % of such comparisons"
        if self.detectable <= self.largest:
            smallest, largest = map(self._gain, self.detectable_interval)
            found = (
                f"{n:,} queries establish a true gain of {self.detectable_text} [{smallest}, "
                f"{largest}] {often}; smaller ones are missed more often."
            )
        else:
            found = (
                f"{n:,} queries are too few: not even the largest possible gain, "
                f"{self.largest:g}, is established {often}."
            )
        return (
            f"{found} The difference lies between {low:+.4f} and {high:+.4f} with "
            f"{100 * self.test.confidence:.0f} % confidence."
        )

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per gain; `library` as in `RankingDataset.to_frame`."""
        rows = [
            {
                "gain": gain.gain,
                "power": gain.power,
                "n_queries": gain.n_queries,
                "low": gain.interval[0],
                "high": gain.interval[1],
            }
            for gain in self.gains
        ]
        return frame_of(columns_of(rows), library)

    def chart(self) -> Chart:
        """The chance to establish each gain, by the number of queries."""
        most = max(self.test.n_queries, *(gain.n_queries for gain in self.gains))
        counts = np.unique(np.geomspace(2, most, 24).round().astype(int))
        each = self.level / self.n_tests
        curves = {
            f"gain {gain.gain:g}": (
                counts.tolist(),
                [t_test_power(gain.gain / self.deviation, int(n), each) for n in counts],
            )
            for gain in self.gains
        }
        title = f"Here {self.test.n_queries:,} queries; standard deviation {self.deviation:.3f}"
        return Chart(
            "curves",
            panels={title: curves},
            x_label="queries",
            y_label="chance to establish the gain",
            log_x=True,
        )

    def _shown(self) -> list[str | Table]:
        rows = [
            [
                f"{gain.gain:g}",
                f"{100 * gain.power:.0f} %",
                _count(gain.n_queries),
                f"{_count(gain.interval[0])} to {_count(gain.interval[1])}",
            ]
            for gain in self.gains
        ]
        title = f"Queries that establish a gain with a chance of {100 * self.target:.0f} %"
        corrected = f", corrected for {self.n_tests} tests" if self.n_tests > 1 else ""
        chance = f"chance with {self.test.n_queries:,}"
        return [
            Table(title, ["true gain", chance, "queries", "interval"], rows),
            f"Paired t-test at {self.level:g}{corrected}; standard deviation {self.deviation:.4f} "
            f"[{self.deviation_interval[0]:.4f}, {self.deviation_interval[1]:.4f}].",
            self.verdict,
        ]


def power(
    differences: ArrayLike | PairedTest,
    gains: Sequence[float] = (0.005, 0.01, 0.02),
    *,
    level: float = LEVEL,
    power: float = 0.8,
    n_tests: int = 1,
    largest: float = np.inf,
) -> Power:
    """How many queries establish a gain, with the variance that these queries show.

    The power of the two-sided paired t-test is that of the noncentral t distribution, exactly. The
    variance is an estimate, so the numbers of queries have an interval: they are computed for the
    ends of its confidence interval, too, by the chi-square distribution.

    The power to find the gain that was observed says nothing beyond its p-value. So the gains are
    chosen in advance: what would be worth having. The smallest gain that is found with the wanted
    chance says what the comparison could have missed.

    Parameters
    ----------
    differences : array-like of shape (n_queries,), or PairedTest
        Differences of two methods on the same queries; or their comparison, of one run.
    gains : sequence of float, default=(0.005, 0.01, 0.02)
        True mean differences above 0.
    level : float, default=0.05
    power : float, default=0.8
        The wanted chance to establish a gain.
    n_tests : int, default=1
        The number of tests that p-values are corrected for. The level is divided by it, as in the
        first step of Holm's rule; later steps need fewer queries.
    largest : float, default=infinity
        The largest gain that is possible: 1 for a measure from 0 to 1. A larger gain that would be
        established is not shown as a number.

    Examples
    --------
    >>> differences = np.random.default_rng(0).normal(0.01, 0.1, size=50)
    >>> power(differences, gains=(0.02, 0.05))
    Queries that establish a gain with a chance of 80 %
    <BLANKLINE>
     true gain  chance with 50  queries    interval
     ──────────────────────────────────────────────
     0.02                 33 %      169  118 to 261
     0.05                 96 %       29    21 to 44
    <BLANKLINE>
    Paired t-test at 0.05; standard deviation 0.0920 [0.0769, 0.1147].
    50 queries establish a true gain of 0.0372 [0.0311, 0.0464] in 80 % of such comparisons; smaller
    ones are missed more often. The difference lies between -0.0033 and +0.0491 with 95 %
    confidence.
    """
    for name, share in (("level", level), ("power", power)):
        if not 0 < share < 1:
            raise ValueError(f"The '{name}' argument must lie between 0 and 1. Got {share}.")
    if n_tests < 1:
        raise ValueError(f"The 'n_tests' argument must be 1 or larger. Got {n_tests}.")
    if level / n_tests >= power:
        raise ValueError(f"The 'power' argument must be above the level. Got {power}.")
    if not largest > 0:
        raise ValueError(f"The 'largest' argument must be above 0. Got {largest}.")
    if not all(0 < gain < np.inf for gain in gains):
        raise ValueError(f"The 'gains' argument must have numbers above 0. Got {list(gains)}.")
    test = differences
    if not isinstance(test, PairedTest):
        values = np.asarray(test, dtype=np.float64)
        test = paired_test(values, np.zeros_like(values))
    if test.n_runs > 1:
        raise ValueError(
            f"Power is computed for the chance of the queries alone. This comparison has "
            f"{test.n_runs} runs: give the mean differences of the queries."
        )
    n = test.n_queries
    # The interval of every test is that of the t distribution.
    half = (test.interval[1] - test.interval[0]) / 2
    deviation = float(half * np.sqrt(n) / stats.t.isf((1 - test.confidence) / 2, n - 1))
    if deviation == 0:
        raise ValueError("Power needs differences that vary. All of these are equal.")
    tails = np.array([(1 + test.confidence) / 2, (1 - test.confidence) / 2])
    low, high = (deviation * np.sqrt((n - 1) / stats.chi2.ppf(tails, n - 1))).tolist()
    each = level / n_tests
    smallest = _detectable(n, each, power)
    return Power(
        test,
        level,
        n_tests,
        power,
        deviation,
        (low, high),
        [
            GainPower(
                float(gain),
                float(t_test_power(gain / deviation, n, each)),
                _n_queries(gain / deviation, each, power),
                (_n_queries(gain / low, each, power), _n_queries(gain / high, each, power)),
            )
            for gain in gains
        ],
        smallest * deviation,
        (smallest * low, smallest * high),
        largest,
    )


def t_test_power(effect: float, n_queries: int, level: float) -> float:
    """The chance that a two-sided paired t-test establishes an effect, in standard deviations.

    Examples
    --------
    >>> round(t_test_power(0.5, 34, 0.05), 3)
    0.808
    """
    freedom, centre = n_queries - 1.0, effect * np.sqrt(n_queries)
    critical = -special.stdtrit(freedom, level / 2)
    below, wrong_sign = special.nctdtr(freedom, centre, [critical, -critical]).tolist()
    # Far from zero, scipy has no number for what is none in ten billion cases.
    return float(1 - below + (0.0 if np.isnan(wrong_sign) else wrong_sign))


def _n_queries(effect: float, level: float, power: float) -> int:
    """The smallest number of queries with this power."""
    low, high = 1, 2
    while t_test_power(effect, high, level) < power:
        if high == MAX_QUERIES:
            return MAX_QUERIES
        low, high = high, min(2 * high, MAX_QUERIES)
    while high - low > 1:
        middle = (low + high) // 2
        if t_test_power(effect, middle, level) < power:
            low = middle
        else:
            high = middle
    return high


def _detectable(n_queries: int, level: float, power: float) -> float:
    """The effect that this many queries establish with this power."""

    def missing(effect: float) -> float:
        return t_test_power(effect, n_queries, level) - power

    high = 1.0
    while missing(high) < 0:
        high *= 2
    return float(optimize.brentq(missing, 0.0, high, xtol=1e-12))


def _count(n_queries: int) -> str:
    return f"{n_queries:,}" if n_queries < MAX_QUERIES else f"over {MAX_QUERIES:,}"
