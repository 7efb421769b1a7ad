"""A live test of two models: lists of both, clicks that come back, and a log that keeps them."""

import base64
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.client import HTTPException
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from serving.process import running
from serving.service import ARROW, as_rows, wait_for

from localrank.clicks import interleaving_result, read_interleaved
from localrank.data import RankingDataset
from localrank.data.click_lines import read_click_log
from localrank.rankers import RankSVM
from localrank.serving import Settings, _clicks_log
from localrank.serving._clicks_log import N_FILES, ClicksLog
from localrank.serving._list_ids import MAX_POSITIONS, ListIds, Shown, kept_secret
from localrank.serving._lists import Lists
from localrank.serving._live_test import live_answer
from localrank.serving._messages import Refused

LIVE = ("linear", "local")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "clicks"


@pytest.fixture
def live(serve, files, folder):
    """A service with a live test."""
    return serve(files, interleave=LIVE, clicks_log=folder)


@pytest.fixture
def body(named):
    """A request with ids."""
    content = as_rows(named.select([3]))
    for number, document in enumerate(content["documents"]):
        document["id"] = f"d{number}"
    return content | {"query": "shoes"}


def lines_of(folder) -> list[dict]:
    paths = sorted(folder.glob("clicks-*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def test_a_system_without_locks_of_files_is_told(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    folder.mkdir()
    with pytest.raises(ValueError, match="Run the live test on Linux or macOS"):
        ClicksLog(folder, 1_000, 60)


def test_an_answer_is_a_list_of_both_models(live, body):
    alone = {name: live.post(f"/v1/models/{name}/rank", json=body).json() for name in LIVE}
    orders = {name: [place["id"] for place in one["ranking"]] for name, one in alone.items()}
    scores = {
        name: {place["id"]: place["score"] for place in one["ranking"]}
        for name, one in alone.items()
    }
    assert orders["linear"] != orders["local"]
    firsts = Counter()
    for _ in range(40):
        answer = live.post("/v1/rank", json=body).json()
        assert answer["model"] == "linear:local"
        assert answer["version"] == ":".join(alone[name]["version"] for name in LIVE)
        assert answer["n_documents"] == len(body["documents"])
        shown = [place["id"] for place in answer["ranking"]]
        assert sorted(shown) == sorted(orders["linear"])
        picked = [
            [place["id"] for place, team in zip(answer["ranking"], answer["teams"], strict=True)
             if team == side]
            for side in (0, 1)
        ]  # fmt: skip
        for side, name in enumerate(LIVE):
            # What a model picks comes in its order.
            places = [orders[name].index(document) for document in picked[side]]
            assert places == sorted(places)
        for place, team in zip(answer["ranking"], answer["teams"], strict=True):
            assert place["score"] == scores[LIVE[max(team, 0)]][place["id"]]
            assert body["documents"][place["index"]]["id"] == place["id"]
        firsts[tuple(shown)] += 1
    assert len(firsts) > 1


def test_named_models_answer_as_always(live, serve, files, body):
    plain = serve(files)
    for path in ("/v1/models/local/rank?explain=true", "/v1/models/linear/rank"):
        assert live.post(path, json=body).json() == plain.post(path, json=body).json()


def test_batches_and_top_are_interleaved(live, body):
    answer = live.post("/v1/batch?top=3", json={"lists": [body, body]}).json()
    assert [len(one["ranking"]) for one in answer["lists"]] == [3, 3]
    assert [len(one["teams"]) for one in answer["lists"]] == [3, 3]
    assert answer["lists"][0]["list"] != answer["lists"][1]["list"]


def test_clicks_come_back_by_position_and_by_id(live, body, folder):
    answer = live.post("/v1/rank?top=4", json=body).json()
    second = answer["ranking"][1]["id"]
    told = live.post("/v1/clicks", json={"list": answer["list"], "clicks": [3, second, 3]})
    assert (told.status_code, told.json()) == (200, {"n_clicks": 2})
    (line,) = lines_of(folder)
    assert line["query"] == "shoes"
    assert line["documents"] == [place["id"] for place in answer["ranking"]]
    assert (line["clicks"], line["teams"], line["ranker"]) == (
        [1, 3], answer["teams"], "linear:local",
    )  # fmt: skip
    assert abs(line["time"] - time.time()) < 60
    # The list's id, which clicks could be forged with, is not in the log.
    assert answer["list"] not in json.dumps(line)
    assert (folder / "secret").stat().st_mode & 0o777 == 0o600


def test_the_log_tells_who_wins(live, body, folder):
    for _ in range(30):
        answer = live.post("/v1/rank", json=body).json()
        of_local = [place for place, team in enumerate(answer["teams"]) if team == 1]
        live.post("/v1/clicks", json={"list": answer["list"], "clicks": of_local[:1]})
    live.post(
        "/v1/clicks",
        json={"list": live.post("/v1/rank", json=body).json()["list"], "clicks": []},
    )
    paths = list(folder.glob("*.jsonl"))
    told = interleaving_result(read_interleaved(paths))
    assert (told.wins, told.ties, told.winner) == ((0, 30), 1, "local")
    log = read_click_log(paths)
    assert (log.n_sessions, log.n_clicks, log.ranker_names) == (31, 30, ("linear:local",))


def refused(client, content, **options):
    told = client.post("/v1/clicks", json=content, **options)
    return told.status_code, told.json()["error"]


def test_clicks_are_taken_once(live, body, folder):
    content = {"list": live.post("/v1/rank", json=body).json()["list"], "clicks": [0]}
    assert live.post("/v1/clicks", json=content).status_code == 200
    status, error = refused(live, content | {"clicks": [1]})
    assert (status, error) == (409, "The clicks on this list are in the log already.")
    assert len(lines_of(folder)) == 1


def test_after_a_restart_lists_are_known_and_repeated_clicks_too(serve, files, body, folder):
    options = {"interleave": LIVE, "clicks_log": folder}
    first = serve(files, **options)
    ids = [first.post("/v1/rank", json=body).json()["list"] for _ in range(2)]
    assert first.post("/v1/clicks", json={"list": ids[0], "clicks": []}).status_code == 200
    second = serve(files, **options)
    assert refused(second, {"list": ids[0], "clicks": []})[0] == 409
    assert second.post("/v1/clicks", json={"list": ids[1], "clicks": []}).status_code == 200
    # The first worker has not seen that itself.
    assert refused(first, {"list": ids[1], "clicks": []})[0] == 409


def test_forged_ids_are_unknown_lists(live, body, folder):
    issued = live.post("/v1/rank", json=body).json()["list"]
    raw = bytearray(base64.urlsafe_b64decode(issued + "=="))
    for place in (0, 15, 16, len(raw) - 1):
        forged = bytearray(raw)
        forged[place] ^= 1
        name = base64.urlsafe_b64encode(forged).decode().rstrip("=")
        status, error = refused(live, {"list": name, "clicks": [0]})
        assert (status, "has not issued the id" in error) == (404, True)
    others = ListIds(b"another secret", 3600).issue("shoes", ["d0"], [0], "linear:local")
    for wrong in (others, "", "x", "é" * 10, issued[:-8], issued + "AAAA", "A" * 40_000):
        assert refused(live, {"list": wrong, "clicks": [0]})[0] == 404
    assert lines_of(folder) == []


def test_late_clicks_are_refused(serve, files, body, folder):
    client = serve(files, interleave=LIVE, clicks_log=folder, clicks_within=1.0)
    issued = client.post("/v1/rank", json=body).json()["list"]
    time.sleep(2.1)
    status, error = refused(client, {"list": issued, "clicks": [0]})
    assert (status, error) == (410, "The list is too old: clicks count for 1 s after the answer.")


@pytest.mark.parametrize(
    ("clicks", "message"),
    [
        ([4], "no position 4 in its log: its positions are 0 to 3"),
        (["d99"], "does not have the document 'd99'"),
        ([-1], "Expected `int` >= 0"),
        ([0.5], "Expected `int | str`, got `float`"),
        ("d1", "Expected `array`, got `str`"),
        ([0] * 1001, "length <= 1000"),
    ],
)
def test_clicks_on_what_was_not_shown_are_refused(live, body, clicks, message, folder):
    issued = live.post("/v1/rank?top=4", json=body).json()["list"]
    status, error = refused(live, {"list": issued, "clicks": clicks})
    assert (status, message in error) == (422, True), error
    assert lines_of(folder) == []


def test_bodies_that_are_wrong_are_refused(live):
    for content, headers, status in (
        (b"{", {}, 400),
        (b'{"list": "x"}', {}, 422),
        (b'{"list": "x", "clicks": [], "more": 1}', {}, 422),
        (b"[]", {}, 422),
        (b"x" * 200_000, {}, 413),
        (b"{}", {"content-type": ARROW}, 415),
        (b"{}", {"content-type": "text/plain"}, 415),
    ):
        told = live.post(
            "/v1/clicks", content=content, headers={"content-type": "application/json"} | headers
        )
        assert (told.status_code, "error" in told.json()) == (status, True)
    assert live.get("/v1/clicks").status_code == 405
    metrics = live.get("/metrics").text
    assert 'localrank_clicks_total{status="422"} 3.0' in metrics


def test_a_token_is_asked_for(serve, files, folder):
    client = serve(files, interleave=LIVE, clicks_log=folder, token="secret")
    assert refused(client, {"list": "x", "clicks": []})[0] == 401
    with_token = {"headers": {"authorization": "Bearer secret"}}
    assert refused(client, {"list": "x", "clicks": []}, **with_token)[0] == 404


def test_without_a_log_clicks_stay_with_the_user(serve, files, named):
    client = serve(files, interleave=LIVE)
    answer = client.post("/v1/rank", json=as_rows(named.select([3]))).json()
    assert answer["list"] is None
    assert len(answer["teams"]) == answer["n_documents"]
    status, error = refused(client, {"list": "x", "clicks": []})
    assert (status, error) == (404, "This service keeps no clicks: start it with --clicks-log.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda body: body.pop("query"), "needs the ids of the query and of all documents"),
        (lambda body: body["documents"][1].pop("id"), "needs the ids of the query and of all"),
        (lambda body: body["documents"][1].update(id="d0"), "documents with different ids"),
        (lambda body: body["documents"][1].update(id="d" * 50_000), "are too long for a live test"),
        (lambda body: body["documents"][1].update(features=[1.0]), "Model linear: documents"),
        (lambda body: body.update(query=""), "The query must be a string or a whole number, not"),
        (lambda body: body["documents"][1].update(id="a\0"), "A document must be a string or a"),
    ],
)
def test_a_request_whose_log_would_not_tell_what_was_clicked_is_refused(
    live, body, change, message
):
    change(body)
    told = live.post("/v1/rank", json=body)
    assert (told.status_code, message in told.json()["error"]) == (422, True), told.json()


def test_explanations_and_arrow_are_for_one_model(live, body):
    told = live.post("/v1/rank?explain=true", json=body)
    assert (told.status_code, "/v1/models/linear/rank" in told.json()["error"]) == (422, True)
    told = live.post("/v1/rank", json=body, headers={"accept": ARROW})
    assert (told.status_code, "Live tests come only as JSON" in told.json()["error"]) == (406, True)


def test_long_lists_are_logged_up_to_a_limit(live, named, folder):
    row = named.features[0].tolist()
    documents = [{"id": number, "features": row} for number in range(MAX_POSITIONS + 20)]
    answer = live.post("/v1/rank", json={"query": 1, "documents": documents}).json()
    assert len(answer["ranking"]) == MAX_POSITIONS + 20
    last = {"list": answer["list"], "clicks": [MAX_POSITIONS]}
    assert refused(live, last)[0] == 422
    content = {
        "list": answer["list"],
        "clicks": [MAX_POSITIONS - 1, str(answer["ranking"][0]["id"])],
    }
    assert live.post("/v1/clicks", json=content).status_code == 200
    (line,) = lines_of(folder)
    assert (len(line["documents"]), line["clicks"]) == (MAX_POSITIONS, [0, MAX_POSITIONS - 1])
    assert len(line["teams"]) == MAX_POSITIONS


def test_models_may_find_different_documents(named):
    """As by words, in indexes of their own: documents are told apart by their ids."""
    models = [SimpleNamespace(name=name, version="v") for name in ("old", "new")]
    found = [["a", "b", "c"], ["c", "d"]]
    scores = [np.array([3.0, 2.0, 1.0]), np.array([0.5, 0.7])]
    lists = [
        Lists(RankingDataset.from_arrays(np.zeros((len(ids), 1)), qid=[0] * len(ids)), ["q"], [ids])
        for ids in found
    ]
    for _ in range(20):
        body = live_answer(models, lists, scores, ListIds(b"secret", 60), batch=False)  # type: ignore[arg-type]
        answer = json.loads(body)
        assert answer["n_documents"] == 4
        assert sorted(place["id"] for place in answer["ranking"]) == ["a", "b", "c", "d"]
        for place, team in zip(answer["ranking"], answer["teams"], strict=True):
            side = 1 if place["id"] == "d" else max(team, 0)
            assert found[side][place["index"]] == place["id"]
            assert scores[side][place["index"]] == place["score"]


def test_the_description_for_programs_has_it(live, client):
    described = live.get("/openapi.json").json()
    assert "/v1/clicks" in described["paths"]
    assert "LiveRanking" in described["components"]["schemas"]
    assert "/v1/clicks" not in client.get("/openapi.json").json()["paths"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interleave": ("linear", "best")}, "no model 'best'"),
        ({"interleave": ("linear", "linear")}, "needs two different models. Got 'linear' twice"),
        ({"clicks_log": "x"}, "A log of clicks belongs to a live test"),
    ],
)
def test_settings_that_do_not_fit_are_refused(files, options, message):
    with pytest.raises(ValueError, match=message):
        Settings(files, {}, **options)
    with pytest.raises(ValueError, match="leave out the shares"):
        Settings(files, {"local": 0.5}, interleave=LIVE)


