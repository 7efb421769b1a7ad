import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from recorder import Recorder
from scipy.stats import rankdata, zscore
from sklearn.base import clone

import localrank
from localrank.data import RankingDataset
from localrank.data import dataset as datasets
from localrank.rankers import BestFeature, LambdaMART, RankSVM
from localrank.rankers.query_coordinates.query_coordinates import (
    QueryCoordinates,
    min_max,
    query_coordinates,
    rank_differences,
)


@pytest.fixture
def trees():
    return LambdaMART(n_trees=15, min_leaf_documents=5)


def test_features_come_first_then_deviations_and_percentiles_of_each_query(queries):
    table = query_coordinates(queries, "zp").features
    assert table.shape == (queries.n_documents, 24)
    for query in range(queries.n_queries):
        rows = slice(*queries.offsets[query : query + 2])
        documents = queries.features[rows]
        assert_array_equal(table[rows, :8], documents)
        assert_allclose(table[rows, 8:16], zscore(documents), atol=1e-12)
        assert_allclose(table[rows, 16:], rankdata(documents, axis=0) / len(documents), rtol=1e-15)


def test_everything_but_the_features_stays(queries):
    expanded = query_coordinates(queries)
    assert_array_equal(expanded.relevance, queries.relevance)
    assert_array_equal(expanded.offsets, queries.offsets)
    assert_array_equal(expanded.query_ids, queries.query_ids)


def test_46_features_make_193(rng):
    dataset = RankingDataset.from_arrays(rng.normal(size=(9, 46)), qid=np.zeros(9))
    assert query_coordinates(dataset, "zpab").n_features == 193


def test_the_order_of_the_letters_changes_nothing(queries):
    expected = query_coordinates(queries, "zpab")
    result = query_coordinates(queries, "bazp")
    assert_array_equal(result.features, expected.features)
    assert result.feature_names == expected.feature_names


def test_names_tell_what_a_column_is():
    dataset = RankingDataset.from_arrays(np.eye(2), qid=[1, 1], feature_names=["tf", "bm25"])
    names = query_coordinates(dataset).feature_names
    assert names[:6] == ("tf", "bm25", "tf (z)", "bm25 (z)", "tf (p)", "bm25 (p)")
    assert names[6:8] == ("mean percentile", "mean percentile (p)")
    assert names[14:] == ("spread of percentiles", "tf (b)", "bm25 (b)")


def test_features_without_names_stay_without(queries, trees):
    plain = queries.with_features(queries.features)
    assert query_coordinates(plain).feature_names is None
    assert not hasattr(QueryCoordinates(trees).fit(plain).ranker_, "feature_names_in_")


def test_it_may_wrap_itself(queries, trees):
    ranker = QueryCoordinates(QueryCoordinates(trees, parts="pa"), parts="zpa").fit(queries)
    names = ranker.ranker_.ranker_.feature_names_in_
    assert len(set(names)) == len(names) == 2 * (3 * 8 + 9) + 9
    assert "f1 (p) (p)" in names
    assert "f1 (p)'" in names
    assert ranker.score(queries) > 0.6


def test_parts_of_engines_come_last_and_leave_the_others_as_they_are(queries):
    everything = query_coordinates(queries, "dmzpab")
    assert_array_equal(everything.features[:, :41], query_coordinates(queries).features)
    engine = query_coordinates(queries, "md").features
    assert_array_equal(everything.features[:, 41:], engine[:, 8:])
    assert_array_equal(engine[:, 8:16], min_max(queries.features, queries.offsets))
    assert_array_equal(engine[:, 16:], rank_differences(queries.features, queries.offsets))
    assert everything.feature_names[41:] == (
        *(f"f{i} (m)" for i in range(1, 9)),
        *(f"f{i} (d)" for i in range(1, 9)),
    )


