"""How a page tells what an experiment found: its text, from its record alone.

The text is no part of what an experiment finds. A change here makes no page stale: `localrank
reproduce all` writes them anew from their records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from localrank.data._atomic import atomic_write
from localrank.experiments.published_numbers import has_numbers, source, whole

# How the claims of a page begin, by their verdicts, and at most how many of them it leads with.
SHOWN = {"yes": ("Holds", 4), "no": ("Does not hold", 3), "undecided": ("Undecided", 2)}


def page_text(record: Mapping[str, Any]) -> str:
    """The page: what holds, the first figure, all tables and figures, and how it was made."""
    experiment, data, claims = record["experiment"], record["data"], record["claims"]
    claimant, name = record["claimant"], record["name"]
    lead, *summary = summary_lines(claimant, data, claims, quick=record["quick"])
    parts = [f"# {experiment} on {data}", lead]
    if summary:
        parts.append("\n".join(f"- {line}" for line in summary))
    figures = [f"![{f['caption']}](figures/{f['name']}.svg)" for f in record["figures"]]
    shown = [
        f"{figure}\n\n{f['caption']}" for figure, f in zip(figures, record["figures"], strict=True)
    ]
    parts += shown[:1]
    if claims:
        columns = [f"{claimant} says that", "holds", "measured"]
        rows = [[claim["says"], claim["verdict"], claim["measured"]] for claim in claims]
        parts.append(table_text(f"What {claimant} says, and what holds here", columns, rows))
    parts += [table_text(**table) for table in record["tables"]]
    if shown[1:]:
        parts += ["### More figures", *shown[1:]]
    about = f"Published numbers: {source(experiment)}"
    if whole(data) != data and has_numbers(experiment, data):
        about += f" They are for {whole(data)}; {data} is a part of it."
    parts += ["### How this page was made", f"```\n{record['command']}\n```", record["made"], about]
    if shown:
        parts.append(
            f"This command and `make docs` draw the figures from [their numbers]"
            f"(figures/{name}.json). The repository has the numbers only."
        )
    return "\n\n".join(parts) + "\n"


def summary_lines(
    claimant: str, data: str, claims: Sequence[Mapping[str, Any]], *, quick: bool = False
) -> list[str]:
    """How many claims hold, and the first of each verdict, a line each.

    Examples
    --------
    >>> claims = [{"says": "trees lose", "verdict": "no", "measured": "0.1"}]
    >>> for line in summary_lines("the paper", "OHSUMED", claims):
    ...     print(line)
    Of 1 claim of the paper that is tested on OHSUMED, 0 hold, 1 does not, and 0 are undecided.
    **Does not hold**: trees lose (0.1).
    """
    if quick:
        return [f"A quick run of {data} tries the command. It judges nothing."]
    by_verdict = {one: [c for c in claims if c["verdict"] == one] for one in SHOWN}
    yes, no, undecided = (len(found) for found in by_verdict.values())
    n = yes + no + undecided
    if not n:
        return [f"Nothing {claimant} says can be tested on {data}."]
    lines = [
        f"Of {n} claim{'s' * (n > 1)} of {claimant} that {'are' if n > 1 else 'is'} tested on "
        f"{data}, {_count(yes, 'hold')}, {no} {'does' if no == 1 else 'do'} not, and "
        f"{undecided} {'is' if undecided == 1 else 'are'} undecided."
    ]
    for verdict, (word, most) in SHOWN.items():
        found = by_verdict[verdict]
        lines += [f"**{word}**: {c['says']} ({c['measured']})." for c in found[:most]]
    return lines


def _count(n: int, verb: str) -> str:
    return f"{n} {verb}{'s' * (n == 1)}"


def table_text(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[bool] = (),
    note: str = "",
) -> str:
    """A table of text in Markdown. Columns of numbers are aligned right."""
    align = ["---:" if right else "---" for right in numeric or [False] * len(columns)]
    lines = [f"### {title}", ""]
    lines += [f"| {' | '.join(row)} |" for row in (columns, align, *rows)]
    return "\n".join([*lines, "", note] if note else lines)


def write_page(folder: Path, name: str) -> None:
    """Write a page of a folder from its record."""
    record = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    with atomic_write(folder / f"{name}.md") as file:
        file.write(page_text(record).encode())
