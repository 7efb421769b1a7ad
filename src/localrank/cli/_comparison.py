"""What `compare` and `demo` print."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from localrank._base.printing import Table
from localrank.cli._tables import cost, print_result, say
from localrank.evaluation import Comparison, PairedTest
from localrank.evaluation._comparison_tables import COSTS, short_p, texts
from localrank.evaluation._contents import bound_of


def report(comparison: Comparison, output: Path, as_json: bool) -> None:
    """Write the report and print the results. The exit code is 1 if a method failed."""
    comparison.write(output, command=" ".join(["localrank", *sys.argv[1:]]))
    if as_json:
        sys.stdout.write((output / "results.json").read_text(encoding="utf-8") + "\n")
    else:
        print_result(_shown(comparison))
    for name, reason in comparison.failed.items():
        say(f"{name} failed: {reason}")
    seconds = comparison.made["seconds"]
    say(f"Compared in {cost(seconds)}. Open the report: {(output / 'index.html').resolve()}")
    if comparison.failed:
        raise typer.Exit(1)


def _shown(comparison: Comparison) -> list[str | Table]:
    """The tables, the bounds and the verdict, for people."""
    first = comparison.measures[0]
    head, *body = texts(comparison, COSTS)
    n_queries = f"{comparison.test.n_queries:,} test queries"
    shown: list[str | Table] = [
        Table(f"{n_queries}; training time of all folds, milliseconds per query", head, body)
    ]
    columns = ["gain", "95 % interval", "p"]
    against = {name: tests[first] for name, tests in comparison.against_baseline.items()}
    if against:
        rows = [
            [name, *_tested(test), f"{test.wins}/{test.ties}/{test.losses}"]
            for name, test in against.items()
        ]
        title = f"{first} against {comparison.baseline}"
        shown.append(Table(title, ["method", *columns, "won/tied/lost"], rows))
    equal = [
        [name, opponent, *_tested(comparison.at_equal_cost[name][first])]
        for name, opponent in comparison.opponents.items()
        if opponent != comparison.baseline
    ]
    if equal:
        title = f"{first} at equal cost, against the stronger global opponent"
        shown.append(Table(title, ["method", "opponent", *columns], equal))
    for name, result in comparison.finished.items():
        bound = bound_of(result, first)
        if bound is not None:
            shown.append(
                f"{name}, best group in hindsight (an upper bound that uses the labels): "
                f"{bound['clairvoyant']:.4f}; with random groups {bound['control']:.4f}"
            )
    for name, agreements in comparison.agreements.items():
        indices = [agreement.adjusted_rand_index for agreement in agreements.values()]
        if indices:
            shown.append(
                f"{name}, groups and known categories: adjusted Rand index "
                f"{sum(indices) / len(indices):.3f} (1 is the same partition, 0 is chance)"
            )
    return [*shown, comparison.verdict, *comparison.cost_notes]


def _tested(test: PairedTest) -> list[str]:
    return [
        f"{test.mean_difference:+.4f}",
        f"{test.interval[0]:+.3f} to {test.interval[1]:+.3f}",
        short_p(test.p),
    ]
