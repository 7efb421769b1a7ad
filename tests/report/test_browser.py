"""The page in a real browser. Every test also fails on a console message or a request."""

import copy
import json

import numpy as np
import pytest
from sample import BASELINE, METHODS, OPPONENT, sample

HOSTILE = '</script><img src=x onerror="window.hacked=1"><b>bold</b>'


@pytest.fixture(scope="module")
def data():
    return sample()


def texts(page, selector):
    return page.locator(selector).all_inner_texts()


def rows(page):
    return page.evaluate(
        "[...document.querySelectorAll('.methods tbody')].map(body => body.dataset.method)"
    )


def differences(data, method, measure="ndcg@10"):
    values = data["queries"]["values"]
    return np.subtract(values[method][measure], values[BASELINE][measure])


def boxes(page, selector):
    """Left, top, width and height of the drawn outline of each element."""
    found = page.evaluate(
        """selector => [...document.querySelectorAll(selector)].map(node => {
             const box = node.getBoundingClientRect();
             return [box.x, box.y, box.width, box.height];
           })""",
        selector,
    )
    return np.array(found, dtype=float).reshape(-1, 4)


def test_every_section_is_there_in_order(show, data):
    page = show(data)
    found = page.evaluate("[...document.querySelectorAll('main section')].map(node => node.id)")
    order = "methods bounds differences calibration tuning map agreement explorer costs made"
    assert found == order.split()
    assert page.locator(".verdict").inner_text() == data["verdict"]
    assert page.title() == "Sample queries · localrank"
    assert data["made"]["command"] in page.locator("#made").inner_text()
    assert data["made"]["data"]["sha256"] in page.locator("#made").inner_text()


def test_sections_without_data_are_left_out(show, data):
    empty = {"bounds": [], "calibration": None, "tuning": [], "maps": [], "agreements": []}
    alone = [method | {"at_equal_cost": None} for method in data["methods"]]
    empty |= {"methods": alone, "cost_notes": []}
    page = show({**data, **empty, "explorer": {"n_shown": 0, "queries": []}})
    found = page.evaluate("[...document.querySelectorAll('main section')].map(node => node.id)")
    assert found == ["methods", "differences", "costs", "made"]
    assert not any("equal cost" in text for text in texts(page, ".methods thead th"))
    assert page.locator(".unequal").count() == 0


def test_each_method_stands_against_its_own_opponent(show, data):
    page = show(data)
    for method in data["methods"]:
        if method["at_equal_cost"]:
            text = page.locator(f'tbody[data-method="{method["name"]}"] tr').first.inner_text()
            assert f"to {method['opponent']}, p " in text
            difference = method["at_equal_cost"]["ndcg@10"]["difference"]
            assert f"{difference:+.4f}".replace("-", "−") in text
    tags = dict(zip(METHODS, texts(page, ".methods .tag"), strict=True))
    assert (tags[BASELINE], tags[OPPONENT], tags["local-rank"]) == ("baseline", "opponent", "local")


def test_the_page_says_where_models_and_cost_disagree(show, data):
    assert data["cost_notes"][0] in show(data).locator(".unequal").inner_text()


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


def test_bounds_stand_beside_their_control(show, data):
    page = show(data)
    bound = data["bounds"][0]
    text = page.locator(".bounds tbody tr").first.inner_text()
    assert f"{bound['clairvoyant']:.4f}" in text
    assert f"{bound['control']:.4f} ± 0.0040" in text
    assert "random partition" in page.locator("#bounds .note").inner_text()
    selected, best = boxes(page, ".bound-plot .selected"), boxes(page, ".bound-plot .clairvoyant")
    assert (best[:, 0] > selected[:, 0] + 5).all()


def test_the_best_method_is_chosen_at_first(show, data):
    page = show(data)
    for select in ("#differences select", "#explorer select"):
        assert page.locator(select).input_value() == "query-coordinates"


