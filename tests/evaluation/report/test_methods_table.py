"""The table of methods in a real browser."""

import copy

import numpy as np
import pytest
from evaluation.report.reading import boxes, rows, texts
from evaluation.report.sample import BASELINE, METHODS, OPPONENT, sample


@pytest.fixture(scope="module")
def data():
    return sample()


def test_each_method_stands_against_its_own_opponent(show, data):
    page = show(data)
    for method in data["methods"]:
        if method["at_equal_cost"]:
            text = page.locator(f'tbody[data-method="{method["name"]}"] tr').first.inner_text()
            assert f"to {method['opponent']}" in text
            difference = method["at_equal_cost"]["ndcg@10"]["difference"]
            assert f"{difference:+.4f}".replace("-", "−") in text
    tags = dict(zip(METHODS, texts(page, ".methods .tag"), strict=True))
    assert (tags[BASELINE], tags[OPPONENT], tags["local-rank"]) == ("baseline", "opponent", "local")


def test_the_page_says_where_models_and_cost_disagree(show, data):
    notes = show(data).locator(".unequal")
    notes.locator("summary").click()
    assert data["cost_notes"][0] in notes.inner_text()


def test_the_table_sorts_by_click_and_keyboard(show, data):
    page = show(data)
    assert rows(page) == list(METHODS)
    means = {m["name"]: m["means"].get("ndcg@5") for m in data["methods"] if not m["failed"]}
    falling = sorted(means, key=means.get, reverse=True)
    header = page.locator(".methods thead button", has_text="ndcg@5")
    header.click()
    assert rows(page) == falling
    heading = page.locator(".methods thead th", has_text="ndcg@5")
    assert heading.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")  # the heading keeps the focus
    assert rows(page) == falling[::-1]
    assert heading.get_attribute("aria-sort") == "ascending"
    page.locator(".methods thead button", has_text="Method").click()
    assert rows(page) == sorted(means)


def test_a_method_without_a_value_sorts_last_both_ways(show, data):
    page = show(data)
    header = page.locator(".methods thead button", has_text="Difference in")
    for _ in range(2):
        header.click()
        assert rows(page)[-1] == BASELINE


def test_the_measure_switch_changes_the_differences(show, data):
    page = show(data)
    test = data["methods"][2]["against_baseline"]
    cell = page.locator('tbody[data-method="local-rank"] td:nth-child(5) .number')
    for measure in ("ndcg@10", "map"):
        page.select_option("#measure", measure)
        shown = cell.inner_text().replace("−", "-").split()[0]
        assert float(shown) == pytest.approx(test[measure]["difference"], abs=5.1e-5)
    assert "by map" in page.locator("#differences .summary").inner_text()


def test_intervals_are_drawn_on_one_scale(show, data):
    page = show(data)
    ranges = boxes(page, ".methods .bar-range")
    zero = boxes(page, ".methods .range .zero")[:, 0]
    tests = [m["against_baseline"]["ndcg@10"] for m in data["methods"] if m["against_baseline"]]
    low = np.array([test["low"] for test in tests])
    high = np.array([test["high"] for test in tests])
    scale = ranges[:, 2] / (high - low)
    np.testing.assert_allclose(scale, scale[0], rtol=0.02)
    np.testing.assert_allclose(ranges[:, 0] - zero, low * scale[0], atol=1)


def test_details_open_and_failures_have_their_reason(show, data):
    page = show(data)
    button = page.locator('tbody[data-method="local-rank"] th button')
    assert not page.get_by_text("chosen in Fold2").first.is_visible()
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    opened = page.locator('tbody[data-method="local-rank"] .details').inner_text()
    assert opened.startswith(data["methods"][2]["summary"])
    assert "chosen in Fold2" in opened
    assert "lgmml: Fold2: no query has documents" in page.locator(".failed").inner_text()


def test_a_test_without_interval_is_shown(show, data):
    bare = copy.deepcopy(data)
    bare["methods"][2]["against_baseline"]["ndcg@10"] |= {"low": None, "high": None, "p": None}
    page = show(bare)
    row = page.locator('tbody[data-method="local-rank"]')
    assert "no interval" in row.inner_text()
    assert (row.locator(".bar-range").count(), row.locator(".dot.open").count()) == (0, 1)


@pytest.mark.parametrize("n_methods", [6, 15])
def test_the_table_fits_a_laptop(show, n_methods):
    page = show(sample(30, n_methods=n_methods), width=1280)
    wide, visible = page.evaluate(
        "(({scrollWidth, clientWidth}) => [scrollWidth, clientWidth])"
        "(document.querySelector('#methods .scroller'))"
    )
    assert wide <= visible
    assert not page.locator("#methods .sideways").is_visible()


def test_on_a_phone_the_names_stay_and_the_table_says_that_it_scrolls(show):
    page = show(sample(30, n_methods=15), width=390)
    assert page.locator("#methods .sideways").is_visible()
    names = ".methods tbody th"
    before = boxes(page, names)
    page.evaluate("document.querySelector('#methods .scroller').scrollLeft = 400")
    np.testing.assert_allclose(boxes(page, names), before)
    assert boxes(page, ".methods tbody td:nth-child(5)")[0, 0] < 390
    assert (before[:, 2] < 160).all()


def test_the_key_of_the_table_opens(show, data):
    page = show(data)
    key = page.locator("#methods .folded").first
    assert "Holm's rule" not in key.inner_text()
    key.locator("summary").click()
    assert "corrected by Holm's rule for the number of methods" in key.inner_text()
    assert f"minus that of {BASELINE}" in key.inner_text()
