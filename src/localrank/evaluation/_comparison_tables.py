"""A comparison as a table: rows of numbers, printed, Markdown, LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from localrank._base.printing import Table
from localrank.evaluation.significance import PairedTest, p_text
from localrank.measures import Measure

if TYPE_CHECKING:
    from localrank.evaluation.comparison import Comparison

LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def short_p(p_value: float) -> str:
    """A p-value without its letter.

    Examples
    --------
    >>> short_p(0.04), short_p(1e-9)
    ('0.040', '< 0.001')
    """
    return p_text(p_value).removeprefix("p ").removeprefix("= ")


COSTS = ("n_models", "train_cpu_seconds", "milliseconds_per_query", "model_bytes")
# Headings of columns and how their values are printed.
PRINTED: dict[str, tuple[str, Callable[[Any], str]]] = {
    "n_models": ("models", str),
    "train_cpu_seconds": ("CPU s", "{:.1f}".format),
    "milliseconds_per_query": ("ms", "{:.2f}".format),
    "model_bytes": ("KiB", lambda size: f"{size / 1024:,.0f}"),
    "gain": ("gain", "{:+.4f}".format),
    "p": ("p", short_p),
    "opponent": ("opponent", str),
    "gain_at_equal_cost": ("gain at equal cost", "{:+.4f}".format),
    "p_at_equal_cost": ("p at equal cost", short_p),
}
# Columns of words, aligned to the left.
WORDS = ("method", "opponent")
# Columns of Markdown and LaTeX; the command line has the model's size, too.
ON_PAPER = [column for column in PRINTED if column != "model_bytes"]
# Columns that fit a line.
SUMMARY = ("gain", "p", "n_models", "milliseconds_per_query")


def rows(comparison: Comparison) -> list[dict[str, Any]]:
    """The numbers of each method that did not fail. None: an empty cell."""
    measure = comparison.measures[0]

    def tested(tests: Mapping[Measure, PairedTest] | None, where: str) -> dict[str, Any]:
        test = tests[measure] if tests else None
        gain, p = (None, None) if test is None else (test.mean_difference, test.p)
        return {f"gain{where}": gain, f"p{where}": p}

    return [
        {
            "method": name,
            "role": comparison.entries[name].role,
            **{str(measure): result.mean(measure) for measure in comparison.measures},
            **{cost: getattr(result, cost) for cost in COSTS},
            **tested(comparison.against_baseline.get(name), ""),
            "opponent": comparison.opponents.get(name),
            **tested(comparison.at_equal_cost.get(name), "_at_equal_cost"),
        }
        for name, result in comparison.finished.items()
    ]


def texts(comparison: Comparison, columns: Collection[str]) -> list[list[str]]:
    """The headings, then a row per method: its name, the measures, and columns of `PRINTED`."""

    def marked(name: str) -> str:
        return f"{name} (baseline)" if name == comparison.baseline else name

    shown: dict[str, tuple[str, Callable[[Any], str]]] = {
        "method": ("method", marked),
        **{str(measure): (str(measure), "{:.4f}".format) for measure in comparison.measures},
        **{column: PRINTED[column] for column in columns},
    }
    return [
        [heading for heading, _ in shown.values()],
        *(
            ["" if row[key] is None else text(row[key]) for key, (_, text) in shown.items()]
            for row in rows(comparison)
        ),
    ]


def to_markdown(comparison: Comparison) -> str:
    """Rows between pipes, numbers to the right."""
    head, *body = texts(comparison, ON_PAPER)
    rule = ["---" if heading in WORDS else "---:" for heading in head]
    body = [[cell.replace("|", "\\|") for cell in row] for row in body]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *body])


def to_latex(comparison: Comparison) -> str:
    """A tabular with the rules of booktabs."""
    special = re.compile("|".join(map(re.escape, LATEX)))
    table = texts(comparison, ON_PAPER)
    columns = "".join("l" if heading in WORDS else "r" for heading in table[0])
    head, *body = [
        " & ".join(special.sub(lambda match: LATEX[match[0]], cell) for cell in row) + r" \\"
        for row in table
    ]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def summary(comparison: Comparison) -> list[str | Table]:
    """A table, the verdict, and notes."""
    head, *body = texts(comparison, SUMMARY)
    title = f"{comparison.title}: {comparison.test.n_queries:,} test queries"
    failed = [f"{name} failed: {reason}" for name, reason in comparison.failed.items()]
    verdict = comparison.verdict.splitlines()
    return [Table(title, head, body), *verdict, *comparison.cost_notes, *failed]
