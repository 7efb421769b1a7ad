"""How far judges (people or language models) agree, and whether they change the runs' order."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.printing import Printed, Table
from localrank.data import Qrels, Run, pooled
from localrank.data._frames import FrameLibrary, columns_of, frame_of
from localrank.data._strings import Strings, by_group
from localrank.data.pooling import graded
from localrank.evaluation._agreement import (
    disagreement,
    kappa,
    kappa_error,
    kendall_tau,
    krippendorff_alpha,
    percentiles,
    resampled_sums,
    tau_ap,
)
from localrank.evaluation.plots.chart import Chart, Plotted
from localrank.evaluation.significance import PairedTest, paired_tests
from localrank.measures import Measure, parse_measure

KAPPAS = ("unweighted", "linear", "quadratic")


class Estimate(NamedTuple):
    """A number with its confidence interval.

    Attributes
    ----------
    value : float
    interval : (float, float)
        By the bootstrap over queries: judgments of one query depend on each other.
    analytic : (float, float)
        By the formula for independent judgments; NaN where there is none.
    """

    value: float
    interval: tuple[float, float]
    analytic: tuple[float, float] = (np.nan, np.nan)

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.interval[0]:.3f}, {self.interval[1]:.3f}]"


@dataclass(frozen=True, eq=False)
class JudgePair:
    """Two judges on the documents that both have judged.

    Attributes
    ----------
    n_documents, n_queries : int
        Pairs of query and document that both have judged, and their queries.
    grades : ndarray of shape (n_grades,)
    table : ndarray of shape (n_grades, n_grades)
        How often the first judge gave the row's grade and the second the column's.
    kappas : dict from "unweighted", "linear" and "quadratic" to Estimate
        Cohen's kappa: 1 is full agreement, 0 is chance. Disagreement counts by whether grades
        differ, by how much, or by the square of that. NaN: both gave one grade to all.
    tau : Estimate or None
        Kendall's tau-b between the orders of the runs by the two judges. None: there are fewer
        than two runs.
    tau_ap : float or None
        The same with the top of the order counting more: tau_AP [1], the mean of both directions.

    References
    ----------
    1. Yilmaz, Aslam, Robertson. A New Rank Correlation Coefficient for Information Retrieval.
       SIGIR 2008.
    """

    n_documents: int
    n_queries: int
    grades: Floats
    table: Integers
    kappas: dict[str, Estimate]
    tau: Estimate | None = None
    tau_ap: float | None = None

    @property
    def agreement(self) -> float:
        """The share of documents with the same grade."""
        return float(np.trace(self.table) / self.table.sum())


@dataclass(frozen=True, eq=False, repr=False)
class JudgeAgreement(Printed, Plotted):
    """How far judges agree.

    Attributes
    ----------
    pairs : dict from (str, str) to JudgePair
        All pairs of judges.
    alpha : float
        Krippendorff's alpha of all judges together, by squared differences, on the documents that
        two or more have judged. NaN: all grades are equal.
    relevance_levels : dict from judge to float, or None
        Grades from this on count as 1 and others as 0. None: grades count as they are.
    measure : Measure or None
        The measure of the runs. None: there are no runs.
    baseline : str or None
    query_ids : ndarray
        The queries that all judges have judged, on which runs are compared.
    means : dict from judge to dict from run to float
    tests : dict from judge to dict from run to PairedTest
        Each run against the baseline, corrected for the number of runs.
    """

    pairs: dict[tuple[str, str], JudgePair]
    alpha: float
    relevance_levels: dict[str, float] | None
    measure: Measure | None
    baseline: str | None
    query_ids: Array
    means: dict[str, dict[str, float]]
    tests: dict[str, dict[str, PairedTest]]

    @property
    def verdict(self) -> str:
        """Whether the conclusions about the runs depend on the judge, in words."""
        if not self.tests:
            return "There are no runs to compare."
        signs = {
            run: {judge: tests[run].sign for judge, tests in self.tests.items()}
            for run in next(iter(self.tests.values()))
        }
        changed = {run: by for run, by in signs.items() if len(set(by.values())) > 1}
        if not changed:
            runs = "run" if len(signs) == 1 else f"{len(signs)} runs"
            return f"All judges give the same conclusion for the {runs} against {self.baseline}."
        said = [
            f"{run}: {', '.join(f'{_SIGNS[sign]} by {judge}' for judge, sign in by.items())}"
            for run, by in changed.items()
        ]
        return f"The conclusion depends on the judge: {'; '.join(said)}."

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per pair of judges; `library` as in `RankingDataset.to_frame`."""
        rows = []
        for (first, second), pair in self.pairs.items():
            row = {
                "judge": first,
                "other_judge": second,
                "n_documents": pair.n_documents,
                "n_queries": pair.n_queries,
                "agreement": pair.agreement,
            }
            estimates = {f"kappa_{name}": kappa for name, kappa in pair.kappas.items()}
            if pair.tau is not None:
                estimates["tau"] = pair.tau
            for name, estimate in estimates.items():
                row |= {
                    name: estimate.value,
                    f"{name}_low": estimate.interval[0],
                    f"{name}_high": estimate.interval[1],
                }
            rows.append(row if pair.tau_ap is None else {**row, "tau_ap": pair.tau_ap})
        return frame_of(columns_of(rows), library)

    def chart(self) -> Chart:
        """The kappas of each pair of judges, with their intervals."""
        marks = {
            name: [
                (pair.kappas[name].value, pair.kappas[name].interval, True)
                for pair in self.pairs.values()
            ]
            for name in KAPPAS
        }
        return Chart(
            "intervals",
            panels={"Cohen's kappa, with intervals by resampling queries": marks},
            ticks=[f"{first}, {second}" for first, second in self.pairs],
            size=(7.5, 1.8 + 0.6 * len(self.pairs)),
        )

    def _shown(self) -> list[str | Table]:
        pairs = [
            [
                f"{first}, {second}",
                f"{pair.n_documents:,}",
                f"{100 * pair.agreement:.1f} %",
                *(str(pair.kappas[name]) for name in KAPPAS),
            ]
            for (first, second), pair in self.pairs.items()
        ]
        columns = ["judges", "documents", "agreement", "kappa", "linear", "quadratic"]
        shown: list[str | Table] = [Table("Agreement of judges", columns, pairs)]
        for (first, second), pair in self.pairs.items():
            grades = [f"{grade:g}" for grade in pair.grades]
            rows = [
                [grade, *(f"{number:,}" for number in counts)]
                for grade, counts in zip(grades, pair.table.tolist(), strict=True)
            ]
            shown.append(
                Table(
                    f"Documents by grade: {first} (rows), {second} (columns)", ["", *grades], rows
                )
            )
        if self.relevance_levels is not None:
            levels = ", ".join(
                f"{level:g} ({name})" for name, level in self.relevance_levels.items()
            )
            shown.append(f"Grades count as 1 from a level on, otherwise as 0: {levels}.")
        shown.append(
            f"Krippendorff's alpha of all judges: {self.alpha:.3f}. Intervals are from resampling "
            f"queries."
        )
        if self.tests:
            shown.append(self._runs())
            for (first, second), pair in self.pairs.items():
                if pair.tau is not None:
                    shown.append(
                        f"Order of the runs by {first} and {second}: Kendall's tau {pair.tau}, "
                        f"tau_AP {pair.tau_ap:.3f}."
                    )
            shown.append(self.verdict)
        return shown

    def _runs(self) -> Table:
        """The mean of each run by each judge, and the sign of its difference to the baseline."""
        rows = [
            [
                run,
                *(
                    f"{means[run]:.4f}"
                    + (f", {_SIGNS[self.tests[judge][run].sign]}" if run != self.baseline else "")
                    for judge, means in self.means.items()
                ),
            ]
            for run in next(iter(self.means.values()))
        ]
        title = f"{self.measure} on {len(self.query_ids):,} queries, against {self.baseline}"
        return Table(title, ["run", *self.means], rows)


