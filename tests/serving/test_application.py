"""What the service answers: the scores of `predict`, and clear words where it cannot."""

import logging

import numpy as np
import pyarrow
import pytest
from numpy.testing import assert_array_equal
from serving.service import ARROW, as_rows, as_stream, scores_of, wait_for

import localrank
from localrank import rankers, recipes
from localrank.registry import declared, make_sample

METHODS = {**declared(rankers), **declared(recipes)}


@pytest.mark.parametrize("method", METHODS)
def test_scores_are_those_of_predict_to_the_last_bit(method, named, serve, tmp_path):
    path = tmp_path / "model.localrank"
    train, test = named.select(range(40)), named.select(range(40, 60))
    ranker = make_sample(METHODS[method]).fit(train)
    ranker.save(path)
    client = serve({"model": path})
    expected = ranker.predict(test)
    lists = [test.select([number]) for number in range(test.n_queries)]
    alone = [scores_of(client.post("/v1/rank", json=as_rows(one)).json()) for one in lists]
    assert_array_equal(np.concatenate(alone), expected)
    names = test.feature_names
    by_name = [
        {"documents": [{"features": dict(zip(names, row, strict=True))} for row in rows]}
        for rows in (one.features.tolist() for one in lists)
    ]
    answer = client.post("/v1/batch?explain=true", json={"lists": by_name}).json()
    assert_array_equal(np.concatenate([scores_of(one) for one in answer["lists"]]), expected)
    table = pyarrow.table(dict(zip(names, test.features.T, strict=True)))
    table = table.append_column("qid", pyarrow.array(test.query_index))
    body = as_stream(table)
    answer = client.post("/v1/batch", content=body, headers={"content-type": ARROW})
    ranked = pyarrow.ipc.open_stream(answer.content).read_all().to_pydict()
    rows = test.offsets[:-1][ranked["qid"]] + ranked["index"]
    scores = np.empty(test.n_documents)
    scores[rows] = ranked["score"]
    assert_array_equal(scores, expected)


def test_missing_values_are_null_unless_the_model_refuses_them(named, serve, tmp_path):
    paths = {choice: tmp_path / f"{choice}.localrank" for choice in ("impute", "refuse")}
    models = {choice: rankers.RankSVM(missing=choice).fit(named) for choice in paths}
    for choice, model in models.items():
        model.save(paths[choice])
    client = serve(paths)
    one = named.select([3])
    body = as_rows(one)
    body["documents"][1]["features"][2] = None
    features = one.features.copy()
    features[1, 2] = np.nan
    expected = models["impute"].predict(one.with_features(features, one.feature_names))
    answer = client.post("/v1/models/impute/rank", json=body)
    assert_array_equal(scores_of(answer.json()), expected)
    answer = client.post("/v1/models/refuse/rank", json=body)
    assert (answer.status_code, "feature_2 has missing values (1 of" in answer.text) == (422, True)


def test_documents_come_best_first_and_equal_ones_as_they_came(client, named):
    one = named.select([3])
    body = as_rows(one)
    body["documents"] += as_rows(one)["documents"]
    for number, document in enumerate(body["documents"]):
        document["id"] = f"d{number}"
    body["query"] = "shoes"
    answer = client.post("/v1/rank", json=body).json()
    scores = [place["score"] for place in answer["ranking"]]
    assert scores == sorted(scores, reverse=True)
    assert answer["query"] == "shoes"
    places = [place["index"] for place in answer["ranking"]]
    first, again = places[0::2], places[1::2]
    assert_array_equal(np.array(again) - first, one.n_documents)
    assert [place["id"] for place in answer["ranking"]] == [f"d{index}" for index in places]


def test_top_cuts_the_list(client, named):
    answer = client.post("/v1/rank", json=as_rows(named.select([3]))).json()
    cut = client.post("/v1/rank?top=2", json=as_rows(named.select([3]))).json()
    assert cut["ranking"] == answer["ranking"][:2]
    assert cut["n_documents"] == answer["n_documents"]


