"""The page in a real browser. Every test also fails on a console message or a request."""

import copy

import numpy as np
import pytest
from evaluation.report.reading import boxes, differences, texts
from evaluation.report.sample import BASELINE, METHODS, sample


@pytest.fixture(scope="module")
def data():
    return sample()


def test_all_sections_come_in_order(show, data):
    page = show(data)
    sections = page.evaluate("[...document.querySelectorAll('main section')].map(node => node.id)")
    order = "methods costs differences explorer map agreement bounds tuning calibration made"
    assert sections == order.split()
    assert page.locator(".verdict").inner_text() == data["verdict"]
    assert page.title() == "Sample queries · localrank"
    assert data["made"]["command"] in page.locator("#made").inner_text()
    assert data["made"]["data"]["sha256"] in page.locator("#made").inner_text()


def test_the_verdict_names_the_leader_first_and_then_the_rest(show, data):
    lines = ["a leads with 0.5; no method is significantly better than b.", "At equal cost, none."]
    page = show(data | {"verdict": "\n".join(lines)})
    assert page.locator(".verdict").inner_text() == lines[0]
    assert texts(page, ".verdict-more li") == lines[1:]


def test_sections_without_data_are_left_out(show, data):
    empty = {"bounds": [], "calibration": None, "tuning": [], "maps": [], "agreements": []}
    alone = [method | {"at_equal_cost": None} for method in data["methods"]]
    empty |= {"methods": alone, "cost_notes": []}
    page = show({**data, **empty, "explorer": {"n_shown": 0, "queries": []}})
    sections = page.evaluate("[...document.querySelectorAll('main section')].map(node => node.id)")
    assert sections == ["methods", "costs", "differences", "made"]
    assert not any("equal cost" in text for text in texts(page, ".methods thead th"))
    assert page.locator(".unequal").count() == 0


def test_bounds_stand_beside_their_control(show, data):
    page = show(data)
    bound = data["bounds"][0]
    text = page.locator(".bounds tbody tr").first.inner_text()
    assert f"{bound['clairvoyant']:.4f}" in text
    assert f"{bound['control']:.4f} ± 0.0040" in text
    assert "random groups" in page.locator("#bounds .note").inner_text()
    selected, best = boxes(page, ".bound-plot .selected"), boxes(page, ".bound-plot .clairvoyant")
    assert (best[:, 0] > selected[:, 0] + 5).all()


def test_the_best_method_is_chosen_at_first(show, data):
    page = show(data)
    for select in ("#differences select", "#explorer select"):
        assert page.locator(select).input_value() == "query-coordinates"


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
    assert data["calibration"]["summary"] in page.locator("#calibration .summary").inner_text()


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


@pytest.mark.parametrize("way", ["click", "Enter", " "])
def test_the_figures_of_a_calibration_are_behind_a_click(show, data, way):
    page = show(data)
    folded = page.locator("#calibration details")
    name, line = list(data["calibration"]["by_method"].items())[-1]
    summary = folded.locator("summary")
    assert line not in page.locator("#calibration").inner_text()
    if way == "click":
        summary.click()
    else:
        summary.focus()
        page.keyboard.press(way)
    assert f"{name}: {line}" in folded.inner_text()
    assert data["calibration"]["reading"][0] in folded.inner_text()


def test_many_calibration_lines_start_hidden(show, data):
    many = copy.deepcopy(data)
    rows = many["calibration"]["rows"]
    template = [row for row in rows if row["method"] == "local-rank"]
    rows += [row | {"method": f"method-{i}"} for i in range(9) for row in template]
    page = show(many)
    lines = "#calibration figure:first-child .line"
    assert page.locator(lines).count() == 8
    hidden = page.locator('.legend button[aria-pressed="false"]')
    assert hidden.count() == 7
    hidden.first.click()
    assert page.locator(lines).count() == 9


def test_tuning_is_drawn(show, data):
    page = show(data)
    for stroke, tuned in zip(page.locator("#tuning .stroke").all(), data["tuning"], strict=True):
        points = [point.split() for point in stroke.get_attribute("d")[1:].split("L")]
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
    chosen = "query-coordinates"
    order = [BASELINE, chosen, *(name for name in METHODS if name not in (BASELINE, chosen))]
    heads = texts(page, ".documents .method-name")
    assert [head.strip() for head in heads] == order
    for column, method in enumerate(order):
        ranked = np.argsort(-np.array(query["scores"][method]), kind="stable")[:15]
        cells = f".documents tbody td:nth-child({column + 2})"
        assert texts(page, f"{cells} .document-id") == [query["documents"][i] for i in ranked]
        labels = [str(query["labels"][i]) for i in ranked]
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
        marks = boxes(page, f"#costs figure:nth-child({number}) .ringed")
        centres = marks[:, :2] + marks[:, 2:] / 2
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
