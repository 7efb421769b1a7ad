"""A service of a model that ranks by words and by vectors."""

from base64 import b64encode

import numpy as np
import pytest
from text.tiny_encoders import write_bert

import localrank
from localrank.rankers import RankSVM
from localrank.text import FeatureExtractor, TextRanker, load_encoder, load_example

QUERY = "boil rice water"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def path(encoder, tmp_path_factory):
    example = load_example()
    extractor = FeatureExtractor(
        ["title", "body"], features=["bm25", "length"], depth=20, with_vectors=True
    )
    model = TextRanker(extractor, RankSVM())
    model.fit(example.queries, example.qrels, example.corpus, encoder=encoder)
    file = tmp_path_factory.mktemp("model") / "both.localrank"
    model.save(file)
    return file


@pytest.fixture(scope="module")
def model(path, encoder):
    model = localrank.load(path)
    model.extractor_.use_encoder(encoder)
    return model


def ranked(answer):
    assert answer.status_code == 200, answer.text
    return [(place["id"], place["score"]) for place in answer.json()["ranking"]]


def test_an_encoder_ranks_by_words_with_both_lists(serve, path, encoder, model):
    client = serve({"both": path}, encoder=encoder)
    answer = client.post("/v1/rank", json={"query": QUERY})
    assert ranked(answer) == list(model.rank(QUERY))
    assert answer.json()["n_documents"] > 20


@pytest.mark.parametrize("form", ["list", "base64"])
def test_a_request_may_bring_the_vector(serve, path, encoder, model, form):
    vector = load_encoder(encoder)([QUERY], role="query")[0]
    sent = vector.tolist() if form == "list" else b64encode(vector.tobytes()).decode()
    client = serve({"both": path})
    assert ranked(client.post("/v1/rank", json={"query": QUERY, "vector": sent})) == list(
        model.rank(QUERY)
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "the service has no encoder"),
        ({"vector": [1.0]}, "must have 12 numbers. Got 1 instead"),
        ({"vector": [1e39] * 12}, "finite numbers of 32 bits"),
        ({"vector": [1.0] * 100_000}, "length <= 16384"),
        ({"vector": "A" * 1_000_000}, "length <= "),
        ({"vector": b64encode(np.full(12, np.nan, "<f4").tobytes()).decode()}, "finite numbers"),
        ({"vector": b64encode(bytes(13)).decode()}, "not base64 of numbers of 32 bits"),
        ({"vector": "no base64!"}, "not base64"),
        ({"vector": ["a"]}, "vector"),
        ({"vector": []}, "vector"),
        ({"vector": [[1.0]]}, "vector"),
        ({"vector": [1.0] * 12, "documents": [{"title": "rice"}]}, "documents of the index"),
        ({"vector": [1.0] * 12, "depth": 6_000}, "Got depth 6,000 of two lists"),
    ],
)
def test_a_wrong_vector_is_refused_with_a_reason(serve, path, body, message):
    client = serve({"both": path})
    answer = client.post("/v1/rank", json={"query": QUERY, **body})
    assert answer.status_code in (413, 422)
    assert message in answer.json()["error"]


def test_a_vector_of_zeros_leaves_the_words(serve, path, model):
    client = serve({"both": path})
    answer = client.post("/v1/rank", json={"query": QUERY, "vector": [0.0] * 12})
    found = model.extractor_.retrieve([QUERY]).document_ids.tolist()
    assert sorted(pair[0] for pair in ranked(answer)) == sorted(found)


def test_a_model_of_words_alone_takes_no_vector(serve, tmp_path):
    example = load_example()
    model = TextRanker(FeatureExtractor(["title", "body"], features=["bm25"]), RankSVM())
    model.fit(example.queries, example.qrels, example.corpus).save(tmp_path / "words.localrank")
    client = serve({"words": tmp_path / "words.localrank"})
    answer = client.post("/v1/rank", json={"query": QUERY, "vector": [1.0]})
    assert (answer.status_code, answer.json()["error"]) == (
        422,
        "The model ranks by words alone: leave out `vector`.",
    )
