import json

import numpy as np
import pytest

from localrank.data import RankingDataset, make_queries, write_letor
from localrank.experiments import EXPERIMENTS
from localrank.experiments import reproduction as base


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
    results = json.loads((output / "results.json").read_text())
    assert results["conclusion"] in " ".join(out.split("\n"))
    assert "Table 6: order error rates" in out
    assert "0.3856" in out
    assert "Fold1" in err
    assert str(output / "index.md") in err
    assert len(list((output / "figures").glob("*.svg"))) == len(results["figures"]) == 4
    page = (output / "index.md").read_text()
    assert "localrank reproduce multiple-hyperplanes --data OHSUMED --seed 0 --quick" in page
    assert str(output.parent) not in page


def test_tables_fold_in_narrow_terminals(run, command, monkeypatch):
    monkeypatch.setattr(base, "find_spec", lambda name: None)  # no figures
    arguments, output = command
    shown = run(*arguments, columns=40)[1]
    assert max(map(len, shown.splitlines())) <= 40
    tables = json.loads((output / "results.json").read_text())["tables"]
    values = [value for table in tables for row in table["rows"] for value in row]
    numbers = {base.text(value) for value in values if isinstance(value, float)}
    assert len(numbers) > 10
    assert numbers <= {word.removeprefix("+") for word in shown.split()}


def test_json_is_what_is_written(run, command):
    arguments, output = command
    code, out, _ = run(*arguments, "--json")
    assert code == 0
    printed, written = json.loads(out), json.loads((output / "results.json").read_text())
    assert printed == {key: written[key] for key in printed}
    assert set(written) - set(printed) == {"command", "seconds", "cpu_seconds", "versions"}


def test_missing_plots_are_said(run, command, monkeypatch):
    monkeypatch.setattr(base, "find_spec", lambda name: None)
    arguments, output = command
    code, _, err = run(*arguments)
    assert code == 0
    assert "localrank[plots]" in err
    assert not list((output / "figures").glob("*.svg"))


def test_an_unknown_experiment_is_refused_with_a_hint(run, folder):
    code, _, err = run("reproduce", "local-ranks", "--data", folder)
    assert code == 1
    assert "no experiment 'local-ranks'. Did you mean 'local-rank'?" in err


def test_a_folder_without_folds_is_refused(run, tmp_path):
    code, _, err = run("reproduce", "lgmml", "--data", tmp_path, "-o", tmp_path / "out")
    assert code == 1
    assert "no folds found" in err
    assert not (tmp_path / "out").exists()


def test_the_help_names_every_experiment(run):
    _, out, _ = run("reproduce", "--help")
    for name in EXPERIMENTS:
        assert name in out
