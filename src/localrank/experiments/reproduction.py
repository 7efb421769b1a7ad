"""The result of an experiment: tables with published numbers, figures, and what holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from localrank._base import printing
from localrank.data._atomic import atomic_write
from localrank.evaluation import PairedTest
from localrank.evaluation.plots import Chart, draw_charts, write_charts
from localrank.evaluation.significance import p_text
from localrank.experiments.published_numbers import has_numbers, published_cells, source, whole

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

    def markdown(self) -> str:
        """The table for a page."""
        words = [
            all(isinstance(value, str | None) for value in column)
            for column in zip(*self.rows, strict=True)
        ]
        align = ["---" if is_text else "---:" for is_text in words]
        lines = [f"### {self.title}", ""]
        lines += [f"| {' | '.join(row)} |" for row in (self.columns, align, *self.cells())]
        return "\n".join([*lines, "", self.note] if self.note else lines)


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


@dataclass(frozen=True)
class Claim:
    """A claim, and what was measured.

    Attributes
    ----------
    says : str
        A clause that can stand after "that".
    holds : bool or None
        None: the difference is within the noise.
    measured : str
        The numbers that decide.
    """

    says: str
    holds: bool | None
    measured: str


@dataclass(frozen=True)
class Making:
    """How results were made: the command, the time, and the versions of the libraries.

    Attributes
    ----------
    command : str
    seconds : float
        Time on the clock.
    cpu_seconds : float
        CPU time of all threads. Other work on the machine does not count.
    versions : mapping from library to version

    Examples
    --------
    >>> print(Making("localrank reproduce lgmml", 99, 150, {"python": "3.12", "numpy": "2.1"}))
    Made in 2.5 minutes of processor time with Python 3.12, numpy 2.1.
    """

    command: str
    seconds: float
    cpu_seconds: float
    versions: Mapping[str, str]

    def __str__(self) -> str:
        took, unit = self.cpu_seconds, "seconds"
        if took >= 90:
            took, unit = took / 60, "minutes"
        libraries = [f"{name} {version}" for name, version in self.versions.items()]
        with_these = ", ".join(libraries).replace("python", "Python", 1)
        return f"Made in {took:.3g} {unit} of processor time with {with_these}."


@dataclass(repr=False)
class Reproduction(printing.Printed):
    """The result of an experiment. Its parts add their tables, figures and claims.

    Attributes
    ----------
    experiment, data : str
    tables, figures, claims : list
    claimant : str, default="the paper"
        Who makes the claims.
    """

    experiment: str
    data: str
    tables: list[ResultTable] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    claimant: str = "the paper"

    def _shown(self) -> list[str | printing.Table]:
        tables = (printing.Table(t.title, t.columns, t.cells()) for t in self.tables)
        return [*tables, self.conclusion]

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

    def claim(self, says: str, holds: bool | None, measured: str) -> None:
        """Add a `Claim`."""
        self.claims.append(Claim(says, holds, measured))

    def claim_better(self, says: str, measure: str, test: PairedTest, more: str = "") -> None:
        """Add the claim that the first of two methods is better, decided by a paired test."""
        self.claim(says, decided(test), f"{measure} {difference(test)}{more}")

    @property
    def name(self) -> str:
        """Experiment and data, as in the names of files.

        Examples
        --------
        >>> Reproduction("wins", "MQ2007, OHSUMED").name
        'wins-mq2007-ohsumed'
        """
        return f"{self.experiment}-{self.data}".lower().replace(", ", "-")

    def figure(self, name: str, caption: str, chart: Chart | str, **options: Any) -> None:
        """Add a `Figure`: a chart, or the kind of one with its options.

        Its file's name begins with the experiment and the data.
        """
        drawing = chart if isinstance(chart, Chart) else Chart(chart, **options)
        self.figures.append(Figure(f"{self.name}-{name.lower()}", caption, drawing))

    @property
    def conclusion(self) -> str:
        """In words: what agrees with the paper and what does not.

        Examples
        --------
        >>> claims = [Claim("trees lose", False, "0.1")]
        >>> Reproduction("lgmml", "OHSUMED", claims=claims).conclusion
        'On OHSUMED the paper is not borne out where it says that trees lose (0.1).'
        """
        parts = []
        for holds, words in (
            (True, f"{self.claimant} is borne out where it says that"),
            (False, f"{self.claimant} is not borne out where it says that"),
            (None, f"the differences are within the noise where {self.claimant} says that"),
        ):
            clauses = [f"{c.says} ({c.measured})" for c in self.claims if c.holds is holds]
            if clauses:
                parts.append(f"{words} {'; that '.join(clauses)}")
        if not parts:
            return f"Nothing {self.claimant} says can be tested on {self.data}."
        return (
            f"On {self.data} "
            + ". ".join(p[0].upper() + p[1:] if i else p for i, p in enumerate(parts))
            + "."
        )

    def markdown(self, making: Making, figures: bool = True) -> str:
        """The page in Markdown."""
        about = f"Published numbers: {source(self.experiment)}"
        if whole(self.data) != self.data and has_numbers(self.experiment, self.data):
            about += f" They are for {whole(self.data)}; {self.data} is a part of it."
        verdicts = {True: "yes", False: "no", None: "undecided"}
        claims = ResultTable(
            f"What {self.claimant} says, and what holds here",
            [f"{self.claimant} says that", "holds", "measured"],
            [[claim.says, verdicts[claim.holds], claim.measured] for claim in self.claims],
        )
        parts = [f"# {self.experiment} on {self.data}", f"```\n{making.command}\n```"]
        parts += [str(making), about]
        parts += [self.conclusion, *([claims.markdown()] if self.claims else [])]
        parts += [table.markdown() for table in self.tables]
        if figures:
            parts += [f"![{f.caption}](figures/{f.name}.svg)\n\n{f.caption}" for f in self.figures]
        return "\n\n".join(parts) + "\n"

    def as_json(self) -> dict[str, Any]:
        """The numbers, for scripts."""
        return {
            "experiment": self.experiment,
            "data": self.data,
            "source": source(self.experiment),
            "conclusion": self.conclusion,
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

    def write(self, folder: Path, making: Making) -> bool:
        """Write `results.json`, `index.md`, and the figures as numbers and as drawings.

        The numbers of the figures are one JSON file in the folder `figures`, which
        `python -m localrank.evaluation.plots` draws again. Drawing needs the extra
        `localrank[plots]`. Without it, there are no drawings, and the page shows none.

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
        with atomic_write(folder / "index.md") as file:
            file.write(self.markdown(making, figures=drawn).encode())
        with atomic_write(folder / "results.json") as file:
            results = {**asdict(making), **self.as_json()}
            file.write(json.dumps(results, indent=2).encode())
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


def decided(*tests: PairedTest) -> bool | None:
    """Whether the first method is better in all tests. None: a difference is within the noise."""
    lowest = min(test.sign for test in tests)
    return lowest > 0 if lowest else None


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
