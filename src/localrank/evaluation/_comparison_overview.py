"""A comparison in tables and words: made once, and laid out by all that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from localrank._base.printing import Table
from localrank.evaluation._opponents import MAX_MODELS
from localrank.evaluation.plots import Chart, Interval
from localrank.evaluation.runner import MethodResult
from localrank.evaluation.significance import PairedTest, p_text
from localrank.measures import Measure

if TYPE_CHECKING:
    from localrank.evaluation.comparison import Comparison

# What a method costs, beside the seconds of its training.
COSTS = ("n_models", "train_cpu_seconds", "milliseconds_per_query", "model_bytes")
# Rankers that are no methods, and what they are.
NO_METHODS = {
    "baseline": ", the baseline,",
    "reseeded": ", the baseline with another seed,",
    "opponent": ", an opponent,",
}
# A method costs more than its opponent from this ratio on.
MUCH_MORE = 1.25
# CPU seconds of training up to which timings are mostly noise.
NOISE_SECONDS = 0.1
INCHES_PER_ROW = 0.45


def short_p(p_value: float) -> str:
    """A p-value without its letter.

    Examples
    --------
    >>> short_p(0.04), short_p(1e-9)
    ('0.040', '< 0.001')
    """
    return p_text(p_value).removeprefix("p ").removeprefix("= ")


class Words(NamedTuple):
    """What is compared, and on which queries, in the words of tables and sentences."""

    method: str = "method"
    queries: str = "test queries"


class Section(NamedTuple):
    """A part of the page, and of a comparison in full unless it is long.

    The lead, which says how to read it, is for the page alone.
    """

    name: str
    title: str
    shown: Sequence[str | Table]
    lead: str = ""
    in_full: bool = True


class Texts(NamedTuple):
    """Texts by id."""

    queries: Mapping[str, str] = MappingProxyType({})
    documents: Mapping[str, str] = MappingProxyType({})


# Headings of columns and how their values are printed.
COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "opponent": ("opponent", str),
    "n_models": ("models", str),
    "train_cpu_seconds": ("CPU s", "{:.1f}".format),
    "milliseconds_per_query": ("ms", "{:.2f}".format),
    "model_bytes": ("KiB", lambda size: f"{size / 1024:,.0f}"),
    "gain": ("gain", "{:+.4f}".format),
    "interval": ("95 % interval", lambda ends: "{:+.3f} to {:+.3f}".format(*ends)),
    "p": ("p", short_p),
    "counts": ("won/tied/lost", lambda counts: "/".join(map(str, counts))),
    "gain_at_equal_cost": ("gain at equal cost", "{:+.4f}".format),
    "p_at_equal_cost": ("p at equal cost", short_p),
}
# The columns of a table after the method and the measures: as `print` has it, and on paper.
IN_BRIEF = ("gain", "p", "n_models", "milliseconds_per_query")
ON_PAPER = (*COSTS[:3], "gain", "p", "opponent", "gain_at_equal_cost", "p_at_equal_cost")


@dataclass(frozen=True)
class Overview:
    """What a comparison says. All that shows it lays this out: terminal, paper, frame and page.

    Attributes
    ----------
    title, baseline : str
    n_queries : int
    measures : list of str
        Methods are judged by the first.
    methods : dict from name to dict
        What is known of each method that did not fail: role, summary, costs, means by measure,
        opponent, and tests by measure, against the baseline and at equal cost. The best comes
        first.
    tested : list of str
        The methods that are tested against the baseline. Opponents come last.
    bounds : list of dict
        The clairvoyant bound of each method that has one, beside its control.
    rand_indices : dict from name to float
        How the groups of a method agree with known categories, as a mean over the folds.
    words : Words
    sections : list of Section
        What is shown besides in full, after the tables of tests.
    verdict, cost_notes, failures : list of str
        Sentences.
    """

    title: str
    baseline: str
    n_queries: int
    measures: list[str]
    methods: dict[str, dict[str, Any]]
    tested: list[str]
    bounds: list[dict[str, Any]]
    rand_indices: dict[str, float]
    words: Words
    sections: list[Section]
    verdict: list[str]
    cost_notes: list[str]
    failures: list[str]

    @classmethod
    def of(cls, comparison: Comparison) -> Overview:
        """Everything that is said of a comparison."""
        first, finished = comparison.measures[0], comparison.finished
        indices = {
            name: [agreement.adjusted_rand_index for agreement in folds.values()]
            for name, folds in comparison.agreements.items()
        }
        return cls(
            comparison.title,
            comparison.baseline,
            comparison.test.n_queries,
            [str(measure) for measure in comparison.measures],
            {name: _numbers(comparison, name) for name in finished},
            list(comparison.against_baseline),
            [bound for result in finished.values() if (bound := _bound(result, first))],
            {name: sum(values) / len(values) for name, values in indices.items() if values},
            comparison.words,
            comparison.sections,
            verdict(comparison),
            cost_notes(comparison),
            [f"{name} failed: {reason}" for name, reason in comparison.failed.items()],
        )

    def rows(self) -> list[dict[str, Any]]:
        """The numbers of each method, tests by the first measure. None: an empty cell."""
        rows = []
        for name, numbers in self.methods.items():
            alone, equal = self._test(name, "against_baseline"), self._test(name, "at_equal_cost")
            rows.append(
                {
                    "method": name,
                    "role": numbers["role"],
                    **numbers["means"],
                    **{cost: numbers[cost] for cost in COSTS},
                    "gain": alone["gain"],
                    "p": alone["p"],
                    "opponent": numbers["opponent"],
                    "gain_at_equal_cost": equal["gain"],
                    "p_at_equal_cost": equal["p"],
                }
            )
        return rows

    def on_paper(self) -> Table:
        """Means, costs and tests of each method: for Markdown and LaTeX."""
        return self._of_methods("", ON_PAPER if self._has_costs else ("gain", "p"))

    def in_brief(self) -> list[str | Table]:
        """One table, the verdict and notes: for `print` and notebooks."""
        table = self._of_methods(
            f"{self.title}: {self.n_queries:,} {self.words.queries}",
            IN_BRIEF if self._has_costs else ("gain", "p"),
        )
        return [table, *self.verdict, *self.cost_notes, *self.failures]

    def in_full(self) -> list[str | Table]:
        """Tables of means and of tests, the bounds, the verdict and notes: for the terminal."""
        title, costs = f"{self.n_queries:,} {self.words.queries}", COSTS if self._has_costs else ()
        if costs:
            title += "; training time of all folds, milliseconds per query"
        shown: list[str | Table] = [self._of_methods(title, costs)]
        against = [{"method": n, **self._test(n, "against_baseline")} for n in self.tested]
        equal = [
            {"method": name, "opponent": numbers["opponent"], **self._test(name, "at_equal_cost")}
            for name, numbers in self.methods.items()
            if numbers["opponent"] not in (None, self.baseline)
        ]
        if against:
            columns = ("gain", "interval", "p", "counts")
            title = f"{self.measures[0]} against {self.baseline}"
            shown.append(_table(title, columns, against, self.words.method))
        if equal:
            title = f"{self.measures[0]} at equal cost, against the stronger global opponent"
            columns = ("opponent", "gain", "interval", "p")
            shown.append(_table(title, columns, equal, self.words.method))
        shown += [
            f"{name}: {numbers['summary']}."
            for name, numbers in self.methods.items()
            if numbers["role"] == "opponent"
        ]
        shown += [
            f"{bound['name']}, best group in hindsight (an upper bound that uses the labels): "
            f"{bound['clairvoyant']:.4f}; with random groups {bound['control']:.4f}"
            for bound in self.bounds
        ]
        shown += [
            f"{name}, groups and known categories: adjusted Rand index {index:.3f} (1 is the same "
            f"partition, 0 is chance)"
            for name, index in self.rand_indices.items()
        ]
        said = {*self.verdict}
        for section in self.sections:
            if section.in_full:
                shown += [
                    part for part in section.shown if isinstance(part, Table) or part not in said
                ]
        return [*shown, *self.verdict, *self.cost_notes, *self.failures]

    @property
    def _has_costs(self) -> bool:
        return any(numbers["n_models"] for numbers in self.methods.values())

    def _of_methods(self, title: str, columns: Sequence[str]) -> Table:
        """A row for each method: its name, the means, and some columns."""
        rows = self.rows()
        for row in rows:
            if row["method"] == self.baseline:
                row["method"] += " (baseline)"
        return _table(title, (*self.measures, *columns), rows, self.words.method)

    def _test(self, name: str, kind: str) -> dict[str, Any]:
        """The test of a method by the first measure, as the columns of a table."""
        test = (self.methods[name][kind] or {}).get(self.measures[0])
        if test is None:
            return dict.fromkeys(("gain", "interval", "p", "counts"))
        return {
            "gain": test["difference"],
            "interval": (test["low"], test["high"]),
            "p": test["p"],
            "counts": (test["wins"], test["ties"], test["losses"]),
        }


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], method: str
) -> Table:
    """The methods and some columns of the rows, in print. What is no column is a measure."""
    shown: dict[str, tuple[str, Callable[[Any], str]]] = {
        "method": (method, str),
        **{name: COLUMNS.get(name, (name, "{:.4f}".format)) for name in columns},
    }
    return Table(
        title,
        [heading for heading, _ in shown.values()],
        [
            ["" if row[name] is None else text(row[name]) for name, (_, text) in shown.items()]
            for row in rows
        ],
        (method, "opponent"),
    )


def _numbers(comparison: Comparison, name: str) -> dict[str, Any]:
    result = comparison.results[name]
    return {
        "role": comparison.entries[name].role,
        "summary": comparison.entries[name].summary,
        **{cost: getattr(result, cost) for cost in ("train_seconds", *COSTS)},
        "means": {str(measure): result.mean(measure) for measure in comparison.measures},
        "against_baseline": _tests(comparison.against_baseline.get(name, {})),
        "opponent": comparison.opponents.get(name),
        "at_equal_cost": _tests(comparison.at_equal_cost.get(name, {})),
    }


def _tests(tests: Mapping[Measure, PairedTest]) -> dict[str, dict[str, Any]] | None:
    return {
        str(measure): {
            "difference": test.mean_difference,
            "low": test.interval[0],
            "high": test.interval[1],
            "p": test.p,
            "wins": test.wins,
            "ties": test.ties,
            "losses": test.losses,
        }
        for measure, test in tests.items()
    } or None


def _bound(result: MethodResult, measure: Measure) -> dict[str, Any] | None:
    """The clairvoyant bound of a method over all folds, beside its control."""
    bounds = [run.bound for run in result.runs if run.bound is not None]
    if len(bounds) < len(result.runs):
        return None
    means = np.nanmean(np.concatenate([bound.control for bound in bounds], axis=1), axis=1)
    return {
        "name": result.name,
        "measure": str(measure),
        "n_groups": max(bound.n_groups for bound in bounds),
        "selected": result.mean(measure),
        "clairvoyant": float(np.nanmean(np.concatenate([bound.values for bound in bounds]))),
        "control": float(means.mean()),
        "control_spread": float(means.std(ddof=1)) if len(means) > 1 else None,
    }


def verdict(comparison: Comparison) -> list[str]:
    """Which method leads, and whether any beats the baseline and its opponent of equal cost.

    Sentences. The first names the best method, significant or not.
    """
    measure, baseline = comparison.measures[0], comparison.baseline
    judged = [
        name for name in comparison.against_baseline if comparison.entries[name].role != "opponent"
    ]
    if not judged:
        return [f"There is nothing to compare with {baseline}."]
    # Methods by the sign of what is established: worse, not established, better.
    alone: dict[int, list[str]] = {-1: [], 0: [], 1: []}
    equal: dict[int, list[str]] = {-1: [], 0: [], 1: []}
    for name in judged:
        test = comparison.against_baseline[name][measure]
        alone[test.sign].append(f"{name} ({test.mean_difference:+.4f})")
        opponent = comparison.opponents.get(name)
        if opponent is not None:
            test = comparison.at_equal_cost[name][measure]
            # A method that is worse than the baseline is named already.
            if test.sign > 0 or opponent != baseline:
                gain = f"{name} ({test.mean_difference:+.4f} against {opponent})"
                equal[test.sign].append(gain)
    method, queries = comparison.words
    n = comparison.test.n_queries
    lead = f"By {measure} on {n:,} {queries}, {_lead(comparison)}"
    lines = [
        f"{lead}." if alone[1] else f"{lead}; no {method} is significantly better than {baseline}."
    ]
    # A document that nobody judged counts as one with the label 0.
    low, high = (np.maximum(bound, 0.0) for bound in comparison.test.label_bounds)
    if n_alike := int((low == high).sum()):
        lines.append(
            f"{method.capitalize()}s can differ on {n - n_alike:,} of the {n:,} queries: the "
            f"others have one label."
        )
    if alone[1]:
        lines.append(f"Significantly better than {baseline}: {', '.join(alone[1])}.")
    elif alone[-1]:
        lines.append(f"Significantly worse than {baseline}: {', '.join(alone[-1])}.")
    if any(opponent != baseline for opponent in comparison.opponents.values()):
        if equal[1]:
            lines.append(
                f"Significantly better than its opponent of equal cost: {', '.join(equal[1])}."
            )
        else:
            worse = f"; significantly worse: {', '.join(equal[-1])}" if equal[-1] else ""
            lines.append(
                f"At equal cost, no method is significantly better than its opponent{worse}."
            )
    return [*lines, *comparison.cautions]


def _lead(comparison: Comparison) -> str:
    """The best mean of all, and the best method where another ranker leads."""
    measure = comparison.measures[0]
    first = next(iter(comparison.finished))
    role = comparison.entries[first].role
    text = f"{first}{NO_METHODS.get(role, '')} leads with {_mean(comparison, first)}"
    methods = _methods(comparison)
    if not methods:
        return text
    best = methods[0]
    test = comparison.against_baseline[best][measure]
    gain = f"{test.mean_difference:+.4f} against {comparison.baseline}, {p_text(test.p)}"
    if best == first:
        return f"{text} ({gain})"
    leader = f"the best {comparison.words.method} is {best} with {_mean(comparison, best)}"
    return f"{text}; {leader} ({gain})"


def _mean(comparison: Comparison, name: str) -> str:
    return f"{comparison.finished[name].mean(comparison.measures[0]):.4f}"


def cost_notes(comparison: Comparison) -> list[str]:
    """Methods that cost much more than their opponent, or that have none."""
    notes = []
    for name in _methods(comparison):
        result = comparison.finished[name]
        if result.n_models > MAX_MODELS:
            notes.append(
                f"{name} has {result.n_models:,} models. No opponent of that many models is "
                f"trained."
            )
        opponent = comparison.opponents.get(name)
        if opponent is None or comparison.results[opponent].n_models != result.n_models:
            continue
        rival = comparison.results[opponent]
        more = []
        if result.train_cpu_seconds > max(MUCH_MORE * rival.train_cpu_seconds, NOISE_SECONDS):
            more.append(
                f"takes {_number(result.train_cpu_seconds)} s of CPU time to train, not "
                f"{_number(rival.train_cpu_seconds)} s"
            )
        if result.milliseconds_per_query > MUCH_MORE * rival.milliseconds_per_query:
            more.append(
                f"ranks a list in {_number(result.milliseconds_per_query)} ms, not "
                f"{_number(rival.milliseconds_per_query)}"
            )
        if more:
            models = "one model" if result.n_models == 1 else f"{result.n_models} models"
            notes.append(f"{name} has {models} like {opponent}, but {', and '.join(more)}.")
    return notes


def _methods(comparison: Comparison) -> list[str]:
    """The methods that did not fail, without baseline and opponents. The best comes first."""
    entries = comparison.entries
    return [name for name in comparison.finished if entries[name].role not in NO_METHODS]


def _number(value: float) -> str:
    """Two significant digits, more for large numbers.

    Examples
    --------
    >>> _number(0.01234), _number(1.26), _number(123.4)
    ('0.012', '1.3', '123')
    """
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def chart(comparison: Comparison) -> Chart:
    """Gains by the first measure, to the baseline and at equal cost."""
    measure = comparison.measures[0]
    names = _methods(comparison)
    if not names:
        raise ValueError("There is no method to plot: only the baseline was compared.")
    marks = {f"to {comparison.baseline}": comparison.against_baseline}
    if any(opponent != comparison.baseline for opponent in comparison.opponents.values()):
        marks["at equal cost, to the stronger opponent"] = comparison.at_equal_cost
    title = f"Gain in {measure} with its 95 % interval; filled: p < 0.05, corrected"
    intervals = {
        name: [_interval(tests.get(method), measure) for method in names]
        for name, tests in marks.items()
    }
    size = 7.5, 1.6 + INCHES_PER_ROW * len(names)
    return Chart("intervals", panels={title: intervals}, ticks=names, size=size)


def _interval(tests: Mapping[Measure, PairedTest] | None, measure: Measure) -> Interval:
    if not tests:
        return np.nan, (np.nan, np.nan), False
    test = tests[measure]
    return test.mean_difference, test.interval, test.sign != 0
