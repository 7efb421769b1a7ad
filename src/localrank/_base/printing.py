"""Results for people: text that fits the terminal, HTML in a notebook, and tables on paper."""

from __future__ import annotations

import html
import re
import shutil
import textwrap
from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar
from unicodedata import category

# A blank at which a line does not break, as in "6.9 %".
UNBROKEN = "\u00a0"
# Unicode categories of characters that control a terminal instead of being shown.
STEERING = ("Cc", "Cf", "Cs")
NARROWEST = 20
# Styles of cells in a notebook. They set no colour: its theme does.
LEFT = "text-align:left"
RIGHT = "text-align:right;font-variant-numeric:tabular-nums"
CAPTION = "caption-side:top;text-align:left;font-weight:600;color:inherit"
# How a cell begins that holds a number, an interval or a share.
NUMBER = re.compile(r"[+\-−<≤]?\s?\d|nan$|…$")
# Characters that mean something to LaTeX, and how they are printed.
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


@dataclass(frozen=True)
class Table:
    """Cells of text below a title and headings.

    Attributes
    ----------
    title : str
    columns : sequence of str
    rows : sequence of sequence of str
    words : collection of str
        The columns of words. Paper has them to the left, and all others to the right.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Collection[str] = ()


class Printed:
    """Prints as what `_shown` returns: lines of text, and tables."""

    __slots__: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def _shown(self) -> Sequence[str | Table]:
        """Lines and tables, in the order they are read."""

    def __repr__(self) -> str:
        return as_text(self._shown())

    def _repr_html_(self) -> str:
        return as_html(self._shown())


def as_text(shown: Iterable[str | Table]) -> str:
    """Text that fits the width of the terminal. No number is split.

    A table that is too wide continues below, with its first column again.

    Examples
    --------
    >>> print(as_text([Table("Means", ["method", "map"], [["global", "0.5"]]), "No more."]))
    Means
    <BLANKLINE>
     method  map
     ───────────
     global  0.5
    <BLANKLINE>
    No more.
    """
    width = terminal_width()
    lines: list[str] = []
    for part in shown:
        if isinstance(part, Table):
            lines += ["", _table(part, width), ""]
        else:
            lines += wrapped(part, width)
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def as_html(shown: Iterable[str | Table]) -> str:
    """The same for a notebook: paragraphs, and tables in the colours of its theme.

    Examples
    --------
    >>> as_html(["a < b"])
    '<p>a &lt; b</p>'
    """
    return "".join(
        _html_table(part) if isinstance(part, Table) else f"<p>{html.escape(part)}</p>"
        for part in shown
    )


def _html_table(table: Table) -> str:
    """Columns of numbers to the right, in digits of one width; columns of words to the left."""
    styles = [
        RIGHT if all(NUMBER.match(cell) for cell in column if cell) and any(column) else LEFT
        for column in zip(*table.rows, strict=True)
    ] or [LEFT] * len(table.columns)

    def row(cells: Sequence[str], tag: str) -> str:
        shown = (
            f'<{tag} style="{style}">{html.escape(cell)}</{tag}>'
            for style, cell in zip(styles, cells, strict=True)
        )
        return f"<tr>{''.join(shown)}</tr>"

    caption = f'<caption style="{CAPTION}">{html.escape(table.title)}</caption>'
    body = "".join(row(cells, "td") for cells in table.rows)
    return (
        f"<table>{caption if table.title else ''}<thead>{row(table.columns, 'th')}</thead>"
        f"<tbody>{body}</tbody></table>"
    )


def as_markdown(table: Table) -> str:
    r"""Rows between pipes, without the title.

    Examples
    --------
    >>> print(as_markdown(Table("", ["method", "map"], [["a|b", "0.5"]], ["method"])))
    | method | map |
    | --- | ---: |
    | a\|b | 0.5 |
    """
    rule = ["---" if heading in table.words else "---:" for heading in table.columns]
    body = [[cell.replace("|", "\\|") for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [table.columns, rule, *body])


def as_latex(table: Table) -> str:
    """A tabular with the rules of booktabs, without the title."""
    special = re.compile("|".join(map(re.escape, LATEX)))
    columns = "".join("l" if heading in table.words else "r" for heading in table.columns)
    head, *body = [
        " & ".join(special.sub(lambda match: LATEX[match[0]], cell) for cell in row) + r" \\"
        for row in [table.columns, *table.rows]
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


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in a row as the first and the last.

    Examples
    --------
    >>> ranges([1, 2, 3, 7])
    '1 to 3, 7'
    """
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ", ".join(" to ".join(map(str, part)) for part in parts)


def terminal_width() -> int:
    """Characters in a line; 80 if there is no terminal."""
    return max(shutil.get_terminal_size().columns, NARROWEST)


def wrapped(text: str, width: int) -> list[str]:
    """Lines of whole words, without control characters.

    Examples
    --------
    >>> wrapped("a gain of +0.1234", 12)
    ['a gain of', '+0.1234']
    """
    plain = "".join(c if c == "\n" or category(c) not in STEERING else "\ufffd" for c in text)
    lines = []
    for line in plain.split("\n"):
        lines += textwrap.wrap(
            line, max(width, 1), break_long_words=False, break_on_hyphens=False
        ) or [""]
    return [line.replace(UNBROKEN, " ") for line in lines]


def _table(table: Table, width: int) -> str:
    """The title, then as many blocks of columns as needed, each with the first column."""
    columns = list(zip(table.columns, *table.rows, strict=True))
    # One blank precedes the first column, two precede every other one.
    longest = max(_cells(word) for cell in columns[0] for word in cell.split(" "))
    others = [[wrapped(cell, width - longest - 3) for cell in column] for column in columns[1:]]
    widest = max(map(_width, others), default=0)
    names = [wrapped(cell, width - widest - 3) for cell in columns[0]]
    blocks = [[names]]
    for column in others:
        if 1 + sum(2 + _width(one) for one in [*blocks[-1], column]) - 2 > width:
            blocks.append([names])
        blocks[-1].append(column)
    # A column that does not fit beside the names makes a block, too.
    shown = [block for block in blocks if len(block) > 1 or not others]
    return "\n\n".join(["\n".join(wrapped(table.title, width)), *map(_block, shown)])


def _block(columns: Sequence[Sequence[Sequence[str]]]) -> str:
    """Headings, a rule and rows; the first column to the left, the others to the right."""
    sizes = [_width(column) for column in columns]
    lines = []
    for row in zip(*columns, strict=True):
        for cells in zip_longest(*row, fillvalue=""):
            blanks = [" " * (size - _cells(cell)) for size, cell in zip(sizes, cells, strict=True)]
            padded = [blank + cell for blank, cell in zip(blanks, cells, strict=True)]
            padded[0] = cells[0] + blanks[0]
            lines.append(f" {'  '.join(padded)}".rstrip())
    heading = max(len(column[0]) for column in columns)
    lines.insert(heading, " " + "─" * (sum(sizes) + 2 * len(sizes) - 2))
    return "\n".join(lines)


def _width(column: Sequence[Sequence[str]]) -> int:
    return max(_cells(line) for cell in column for line in cell)


def _cells(text: str) -> int:
    """How many places of a terminal a text takes."""
    # Imported here: models know how to print what explains them, and are loaded without it.
    from rich.cells import cell_len

    return cell_len(text)
