"""Large tables are not copied. Models are the same as with copies, up to rounding."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import make_queries
from localrank.rankers import QueryCoordinates, RankSVM, SVMMap
from localrank.rankers.rank_svm import _centred_table as centred_table
from localrank.rankers.rank_svm import _pairwise as pairwise
from localrank.rankers.rank_svm._centred_table import CentredTable, Scaled


@pytest.fixture
def dataset():
    made, _ = make_queries(150, n_documents=(2, 30), n_features=6, random_state=1)
    labels = made.labels.copy()
    labels[made.offsets[5] : made.offsets[6]] = 1
    return made.replaced(relevance=labels)


@pytest.fixture
def table(dataset, rng):
    rows = rng.permutation(dataset.n_documents)
    scaled = Scaled(dataset.features, rows, np.arange(1.0, 7.0))
    return CentredTable.of(scaled, np.arange(len(rows)), dataset.offsets)


def centred(table, dataset):
    values = table.features[table.rows] / table.scale
    means = np.add.reduceat(values, dataset.offsets[:-1]) / dataset.query_sizes[:, None]
    return values - means[dataset.query_index]


def test_rows_are_scaled_less_the_mean_of_their_group(table, dataset):
    assert_allclose(table @ np.eye(6), centred(table, dataset), atol=1e-12)


def test_sums_over_groups_count_the_weights_of_rows(table, dataset, rng):
    weights = rng.normal(size=len(table))
    sums = np.add.reduceat(weights[:, None] * centred(table, dataset), dataset.offsets[:-1])
    assert_allclose(table.group_sums(weights), sums, atol=1e-12)
    queries = np.array([3, 70])
    rows = np.concatenate([np.arange(*dataset.offsets[q : q + 2]) for q in queries])
    some = table.taken(rows).group_sums(weights[rows])
    assert_allclose(some[queries], sums[queries], atol=1e-12)


def test_a_feature_that_is_constant_in_a_group_is_exactly_0():
    features = np.full((30, 2), 0.1)
    features[:, 1] = np.arange(30)
    scaled = Scaled(features, np.arange(30), np.array([0.3, 1.0]))
    rows = CentredTable.of(scaled, np.arange(30), np.array([0, 7, 30])) @ np.eye(2)
    assert_array_equal(rows[:, 0], 0)
    assert rows[:, 1].any()


@pytest.mark.parametrize("scaling", ["standard", None, "query"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    "ranker", [RankSVM(3, tol=1e-12), RankSVM(0.1, loss="hinge", tol=1e-9), SVMMap(0.1, tol=1e-9)]
)
def test_a_large_dataset_gives_the_model_of_its_copy(
    dataset, ranker, scaling, missing, monkeypatch
):
    if missing:
        holed = dataset.features.copy()
        holed[::7, 2] = np.nan
        dataset = dataset.with_features(holed)
    ranker.set_params(scaling=scaling)
    copied = ranker.fit(dataset)
    expected, objective = copied.predict(dataset), copied.objective_
    monkeypatch.setattr(centred_table, "LARGE_BYTES", 0)
    ranker.fit(dataset)
    assert ranker.objective_ == pytest.approx(objective, rel=1e-7)
    assert_allclose(ranker.predict(dataset), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("ranker", [RankSVM(max_iter=2, tol=0.5), SVMMap(max_iter=2, tol=0.5)])
def test_training_on_a_large_dataset_makes_no_table(ranker, monkeypatch):
    dataset, _ = make_queries(300, n_documents=(40, 40), n_features=100, random_state=0)
    monkeypatch.setattr(centred_table, "LARGE_BYTES", 2**20)
    monkeypatch.setattr("localrank.data._sources.BLOCK_BYTES", 2**18)
    ranker.fit(dataset.select(range(50)))
    tracemalloc.start()
    ranker.fit(dataset)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.8 * dataset.features.nbytes


@pytest.mark.filterwarnings("ignore::localrank.data.SampleWarning")
def test_of_made_columns_whole_queries_of_so_many_documents_are_learned_from(
    dataset, rng, monkeypatch
):
    monkeypatch.setattr(centred_table, "LARGE_BYTES", 0)
    monkeypatch.setattr("localrank.data._sources.SMALL_BYTES", 0)
    ranker = QueryCoordinates(RankSVM(0.1))
    n_pairs = ranker.fit(dataset).ranker_.n_pairs_
    monkeypatch.setattr(pairwise, "MAX_DOCUMENTS", 800)
    scores = ranker.fit(dataset).predict(dataset)
    assert 0.1 * n_pairs < ranker.ranker_.n_pairs_ < 0.6 * n_pairs
    weights = rng.integers(1, 3, dataset.n_queries)
    weighted = ranker.fit(dataset, query_weight=weights).predict(dataset)
    order = rng.permutation(dataset.n_queries)
    mixed = dataset.select(order)
    assert_array_equal(ranker.fit(mixed).predict(dataset), scores)
    again = ranker.fit(mixed, query_weight=weights[order]).predict(dataset)
    assert_array_equal(again, weighted)
    assert not np.array_equal(weighted, scores)
    # A query that teaches nothing is not drawn.
    labels = np.where(np.isin(dataset.query_index, [4, 90]), dataset.labels, 0.0)
    assert ranker.fit(dataset.replaced(relevance=labels)).ranker_.n_pairs_ > 0
