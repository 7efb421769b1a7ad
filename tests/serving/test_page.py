"""The page of the service in a real browser, against a real server."""

import json
import shlex
import shutil
import threading
import time
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest
from browser import browser as browser
from made_up_lists import made_lists

import localrank
from localrank.data import RankingDataset, make_queries
from localrank.fusion import Hybrid, NeighbourColumns, SmoothedFusion, lists_dataset
from localrank.rankers import LGMML, LambdaMART, RankSVM
from localrank.recipes import best, local_rank
from localrank.text import FeatureExtractor, TextRanker, load_example

pytest.importorskip("starlette", reason="the service is not installed")
import uvicorn

from localrank.serving import Application, Settings
from localrank.serving.application import page as whole_page
from localrank.serving.application import policy

NAMES = ["bm25", "page rank", 'the "title", in full', "age", "clicks", "length"]
HOSTILE = '</script><img src=x onerror="window.hacked=1"><b>bold</b>'
TOKEN = "let me in"


@pytest.fixture(scope="module")
def data():
    return make_queries(60, n_documents=(8, 12), n_features=6, n_types=2, random_state=3)[0]


@pytest.fixture(scope="module")
def rankers(data):
    qid = np.repeat(data.query_ids, data.query_sizes)
    unnamed = RankingDataset.from_arrays(data.features, data.labels, qid)
    named = RankingDataset.from_arrays(data.features, data.labels, qid, feature_names=NAMES)
    return {
        "local": local_rank(3).fit(unnamed),
        "best": best(20, min_leaf_documents=5).fit(named),
    }


@pytest.fixture(scope="module")
def query(data):
    """One of the queries, its features without names."""
    one = data.select([data.query_ids[5]])
    return RankingDataset.from_arrays(one.features, one.labels, np.full(one.n_documents, 10))


def with_names(query, ranker):
    """The query with the names of features that a model knows, if any."""
    return query.with_features(query.features, getattr(ranker, "feature_names_in_", None))