def test_a_test_without_interval_is_shown(show, data):
    bare = copy.deepcopy(data)
    bare["methods"][2]["against_baseline"]["ndcg@10"] |= {"low": None, "high": None, "p": None}
    page = show(bare)
    row = page.locator('tbody[data-method="local-rank"]')
    assert "no interval" in row.inner_text()
    assert (row.locator(".bar-range").count(), row.locator(".dot.open").count()) == (0, 1)


def test_each_query_has_its_bar(show, data):
    page = show(data)
    page.select_option("#differences select", "rank-svm")
    gaps = differences(data, "rank-svm")
    paths = page.evaluate(
        "[...document.querySelectorAll('.bars')].map(node => node.getAttribute('d'))"
    )
    assert [path.count("M") for path in paths] == [(gaps > 0).sum(), (gaps < 0).sum()]
    (gain, loss), zero = boxes(page, "#differences .bars"), boxes(page, "#differences .axis")[0]
    # Lengths of the largest bars are as their values, gains above the axis and losses below.
    assert gain[3] / loss[3] == pytest.approx(gaps.max() / -gaps.min(), rel=0.03)
    assert gain[1] + gain[3] == pytest.approx(zero[1], abs=1.5)
    assert loss[1] == pytest.approx(zero[1], abs=1.5)
    assert gain[0] + gain[2] < loss[0] + 1


def test_pointing_at_a_bar_shows_its_query_and_a_click_opens_it(show, data):
    page = show(data)
    page.select_option("#differences select", "rank-svm")
    best = data["queries"]["ids"][int(differences(data, "rank-svm").argmax())]
    chart = page.locator("#differences .chart")
    chart.hover(position={"x": 50, "y": 100})
    assert f"Query {best}" in page.locator("#tooltip").inner_text()
    chart.click(position={"x": 50, "y": 100})
    assert page.locator("#explorer .summary").inner_text().startswith(f"Query {best} ")
    assert page.locator("#explorer h2").evaluate("node => node.getBoundingClientRect().y") < 900


def test_bars_are_reached_by_keyboard(show, data):
    page = show(data)
    page.select_option("#differences select", "rank-svm")
    worst = data["queries"]["ids"][int(differences(data, "rank-svm").argmin())]
    chart = page.locator("#differences .chart")
    chart.focus()
    page.keyboard.press("End")
    assert f"Query {worst}" in chart.get_attribute("aria-valuetext")
    page.keyboard.press("ArrowLeft")
    assert f"Query {worst}" not in chart.get_attribute("aria-valuetext")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator("#explorer input").input_value() == worst


def test_calibration_lines_follow_the_means(show, data):
    page = show(data)
    figures = page.locator("#calibration figure")
    assert figures.count() == 2
    views = ["failure_level", "best_feature_score"]
    for view, figure in zip(views, figures.all(), strict=True):
        means = [
            row["mean"]
            for row in data["calibration"]["rows"]
            if row["view"] == view and row["method"] == "baseline"
        ]
        path = figure.locator('[data-name="baseline"] .stroke').get_attribute("d")
        points = np.array([point.split() for point in path[1:].split("L")], dtype=float)
        assert (np.diff(points[:, 0]) > 5).all()
        slope, rest = np.polyfit(means, points[:, 1], 1)
        assert slope < -100
        np.testing.assert_allclose(slope * np.array(means) + rest, points[:, 1], atol=0.1)
        dashes = {
            name: figure.locator(f'[data-name="{name}"] .stroke').get_attribute("stroke-dasharray")
            for name in data["calibration"]["methods"]
        }
        dashed = {name for name, dash in dashes.items() if dash}
        assert dashed == {"control", "adaptive-training oracle"}
        assert dashes["control"] != dashes["adaptive-training oracle"]
    last = data["calibration"]["verdict"].split("\n")[-1]
    assert last in page.locator(".verdict-text").inner_text()


