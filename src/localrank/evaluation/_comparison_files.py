"""The files of a comparison: page, results, each query's values, rankings."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localrank.data import write_run
from localrank.data._atomic import atomic_write
from localrank.evaluation import report
from localrank.evaluation._contents import contents

if TYPE_CHECKING:
    from localrank.evaluation.comparison import Comparison

# Parts that only the page has. They grow with the number of queries.
ON_THE_PAGE = ("queries", "explorer", "calibration", "maps", "smaller_is_better")


def write(comparison: Comparison, folder: Path, command: str | None) -> None:
    """Write index.html, results.json, scores.csv and runs/."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: is a file. Name a folder for the report.")
    folder.mkdir(parents=True, exist_ok=True)
    shown = contents(comparison, command=command)
    report.write(shown, folder / "index.html")
    results = {key: value for key, value in shown.items() if key not in ON_THE_PAGE}
    with atomic_write(folder / "results.json") as file:
        file.write(json.dumps(results, indent=2).encode())
    _write_scores(shown["queries"], folder / "scores.csv")
    runs = folder / "runs"
    runs.mkdir(exist_ok=True)
    tags = {name: name.replace(" ", "-").replace("/", "-") for name in comparison.finished}
    for old in runs.glob("*.trec"):
        if old.stem not in tags.values():
            old.unlink()
    for name, result in comparison.finished.items():
        write_run(comparison.test, result.scores, runs / f"{tags[name]}.trec", tag=tags[name])


def _write_scores(queries: dict[str, Any], path: Path) -> None:
    with atomic_write(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        rows = csv.writer(text)
        rows.writerow(["query", "fold", "method", "measure", "value"])
        for method, columns in queries["values"].items():
            for measure, values in columns.items():
                for query, fold, value in zip(
                    queries["ids"], queries["folds"], values, strict=True
                ):
                    names = (_harmless(name) for name in (query, fold, method))
                    rows.writerow([*names, measure, value])
        text.flush()
        text.detach()


def _harmless(name: str) -> str:
    """A name that a spreadsheet does not read as a formula.

    Examples
    --------
    >>> _harmless("=1+1"), _harmless("-7"), _harmless("q7")
    ("'=1+1", '-7', 'q7')
    """
    formula = name.startswith(("=", "+", "@", "\t", "\r")) or (
        name.startswith("-") and not name[1:].replace(".", "", 1).isdigit()
    )
    return f"'{name}" if formula else name
