"""What all experiments promise, on few made-up queries with the names of real collections."""

import numpy as np
import pytest

from localrank.data import RankingDataset, make_queries, write_letor
from localrank.experiments import EXPERIMENTS, Making, Setting, published, reproduce

NAMES = {
    "local-rank": "OHSUMED",
    "adaptive-training": "MQ2007-85",
    "pca-queries": "OHSUMED",
    "lgmml": "MSLR-sample",
    "metric-retrieval": "digits",
    "multiple-hyperplanes": "OHSUMED",
    "wins": "OHSUMED",
}
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


def written(folder, name, data, n_levels=3):
    """A folder with the name of a collection, and three parts of made-up queries in it."""
    # Trees need some documents in each leaf, also where a cluster is one query.
    sizes = (110, 120) if name in ("adaptive-training", "lgmml", "wins") else (6, 12)
    dataset, _ = make_queries(45, n_documents=sizes, n_features=8, n_types=2, random_state=3)
    labels = np.minimum(dataset.labels, n_levels - 1)
    # Each query has all labels, so that all can teach.
    for level in range(n_levels):
        labels[dataset.offsets[:-1] + level] = level
    dataset = RankingDataset.from_arrays(dataset.features, labels, dataset.query_index)
    (folder / data).mkdir(parents=True)
    for part in range(3):
        write_letor(dataset.select(range(part, 45, 3)), folder / data / f"S{part + 1}.txt")
    return folder / data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The data of each experiment."""
    root = tmp_path_factory.mktemp("data")
    return lambda name: (
        next(iter((root / name).glob("*")), None) or written(root / name, name, NAMES[name])
    )


@pytest.fixture(scope="module")
def results(folder):
    """Each experiment, run once."""
    finished = {}

    def result(name):
        if name not in finished:
            lines = []
            setting = Setting(folder(name), quick=True, n_jobs=1, say=lines.append)
            finished[name] = reproduce(name, setting), lines
        return finished[name]

    return result


def each(names):
    """Experiments, of which some train many models."""
    slow = ("local-rank", "wins")
    return [pytest.param(name, marks=pytest.mark.slow if name in slow else ()) for name in names]


@pytest.mark.parametrize("name", each(EXPERIMENTS))
def test_tables_are_whole_and_claims_have_numbers(results, name):
    reproduction, lines = results(name)
    assert reproduction.experiment == name
    assert lines
    assert reproduction.claims
    for table in reproduction.tables:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}
    for claim in reproduction.claims:
        assert claim.holds in (True, False, None)
        assert any(c.isdigit() for c in claim.measured)


@pytest.mark.parametrize("name", each(PUBLISHED))
def test_published_numbers_stand_beside_ours(results, name):
    reproduction, _ = results(name)
    title, first, number = PUBLISHED[name]
    (table,) = (table for table in reproduction.tables if table.title == title)
    (row,) = (row for row in table.rows if list(row[: len(first)]) == first)
    ours, printed, apart = row[len(first) :]
    assert printed == number
    assert apart == pytest.approx(ours - number, abs=1e-12)


@pytest.mark.parametrize("name", each(EXPERIMENTS))
def test_everything_is_written(results, name, tmp_path):
    reproduction, _ = results(name)
    assert reproduction.write(tmp_path, Making("the command", 1.5, 2.5, {}))
    figures = sorted((tmp_path / "figures").glob("*.svg"))
    assert len(figures) == len(reproduction.figures) > 0
    page = (tmp_path / "index.md").read_text()
    for figure in figures:
        assert figure.read_bytes().startswith(b"<?xml")
        assert f"(figures/{figure.name})" in page


@pytest.mark.slow
@pytest.mark.parametrize("name", ["multiple-hyperplanes", "pca-queries", "adaptive-training"])
def test_the_same_seed_gives_the_same_numbers_with_any_number_of_jobs(results, folder, name):
    def numbers(reproduction):
        return [table.cells() for table in reproduction.tables if "time" not in table.title], [
            claim.measured for claim in reproduction.claims if "trains" not in claim.says
        ]

    setting = Setting(folder(name), quick=True, n_jobs=2, say=lambda line: None)
    assert numbers(reproduce(name, setting)) == numbers(results(name)[0])


def test_other_collections_have_no_published_columns(tmp_path):
    made_up = written(tmp_path, "multiple-hyperplanes", "made-up", n_levels=5)
    setting = Setting(made_up, quick=True, n_jobs=1, say=lambda line: None)
    reproduction = reproduce("multiple-hyperplanes", setting)
    assert published("multiple-hyperplanes", "table-6", "made-up") == {}
    assert not any("published" in table.columns for table in reproduction.tables)
    (errors,) = (table for table in reproduction.tables if table.title.startswith("Table 6"))
    assert {row[3] for row in errors.rows} == {
        f"({i},{j})" for i in range(1, 5) for j in range(i + 1, 6)
    }


@pytest.mark.parametrize("name", ["local-rank", "adaptive-training", "pca-queries", "lgmml"])
def test_random_experiments_of_papers_take_one_seed(folder, name):
    with pytest.raises(ValueError, match="takes one seed. Got 2"):
        reproduce(name, Setting(folder(name), quick=True, seeds=(0, 1), say=lambda line: None))


def test_an_unknown_experiment_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no experiment 'win'. Did you mean 'wins'?"):
        reproduce("win", Setting(tmp_path))
