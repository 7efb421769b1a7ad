"""What all experiments promise, on few made-up queries with the names of real collections."""

import json
from functools import cache

import numpy as np
import pytest
from experiments.small_runs import STORED, machine, numbers, small_data, small_run

from localrank.data import read_letor, write_letor
from localrank.experiments import EXPERIMENTS, Making, Setting, published, reproduce
from localrank.experiments._page_text import page_text
from localrank.experiments.by_name import NEED_EVERY_VALUE, own_seeds
from localrank.experiments.reproduction import Verdict

MAKING = Making("the command", (0,), "2026-11-18", "at commit 1a2b3c", "9f8e7d", 1.5, 2.5, {})
# A number that is published for the name, as (table, the row's first cells).
PUBLISHED = {
    "local-rank": ("Figure 11: all methods", ["KNN", "map"], 0.547),
    "adaptive-training": (
        "Table 2: means over the test queries",
        ["fusion, ward", "mrr@100, as the authors' code counts"],
        0.556,
    ),
    "pca-queries": ("The baseline as LETOR trains it", ["RankSVM, squared hinge", "map"], 0.4446),
    "lgmml": ("Table 4: boosted trees and local metrics", ["L-GMML", "ndcg@10"], 0.539),
    "multiple-hyperplanes": (
        "Table 6: order error rates",
        ["C = 10000", "training", "own plane", "(2,3)"],
        0.3856,
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The data of each experiment."""
    root = tmp_path_factory.mktemp("data")
    return lambda name: next(iter((root / name).glob("*")), None) or small_data(root / name, name)


@pytest.fixture(scope="module")
def results(folder):
    """Each experiment, run once."""
    return cache(lambda name: small_run(name, folder(name)))


def nearly(value):
    return pytest.approx(value, rel=1e-6, abs=1e-6) if isinstance(value, float) else value


def each(names):
    """Experiments, of which some train many models."""
    slow = ("local-rank", "wins")
    return [pytest.param(name, marks=pytest.mark.slow if name in slow else ()) for name in names]


@pytest.mark.parametrize("name", each(EXPERIMENTS))
def test_tables_are_whole_and_claims_have_numbers(results, name):
    reproduction, lines = results(name)
    assert reproduction.experiment == name
    assert lines
    assert reproduction.tables
    for table in reproduction.tables:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}
    for claim in reproduction.claims:
        assert any(c.isdigit() for c in claim.measured)


@pytest.mark.parametrize("name", each(EXPERIMENTS))
def test_a_quick_run_judges_nothing(results, name):
    reproduction, _ = results(name)
    assert {claim.verdict for claim in reproduction.claims} <= {Verdict.NOT_TESTED}
    page = page_text(reproduction.record(MAKING))
    assert "It judges nothing." in page
    assert "**Holds**" not in page


@pytest.mark.parametrize("name", each(EXPERIMENTS))
def test_numbers_are_the_stored_ones(results, name):
    """The methods and the experiments give what they gave when they were last looked at.

    `python tests/experiments/small_runs.py` stores new numbers. The pages are then to be made anew.
    """
    stored = json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))
    if (here := machine(name)) != stored.pop("versions"):
        pytest.skip(f"other versions than those of the stored numbers: {here}")
    ours = numbers(results(name)[0])
    assert ours["claims"] == stored["claims"]
    for table, expected in zip(ours["tables"], stored["tables"], strict=True):
        for row, expected_row in zip(table, expected, strict=True):
            assert row == [*map(nearly, expected_row)], table[0]


@pytest.mark.parametrize("name", each(PUBLISHED))
def test_published_numbers_stand_beside_ours(results, name):
    reproduction, _ = results(name)
    title, first, number = PUBLISHED[name]
    (table,) = (table for table in reproduction.tables if table.title == title)
    (row,) = (row for row in table.rows if list(row[: len(first)]) == first)
    cells = dict(zip(table.columns, row, strict=True))
    ours, printed, apart = (cells[name] for name in ("ours", "published", "difference"))
    assert printed == number
    assert apart == pytest.approx(ours - number, abs=1e-12)


@pytest.mark.parametrize("name", each(EXPERIMENTS))
def test_everything_is_written(results, name, tmp_path):
    reproduction, _ = results(name)
    assert reproduction.write(tmp_path, MAKING)
    figures = sorted(tmp_path.glob("figures/*.svg"))
    assert len(figures) == len(reproduction.figures)
    page = (tmp_path / f"{reproduction.name}.md").read_text()
    for figure in figures:
        assert figure.read_bytes().startswith(b"<?xml")
        assert f"(figures/{figure.name})" in page


@pytest.mark.slow
@pytest.mark.parametrize("name", ["multiple-hyperplanes", "pca-queries", "adaptive-training"])
def test_the_same_seed_gives_the_same_numbers_with_any_number_of_jobs(results, folder, name):
    assert numbers(small_run(name, folder(name), n_jobs=2)[0]) == numbers(results(name)[0])


def test_other_collections_have_no_published_columns(tmp_path):
    made_up = small_data(tmp_path, "multiple-hyperplanes", "made-up", n_levels=5)
    setting = Setting(made_up, quick=True, n_jobs=1, say=lambda line: None)
    reproduction = reproduce("multiple-hyperplanes", setting)
    assert published("multiple-hyperplanes", "table-6", "made-up") == {}
    assert not any("published" in table.columns for table in reproduction.tables)
    (errors,) = (
        table for table in reproduction.tables if table.title == "Table 6: order error rates"
    )
    assert {row[3] for row in errors.rows} == {
        f"({i},{j})" for i in range(1, 5) for j in range(i + 1, 6)
    }


def test_data_with_two_levels_has_no_published_numbers_of_rank_pairs(tmp_path):
    """The paper's "(1,2)" is a pair of three ranks: with two, it is another pair."""
    two_levels = small_data(tmp_path, "multiple-hyperplanes", n_levels=2)
    assert published("multiple-hyperplanes", "table-6", two_levels.name)
    setting = Setting(two_levels, quick=True, n_jobs=1, say=lambda line: None)
    reproduction = reproduce("multiple-hyperplanes", setting)
    pairs = [table for table in reproduction.tables if table.title[:7] in ("Table 5", "Table 6")]
    assert len(pairs) == 3
    assert not any("published" in column for table in pairs for column in table.columns)
    assert not any("definition search" in table.title for table in reproduction.tables)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_seeds_of_its_own_and_two_if_quick(name):
    seeds = own_seeds(name)
    assert len(set(seeds)) == len(seeds) > 0
    assert own_seeds(name, quick=True) == seeds[:2]


@pytest.mark.parametrize("name", NEED_EVERY_VALUE)
def test_missing_values_are_refused_before_anything_is_trained(name, tmp_path):
    folder = small_data(tmp_path, name)
    queries = read_letor(folder / "S3.txt")
    features = queries.features.copy()
    features[4, 2] = np.nan
    write_letor(queries.replaced(features=features), folder / "S3.txt")
    lines = []
    with pytest.raises(ValueError, match=r"OHSUMED has some: in Fold1, query \d+, feature 3 is"):
        reproduce(name, Setting(folder, quick=True, n_jobs=1, say=lines.append))
    assert not lines


def test_an_unknown_experiment_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no experiment 'win'. Did you mean 'wins'?"):
        reproduce("win", Setting(tmp_path))