_SIGNS = {1: "a gain", -1: "a loss", 0: "not established"}


def judge_agreement(
    judgments: Mapping[str, Qrels],
    *,
    runs: Mapping[str, Run] | None = None,
    baseline: str | None = None,
    measure: str | Measure = "ndcg@10",
    relevance_level: float | Mapping[str, float] | None = None,
    same_scale: bool = False,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    random_state: int | None = 0,
    test: str = "t",
) -> JudgeAgreement:
    """How far judges agree on the documents that they both judged, and on the order of runs.

    Judges may be people or language models. A document with the grade -1 is not judged; other
    negative grades count as 0. Weighted kappas weigh by the difference of the grades themselves,
    not of their places.

    Kappa tells how alike the grades are. Runs tell whether that matters. With the grades of each
    judge, every run has a mean and a test against the baseline, on the queries that all judges have
    judged.

    Parameters
    ----------
    judgments : mapping from judge to Qrels
        Two or more.
    runs : mapping from name to Run, optional
    baseline : str, optional
        The run that others are tested against. None: the first.
    measure : str or Measure, default="ndcg@10"
        A measure of which larger values are better.
    relevance_level : float, or mapping from judge to float, optional
        Grades from this on count as 1, others as 0, in kappa and alpha; the measure has its own
        level. Judges with different scales need it: {"people": 2, "model": 1}. None: grades count
        as they are.
    same_scale : bool, default=False
        Whether the judges have the same scale though their largest grades differ.
    n_resamples : int, default=2000
        The number of bootstrap samples of queries.
    confidence : float, default=0.95
    random_state : int or None, default=0
    test : {"t", "wilcoxon", "randomisation", "sign"}, default="t"
        The paired test of runs, as in `paired_test`.

    Examples
    --------
    >>> queries, documents = np.repeat(["a", "b", "c"], 4), np.tile(list("wxyz"), 3)
    >>> people = Qrels(queries, documents, np.array([2.0, 1, 0, 0, 2, 2, 1, 0, 0, 0, 1, 2]))
    >>> model = Qrels(queries, documents, np.array([2.0, 2, 0, 0, 2, 1, 1, 0, 0, 1, 1, 2]))
    >>> result = judge_agreement({"people": people, "model": model})
    >>> pair = result.pairs["people", "model"]
    >>> print(pair.kappas["unweighted"], "|", pair.kappas["quadratic"])
    0.625 [0.600, 0.636] | 0.824 [0.800, 0.857]
    >>> pair.table
    array([[4, 1, 0],
           [0, 2, 1],
           [0, 1, 3]])
    """
    names, n_judges = list(judgments), len(judgments)
    if n_judges < 2:
        raise ValueError(f"Agreement needs two judges or more. Got {n_judges}.")
    if not 0 < confidence < 1:
        raise ValueError(f"The 'confidence' argument must lie between 0 and 1. Got {confidence}.")
    if n_resamples < 1:
        raise ValueError(f"The 'n_resamples' argument must be 1 or larger. Got {n_resamples}.")
    judgments = {name: graded(qrels) for name, qrels in judgments.items()}
    levels = _levels(judgments, relevance_level, same_scale)
    queries, grades = _aligned(judgments, levels)
    for i, j in combinations(range(n_judges), 2):
        if np.isnan(grades[:, [i, j]]).any(axis=1).all():
            raise ValueError(f"{names[i]} and {names[j]} have judged no document in common.")
    of_runs = None
    measure = parse_measure(measure)
    if runs:
        baseline = next(iter(runs)) if baseline is None else baseline
        if baseline not in runs:
            raise ValueError(
                f"The 'baseline' argument must be one of the runs, {', '.join(runs)}. "
                f"Got {baseline!r} instead."
            )
        of_runs = _values_of_runs(judgments, runs, measure)
    pairs = {}
    for i, j in combinations(range(n_judges), 2):
        rng = np.random.default_rng(random_state)
        pair = _compared(grades[:, [i, j]], queries, n_resamples, confidence, rng)
        if of_runs is not None and runs and len(runs) > 1:
            values = of_runs.values[[i, j]]
            pair = _with_order(pair, values, n_resamples, confidence, rng)
        pairs[names[i], names[j]] = pair
    means: dict[str, dict[str, float]] = {}
    tests: dict[str, dict[str, PairedTest]] = {}
    if of_runs is not None and runs:
        for name, values in zip(names, of_runs.values, strict=True):
            by_run = dict(zip(runs, values, strict=True))
            means[name] = {run: float(np.nanmean(of_run)) for run, of_run in by_run.items()}
            reference = by_run.pop(str(baseline))
            tests[name] = paired_tests(by_run, reference, test=test)
    return JudgeAgreement(
        pairs,
        krippendorff_alpha(grades),
        levels,
        measure if runs else None,
        baseline if runs else None,
        of_runs.query_ids if of_runs is not None else np.empty(0, "U1"),
        means,
        tests,
    )