@pytest.fixture(scope="module")
def files(rankers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, ranker in rankers.items():
        ranker.save(folder / f"{name}.localrank")
    return {name: folder / f"{name}.localrank" for name in rankers}


@contextmanager
def serving(models, shares=None, **options):
    """The address of a service that runs meanwhile."""
    app = Application(Settings(models, shares or {}, timeout=60, reload_interval=0.1, **options))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not (server.started and (app.models.ready or app.models.problems)):
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def address(files):
    with serving(files, {"best": 0.25}, shadow="best") as address:
        yield address


@pytest.fixture(scope="module")
def text_model():
    """A model that takes words."""
    example = load_example()
    model = TextRanker(FeatureExtractor(["title", "body"]), RankSVM())
    return model.fit(example.queries, example.qrels, example.corpus)


@pytest.fixture(scope="module")
def text_address(text_model, files, tmp_path_factory):
    file = tmp_path_factory.mktemp("texts") / "texts.localrank"
    text_model.save(file)
    with serving({"texts": file, "local": files["local"]}) as address:
        yield address


@pytest.fixture
def visit(browser):
    """Open the page. Nothing may be logged or fetched but what a test expects."""
    troubles, contexts = [], []

    def visit(address, *, width=1280, refusals=(), wait=True, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)

        def note(message):
            if not any(f"status of {status}" in message.text for status in refusals):
                troubles.append(f"{message.type}: {message.text}")

        def note_request(request):
            if not request.url.startswith((address, "data:")):
                troubles.append(f"request: {request.url}")

        page.on("console", note)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", note_request)
        page.goto(address)
        if wait:
            page.get_by_text("Ready: every model can answer.").wait_for()
            page.locator("#main").wait_for()
        return page

    yield visit
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture
def page(visit, address):
    return visit(address)


def rank(page, text=None, model=None):
    if model is not None:
        page.select_option("#model", model)
    if text is not None:
        page.fill("#text", text)
    page.click("#rank")
    page.locator(".documents").wait_for()


def ids(page):
    return page.locator(".documents tbody th").all_inner_texts()


def column(page, heading):
    """The first number in each cell of a column."""
    headings = page.locator(".documents thead th").all_inner_texts()
    at = next(i for i, text in enumerate(headings) if text.startswith(heading))
    cells = page.locator(f".documents tbody tr > *:nth-child({at + 1})").all_inner_texts()
    return [float(cell.split()[0].replace("−", "-")) for cell in cells]


def curl(page):
    """The address and the body of the shown request."""
    command = page.locator("#curl").text_content().replace("\\\n", "")
    name, url, *options, body = shlex.split(command)
    assert name == "curl"
    assert options == ["-H", "Content-Type: application/json", "--data-binary"]
    return url, json.loads(body)


def places(scores):
    """The rank of each document, the highest score first."""
    return np.argsort(np.argsort(-scores, kind="stable")) + 1


def as_letor(query):
    return "".join(
        f"{label:g} qid:10 {' '.join(f'{j + 1}:{x!r}' for j, x in enumerate(row) if x)} "
        f"# docid = d{i}\n"
        for i, (label, row) in enumerate(zip(query.labels, query.features.tolist(), strict=True))
    )


def as_table(query, separator, special="id"):
    def quoted(name):
        return '"' + name.replace('"', '""') + '"'

    # Columns in another order than the model's: names decide.
    lines = [separator.join([special, "label", *map(quoted, reversed(NAMES))])]
    lines += [
        separator.join([f"d{i}", f"{label:g}", *map(repr, reversed(row))])
        for i, (label, row) in enumerate(zip(query.labels, query.features.tolist(), strict=True))
    ]
    return "\n".join(lines)


def as_request(query, **more):
    documents = [{"id": f"d{i}", "features": row} for i, row in enumerate(query.features.tolist())]
    return json.dumps({"query": 10, "documents": documents, **more}, indent=1)


def as_objects(query, nested):
    rows = [dict(zip(NAMES, row, strict=True)) for row in query.features.tolist()]
    return json.dumps(
        [{"id": f"d{i}", **({"features": row} if nested else row)} for i, row in enumerate(rows)]
    )


FORMS = {
    "LETOR": ("local", as_letor),
    "CSV": ("best", lambda query: as_table(query, ",")),
    "CSV with semicolons": ("best", lambda query: as_table(query, ";", "ID")),
    "TSV": ("best", lambda query: as_table(query, "\t")),
    "JSON request": ("local", as_request),
    "JSON batch": ("local", lambda query: json.dumps({"lists": [json.loads(as_request(query))]})),
    "JSON array of rows": ("best", lambda query: json.dumps(query.features.tolist())),
    "JSON array of objects": ("best", lambda query: as_objects(query, nested=False)),
    "documents": ("best", lambda query: as_objects(query, nested=True)),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_list_comes_in_the_order_of_predict(page, rankers, query, form):
    model, write = FORMS[form]
    rank(page, write(query), model)
    scores = rankers[model].predict(with_names(query, rankers[model]))
    order = np.argsort(-scores, kind="stable")
    name = "" if form == "JSON array of rows" else "d"
    assert ids(page) == [f"{name}{i}" for i in order]
    np.testing.assert_allclose(column(page, "Score"), scores[order], atol=1e-3)
    assert column(page, "Rank") == [*range(1, len(order) + 1)]
    assert column(page, "Before") == (order + 1).tolist()
    said = page.locator("#recognised").inner_text()
    kind = "JSON array of objects" if form == "documents" else form
    assert said.startswith(f"{kind}: {len(order)} documents, 6 features")
    labelled = form in ("LETOR", "CSV", "TSV", "CSV with semicolons")
    assert ("labels" in said) == labelled
    if labelled:
        assert column(page, "Label") == query.labels[order].tolist()


def test_absent_features_of_letor_are_zero_and_null_is_missing(visit, address):
    page = visit(address, refusals=[422])
    page.select_option("#model", "local")
    page.fill("#text", "0 qid:1 2:1 # docid = a\n0 qid:1 6:-3e-1 1:NULL\n1 qid:1\n")
    page.click("#rank")
    _, body = curl(page)
    rows = [document["features"] for document in body["documents"]]
    assert rows == [[0, 1, 0, 0, 0, 0], [None, 0, 0, 0, 0, -0.3], [0] * 6]
    assert [document.get("id") for document in body["documents"]] == ["a", None, None]
    assert body["query"] == 1


def test_moves_are_shown(page, query):
    rank(page, as_letor(query), "local")
    moves = page.locator(".documents tbody td:nth-child(3) span").all_inner_texts()
    before, after = column(page, "Before"), column(page, "Rank")
    signs = {1: "↑", -1: "↓", 0: "="}
    for move, come_from, gone_to in zip(moves, before, after, strict=True):
        by = int(come_from - gone_to)
        assert move == (f"{signs[np.sign(by)]}{abs(by)}" if by else "=")


def test_a_local_model_tells_its_group_and_neighbours(page, rankers, query):
    rank(page, as_letor(query), "local")
    why = rankers["local"].explain(query, query.query_ids[0], n_neighbours=5)
    serving = int(why.weights.argmax())
    told = page.locator(".served").inner_text()
    assert f"Served by group {serving + 1}" in told
    assert f"weight 1.00, {why.group_sizes[serving]} queries" in " ".join(told.split())
    neighbours = page.locator(".served > div:nth-child(2) th").all_inner_texts()
    assert neighbours == [str(each) for each in why.neighbours]
    assert f"similarity {why.similarities[1]:.2f}" in told
    for group in {serving, *why.neighbour_groups.tolist()}:
        alone = places(why.group_scores[:, group])
        documents = [int(name[1:]) for name in ids(page)]
        assert column(page, f"Group {group + 1}") == alone[documents].tolist()


def test_an_ensemble_tells_the_rank_by_each_member(page, rankers, query):
    rank(page, as_table(query, ","), "best")
    documents = [int(name[1:]) for name in ids(page)]
    for number, member in enumerate(rankers["best"].rankers_):
        alone = places(member.predict_rows(query))
        assert column(page, f"Model {number + 1}") == alone[documents].tolist()
    assert page.locator(".served").count() == 0


@pytest.mark.parametrize("model", ["local", "best"])
def test_the_features_that_decide_are_shown_for_every_model(page, rankers, query, model):
    rank(page, as_letor(query) if model == "local" else as_table(query, ","), model)
    why = rankers[model].explain(with_names(query, rankers[model]), 10).contributions
    assert page.locator(".why th").all_inner_texts() == ids(page)
    first = int(ids(page)[0][1:])
    most = why.largest(1)[first, 0]
    value, _, name = page.locator(".why .reason").first.inner_text().partition(" ")
    assert float(value.replace("−", "-")) == pytest.approx(why.entries[first, most], rel=1e-2)
    names = NAMES if model == "best" else [f"feature {column}" for column in range(1, 7)]
    assert name == [*names, "all features together"][most]


def test_a_model_without_contributions_says_why(visit, data, tmp_path):
    LGMML(n_metrics=5).fit(data).save(tmp_path / "m.localrank")
    with serving({"metric": tmp_path / "m.localrank"}) as address:
        page = visit(address)
        page.click("#example")
        rank(page)
        page.get_by_text("LGMML has no exact contributions of features").wait_for()
        assert page.locator(".why").count() == 0


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e5])
def test_the_example_shows_different_scores_whatever_the_units(visit, data, unit, tmp_path):
    other = data.with_features(unit * (data.features + 3))
    LambdaMART(30, min_leaf_documents=5).fit(other).save(tmp_path / "m.localrank")
    with serving({"trees": tmp_path / "m.localrank"}) as address:
        page = visit(address)
        page.click("#example")
        rank(page)
        assert len(set(column(page, "Score"))) >= 6


