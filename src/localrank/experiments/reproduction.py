"""The result of an experiment: tables with published numbers, figures, and what holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from localrank._base import printing
from localrank.data._atomic import atomic_write
from localrank.evaluation import PairedTest
from localrank.evaluation.plots import Chart, draw_charts, write_charts
from localrank.evaluation.significance import p_text
from localrank.experiments._page_text import summary_lines, write_page
from localrank.experiments.by_name import page_name
from localrank.experiments.published_numbers import published_cells, source

Value = str | int | float | None
Rows = Sequence[Sequence[Value]]
# Numbers by a tuple of names, outermost first.
Numbers = Mapping[Any, float]


@dataclass(frozen=True)
class ResultTable:
    """Rows of measured values.

    Attributes
    ----------
    title : str
    columns : sequence of str
        A column "difference" is printed with its sign.
    rows : list of list
        None: an empty cell.
    note : str
        What a reader must know.
    """

    title: str
    columns: Sequence[str]
    rows: Rows
    note: str = ""

    @classmethod
    def compared(
        cls, title: str, names: Sequence[str], ours: Numbers, published: Numbers, note: str = ""
    ) -> ResultTable:
        """Our values beside published ones. Both have the same keys: tuples of text, one per name.

        Without published numbers there are no columns for them.

        Examples
        --------
        >>> table = ResultTable.compared("MAP", ["method"], {("SVMMap",): 0.5}, {("SVMMap",): 0.25})
        >>> table.columns, table.rows
        (['method', 'ours', 'published', 'difference'], [['SVMMap', 0.5, 0.25, 0.25]])
        """
        if not any(key in published for key in ours):
            return cls(
                title, [*names, "ours"], [[*key, value] for key, value in ours.items()], note
            )
        rows: list[list[Value]] = []
        for key, value in ours.items():
            number = published.get(key)
            rows.append([*key, value, number, None if number is None else value - number])
        return cls(title, [*names, "ours", "published", "difference"], rows, note)

    def cells(self) -> list[list[str]]:
        """The rows as text."""
        return [
            [
                ("+" if name == "difference" and value is not None and value >= 0 else "")
                + text(value)
                if not isinstance(value, str)
                else value
                for name, value in zip(self.columns, row, strict=True)
            ]
            for row in self.rows
        ]

    def as_text(self) -> dict[str, Any]:
        """The table as `page_text` shows it: cells of text, and which columns are numbers."""
        numeric = [
            not all(isinstance(value, str | None) for value in column)
            for column in zip(*self.rows, strict=True)
        ]
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": self.cells(),
            "numeric": numeric,
            "note": self.note,
        }


@dataclass(frozen=True)
class Figure:
    """A chart with a name and a caption.

    Attributes
    ----------
    name : str
        The name of its file, without the ending.
    caption : str
    chart : Chart
        What it shows, as data.
    """

    name: str
    caption: str
    chart: Chart


class Verdict(StrEnum):
    """What a test says of a claim. Without a test there is only a number."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"
    NOT_TESTED = "not tested"


class ClaimTest(Protocol):
    """A test of a claim, such as a `PairedTest`."""

    @property
    def sign(self) -> int:
        """1: the claim holds. -1: its opposite does. 0: neither is established."""


@dataclass(frozen=True)
class Claim:
    """A claim, and what was measured.

    Attributes
    ----------
    says : str
        A clause that can stand after "that", and says no more than its author does.
    verdict : Verdict
    measured : str
        The numbers.
    """

    says: str
    verdict: Verdict
    measured: str


