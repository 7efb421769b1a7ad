"""A comparison as a table: DataFrame, Markdown, LaTeX, HTML."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from localrank.evaluation.significance import PairedTest, p_text

if TYPE_CHECKING:
    import pandas

    from localrank.evaluation.comparison import Comparison

LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def to_frame(comparison: Comparison) -> pandas.DataFrame:
    """One row per method that did not fail, numbers as they are."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install pandas.") from error
    measure = comparison.measures[0]

    def tested(tests: dict[Any, PairedTest] | None) -> tuple[float | None, float | None]:
        if not tests:
            return None, None
        return tests[measure].mean_difference, tests[measure].p

    rows = []
    for name, result in comparison.finished.items():
        gain, p = tested(comparison.against_baseline.get(name))
        equal_gain, equal_p = tested(comparison.at_equal_cost.get(name))
        rows.append(
            {
                "method": name,
                "role": comparison.entries[name].role,
                **{str(measure): result.mean(measure) for measure in comparison.measures},
                "n_models": result.n_models,
                "train_cpu_seconds": result.train_cpu_seconds,
                "milliseconds_per_query": result.milliseconds_per_query,
                "gain": gain,
                "p": p,
                "opponent": comparison.opponents.get(name),
                "gain_at_equal_cost": equal_gain,
                "p_at_equal_cost": equal_p,
            }
        )
    return pandas.DataFrame(rows)


def texts(comparison: Comparison) -> list[list[str]]:
    """The headings, then a row of texts for each method that did not fail."""
    measure = comparison.measures[0]
    table = [
        [
            "method",
            *map(str, comparison.measures),
            "models",
            "CPU s",
            "ms",
            "gain",
            "p",
            "opponent",
            "gain at equal cost",
            "p at equal cost",
        ]
    ]

    def tested(tests: dict[Any, PairedTest] | None) -> list[str]:
        if not tests:
            return ["", ""]
        test = tests[measure]
        return [f"{test.mean_difference:+.4f}", short_p(test.p)]

    for name, result in comparison.finished.items():
        table.append(
            [
                name,
                *(f"{result.mean(measure):.4f}" for measure in comparison.measures),
                str(result.n_models),
                f"{result.train_cpu_seconds:.1f}",
                f"{result.milliseconds_per_query:.2f}",
                *tested(comparison.against_baseline.get(name)),
                comparison.opponents.get(name, ""),
                *tested(comparison.at_equal_cost.get(name)),
            ]
        )
    return table


def to_markdown(comparison: Comparison) -> str:
    """Rows between pipes; numbers to the right."""
    head, *rows = [[cell.replace("|", "\\|") for cell in row] for row in texts(comparison)]
    left = {0, head.index("opponent")}
    rule = ["---" if column in left else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])


def to_latex(comparison: Comparison) -> str:
    """A tabular with the rules of booktabs."""
    special = re.compile("|".join(map(re.escape, LATEX)))
    head, *rows = [
        " & ".join(special.sub(lambda found: LATEX[found[0]], cell) for cell in row) + r" \\"
        for row in texts(comparison)
    ]
    columns = "".join(
        "l" if name in ("method", "opponent") else "r" for name in texts(comparison)[0]
    )
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def to_html(comparison: Comparison) -> str:
    """The table and the verdict, for a notebook."""

    def row(cells: list[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"

    head, *rows = texts(comparison)
    paragraphs = [comparison.verdict, *comparison.cost_notes]
    failed = [f"{n} failed: {r.failed}" for n, r in comparison.results.items() if r.failed]
    return "".join(
        [
            f"<table><thead>{row(head, 'th')}</thead><tbody>",
            *(row(cells, "td") for cells in rows),
            "</tbody></table>",
            *(f"<p>{html.escape(text)}</p>" for text in [*paragraphs, *failed]),
        ]
    )


def short_p(p_value: float) -> str:
    """A p-value without its letter.

    Examples
    --------
    >>> short_p(0.04), short_p(1e-9)
    ('0.040', '< 0.001')
    """
    return p_text(p_value).removeprefix("p ").removeprefix("= ")