def test_the_example_of_a_model_that_takes_words_is_a_query_of_its_index(visit, text_address):
    page = visit(text_address)
    page.click("#example")
    rank(page)
    words = curl(page)[1]["query"]
    assert words == page.input_value("#words") != ""
    assert len(set(column(page, "Score"))) > 1


@pytest.mark.parametrize("form", ["JSON", "CSV"])
def test_documents_with_texts_are_ranked_by_words_and_shown_with_titles(
    visit, text_address, text_model, form
):
    given = list(load_example().corpus)[:5]
    if form == "JSON":
        text = json.dumps(given)
    else:
        rows = [[document[key] for key in ("id", "title", "body")] for document in given]
        quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
        text = "\n".join(["id,title,body", *quoted])
    page = visit(text_address)
    page.fill("#text", text)
    page.click("#rank")
    page.get_by_text("type the words of a query").wait_for()
    page.fill("#words", "cook rice")
    rank(page)
    ranked = text_model.rank("cook rice", given)
    assert ids(page) == ranked.ids
    titles = page.locator(".documents tbody .title").all_inner_texts()
    assert titles == [given[index]["title"] for index in ranked.indices]


def test_a_title_beside_features_is_shown_and_not_sent(page, query):
    lines = as_table(query, ",").splitlines()
    titled = [f"title,{lines[0]}", *(f"T{i},{line}" for i, line in enumerate(lines[1:]))]
    rank(page, "\n".join(titled), "best")
    titles = page.locator(".documents tbody .title").all_inner_texts()
    assert titles == [name.replace("d", "T") for name in ids(page)]
    assert "T0" not in page.locator("#curl").text_content()


