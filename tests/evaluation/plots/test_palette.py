"""The page of the report and that of the server have the colours of the plots."""

import re
from importlib.resources import files

import pytest

from localrank.evaluation.plots.style import COLOURS, MARKERS

PAGES = {"report": "evaluation/report/assets/report.css", "serving": "serving/assets/page.css"}


def variables(page):
    css = files("localrank").joinpath(PAGES[page]).read_text()
    return dict(re.findall(r"--([\w-]+): ([^;]+);", css))


def test_the_series_of_the_report_are_the_colours_of_the_plots_on_a_light_page():
    series = {name: colour for name, colour in variables("report").items() if "series" in name}
    light = {name: colour.removeprefix("light-dark(")[:7] for name, colour in series.items()}
    assert light == {f"series-{i}": colour.lower() for i, colour in enumerate(COLOURS, 1)}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("name", "colour"), [("gain-fill", COLOURS[0]), ("loss-fill", COLOURS[1])])
def test_gains_and_losses_have_the_first_two_colours_on_a_light_page(page, name, colour):
    assert variables(page)[name].startswith(f"light-dark({colour.lower()}, ")


def test_the_report_counts_the_colours_and_shapes_of_the_plots():
    script = files("localrank").joinpath("evaluation/report/assets/charts.js").read_text()
    assert f"const nColours = {len(COLOURS)};" in script
    (shapes,) = re.findall(r"const shapes = \[(.*?)\n\];", script, re.DOTALL)
    assert len(re.findall(r"^  \(x, y, r\) =>", shapes, re.MULTILINE)) == len(MARKERS)