# ---- The log


def shown(number: int, seconds: float = 0) -> Shown:
    return Shown(f"{number:016x}", int(time.time() - seconds), "q", ["a", "b"], [0, 1], "old:new")


def test_a_line_that_was_not_finished_is_cut_off(tmp_path, caplog):
    log = ClicksLog(tmp_path, 1 << 20, 60)
    log.append(shown(1), [0])
    with (tmp_path / "clicks-000001.jsonl").open("ab") as file:
        file.write(b'{"list":"0000000000000002","time":9999999999,"que')
    log.append(shown(2), [1])
    assert [line["clicks"] for line in lines_of(tmp_path)] == [[0], [1]]
    assert "not finished is cut off" in caplog.text
    with (tmp_path / "clicks-000001.jsonl").open("ab") as file:
        file.write(b"{")
    ClicksLog(tmp_path, 1 << 20, 60)
    assert len(lines_of(tmp_path)) == 2


def test_files_rotate_within_their_limit_and_repeated_clicks_stay_known(tmp_path):
    most = N_FILES * 1000
    logs = [ClicksLog(tmp_path, most, 60) for _ in range(3)]
    for number in range(200):
        logs[number % 3].append(shown(number), [0])
        assert sum(path.stat().st_size for path in tmp_path.glob("*.jsonl")) <= most
    names = sorted(path.name for path in tmp_path.glob("*.jsonl"))
    assert len(names) == N_FILES
    # One that wakes up after a long time does not write into a file that is gone.
    sleeper = ClicksLog(tmp_path, most, 60)
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == names
    for number in range(200, 400):
        logs[0].append(shown(number), [0])
    sleeper.append(shown(400), [0])
    assert lines_of(tmp_path)[-1]["list"] == f"{400:016x}"
    newest = {line["list"] for line in lines_of(tmp_path)}
    for log in (*logs, sleeper, ClicksLog(tmp_path, most, 60)):
        for number in newest:
            with pytest.raises(Refused, match="in the log already"):
                log.append(shown(int(number, 16)), [0])