def test_rows_may_come_in_the_order_of_feature_names(client, named):
    body = as_rows(named.select([3]))
    expected = client.post("/v1/rank", json=body).json()
    for document in body["documents"]:
        document["features"].reverse()
    assert client.post("/v1/rank", json=body).json() != expected
    body["feature_names"] = list(reversed(named.feature_names))
    assert client.post("/v1/rank", json=body).json() == expected


def test_an_explanation_tells_what_explain_does(client, named, files):
    one = named.select([7])
    answer = client.post("/v1/models/local/rank?explain=true", json=as_rows(one)).json()
    told = answer["explanation"]
    model = localrank.load(files["local"])
    expected = model.explain(one, one.query_ids[0])
    assert [near["query"] for near in told["neighbours"]] == expected.neighbours.tolist()
    for group in told["groups"]:
        assert group["weight"] == expected.weights[group["group"]]
        assert_array_equal(group["scores"], expected.group_scores[:, group["group"]])
    assert sum(group["weight"] for group in told["groups"]) == 1


def test_members_of_an_ensemble_are_told(serve, named, tmp_path):
    ensemble = rankers.Ensemble([rankers.RankSVM(), rankers.BestFeature()]).fit(named)
    ensemble.save(tmp_path / "m.localrank")
    client = serve({"m": tmp_path / "m.localrank"})
    lists = {"lists": [as_rows(named.select([number])) for number in (3, 4)]}
    answer = client.post("/v1/batch?explain=true", json=lists).json()
    for number, one in zip((3, 4), answer["lists"], strict=True):
        told = one["explanation"]["models"]
        assert [member["model"] for member in told] == ["RankSVM", "BestFeature"]
        for member, ranker in zip(told, ensemble.rankers_, strict=True):
            assert_array_equal(member["scores"], ranker.predict(named.select([number])))


@pytest.mark.parametrize("name", ["linear", "local"])
def test_an_explanation_tells_what_features_contribute(name, client, named, files):
    one = named.select([7])
    path = f"/v1/models/{name}/rank?explain=true&top=3"
    answer = client.post(path, json=as_rows(one)).json()
    told = answer["explanation"]
    assert told["no_contributions"] is None
    ranked = [place["index"] for place in answer["ranking"]]
    assert [document["index"] for document in told["contributions"]] == ranked
    expected = localrank.load(files[name]).contributions(one).centred()
    assert told["base"] == pytest.approx(expected.base[0])
    for place, document in zip(answer["ranking"], told["contributions"], strict=True):
        values = {entry["feature"]: entry["value"] for entry in document["contributions"]}
        sizes = np.abs(list(values.values()))
        assert (np.diff(sizes) <= 0).all()
        for column, feature in enumerate(one.feature_names):
            value = expected.values[place["index"], column]
            assert values.get(feature, 0.0) == pytest.approx(value)
        total = told["base"] + sum(values.values()) + document["others"]
        assert total == pytest.approx(place["score"])


def test_at_most_ten_features_of_a_hundred_documents_are_told(serve, tmp_path, rng):
    X, qid = rng.normal(size=(150, 14)), np.zeros(150)
    rankers.RankSVM().fit(X, X[:, 0] > 0, qid=qid).save(tmp_path / "m.localrank")
    client = serve({"m": tmp_path / "m.localrank"})
    body = {"documents": [{"features": row} for row in X.tolist()]}
    answer = client.post("/v1/rank?explain=true", json=body).json()
    told = answer["explanation"]["contributions"]
    assert len(told) == 100
    assert all(len(document["contributions"]) == 10 for document in told)
    assert told[0]["contributions"][0]["feature"] == "feature 1"
    for place, document in zip(answer["ranking"][:100], told, strict=True):
        values = sum(entry["value"] for entry in document["contributions"])
        total = answer["explanation"]["base"] + values + document["others"]
        assert total == pytest.approx(place["score"])


