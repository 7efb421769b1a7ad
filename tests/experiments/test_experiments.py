"""What all experiments promise, on few made-up queries with the names of real collections."""

import numpy as np
import pytest

from localrank.data import RankingDataset, folds, make_queries
from localrank.experiments import EXPERIMENTS, published

NAMES = {
    "local-rank": "OHSUMED",
    "adaptive-training": "MQ2007-85",
    "pca-queries": "OHSUMED",
    "lgmml": "MSLR-sample",
    "multiple-hyperplanes": "OHSUMED",
}
# A number that is published for the name, as (table, the row's first cells).
PUBLISHED = {
    "local-rank": ("Figure 11: all methods", ["KNN", "map"], 0.547),
    "adaptive-training": (
        "Table 2: means over the test queries",
        ["fusion, ward", "mrr@100, as the paper counts"],
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


def parts(name, n_levels=3):
    # Trees need some documents in each leaf, also where a cluster is one query.
    sizes = (110, 120) if name in ("adaptive-training", "lgmml") else (6, 12)
    dataset, _ = make_queries(45, n_documents=sizes, n_features=8, n_types=2, random_state=3)
    labels = np.minimum(dataset.labels, n_levels - 1)
    # Each query has all labels, so that all can teach.
    for level in range(n_levels):
        labels[dataset.offsets[:-1] + level] = level
    dataset = RankingDataset.from_arrays(dataset.features, labels, dataset.query_index)
    return list(folds(dataset, 3))


@pytest.fixture(scope="module")
def results():
    """Each experiment, run once."""
    found = {}

    def result(name):
        if name not in found:
            lines = []
            run = EXPERIMENTS[name](
                parts(name), NAMES[name], quick=True, n_jobs=1, say=lines.append
            )
            found[name] = run, lines
        return found[name]

    return result


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_tables_are_whole_and_claims_have_numbers(results, name):
    found, lines = results(name)
    assert found.experiment == name
    assert lines
    assert found.claims
    for table in found.tables:
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}
    for claim in found.claims:
        assert claim.holds in (True, False, None)
        assert any(c.isdigit() for c in claim.measured)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_published_numbers_stand_beside_ours(results, name):
    found, _ = results(name)
    title, first, number = PUBLISHED[name]
    (table,) = (table for table in found.tables if table.title == title)
    (row,) = (row for row in table.rows if list(row[: len(first)]) == first)
    ours, there, apart = row[len(first) :]
    assert there == number
    assert apart == pytest.approx(ours - number, abs=1e-12)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_everything_is_written(results, name, tmp_path):
    found, _ = results(name)
    assert found.write(tmp_path, "the command")
    figures = sorted((tmp_path / "figures").iterdir())
    assert len(figures) == len(found.figures) > 0
    page = (tmp_path / "index.md").read_text()
    for figure in figures:
        assert figure.read_bytes().startswith(b"<?xml")
        assert f"(figures/{figure.name})" in page


@pytest.mark.parametrize("name", ["multiple-hyperplanes", "pca-queries", "adaptive-training"])
def test_the_same_seed_gives_the_same_numbers_with_any_number_of_jobs(results, name):
    def numbers(found):
        return [table.cells() for table in found.tables if "time" not in table.title], [
            claim.measured for claim in found.claims if "trains" not in claim.says
        ]

    again = EXPERIMENTS[name](parts(name), NAMES[name], quick=True, n_jobs=2, say=lambda line: None)
    assert numbers(again) == numbers(results(name)[0])


def test_other_collections_have_no_published_columns():
    found = EXPERIMENTS["multiple-hyperplanes"](
        parts("multiple-hyperplanes", 5), "made-up", quick=True, n_jobs=1, say=lambda line: None
    )
    assert published("multiple-hyperplanes", "table-6", "made-up") == {}
    assert not any("published" in table.columns for table in found.tables)
    (errors,) = (table for table in found.tables if table.title.startswith("Table 6"))
    assert {row[3] for row in errors.rows} == {
        f"({i},{j})" for i in range(1, 5) for j in range(i + 1, 6)
    }
