import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime

import numpy as np
import pytest

from localrank.data import RankingDataset, make_queries, write_letor
from localrank.experiments import EXPERIMENTS, Making, Reproduction
from localrank.experiments import reproduction as base
from localrank.experiments._code_digest import code_digest
from localrank.experiments.by_name import own_seeds

NAME = "multiple-hyperplanes-ohsumed"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three parts of made-up queries, in a folder with a published collection's name."""
    folder = tmp_path_factory.mktemp("data") / "OHSUMED"
    folder.mkdir()
    dataset, _ = make_queries(45, n_documents=(6, 12), n_features=8, random_state=3)
    labels = np.minimum(dataset.labels, 2)
    dataset = RankingDataset.from_arrays(dataset.features, labels, dataset.query_index)
    for part in range(3):
        queries = dataset.select(np.arange(15) + 15 * part)
        write_letor(queries, folder / f"S{part + 1}.txt")
    return folder


@pytest.fixture
def command(folder, tmp_path):
    output = tmp_path / "out"
    options = ["--data", folder, "-o", output, "--quick", "--n-jobs", 1]
    return ["reproduce", "multiple-hyperplanes", *options], output


def test_tables_are_printed_and_written(run, command):
    arguments, output = command
    code, out, err = run(*arguments)
    assert code == 0, err
    page, record = output / f"{NAME}.md", json.loads((output / f"{NAME}.json").read_text())
    assert "It judges nothing." in out
    assert "Table 6: order error rates" in out
    assert "0.3856" in out
    assert "Fold1" in err
    assert str(page) in err
    drawings = {path.name for path in (output / "figures").glob("*.svg")}
    assert len(drawings) == 4
    assert drawings == set(re.findall(r"\(figures/(.*\.svg)\)", page.read_text()))
    assert record["command"] == "localrank reproduce multiple-hyperplanes --data OHSUMED --quick"
    assert record["command"] in page.read_text()
    assert record["digest"] == code_digest("multiple-hyperplanes")
    assert record["seeds"] == list(own_seeds("multiple-hyperplanes", quick=True))
    assert record["date"] == datetime.now(UTC).date().isoformat()
    assert record["quick"] is True
    assert str(output.parent) not in page.read_text()


def test_tables_fold_in_narrow_terminals(run, command, monkeypatch):
    monkeypatch.setattr(base, "find_spec", lambda name: None)  # no figures
    arguments, output = command
    shown = run(*arguments, columns=40)[1]
    assert max(map(len, shown.splitlines())) <= 40
    numbers = set(re.findall(r" [+]?(-?\d\.\d{4}) \|", (output / f"{NAME}.md").read_text()))
    assert len(numbers) > 10
    assert numbers <= {word.removeprefix("+") for word in shown.split()}


def test_missing_plots_are_said_and_json_is_printed_and_seeds_are_taken(run, command, monkeypatch):
    monkeypatch.setattr(base, "find_spec", lambda name: None)
    arguments, output = command
    code, out, err = run(*arguments, "--seed", 3, "--json")
    assert code == 0
    assert "localrank[plots]" in err
    record, printed = json.loads((output / f"{NAME}.json").read_text()), json.loads(out)
    assert printed["claims"] == record["claims"]
    assert "Table 6: order error rates" in {table["title"] for table in printed["tables"]}
    assert record["seeds"] == [3]
    assert record["command"].endswith("--data OHSUMED --seed 3 --quick")
    assert not list((output / "figures").glob("*.svg"))


def test_an_unknown_experiment_is_refused_with_a_hint(run, folder):
    code, _, err = run("reproduce", "local-ranks", "--data", folder)
    assert code == 1
    assert "no experiment 'local-ranks'. Did you mean 'local-rank'?" in err


