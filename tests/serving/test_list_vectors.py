"""Lists of features whose documents have vectors."""

from base64 import b64encode

import numpy as np
import pyarrow as pa
import pytest
from made_up_lists import made_lists
from numpy.testing import assert_array_equal
from serving.service import ARROW, as_stream

import localrank
from localrank.fusion import Fusion, Hybrid, NeighbourColumns, SmoothedFusion, lists_dataset
from localrank.rankers import RankSVM
from localrank.serving._lists import MAX_COMPARED
from localrank.text import FeatureExtractor, TextRanker, load_example


@pytest.fixture(scope="module")
def lists():
    made, qrels, vectors = made_lists(30, 12)
    return lists_dataset(made, qrels, vectors)


@pytest.fixture(scope="module")
def files(lists, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    rankers = {
        "smoothed": SmoothedFusion("equal", share=0.4),
        "columns": NeighbourColumns(RankSVM()),
        "hybrid": Hybrid(),
        "plain": Fusion("equal"),
    }
    for name, ranker in rankers.items():
        ranker.fit(lists).save(folder / f"{name}.localrank")
    return {name: folder / f"{name}.localrank" for name in rankers}


@pytest.fixture
def client(serve, files):
    return serve(files)


def base64_of(vector):
    return b64encode(np.asarray(vector, "<f4").tobytes()).decode()


FORMS = {"numbers": lambda vector: vector.tolist(), "base64": base64_of}


def body_of(dataset, number, form="numbers"):
    rows = slice(*dataset.offsets[number : number + 2])
    vectors = dataset.vectors[rows]
    return {
        "query": str(dataset.query_ids[number]),
        "documents": [
            {
                "id": str(name),
                "features": dict(zip(dataset.feature_names, row.tolist(), strict=True)),
                "vector": FORMS[form](vector),
            }
            for name, row, vector in zip(
                dataset.document_ids[rows], dataset.features[rows], vectors, strict=True
            )
        ],
    }


def scores_of(answer):
    assert answer.status_code == 200, answer.text
    places = answer.json()["ranking"]
    scores = np.empty(len(places))
    scores[[place["index"] for place in places]] = [place["score"] for place in places]
    return scores


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["smoothed", "columns", "hybrid"])
def test_scores_are_those_of_predict(client, files, lists, name, form):
    answer = client.post(f"/v1/models/{name}/rank", json=body_of(lists, 5, form))
    expected = localrank.load(files[name]).predict(lists.select([5]))
    assert_array_equal(scores_of(answer), expected)


def test_a_batch_has_the_vectors_of_each_list(client, files, lists):
    body = {"lists": [body_of(lists, number) for number in (2, 7)]}
    answer = client.post("/v1/models/smoothed/batch", json=body).json()
    expected = localrank.load(files["smoothed"]).predict(lists.select([2, 7]))
    found = [place["score"] for each in answer["lists"] for place in each["ranking"]]
    assert sorted(found) == sorted(expected)
    body["lists"][1]["documents"][4]["vector"] = [1.0]
    refused = client.post("/v1/models/smoothed/batch", json=body)
    assert refused.status_code == 422
    assert refused.json()["error"].startswith("lists[1]: documents[4].vector must have 3 numbers")


def arrow(client, lists, kind, batch=False, name="smoothed", numbers=(5,)):
    part = lists.select(list(numbers))
    columns = dict(zip(part.feature_names, part.features.T, strict=True))
    columns["id"] = pa.array([str(each) for each in part.document_ids])
    columns["vector"] = kind(part.vectors)
    if batch:
        columns["qid"] = pa.array(part.query_index)
    path = f"/v1/models/{name}/{'batch' if batch else 'rank'}"
    return client.post(
        path, content=as_stream(pa.table(columns)), headers={"content-type": ARROW}
    ), part


def fixed(vectors, kind=None):
    flat = pa.array(vectors.ravel(), kind or pa.float32())
    return pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])


def varying(vectors):
    return pa.array(vectors.tolist(), pa.list_(pa.float64()))