@pytest.fixture(scope="module")
def lists():
    made, qrels, vectors = made_lists(30, 20)
    # Coarse vectors: some documents are as near as the last neighbour.
    return lists_dataset(made, qrels, {name: np.round(v, 0) for name, v in vectors.items()})


@pytest.fixture(scope="module")
def near_files(lists, tmp_path_factory):
    """Models in which documents borrow from their neighbours."""
    folder = tmp_path_factory.mktemp("near")
    rankers = {
        "smoothed": SmoothedFusion("equal", share=0.4),
        "columns": NeighbourColumns(RankSVM()),
        "hybrid": Hybrid(),
    }
    for name, ranker in rankers.items():
        ranker.fit(lists).save(folder / f"{name}.localrank")
    return {name: folder / f"{name}.localrank" for name in rankers}


@pytest.fixture(scope="module")
def near_address(near_files):
    with serving(near_files) as address:
        yield address


@pytest.mark.parametrize("model", ["smoothed", "columns", "hybrid"])
def test_the_neighbours_that_move_a_document_are_shown(
    visit, near_address, near_files, lists, model
):
    page = visit(near_address, width=390, color_scheme="dark")
    one = lists.select(lists.query_ids == "q5")
    documents = [
        {"id": name, "features": dict(zip(one.feature_names, row, strict=True)), "vector": vector}
        for name, row, vector in zip(
            one.document_ids.tolist(), one.features.tolist(), one.vectors.tolist(), strict=True
        )
    ]
    rank(page, json.dumps({"query": "q5", "documents": documents}), model)
    ranker = localrank.load(near_files[model])
    why = ranker.explain(one, "q5")
    assert ids(page) == why.document_ids[np.argsort(-why.scores, kind="stable")].tolist()
    told = page.locator(".why").last
    assert told.locator("h3").inner_text() == "Neighbours that move a document most"
    assert f"adds to {why.near_documents.moved}." in told.inner_text()
    assert told.locator("th").all_inner_texts() == ids(page)[: told.locator("th").count()]
    assert told.locator("tr").count() >= 10
    for place, name in enumerate(told.locator("th").all_inner_texts()):
        row = why.document_ids.tolist().index(name)
        near = sorted(why.near_documents.of(row), key=lambda near: -abs(near[2]))
        if not near:
            alone = told.locator("tr").nth(place).locator("td").inner_text()
            assert alone == "No document of the list is like it."
            continue
        shown = told.locator("tr").nth(place).locator(".reason").all_inner_texts()
        moves, told_of = zip(*(text.split(" ", 1) for text in shown), strict=True)
        assert list(told_of[:4]) == [
            f"{why.document_ids[other]} (cosine {cosine:.2f})" for other, cosine, _ in near[:4]
        ]
        rest = sum(moved for _, _, moved in near[4:]) + why.near_documents.others[row]
        expected = [moved for _, _, moved in near[:4]] + [rest] * (len(shown) > 4)
        found = [float(move.replace("−", "-")) for move in moves]
        np.testing.assert_allclose(found, expected, rtol=6e-3)
        assert len(shown) > 4 or abs(rest) < 1e-9
    assert min(page.evaluate(CONTRAST)) >= 4.5
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("model", ["smoothed", "columns", "hybrid"])
def test_the_example_of_a_model_with_neighbours_has_vectors(visit, near_address, model):
    page = visit(near_address)
    page.select_option("#model", model)
    page.click("#example")
    rank(page)
    assert len(set(column(page, "Score"))) == 8
    assert "Neighbours that move a document most" in page.locator("#answer").inner_text()


def test_a_mean_score_of_mere_rounding_is_zero(visit, near_address):
    page = visit(near_address)
    page.select_option("#model", "hybrid")
    page.click("#example")
    rank(page)
    assert "whose score is 0." in " ".join(page.locator(".why").first.inner_text().split())


