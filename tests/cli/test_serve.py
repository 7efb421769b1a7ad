"""What `localrank serve` refuses before it listens; `tests/serving` has what it answers."""

import socket

import pytest

from localrank.rankers import RankSVM


@pytest.fixture
def model(queries, tmp_path):
    path = tmp_path / "m.localrank"
    RankSVM().fit(queries).save(path)
    return path


def test_a_file_that_is_no_model_is_refused(run, tmp_path):
    (tmp_path / "x.localrank").write_text("hello")
    code, _, error = run("serve", tmp_path / "x.localrank")
    assert (code, "x.localrank: not a localrank model file" in error) == (1, True)
    code, _, error = run("serve", tmp_path / "absent.localrank")
    assert (code, "absent.localrank: No such file" in error) == (1, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["{m}"], "Two models have the name 'm': give one as NAME=FILE"),
        (["--share", "b=0.5"], "no model 'b'"),
        (["--share", "half"], "--share must be NAME=SHARE, such as new=0.05. Got 'half'"),
        (["--shadow", "b"], "no model 'b'"),
        (["--interleave", "m"], "--interleave must be NAME:NAME, such as old:new. Got 'm'"),
        (["--interleave", "m:b"], "no model 'b'"),
        (["--clicks-log", "x"], "belongs to a live test: name the two models to interleave"),
        (["b=c"], "c: No such file"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, model, options, message):
    code, _, error = run("serve", model, *(option.format(m=model) for option in options))
    assert (code, message in error) == (1, True), error


def test_a_port_in_use_is_told_in_one_line(run, model):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for workers in (1, 2):
            code, _, error = run("serve", model, "--port", port, "--workers", workers)
            assert code == 1
            assert f"error: The service cannot listen on 127.0.0.1, port {port}: " in error
            assert "Give another port, or 0 for a free one" in error


def test_an_empty_token_is_refused(run, model, tmp_path, monkeypatch):
    (tmp_path / "token").write_text("\n")
    code, _, error = run("serve", model, "--token-file", tmp_path / "token")
    assert (code, "token holds no token" in error) == (1, True)
    monkeypatch.setenv("LOCALRANK_TOKEN", "")
    code, _, error = run("serve", model)
    assert (code, "must not be empty" in error) == (1, True)


def test_names_tokens_and_options_reach_the_service(run, model, tmp_path, monkeypatch):
    from localrank import serving

    told = {}
    monkeypatch.setattr(serving, "serve", lambda settings, **rest: told.update(rest, s=settings))
    (tmp_path / "token").write_text("secret\n")
    arguments = ["--share", "new=0.25", "--token-file", tmp_path / "token", "--port", "0"]
    code, _, _ = run("serve", model, f"new={model}", *arguments, "--max-body", "9")
    assert code == 0
    assert told["s"].models == {"m": model, "new": model}
    assert (told["s"].shares, told["s"].token, told["s"].max_body) == ({"new": 0.25}, "secret", 9)
    assert (told["host"], told["port"]) == ("127.0.0.1", 0)


def test_a_live_test_reaches_the_service(run, model, tmp_path, monkeypatch):
    from localrank import serving

    told = {}
    monkeypatch.setattr(serving, "serve", lambda settings, **_: told.update(s=settings))
    options = ["--clicks-log", tmp_path / "c", "--clicks-within", 9, "--clicks-log-size", 1 << 21]
    code, _, error = run("serve", model, f"new={model}", "--interleave", "m:new", *options)
    assert code == 0, error
    assert (told["s"].interleave, told["s"].clicks_log) == (("m", "new"), tmp_path / "c")
    assert (told["s"].clicks_within, told["s"].clicks_log_size) == (9, 1 << 21)


def test_a_folder_of_clicks_that_cannot_be_is_an_error_of_the_command(run, model, tmp_path):
    (tmp_path / "file").write_text("")
    options = ["--interleave", "m:new", "--clicks-log", tmp_path / "file", "--port", 0]
    code, _, error = run("serve", model, f"new={model}", *options)
    assert (code, "File exists" in error) == (1, True), error
