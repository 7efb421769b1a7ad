import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from localrank.evaluation.plots import Chart, draw_charts, write_charts

DOCS = Path(__file__).parents[3] / "docs"
NUMBERS = sorted((DOCS / "reproduction" / "figures").glob("*.json"))
IMAGE = re.compile(r"!\[[^\]]*\]\(([^)]+\.svg)\)")
TEXT = re.compile(r"<text[^>]*>([^<]*)</text>")


def views(*methods):
    """A view of one level with a single query and one level of two."""
    values = {name: ([0.5, 0.25], [np.nan, 0.125], [np.nan, 0.375]) for name in methods}
    view = {"x_label": "x", "levels": [-0.1, 0.2], "n_queries": [1, 2], "methods": values}
    return {"by level": view}


CHARTS = {
    "bars": Chart("bars", panels={"p": {"a": [1.5, np.nan]}}, ticks=["x", "y"], y_label="mean"),
    "calibration": Chart(
        "calibration",
        views=views("best feature", "baseline", "control", "oracle"),
        bounds=("oracle",),
        y_label="mean map",
        note="Neither is better.",
    ),
    "cosines": Chart(
        "cosines", names=("a", "b"), cosines=np.array([[1, np.nan], [-0.5, 1]]), title="cosines"
    ),
    "curves": Chart(
        "curves",
        panels={"p": {"a": (np.arange(1, 4), [0.1, 0.25, np.float32(0.5)])}},
        x_label="x",
        y_label="y",
        log_x=True,
    ),
    "directions": Chart(
        "directions",
        points={"good": np.array([[3.0, 0], [5, 1]]), "bad": np.array([[0.0, 4]])},
        directions={"up": np.array([0.0, 1])},
        title="a query",
    ),
    "intervals": Chart(
        "intervals", panels={"p": {"map": [(0.1, (0.0, 0.2), np.True_)]}}, ticks=["x"]
    ),
}


@pytest.mark.parametrize("kind", CHARTS)
def test_a_chart_drawn_from_its_file_is_the_chart_itself(kind, tmp_path):
    write_charts({kind: CHARTS[kind]}, tmp_path / "charts.json")
    (drawing,) = draw_charts(tmp_path / "charts.json")
    assert drawing == tmp_path / f"{kind}.svg"
    assert drawing.read_text() == CHARTS[kind].draw()._repr_svg_()  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", CHARTS)
def test_what_is_read_is_what_was_written(kind):
    record = json.loads(json.dumps(CHARTS[kind].as_json(), allow_nan=False))
    assert Chart(**record).as_json() == CHARTS[kind].as_json()


def test_numbers_have_seven_digits_and_whole_numbers_stay_whole():
    chart = Chart("bars", panels={"": {"a": [2 / 3, 12345678, np.inf, True]}}, ticks=[], y_label="")
    (values,) = chart.as_json()["panels"][""].values()
    assert values == [0.6666667, 12345678, None, True]
    assert isinstance(values[1], int)


def test_a_file_has_a_line_for_each_long_series(tmp_path):
    series = np.linspace(0, 1, 50)
    chart = Chart("curves", panels={"p": {"a": (series, series)}}, x_label="x", y_label="größer")
    write_charts({"long": chart, "short": CHARTS["bars"]}, tmp_path / "charts.json")
    text = (tmp_path / "charts.json").read_text(encoding="utf-8")
    assert "größer" in text
    assert [line.strip(" ,") for line in text.splitlines() if "0.5102041" in line] == [
        json.dumps(chart.as_json()["panels"]["p"]["a"][0])
    ] * 2
    assert json.loads(text) == {"long": chart.as_json(), "short": CHARTS["bars"].as_json()}


def test_a_kind_that_nothing_draws_is_refused():
    with pytest.raises(ValueError, match="one of bars, calibration, .* Got 'pie'"):
        Chart("pie", shares=[1, 2])


def test_the_module_draws_the_files_it_is_given(tmp_path):
    write_charts({"a": CHARTS["bars"], "b": CHARTS["curves"]}, tmp_path / "charts.json")
    command = [sys.executable, "-m", "localrank.evaluation.plots", tmp_path / "charts.json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.endswith("charts.json: charts drawn: 2\n")
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == ["a.svg", "b.svg"]


def test_every_picture_of_the_reproduction_pages_has_its_numbers():
    drawn = {path.with_name(f"{name}.svg") for path in NUMBERS for name in records(path)}
    shown = {
        (page.parent / image).resolve()
        for page in (DOCS / "reproduction").glob("*.md")
        for image in IMAGE.findall(page.read_text())
    }
    assert len(drawn) > 70
    assert drawn == shown


def records(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", NUMBERS, ids=lambda path: path.stem)
def test_committed_numbers_are_as_the_writer_writes_them(path, tmp_path):
    charts = {name: Chart(**record) for name, record in records(path).items()}
    write_charts(charts, tmp_path / "charts.json")
    assert (tmp_path / "charts.json").read_text() == path.read_text()


def test_one_committed_chart_of_each_kind_is_drawn():
    first = {
        record["kind"]: record for path in NUMBERS for record in reversed(records(path).values())
    }
    assert set(first) == set(CHARTS)
    for record in first.values():
        assert Chart(**record).draw().axes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("[project]", "Expecting value"),
        ('{"a": {"kind": "pie"}}', "kind must be one of bars"),
    ],
)
def test_a_file_without_charts_ends_in_one_line(content, message, tmp_path):
    path = tmp_path / "charts.json"
    if content is not None:
        path.write_text(content)
    done = subprocess.run(
        [sys.executable, "-m", "localrank.evaluation.plots", path], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"{path}: no charts could be drawn from it (")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