def test_intervals_and_counts_of_calibration_are_drawn(show, data):
    page = show(data)
    intervals = boxes(page, "#calibration .interval")
    assert (intervals[:, 3] > 20).all()
    bars = boxes(page, "#calibration figure:first-child .counts rect")
    counts = {
        row["level"]: row["n_queries"]
        for row in data["calibration"]["rows"]
        if row["view"] == "failure_level"
    }
    assert (bars[:, 3] > 0).sum() == len(counts)
    assert bars[:, 3].argmax() == round(10 * (max(counts, key=counts.get) - min(counts)))


def test_a_name_in_the_legend_hides_its_line(show, data):
    page = show(data)
    button = page.locator(".legend button", has_text="local-rank")
    lines = page.locator('#calibration [data-name="local-rank"]')
    assert lines.count() == 2
    button.click()
    assert (lines.count(), button.get_attribute("aria-pressed")) == (0, "false")
    button.click()
    assert lines.count() == 2


def test_tuning_is_drawn(show, data):
    page = show(data)
    for found, tuned in zip(page.locator("#tuning .stroke").all(), data["tuning"], strict=True):
        points = [point.split() for point in found.get_attribute("d")[1:].split("L")]
        heights = [-float(y) for _, y in points]
        assert np.argsort(heights).tolist() == np.argsort(tuned["means"]).tolist()


def test_the_map_has_a_mark_for_each_query(show, data):
    page = show(data)
    places = boxes(page, "#map .point")
    sizes = [group["size"] for group in data["maps"][0]["groups"]]
    paths = page.evaluate(
        "[...document.querySelectorAll('#map .point')].map(node => node.getAttribute('d'))"
    )
    assert [path.count("M") for path in paths] == sizes
    assert [len(set(path.split("M")[1:])) for path in paths] == sizes
    assert (places[:, 2:] > 30).all()
    colours = page.evaluate(
        "[...document.querySelectorAll('#map .point')].map(node => getComputedStyle(node).fill)"
    )
    assert len(set(colours)) == len(sizes)


def test_a_group_is_singled_out_and_another_map_chosen(show, data):
    page = show(data)
    page.locator('.groups button[data-group="1"]').click()
    faint = "[...document.querySelectorAll('#map .faint')].map(node => node.dataset.group)"
    assert sorted(page.evaluate(faint)) == ["0", "2", "3"]
    before = page.locator('#map .point[data-group="0"]').get_attribute("d")
    page.select_option("#map select", "1")
    assert page.evaluate(faint) == []
    assert page.locator('#map .point[data-group="0"]').get_attribute("d") != before


def test_groups_stand_beside_known_categories(show, data):
    page = show(data)
    assert "local-rank 0.310" in page.locator("#agreement .summary").inner_text()
    assert texts(page, ".agreement thead th") == ["Group", "navigational", "shopping", "All"]
    assert texts(page, ".agreement tbody tr:nth-child(2) td") == ["2", "20", "22"]
    page.locator("#agreement select").select_option("1")
    assert texts(page, ".agreement tbody tr:nth-child(2) td") == ["2", "21", "23"]


def test_the_explorer_ranks_by_each_method(show, data):
    page = show(data)
    query = data["explorer"]["queries"][5]
    search = page.locator("#explorer input")
    search.fill(data["queries"]["ids"][5])
    search.press("Enter")
    assert f"{len(query['documents'])} documents" in page.locator("#explorer .summary").inner_text()
    heads = texts(page, ".documents .method-name")
    assert [head.strip() for head in heads] == list(METHODS)
    for column, method in enumerate(METHODS):
        order = np.argsort(-np.array(query["scores"][method]), kind="stable")[:15]
        cells = f".documents tbody td:nth-child({column + 2})"
        assert texts(page, f"{cells} .document-id") == [query["documents"][i] for i in order]
        labels = [str(query["labels"][i]) for i in order]
        assert texts(page, f"{cells} .label") == labels
    local = page.locator(".documents thead th", has_text="local-rank").inner_text()
    assert f"served by group {query['groups']['local-rank'] + 1}" in local