def _levels(
    judgments: Mapping[str, Qrels],
    relevance_level: float | Mapping[str, float] | None,
    same_scale: bool,
) -> dict[str, float] | None:
    """The relevance level of each judge. None: grades count as they are."""
    if relevance_level is not None:
        if not isinstance(relevance_level, Mapping):
            relevance_level = dict.fromkeys(judgments, relevance_level)
        if missing := [name for name in judgments if name not in relevance_level]:
            raise ValueError(f"The 'relevance_level' argument has no level for {missing[0]!r}.")
        return {name: float(relevance_level[name]) for name in judgments}
    largest = {name: float(qrels.relevance.max()) for name, qrels in judgments.items()}
    if len(set(largest.values())) > 1 and not same_scale:
        said = ", ".join(f"{grade:g} ({name})" for name, grade in largest.items())
        raise ValueError(
            f"The largest grades of the judges differ: {said}. If their scales differ, say from "
            f"which grade on a document is relevant: relevance_level={{{next(iter(judgments))!r}: "
            f"1, ...}} (--relevance-level). If the scale is the same, give same_scale=True "
            f"(--same-scale)."
        )
    return None


def _aligned(
    judgments: Mapping[str, Qrels], levels: Mapping[str, float] | None
) -> tuple[Array, Floats]:
    """The query of each judged document, and its grades, a column per judge. NaN: not judged."""
    everyone = judgments.values()
    queries, documents = (
        Strings.joined([Strings.of(np.asarray(ids)) for ids in columns])
        for columns in zip(
            *((qrels.query_ids, qrels.document_ids) for qrels in everyone), strict=True
        )
    )
    of_query, firsts = queries.numbered()
    pairs, firsts, _ = documents.numbered_in_groups(*by_group(of_query, len(firsts)))
    grades = np.full((len(firsts), len(judgments)), np.nan)
    ends = np.cumsum([len(qrels.relevance) for qrels in everyone]).tolist()
    for column, (name, qrels) in enumerate(judgments.items()):
        given = np.maximum(qrels.relevance, 0.0)
        rows = pairs[ends[column] - len(given) : ends[column]]
        grades[rows, column] = given if levels is None else given >= levels[name]
    return of_query[firsts], grades


