"""Several models, their shares, and files that are replaced while requests go on."""

import gc
import os
import weakref

import numpy as np
import pytest
from serving.service import as_rows, wait_for

from localrank.rankers import BestFeature, RankSVM
from localrank.serving import Settings
from localrank.serving._models import ServedModels


def version(client) -> str:
    return client.get("/v1/models").json()["models"][0]["version"]


def replace(ranker, path) -> None:
    """Put another model in the place of a file, at once."""
    ranker.save(path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)


def test_a_replaced_file_is_served(serve, named, tmp_path):
    path = tmp_path / "m.localrank"
    RankSVM().fit(named).save(path)
    client = serve({"m": path})
    before = version(client)
    replace(RankSVM(0.01).fit(named), path)
    wait_for(lambda: version(client) != before)
    one = named.select([3])
    answer = client.post("/v1/rank", json=as_rows(one)).json()
    best = max(RankSVM(0.01).fit(named).predict(one))
    assert (answer["version"], answer["ranking"][0]["score"]) == (version(client), best)
    assert 'reloads_total{model="m",result="loaded"} 1.0' in client.get("/metrics").text


@pytest.mark.parametrize("damage", ["cut", "foreign", "gone"])
def test_a_damaged_file_keeps_the_old_model_and_says_so(damage, serve, named, tmp_path, caplog):
    path = tmp_path / "m.localrank"
    RankSVM().fit(named).save(path)
    client = serve({"m": path})
    before = version(client)
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:-1] if damage == "cut" else b"GIF89a")
    wait_for(lambda: client.get("/v1/models").json()["models"][0]["problem"])
    assert version(client) == before
    assert client.post("/v1/rank", json=as_rows(named.select([3]))).status_code == 200
    assert client.get("/readyz").status_code == 200
    assert f"For now version {before} stays" in caplog.text
    assert 'reloads_total{model="m",result="refused"} 1.0' in client.get("/metrics").text
    replace(BestFeature().fit(named), path)
    wait_for(lambda: version(client) != before)
    assert client.get("/v1/models").json()["models"][0]["problem"] is None


def test_a_service_without_a_model_is_not_ready(named, tmp_path):
    from starlette.testclient import TestClient

    from localrank.serving import Application

    path = tmp_path / "m.localrank"
    settings = Settings({"m": path}, {}, reload_interval=0.05)
    with TestClient(Application(settings)) as client:
        wait_for(lambda: "No such file" in client.get("/readyz").text)
        answer = client.post("/v1/rank", json=as_rows(named.select([3])))
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert client.get("/healthz").status_code == 200
        RankSVM().fit(named).save(path)
        wait_for(lambda: client.get("/readyz").status_code == 200)


def test_shares_are_kept_over_queries(serve, files, named):
    client = serve(files, {"local": 0.3})
    body = as_rows(named.select([3]))
    answers = [
        client.post("/v1/rank", json={**body, "query": query}).json()["model"]
        for query in [*range(200), *range(200)]
    ]
    assert answers[:200] == answers[200:]
    # Within four standard deviations.
    assert abs(answers.count("local") / 400 - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 200)
    without = [client.post("/v1/rank", json=body).json()["model"] for _ in range(60)]
    assert set(without) == {"linear", "local"}


def test_a_share_of_nothing_or_all_is_that(serve, files, named):
    body = as_rows(named.select([3]))
    for share, expected in ((0.0, "linear"), (1.0, "local")):
        client = serve(files, {"local": share})
        models = {
            client.post("/v1/rank", json={**body, "query": query}).json()["model"]
            for query in range(30)
        }
        assert models == {expected}


def test_a_shadow_is_compared_with_what_was_answered(serve, files, named):
    client = serve(files, shadow="local")
    lists = [as_rows(named.select([number])) for number in range(5)]
    answer = client.post("/v1/batch", json={"lists": lists}).json()
    assert {one["model"] for one in answer["lists"]} == {"linear"}
    count = 'localrank_shadow_{}_count{{model="linear",shadow="local"}} 5.0'

    def counted() -> bool:
        text = client.get("/metrics").text
        return count.format("correlation") in text and count.format("overlap") in text

    wait_for(counted)
    # Its own answers are not compared with themselves.
    client.post("/v1/models/local/rank", json=lists[0])
    assert 'model="local",shadow' not in client.get("/metrics").text


def test_a_shadow_that_refuses_is_counted_and_harms_nothing(serve, files, queries, tmp_path):
    RankSVM().fit(queries.with_features(queries.features[:, :3])).save(tmp_path / "s.localrank")
    client = serve({**files, "small": tmp_path / "s.localrank"}, shadow="small")
    assert client.post("/v1/rank", json=as_rows(queries.select([3]))).status_code == 200
    wait_for(lambda: 'shadow_skipped_total{shadow="small"} 1.0' in client.get("/metrics").text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": {}}, "needs at least one model"),
        ({"models": {"a b": None}}, "may hold letters"),
        ({"models": {"a": None}, "shares": {"b": 0.1}}, "no model 'b'"),
        ({"models": {"a": None}, "shares": {"a": 0.1}}, "answers what the shares"),
        ({"models": {"a": None, "b": None}, "shares": {"b": 1.5}}, r"must lie in \[0, 1\]"),
        (
            {"models": {"a": None, "b": None, "c": None}, "shares": {"b": 0.6, "c": 0.6}},
            "at most 1. Got 1.2",
        ),
        ({"models": {"a": None}, "shadow": "b"}, "no model 'b'"),
        ({"models": {"a": None}, "token": ""}, "must not be empty"),
        ({"models": {"a": None}, "token": "a\nb"}, "must be printable"),
        ({"models": {"a": None}, "token": "a "}, "without spaces at its ends"),
        ({"models": {"a": None}, "token": b"a"}, "must be a str. Got bytes instead"),
    ],
)
def test_settings_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        Settings(**{"shares": {}, **options})


def test_a_replaced_model_is_freed_without_the_garbage_collector(files):
    models = ServedModels(Settings(files, {}), lambda *_: None)
    models.refresh()
    old = [weakref.ref(models.named(name).ranker) for name in files]
    gc.disable()
    try:
        models.refresh(always=True)
        assert [ranker() for ranker in old] == [None] * len(files)
    finally:
        gc.enable()
