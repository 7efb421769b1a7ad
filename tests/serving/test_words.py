"""A service of a model that takes words."""

import copy
import json
import random
import threading
import warnings
from contextlib import contextmanager

import pytest
import uvicorn
from serving.service import wait_for

import localrank
from localrank.client import Client, ServiceError
from localrank.rankers import RankSVM
from localrank.serving import Application, Settings
from localrank.text import FeatureExtractor, TextRanker, load_example

DOCUMENTS = [
    {"id": "x", "title": "Rain", "body": "A wet day."},
    {"title": "Bicycles", "body": "Oil the chain of a bicycle."},
    {"id": 7, "title": "Chains", "url": "http://example.com"},
]


@pytest.fixture(scope="module")
def text_files(tmp_path_factory):
    """Two models of different parts of the collection."""
    folder = tmp_path_factory.mktemp("texts")
    example = load_example()
    extractor = FeatureExtractor(["title", "body"], features=["bm25", "covered", "length"])
    paths = {}
    for name, corpus in {"texts": example.corpus, "fewer": example.corpus[7:]}.items():
        with warnings.catch_warnings():
            # Some judged documents are not among the fewer.
            warnings.simplefilter("ignore", UserWarning)
            model = TextRanker(extractor, RankSVM()).fit(example.queries, example.qrels, corpus)
        model.save(folder / f"{name}.localrank")
        paths[name] = folder / f"{name}.localrank"
    model.extractor_.save(folder / "index.localrank")
    return paths


@pytest.fixture(scope="module")
def model(text_files):
    return localrank.load(text_files["texts"])


@pytest.fixture
def client(serve, text_files, files):
    return serve({"texts": text_files["texts"], "linear": files["linear"]})


def pairs(answer) -> list:
    return [(place["id"], place["score"]) for place in answer["ranking"]]


def test_words_rank_documents_of_the_index(client, model):
    answer = client.post("/v1/rank", json={"query": "oil a bicycle chain", "depth": 7}).json()
    with pytest.warns(UserWarning, match="trained on 100 candidates"):
        expected = model.rank("oil a bicycle chain", depth=7)
    assert pairs(answer) == list(expected)
    assert (answer["query"], answer["n_documents"]) == ("oil a bicycle chain", 7)
    indices = [place["index"] for place in answer["ranking"]]
    assert indices == expected.indices.tolist()


def test_as_many_documents_of_the_index_as_the_model_was_trained_on(client, model, serve, tmp_path):
    answer = client.post("/v1/rank", json={"query": "the water"}).json()
    assert pairs(answer) == list(model.rank("the water"))
    other = copy.deepcopy(model)
    other.extractor_.depth = 3
    other.save(tmp_path / "few.localrank")
    answer = serve({"few": tmp_path / "few.localrank"}).post(
        "/v1/rank", json={"query": "the water"}
    )
    assert pairs(answer.json()) == list(other.rank("the water"))
    assert len(pairs(answer.json())) == 3


def test_words_rank_documents_of_the_request(client, model):
    body = {"query": "bicycle chain", "documents": DOCUMENTS}
    answer = client.post("/v1/models/texts/rank", json=body).json()
    assert pairs(answer) == list(model.rank("bicycle chain", DOCUMENTS))
    assert {place["id"] for place in answer["ranking"]} == {"x", 1, 7}


def test_the_first_documents_and_their_reasons(client):
    body = {"query": "bicycle chain", "documents": DOCUMENTS}
    answer = client.post("/v1/rank?top=2&explain=true", json=body).json()
    assert (len(answer["ranking"]), answer["n_documents"]) == (2, 3)
    named = [
        entry["feature"]
        for document in answer["explanation"]["contributions"]
        for entry in document["contributions"]
    ]
    assert "whole.bm25" in named


@pytest.mark.parametrize("words", ["zzz", "", "🙂"])
@pytest.mark.parametrize("options", ["", "?explain=true&top=3"])
def test_words_that_no_document_has_find_nothing(client, words, options):
    answer = client.post(f"/v1/rank{options}", json={"query": words})
    assert answer.status_code == 200
    assert (answer.json()["ranking"], answer.json()["n_documents"]) == ([], 0)


