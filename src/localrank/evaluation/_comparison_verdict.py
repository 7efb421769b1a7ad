"""The verdict of a comparison, and notes on cost, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localrank.evaluation._opponents import MOST_MODELS
from localrank.evaluation.significance import p_text

if TYPE_CHECKING:
    from localrank.evaluation.comparison import Comparison

# A method costs more than its opponent from this ratio on.
MUCH_MORE = 1.25
# CPU seconds of training up to which timings are mostly noise.
NOISE_SECONDS = 0.1
# Rankers that are no methods, and what they are.
NO_METHODS = {
    "baseline": ", the baseline,",
    "reseeded": ", the baseline with another seed,",
    "opponent": ", an opponent,",
}


def in_words(comparison: Comparison) -> str:
    """Which method leads, and whether any beats the baseline and its opponent of equal cost.

    Each sentence is a line. The first names the best method, significant or not.
    """
    measure, baseline = comparison.measures[0], comparison.baseline
    judged = [
        name for name in comparison.against_baseline if comparison.entries[name].role != "opponent"
    ]
    if not judged:
        return f"There is nothing to compare with {baseline}."
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
    lead = f"By {measure} on {comparison.test.n_queries:,} test queries, {_lead(comparison)}"
    lines = [
        f"{lead}." if alone[1] else f"{lead}; no method is significantly better than {baseline}."
    ]
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
    return "\n".join(lines)


def _lead(comparison: Comparison) -> str:
    """The best mean of all, and the best method where another ranker leads."""
    measure = comparison.measures[0]
    first = next(iter(comparison.finished))
    role = comparison.entries[first].role
    text = f"{first}{NO_METHODS.get(role, '')} leads with {_mean(comparison, first)}"
    methods = [
        name for name in comparison.finished if comparison.entries[name].role not in NO_METHODS
    ]
    if not methods:
        return text
    best = methods[0]
    test = comparison.against_baseline[best][measure]
    gain = f"{test.mean_difference:+.4f} against {comparison.baseline}, {p_text(test.p)}"
    if best == first:
        return f"{text} ({gain})"
    return f"{text}; the best method is {best} with {_mean(comparison, best)} ({gain})"


def _mean(comparison: Comparison, name: str) -> str:
    return f"{comparison.finished[name].mean(comparison.measures[0]):.4f}"


def cost_notes(comparison: Comparison) -> list[str]:
    """Methods that cost much more than their opponent, or that have none."""
    notes = []
    for name, result in comparison.finished.items():
        if comparison.entries[name].role in NO_METHODS:
            continue
        if result.n_models > MOST_MODELS:
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


def _number(value: float) -> str:
    """Two significant digits, more for large numbers.

    Examples
    --------
    >>> _number(0.01234), _number(1.26), _number(123.4)
    ('0.012', '1.3', '123')
    """
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