def test_a_model_without_contributions_says_so(serve, named, tmp_path):
    rankers.LGMML(n_metrics=5).fit(named).save(tmp_path / "m.localrank")
    client = serve({"m": tmp_path / "m.localrank"})
    answer = client.post("/v1/rank?explain=true", json=as_rows(named.select([3]))).json()
    assert answer["explanation"]["contributions"] == []
    assert "LGMML has no exact contributions" in answer["explanation"]["no_contributions"]


def test_without_explain_nothing_is_explained(client, named):
    answer = client.post("/v1/rank", json=as_rows(named.select([3]))).json()
    assert answer["explanation"] is None


def test_an_answer_comes_in_the_format_that_is_accepted(client, named):
    body = as_rows(named.select([3]))
    answer = client.post("/v1/rank", json=body, headers={"accept": ARROW})
    assert answer.headers["content-type"] == ARROW
    table = pyarrow.ipc.open_stream(answer.content).read_all()
    assert table.column("rank").to_pylist() == list(range(1, table.num_rows + 1))
    assert table.schema.metadata[b"model"] == b"linear"
    refused = client.post("/v1/rank?explain=true", json=body, headers={"accept": ARROW})
    assert (refused.status_code, "come only as JSON" in refused.json()["error"]) == (406, True)


ROW = [0.5] * 8


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/v1/rank", {"documents": []}, 422, "length >= 1 - at `$.documents`"),
        ("/v1/rank", {"docs": []}, 422, "unknown field `docs`"),
        ("/v1/rank", {"documents": [{"features": ROW[1:]}]}, 422, "takes 8 features. Got 7"),
        ("/v1/rank", {"documents": [{"features": {"a": 1}}]}, 422, "lacks 'feature_0'"),
        (
            "/v1/rank",
            {"documents": [{"features": {f"feature_{i}": 1 for i in range(9)}}]},
            422,
            "documents[0]: The model has no feature 'feature_8'. Did you mean",
        ),
        (
            "/v1/rank",
            {"documents": [{"features": ROW}, {"features": {"a": 1}}]},
            422,
            "Some documents are rows, others name their features",
        ),
        (
            "/v1/rank",
            {"documents": [{"features": [*ROW[1:], "1"]}]},
            422,
            "$.documents[0].features[7]",
        ),
        ("/v1/rank", {"documents": [{"features": [*ROW[1:], 1e200]}]}, 422, "1e+100"),
        (
            "/v1/rank",
            {"documents": [{"features": ROW}], "feature_names": ["a"]},
            422,
            "feature_names: lacks 'feature_0', 'feature_1'",
        ),
        (
            "/v1/batch",
            {"lists": [{"documents": [{"features": ROW}]}, {"documents": [{"features": [1]}]}]},
            422,
            "lists[1]: documents[0]: the model takes 8 features",
        ),
        ("/v1/rank?top=0", {"documents": [{"features": ROW}]}, 422, "top must be a whole"),
        ("/v1/rank?explain=1", {"documents": [{"features": ROW}]}, 422, "explain must be true"),
        ("/v1/rank?tip=1", {"documents": [{"features": ROW}]}, 422, "no parameter 'tip'"),
        ("/v1/models/liner/rank", {}, 404, "no model 'liner'. Did you mean 'linear'"),
        ("/v1/ranks", {}, 404, "Not Found"),
    ],
)
def test_a_bad_request_is_told_what_is_wrong_and_where(client, path, body, status, message):
    answer = client.post(path, json=body)
    assert (answer.status_code, message in answer.json()["error"]) == (status, True), answer.text


def test_what_is_no_json_is_told_so(client):
    for content in (b"", b"{", b"[1, 2", b"\xff", b'{"documents": ' + 10**5 * b"["):
        answer = client.post(
            "/v1/rank", content=content, headers={"content-type": "application/json"}
        )
        assert answer.status_code in (400, 422), content[:20]
    answer = client.post("/v1/rank", content=b"1 qid:1", headers={"content-type": "text/plain"})
    assert answer.status_code == 415