@dataclass(frozen=True)
class Making:
    """How results were made: the command, the code, the time, and the versions of the libraries.

    Attributes
    ----------
    command : str
    seeds : sequence of int
    date : str
    commit : str
        Of the code, as `code_digest.commit` words it.
    digest : str
        Of the experiment's code.
    seconds : float
        Time on the clock.
    cpu_seconds : float
        CPU time of all threads. Other work on the machine does not count.
    versions : mapping from library to version

    Examples
    --------
    >>> versions = {"python": "3.12", "numpy": "2.1"}
    >>> day, commit, digest = "2026-11-18", "at commit 1a2b3c", "9f8e7d"
    >>> print(Making("localrank reproduce lgmml", (0, 1), day, commit, digest, 99, 150, versions))
    Made on 2026-11-18 at commit 1a2b3c (digest of the experiment's code: 9f8e7d), seeds 0, 1, in \
2.5 minutes of processor time with Python 3.12, numpy 2.1.
    """

    command: str
    seeds: Sequence[int]
    date: str
    commit: str
    digest: str
    seconds: float
    cpu_seconds: float
    versions: Mapping[str, str]

    def __str__(self) -> str:
        took, unit = self.cpu_seconds, "seconds"
        if took >= 90:
            took, unit = took / 60, "minutes"
        libraries = [f"{name} {version}" for name, version in self.versions.items()]
        with_these = ", ".join(libraries).replace("python", "Python", 1)
        return (
            f"Made on {self.date} {self.commit} (digest of the experiment's code: {self.digest}), "
            f"seed{'s' * (len(self.seeds) != 1)} {', '.join(map(str, self.seeds))}, "
            f"in {took:.3g} {unit} of processor time with {with_these}."
        )


@dataclass(repr=False)
class Reproduction(printing.Printed):
    """The result of an experiment. Its parts add their tables, figures and claims.

    Attributes
    ----------
    experiment, data : str
    tables, figures, claims : list
    claimant : str, default="the paper"
        Who makes the claims.
    quick : bool, default=False
        A small run, which tries the command. It judges nothing.
    """

    experiment: str
    data: str
    tables: list[ResultTable] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    claimant: str = "the paper"
    quick: bool = False

    def _shown(self) -> list[str | printing.Table]:
        tables = (printing.Table(t.title, t.columns, t.cells()) for t in self.tables)
        return [*tables, *(line.replace("**", "") for line in self.summary)]

    def published(self, place: str) -> dict[tuple[str, ...], float]:
        """The numbers of the paper's table or figure for the data, by their names."""
        return published_cells(self.experiment, place, self.data)

    def table(self, title: str, columns: Sequence[str], rows: Rows, note: str = "") -> None:
        """Add a `ResultTable`."""
        self.tables.append(ResultTable(title, columns, rows, note))

    def compare(
        self, title: str, names: Sequence[str], ours: Numbers, published: Numbers, note: str = ""
    ) -> None:
        """Add a table of our values beside published ones, as `ResultTable.compared` makes it."""
        self.tables.append(ResultTable.compared(title, names, ours, published, note))

    def claim(self, says: str, measured: str, *tests: ClaimTest) -> None:
        """Add a claim. It holds if every test says so, and is wrong if one says the opposite.

        Without tests it gets no verdict: its numbers are shown as what was measured.
        """
        verdict = Verdict.NOT_TESTED if self.quick or not tests else decided(*tests)
        self.claims.append(Claim(says, verdict, measured))

    def claim_better(self, says: str, measure: str, test: PairedTest, more: str = "") -> None:
        """Add the claim that the first of two methods is better, decided by a paired test."""
        self.claim(says, f"{measure} {difference(test)}{more}", test)

    @property
    def name(self) -> str:
        """The name of its page, and how the names of its figures begin."""
        return page_name(self.experiment, self.data)

    def figure(self, name: str, caption: str, chart: Chart | str, **options: Any) -> None:
        """Add a `Figure`: a chart, or the kind of one with its options.

        Its file's name begins with that of the page.
        """
        drawing = chart if isinstance(chart, Chart) else Chart(chart, **options)
        self.figures.append(Figure(f"{self.name}-{name.lower()}", caption, drawing))

    @property
    def summary(self) -> list[str]:
        """How many claims hold, and the first of each verdict, a line each."""
        claims = [vars(claim) for claim in self.claims]
        return summary_lines(self.claimant, self.data, claims, quick=self.quick)

    def as_json(self) -> dict[str, Any]:
        """The numbers, for scripts."""
        return {
            "experiment": self.experiment,
            "data": self.data,
            "source": source(self.experiment),
            "summary": self.summary,
            "claims": [vars(claim) for claim in self.claims],
            "tables": [
                {
                    "title": table.title,
                    "note": table.note,
                    "columns": list(table.columns),
                    "rows": [[plain(value) for value in row] for row in table.rows],
                }
                for table in self.tables
            ],
            "figures": {figure.name: figure.caption for figure in self.figures},
        }

    def record(self, making: Making, *, figures: bool = True) -> dict[str, Any]:
        """All that the page tells, as JSON."""
        shown = self.figures if figures else []
        return {
            "experiment": self.experiment,
            "data": self.data,
            "name": self.name,
            "claimant": self.claimant,
            "quick": self.quick,
            **asdict(making),
            "made": str(making),
            "claims": [vars(claim) for claim in self.claims],
            "figures": [{"name": figure.name, "caption": figure.caption} for figure in shown],
            "tables": [table.as_text() for table in self.tables],
        }

    def write(self, folder: Path, making: Making) -> bool:
        """Write the page `NAME.md`, its record `NAME.json`, and the figures.

        The page is written from the record alone (`page_text`). The numbers of the figures are
        `figures/NAME.json`, which `python -m localrank.evaluation.plots` draws again. Drawing
        needs the extra `localrank[plots]`. Without it, there are no drawings, and the page shows
        none.

        Returns
        -------
        bool
            Whether the figures were drawn.
        """
        drawn = find_spec("matplotlib") is not None
        folder.mkdir(parents=True, exist_ok=True)
        if self.figures:
            (folder / "figures").mkdir(exist_ok=True)
            numbers = folder / "figures" / f"{self.name}.json"
            write_charts({figure.name: figure.chart for figure in self.figures}, numbers)
            if drawn:
                draw_charts(numbers)
        record = json.dumps(self.record(making, figures=drawn), indent=1, ensure_ascii=False)
        with atomic_write(folder / f"{self.name}.json") as file:
            file.write(record.encode() + b"\n")
        write_page(folder, self.name)
        return drawn