def test_without_explain_only_the_ranking_is_shown(page, query):
    page.uncheck("#explain")
    rank(page, as_letor(query), "local")
    assert page.locator(".served").count() == 0
    headings = page.locator(".documents thead th").all_inner_texts()
    assert headings == ["Rank", "Document", "Before", "Score", "Label"]


def test_top_shortens_the_table(page, query):
    text = as_letor(query)
    rank(page, text, "local")
    everything = ids(page)
    page.fill("#top", "3")
    rank(page)
    assert ids(page) == everything[:3]
    told = page.locator("#summary").inner_text()
    assert told.startswith(
        f"The first 3 of {len(everything)} documents of query 10 ranked by local"
    )


def test_a_long_list_is_shown_in_part_at_first(page, rng):
    rank(page, json.dumps(rng.random((250, 6)).tolist()), "local")
    assert len(ids(page)) == 200
    page.get_by_role("button", name="Show all 250").click()
    assert len(set(ids(page))) == 250
    assert page.get_by_role("button", name="Show all").count() == 0


def test_the_answer_names_model_version_and_time(page, address, query):
    rank(page, as_letor(query), "local")
    with urllib.request.urlopen(f"{address}v1/models") as answer:
        version = json.load(answer)["models"][0]["version"]
    told = page.locator("#summary").inner_text()
    assert f"ranked by local, version {version}, in " in told
    assert told.endswith((" ms.", " s."))


def test_models_are_described(page):
    told = [row.split("\t") for row in page.locator("#models tbody tr").all_inner_texts()]
    (local, ensemble) = [[" ".join(cell.split()) for cell in row] for row in told]
    assert (local[0], local[2:5]) == ("local", ["LocalRanker", "75 %", "6"])
    assert (ensemble[0], ensemble[2:5]) == ("best shadow", ["Ensemble", "25 %", "6"])
    assert local[5].startswith("60 queries, ")
    assert page.locator("#model option").all_inner_texts() == ["By share", "local", "best"]


def test_words_rank_documents_of_the_index(visit, text_address, text_model):
    page = visit(text_address)
    page.fill("#words", "oil a bicycle chain")
    page.fill("#top", "5")
    rank(page)
    expected = list(text_model.rank("oil a bicycle chain", top=5))
    assert ids(page) == [name for name, _ in expected]
    # Scores are shown with two decimals here.
    np.testing.assert_allclose(column(page, "Score"), [score for _, score in expected], atol=5.1e-3)
    by_bm25, _ = text_model.list_of("oil a bicycle chain")
    order = by_bm25.document_ids.tolist()
    assert column(page, "By BM25") == [order.index(name) + 1 for name in ids(page)]
    assert curl(page)[1] == {"query": "oil a bicycle chain"}
    assert "documents of query “oil a bicycle chain” ranked by texts" in (
        page.locator("#summary").inner_text()
    )


def test_words_that_no_document_has_rank_nothing(visit, text_address):
    page = visit(text_address)
    page.fill("#words", "xyzzy")
    page.click("#rank")
    page.get_by_text("No document in the index contains a word of the query.").wait_for()
    assert page.locator(".documents").count() == 0


def test_words_are_asked_for_only_where_a_model_takes_them(visit, text_address, rankers, query):
    page = visit(text_address)
    assert page.locator("#words").is_visible()
    page.fill("#words", "oil a bicycle chain")
    rank(page, as_letor(query), "local")
    assert not page.locator("#words").is_visible()
    order = np.argsort(-rankers["local"].predict(query), kind="stable")
    assert ids(page) == [f"d{i}" for i in order]


def test_shares_decide_where_no_model_is_chosen(page, query):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    rank(page, as_request(query))
    assert asked[0].endswith("/v1/rank?explain=true")
    rank(page, model="best")
    assert any(url.endswith("/v1/models/best/rank?explain=true") for url in asked)


@pytest.mark.parametrize("model", ["local", "best", ""])
def test_the_example_fits_the_model(page, model):
    page.select_option("#model", model)
    page.click("#example")
    rank(page)
    assert len(ids(page)) == 8
    assert len(set(column(page, "Score"))) == 8
    if model == "best":
        assert page.input_value("#text").startswith('id,bm25,"page rank","the ""title"", in full"')


