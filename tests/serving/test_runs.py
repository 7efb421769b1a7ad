"""Requests that hold what several retrievers found."""

import json
from urllib.parse import urlsplit

import pytest
from made_up_lists import made_lists
from serving.service import ARROW

import localrank
from localrank.client import Client
from localrank.fusion import Fusion, Hybrid, NeighbourColumns, lists_dataset
from localrank.rankers import RankSVM
from localrank.serving._messages import Hit, Runs
from localrank.serving._models import inputs_of
from localrank.serving._runs import fusible

MADE, QRELS, VECTORS = made_lists(30, 12)


@pytest.fixture(scope="module")
def files(named, tmp_path_factory):
    lists = lists_dataset(MADE, QRELS, VECTORS)
    folder = tmp_path_factory.mktemp("models")
    wider = lists.with_features(
        [[*row, 1.0] for row in lists.features.tolist()], [*lists.feature_names, "length"]
    )
    fitted = {
        "plain": Fusion("equal").fit(lists),
        "hybrid": Hybrid(RankSVM()).fit(lists),
        "columns": NeighbourColumns(RankSVM()).fit(lists),
        "wider": RankSVM().fit(wider),
        "linear": RankSVM().fit(named),
    }
    for name, ranker in fitted.items():
        ranker.save(folder / f"{name}.localrank")
    return {name: folder / f"{name}.localrank" for name in fitted}


@pytest.fixture
def client(serve, files):
    return serve(files)


def runs_of(query):
    return {
        name: [{"id": document, "score": score} for document, score in run[query].items()]
        for name, run in MADE.items()
    }


def body_of(query):
    listed = {document for run in MADE.values() for document in run[query]}
    return {
        "query": query,
        "runs": runs_of(query),
        "vectors": {document: VECTORS[document].tolist() for document in listed},
    }


def expected_of(path, query, lists=MADE):
    """Scores by the ids of documents, as `predict` gives them for `lists_dataset`."""
    dataset = lists_dataset({name: {query: run[query]} for name, run in lists.items()}, None,
                            VECTORS)  # fmt: skip
    scores = localrank.load(path).predict(dataset)
    return dict(zip(dataset.document_ids.tolist(), scores.tolist(), strict=True))


def scores_of(ranking):
    return {place["id"]: place["score"] for place in ranking["ranking"]}


@pytest.mark.parametrize("name", ["plain", "hybrid", "columns"])
def test_scores_are_those_of_lists_dataset(client, files, name):
    answer = client.post(f"/v1/models/{name}/rank", json=body_of("q4"))
    assert answer.status_code == 200, answer.text
    assert scores_of(answer.json()) == expected_of(files[name], "q4")
    assert answer.json()["query"] == "q4"


def test_index_counts_the_documents_in_the_order_of_the_lists(client):
    body = {"runs": {"list1": [{"id": "b", "score": 1}, {"id": "a", "score": 2}],
                     "list0": [{"id": "c", "score": 5}, {"id": "a", "score": 4}]}}  # fmt: skip
    ranking = client.post("/v1/models/plain/rank", json=body).json()["ranking"]
    assert {place["id"]: place["index"] for place in ranking} == {"b": 0, "a": 1, "c": 2}


def test_a_number_and_its_text_are_one_document(client):
    body = {"runs": {"list0": [{"id": 7, "score": 1.0}], "list1": [{"id": "7", "score": 1.0}]}}
    answer = client.post("/v1/models/plain/rank", json=body).json()
    assert [place["id"] for place in answer["ranking"]] == [7]


def test_a_list_that_found_nothing_counts_as_in_lists_dataset(client, files):
    body = body_of("q4")
    body["runs"]["list1"] = []
    answer = client.post("/v1/models/plain/rank", json=body)
    listed = {"list0": {"q4": MADE["list0"]["q4"]}, "list1": {"other": {"x": 1.0}}}
    dataset = lists_dataset(listed).select([0])
    assert dataset.query_ids.tolist() == ["q4"]
    scores = localrank.load(files["plain"]).predict(dataset).tolist()
    expected = dict(zip(dataset.document_ids.tolist(), scores, strict=True))
    assert scores_of(answer.json()) == expected


@pytest.mark.parametrize("name", ["plain", "columns"])
def test_where_no_list_found_a_document_the_ranking_is_empty(client, name):
    body = {"runs": {"list0": [], "list1": []}}
    answer = client.post(f"/v1/models/{name}/rank?explain=true", json=body)
    assert (answer.status_code, answer.json()["ranking"]) == (200, [])


@pytest.mark.parametrize("name", ["plain", "columns"])
def test_a_batch_ranks_each_query_by_its_own_lists(client, files, name):
    body = {"lists": [body_of("q2"), body_of("q9")]}
    answer = client.post(f"/v1/models/{name}/batch", json=body)
    assert answer.status_code == 200, answer.text
    for query, ranking in zip(("q2", "q9"), answer.json()["lists"], strict=True):
        assert scores_of(ranking) == expected_of(files[name], query)


def test_an_explanation_names_the_neighbours(client):
    answer = client.post("/v1/models/columns/rank?explain=true&top=3", json=body_of("q4")).json()
    near = answer["explanation"]["near_documents"]
    assert [each["index"] for each in near] == [place["index"] for place in answer["ranking"]]


def test_an_answer_may_be_a_table(client):
    pa = pytest.importorskip("pyarrow")
    answer = client.post("/v1/models/plain/rank", json=body_of("q4"), headers={"accept": ARROW})
    assert answer.status_code == 200, answer.text
    table = pa.ipc.open_stream(answer.content).read_all()
    assert set(table["id"].to_pylist()) == set(body_of("q4")["vectors"])


