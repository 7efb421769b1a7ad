"""How commands print: rich tables for people, JSON for scripts."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on standard output; the first column left, the others right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    # Little space between columns, so that numbers stay whole where lines have 80 characters.
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    for position, column in enumerate(columns):
        if position == 0:
            table.add_column(column, no_wrap=True)
        else:
            table.add_column(column, justify="right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def print_facts(title: str, rows: Sequence[Sequence[str]]) -> None:
    """Names and values on standard output, both to the left, without a header."""
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, show_header=False
    )
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    json.dump(value, sys.stdout, indent=2)
    sys.stdout.write("\n")


def say(text: str) -> None:
    """A line about what is going on, on the error stream."""
    from rich.console import Console

    Console(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True)


def say_if_compiling() -> None:
    """Explain the wait before the first result on a machine, to logs too."""
    from localrank.kernels.compilation import announce_everywhere

    announce_everywhere()