def test_of_several_queries_one_is_chosen(page, rankers, query):
    lines = as_letor(query).splitlines()
    others = [line.replace("qid:10", "qid:7") for line in lines[:3]]
    page.fill("#text", "\n".join(lines[:2] + others + lines[2:]))
    page.locator("#recognised", has_text="2 queries: choose one to rank.").wait_for()
    rank(page, model="local")
    assert len(ids(page)) == len(lines)
    page.select_option("#query", label="7")
    rank(page)
    assert sorted(ids(page)) == ["d0", "d1", "d2"]
    assert "of query 7" in page.locator("#summary").inner_text()


BAD = {
    "1 qid:1 1:0.5\n1 qid:1 1:x": "Line 2: “1:x” is not feature:value.",
    "1 qid:1 1:0.5\n\n1 qid:1 7:1": "Line 3: feature 7: features are numbered 1 to 6.",
    "1 qid:1 1:0.5 1:2": "Line 1: feature 1 appears twice.",
    "1 qid:1 1:0.5\n1 1:0.5": "Line 2: qid:… must follow the label.",
    "x qid:1 1:0.5": "Line 1: the label “x” is not a number.",
    "a,b\n1,2\n1": "Line 3: the header has 2 columns. Got 1 instead.",
    'a,b\n"1",2\n1,two': "Line 3: “two” in column “b” is not a number.",
    'a,"b\nc"\n1,1e999': "Line 3: “1e999” in column “b c” is not a number.",
    "a,a\n1,2": "Line 1: column “a” appears twice.",
    "a,\n1,2": "Line 1: column 2 has no name.",
    "0.5,1\n1,2": "Line 1: the first line must hold the names of the columns.",
    "a,b": "Line 1: no document follows the header.",
    'a,b\n"1,2': "Line 2: a quoted field does not end, or a quote is inside a field.",
    "hello": "Line 1: this is not CSV with a header, LETOR lines or JSON.",
    "[[1, 2],\n [3, NaN]]": "Line 2: JSON cannot go on with “NaN]]”.",
    '{"documents": [\n{"features": [1,]}]}': "Line 2: JSON cannot go on with “]}]}”.",
    "[[1, 2]": "Line 1: the JSON ends too early.",
    '{"rows": []}': 'The object lacks "documents" or "runs".',
    '{"lists": [{"runs": [1]}]}': 'lists[0] lacks "documents" or "runs".',
    "[]": "The list has no documents.",
    '{"documents": []}': "The list has no documents.",
    '{"lists": []}': "The list has no documents.",
    '{"runs": {"a": [], "b": []}}': "The list has no documents.",
    "[1, 2]": "[0] is neither a row nor an object.",
}


@pytest.mark.parametrize("text", BAD)
def test_what_cannot_be_read_is_named_beside_the_field(page, text):
    page.select_option("#model", "local")
    page.fill("#text", text)
    page.locator("#text-problem").wait_for()  # it moves the button
    assert " ".join(page.locator("#text-problem").inner_text().split()) == BAD[text]
    assert page.locator("#text").get_attribute("aria-invalid") == "true"
    page.click("#rank")
    page.wait_for_function("document.activeElement.id === 'text'")
    assert page.locator(".documents").count() == 0


def test_a_problem_goes_when_it_is_mended(page):
    page.fill("#text", "0 qid:1 1:x")
    page.locator("#text-problem").wait_for()
    page.fill("#text", "0 qid:1 1:1")
    page.locator("#text-problem").wait_for(state="hidden")
    assert page.locator("#text").get_attribute("aria-invalid") == "false"


def test_an_empty_field_is_told(page):
    page.click("#rank")
    assert page.locator("#text-problem").inner_text() == "Paste a list first."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[1, 2]]", "documents[0]: the model takes 6 features. Got 2 instead. (422)"),
        ("[[1, 2, 3, 4, 5, 1e200]]", " (422)"),
    ],
)
def test_the_message_of_the_service_is_shown(visit, address, text, message):
    page = visit(address, refusals=[422])
    page.click("#example")
    rank(page)
    page.fill("#text", text)
    page.click("#rank")
    page.locator("#problem").wait_for()
    assert page.locator("#problem").inner_text().endswith(message)
    assert page.locator(".documents").count() == 0


def test_a_silent_service_is_told(visit, files):
    with serving({"local": files["local"]}) as address:
        page = visit(address)
        page.click("#example")
        page.evaluate("() => { window.fetch = () => Promise.reject(new TypeError('down')); }")
        page.click("#rank")
        page.get_by_text("The service does not answer.").first.wait_for()
        assert "does not answer" in page.locator("#problem").inner_text()


