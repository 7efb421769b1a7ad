"""The page of a comparison of runs, in a real browser."""

import numpy as np
import pytest
from evaluation.report.reading import texts
from evaluation.test_run_comparison import made_up

from localrank.evaluation import compare_runs
from localrank.evaluation._comparison_report import page_data
from localrank.evaluation.run_comparison import RunComparison


@pytest.fixture(scope="module")
def data():
    runs, qrels = made_up()
    kinds = {f"q{q}": "ab"[q % 2] for q in range(40)}
    queries = {f"q{q}": f"words of query {q}" for q in range(40)}
    documents = {f"d{d}": f"Title of document {d}" for d in range(60)}
    result = compare_runs(
        runs,
        qrels,
        ["ndcg@10", "map"],
        categories=kinds,
        judges={"model": qrels},
        queries=queries,
        documents=documents,
        title="Two weeks",
    )
    return page_data(result, command="localrank compare --runs")


def test_sections_of_runs_come_without_costs_and_groups(show, data):
    page = show(data)
    sections = page.evaluate("[...document.querySelectorAll('main section')].map(node => node.id)")
    order = "methods differences explorer rules holes next power categories judges made"
    assert sections == order.split()
    assert texts(page, "#methods h2") == ["Runs"]
    heads = " ".join(texts(page, ".methods thead th"))
    assert heads.startswith("Run")
    assert not any(word in heads for word in ("Models", "Training", "Size"))
    assert "3 runs" in page.locator("#facts").inner_text()
    assert "not judged: " in page.locator("#made").inner_text()


def test_tables_and_sentences_of_a_section_are_those_of_the_data(show, data):
    page = show(data)
    for part in data["sections"]:
        tables = [shown for shown in part["shown"] if not isinstance(shown, str)]
        sentences = [shown for shown in part["shown"] if isinstance(shown, str)]
        assert texts(page, f"#{part['name']} caption") == [table["title"] for table in tables]
        assert texts(page, f"#{part['name']} .sentences li") == sentences
        assert texts(page, f"#{part['name']} .note") == [part["lead"]] * bool(part["lead"])
        for number, table in enumerate(tables):
            first = page.locator(f"#{part['name']} table").nth(number).locator("tbody tr").first
            cells = [text for text in first.inner_text().split("\t") if text]
            assert cells == [cell for cell in table["rows"][0] if cell]


def test_details_of_a_run_say_what_it_has(show, data):
    page = show(data)
    page.get_by_role("button", name="short").first.click()
    row = page.locator("tbody[data-method=short] .details").inner_text()
    assert "12 to 12, median 12" in row


def test_the_explorer_shows_texts_unjudged_documents_and_short_lists(show, data):
    page = show(data)
    page.fill("#explorer input", "q7")
    page.keyboard.press("Enter")
    assert "“words of query 7”" in page.locator("#explorer .summary").inner_text()
    assert page.locator("#explorer .document-title").first.inner_text().startswith("Title of doc")
    (query,) = (
        q for q in data["explorer"]["queries"] if data["queries"]["ids"][q["index"]] == "q7"
    )
    page.get_by_role("button", name="Show all").click()
    heads = texts(page, ".documents thead th .method-name")
    columns = [head.strip() for head in heads]
    for column, name in enumerate(columns):
        cells = page.locator(f".documents tbody tr td:nth-child({column + 2})")
        shown = [
            cell
            for cell in cells.evaluate_all(
                "nodes => nodes.map(node => node.querySelector('.document-id')?.textContent)"
            )
            if cell
        ]
        scores = query["scores"][name]
        known = [i for i, score in enumerate(scores) if score is not None]
        best = sorted(known, key=lambda i: -scores[i])
        assert shown == [query["documents"][i] for i in best]
    n_unjudged = sum(
        label < 0 and score is not None
        for scores in query["scores"].values()
        for label, score in zip(query["labels"], scores, strict=True)
    )
    assert page.locator(".documents .label-unjudged").count() == n_unjudged > 0
    assert "nobody judged" in page.locator("#explorer .note").inner_text()


def test_the_explorer_has_the_ranks_of_whole_lists(show, monkeypatch):
    monkeypatch.setattr(RunComparison, "n_explored", 5)
    runs, qrels = made_up()
    page = show(page_data(compare_runs(runs, qrels, ["ndcg@10"])))
    note = page.locator("#explorer .note").inner_text()
    assert "Below rank 5 are only relevant documents" in note
    more = page.get_by_role("button", name="Show all")
    if more.is_visible():
        assert more.inner_text().endswith(" ranks")
        more.click()
    shown = page.evaluate(
        """() => [...document.querySelectorAll('.documents tbody tr')].map(row => [
             Number(row.cells[0].textContent),
             ...[...row.cells].slice(1).map(cell => [
               cell.querySelector('.document-id')?.textContent ?? null,
               cell.querySelector('.moved')?.textContent ?? '',
             ]),
           ])"""
    )
    heads = [head.strip() for head in texts(page, ".documents thead th .method-name")]
    query = page.input_value("#explorer input")
    orders = {
        name: sorted(run.get(query, {}), key=run.get(query, {}).get, reverse=True)
        for name, run in runs.items()
    }
    base = orders[heads[0]]
    n_deep = 0
    for rank, *cells in shown:
        for name, (document, moved) in zip(heads, cells, strict=True):
            if document is None:
                assert rank > 5 or rank > len(orders[name])
                continue
            n_deep += rank > 5
            assert orders[name][rank - 1] == document
            by = base.index(document) + 1 - rank if document in base else 0
            new = "" if document in base else "new"
            assert moved == (f"{'↑' if by > 0 else '↓'}{abs(by)}" if by else new)
    assert n_deep
    ranks = [row[0] for row in shown]
    assert ranks == sorted(set(ranks))


