import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures

import localrank
from localrank.data import RankingDataset
from localrank.data import dataset as datasets
from localrank.measures import NDCG
from localrank.rankers import BestFeature, LambdaMART, RankSVM, quadratic
from localrank.rankers._inputs import accepts_missing
from localrank.rankers.quadratic import Quadratic, n_quadratic, quadratic_features
from localrank.rankers.rank_boost.rank_boost import RankBoost


@pytest.fixture
def trees():
    return LambdaMART(n_trees=15, min_leaf_documents=5)


def by_hand(dataset):
    """Originals, squares, then products, from scikit-learn's expansion."""
    maker = PolynomialFeatures(2, include_bias=False).fit(dataset.features)
    kinds = [(powers.sum(), powers.max() == 1) for powers in maker.powers_]
    return maker.transform(dataset.features)[:, sorted(range(len(kinds)), key=kinds.__getitem__)]


def test_features_are_the_originals_the_squares_and_the_products(queries):
    expanded = quadratic_features(queries, "float64")
    assert expanded.n_features == n_quadratic(8) == 44
    assert_array_equal(expanded.features, by_hand(queries))
    assert_array_equal(expanded.relevance, queries.relevance)
    assert_array_equal(expanded.query_ids, queries.query_ids)


@pytest.mark.parametrize("inner", [LambdaMART(15, min_leaf_documents=5), RankBoost(30)])
def test_wrapping_equals_expanding_by_hand(queries, inner):
    expanded = queries.with_features(by_hand(queries))
    weights = np.linspace(0.5, 2, queries.n_queries)
    wrapped = Quadratic(inner).fit(queries, query_weight=weights)
    alone = clone(inner).fit(expanded, query_weight=weights)
    assert_array_equal(wrapped.predict(queries), alone.predict(expanded))


def test_validation_queries_are_expanded_too(queries, trees):
    train, valid = queries.select(range(40)), queries.select(range(40, 60))
    wrapped = Quadratic(trees.set_params(n_trees=60, patience=5)).fit(train, valid=valid)
    alone = trees.fit(
        train.with_features(by_hand(train)), valid=valid.with_features(by_hand(valid))
    )
    assert wrapped.ranker_.n_trees_ == alone.n_trees_ < 60


def test_names_tell_what_a_feature_is_made_of():
    dataset = RankingDataset.from_arrays(np.eye(3), qid=[1, 1, 1], feature_names=["a", "b", "c"])
    expanded = quadratic_features(dataset, "float64")
    assert expanded.feature_names == ("a", "b", "c", "a^2", "b^2", "c^2", "a*b", "a*c", "b*c")


def test_features_without_names_stay_without(queries, trees):
    plain = queries.with_features(queries.features)
    assert quadratic_features(plain, "float64").feature_names is None
    assert not hasattr(Quadratic(trees).fit(plain).ranker_, "feature_names_in_")


def test_one_feature_gets_its_square():
    dataset = RankingDataset.from_arrays([[2.0], [-3.0]], qid=[1, 1])
    assert_array_equal(quadratic_features(dataset, "float64").features, [[2, 4], [-3, 9]])


def test_it_learns_what_no_single_feature_shows(rng):
    features = rng.normal(size=(600, 3))
    labels = (features[:, 0] * features[:, 1] > 0.3).astype(float)
    dataset = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(30), 20))
    wrapped = Quadratic(BestFeature("map")).fit(dataset)
    assert wrapped.ranker_.feature_ == 6
    assert wrapped.score(dataset) == 1.0
    assert BestFeature("map").fit(dataset).score(dataset) < 0.8


@pytest.mark.parametrize("n_bytes", [1, 44 * 8 * 7, 44 * 8 * 100, 2**40])
def test_the_size_of_blocks_changes_nothing(queries, trees, monkeypatch, n_bytes):
    ranker = Quadratic(trees).fit(queries)
    expected = ranker.ranker_.predict(quadratic_features(queries, "float64"))
    monkeypatch.setattr(datasets, "SCORED_BYTES", n_bytes)
    assert_array_equal(ranker.predict(queries), expected)


def test_scores_of_blocks_come_back_in_input_order(queries, trees, monkeypatch, rng):
    queries = queries.replaced(feature_names=None)
    ranker = Quadratic(trees).fit(queries)
    expected = ranker.predict(queries)
    monkeypatch.setattr(datasets, "SCORED_BYTES", 44 * 8 * 50)
    order = rng.permutation(queries.n_documents)
    again = ranker.predict(queries.features[order], qid=queries.query_index[order])
    assert_array_equal(again, expected[order])