def test_a_service_that_is_not_ready_is_watched(visit, files, tmp_path):
    late = tmp_path / "late.localrank"
    with serving({"late": late}) as address:
        page = visit(address, refusals=[503], wait=False)
        page.locator("#state", has_text="Not ready: ").wait_for()
        assert "not loaded" in page.locator("#models").inner_text()
        assert "late.localrank" in page.locator("#models .problem").inner_text()
        shutil.copy(files["local"], late)
        page.get_by_text("Ready: every model can answer.").wait_for()
        page.locator("#models", has_text="LocalRanker").wait_for()


def test_a_token_is_asked_for_and_kept_in_memory_alone(visit, files):
    with serving({"local": files["local"]}, token=TOKEN) as address:
        page = visit(address, refusals=[401], wait=False)
        page.locator("#door").wait_for()
        assert page.locator("#main").is_hidden()
        for wrong in ("no", "ключ"):
            page.fill("#token", wrong)
            page.keyboard.press("Enter")
            page.get_by_text("The service does not accept this token.").wait_for()
        page.fill("#token", TOKEN)
        page.keyboard.press("Enter")
        page.locator("#main").wait_for()
        assert page.locator("#door").is_hidden()
        page.get_by_text("Ready: every model can answer.").wait_for()
        page.click("#example")
        rank(page)
        assert TOKEN not in page.content()
        assert "Bearer $LOCALRANK_TOKEN" in page.locator("#curl").text_content()
        kept = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
        assert page.evaluate(kept) == '[{},{},""]'
        page.reload()
        page.locator("#door").wait_for()


def test_the_curl_command_asks_the_same(page, query):
    text = as_request(query)
    text = text.replace('"d0"', '"it\'s $HOME `d0`"')
    page.fill("#top", "4")
    rank(page, text, "local")
    page.click("#request summary")
    url, body = curl(page)
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked) as answer:
        assert [str(place["id"]) for place in json.load(answer)["ranking"]] == ids(page)