def test_parts_of_engines_are_made_of_the_values_present(queries):
    features = queries.features.copy()
    features[::3, 2] = np.nan
    holed = queries.with_features(features)
    table = query_coordinates(holed, "zd").features
    assert_array_equal(table[:, 16:], rank_differences(features, queries.offsets))
    assert_array_equal(table[:, :16], query_coordinates(holed, "z").features)
    assert np.isnan(table[::3, [2, 10, 18]]).all()


@pytest.mark.parametrize("parts", ["m", "db", "zpabmd"])
def test_columns_are_named_for_exporters(queries, parts):
    ranker = QueryCoordinates(BestFeature(), parts=parts)
    columns = ranker.columns(queries.n_features)
    assert len(columns) == ranker.n_expanded(8) == ranker.expanded(queries).n_features
    kinds = {"z": "deviation", "p": "percentile", "b": "robust-deviation"}
    kinds |= {"m": "min-max", "d": "rank-difference"}
    names = query_coordinates(queries, parts).feature_names
    for column, name in zip(columns, names, strict=True):
        if column.kind != "aggregate":
            feature, _, part = name.partition(" ")
            assert column.feature == int(feature[1:]) - 1
            assert column.kind == (kinds[part[1]] if part else "feature")


@pytest.mark.parametrize("parts", ["z", "p", "a", "b", "zpab", "m", "d", "adm"])
def test_wrapping_equals_expanding_by_hand(queries, trees, parts):
    weights = np.linspace(0.5, 2, queries.n_queries)
    wrapped = QueryCoordinates(trees, parts=parts).fit(queries, query_weight=weights)
    expanded = query_coordinates(queries, parts)
    alone = clone(trees).fit(expanded, query_weight=weights)
    assert_array_equal(wrapped.predict(queries), alone.predict(expanded))


def test_the_ranker_gets_coordinates_weights_and_validation_queries(queries, seen):
    train, valid = queries.select(range(40)), queries.select(range(40, 60))
    weights = np.linspace(1, 2, 40)
    QueryCoordinates(Recorder(), parts="b").fit(train, valid=valid, query_weight=weights)
    (dataset, query_weights, held_out, _) = seen[0]
    assert_array_equal(dataset.features, query_coordinates(train, "b").features)
    assert_array_equal(query_weights, weights)
    assert_array_equal(held_out.features, query_coordinates(valid, "b").features)


def test_it_learns_from_what_the_ranker_learns_from(queries):
    class Choosy(Recorder):
        def learns_from(self, dataset):
            return np.arange(dataset.n_queries) % 2 == 0

    expected = np.arange(queries.n_queries) % 2 == 0
    assert_array_equal(QueryCoordinates(Choosy()).learns_from(queries), expected)


def test_serving_one_query_sees_the_coordinates_of_training(queries, seen):
    class Keeper(Recorder):
        def _predict(self, dataset):
            seen.append(dataset.features)
            return super()._predict(dataset)

    ranker = QueryCoordinates(Keeper()).fit(queries)
    trained = seen[0][0].features
    for query in range(queries.n_queries):
        ranker.predict(queries.select([query]))
        assert_array_equal(seen[-1], trained[slice(*queries.offsets[query : query + 2])])


def test_it_learns_what_no_feature_shows_across_queries(rng):
    """The upper half of each query is relevant. Queries have any mean and any spread."""
    n_queries, size = 60, 20
    values = rng.normal(size=(n_queries, size, 1))
    labels = values[..., 0] > np.median(values, axis=1)
    moved = values * 10 ** rng.uniform(-3, 3, (n_queries, 1, 1))
    moved += 1e3 * rng.normal(size=(n_queries, 1, 1))
    qid = np.repeat(np.arange(n_queries), size)
    dataset = RankingDataset.from_arrays(moved.reshape(-1, 1), labels.ravel(), qid)
    train, test = dataset.select(range(40)), dataset.select(range(40, 60))
    trees = LambdaMART(n_trees=20, n_leaves=4)
    assert QueryCoordinates(trees).fit(train).score(test) == pytest.approx(1.0)
    assert trees.fit(train).score(test) < 0.8


