"""How commands print: tables for people, JSON for scripts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from localrank._base.memory import peak_memory
from localrank._base.printing import Table, as_text, terminal_width, wrapped

# Narrower values go below their names.
SHORTEST_VALUE = 20


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column aligned left, the others right."""
    print_result([Table(title, columns, rows)])


def print_result(shown: Iterable[str | Table]) -> None:
    """Print lines and tables."""
    print(as_text(shown) + "\n")


def print_facts(title: str, rows: Sequence[Sequence[str]]) -> None:
    """Print names and values, in two columns if the terminal is wide enough."""
    width = terminal_width()
    left = max(len(name) for name, _ in rows) + 3
    if width - left < SHORTEST_VALUE:
        left = 4
    lines = wrapped(title, width)
    for name, value in rows:
        if left == 4:
            first, *others = wrapped(f"{name}: {value}", width - left)
            lines.append(f" {first}")
        else:
            first, *others = wrapped(value, width - left)
            lines.append(f" {name:<{left - 1}}{first}")
        lines += [" " * left + line for line in others]
    print("\n".join(lines))


def shortened(items: Sequence[str], most: int = 10) -> str:
    """The first items, and how many more there are.

    Examples
    --------
    >>> shortened(["bm25", "price", "age"], most=2)
    'bm25, price, and 1 more'
    """
    more = f", and {len(items) - most:,} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def print_json(value: Any) -> None:
    """Print one JSON document."""
    json.dump(value, sys.stdout, indent=2)
    sys.stdout.write("\n")


def say(text: str) -> None:
    """Print a line about the progress to standard error."""
    print(text, file=sys.stderr)


def cost(seconds: float) -> str:
    """The time, and the most memory that this process has used, as text.

    Examples
    --------
    >>> import re
    >>> re.sub(r"[0-9.]+ [MG]B", "… GB", cost(1.25))
    '1.2 s, peak memory … GB'
    """
    text = f"{seconds:.1f} s" if seconds < 100 else f"{seconds:.0f} s"
    peak = peak_memory()
    if peak is None:
        return text
    return (
        f"{text}, peak memory {peak / 1e9:.1f} GB"
        if peak >= 1e9
        else (f"{text}, peak memory {peak / 1e6:.0f} MB")
    )


def say_if_compiling() -> None:
    """Announce the compilation that delays the first result on a machine, also in logs."""
    from localrank._kernels.compilation import announce_everywhere

    announce_everywhere()