def test_the_curl_command_can_be_copied(visit, address):
    page = visit(address, permissions=["clipboard-read", "clipboard-write"])
    page.click("#example")
    rank(page)
    page.click("#request summary")
    page.click("#copy")
    page.get_by_text("Copied.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("#curl").text_content()


def test_markup_in_ids_stays_text(page):
    documents = [{"id": HOSTILE, "features": [0] * 6}, {"id": "b", "features": [1] * 6}]
    rank(page, json.dumps({"query": HOSTILE, "documents": documents}), "local")
    assert HOSTILE in ids(page)
    assert HOSTILE in page.locator("#summary").inner_text()
    page.fill("#text", f"{HOSTILE},x\n1,2\n1")
    page.locator("#text-problem").wait_for()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, main b").count() == 0


def test_ids_of_many_digits_are_not_rounded(page):
    text = '{"documents": [{"id": 9007199254740993, "features": [0, 0, 0, 0, 0, 0]}]}'
    rank(page, text, "local")
    assert ids(page) == ["9007199254740993"]


def test_all_is_done_by_keyboard(page):
    def reach(name):
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == name:
                style = page.locator(f"#{name}").evaluate("node => getComputedStyle(node).outline")
                assert "2px" in style
                return
        raise AssertionError(f"{name} cannot be reached")

    reach("model")
    page.keyboard.type("best")
    assert page.input_value("#model") == "best"
    reach("example")
    page.keyboard.press("Space")
    reach("text")
    page.keyboard.press("Control+Enter")
    page.locator(".documents").wait_for()
    reach("explain")
    page.keyboard.press("Space")
    reach("rank")
    page.keyboard.press("Enter")
    page.locator(".documents thead th", has_text="Model 1").wait_for(state="detached")
    page.locator(".documents").wait_for()
    assert len(ids(page)) == 8


def test_names_and_live_regions_are_there_for_screen_readers(page):
    for role, name in {
        "combobox": "Model",
        "textbox": "Documents with their features or texts",
        "spinbutton": "Top",
        "checkbox": "Explain",
    }.items():
        assert page.get_by_role(role, name=name, exact=True).count() == 1
    assert page.locator("#summary").get_attribute("aria-live") == "polite"
    for problem in ("#problem", "#text-problem"):
        assert page.locator(problem).get_attribute("role") == "alert"


@pytest.mark.parametrize("batch", [False, True])
def test_the_lists_of_retrievers_are_fused(visit, tmp_path, batch):
    made, qrels, _ = made_lists(30, 20)
    model = Hybrid().fit(lists_dataset(made, qrels))
    model.save(tmp_path / "fusion.localrank")
    query = next(iter(qrels))
    given = {
        "query": query,
        "runs": {
            name: [{"id": d, "score": s} for d, s in made[name][query].items()] for name in made
        },
    }
    one = {name: {query: run[query]} for name, run in made.items()}
    expected = lists_dataset(one)
    order = np.argsort(-model.predict(expected), kind="stable")
    with serving({"fusion": tmp_path / "fusion.localrank"}) as address:
        page = visit(address)
        rank(page, json.dumps({"lists": [given]} if batch else given))
        assert ids(page) == [str(d) for d in expected.document_ids[order]]
        said = page.locator("#recognised").inner_text()
        n_lists = f"{len(made)} list{'s' * (len(made) != 1)}"
        assert said.endswith(f": {len(order)} documents, {n_lists}.")
        assert f"of query {query} ranked" in page.locator("#summary").inner_text()


def test_what_is_cut_can_be_read(page, query):
    name = "document-of-a-very-long-name-" * 8
    rank(page, as_table(query, ",").replace("d0,", f"{name},"), "best")
    titles = page.locator(f".documents th[title='{name}']")
    assert titles.inner_text() == name
    assert page.locator(f".why th[title='{name}']").count() == 1


def test_a_long_name_leaves_room_for_what_a_model_is(visit, data, tmp_path):
    name = "a-model-with-a-very-long-name-" * 3
    RankSVM().fit(data).save(tmp_path / "m.localrank")
    with serving({name: tmp_path / "m.localrank"}) as address:
        page = visit(address, width=390)
        version = page.locator("#models code").bounding_box()
        assert version["x"] + version["width"] < 390
        # A name is broken, a heading is not.
        assert page.locator("#models thead tr").bounding_box()["height"] < 40


def test_a_query_from_right_to_left_leaves_the_sentence_in_order(visit, text_address):
    page = visit(text_address)
    page.fill("#words", "שלום")
    page.click("#rank")
    page.get_by_text("No document in the index").wait_for()
    assert page.locator("#summary bdi").inner_text() == "שלום"
    assert page.locator("#words").evaluate("node => getComputedStyle(node).direction") == "rtl"


@pytest.mark.parametrize("model", ["local", "best"])
def test_a_narrow_page_does_not_scroll_sideways(visit, address, model):
    page = visit(address, width=360)
    page.select_option("#model", model)
    page.click("#example")
    text = page.input_value("#text").replace("doc-1", "document-of-a-very-long-name-" * 8)
    rank(page, text)
    # The ranking stands below the list, and comes into view.
    assert page.locator("#result-title").evaluate("node => node.getBoundingClientRect().y") < 300
    page.click("#request summary")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    box = page.get_by_role("region", name="Ranked documents")
    assert box.evaluate("node => node.scrollWidth > node.clientWidth")


# Of all elements that hold text, painted over the grounds of those around them.
CONTRAST = """() => {
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colours) => {
    paint.clearRect(0, 0, 1, 1);
    for (const colour of colours) { paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1); }
    return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (channels) => {
    const [r, g, b] = channels.map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const holds = (node) =>
    node.checkVisibility() &&
    [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  return [...document.body.querySelectorAll("*")].filter(holds).map((node) => {
    const grounds = [];
    for (let at = node; at; at = at.parentElement)
      grounds.unshift(getComputedStyle(at).backgroundColor);
    const under = luminance(rgb(grounds));
    const text = luminance(rgb([...grounds, getComputedStyle(node).color]));
    return (Math.max(under, text) + 0.05) / (Math.min(under, text) + 0.05);
  });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(visit, address, scheme, query):
    page = visit(address, color_scheme=scheme)
    rank(page, as_letor(query), "local")
    page.fill("#text", "[")
    page.locator("#text-problem").wait_for()
    ratios = page.evaluate(CONTRAST)
    assert len(ratios) > 100
    assert min(ratios) >= 4.5


def test_the_policy_lets_nothing_in():
    assert "unsafe" not in policy()
    assert policy().startswith("default-src 'none'; connect-src 'self'")
    assert "style=" not in whole_page()
    assert "http://" not in whole_page().replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in whole_page()