def test_scoring_never_holds_the_expansion(rng):
    n_queries, size, n_features = 60, 50, 100
    features = rng.normal(size=(n_queries * size, n_features))
    qid = np.repeat(np.arange(n_queries), size)
    few = qid < 5
    ranker = Quadratic(BestFeature()).fit(
        features[few], rng.integers(0, 2, few.sum()), qid=qid[few]
    )
    dataset = RankingDataset.from_arrays(features, qid=qid)
    whole = dataset.n_documents * n_quadratic(n_features) * 8
    tracemalloc.start()
    ranker.predict(dataset)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert whole > 1.2e8
    assert peak < 1.5 * datasets.SCORED_BYTES < whole / 4


def test_training_on_more_than_a_gigabyte_is_in_single_precision(queries, trees, monkeypatch):
    double = Quadratic(trees).fit(queries)
    assert double.dtype_ == "float64"
    monkeypatch.setattr(quadratic, "DOUBLE_PRECISION_BYTES", 8 * 44 * queries.n_documents - 1)
    single = Quadratic(trees).fit(queries)
    assert single.dtype_ == "float32"
    assert single.score(queries) == pytest.approx(double.score(queries), abs=0.02)
    assert Quadratic(trees, dtype="float64").fit(queries).dtype_ == "float64"


def test_single_precision_scores_as_its_expansion_by_hand(queries):
    small = queries.with_features(queries.features.astype(np.float32))
    expanded = small.with_features(by_hand(small))
    assert expanded.features.dtype == np.float32
    alone = RankBoost(30).fit(expanded).predict(expanded)
    by_option = Quadratic(RankBoost(30), dtype="float32").fit(queries)
    assert_array_equal(by_option.predict(queries), alone)
    by_data = Quadratic(RankBoost(30)).fit(small)
    assert by_data.dtype_ == "float32"
    assert_array_equal(by_data.predict(small), alone)
    assert_array_equal(by_data.predict(queries), alone)


def test_missing_values_are_for_the_wrapped_ranker_to_take_or_refuse(queries, trees):
    features = queries.features.copy()
    features[3, 2] = np.nan
    holed = queries.with_features(features, queries.feature_names)
    takes, refuses = Quadratic(trees), Quadratic(RankSVM(missing="refuse"))
    assert accepts_missing(takes)
    assert np.isfinite(takes.fit(holed).predict(holed)).all()
    assert not accepts_missing(refuses)
    with pytest.raises(ValueError, match="RankSVM was given missing='refuse', and f3 has missing"):
        refuses.fit(holed)
    assert accepts_missing(refuses.set_params(ranker=trees))


def test_the_wrapped_ranker_stays_as_it_is_and_its_parameters_are_reached(queries, trees):
    ranker = Quadratic(trees).set_params(ranker__n_trees=7).fit(queries)
    assert ranker.ranker is trees
    assert not [name for name in vars(trees) if name.endswith("_")]
    assert ranker.get_params()["ranker__n_trees"] == ranker.ranker_.n_trees_ == 7
    assert clone(ranker).ranker is not trees


def test_a_saved_ranker_scores_as_before(queries, trees, tmp_path):
    ranker = Quadratic(trees).fit(queries)
    ranker.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert loaded.ranker.get_params() == trees.get_params()
    assert_array_equal(loaded.predict(queries), ranker.predict(queries))


def test_it_may_wrap_itself():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 2))
    labels = (features[:, 0] ** 2 * features[:, 1] > 0.2).astype(float)
    dataset = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(10), 20))
    ranker = Quadratic(Quadratic(BestFeature("map"))).fit(dataset)
    assert_allclose(NDCG(10).mean(dataset, ranker.predict(dataset)), 1.0)


def test_products_too_large_for_the_precision_are_refused(queries, trees):
    huge = queries.with_features(1e30 * queries.features)
    assert np.isfinite(Quadratic(trees, dtype="float64").fit(huge).predict(huge)).all()
    with pytest.raises(ValueError, match="Features must be finite"):
        Quadratic(trees, dtype="float32").fit(huge)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ranker": None}, "'ranker' parameter of Quadratic must be a ranker. Got None instead"),
        ({"ranker": LambdaMART}, "must be a ranker. Got <class .*LambdaMART'> instead"),
        ({"dtype": "float16"}, "must be 'float64', 'float32' or None. Got 'float16' instead"),
    ],
)
def test_parameters_out_of_range_are_refused(queries, parameters, message):
    with pytest.raises(ValueError, match=message):
        Quadratic(**{"ranker": BestFeature(), **parameters}).fit(queries)