def _compared(
    grades: Floats,
    queries: Array,
    n_resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> JudgePair:
    """Kappas of two judges, with intervals."""
    both = ~np.isnan(grades).any(axis=1)
    distinct, numbers = np.unique(grades[both], return_inverse=True)
    numbers, k = numbers.reshape(-1, 2), len(distinct)
    _, of_query = np.unique(queries[both], return_inverse=True)
    n_queries = int(of_query.max()) + 1
    cells = of_query * k**2 + numbers[:, 0] * k + numbers[:, 1]
    by_query = np.bincount(cells, minlength=n_queries * k**2).reshape(n_queries, k**2)
    table = by_query.sum(axis=0)
    drawn = resampled_sums(by_query.astype(np.float64), n_resamples, rng)
    kappas = {}
    for name in KAPPAS:
        weights = disagreement(distinct, name)
        value = float(kappa(table[None].astype(np.float64), weights)[0])
        error = kappa_error(table.reshape(k, k), weights, value)
        half = float(stats.norm.isf((1 - confidence) / 2)) * error
        kappas[name] = Estimate(
            value, percentiles(kappa(drawn, weights), confidence), (value - half, value + half)
        )
    return JudgePair(len(numbers), n_queries, distinct, table.reshape(k, k), kappas)


class _RunValues(NamedTuple):
    """The measure by judge, run and query, on the queries of all judges."""

    query_ids: Array
    values: Floats


def _values_of_runs(
    judgments: Mapping[str, Qrels], runs: Mapping[str, Run], measure: Measure
) -> _RunValues:
    if not measure.higher_is_better:
        raise ValueError(
            f"Runs are ordered by a measure that is better when larger. Got {measure}."
        )
    numbered = {judge: _numbered(qrels.query_ids) for judge, qrels in judgments.items()}
    common = set.intersection(*(set(names) for _, names in numbered.values()))
    if len(common) < 2:
        raise ValueError(
            f"Runs are compared on queries that all judges have judged: two or more. "
            f"Got {len(common)}."
        )
    ids = np.array(sorted(common))
    place = {query: i for i, query in enumerate(ids.tolist())}
    values = np.empty((len(judgments), len(runs), len(ids)))
    for i, (judge, qrels) in enumerate(judgments.items()):
        numbers, names = numbered[judge]
        kept = np.array([name in common for name in names])[numbers]
        limited = Qrels(qrels.query_ids[kept], qrels.document_ids[kept], qrels.relevance[kept])
        with warnings.catch_warnings(action="ignore"):  # equal runs are equal for every judge
            pool = pooled(runs, limited)
        columns = [place[query] for query in pool.dataset.query_ids.tolist()]
        for j, name in enumerate(runs):
            values[i, j, columns] = measure.of_rows(pool.dataset, pool.scores[name])
    # A query that the measure skips for one judge is skipped for all.
    counted = ~np.isnan(values).any(axis=(0, 1))
    return _RunValues(ids[counted], values[:, :, counted])


def _numbered(ids: Any) -> tuple[Integers, list[str]]:
    """The number of each id among the different ones, and those."""
    strings = Strings.of(np.asarray(ids))
    numbers, firsts = strings.numbered()
    return numbers, strings.names(firsts)


def _with_order(
    pair: JudgePair, values: Floats, n_resamples: int, confidence: float, rng: np.random.Generator
) -> JudgePair:
    """The pair with the correlation of the orders of runs; values by judge, run and query."""
    _, n_runs, n_queries = values.shape
    means = values.mean(axis=2)
    drawn = resampled_sums(values.reshape(-1, n_queries).T, n_resamples, rng) / n_queries
    tau = Estimate(
        float(kendall_tau(means[0][None], means[1][None])[0]),
        percentiles(kendall_tau(drawn[:, :n_runs], drawn[:, n_runs:]), confidence),
    )
    both = (tau_ap(means[0], means[1]) + tau_ap(means[1], means[0])) / 2
    return JudgePair(
        pair.n_documents, pair.n_queries, pair.grades, pair.table, pair.kappas, tau, both
    )