def test_a_log_whose_file_was_taken_away_goes_on_in_a_new_one(tmp_path):
    log = ClicksLog(tmp_path, 1 << 20, 60)
    log.append(shown(1), [0])
    (tmp_path / "clicks-000001.jsonl").rename(tmp_path / "kept")
    log.append(shown(2), [0])
    assert [line["list"] for line in lines_of(tmp_path)] == [f"{2:016x}"]
    with pytest.raises(Refused, match="already"):
        log.append(shown(1), [0])


def test_memory_of_clicks_is_bounded_by_time(tmp_path):
    log = ClicksLog(tmp_path, 1 << 20, 60)
    for number in range(50):
        log.append(shown(number, seconds=100 * (number % 2)), [])
    assert len(log._back) == 25
    log.within = -10
    log.append(shown(50), [])
    assert len(log._back) == 0


def test_a_line_is_on_the_disk_before_its_clicks_are_acknowledged(tmp_path, monkeypatch):
    log = ClicksLog(tmp_path, 1 << 20, 60)
    synced = []
    real = _clicks_log.os.fsync

    def fsync(file):
        real(file)
        synced.append(os.fstat(file).st_size)

    monkeypatch.setattr(_clicks_log.os, "fsync", fsync)
    log.append(shown(1), [0])
    assert synced == [(tmp_path / "clicks-000001.jsonl").stat().st_size]


