"""Write the numbers that pages quote, between `<!-- NAME -->` and `<!-- /NAME -->`.

They come from the records of the stored pages and from `speed.md`. Run it when one of these was
made anew: `python docs/quoted_numbers.py`. With a folder of collections it also runs the first
example of the README on MQ2008, in an environment with nothing but what the README installs before
it. A test compares the pages with what this writes.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
import venv
from functools import partial
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
STORED = DOCS / "reproduction"
README, INDEX = DOCS.parent / "README.md", DOCS / "index.md"
# The pages, and their way to the folder of the documentation.
PAGES = {
    README: "docs/",
    INDEX: "",
    DOCS / "methods" / "best.md": "../",
    DOCS / "scoreboard.md": "",
}

RECIPES = "The recipes against global models of equal cost"
SPLITS = "The papers' local methods against the models they are made of, and in coordinates"
# A recipe and its opponent in the study, and what the table calls them.
DUELS = {
    ("best", "6 mixed with CatBoost"): "six global models of mixed kinds, with CatBoost",
    ("best", "6 LambdaMARTs"): "six LambdaMARTs",
    ("fast", "2 mixed"): "two global models of mixed kinds",
    ("one", "global one"): "one model that learned from six global ones",
    ("one", "LambdaMART"): "one LambdaMART",
    ("local_rank", "SVMMap"): "one SVMMap, which it trains in each group",
    ("adaptive_training", "LambdaMART"): "one LambdaMART, which it trains in each group",
}
PLACES = ("all", "held out")
MEASURES = {"ndcg@10": "NDCG@10", "map": "MAP"}
CELL = re.compile(r"([+-]\d\.\d{4}) \[(.*?), (.*?)\] \((.*?); (.*?)\)")
LEVEL = 0.05

# The rows of the board that pages show: what they are called there, and in a sentence.
BOARD = "Every method, default parameters"
METHODS = {
    "best": "`best`, six models",
    "one": "`one`",
    "fast": "`fast`, two models",
    "6 mixed with CatBoost": "six global models of mixed kinds, with CatBoost",
    "SymmetricTrees": "SymmetricTrees",
    "CatBoost QueryRMSE": "CatBoost, QueryRMSE",
    "LambdaMART": "LambdaMART",
    "LightGBM lambdarank": "LightGBM, lambdarank",
    "XGBoost rank:ndcg": "XGBoost, rank:ndcg",
}
SAID = {
    "best": "`best`",
    "CatBoost QueryRMSE": "CatBoost",
    "LightGBM lambdarank": "LightGBM",
    "XGBoost rank:ndcg": "XGBoost",
}

# How a row of the page on speed begins, and what the README calls it.
COSTS = {
    "| parsing: LETOR text, MQ2007 (85 %), 36 MB |": "read 36 MB of LETOR text",
    "| measures: NDCG@10 and MAP of 1,017 queries, one call |": "NDCG@10 and MAP of 1,017 queries",
    "| LambdaMART: training, MQ2007-85, 100 trees of 31 leaves |": (
        "train `LambdaMART`, 100 trees of 31 leaves, MQ2007"
    ),
    "| predict of arrays: LambdaMART, 300 trees of 7 leaves, 66 documents |": (
        "score a list of 66 documents by 300 trees"
    ),
    "| best: training, MQ2007 fold 1, beside one LambdaMART of 300 trees |": (
        "train `best`, six models; the peer trains one"
    ),
}


def wins(study: dict[str, Any], folder: str) -> str:
    """The small table of wins and losses, from the record of the study."""
    found = duels(study)
    columns = [(measure, place) for measure in MEASURES for place in PLACES]
    titles = [f"{MEASURES[measure]}, {place.replace(' ', '&nbsp;')}" for measure, place in columns]
    lines = [f"| | over | {' | '.join(titles)} |", "|---" * (2 + len(columns)) + "|"]
    for (recipe, other), words in DUELS.items():
        row = [found.get((recipe, other, *column)) for column in columns]
        shown = " | ".join(gain(cell) if cell else "" for cell in row)
        lines.append(f"| `{recipe}` | {words} | {shown} |")
    note = (
        "Differences on 2,643 queries of four collections, and on the 1,092 of them that had no "
        "part in choosing the models of `best`, with half of their 95 % intervals. They cover the "
        "chance of the queries and of three trainings. Bold differences are established "
        "(p < .05) after Holm's correction for all tests in their section of "
        f"[the study]({folder}reproduction/wins.md)."
    )
    return "\n".join([*lines, "", note])


def duels(study: dict[str, Any]) -> dict[tuple[str, str, str, str], str]:
    """Differences of the study, by recipe, opponent, measure and place."""
    tables = {table["title"]: table for table in study["tables"]}
    found = {}
    for row in tables[RECIPES]["rows"]:
        named = dict(zip(tables[RECIPES]["columns"], row, strict=True))
        recipe, _, other = row[0].partition(" − ")
        found |= {(recipe, other, named["measure"], place): named[place] for place in PLACES}
    for recipe, other, *row in tables[SPLITS]["rows"]:
        # Of all queries alone.
        measured = zip(tables[SPLITS]["columns"][2:], row, strict=True)
        found |= {(recipe, other, measure, "all"): cell for measure, cell in measured}
    return found


def gain(cell: str) -> str:
    """A cell of the study in short: bold if the difference is significant after correction."""
    found = CELL.fullmatch(cell)
    if found is None:
        raise ValueError(f"wins.json: a cell is not a difference with its p-values: {cell!r}.")
    difference = found[1].replace("0.", ".", 1).replace("-", "−")
    half = (float(found[3]) - float(found[2])) / 2
    corrected = 0.0 if found[5].startswith("<") else float(found[5])
    shown = f"**{difference}**" if corrected < LEVEL else difference
    return f"{shown}&nbsp;±&nbsp;{half:.4f}".replace("±&nbsp;0.", "±&nbsp;.")


def board(record: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The rows of the scoreboard by method. The cell of all queries is NDCG@10 / MAP."""
    (table,) = (table for table in record["tables"] if table["title"] == BOARD)
    return {row[0]: dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}


