"""The pictures of the documentation: each page shows what a script draws, the same every time."""

import importlib
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(page for page in (DOCS / "methods").glob("*.md") if page.stem != "index")
IMAGE = re.compile(r"!\[([^]]*)\]\(pictures/([\w-]+)-(light|dark)\.svg#only-(light|dark)\)")
# The version that drew the committed diagram. Another one may place or write shapes differently.
DRAWN_BY = "3.11"


@pytest.fixture(scope="module")
def script():
    """The module that draws, whose neighbours are imported by their own names."""
    sys.path.insert(0, str(DOCS / "pictures"))
    names = {path.stem for path in (DOCS / "pictures").glob("*.py")}
    assert names.isdisjoint(sys.modules), "a picture's module has the name of another module"
    try:
        yield importlib.import_module("draw")
    finally:
        sys.path.remove(str(DOCS / "pictures"))
        for name in names:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def drawn(script, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    script.draw_methods(folder)
    return folder


def texts(svg):
    """What a reader reads in a picture, in order."""
    root = ElementTree.fromstring(svg)
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.slow
def test_every_method_page_shows_a_picture_that_is_drawn_and_every_picture_is_shown(drawn):
    shown = set()
    for page in PAGES:
        images = IMAGE.findall(page.read_text(encoding="utf-8"))
        assert images, f"{page.name} has no picture"
        for _, name, ink, visible in images:
            assert ink == visible, f"{page.name}: {name}-{ink}.svg is shown in {visible} only"
            shown.add(f"{name}-{ink}.svg")
    assert shown == {path.name for path in drawn.iterdir()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pictures_have_an_alternative_text_and_a_caption(page):
    text = page.read_text(encoding="utf-8")
    images = list(IMAGE.finditer(text))
    assert images
    for light, dark in zip(images[::2], images[1::2], strict=True):
        assert [light[3], dark[3]] == ["light", "dark"]
        assert light[1] == dark[1]
        assert light[2] == dark[2]
        assert len(light[1].split()) >= 10, "the alternative text says what is drawn"
        caption = re.match(r"\n\n\*[A-Z].*\.\*\n", text[dark.end() :])
        assert caption, "a sentence in italics follows"


def test_a_picture_says_the_same_on_light_and_on_dark_ground(drawn):
    for light in drawn.glob("*-light.svg"):
        dark = light.with_name(light.name.replace("-light", "-dark"))
        light_text, dark_text = light.read_text(), dark.read_text()
        assert texts(light_text) == texts(dark_text)
        assert light_text != dark_text


def test_pictures_are_small_and_hold_nothing_of_the_day_or_the_machine(drawn):
    for path in drawn.iterdir():
        text = path.read_text()
        assert len(text) < 60_000, path.name
        for trace in ("date", "metadata", "Matplotlib", "DejaVu", "image/png"):
            assert trace not in text, f"{path.name} holds {trace}"


def test_drawing_again_gives_the_same_bytes(script, drawn):
    # Those that train are slower, and as deterministic as their rankers, which have tests.
    for name in ("local-rank", "query-neighbours", "svm-map", "lambdamart-gbrt"):
        picture, ink = script.PICTURES[name], script.INKS[0]
        again = script.draw(picture, ink)
        assert again == (drawn / f"{name}-{ink.name}.svg").read_text()


def test_the_committed_diagram_is_what_the_script_draws(script, tmp_path):
    script.draw_idea(tmp_path)
    for new in sorted(tmp_path.iterdir()):
        committed = (DOCS / "assets" / new.name).read_text()
        assert len(committed) < 40_000
        assert texts(new.read_text()) == texts(committed), "run docs/pictures/draw.py"
        if matplotlib.__version__.startswith(f"{DRAWN_BY}."):
            assert new.read_text() == committed, "run docs/pictures/draw.py"


def test_the_diagram_names_both_ways_and_all_steps():
    words = texts((DOCS / "assets" / "idea-light.svg").read_text())
    assert [word for word in words if word in ("Split", "Re-coordinate")] == [
        "Split",
        "Re-coordinate",
    ]
    steps = ["describe", "group", "train", "weigh", "score"]
    assert [word for word in words if word in steps][:5] == steps


def test_screenshots_are_small_and_shown_in_the_guide():
    names = dict.fromkeys(("report.png", "report-dark.png", "explorer.png"), "compare.md")
    for name, page in {**names, "runs.png": "compare-runs.md"}.items():
        assert (DOCS / "assets" / name).stat().st_size < 200_000
        assert f"(assets/{name}" in (DOCS / page).read_text(encoding="utf-8")
