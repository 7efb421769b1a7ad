"""How the page looks: screens, colours, paper, and what must not break it."""

import copy
import json

import pytest
from evaluation.report.reading import differences
from evaluation.report.sample import BASELINE, METHODS, sample

HOSTILE = '</script><img src=x onerror="window.hacked=1"><b>bold</b>'


@pytest.fixture(scope="module")
def data():
    return sample()


@pytest.mark.parametrize("width", [390, 768])
def test_nothing_leaves_a_narrow_screen(show, data, width):
    long = copy.deepcopy(data)
    long["queries"]["ids"][0] = "x" * 200
    long["title"] = "y" * 200
    long["methods"][3]["summary"] = "z" * 200
    page = show(long, width=width)
    page.locator('tbody[data-method="adaptive-training"] th button').click()
    page.locator("#differences .chart").hover(position={"x": 60, "y": 100})
    assert page.evaluate("document.documentElement.scrollWidth") == width
    outside = page.evaluate(
        """() => [...document.querySelectorAll('body *')].filter(node => {
             const box = node.getBoundingClientRect();
             return (box.right > innerWidth + 0.5 || box.left < -0.5)
               && !node.closest('.scroller, nav, .skip');
           }).map(node => node.outerHTML.slice(0, 80))"""
    )
    assert outside == []


CONTRAST = """() => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b]
    .map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = node => {
    for (; node; node = node.parentElement) {
      const colour = channels(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const isShown = node.checkVisibility() && !node.closest('script');
    if (!walker.currentNode.data.trim() || !isShown) continue;
    const style = getComputedStyle(node);
    const isDrawn = node instanceof SVGElement;
    const front = luminance(channels(isDrawn ? style.fill : style.color));
    const back = luminance(ground(node));
    let opacity = 1;
    for (let up = node; up; up = up.parentElement) opacity *= getComputedStyle(up).opacity;
    texts.push({
      text: walker.currentNode.data.slice(0, 40),
      ratio: (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05),
      opacity,
    });
  }
  return texts;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(show, data, scheme):
    page = show(data, color_scheme=scheme)
    page.locator('tbody[data-method="local-rank"] th button').click()
    for summary in page.locator("summary").all():
        summary.click()
    page.locator(".legend button").first.click()
    page.locator(".documents tbody td").first.focus()
    page.locator("#differences .chart").hover(position={"x": 60, "y": 100})
    read = page.evaluate(CONTRAST)
    assert len(read) > 300
    assert [item for item in read if item["ratio"] < 4.5 or item["opacity"] < 1] == []
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 28)"}[scheme]


def test_the_theme_switch_is_remembered(show, data):
    page = show(data, color_scheme="light")
    button = page.locator("#theme")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    button.click()
    after = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (before != after, button.get_attribute("aria-pressed")) == (True, "true")
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after
    assert page.locator("#theme").get_attribute("aria-pressed") == "true"


def test_paper_is_light_and_has_no_controls(show, data):
    page = show(data, color_scheme="dark")
    page.locator("#theme").click()
    page.locator("#theme").click()
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator(".bar").is_visible()
    assert not page.locator("#explorer .controls").is_visible()
    assert page.locator(".methods tbody").first.is_visible()


def test_paper_shows_what_is_behind_a_click(show, data):
    page = show(data)
    page.evaluate(
        """() => addEventListener("beforeprint", () => {
             window.printed = [...document.querySelectorAll("details")].map(node => node.open);
           })"""
    )
    page.pdf()
    assert page.evaluate("window.printed") == [True] * page.locator("details").count()
    assert page.locator("details[open]").count() == 0


def test_hostile_names_are_shown_as_text(show, data):
    # Every string of the data that is not a keyword of the page becomes hostile.
    plain = json.dumps({key: data[key] for key in data if key != "measures"})
    names = [*METHODS, "feature 1", "Fold1", "Clusters of queries", "Fold2: no query", "0.1.0"]
    for name in [*names, data["queries"]["ids"][0], data["explorer"]["queries"][0]["documents"][0]]:
        plain = plain.replace(f'"{name}', json.dumps(HOSTILE + name)[:-1])
    hostile = json.loads(plain) | {"measures": data["measures"]}
    page = show(hostile | {"title": HOSTILE, "verdict": HOSTILE})
    page.locator("#differences .chart").hover(position={"x": 60, "y": 100})
    page.locator("#map .chart").hover(position={"x": 200, "y": 200})
    page.locator(".methods tbody th button").first.click()
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.locator(".methods tbody th .method").first.inner_text() == HOSTILE + BASELINE
    assert page.locator("#explorer input").input_value() == HOSTILE + data["queries"]["ids"][0]
    assert HOSTILE in page.locator(".failed").inner_text()
    assert page.locator("img, b").count() == 0
    assert page.evaluate("window.hacked === undefined")


def test_many_queries_and_methods_make_no_heavier_page(show):
    small, large = sample(200, n_methods=12), sample(2000, n_methods=12)
    count = "document.querySelectorAll('*').length"
    few = show(small).evaluate(count)
    page = show(large)
    assert page.evaluate(count) < few + 1000  # one element for each query would be 1,800 more
    path = page.locator(".bars.gain").get_attribute("d")
    assert path.count("M") == (differences(large, "query-coordinates") > 0).sum()


def test_no_two_of_twenty_methods_look_alike(show):
    page = show(sample(30, n_methods=20))
    looks = page.evaluate(
        "[...document.querySelectorAll('.methods tbody .swatch .mark')].map(node => "
        "[node.style.getPropertyValue('--c'), node.getAttribute('d')].join())"
    )
    assert len(looks) == 20
    assert len(set(looks)) == 20
