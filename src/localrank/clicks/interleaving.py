"""A live test of two rankings: one list that both contribute to, and who wins the clicks."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from os import PathLike
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Integers
from localrank.data._click_damage import Bad
from localrank.data._numbered_ids import numbered
from localrank.data.click_lines import Lines

# Nobody's: both rankings would have shown the document here.
SHARED = -1
# The share of lists that the better ranking wins lies about this far from one half: the guess
# behind the p-value that holds at any time, as the parameter of a beta distribution.
EXPECTED = 50.0
POWER = 0.8
# With fewer lists won than this, the exact sign test is used: it errs on the safe side.
FEW = 50


def team_draft(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    *,
    depth: int | None = None,
    rng: random.Random | None = None,
) -> tuple[list[Any], list[int]]:
    """One list of two rankings, by team draft [1]_.

    In each round, a coin decides who picks first. Each ranking picks its best document that is not
    in the list yet. If both would pick the same document at the beginning of a round, the document
    is nobody's: clicks on it tell nothing, and drawing lots for it would only add noise.

    Parameters
    ----------
    first, second : sequence
        The documents of each ranking, the best first, none twice.
    depth : int, optional
        How many documents to pick. None: all.
    rng : random.Random, optional
        The coin. None: one that nobody can foresee.

    Returns
    -------
    documents : list
    teams : list of int
        0: the first ranking picked the document. 1: the second did. -1: it is nobody's, because
        both would have shown it there, or because one ranking has no documents left.

    References
    ----------
    .. [1] Radlinski, Kurup, Joachims. How Does Clickthrough Data Reflect Retrieval Quality? CIKM
       2008.

    Examples
    --------
    >>> team_draft("abcd", "acdb", rng=random.Random(1))
    (['a', 'c', 'b', 'd'], [-1, 1, 0, -1])
    """
    flip = (rng or random.SystemRandom()).random
    rankings = (first, second)
    documents: list[Any] = []
    teams: list[int] = []
    picked: set[Hashable] = set()
    places = [0, 0]
    most = len(first) + len(second) if depth is None else depth
    later: int | None = None  # who picks second in a round that has begun
    while len(documents) < most:
        for side, ranking in enumerate(rankings):
            while places[side] < len(ranking) and ranking[places[side]] in picked:
                places[side] += 1
        left = [places[side] < len(rankings[side]) for side in (0, 1)]
        if not any(left):
            break
        if all(left) and later is None and first[places[0]] == second[places[1]]:
            side, team = 0, SHARED
        elif all(left):
            side = int(flip() < 0.5) if later is None else later
            later = 1 - side if later is None else None
            team = side
        else:
            side, team = left.index(True), SHARED
        document = rankings[side][places[side]]
        documents.append(document)
        teams.append(team)
        picked.add(document)
    return documents, teams


@dataclass(frozen=True)
class InterleavedClicks:
    """Clicks of a live test of two rankings.

    Attributes
    ----------
    names : (str, str)
        The two rankings.
    clicks : ndarray of shape (n_lists, 2)
        For each list, the clicks on documents that each ranking picked.
    queries : ndarray of shape (n_lists,)
        The number of each list's query.
    n_repeated : int
        Number of repeated lists, which were left out.
    """

    names: tuple[str, str]
    clicks: Integers
    queries: Integers
    n_repeated: int = 0


@dataclass(frozen=True, kw_only=True, repr=False)
class InterleavingResult:
    """Who won a live test.

    Attributes
    ----------
    names : (str, str)
    wins : (int, int)
        The lists on which each ranking had more clicks than the other.
    ties : int
        The lists on which both had as many, or none.
    share : float
        The share of lists that the first ranking won, among those without ties. NaN: all are ties.
    interval : (float, float)
        Confidence interval of the share (Wilson's for lists, by the t distribution for queries).
    confidence : float
    p_value : float
        Two-sided, for a test whose number of lists was decided before.
    p_value_any_time : float
        A larger p-value, which holds however often one looks at the test. It is for lists.
    n_more : int or None
        How many more lists would establish a difference like this one, with a probability of 80 %.
        0: it is established. None: no number would, because both won equally many.
    unit : str
        "session" or "query": what the test treats as independent.
    """

    names: tuple[str, str]
    wins: tuple[int, int]
    ties: int
    share: float
    interval: tuple[float, float]
    confidence: float
    p_value: float
    p_value_any_time: float
    n_more: int | None
    unit: str

    @property
    def n_lists(self) -> int:
        """Number of lists."""
        return sum(self.wins) + self.ties

    @property
    def winner(self) -> str | None:
        """The better ranking. None: neither is established."""
        if not self.p_value < 1 - self.confidence:
            return None
        return self.names[0 if self.share > 0.5 else 1]

    def __repr__(self) -> str:
        a, b = self.names
        low, high = self.interval
        if self.winner is not None:
            verdict = f"{self.winner} is better."
        elif self.n_more is None:
            verdict = "No difference is in sight."
        else:
            verdict = (
                f"No difference is established. About {self.n_more:,} more lists would show one "
                f"of this size."
            )
        return (
            f"{a} won {self.wins[0]:,} lists, {b} {self.wins[1]:,}; {self.ties:,} ties.\n"
            f"{a} won {self.share:.1%} of those without ties [{low:.1%}, {high:.1%}].\n"
            f"p = {self.p_value:.2g} ({self.p_value_any_time:.2g} if you looked before the end).\n"
            f"{verdict}"
        )


def interleaving_result(
    clicks: InterleavedClicks | ArrayLike,
    *,
    unit: Literal["session", "query"] = "session",
    confidence: float = 0.95,
) -> InterleavingResult:
    """Who wins a live test, with a test of significance.

    A list is won by the ranking with more clicks on the documents that it picked. By sessions, the
    test is the sign test of the lists that were won. By queries, it is the t test of the wins minus
    the losses of each query: use it if a few queries make up many of the lists, and the result must
    hold for other queries.

    Parameters
    ----------
    clicks : InterleavedClicks, or array-like of shape (n_lists, 2)
        The result of `read_interleaved`, or for each list the clicks on the documents that each
        ranking picked.
    unit : {"session", "query"}, default="session"
    confidence : float, default=0.95

    Examples
    --------
    >>> print(interleaving_result([[1, 0]] * 60 + [[0, 1]] * 40 + [[0, 0]] * 20))
    first won 60 lists, second 40; 20 ties.
    first won 60.0% of those without ties [50.2%, 69.1%].
    p = 0.046 (0.52 if you looked before the end).
    first is better.
    """
    if not isinstance(clicks, InterleavedClicks):
        counts = np.asarray(clicks)
        if counts.ndim != 2 or counts.shape[1] != 2 or counts.dtype.kind not in "iu":
            raise ValueError(
                f"'clicks' must hold two whole numbers for each list. Got {counts.dtype} of shape "
                f"{counts.shape} instead."
            )
        clicks = InterleavedClicks(("first", "second"), counts, np.arange(len(counts)))
    if unit not in ("session", "query"):
        raise ValueError(f"The 'unit' argument must be 'session' or 'query'. Got {unit!r} instead.")
    if not 0 < confidence < 1:
        raise ValueError(f"The 'confidence' argument must lie in (0, 1). Got {confidence} instead.")
    signs = np.sign(clicks.clicks[:, 0] - clicks.clicks[:, 1])
    won, lost = int(np.sum(signs > 0)), int(np.sum(signs < 0))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = won / (won + lost) if won + lost else math.nan
    if unit == "query":
        p_value, interval = _by_query(signs, clicks.queries, confidence)
    else:
        p_value, interval = _sign_test(won, lost), _wilson(won, lost, z)
    return InterleavingResult(
        names=clicks.names,
        wins=(won, lost),
        ties=len(signs) - won - lost,
        share=share,
        interval=interval,
        confidence=confidence,
        p_value=p_value,
        p_value_any_time=_any_time(won, lost),
        n_more=_n_more(won, lost, len(signs), z, established=p_value < 1 - confidence),
        unit=unit,
    )


def read_interleaved(
    path_or_paths: str | PathLike[str] | Sequence[str | PathLike[str]], *, bad: Bad = "refuse"
) -> InterleavedClicks:
    r"""Read the clicks of a live test from JSON lines.

    Each line is a list that was shown, as in a log of clicks, with two more members: `ranker` has
    the names of both rankings, such as "old:new", and `teams` says for each document who picked it
    (0, 1, or -1 for nobody). A line with the same `list` as an earlier one is left out and counted.

    Parameters
    ----------
    path_or_paths : path or sequence of paths
        The files of one test, such as those of `localrank serve --clicks-log`.
    bad : "refuse" or "drop", default="refuse"
        What to do with a wrong line. "refuse": raise an error. "drop": leave it out.

    Examples
    --------
    >>> import tempfile
    >>> line = '{"query": 7, "documents": ["a", "b"], "clicks": [1], "ranker": "old:new", '
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
    ...     print(line + '"teams": [0, 1]}', file=file, flush=True)
    ...     read_interleaved(file.name).clicks
    array([[0, 1]])
    """
    lines = Lines(path_or_paths, bad)
    names: tuple[str, str] | None = None
    counts: list[tuple[int, int]] = []
    queries: list[str] = []
    seen: set[str] = set()
    n_repeated = 0
    for record in lines:
        try:
            rankers, count = _clicks_of(record)
            if names is not None and rankers != names:
                raise ValueError(
                    f"the rankings are {':'.join(rankers)}, and before they were "
                    f"{':'.join(names)}. A test has two rankings: choose the lines of one test."
                )
        except ValueError as error:
            lines.refuse(error)
            continue
        names = rankers
        if "list" in record:
            if record["list"] in seen:
                n_repeated += 1
                continue
            seen.add(record["list"])
        counts.append(count)
        queries.append(str(record.get("query")))
    if names is None:
        raise ValueError(f"{lines.paths[0]} has no lists of a live test.")
    return InterleavedClicks(
        names, np.array(counts, np.int64), numbered(np.array(queries))[1], n_repeated
    )


def _clicks_of(record: dict[str, Any]) -> tuple[tuple[str, str], tuple[int, int]]:
    """The names of the two rankings, and the clicks on what each picked."""
    ranker, teams, clicks = (record.get(name) for name in ("ranker", "teams", "clicks"))
    first, colon, second = ranker.partition(":") if isinstance(ranker, str) else ("", "", "")
    if not (first and colon and second):
        raise ValueError(
            f"'ranker' must name two rankings, such as old:new. Got {ranker!r} instead."
        )
    documents = record.get("documents")
    if (
        not isinstance(teams, list)
        or not isinstance(documents, list)
        or len(teams) != len(documents)
        or not all(type(team) is int and team in (0, 1, SHARED) for team in teams)
    ):
        raise ValueError("'teams' must have 0, 1 or -1 for each document of the list.")
    if not isinstance(clicks, list) or not all(
        type(click) is int and 0 <= click < len(teams) for click in clicks
    ):
        raise ValueError(f"'clicks' must be positions from 0 to {len(teams) - 1}. Got {clicks!r}.")
    of = [teams[click] for click in set(clicks)]
    return (first, second), (of.count(0), of.count(1))


def _sign_test(won: int, lost: int) -> float:
    """The probability that fair coins differ as much, half of the equally rare counted (mid-p).

    The exact test counts all of them, which finds a difference less often than 5 % allows.
    """
    if not won + lost:
        return 1.0
    from scipy.stats import binom

    fewer, n = min(won, lost), won + lost
    exact = min(2 * float(binom.cdf(fewer, n, 0.5)), 1.0)
    return exact if n < FEW else exact - float(binom.pmf(fewer, n, 0.5)) * (won != lost)


def _by_query(
    signs: Integers, queries: Integers, confidence: float
) -> tuple[float, tuple[float, float]]:
    """The t test of wins minus losses over queries, and the interval of the share of wins."""
    from scipy.stats import t

    _, numbers = np.unique(queries, return_inverse=True)
    n = int(numbers.max(initial=-1)) + 1
    decided = int(np.count_nonzero(signs))
    if n < 2 or not decided:
        return 1.0, (math.nan, math.nan)
    surplus = np.bincount(numbers, signs, n)
    # The share is 1/2 + surplus / (2 decided): a ratio, whose error is that of its residuals.
    residuals = surplus - surplus.sum() / decided * np.bincount(numbers, signs != 0, n)
    error = math.sqrt(n * float(residuals.var(ddof=1))) / (2 * decided)
    spread = float(surplus.std(ddof=1))
    p_value = (
        0.0
        if spread == 0
        else 2 * float(t.sf(abs(surplus.mean()) / (spread / math.sqrt(n)), n - 1))
    )
    share, half = 0.5 + surplus.sum() / (2 * decided), float(t.ppf((1 + confidence) / 2, n - 1))
    return p_value, (max(share - half * error, 0.0), min(share + half * error, 1.0))


def _wilson(won: int, lost: int, z: float) -> tuple[float, float]:
    """Wilson's interval of a share."""
    n = won + lost
    if not n:
        return math.nan, math.nan
    share = won / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return middle - half, middle + half


def _any_time(won: int, lost: int) -> float:
    """1 / the likelihood ratio of a share from a beta distribution and one half, at most 1.

    Under one half, the ratio is a martingale of mean 1: it is ever above 20 with a probability of
    at most 1/20.
    """
    log_ratio = (
        math.lgamma(EXPECTED + won)
        + math.lgamma(EXPECTED + lost)
        - math.lgamma(2 * EXPECTED + won + lost)
        - 2 * math.lgamma(EXPECTED)
        + math.lgamma(2 * EXPECTED)
        + (won + lost) * math.log(2)
    )
    return math.exp(-max(log_ratio, 0.0))


def _n_more(won: int, lost: int, n_lists: int, z: float, *, established: bool) -> int | None:
    """How many more lists establish the share that was seen, with the probability `POWER`."""
    if established:
        return 0
    if won == lost:
        return None
    share = won / (won + lost)
    again = NormalDist().inv_cdf(POWER) * math.sqrt(share * (1 - share))
    decided = ((z / 2 + again) / (share - 0.5)) ** 2
    needed = math.ceil(decided * n_lists / (won + lost))
    return max(needed - n_lists, 1)