def test_the_explorer_steps_and_finds_extremes(show, data):
    page = show(data)
    ids, search = data["queries"]["ids"], page.locator("#explorer input")
    first = texts(page, ".document-id")
    page.get_by_role("button", name="Next").click()
    assert search.input_value() == ids[1]
    assert texts(page, ".document-id") != first
    page.get_by_role("button", name="Previous").click()
    page.get_by_role("button", name="Previous").click()
    assert search.input_value() == ids[-1]
    page.select_option("#explorer select", "rank-svm")
    gaps = differences(data, "rank-svm")
    page.get_by_role("button", name="Largest gain").click()
    assert search.input_value() == ids[int(gaps.argmax())]
    page.get_by_role("button", name="Largest loss").click()
    assert search.input_value() == ids[int(gaps.argmin())]
    search.fill("no such id")
    search.press("Enter")
    assert "No query here has the id" in page.locator("#explorer .status").inner_text()


def test_a_document_is_followed_across_methods(show, data):
    page = show(data)
    cell = page.locator(".documents tbody td").first
    name = cell.locator(".document-id").inner_text()
    cell.focus()
    assert set(texts(page, ".documents td.same .document-id")) == {name}
    page.keyboard.press("ArrowDown")
    assert name not in texts(page, ".documents td.same .document-id")
    below = page.locator(".documents tbody tr:nth-child(2) td").first
    assert below.evaluate("node => node === document.activeElement")


def test_long_queries_are_cut_until_asked_for(show, data):
    page = show(data)
    sizes = data["queries"]["n_documents"]
    position = int(np.argmax(sizes))
    search = page.locator("#explorer input")
    search.fill(data["queries"]["ids"][position])
    search.press("Enter")
    assert page.locator(".documents tbody tr").count() == 15
    page.get_by_role("button", name=f"Show all {sizes[position]}").click()
    assert page.locator(".documents tbody tr").count() == sizes[position]


def test_costs_stand_where_their_numbers_say(show, data):
    page = show(data)
    working = [m for m in data["methods"] if not m["failed"]]
    kinds = ["train_cpu_seconds", "milliseconds_per_query", "model_bytes"]
    for number, kind in enumerate(kinds, 1):
        found = boxes(page, f"#costs figure:nth-child({number}) .ringed")
        centres = found[:, :2] + found[:, 2:] / 2
        costs = np.log([m[kind] for m in working])
        means = [m["means"]["ndcg@10"] for m in working]
        assert np.corrcoef(costs, centres[:, 0])[0, 1] > 0.999
        assert np.corrcoef(means, centres[:, 1])[0, 1] < -0.999


def test_smaller_may_be_better(show, data):
    page = show({**data, "smaller_is_better": ["ndcg@10"]})
    page.select_option("#differences select", "rank-svm")
    gaps = differences(data, "rank-svm")
    gain = page.locator(".bars.gain").get_attribute("d")
    assert gain.count("M") == (gaps < 0).sum()
    best = min(m["means"]["ndcg@10"] for m in data["methods"] if not m["failed"])
    assert page.locator('tbody[data-method="rank-svm"] strong').first.inner_text() == f"{best:.4f}"


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
  const found = [];
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
    found.push({
      text: walker.currentNode.data.slice(0, 40),
      ratio: (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05),
      opacity,
    });
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(show, data, scheme):
    page = show(data, color_scheme=scheme)
    page.locator('tbody[data-method="local-rank"] th button').click()
    page.locator(".legend button").first.click()
    page.locator(".documents tbody td").first.focus()
    page.locator("#differences .chart").hover(position={"x": 60, "y": 100})
    found = page.evaluate(CONTRAST)
    assert len(found) > 300
    assert [item for item in found if item["ratio"] < 4.5 or item["opacity"] < 1] == []
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