@pytest.mark.parametrize("kind", [fixed, varying], ids=["fixed", "varying"])
@pytest.mark.parametrize("batch", [False, True])
def test_arrow_has_a_column_of_lists(client, files, lists, kind, batch):
    answer, part = arrow(client, lists, kind, batch, numbers=(5, 9) if batch else (5,))
    assert answer.status_code == 200, answer.text
    table = pa.ipc.open_stream(answer.content).read_all().to_pydict()
    expected = localrank.load(files["smoothed"]).predict(part)
    names = part.document_ids.tolist()
    for name, score in zip(table["id"], table["score"], strict=True):
        assert score == expected[names.index(name)]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (lambda v: fixed(v[:, :2].copy()), "vectors must have 3 numbers. That of row 0 has 2"),
        (lambda v: pa.array([*v.tolist()[:-1], [1.0]]), "That of row 11 has 1"),
        (lambda v: pa.array([*v.tolist()[:-1], None]), "must not be missing"),
        (lambda v: pa.array([*v.tolist()[:-1], [1.0, None, 2.0]]), "must not be missing"),
        (lambda v: pa.array([*v.tolist()[:-1], [1.0, np.nan, 2.0]]), "finite numbers of 32"),
        (lambda v: pa.array([*v.tolist()[:-1], [1.0, 1e300, 2.0]]), "finite numbers of 32"),
        (lambda v: pa.array([[] for _ in v], pa.list_(pa.float32())), "That of row 0 has 0"),
        (lambda v: pa.array(v.astype(int).tolist()), "must hold numbers. Its type is list"),
        (lambda v: pa.array([[row] for row in v.tolist()]), "must hold numbers. Its type is list"),
    ],
)
def test_wrong_columns_of_lists_are_refused(client, lists, kind, message):
    part = lists.select([5])
    assert part.n_documents == 12
    answer, _ = arrow(client, lists, kind)
    assert answer.status_code == 422
    assert message in answer.json()["error"]


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        (None, "documents[1]: the model finds neighbours by vectors, and there is no `vector`"),
        ([1.0], "documents[1].vector must have 3 numbers. Got 1 instead"),
        ([1.0] * 4, "must have 3 numbers. Got 4 instead"),
        ([1.0] * 20_000, "length <= 16384"),
        ("A" * 200_000, "length <= "),
        ([1.0] * 400_000, "documents[1].vector may have at most 16,384 numbers"),
        ("A" * 2_000_000, "documents[1].vector may have at most 16,384 numbers"),
        ([1.0, 2.0, 1e39], "documents[1].vector must hold finite numbers"),
        (base64_of([1.0, 2.0, np.nan]), "documents[1].vector must hold finite numbers"),
        (b64encode(bytes(13)).decode(), "not base64 of numbers of 32 bits"),
        ("no base64!", "not base64"),
        (["a"], "vector"),
        ([], "vector"),
        ([[1.0]], "vector"),
        ([None, 1.0, 2.0], "vector"),
    ],
)
def test_wrong_vectors_are_refused_with_their_place(client, lists, vector, message):
    body = body_of(lists, 5)
    body["documents"][1]["vector"] = vector
    answer = client.post("/v1/models/smoothed/rank", json=body)
    assert answer.status_code == 422
    assert message in answer.json()["error"]


@pytest.mark.parametrize("name", ["smoothed", "columns"])
def test_a_model_that_needs_vectors_says_so(client, lists, name):
    body = body_of(lists, 5)
    for document in body["documents"]:
        del document["vector"]
    answer = client.post(f"/v1/models/{name}/rank", json=body)
    assert answer.status_code == 422
    assert "finds neighbours by vectors, and there is no `vector`" in answer.json()["error"]
    bare, _ = arrow(client, lists.with_features(lists.features, lists.feature_names), fixed)
    assert bare.status_code == 200


@pytest.mark.parametrize("name", ["smoothed", "plain"])
def test_a_vector_of_millions_of_numbers_is_refused_before_it_is_read(client, lists, name):
    body = body_of(lists, 5)
    body["documents"][1]["vector"] = [1] * 3_000_000
    answer = client.post(f"/v1/models/{name}/rank", json=body)
    assert answer.status_code == 422
    assert "at most 16,384 numbers" in answer.json()["error"]