def test_sizes_are_limited(serve, files):
    client = serve(files, max_body=2000, max_documents=3, max_lists=2)
    one = {"documents": [{"features": ROW}]}
    many = {"documents": 4 * one["documents"]}
    for path, body, message in (
        ("/v1/rank", many, "may hold at most 3 documents. Got 4"),
        ("/v1/batch", {"lists": 3 * [one]}, "may hold at most 2 lists. Got 3"),
        ("/v1/rank", {"documents": 99 * one["documents"]}, "may have at most 2,000 bytes"),
    ):
        answer = client.post(path, json=body)
        assert (answer.status_code, message in answer.json()["error"]) == (413, True), answer.text
    chunks = (b" " * 500 for _ in range(5))
    answer = client.post("/v1/rank", content=chunks, headers={"content-type": "application/json"})
    assert (answer.status_code, "Got more" in answer.json()["error"]) == (413, True)


def test_a_request_ends_when_its_time_is_up(serve, files, monkeypatch):
    from localrank.rankers._linear import LinearRanker

    client = serve(files, timeout=0.2)
    monkeypatch.setattr(LinearRanker, "predict_rows", lambda *_: wait_for(lambda: False, 0.5))
    answer = client.post("/v1/rank", json={"documents": [{"features": ROW}]})
    assert (answer.status_code, answer.json()["error"]) == (
        504,
        "The lists were not ranked within 0.2 s.",
    )


def test_a_failure_is_logged_without_what_was_sent(serve, files, monkeypatch, caplog):
    from localrank.rankers._linear import LinearRanker

    client = serve(files)

    def fail(_, dataset):
        raise RuntimeError(f"{dataset.features}")

    monkeypatch.setattr(LinearRanker, "predict_rows", fail)
    with caplog.at_level(logging.DEBUG):
        answer = client.post("/v1/rank", json={"documents": [{"features": 8 * [12.345]}]})
    assert answer.status_code == 500
    assert "RuntimeError in a request" in caplog.text
    assert "12.345" not in caplog.text


def test_a_token_is_asked_for_where_there_is_one(serve, files):
    client = serve(files, token="secret")
    body = {"documents": [{"features": ROW}]}
    for token in (None, "Bearer wrong", "Bearer", "Basic secret", "Bearer sécret"):
        headers = {} if token is None else {"authorization": token.encode()}
        for answer in (
            client.post("/v1/rank", json=body, headers=headers),
            client.get("/v1/models", headers=headers),
            client.get("/metrics", headers=headers),
        ):
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
    headers = {"authorization": "Bearer secret"}
    assert client.post("/v1/rank", json=body, headers=headers).status_code == 200
    for path in ("/healthz", "/readyz", "/openapi.json", "/"):
        assert client.get(path).status_code == 200


def test_models_are_described(client, named, files):
    linear, local = client.get("/v1/models").json()["models"]
    assert (linear["name"], linear["method"], linear["share"]) == ("linear", "RankSVM", 1.0)
    assert linear["feature_names"] == list(named.feature_names)
    assert linear["training_data"]["n_queries"] == named.n_queries
    assert local["share"] == 0
    assert files["local"].read_bytes().split(b"\n")[1].startswith(local["version"].encode())


def test_requests_are_counted(client):
    body = {"documents": [{"features": ROW}, {"features": ROW}]}
    client.post("/v1/batch", json={"lists": [body, body]})
    client.post("/v1/models/local/rank", json={})
    client.post("/v1/models/nothing/rank", json={})
    lines = client.get("/metrics").text.splitlines()
    for line in (
        'localrank_requests_total{model="linear",status="200"} 1.0',
        'localrank_requests_total{model="local",status="422"} 1.0',
        'localrank_requests_total{model="none",status="404"} 1.0',
        'localrank_lists_total{model="linear"} 2.0',
        'localrank_list_documents_sum{model="linear"} 4.0',
        "localrank_pending_requests 0.0",
        "localrank_ready 1.0",
    ):
        assert line in lines


def test_the_page_allows_no_script_but_its_own(client):
    answer = client.get("/")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