def changed(**changes):
    body = body_of("q4") | changes
    return {key: value for key, value in body.items() if value is not None}


def with_hit(hit):
    runs = runs_of("q4")
    runs["list0"] = [*runs["list0"], hit]
    return changed(runs=runs)


FIRST = next(iter(MADE["list0"]["q4"]))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (changed(runs={"list0": runs_of("q4")["list0"]}), "lacks the list 'list1'"),
        (changed(runs=runs_of("q4") | {"list2": []}), "no list 'list2'. Did you mean"),
        (changed(runs={}), "length >= 1"),
        (changed(runs=[]), "Expected `object`, got `array` - at `$.runs`"),
        (with_hit({"id": FIRST, "score": 1.0}), f"runs.list0[12]: the document '{FIRST}' is in"),
        (with_hit({"id": "x"}), "missing required field `score` - at `$.runs[...][12]`"),
        (with_hit({"id": "x", "score": "9"}), "Expected `float`, got `str`"),
        (with_hit({"id": "x", "score": None}), "Expected `float`, got `null`"),
        (with_hit({"id": "x", "score": -1e101}), "must lie between -1e+100 and 1e+100"),
        (with_hit({"id": "x", "score": 1.0}), "the document 'x' has none. Zeros say so."),
        (changed(vectors=None), "the model finds neighbours by vectors"),
        (changed(vectors=VECTORS[FIRST].tolist()), "Expected `object | null`, got `array`"),
        (changed(documents=[]), "unknown field `documents`"),
    ],
)
def test_wrong_lists_are_refused(client, body, message):
    answer = client.post("/v1/models/columns/rank", json=body)
    assert answer.status_code == 422
    assert message in answer.json()["error"]


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ([1.0], f"vectors['{FIRST}'] must have 3 numbers. Got 1 instead"),
        ([1] * 3_000_000, "may have at most 16,384 numbers"),
        ([1.0, None, 1.0], f"vectors['{FIRST}']: Expected `float`"),
        ("no base64!", "is not base64"),
        (None, "is null. Zeros say"),
    ],
)
def test_wrong_vectors_are_refused_with_their_document(client, vector, message):
    body = body_of("q4")
    body["vectors"][FIRST] = vector
    answer = client.post("/v1/models/columns/rank", json=body)
    assert answer.status_code == 422
    assert message in answer.json()["error"]


def test_a_batch_says_which_query_is_wrong(client):
    bad = body_of("q9")
    bad["runs"]["list0"][3]["id"] = bad["runs"]["list0"][0]["id"]
    answer = client.post("/v1/models/plain/batch", json={"lists": [body_of("q2"), bad]})
    assert answer.json()["error"].startswith("lists[1]: runs.list0[3]: the document")
    empty = {"runs": {"list0": [], "list1": []}}
    answer = client.post("/v1/models/plain/batch", json={"lists": [body_of("q2"), empty]})
    assert answer.json()["error"] == "lists[1]: no list found a document. Leave it out."


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("linear", "was not trained on lists of retrievers"),
        ("wider", "also takes 'length', which no list has. Send `documents` with all 13 features"),
    ],
)
def test_models_of_other_features_say_what_they_take(client, name, message):
    answer = client.post(f"/v1/models/{name}/rank", json=body_of("q4"))
    assert answer.status_code == 422
    assert message in answer.json()["error"]


def test_documents_of_all_lists_count_towards_the_limit(serve, files):
    client = serve({"plain": files["plain"]}, max_documents=5)
    answer = client.post("/v1/rank", json=body_of("q4"))
    assert answer.status_code == 413
    assert "at most 5 documents. Got 12 instead" in answer.json()["error"]


def test_columns_may_have_another_order(files):
    inputs = inputs_of(localrank.load(files["plain"]))
    hits = {"list0": [Hit("a", 3.0), Hit("b", 1.0)], "list1": [Hit("c", 9.0)]}
    straight = fusible(Runs(hits), inputs).table
    turned = fusible(Runs(hits), inputs._replace(names=inputs.names[::-1])).table
    assert (turned == straight[:, ::-1]).all()


def test_the_service_describes_such_requests(client):
    described = client.get("/openapi.json").json()
    for path, name in (("rank", "Runs"), ("batch", "RunsBatch")):
        asked = described["paths"][f"/v1/{path}"]["post"]["requestBody"]["content"]
        forms = asked["application/json"]["schema"]["anyOf"]
        assert {"$ref": f"#/components/schemas/{name}"} in forms


class Wired(Client):
    """A client whose requests go to a service in this process."""

    def __init__(self, service):
        super().__init__("http://127.0.0.1:1")
        self.service = service

    def _post(self, path, content):
        assert not urlsplit(path).netloc
        answer = self.service.post(path, content=json.dumps(content), headers=self._headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


def test_the_client_sends_lists(client, files):
    asking = Wired(client)
    lists = {name: run["q4"] for name, run in MADE.items()}
    ranked = asking.rank_lists(lists, query="q4", model="plain")
    assert dict(zip(ranked.ids, ranked.scores, strict=True)) == expected_of(files["plain"], "q4")
    near = asking.rank_lists(lists, vectors=VECTORS, model="columns", top=2, explain=True)
    expected = expected_of(files["columns"], "q4")
    assert near.ids == sorted(expected, key=lambda name: -expected[name])[:2]
    assert near.explanation["near_documents"]