def test_arrow_without_the_column_is_refused(client, lists):
    part = lists.select([5])
    columns = dict(zip(part.feature_names, part.features.T, strict=True))
    answer = client.post(
        "/v1/models/smoothed/rank",
        content=as_stream(pa.table(columns)),
        headers={"content-type": ARROW},
    )
    assert answer.status_code == 422
    assert "there is no `vector`" in answer.json()["error"]


def test_other_models_ignore_vectors(client, files, lists):
    """So that clients need not know which of two models answers."""
    body = body_of(lists, 5)
    expected = localrank.load(files["plain"]).predict(lists.select([5]))
    body["documents"][0]["vector"] = [1.0]
    assert_array_equal(scores_of(client.post("/v1/models/plain/rank", json=body)), expected)
    answer, _ = arrow(client, lists, fixed, name="plain")
    assert answer.status_code == 200, answer.text


def test_the_example_of_a_model_has_vectors(client):
    for model in client.get("/v1/models").json()["models"]:
        answer = client.post(f"/v1/models/{model['name']}/rank", json=model["example"])
        assert answer.status_code == 200, answer.text
        assert ("vector" in model["example"]["documents"][0]) == (model["name"] != "plain")


def test_a_list_that_is_compared_with_itself_must_not_be_long(serve, files, lists):
    body = body_of(lists, 5, "base64")
    body["documents"] = [body["documents"][0] | {"id": n} for n in range(MAX_COMPARED + 1)]
    client = serve(files, timeout=60.0)
    answer = client.post("/v1/models/smoothed/rank", json=body)
    assert answer.status_code == 413
    assert "accepts at most 2,000 documents in a list. Got 2,001" in answer.json()["error"]
    assert client.post("/v1/models/plain/rank", json=body).status_code == 200


def test_an_explanation_names_the_neighbours(client, files, lists):
    answer = client.post("/v1/models/smoothed/rank?explain=true", json=body_of(lists, 5))
    why = answer.json()["explanation"]
    expected = localrank.load(files["smoothed"]).explain(lists, lists.query_ids[5]).near_documents
    assert why["moved"] == "the score by SmoothedFusion"
    places = [place["index"] for place in answer.json()["ranking"]]
    assert [each["index"] for each in why["near_documents"]] == places
    for each in why["near_documents"]:
        listed = [(near["index"], near["cosine"], near["moved"]) for near in each["neighbours"]]
        assert listed == expected.of(each["index"])
        assert each["others"] == expected.others[each["index"]]
    plain = client.post("/v1/models/plain/rank?explain=true", json=body_of(lists, 5))
    assert plain.json()["explanation"]["near_documents"] == []


def test_vectors_are_looked_up_by_id_in_the_index(serve, tmp_path):
    example = load_example()

    def encode(texts):
        return np.array([[text.count(letter) for letter in "aeiou"] for text in texts])

    extractor = FeatureExtractor(["title", "body"], features=["bm25"], depth=9, with_vectors=True)
    model = TextRanker(extractor, SmoothedFusion("equal", share=0.5))
    model.fit(example.queries, example.qrels, example.corpus, encoder=encode)
    model.save(tmp_path / "both.localrank")
    dataset = model.extractor_.dataset({"q": "boil rice water"})
    client = serve({"both": tmp_path / "both.localrank"})
    given = body_of(dataset, 0)
    bare = {**given, "documents": [dict(each) for each in given["documents"]]}
    for document in bare["documents"]:
        del document["vector"]
    answers = [client.post("/v1/rank", json=body) for body in (given, bare)]
    assert_array_equal(scores_of(answers[0]), model.ranker_.predict(dataset))
    assert_array_equal(scores_of(answers[1]), scores_of(answers[0]))
    twice = {**bare, "documents": [*bare["documents"], bare["documents"][0]]}
    scores = scores_of(client.post("/v1/rank", json=twice))
    assert scores[-1] == scores[0]
    for change, message in (
        ({"id": "nobody"}, "documents[1]: has no vector, and the model's index has no document"),
        ({"id": None}, "documents[1]: has neither a vector nor an id"),
    ):
        wrong = {**bare, "documents": [dict(each) for each in bare["documents"]]}
        wrong["documents"][1] |= change
        answer = client.post("/v1/rank", json=wrong)
        assert answer.status_code == 422
        assert message in answer.json()["error"]
