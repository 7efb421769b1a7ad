import pytest

from localrank.data import Fold, folds, make_queries
from localrank.experiments import Reproduction, Setting, recipe_members
from localrank.experiments.where_coordinates_pay import (
    CURVE_METHODS,
    CURVE_PAIRS,
    fewer_queries,
    learning_curves,
)
from localrank.rankers import RankSVM


@pytest.fixture(scope="module")
def dataset():
    return make_queries(60, n_documents=(10, 15), n_features=5, random_state=8)[0]


@pytest.fixture(scope="module")
def fold(dataset):
    first = folds(dataset, 3, validation=False)[0]
    return Fold(first.name, first.train, None, first.test)


def test_a_subset_has_whole_training_queries_and_the_same_test_queries(fold):
    fewer = fewer_queries(fold, 9, 0)
    assert fewer.train.n_queries == 9
    assert fewer.test is fold.test
    chosen = [list(fold.train.query_ids).index(query) for query in fewer.train.query_ids]
    assert (fewer.train.features == fold.train.select(chosen).features).all()


def test_the_seed_decides_and_smaller_subsets_lie_in_larger_ones(fold):
    few, more, other = (
        set(fewer_queries(fold, size, seed).train.query_ids)
        for size, seed in ((9, 1), (20, 1), (9, 2))
    )
    assert few == set(fewer_queries(fold, 9, 1).train.query_ids)
    assert few < more
    assert few != other


@pytest.fixture
def cheap(monkeypatch):
    """Linear models in the place of all."""
    real = recipe_members.members

    def members(seed, n_trees):
        names = real(seed, n_trees)
        return {name: RankSVM(10.0 ** (i % 5 - 3) * (1 + seed)) for i, name in enumerate(names)}

    monkeypatch.setattr(recipe_members, "members", members)


def test_sizes_up_to_all_have_a_column(dataset, cheap, tmp_path):
    reproduction = Reproduction("where-coordinates-pay", "MQ2008")
    sources = {"MQ2008": lambda seed: folds(dataset, 3, validation=False)}
    lines = []
    setting = Setting(tmp_path, True, seeds=(0, 1000), n_jobs=1, say=lines.append)
    learning_curves(reproduction, setting, sources)
    gains, means = reproduction.tables
    assert list(gains.columns) == ["", "measure", "12", "40", "per doubling"]
    assert [row[0] for row in means.rows] == list(CURVE_METHODS)
    assert f"the {len(CURVE_PAIRS) * 2 * 3} comparisons" in gains.note
    cells = {row[0]: [float(cell.split(" / ")[0]) for cell in row[1:]] for row in means.rows}
    for row in gains.rows[::2]:
        ours, other = row[0].split(" − ")
        apart = [a - b for a, b in zip(cells[ours], cells[other], strict=True)]
        assert [float(cell.split()[0]) for cell in row[2:4]] == pytest.approx(apart, abs=2e-4)
    # Every size is drawn once for each seed.
    assert [line for line in lines if "trained" not in line] == [
        "MQ2008, 0, 12 queries",
        "MQ2008, 1000, 12 queries",
        "MQ2008, 0",
        "MQ2008, 1000",
    ]