@pytest.mark.parametrize("n_bytes", [1, 41 * 8 * 7, 41 * 8 * 100, 2**40])
def test_the_size_of_blocks_changes_nothing(queries, trees, monkeypatch, n_bytes, rng):
    queries = queries.replaced(feature_names=None)
    ranker = QueryCoordinates(trees).fit(queries)
    expected = ranker.ranker_.predict(query_coordinates(queries))
    monkeypatch.setattr(datasets, "SCORED_BYTES", n_bytes)
    assert_array_equal(ranker.predict(queries), expected)
    order = rng.permutation(queries.n_documents)
    qid = queries.query_index[order]
    assert_allclose(ranker.predict(queries.features[order], qid=qid), expected[order], rtol=1e-12)


def test_blocks_take_as_many_queries_as_fit(queries, seen, monkeypatch):
    class Keeper(Recorder):
        def _predict(self, dataset):
            seen.append(dataset.n_documents)
            return super()._predict(dataset)

    ranker = QueryCoordinates(Keeper()).fit(queries)
    monkeypatch.setattr(datasets, "SCORED_BYTES", 8 * (4 * 8 + 9) * 100)
    ranker.predict(queries)
    sizes = seen[1:]
    assert sum(sizes) == queries.n_documents
    assert len(sizes) == -(-queries.offsets[-2] // 100)
    assert max(sizes) < 100 + queries.query_sizes.max()


def test_single_precision_stays_single(queries, trees):
    small = queries.with_features(queries.features.astype(np.float32))
    assert query_coordinates(small).features.dtype == np.float32
    single, double = QueryCoordinates(trees).fit(small), QueryCoordinates(trees).fit(queries)
    assert single.score(small) == pytest.approx(double.score(queries), abs=0.02)


def test_large_values_are_not_mistaken_for_missing_ones(rng):
    huge = rng.choice([1.0, 1e100], (20, 3))
    dataset = RankingDataset.from_arrays(huge, qid=np.repeat([1, 2], 10))
    assert np.isfinite(query_coordinates(dataset).features).all()


def test_the_wrapped_ranker_stays_as_it_is_and_its_parameters_are_reached(queries, trees):
    ranker = QueryCoordinates(trees).set_params(ranker__n_trees=7).fit(queries)
    assert ranker.ranker is trees
    assert not [name for name in vars(trees) if name.endswith("_")]
    assert ranker.get_params()["ranker__n_trees"] == ranker.ranker_.n_trees_ == 7
    assert clone(ranker).ranker is not trees


@pytest.mark.parametrize("inner", [RankSVM(), BestFeature(), LambdaMART(5)])
def test_a_saved_ranker_scores_as_before(queries, inner, tmp_path):
    ranker = QueryCoordinates(inner, parts="pa").fit(queries)
    ranker.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert loaded.parts == "pa"
    assert loaded.ranker.get_params() == inner.get_params()
    assert_array_equal(loaded.predict(queries), ranker.predict(queries))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ranker": None}, "'ranker' parameter of QueryCoordinates must be a ranker. Got None"),
        ({"ranker": LambdaMART}, "must be a ranker. Got <class .*LambdaMART'> instead"),
        ({"parts": ""}, "'parts' parameter of QueryCoordinates must be one or more .* Got '' ins"),
        ({"parts": "zx"}, "letters of 'zpabmd', each at most once. Got 'zx' instead"),
        ({"parts": "zpz"}, "each at most once. Got 'zpz' instead"),
        ({"parts": None}, "Got None instead"),
        ({"parts": ["z", "p"]}, r"Got \['z', 'p'\] instead"),
    ],
)
def test_parameters_out_of_range_are_refused(queries, parameters, message):
    with pytest.raises(ValueError, match=message):
        QueryCoordinates(**{"ranker": BestFeature(), **parameters}).fit(queries)
