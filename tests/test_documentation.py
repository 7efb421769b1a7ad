"""What the documentation shows is run: Python blocks page by page, commands up to their options."""

import json
import re
import runpy
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

from localrank.cli import app
from localrank.cli._diversity import alpha_ndcg_named
from localrank.cli._inputs import measure_names
from localrank.data import make_queries, read_letor, write_letor
from localrank.measures.parsing import TOOLS, measures_of, parse_measure
from localrank.rankers import RankSVM
from localrank.recipes import local_rank
from localrank.registry import METHODS, make_ranker

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Stands before a block that is only to be read, and says why.
NOT_RUN = re.compile(r"<!-- not run: \S.* -->\n+\Z")
# Pages whose blocks train for seconds.
SLOW = [
    f"docs/{name}.md"
    for name in (
        "coming-from/ranx",
        "compare",
        "how-to/tune",
        "local",
        "methods/adaptive-training",
        "tutorial",
    )
]
# Of a page, in words.
TWO_SCREENS = 600
NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?")


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Language, text and first line of each block that is not marked as not to be run."""
    text = page.read_text()
    fences = list(FENCE.finditer(text))
    assert 2 * len(fences) == len(re.findall(r"^\s*```", text, re.MULTILINE)), "fences are paired"
    return [
        (match[1], match[2], text[: match.start(2)].count("\n"))
        for match in fences
        if not NOT_RUN.search(text[: match.start()])
    ]


def commands() -> list[str]:
    """All commands shown, in blocks and with arguments in sentences; not those with an ellipsis."""
    lines: list[str] = []
    for page in PAGES:
        for language, text, _ in blocks(page):
            if language in ("", "sh"):
                lines += text.replace("\\\n", "").splitlines()
        lines += re.findall(r"`(localrank \w+ [^`\n]+)`", FENCE.sub("", page.read_text()))
    shown = (command for command in lines if command.startswith("localrank "))
    return sorted({command for command in shown if "…" not in command})


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """Small files by the names that the pages use."""
    folder = tmp_path_factory.mktemp("collection")
    made, _ = make_queries(
        80, n_documents=(6, 12), n_features=8, n_types=3, separation=1, random_state=0
    )
    queries = made.with_features(made.features)
    parts = {
        name: queries.select(np.arange(*ends))
        for name, ends in {"train": (0, 50), "vali": (50, 60), "test": (60, 80)}.items()
    }
    for name, part in parts.items():
        write_letor(part, folder / f"{name}.txt")
    write_letor(parts["train"], folder / "train.txt.gz")
    for i in (1, 2, 3):
        write_letor(queries.select(np.arange(i, 80, 3)), folder / f"S{i}.txt")
        fold = folder / "MQ2008" / f"Fold{i}"
        fold.mkdir(parents=True)
        for name, part in parts.items():
            positions = np.arange(i, part.n_queries, 3)
            write_letor(part.select(positions), fold / f"{name}.txt")
    frame = pd.DataFrame(made.features, columns=list(made.feature_names))
    frame = frame.assign(query=made.query_index, grade=made.labels, url=frame.index.astype(str))
    frame.to_parquet(folder / "train.parquet")
    return folder


@pytest.fixture
def namespace(collection, tmp_path, monkeypatch):
    """A folder of files to work in, and what pages take for granted."""
    shutil.copytree(collection, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    train, valid, test = (read_letor(f"{part}.txt") for part in ("train", "vali", "test"))
    return {
        "train": train,
        "valid": valid,
        "test": test,
        "dataset": test,
        "X": train.features,
        "y": train.labels,
        "qid": train.query_ids[train.query_index],
        "scores": RankSVM().fit(train).predict(test),
        "global_model": RankSVM().fit(train),
        "local_model": local_rank(3, ranker=RankSVM()).fit(train),
    }


def pages_to_run() -> list[Path]:
    """Pages with Python blocks, but for those that another page begins with."""
    runs = {
        page: [(kind, text) for kind, text, _ in blocks(page) if kind in ("python", "text")]
        for page in PAGES
    }

    def is_repeated(run) -> bool:
        return any(len(run) < len(other) and run == other[: len(run)] for other in runs.values())

    return [
        page
        for page, run in runs.items()
        if any(kind == "python" for kind, _ in run) and not is_repeated(run)
    ]


def pages_and_marks():
    """The pages, of which some train for seconds."""
    return [
        pytest.param(page, id=name, marks=pytest.mark.slow if name in SLOW else ())
        for page in pages_to_run()
        for name in [str(page.relative_to(ROOT))]
    ]


@pytest.mark.parametrize("page", pages_and_marks())
def test_python_blocks_run_and_print_what_is_shown(page, namespace, capsys):
    printed = None
    for language, text, line in blocks(page):
        if language == "python":
            # Empty lines before it, so that an error shows the line of the page.
            exec(compile("\n" * line + text, page, "exec"), namespace)
            printed = capsys.readouterr().out
        elif language == "text" and printed is not None:
            # Numbers may differ a little from one machine to another, the rest may not.
            assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", text).split()
            printed = None


@pytest.mark.parametrize("command", commands())
def test_commands_have_the_options_they_are_shown_with(command):
    _, name, *arguments = shlex.split(command, comments=True)
    group = get_command(app)
    parent = group.make_context("localrank", [name], resilient_parsing=True)
    subcommand = group.get_command(parent, name)  # type: ignore[attr-defined]
    assert subcommand is not None, f"there is no command {name}"
    given = subcommand.make_context(name, arguments, parent=parent).params
    if given.get("measures"):
        for measure in measure_names(given["measures"]):
            assert alpha_ndcg_named(measure) or parse_measure(measure)
    if "method" in given:
        make_ranker(given["method"] or "lambdamart", given["setting"], None, 0)
    elif "methods" in given and given["methods"] != "all":
        for method in given["methods"].split(","):
            settings = [
                setting.partition(".")[2]
                for setting in given.get("setting", [])
                if setting.startswith(f"{method}.")
            ]
            make_ranker(method, settings, None, 0)


def test_every_command_is_on_the_page_of_commands():
    text = (DOCS / "command-line.md").read_text()
    for name in get_command(app).commands:  # type: ignore[attr-defined]
        assert f"`localrank {name}" in text


def test_every_method_has_a_page():
    text = "".join(page.read_text() for page in (DOCS / "methods").glob("*.md"))
    for name in METHODS:
        assert f"`{name}`" in text


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in DOCS.rglob("*.md"):
        assert f": {page.relative_to(DOCS)}\n" in navigation


def test_the_page_of_public_names_is_current():
    current = runpy.run_path(str(DOCS / "public_names.py"))["page"]()
    assert (DOCS / "reference" / "index.md").read_text() == current, "python docs/public_names.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_nobody_reads_more_than_two_screens_of_prose(page):
    """Without a picture, a table or an example in between."""
    shown = re.compile(r"```|\||\s*!\[|\s*<img")
    words = longest = 0
    for line in FENCE.sub("```", page.read_text()).splitlines():
        words = 0 if shown.match(line) else words + len(line.split())
        longest = max(longest, words)
    assert longest <= TWO_SCREENS


def test_pages_about_other_libraries_are_short():
    lengths = {
        page.stem: len(page.read_text().splitlines())
        for page in (DOCS / "coming-from").glob("*.md")
        if page.stem != "index"
    }
    assert {"lightgbm", "xgboost", "catboost", "ranklib", "ranx", "pyterrier"} == lengths.keys()
    assert max(lengths.values()) <= 30


def test_every_public_name_is_described():
    text = (DOCS / "reference" / "index.md").read_text()
    assert "|  |" not in text


def test_the_table_of_conventions_has_the_measures_of_each():
    rows = {
        cells[0]: cells[1:]
        for line in (DOCS / "measures.md").read_text().splitlines()
        if len(cells := [cell.strip(" `") for cell in line.strip("|").split("|")]) > 8
    }
    assert rows["choice"] == list(TOOLS)
    for convention, cell in zip(TOOLS, rows["measures"], strict=True):
        names = {measure.name for measure in measures_of(convention)}
        every = {measure.name for measure in measures_of("default")}
        assert names == (every if cell == "all" else set(cell.split(", ")))


QUOTED = runpy.run_path(str(DOCS / "quoted_numbers.py"))
MARK = re.compile(r"<!-- (\w+) -->\n(.*?)<!-- /\1 -->", re.S)


@pytest.mark.parametrize("path", QUOTED["PAGES"], ids=lambda path: path.name)
def test_a_page_quotes_the_stored_numbers(path):
    page = path.read_text()
    assert QUOTED["with_numbers"](path) == page, "python docs/quoted_numbers.py"
    names = [name for name, text in MARK.findall(page) if text.strip()]
    assert (
        names
        == {
            "README.md": ["first", "wins", "board", "costs"],
            "index.md": ["first", "wins"],
            "best.md": ["wins"],
            "scoreboard.md": ["board"],
        }[path.name]
    )


def test_the_front_pages_show_the_same_first_table():
    readme, index = (dict(MARK.findall(QUOTED[name].read_text())) for name in ("README", "INDEX"))
    assert readme["first"] == index["first"]


def test_quoted_costs_are_rows_of_the_page_on_speed():
    speed = (DOCS / "speed.md").read_text()
    _, _, *rows = QUOTED["costs"](speed).splitlines()
    assert len(rows) == 5
    for row in rows:
        assert "|".join(row.split("|")[2:]) in speed, row


@pytest.mark.parametrize(
    ("title", "row", "column", "line"),
    [
        ("RECIPES", ["fast − 2 mixed", "map"], "held out", "| `fast` | two global models"),
        ("SPLITS", ["local_rank", "SVMMap"], "ndcg@10", "| `local_rank` | one SVMMap,"),
    ],
)
def test_a_claim_is_of_its_own_row_and_place(title, row, column, line):
    study = json.loads((QUOTED["STORED"] / "wins.json").read_text())
    (table,) = (table for table in study["tables"] if table["title"] == QUOTED[title])
    (cells,) = (cells for cells in table["rows"] if cells[:2] == row)
    cells[table["columns"].index(column)] = "-0.4321 [-0.5000, -0.4000] (< .001; < .001)"
    block = QUOTED["wins"](study, "")
    assert block.count("**−.4321**&nbsp;±&nbsp;.0500") == 1
    (changed,) = (line for line in block.splitlines() if "4321" in line)
    assert changed.startswith(line)
    columns = [
        f"{measure}, {place}"
        for measure in ("NDCG@10", "MAP")
        for place in ("all", "held&nbsp;out")
    ]
    place = {"held out": "MAP, held&nbsp;out", "ndcg@10": "NDCG@10, all"}[column]
    assert "4321" in changed.split("|")[3 + columns.index(place)]


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("+0.0101 [+0.0050, +0.0150] (< .001; < .001)", "**+.0101**&nbsp;±&nbsp;.0050"),
        ("-0.0090 [-0.0150, -0.0050] (.003; .049)", "**−.0090**&nbsp;±&nbsp;.0050"),
        ("+0.0051 [+0.0001, +0.0101] (.040; .050)", "+.0051&nbsp;±&nbsp;.0050"),
        ("-0.0002 [-0.0101, +0.0101] (.900; 1.000)", "−.0002&nbsp;±&nbsp;.0101"),
    ],
)
def test_a_claim_is_bold_if_it_holds_after_correction(cell, shown):
    assert QUOTED["gain"](cell) == shown


def test_a_claim_that_cannot_be_read_is_refused():
    with pytest.raises(ValueError, match="not a difference"):
        QUOTED["gain"]("+0.0101 (< .001; < .001)")


def test_the_board_has_each_method_in_its_own_row():
    record = json.loads((QUOTED["STORED"] / "scoreboard.json").read_text())
    (table,) = (table for table in record["tables"] if table["title"] == QUOTED["BOARD"])
    (row,) = (row for row in table["rows"] if row[0] == "CatBoost QueryRMSE")
    row[table["columns"].index("all")] = ".9876 / .1234"
    assert "CatBoost 0.9876, " in QUOTED["board_sentence"](record)
    # The best is the first.
    assert (
        QUOTED["board_table"](record).splitlines()[2].startswith("| CatBoost, QueryRMSE | 0.9876")
    )
