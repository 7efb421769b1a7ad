"""Documents that nobody judged: what they could change in a comparison of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Flags, Floats
from localrank._base.printing import Printed, Table
from localrank.data import RankingDataset
from localrank.data._frames import FrameLibrary, columns_of, frame_of
from localrank.evaluation._hole_bounds import HoleBounds
from localrank.evaluation._hole_verdicts import largest_p_value, verdict_on
from localrank.evaluation._known_bounds import hole_bounds
from localrank.evaluation._places import Places, places_of
from localrank.evaluation.documents_to_judge import ToJudge, documents_to_judge
from localrank.evaluation.plots.chart import Chart, Plotted
from localrank.evaluation.plots.kinds import Interval
from localrank.evaluation.significance import (
    PairedTest,
    correct,
    corrected,
    p_text,
    paired_test,
)
from localrank.measures import Measure, parse_measure
from localrank.measures.base import mean_of_queries


@dataclass(frozen=True, eq=False)
class RunHoles:
    """What the unjudged documents of a run leave open.

    Attributes
    ----------
    judged : ndarray of shape (n_queries,)
        Share of its first documents that are judged. NaN: it retrieved none.
    n_unjudged : int
        Unjudged documents that it retrieved, at any rank.
    as_judged : ndarray of shape (n_queries,)
        The measure, unjudged documents counting as not relevant.
    condensed : ndarray of shape (n_queries,)
        The measure of the list without its unjudged documents.
    low, high : ndarray of shape (n_queries,) or None
        The smallest and the largest value over all grades that the unjudged documents could have.
        None: they are not known for this measure.
    """

    judged: Floats
    n_unjudged: int
    as_judged: Floats
    condensed: Floats
    low: Floats | None = None
    high: Floats | None = None


@dataclass(frozen=True, eq=False)
class HoleTests:
    """A run against the baseline, under several readings of the unjudged documents.

    P-values are corrected for the number of runs by Holm's rule, each reading on its own.

    Attributes
    ----------
    as_judged : PairedTest
        Unjudged documents count as not relevant.
    condensed : PairedTest
        Both lists without their unjudged documents.
    best, worst : PairedTest or None
        The grades that favour the run most, and the baseline most, in each query. None: bounds
        are not known for this measure.
    largest_p : float or None
        No grades of the unjudged documents give the paired t-test a larger corrected p. 1: they
        could turn the sign of the mean difference.
    exact : bool
        Whether there are grades that give `best` and `worst`. Otherwise the truth lies between.
    n_unjudged : int
        Unjudged documents that the run or the baseline retrieved.
    depends : bool
        Whether the conclusion depends on the unjudged documents.
    verdict : str
        The same in words.
    """

    as_judged: PairedTest
    condensed: PairedTest
    best: PairedTest | None
    worst: PairedTest | None
    largest_p: float | None
    exact: bool
    n_unjudged: int
    depends: bool
    verdict: str


@dataclass(frozen=True, eq=False, repr=False)
class Holes(Printed, Plotted):
    """What unjudged documents could change in a comparison of runs.

    Attributes
    ----------
    measure : Measure
    baseline : str
    depth : int
        The share of judged documents is given for this many first documents of each list.
    query_ids : ndarray of shape (n_queries,)
    highest_grade : float
        The highest grade of the collection. An unjudged document may have any of its grades.
    runs : dict from name to RunHoles
    tests : dict from name to HoleTests
        Each run but the baseline against it.
    to_judge : ToJudge
        Unjudged documents among the first of some run. Empty: bounds are not known for the
        measure.
    """

    measure: Measure
    baseline: str
    depth: int
    query_ids: Array
    highest_grade: float
    runs: dict[str, RunHoles]
    tests: dict[str, HoleTests]
    to_judge: ToJudge

    @property
    def verdict(self) -> str:
        """Whether each conclusion depends on the unjudged documents, a line each."""
        return "\n".join(test.verdict for test in self.tests.values())

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per run: shares, means, differences and their p-values."""
        rows = []
        for name, run in self.runs.items():
            row: dict[str, Any] = {
                "run": name,
                "judged": mean_of_queries(run.judged),
                "n_unjudged": run.n_unjudged,
                **{key: _mean(getattr(run, key)) for key in _VALUES},
            }
            test = self.tests.get(name)
            for key in _READINGS:
                found = None if test is None else getattr(test, key)
                row[f"difference {key}"] = found and found.mean_difference
                row[f"p {key}"] = found and found.p
            row["largest_p"] = None if test is None else test.largest_p
            row["depends"] = None if test is None else test.depends
            rows.append(row)
        return rows

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per run; `library` as in `RankingDataset.to_frame`."""
        return frame_of(columns_of(self.rows), library)

    def chart(self) -> Chart:
        """The difference of each run to the baseline, as judged and by other readings.

        Bounds have no mark, only a line.
        """
        marks: dict[str, list[Interval]] = {"as judged": [], "condensed": []}
        if any(test.best is not None for test in self.tests.values()):
            marks["over all grades of unjudged documents"] = []
        for test in self.tests.values():
            marks["as judged"].append(_interval(test.as_judged))
            marks["condensed"].append(_interval(test.condensed))
            if test.best is not None and test.worst is not None:
                ends = (test.worst.mean_difference, test.best.mean_difference)
                marks["over all grades of unjudged documents"].append((np.nan, ends, False))
        title = f"{self.measure} minus that of {self.baseline}; filled: p < 0.05, corrected"
        size = 7.5, 1.8 + 0.6 * len(self.tests)
        return Chart("intervals", panels={title: marks}, ticks=list(self.tests), size=size)

    def _shown(self) -> list[str | Table]:
        runs = [
            [
                name,
                f"{100 * mean_of_queries(run.judged):.1f} %",
                *("" if mean is None else f"{mean:.4f}" for mean in map(_mean, _values(run))),
            ]
            for name, run in self.runs.items()
        ]
        tests = [
            [name, *(_cell(getattr(test, key)) for key in _READINGS)]
            for name, test in self.tests.items()
        ]
        columns = ["run", f"judged@{self.depth}", "as judged", "condensed", "lowest", "highest"]
        shown: list[str | Table] = [
            Table(f"{self.measure} on {len(self.query_ids):,} queries", columns, runs)
        ]
        if tests:
            title = f"Difference to {self.baseline}, p corrected"
            readings = ["as judged", "condensed", "grades for the run", f"for {self.baseline}"]
            shown.append(Table(title, ["run", *readings], tests))
        shown += self.verdict.splitlines()
        return shown + (self.to_judge._shown() if len(self.to_judge) else [])


_VALUES = ("as_judged", "condensed", "low", "high")
_READINGS = ("as_judged", "condensed", "best", "worst")


def holes(
    dataset: RankingDataset,
    scores: Mapping[str, Floats],
    measure: str | Measure = "ndcg@10",
    *,
    baseline: str,
    depth: int = 10,
    **options: Any,
) -> Holes:
    """What documents that nobody judged could change in a comparison of runs.

    Unjudged documents count as not relevant. That is a guess, and it is unfair to a run that finds
    documents which no judge was shown. So every comparison is read in four ways: as judged; on
    condensed lists, without the unjudged documents; and with the grades of the unjudged documents
    that favour the run most, and the baseline most. Each unjudged document of the pool may have any
    grade that occurs in the collection, the same one for both runs. Documents outside of the pool
    are not considered.

    Bounds are known for ndcg, p, recall, f1 with a cutoff, rbp, map, mrr and success with ties
    "averaged", "input" or "document_id". For map, and for mrr and success with ties, the
    differences lie within the bounds, but need not reach them; all others are exact. An unjudged
    document need not help a run that ranks it: it also makes the ideal list better, and adds to the
    relevant documents that recall and average precision divide by. So "all irrelevant" and "all
    relevant" are not the bounds.
    The mathematics is at the head of `_gain_bounds.py` and its neighbours.

    A gain stands if it is established as judged and in both extreme cases, and if the paired
    t-test would establish it for all values between the bounds. The extreme cases alone would not
    do: values in between have a larger mean, but may vary more.

    Parameters
    ----------
    dataset : RankingDataset
        All documents of the runs and all judged documents. Labels below 0: nobody judged it.
    scores : mapping from name to ndarray of shape (n_documents,)
        Scores of each run in the order of the dataset's rows. Minus infinity: not retrieved.
    measure : str or Measure, default="ndcg@10"
        A query that it skips as judged is skipped everywhere.
    baseline : str
        The run that all others are compared with.
    depth : int, default=10
        The share of judged documents is that of the first `depth`, and documents to judge are
        among the first `depth` of some run. Ties count by their mean over all orders.
    **options
        Options of `paired_test`.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays(
    ...     np.empty((6, 0)), [1, 0, -1, 2, 0, -1], list("aaabbb"), document_ids=list("uvwxyz")
    ... )
    >>> result = holes(
    ...     dataset,
    ...     {"bm25": np.array([2.0, 3, 1, 2, 3, 1]), "dense": np.array([2.0, 1, 3, 2, 1, 3])},
    ...     "mrr@10",
    ...     baseline="bm25",
    ... )
    >>> print(result.verdict)
    dense: no difference to bm25 is established as judged (+0.0000, p = 1.000), and the 2 unjudged
    documents could establish one: it lies between +0.0000 and +0.5000.
    >>> result.to_judge.to_frame("pandas")[["query", "document", "move dense"]]
      query document  move dense
    0     a        w        0.25
    1     b        z        0.25
    """
    measure = parse_measure(measure)
    _check(dataset, scores, baseline, depth)
    labels = dataset.labels
    is_hole = labels < 0
    has_holes = dataset.count(is_hole) > 0
    bounds = hole_bounds(dataset, measure)
    runs, places, ranks, listed = {}, {}, {}, np.zeros(dataset.n_documents, np.bool_)
    for name, values in scores.items():
        averaged = places_of(dataset, values)
        ranks[name] = averaged.ranks()
        within = averaged.mean_weights(np.ones(depth))
        listed |= within > 0
        as_judged = measure.of_rows(dataset, values)
        low = high = None
        if bounds is not None:
            ordered = measure.ties != "averaged"
            places[name] = places_of(dataset, values, measure.ties) if ordered else averaged
            # Without holes, a query has its value, whatever the measure gives to empty ones.
            low, high = (
                _counted(np.where(has_holes, ends, as_judged), as_judged)
                for ends in bounds.of_run(places[name])
            )
        runs[name] = RunHoles(
            _judged_shares(dataset, within, is_hole),
            int((is_hole & (values > -np.inf)).sum()),
            as_judged,
            measure.of_rows(dataset, np.where(is_hole, -np.inf, values)),
            low,
            high,
        )
    n_unjudged = {
        name: int((is_hole & ((scores[name] > -np.inf) | (scores[baseline] > -np.inf))).sum())
        for name in scores
    }
    tests = _tests(runs, bounds, places, baseline, n_unjudged, measure, options)
    return Holes(
        measure,
        baseline,
        depth,
        dataset.query_ids,
        float(bounds.grades[-1]) if bounds is not None else float(max(labels.max(), 0.0)),
        runs,
        tests,
        documents_to_judge(
            bounds,
            listed,
            places,
            ranks,
            {name: run.as_judged for name, run in runs.items()},
            {name: test.as_judged.sign if test.depends else None for name, test in tests.items()},
            baseline,
        )
        if bounds is not None
        else ToJudge(*(np.empty(0, "U1"),) * 2, {}, {}, np.empty(0, np.bool_)),
    )


def _check(
    dataset: RankingDataset, scores: Mapping[str, Floats], baseline: str, depth: int
) -> None:
    if baseline not in scores:
        raise ValueError(
            f"The 'baseline' argument must be one of the runs, {', '.join(scores)}. "
            f"Got {baseline!r} instead."
        )
    if depth < 1:
        raise ValueError(f"The 'depth' argument must be 1 or larger. Got {depth} instead.")
    for name, values in scores.items():
        if values.shape != (dataset.n_documents,) or not (values < np.inf).all():
            raise ValueError(
                f"Scores of {name!r} need one number below infinity for each of the "
                f"{dataset.n_documents:,} documents, in the order of the rows."
            )


def _counted(values: Floats, as_judged: Floats) -> Floats:
    """The values of the queries that count as judged."""
    return np.where(np.isnan(as_judged), np.nan, values)


def _judged_shares(dataset: RankingDataset, within: Floats, is_hole: Flags) -> Floats:
    begins = dataset.offsets[:-1]
    listed = np.add.reduceat(within, begins)
    judged = np.add.reduceat(np.where(is_hole, 0.0, within), begins)
    shares: Floats = np.divide(judged, listed, out=np.full(len(begins), np.nan), where=listed > 0)
    return shares


def _tests(
    runs: Mapping[str, RunHoles],
    bounds: HoleBounds | None,
    places: Mapping[str, Places],
    baseline: str,
    n_unjudged: Mapping[str, int],
    measure: Measure,
    options: Mapping[str, Any],
) -> dict[str, HoleTests]:
    """The readings of each run against the baseline, corrected for the number of runs."""
    sign = 1.0 if measure.higher_is_better else -1.0
    reference = runs[baseline]
    others = [name for name in runs if name != baseline]
    differences: dict[str, dict[str, Floats]] = {key: {} for key in _READINGS}
    for name in others:
        run = runs[name]
        differences["as_judged"][name] = sign * (run.as_judged - reference.as_judged)
        differences["condensed"][name] = sign * (run.condensed - reference.condensed)
        if bounds is not None:
            ends = bounds.of_difference(places[name], places[baseline])
            low, high = (_counted(end, run.as_judged) for end in ends)
            differences["worst"][name], differences["best"][name] = low, high
    tests = {
        key: corrected(
            {
                name: paired_test(values, np.zeros(len(values)), **options)
                for name, values in by_run.items()
            }
        )
        for key, by_run in differences.items()
    }
    largest = correct(
        {
            name: largest_p_value(differences["worst"][name], high)
            for name, high in differences["best"].items()
        }
    )
    result = {}
    for name in others:
        judged, condensed = tests["as_judged"][name], tests["condensed"][name]
        best, worst = tests["best"].get(name), tests["worst"].get(name)
        exact = bounds is not None and bounds.is_exact(places[name], places[baseline])
        depends, verdict = verdict_on(
            name,
            baseline,
            (judged, condensed, best, worst),
            largest.get(name),
            exact,
            n_unjudged[name],
        )
        result[name] = HoleTests(
            as_judged=judged,
            condensed=condensed,
            best=best,
            worst=worst,
            largest_p=largest.get(name),
            exact=exact,
            n_unjudged=n_unjudged[name],
            depends=depends,
            verdict=verdict,
        )
    return result


def _values(run: RunHoles) -> list[Floats | None]:
    return [run.as_judged, run.condensed, run.low, run.high]


def _mean(values: Floats | None) -> float | None:
    return None if values is None else mean_of_queries(values)


def _interval(test: PairedTest) -> Interval:
    return test.mean_difference, test.interval, test.sign != 0


def _cell(test: PairedTest | None) -> str:
    return "" if test is None else f"{test.mean_difference:+.4f}, {p_text(test.p)}"