def board_table(record: dict[str, Any]) -> str:
    """The methods that most people ask about, the best first."""
    rows = board(record)
    shown = sorted(METHODS, key=lambda name: rows[name]["all"], reverse=True)
    lines = ["| | NDCG@10 | training | a document |", "|---|---|---|---|"]
    for name in shown:
        row = rows[name]
        lines.append(
            f"| {METHODS[name]} | {_ndcg(row)} | {row['training']} | {row['a document']} |"
        )
    return "\n".join(lines)


def board_sentence(record: dict[str, Any]) -> str:
    """The same in a sentence."""
    rows = board(record)
    parts = [f"{words} {_ndcg(rows[name])}" for name, words in SAID.items()]
    return ", ".join([f"NDCG@10 {parts[0]}", *parts[1:]]) + "."


def _ndcg(row: dict[str, str]) -> str:
    return "0" + row["all"].split(" / ")[0]


def costs(speed: str) -> str:
    """Five rows of the page on speed, with its numbers."""
    lines = ["| | localrank | peer | its number | ratio |", "|---|---|---|---|---|"]
    for beginning, words in COSTS.items():
        # The first peer is the strongest.
        row = next(line for line in speed.splitlines() if line.startswith(beginning))
        cells = row.removeprefix(beginning).split("|")
        lines.append(f"| {words} |{'|'.join(cells[:4])}|")
    return "\n".join(lines)


def first_example(collections: Path) -> str:
    """What the first example of the README prints on MQ2008."""
    page = README.read_text(encoding="utf-8")
    (extras,) = re.findall(r"^pip install 'localrank(\[.*\])'$", page, re.MULTILINE)[:1]
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[:1]
    with tempfile.TemporaryDirectory() as folder:
        venv.create(f"{folder}/clean", with_pip=True)
        python = f"{folder}/clean/bin/python"
        quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([python, *quiet, f"{README.parent}{extras}"], check=True)
        with Path(folder, "train.txt").open("wb") as file:
            for part in sorted((collections / "MQ2008").glob("S*.txt.gz")):
                file.write(gzip.decompress(part.read_bytes()))
        done = subprocess.run(
            [python, "-c", code], cwd=folder, check=True, stdout=subprocess.PIPE, text=True
        )
    return f"```\n{done.stdout.rstrip()}\n```"


def with_block(page: str, name: str, text: str) -> str:
    """A page with a new text between two marks."""
    between = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", re.DOTALL)
    return between.sub(lambda _: f"{text}\n", page)


def with_numbers(path: Path) -> str:
    """The text of a page with today's numbers."""
    study, record = (
        json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("wins", "scoreboard")
    )
    speed = (DOCS / "speed.md").read_text(encoding="utf-8")
    written = {
        "wins": partial(wins, study, PAGES[path]),
        "board": partial(board_sentence if path == README else board_table, record),
        "costs": partial(costs, speed),
    }
    page = path.read_text(encoding="utf-8")
    for name, text in written.items():
        if f"<!-- {name} -->" in page:
            page = with_block(page, name, text())
    return page


def main() -> None:
    """Write the numbers into the pages."""
    for path in PAGES:
        path.write_text(with_numbers(path), encoding="utf-8")
    if sys.argv[1:]:
        printed = first_example(Path(sys.argv[1]))
        for path in (README, INDEX):
            page = path.read_text(encoding="utf-8")
            path.write_text(with_block(page, "first", printed), encoding="utf-8")


if __name__ == "__main__":
    main()
