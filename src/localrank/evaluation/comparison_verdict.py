"""What a comparison says in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localrank.evaluation.opponents import MOST_MODELS

if TYPE_CHECKING:
    from localrank.evaluation.comparison import Comparison

# A method costs more than its opponent from this ratio on.
MUCH_MORE = 1.25


def verdict(comparison: Comparison) -> str:
    """Whether any method beats the baseline, and its opponent at equal cost."""
    measure, baseline = comparison.measures[0], comparison.baseline
    judged = [
        name for name in comparison.against_baseline if comparison.entries[name].role != "opponent"
    ]
    if not judged:
        return f"There is nothing to compare with {baseline}."
    # By the sign of what is established.
    alone: dict[int, list[str]] = {-1: [], 0: [], 1: []}
    equal: dict[int, list[str]] = {-1: [], 0: [], 1: []}
    for name in judged:
        test = comparison.against_baseline[name][measure]
        alone[test.sign].append(f"{name} ({test.mean_difference:+.4f})")
        opponent = comparison.opponents.get(name)
        if opponent is not None:
            test = comparison.at_equal_cost[name][measure]
            # What is worse than the baseline was said already.
            if test.sign > 0 or opponent != baseline:
                gain = f"{name} ({test.mean_difference:+.4f} against {opponent})"
                equal[test.sign].append(gain)
    text = f"By {measure} on {comparison.test.n_queries:,} test queries, {_lead(comparison)}"
    if alone[1]:
        text += f". Significantly better than {baseline}: {', '.join(alone[1])}."
    else:
        link = " and" if next(iter(comparison.finished)) == baseline else ", but"
        text += f"{link} {_sentence([], alone[-1], f'than {baseline}')}"
    if any(opponent != baseline for opponent in comparison.opponents.values()):
        text += f" At equal cost, {_sentence(equal[1], equal[-1], 'than its opponent')}"
    return text


def _lead(comparison: Comparison) -> str:
    """Which of all has the best mean, and what it is where it is no method."""
    name, result = next(iter(comparison.finished.items()))
    what = {
        "baseline": ", the baseline,",
        "reseeded": ", the baseline with another seed,",
        "opponent": ", an opponent,",
    }
    role = what.get(comparison.entries[name].role, "")
    return f"{name}{role} leads with {result.mean(comparison.measures[0]):.4f}"


def cost_notes(comparison: Comparison) -> list[str]:
    """Methods that cost much more than an opponent of as many models, or have none."""
    notes = []
    for name, result in comparison.finished.items():
        if comparison.entries[name].role in ("baseline", "reseeded", "opponent"):
            continue
        if result.n_models > MOST_MODELS:
            notes.append(
                f"{name} has {result.n_models:,} models: no opponent of that many is trained."
            )
        opponent = comparison.opponents.get(name)
        if opponent is None or comparison.results[opponent].n_models != result.n_models:
            continue
        other = comparison.results[opponent]
        more = []
        if result.train_cpu_seconds > MUCH_MORE * other.train_cpu_seconds:
            more.append(
                f"takes {_number(result.train_cpu_seconds)} CPU seconds to train, not "
                f"{_number(other.train_cpu_seconds)}"
            )
        if result.milliseconds_per_query > MUCH_MORE * other.milliseconds_per_query:
            more.append(
                f"ranks a list in {_number(result.milliseconds_per_query)} ms, not "
                f"{_number(other.milliseconds_per_query)}"
            )
        if more:
            models = "one model" if result.n_models == 1 else f"{result.n_models} models"
            notes.append(f"{name} has {models} as {opponent} has, but {', and '.join(more)}.")
    return notes


def _sentence(better: list[str], worse: list[str], than: str) -> str:
    if better:
        return f"significantly better {than}: {', '.join(better)}."
    some = f"; significantly worse: {', '.join(worse)}" if worse else ""
    return f"no method is significantly better {than}{some}."


def _number(value: float) -> str:
    """Two significant digits, more for large numbers.

    Examples
    --------
    >>> _number(0.01234), _number(1.26), _number(123.4)
    ('0.012', '1.3', '123')
    """
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
