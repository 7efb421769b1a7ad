"""Runs of anybody's systems on the same judged queries, compared query by query."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Integers
from localrank._base.names import unknown
from localrank._base.printing import Printed, Table
from localrank.data import (
    PooledRuns,
    RankingDataset,
    RunCounts,
    as_runs,
    pooled,
)
from localrank.data._strings import Strings
from localrank.evaluation._comparison_overview import Section, Texts, Words
from localrank.evaluation._opponents import Entrant
from localrank.evaluation.comparison import Comparison, best_first, paired
from localrank.evaluation.fold_results import FoldResult
from localrank.evaluation.judges import JudgeAgreement, judge_agreement
from localrank.evaluation.query_categories import CategoryTests, category_tests
from localrank.evaluation.query_groups import categories_by_query
from localrank.evaluation.runner import MethodResult
from localrank.evaluation.statistical_power import Power, power
from localrank.evaluation.unjudged_documents import Holes, holes
from localrank.measures import Measure, parse_measure
from localrank.measures.base import evaluate_rows
from localrank.persistence import library_versions
from localrank.text import read_judgments

# The only fold of a comparison of runs.
FOLD = "all"
OURS = "judgments"
MEASURES = ("ndcg@10", "map", "mrr@10")
# How sections of the page are read.
_LEADS = {
    "holes": "As judged, a document that nobody judged counts as not relevant. Condensed lists "
    "leave such documents out. The other columns give them the grades that favour one side most.",
    "next": "Unjudged documents near the top of a run, those first that could turn a conclusion. "
    "All of them are in judge-next.tsv: replace -1 by a grade, and add the lines to the "
    "judgments. A line that still has -1 changes nothing.",
    "categories": "A gain may be established in one category and not in another, and yet not "
    "differ between them. One test of all categories together answers that.",
    "judges": "Kappa is 1 if judges agree on all documents, and 0 if they agree as often as by "
    "chance. Tau compares the orders of the runs.",
}
# Sentences of a kind in a verdict. The sections have those of all runs.
N_SAID = 5


@dataclass(frozen=True, eq=False)
class RunEntrant(Entrant):
    """A run of a comparison, and what it has of the judged queries."""

    counts: RunCounts

    @property
    def parameters(self) -> dict[str, str]:
        """Numbers of queries and documents, for the page."""
        counts = self.counts
        shortest, median, longest = counts.depths
        return {
            "queries": f"{counts.n_queries:,}",
            "documents in a list": f"{shortest:,} to {longest:,}, median {median:,g}",
            "judged documents": f"{counts.n_judged:,} of {counts.n_documents:,}",
            "documents with a tied score": f"{counts.n_tied:,}",
        }


@dataclass(frozen=True, eq=False, repr=False)
class RunComparison(Comparison):
    """The result of `compare_runs`: a `Comparison` of runs, and what it rests on.

    Attributes
    ----------
    pool : PooledRuns
        The judged queries, and the scores of each run.
    notes : list of str
        Sentences about what was left out, and about rules that changed how something counts.
    holes : Holes
        What documents that nobody judged could change, by the first measure.
    powers : dict from name to Power
        For each run but the baseline, how many queries would establish a gain over the baseline,
        by the first measure.
    categories : dict from name to CategoryTests
        For each run but the baseline, the gain in each category of queries, and whether it
        differs between them. Empty without categories.
    judges : JudgeAgreement or None
        How several sets of judgments agree, and whether the verdict depends on the judge. None:
        there is one set.
    given_texts : Texts
        Texts of queries and documents, for the explorer.
    """

    pool: PooledRuns
    notes: list[str]
    holes: Holes
    powers: dict[str, Power]
    categories: dict[str, CategoryTests]
    judges: JudgeAgreement | None
    given_texts: Texts

    words: ClassVar[Words] = Words("run", "judged queries")
    n_explored: ClassVar[int | None] = 50

    def write(self, folder: str | PathLike[str], *, command: str | None = None) -> None:
        """Write the page, the results, each query's values, and the documents to judge next.

        Parameters
        ----------
        folder : path
            The folder to write. It is made if it does not exist.
        command : str, optional
            The command that was typed, for the page.
        """
        super().write(folder, command=command)
        self.holes.to_judge.write(Path(folder) / "judge-next.tsv")

    @property
    def texts(self) -> Texts:
        return self.given_texts

    @property
    def sections(self) -> list[Section]:
        parts = [
            Section("rules", "What was compared", self.notes),
            Section("holes", "Unjudged documents", self._of_holes(), _LEADS["holes"]),
            Section(
                "next",
                "Documents to judge next",
                _printed(self.holes.to_judge),
                _LEADS["next"],
                in_full=False,
            ),
            Section("power", "How many queries are enough", self._of_power()),
            Section(
                "categories",
                "Categories of queries",
                _of_runs(self.categories),
                _LEADS["categories"],
            ),
        ]
        if self.judges is not None:
            parts.append(Section("judges", "Judges", _printed(self.judges), _LEADS["judges"]))
        return [part for part in parts if part.shown]

    def _of_holes(self) -> list[str | Table]:
        """Tables, and a sentence for each conclusion that depends on unjudged documents."""
        tables = [part for part in self.holes._shown() if isinstance(part, Table)]
        tests = self.holes.tests
        stands = [name for name, test in tests.items() if test.as_judged.sign and not test.depends]
        lines = [test.verdict for name, test in tests.items() if name not in stands]
        if stands:
            lines.append(
                f"{', '.join(stands)}: the conclusion stands whatever the unjudged documents are."
            )
        return [*tables[:2], *lines]

    def _of_power(self) -> list[str | Table]:
        """One row per run: the gain that could be missed, and queries for smaller ones."""
        if not self.powers:
            return []
        first = next(iter(self.powers.values()))
        rows = [
            [name, found.detectable_text, *(f"{gain.n_queries:,}" for gain in found.gains)]
            for name, found in self.powers.items()
        ]
        return [
            Table(
                f"Queries that establish a true gain in {100 * first.target:.0f} % of comparisons",
                ["run", f"gain found with {first.test.n_queries:,} queries"]
                + [f"for {gain.gain:g}" for gain in first.gains],
                rows,
                ("run",),
            ),
            "Smaller gains than in the first column are missed more often. The numbers rest on "
            f"the variance of these queries{_corrected_for(first.n_tests)}.",
        ]

    @property
    def cautions(self) -> list[str]:
        measure = self.measures[0]
        lines = _first([test.verdict for test in self.holes.tests.values() if test.depends])
        if not any(tests[measure].sign for tests in self.against_baseline.values()):
            lines += _first([_of(name, found.verdict) for name, found in self.powers.items()])
        lines += _first([_of(name, found.verdict) for name, found in self.categories.items()])
        return lines if self.judges is None else [*lines, self.judges.verdict]


def _first(lines: list[str]) -> list[str]:
    """The first sentences of a kind, and how many more runs have one."""
    if len(lines) <= N_SAID:
        return lines
    return [*lines[:N_SAID], f"The same is said of {len(lines) - N_SAID:,} more runs below."]


def _printed(result: Printed) -> list[str | Table]:
    return list(result._shown())


def _of_runs(results: Mapping[str, Printed]) -> list[str | Table]:
    """What is printed of each run, tables under its name."""
    shown: list[str | Table] = []
    for name, result in results.items():
        for part in result._shown():
            if isinstance(part, Table):
                shown.append(Table(_of(name, part.title), part.columns, part.rows, part.words))
            else:
                shown.append(_of(name, part))
    return shown


def _of(name: str, text: str) -> str:
    """A sentence after the name of its run."""
    return f"{name}: {_lowered(text)}"


def compare_runs(
    runs: Mapping[str, Any] | Sequence[Any],
    qrels: Any,
    measures: Sequence[str | Measure] = MEASURES,
    *,
    baseline: str | None = None,
    test: str = "t",
    depth: int = 10,
    categories: Mapping[Any, Any] | None = None,
    judges: Mapping[str, Any] | None = None,
    relevance_level: float | Mapping[str, float] | None = None,
    same_scale: bool = False,
    queries: Mapping[str, str] | None = None,
    documents: Mapping[str, str] | Iterable[Mapping[str, Any]] | None = None,
    title: str | None = None,
) -> RunComparison:
    """Compare ranked lists that any systems made, on the same judged queries.

    Every judged query counts. A run that lacks a query counts as having retrieved nothing for it.
    Queries without judgments are left out, and a document that nobody judged counts as not
    relevant. Documents with equal scores count with the mean over all their orders, unless a
    measure has another rule. The result says how often each rule mattered, and what the unjudged
    documents could change.

    Parameters
    ----------
    runs : dict from name to run, or sequence of paths
        A run is all that `localrank.data.as_run` takes: a file, `{query: {document: score}}`, a
        DataFrame, or a run of ranx or ir_measures. Paths are named after their files.
    qrels : path, dict, DataFrame or Qrels
        The judgments: all that `localrank.data.as_qrels` takes, and files of
        `localrank.text.read_judgments`.
    measures : sequence of str or Measure
        Runs are judged by the first.
    baseline : str, optional
        The name of the run that all others are compared with. None: the first.
    test : {"t", "wilcoxon", "randomisation", "sign"}, default="t"
        The paired test, as in `paired_test`. P-values are corrected by Holm's rule.
    depth : int, default=10
        The share of judged documents is given for this many first documents of each list.
    categories : mapping from query to category, optional
        Shows the gain in each category, and tests whether it differs between them.
    judges : dict from name to judgments, optional
        Other judgments of the same queries, such as those of a language model. The result shows how
        they agree with `qrels`, and whether they would change the verdict.
    relevance_level : float or dict from judge to float, optional
        The smallest grade of a relevant document. Judges of different scales are compared by it;
        `qrels` are the judge "judgments". None: grades of all judges have one scale.
    same_scale : bool, default=False
        Whether the judges have the same scale though their largest grades differ.
    queries : mapping from id to text, optional
        Texts of the queries, for the explorer of the page.
    documents : mapping from id to text, or iterable of records, optional
        Texts of the documents, likewise; `localrank.text.read_corpus` reads a file.
    title : str, optional
        None: the names of the runs.

    Returns
    -------
    RunComparison
        Print it for the table and the verdict. `write` writes the report.

    Examples
    --------
    >>> runs = {
    ...     "words": {"q1": {"a": 3.0, "b": 2.0}, "q2": {"c": 2.0, "d": 1.0}},
    ...     "vectors": {"q1": {"b": 0.9, "a": 0.8}, "q2": {"d": 0.7, "c": 0.1}},
    ... }
    >>> result = compare_runs(runs, {"q1": {"b": 1, "a": 0}, "q2": {"d": 2, "c": 0}}, ["mrr"])
    >>> result.to_frame("pandas")[["method", "mrr", "gain"]].round(2)
        method  mrr  gain
    0  vectors  1.0   0.5
    1    words  0.5   NaN
    """
    start = time.perf_counter()
    parsed = [parse_measure(measure) for measure in measures]
    if not judges and (relevance_level is not None or same_scale):
        given = "same_scale" if relevance_level is None else "relevance_level"
        raise ValueError(
            f"The '{given}' argument (--{given.replace('_', '-')}) is for several judges, and "
            f"there is one. A measure has a level of its own: map(rel=2)."
        )
    taken = as_runs(runs)
    if len(taken) < 2:
        raise ValueError(f"A comparison needs two runs or more. Got {', '.join(taken)} alone.")
    if baseline is None:
        baseline = next(iter(taken))
    elif baseline not in taken:
        raise unknown("There is no run", baseline, taken)
    judgments = read_judgments(qrels)
    pool = pooled(taken, judgments)
    if pool.dataset.n_queries < 2:
        raise ValueError(
            "A comparison needs two judged queries or more. Got 1: no test can tell its difference "
            "from chance. `localrank evaluate` measures each run on it."
        )
    results = best_first(_results(pool, parsed), parsed[0])
    others = [name for name in results if name != baseline]
    against = paired(dict.fromkeys(others, baseline), results, parsed, test)
    by_category, notes = {}, pool.notes_with(_tie_rules(parsed))
    if categories is not None:
        known = categories_by_query([pool.dataset], categories)
        ids = pool.dataset.query_ids.tolist()
        within = np.array([query in known for query in ids])
        if n_without := int(np.sum(~within)):
            notes.append(f"{n_without:,} of {len(ids):,} queries have no category.")
        kinds = [known[query] for query in ids if query in known]
        sign = 1 if parsed[0].higher_is_better else -1
        values = {name: sign * result.values(parsed[0]) for name, result in results.items()}
        by_category = {
            name: category_tests(values[name][within], values[baseline][within], kinds, test=test)
            for name in others
        }
    asked = None
    if judges:
        everyone = {OURS: judgments} | {
            name: read_judgments(other) for name, other in judges.items()
        }
        asked = judge_agreement(
            everyone,
            runs=taken,
            measure=parsed[0],
            baseline=baseline,
            relevance_level=relevance_level,
            same_scale=same_scale,
            test=test,
        )
    texts = Texts(
        {str(query): text for query, text in (queries or {}).items()},
        _texts(documents, pool.dataset),
    )
    if queries is not None and {*texts.queries}.isdisjoint(pool.dataset.query_ids.tolist()):
        notes.append("None of the queries has a text. Are the ids of the texts those of the runs?")
    if documents is not None and not texts.documents:
        notes.append("No document has a text. Are the ids of the texts those of the runs?")
    tests = {name: against[name][parsed[0]] for name in others}
    powers = {
        # No measure leaves [0, 1].
        name: power(found, n_tests=len(others), largest=1.0)
        for name, found in tests.items()
        # Where all queries differ alike, or not at all, there is no variance to go by.
        if np.isfinite(found.effect_size) and found.ties < found.n_queries
    }
    unjudged = holes(
        pool.dataset, pool.scores, parsed[0], baseline=baseline, depth=depth, test=test
    )
    return RunComparison(
        parsed,
        baseline,
        _entrants(pool, baseline, results),
        results,
        {},
        against,
        {},
        {},
        ", ".join(taken) if title is None else title,
        {
            "seed": None,
            "time": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "seconds": time.perf_counter() - start,
            "versions": library_versions(),
            "data": _facts(pool.dataset),
        },
        pool,
        notes,
        unjudged,
        powers,
        by_category,
        asked,
        texts,
    )


def _tie_rules(measures: Sequence[Measure]) -> str:
    """How documents of equal scores count, by the measures that count them so."""
    names: dict[str, list[str]] = {}
    for measure in measures:
        names.setdefault(measure.tie_rules[measure.ties], []).append(str(measure))
    if len(names) == 1:
        return next(iter(names))
    return " ".join(f"{', '.join(of_rule)}: {_lowered(rule)}" for rule, of_rule in names.items())


def _lowered(text: str) -> str:
    return text[0].lower() + text[1:]


def _corrected_for(n_tests: int) -> str:
    return f", and on p-values corrected for {n_tests} tests" if n_tests > 1 else ""


def _results(pool: PooledRuns, measures: Sequence[Measure]) -> dict[str, MethodResult]:
    """The scores of each run, and its values by each measure."""
    names = [FOLD] * pool.dataset.n_queries
    nothing: Integers = np.empty(0, dtype=np.int64)
    results = {
        name: MethodResult(name, [FoldResult(FOLD, scores, nothing)], pool.dataset, names)
        for name, scores in pool.scores.items()
    }
    for name, result in results.items():
        result._values.update(evaluate_rows(pool.dataset, pool.scores[name], measures))
    return results


def _entrants(pool: PooledRuns, baseline: str, names: Iterable[str]) -> dict[str, RunEntrant]:
    return {
        name: RunEntrant(
            "baseline" if name == baseline else "run",
            "run",
            f"The ranked lists of {name}, as they were given.",
            pool.counts[name],
        )
        for name in names
    }


def _facts(dataset: RankingDataset) -> dict[str, Any]:
    """Facts about the judgments and the lists, for the page."""
    values, counts = np.unique(dataset.labels, return_counts=True)
    digest = hashlib.sha256()
    ids = [Strings.of(names) for names in (dataset.query_ids, np.asarray(dataset.document_ids))]
    arrays = [array for names in ids for array in (names.begins, names.text[: names.begins[-1]])]
    for array in (dataset.labels, dataset.offsets, *arrays):
        digest.update(np.ascontiguousarray(array).data)
    shown = ("not judged" if value < 0 else f"{value:g}" for value in values.tolist())
    return {
        "n_queries": dataset.n_queries,
        "n_documents": dataset.n_documents,
        "n_features": None,
        "labels": dict(zip(shown, counts.tolist(), strict=True)),
        "folds": None,
        "sha256": digest.hexdigest(),
    }


def _texts(documents: Any, dataset: RankingDataset) -> Mapping[str, str]:
    """Texts of the documents of a dataset: of a mapping, or of records with an id."""
    if documents is None:
        return {}
    wanted = set(map(str, np.asarray(dataset.document_ids).tolist()))
    if isinstance(documents, Mapping):
        return {str(name): text for name, text in documents.items() if str(name) in wanted}
    texts = {}
    for record in documents:
        name = str(record["id"])
        if name in wanted:
            fields = (value for key, value in record.items() if key != "id")
            texts[name] = " · ".join(text for text in fields if isinstance(text, str) and text)
    return texts