def test_a_full_disk_is_told_and_leaves_no_half_line(tmp_path, monkeypatch):
    log = ClicksLog(tmp_path, 1 << 20, 60)
    log.append(shown(1), [0])
    real = _clicks_log.os.write
    monkeypatch.setattr(_clicks_log.os, "write", lambda file, line: real(file, line[:20]))
    with pytest.raises(Refused, match="cannot be written. Try again later") as refusal:
        log.append(shown(2), [0])
    assert refusal.value.status == 503
    monkeypatch.undo()
    log.append(shown(2), [0])
    assert [line["list"] for line in lines_of(tmp_path)] == [f"{1:016x}", f"{2:016x}"]


def test_a_new_file_that_cannot_be_opened_is_told_and_loses_nothing(tmp_path, monkeypatch):
    log = ClicksLog(tmp_path, N_FILES * 150, 60)
    log.append(shown(1), [0])
    real = _clicks_log.os.open

    def full(path, *arguments):
        if "clicks-" in str(path):
            raise OSError(28, "No space left on device", str(path))
        return real(path, *arguments)

    monkeypatch.setattr(_clicks_log.os, "open", full)
    for _ in range(2):
        with pytest.raises(Refused, match="cannot be written. Try again later"):
            log.append(shown(2), [0])
    monkeypatch.undo()
    log.append(shown(2), [1])
    assert [line["list"] for line in lines_of(tmp_path)] == [f"{1:016x}", f"{2:016x}"]
    assert len(list(tmp_path.glob("clicks-*"))) == 2