def test_such_a_model_still_takes_features(client, model):
    dataset, _ = model.list_of("bicycle chain", DOCUMENTS)
    rows = [{"features": row} for row in dataset.features.tolist()]
    answer = client.post("/v1/rank", json={"documents": rows}).json()
    by_words = {"query": "bicycle chain", "documents": DOCUMENTS}
    assert [place["score"] for place in answer["ranking"]] == [
        place["score"] for place in client.post("/v1/rank", json=by_words).json()["ranking"]
    ]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 422, "missing required field `query`"),
        ({"query": 3, "depth": 2}, 422, "Expected `str`, got `int` - at `$.query`"),
        ({"query": "a", "depth": 0}, 422, "`int` >= 1 - at `$.depth`"),
        ({"query": "a", "depth": 51}, 413, "may rank at most 50 documents. Got depth 51"),
        ({"query": "a", "depth": 2, "documents": DOCUMENTS}, 422, "depth is for documents of"),
        ({"query": "a", "documents": []}, 422, "length >= 1 - at `$.documents`"),
        (
            {"query": "a", "documents": [{"title": "a"}] * 51},
            413,
            "may hold at most 50 documents. Got 51",
        ),
        (
            {"query": "a", "documents": [{"title": "a"}, {"titel": "a"}]},
            422,
            "documents[1]: has no text under 'title' or 'body'",
        ),
        ({"query": "a", "documents": [{"title": 3}]}, 422, "'title' must be a text. Got 3"),
        ({"query": "a", "documents": [{"title": ["a"]}]}, 422, "got `array`"),
        ({"query": "a", "documents": [{"title": True}]}, 422, "got `bool`"),
        ({"query": "a", "documents": "b"}, 422, "got `str` - at `$.documents`"),
        ({"query": "a", "words": "b"}, 422, "unknown field `words`"),
        ([], 422, "Expected `object`, got `array`"),
    ],
)
def test_wrong_requests_are_refused_with_the_reason(serve, text_files, body, status, message):
    client = serve({"texts": text_files["texts"]}, max_documents=50)
    answer = client.post("/v1/rank", json=body)
    assert answer.status_code == status
    assert message in answer.json()["error"]


@pytest.mark.parametrize(
    "body",
    [
        rb'{"query": "a", "documents": [{"title": "a"}, {"title": "\ud800"}]}',
        b'{"query": "a", "documents": [{"title": "\xff"}]}',
        b'{"query": "a", "documents": [{"title": "a"',
        b'{"query": "a", "documents": [{"title": ' + b"[" * 100_000,
    ],
    ids=["half a character", "no UTF-8", "cut off", "deep"],
)
def test_bodies_that_are_no_json_behind_the_first_document_are_refused(client, body):
    answer = client.post("/v1/rank", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]


def test_a_model_of_features_says_what_it_misses(client):
    answer = client.post("/v1/models/linear/rank", json={"query": "bicycle", "depth": 3})
    assert answer.status_code == 422
    assert "unknown field `depth`" in answer.json()["error"]
    body = {"query": "bicycle", "documents": DOCUMENTS}
    answer = client.post("/v1/models/linear/rank", json=body)
    assert answer.status_code == 422
    assert "unknown field `title` - at `$.documents[0]`" in answer.json()["error"]


def test_numbers_of_documents_become_ids_as_they_are(client):
    documents = [{"id": 1.5, "title": "a"}, {"id": None, "title": "b"}, {"id": 2, "title": "c"}]
    answer = client.post("/v1/rank", json={"query": "z", "documents": documents}).json()
    assert [place["id"] for place in answer["ranking"]] == ["1.5", 1, 2]


def test_models_describe_themselves(client):
    texts, linear = client.get("/v1/models").json()["models"]
    assert (texts["method"], linear["method"]) == ("TextRanker", "RankSVM")
    assert texts["feature_names"][0] == "title.bm25"


def test_an_extractor_alone_ranks_nothing(text_files):
    path = text_files["texts"].with_name("index.localrank")
    application = Application(Settings({"index": path}, {}))
    application.models.refresh()
    assert "holds a FeatureExtractor, not a fitted ranker" in application.models.problems["index"]


def test_a_shadow_is_compared_where_it_ranks_the_same_documents(serve, text_files):
    client = serve(text_files, shadow="fewer")

    def counted(name: str) -> float:
        lines = client.get("/metrics").text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))

    client.post("/v1/rank", json={"query": "chain", "documents": DOCUMENTS})
    wait_for(lambda: counted("localrank_shadow_overlap_count") == 1)
    client.post("/v1/rank", json={"query": "the dog and the cat"})
    wait_for(lambda: counted("localrank_shadow_skipped_total") == 1)
    client.post("/v1/rank", json={"query": "zzz"})
    wait_for(lambda: counted("localrank_shadow_skipped_total") == 2)
    assert counted("localrank_shadow_overlap_count") == 1