def test_names_from_right_to_left_leave_sentences_in_order(show):
    runs, qrels = made_up(4, 12)
    turned = [{f"שאלה{q}": docs for q, docs in run.items()} for run in (*runs.values(), qrels)]
    *lists, judged = turned
    names = ["בסיס", "a", "b"][: len(lists)]
    result = compare_runs(
        dict(zip(names, lists, strict=True)),
        judged,
        ["ndcg@10"],
        queries=dict.fromkeys(judged, "שלום עולם"),
    )
    page = show(page_data(result))
    summary = page.locator("#explorer .summary")
    # Where the letters stand: the number of documents after the words, though these run leftwards.
    left = summary.evaluate(
        """node => {
             const text = node.firstChild, at = (what) => {
               const range = document.createRange(), from = text.data.indexOf(what);
               range.setStart(text, from); range.setEnd(text, from + what.length);
               return range.getBoundingClientRect().left;
             };
             return [at("Query"), at("שאלה"), at("שלום"), at(" documents"), at(" relevant")];
           }"""
    )
    assert left == sorted(left)


def test_long_names_leave_room_and_short_ones_stay_beside_their_numbers(show):
    runs, qrels = made_up(20, 20)
    long = "a-retriever-with-a-name-that-nobody-would-say-aloud-v2.1-final"
    named = dict(zip(["base", long, "third"], runs.values(), strict=False))
    page = show(page_data(compare_runs(named, qrels, ["ndcg@10"])), width=390)
    page.select_option("#differences select", long)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    title = page.locator("#differences .chart text.title").first
    box = title.bounding_box()
    assert box["x"] + box["width"] <= 390
    # A name takes a few lines in a table, and wraps in the explorer.
    row = page.locator("#holes tbody tr", has_text=long).first
    assert row.bounding_box()["height"] < 160
    widths = page.locator(".documents thead th").evaluate_all(
        "nodes => nodes.map(node => node.getBoundingClientRect().width)"
    )
    assert max(widths) < 300
    best = page.locator("#next tbody tr td:nth-child(3)").first
    assert best.evaluate("node => getComputedStyle(node).textAlign") in ("left", "start")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_never_wider_than_the_screen(show, data, width):
    page = show(data, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def hostile():
    """Twenty runs with names and ids that scripts and styles could stumble over."""
    runs, qrels = made_up(20, 30)
    rng = np.random.default_rng(0)

    def marked(lists):
        return {
            f"{query}{HOSTILE}": {f"{name}{HOSTILE}{'x' * 300}": v for name, v in values.items()}
            for query, values in lists.items()
        }

    names = ["__proto__", "constructor", "toString", HOSTILE, "x" * 200]
    names += [f"a run with quite a long name, number {i}" for i in range(15)]
    noisy = [
        {q: {d: s + rng.normal(0, 0.5) for d, s in ds.items()} for q, ds in runs["old"].items()}
        for _ in names
    ]
    result = compare_runs(
        {name: marked(run) for name, run in zip(names, noisy, strict=True)},
        marked(qrels),
        ["ndcg@10", "map"],
        categories={f"q{q}{HOSTILE}": f"{'ab'[q % 2]}{HOSTILE}" for q in range(20)},
        judges={HOSTILE: marked(qrels)},
        queries={f"q{q}{HOSTILE}": HOSTILE for q in range(20)},
        documents={f"d{d}{HOSTILE}{'x' * 300}": HOSTILE for d in range(30)},
        title=HOSTILE,
    )
    return page_data(result, command=HOSTILE)


@pytest.mark.parametrize("width", [390, 1280])
def test_names_ids_and_texts_are_text_and_nothing_else(show, hostile, width):
    page = show(hostile, width=width)
    assert page.locator("img").count() == 0
    rows = page.locator("tbody[data-method]")
    shown = rows.evaluate_all("nodes => nodes.map(node => node.dataset.method)")
    assert shown == [method["name"] for method in hostile["methods"]]
    for name in ("constructor", "toString"):  # __proto__ is the baseline
        page.select_option("#differences select", name)
        assert page.locator("#differences .bars").count() > 0
    assert HOSTILE in page.locator("#explorer .summary").inner_text()
    heads = [head.strip() for head in texts(page, ".documents thead th .method-name")]
    assert set(heads) == {method["name"] for method in hostile["methods"]}
    assert page.locator("#explorer .document-id").count() > 20
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_improvement_is_a_gain_where_smaller_is_better(show):
    runs, qrels = made_up(n_queries=120)
    result = compare_runs({name: runs[name] for name in ("old", "new")}, qrels, ["oer"])
    (test,) = result.against_baseline["new"].values()
    assert test.sign == 1
    assert result.results["new"].mean("oer") < result.results["old"].mean("oer")
    page = show(page_data(result))
    row = page.locator("tbody[data-method=new] tr").first
    assert "▲" in row.inner_text()
    assert row.locator(".gain").count() > 0
    assert row.locator(".loss").count() == 0