def test_a_folder_that_was_taken_away_is_told_until_it_is_back(tmp_path):
    folder = tmp_path / "clicks"
    folder.mkdir()
    log = ClicksLog(folder, 1 << 20, 60)
    log.append(shown(1), [0])
    folder.rename(tmp_path / "away")
    with pytest.raises(Refused, match="cannot be written. Try again later") as refusal:
        log.append(shown(2), [0])
    assert refusal.value.status == 503
    (tmp_path / "away").rename(folder)
    log.append(shown(2), [0])
    assert len(lines_of(folder)) == 2


def test_a_link_to_another_file_is_no_log(tmp_path):
    folder, other = tmp_path / "clicks", tmp_path / "diary.txt"
    folder.mkdir()
    other.write_text("no end of line")
    (folder / "clicks-000001.jsonl").symlink_to(other)
    with pytest.raises(OSError, match="clicks-000001"):
        ClicksLog(folder, 1 << 20, 60)
    assert other.read_text() == "no end of line"


def test_only_the_owner_can_read_clicks_and_the_secret(tmp_path):
    kept_secret(tmp_path)
    ClicksLog(tmp_path, 1 << 20, 60).append(shown(1), [0])
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"secret": 0o600, "lock": 0o600, "clicks-000001.jsonl": 0o600}


def test_one_of_many_that_send_the_same_clicks_at_once_is_heard(tmp_path):
    logs = [ClicksLog(tmp_path, 1 << 20, 60) for _ in range(4)]
    together = threading.Barrier(4)

    def send(log):
        together.wait()
        heard = 0
        for number in range(50):
            try:
                log.append(shown(number), [])
                heard += 1
            except Refused:
                pass
        return heard

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(send, logs)) == 50
    assert len(lines_of(tmp_path)) == 50


def test_a_secret_that_several_make_at_once_is_one(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: kept_secret(tmp_path), range(32)))) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    (tmp_path / "secret").write_bytes(b"short")
    with pytest.raises(ValueError, match="is not a secret of 32 bytes. Delete it"):
        kept_secret(tmp_path)


@pytest.mark.slow
def test_killed_under_load_it_loses_no_acknowledged_click(named, body, tmp_path, folder):
    models = {}
    for name, C in (("old", 1.0), ("new", 0.01)):
        models[name] = tmp_path / f"{name}.localrank"
        RankSVM(C).fit(named).save(models[name])
    arguments = [*models.values(), "--interleave", "old:new", "--clicks-log", folder]
    acknowledged: list[str] = []
    end = threading.Event()

    def click(service):
        while not end.is_set():
            try:
                status, answer = service.ask("/v1/rank", body)
                assert status == 200
                status, _ = service.ask("/v1/clicks", {"list": answer["list"], "clicks": [0]})
                assert status == 200
            except (OSError, HTTPException):
                continue
            content = base64.urlsafe_b64decode(answer["list"] + "==")
            acknowledged.append(msgspec.msgpack.decode(content[16:])[0])

    with ExitStack() as stack:
        service = stack.enter_context(running(tmp_path, *arguments, "--workers", 2))
        with ThreadPoolExecutor(4) as pool:
            clients = [pool.submit(click, service) for _ in range(4)]
            for _ in range(3):
                n = len(acknowledged)
                wait_for(lambda n=n: len(acknowledged) > n + 30)
                for worker in service.workers():
                    os.kill(worker, signal.SIGKILL)
            wait_for(lambda: len(acknowledged) > 100)
            end.set()
            for one in clients:
                one.result()
    lines = lines_of(folder)
    logged = [line["list"] for line in lines]
    assert len(set(logged)) == len(logged)
    assert len(set(acknowledged)) == len(acknowledged)
    assert set(acknowledged) <= set(logged)
    assert read_interleaved(sorted(folder.glob("*.jsonl"))).n_repeated == 0
    assert np.mean([line["clicks"] == [0] for line in lines]) == 1
