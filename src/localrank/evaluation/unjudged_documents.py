"""Documents that nobody judged: what they could change, and which to judge next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from scipy import stats

from localrank._base.arrays import Array, Flags, Floats
from localrank._base.printing import Printed, Table
from localrank.data import RankingDataset
from localrank.data._atomic import atomic_write
from localrank.data._frames import FrameLibrary, columns_of, frame_of
from localrank.data.trec import _escaped
from localrank.evaluation._hole_bounds import HoleBounds
from localrank.evaluation._known_bounds import hole_bounds
from localrank.evaluation._places import Places, places_of
from localrank.evaluation.plots.chart import Chart, Plotted
from localrank.evaluation.plots.kinds import Interval
from localrank.evaluation.significance import (
    LEVEL,
    PairedTest,
    correct,
    corrected,
    p_text,
    paired_test,
)
from localrank.measures import Measure, parse_measure
from localrank.measures.base import mean_of_queries

# Documents to judge that are printed.
_N_SHOWN = 10


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
class ToJudge(Printed):
    """Unjudged documents, those that could turn a conclusion first.

    Attributes
    ----------
    query_ids, document_ids : ndarray of shape (n_documents,)
    ranks : dict from run to ndarray of shape (n_documents,)
        The rank in each run, the mean rank of tied documents. NaN: not retrieved.
    moves : dict from run to ndarray of shape (n_documents,)
        How much the mean difference to the baseline would move if the document had the highest
        grade, and all other unjudged documents were not relevant.
    could_turn : ndarray of bool of shape (n_documents,)
        Whether it moves a conclusion that depends on the unjudged documents towards its turn.
    """

    query_ids: Array
    document_ids: Array
    ranks: dict[str, Floats]
    moves: dict[str, Floats]
    could_turn: Flags

    def __len__(self) -> int:
        return len(self.query_ids)

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per document; `library` as in `RankingDataset.to_frame`."""
        columns: dict[str, Array] = {"query": self.query_ids, "document": self.document_ids}
        columns |= {f"rank {name}": ranks for name, ranks in self.ranks.items()}
        columns |= {f"move {name}": moves for name, moves in self.moves.items()}
        return frame_of({**columns, "could_turn": self.could_turn}, library)

    def write(self, path: str | PathLike[str]) -> None:
        """Write lines of qrels, `query 0 document -1`, separated by tabs.

        Replace -1, which says that nobody judged the document, by a grade. Lines that still have
        it count as if they were not there.
        """
        pairs = zip(self.query_ids.astype(str), self.document_ids.astype(str), strict=True)
        with atomic_write(path) as file:
            file.writelines(
                f"{_escaped(query)}\t0\t{_escaped(document)}\t-1\n".encode()
                for query, document in pairs
            )

    def _shown(self) -> list[str | Table]:
        title = f"Documents to judge next: {len(self):,}"
        if len(self) > _N_SHOWN:
            title += f", the first {_N_SHOWN}"
        rows = []
        for i in range(min(len(self), _N_SHOWN)):
            first = min(self.ranks, key=lambda run: np.nan_to_num(self.ranks[run][i], nan=np.inf))
            most = max(self.moves, key=lambda run: abs(self.moves[run][i]))
            rows.append(
                [
                    str(self.query_ids[i]),
                    str(self.document_ids[i]),
                    f"{self.ranks[first][i]:g} in {first}",
                    f"{self.moves[most][i]:+.4f} of {most}",
                ]
            )
        return [Table(title, ["query", "document", "best rank", "largest move"], rows)]


@dataclass(frozen=True, eq=False, repr=False)
class Holes(Printed, Plotted):
    """What unjudged documents could change in a comparison of runs.

    Attributes
    ----------
    measure : Measure
    baseline : str
    depth : int
        The first documents of a list, of which the judged share is given.
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
        title = f"{self.measure} less that of {self.baseline}; filled: p < 0.05, corrected"
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

    Unjudged documents count as not relevant. That is a guess, and it is unfair to a run that
    finds documents which no judge was shown. So every comparison is read in four ways: as judged;
    on condensed lists, without the unjudged documents; and with the grades of the unjudged
    documents that favour the run most, and the baseline most. Each unjudged document of the pool
    may have any grade that occurs in the collection, the same one for both runs. What lies outside
    of the pool is not considered.

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
        _to_judge(bounds, listed, places, ranks, runs, tests, baseline)
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
        depends, verdict = _verdict(
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


def _verdict(
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


def _to_judge(
    bounds: HoleBounds,
    listed: Flags,
    places: Mapping[str, Places],
    ranks: Mapping[str, Floats],
    runs: Mapping[str, RunHoles],
    tests: Mapping[str, HoleTests],
    baseline: str,
) -> ToJudge:
    """The holes among the first documents of some run, by how far they move a conclusion."""
    dataset = bounds.dataset
    counted = ~np.isnan(runs[baseline].as_judged)
    rows = np.flatnonzero(listed & bounds.is_hole & counted[dataset.query_index])
    query = dataset.query_index[rows]
    changes = {
        name: bounds.if_relevant(at)[rows] - runs[name].as_judged[query]
        for name, at in places.items()
    }
    moves = {name: (changes[name] - changes[baseline]) / counted.sum() for name in tests}
    turning, largest = np.zeros(len(rows)), np.zeros(len(rows))
    for name, move in moves.items():
        # Rounding is no movement.
        move[np.abs(move) < 1e-12] = 0.0
        np.maximum(largest, np.abs(move), out=largest)
        if tests[name].depends:
            sign = tests[name].as_judged.sign
            np.maximum(turning, np.abs(move) if sign == 0 else -sign * move, out=turning)
    order = np.lexsort((-largest, -turning))
    order = order[largest[order] > 0]
    rows = rows[order]
    if dataset.document_ids is None:
        documents = rows - dataset.offsets[query[order]] + 1
    else:
        documents = dataset.document_ids[rows]
    return ToJudge(
        dataset.query_ids[query[order]],
        documents,
        {name: of_run[rows] for name, of_run in ranks.items()},
        {name: move[order] for name, move in moves.items()},
        turning[order] > 0,
    )


def _values(run: RunHoles) -> list[Floats | None]:
    return [run.as_judged, run.condensed, run.low, run.high]


def _mean(values: Floats | None) -> float | None:
    return None if values is None else mean_of_queries(values)


def _interval(test: PairedTest) -> Interval:
    return test.mean_difference, test.interval, test.sign != 0


def _cell(test: PairedTest | None) -> str:
    return "" if test is None else f"{test.mean_difference:+.4f}, {p_text(test.p)}"