@pytest.mark.parametrize("option", [["--list"], ["--only", "wins"], ["--this-commit"]])
def test_options_of_all_pages_are_refused_for_one_experiment(run, folder, option):
    code, _, err = run("reproduce", "lgmml", "--data", folder, *option)
    assert code == 1
    assert "reproduce all --list" in err


def test_a_folder_without_folds_is_refused(run, tmp_path):
    code, _, err = run(
        "reproduce", "multiple-hyperplanes", "--data", tmp_path, "-o", tmp_path / "out"
    )
    assert code == 1
    assert "no folds found" in err
    assert not (tmp_path / "out").exists()


def test_the_help_names_every_experiment(run):
    _, out, _ = run("reproduce", "--help")
    for name in EXPERIMENTS:
        assert name in out


@pytest.mark.slow
def test_all_makes_pages_in_processes_and_tells_of_those_that_fail(run, tmp_path):
    # A collection without files.
    (tmp_path / "text" / "cran").mkdir(parents=True)
    output = tmp_path / "out"
    options = ["--data", tmp_path, "-o", output, "--quick", "--only", "metric-retrieval"]
    code, _, err = run("reproduce", "all", *options)
    assert code == 1
    assert "metric-retrieval-cran failed after" in err
    assert "Failed: metric-retrieval-cran." in err
    record = json.loads((output / "metric-retrieval-digits.json").read_text())
    assert record["quick"]
    assert "[digits](metric-retrieval-digits.md)" in (output / "verdicts.md").read_text()
    code, out, _ = run("reproduce", "all", *options, "--list")
    assert code == 0
    assert f"{record['cpu_seconds'] / 60:.1f}  to be made" in out
    assert "2 of 2 to be made" in out


def test_all_skips_fresh_pages_and_absent_collections(run, tmp_path):
    (tmp_path / "MQ2008").mkdir()
    output = tmp_path / "out"
    making = Making("", own_seeds("lgmml"), "", "", code_digest("lgmml"), 1, 600, {})
    Reproduction("lgmml", "MQ2008").write(output, making)
    command = ["reproduce", "all", "--data", tmp_path, "-o", output, "--only", "lgmml"]
    code, _, err = run(*command)
    assert code == 0
    assert "lgmml-mq2008: fresh" in err
    assert f"lgmml-ohsumed: skipped: OHSUMED is not in {tmp_path}" in err
    assert re.search(r"lgmml-mq2008 +10.0 +fresh\n", run(*command, "--list")[1])
    # Its commit is another one than that of today's code.
    listed = run(*command, "--list", "--this-commit")[1]
    assert re.search(r"lgmml-mq2008 +10.0 +to be made\n", listed)


def test_all_of_a_folder_that_is_not_there_is_refused(run, tmp_path):
    code, _, err = run("reproduce", "all", "--data", tmp_path / "data")
    assert code == 1
    assert "data: no such folder" in err


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize(
    ("sent", "code", "says"),
    [
        (signal.SIGINT, 130, "interrupted; the same command continues"),
        (signal.SIGTERM, 143, ""),
    ],
)
def test_an_interruption_of_all_ends_the_processes_of_the_pages(tmp_path, sent, code, says):
    options = ["--data", tmp_path, "-o", tmp_path / "out", "--only", "metric-retrieval-digits"]
    command = [sys.executable, "-m", "localrank", "reproduce", "all", *map(str, options)]
    log = tmp_path / "out" / "runs" / "metric-retrieval-digits.log"
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while not (log.exists() and "trained" in log.read_text()) and time.monotonic() < until:
            time.sleep(0.1)
        process.send_signal(sent)
        assert says in process.communicate(timeout=30)[1]
    assert process.returncode == code
    time.sleep(0.5)
    size = log.stat().st_size
    # A page that runs on says something several times a second.
    time.sleep(3)
    assert log.stat().st_size == size
    assert not (tmp_path / "out" / "metric-retrieval-digits.md").exists()
    assert (tmp_path / "out" / "verdicts.md").exists()