def text(value: Value) -> str:
    """A value in print.

    Examples
    --------
    >>> text(0.1234), text(2e-9), text(12.345), text(12345.0), text(12345), text(None)
    ('0.1234', '2e-09', '12.35', '12,345', '12,345', '')
    """
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if 0 < abs(value) < 5e-5:
        return f"{value:.0e}"
    digits = 4 if abs(value) < 10 else 2 if abs(value) < 1000 else 0
    return f"{value:,.{digits}f}"


def plain(value: Value) -> Value:
    """A value in a type that JSON has. NaN and infinity become None."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def decided(*tests: ClaimTest) -> Verdict:
    """Whether all tests say the same. One that says the opposite is enough to refute."""
    lowest = min(test.sign for test in tests)
    return Verdict.YES if lowest > 0 else Verdict.NO if lowest < 0 else Verdict.UNDECIDED


def difference(test: PairedTest) -> str:
    """A paired test in few words.

    Examples
    --------
    >>> from localrank.evaluation import paired_test
    >>> difference(paired_test([0.5, 0.7, 0.9], [0.4, 0.7, 0.6]))
    '+0.1333, p = 0.270'
    """
    return f"{test.mean_difference:+.4f}, {p_text(test.p)}"


def difference_cells(test: PairedTest) -> tuple[float, float, str]:
    """A paired test in three cells: the difference, p, and the queries won, tied and lost.

    Examples
    --------
    >>> from localrank.evaluation import paired_test
    >>> difference_cells(paired_test([0.5, 0.7, 0.9], [0.4, 0.7, 0.6]))[2]
    '2/1/0'
    """
    return test.mean_difference, test.p, f"{test.wins}/{test.ties}/{test.losses}"