def test_the_description_has_all_kinds_of_requests(client):
    described = client.get("/openapi.json").json()
    content = described["paths"]["/v1/rank"]["post"]["requestBody"]["content"]
    kinds = [
        one["$ref"].rpartition("/")[2] for one in content["application/json"]["schema"]["anyOf"]
    ]
    assert kinds == ["DocumentList", "TextQuery", "Runs"]
    assert described["components"]["schemas"]["TextQuery"]["required"] == ["query"]


def made_up(draws: random.Random, level: int = 0) -> object:
    """Something that JSON can say, often near to what a request says."""
    text = draws.choice(["", "chain", "a\0b", "🙂 é", "\u202e", "x" * 3000, "the " * 50])
    if level == 0:
        keys = draws.sample(["query", "documents", "depth", "features", "id"], draws.randrange(5))
        return {key: made_up(draws, 1) for key in keys} | {"query": text}
    kind = draws.randrange(10)
    if kind < 4 and level < 3:
        return [made_up(draws, level + 1) for _ in range(draws.randrange(4))]
    if kind < 7 and level < 4:
        keys = draws.sample(["id", "title", "body", "features", "other"], draws.randrange(5))
        return {key: made_up(draws, level + 2) for key in keys}
    return draws.choice([text, None, True, -1, 0, 3, 10**30, 1e308, -2.5])


def test_made_up_requests_are_ranked_or_refused(client):
    draws, seen = random.Random(0), set()
    for _ in range(600):
        body = made_up(draws)
        answer = client.post("/v1/models/texts/rank", json=body)
        seen.add(answer.status_code)
        assert answer.status_code in (200, 413, 422), (body, answer.text)
        if answer.status_code == 200:
            assert len(answer.json()["ranking"]) == answer.json()["n_documents"]
        else:
            assert answer.json()["error"]
    assert {200, 422} <= seen


@contextmanager
def listening(path):
    application = Application(Settings({"texts": path}, {}))
    server = uvicorn.Server(uvicorn.Config(application, port=0, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for(lambda: server.started and application.models.ready)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def test_the_client_asks_by_words(text_files, model):
    with listening(text_files["texts"]) as port, Client(f"http://127.0.0.1:{port}") as client:
        ranked = client.rank_by_words("oil a chain", depth=3)
        with pytest.warns(UserWarning, match="trained on 100 candidates"):
            expected = list(model.rank("oil a chain", depth=3))
        assert list(zip(ranked.ids, ranked.scores, strict=True)) == expected
        ranked = client.rank_by_words("oil a chain", top=3)
        assert ranked.ids == model.rank("oil a chain", top=3).ids
        given = client.rank_by_words("oil a chain", DOCUMENTS, model="texts", top=1, explain=True)
        assert given.ids == model.rank("oil a chain", DOCUMENTS).ids[:1]
        assert json.dumps(given.explanation)
        with pytest.raises(ServiceError, match="422: depth is for documents of the index"):
            client.rank_by_words("a", DOCUMENTS, depth=3)


@pytest.mark.parametrize("separator", [" ", ",", "\n"])
def test_a_query_of_too_many_words_is_refused_before_it_is_taken_apart(
    separator, serve, text_files, monkeypatch
):
    client = serve({"texts": text_files["texts"]}, max_query_words=5)
    right = separator.join(["rain"] * 5)
    assert client.post("/v1/rank", json={"query": right}).status_code == 200
    monkeypatch.setattr(TextRanker, "list_of", None)
    for documents in ({}, {"documents": DOCUMENTS}):
        body = {"query": right + separator + "oil", **documents}
        answer = client.post("/v1/rank", json=body)
        assert (answer.status_code, answer.json()["error"]) == (
            413,
            "A query may have at most 5 words. Got more.",
        )


def test_a_query_of_more_words_than_the_model_takes_is_refused(serve, text_files):
    client = serve({"texts": text_files["texts"]}, max_query_words=10**6)
    words = " ".join(f"w{number}" for number in range(1001))
    for documents in ({}, {"documents": DOCUMENTS}):
        answer = client.post("/v1/rank", json={"query": words, **documents})
        assert answer.status_code == 422
        assert "at most 1,000 different words. Got 1,001" in answer.json()["error"]
