from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import RankingDataset
from localrank.rankers import BestFeature
from localrank.representations import TopDocuments


def expected_mean(features, reference, n):
    """Mean of the top n documents, averaged over every order that descends by the reference."""
    orders = [
        order
        for order in permutations(range(len(features)))
        if all(reference[i] >= reference[j] for i, j in pairwise(order))
    ]
    return np.mean([features[list(order[:n])].mean(axis=0) for order in orders], axis=0)


@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    n=st.integers(1, 6),
    levels=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_ties_at_the_cut_share_the_places_that_are_left(sizes, n, levels, seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(sum(sizes), 3))
    features[:, 1] = rng.integers(0, levels, sum(sizes))
    dataset = RankingDataset.from_arrays(features, qid=np.repeat(np.arange(len(sizes)), sizes))
    points = TopDocuments(n, feature=1).fit(dataset).transform(dataset)
    parts = np.split(features, dataset.offsets[1:-1])
    assert_allclose(points, [expected_mean(part, part[:, 1], n) for part in parts], atol=1e-12)


def test_without_ties_it_is_the_mean_of_the_sorted_documents(queries):
    points = TopDocuments(4, feature=2).fit(queries).transform(queries)
    for point, cloud in zip(points, np.split(queries.features, queries.offsets[1:-1]), strict=True):
        assert_allclose(point, cloud[np.argsort(-cloud[:, 2])[:4]].mean(axis=0))


def test_the_best_feature_is_that_of_the_ranker(queries):
    model = TopDocuments().fit(queries)
    assert model.feature_ == BestFeature("ndcg@5").fit(queries).feature_
    by_number = TopDocuments(feature=model.feature_).fit(queries)
    assert_array_equal(model.transform(queries), by_number.transform(queries))


def test_the_best_feature_is_best_among_the_first_five():
    # The first feature ranks documents 0 3 4 5 1 2, better at rank 1 and over all six; the
    # second one 3 0 1 2 4 5.
    features = np.array([[6, 5], [2, 4], [1, 3], [5, 6], [4, 2], [3, 1]], dtype=float)
    dataset = RankingDataset.from_arrays(features, y=[1, 1, 1, 0, 0, 0], qid=np.zeros(6))
    assert [BestFeature(m).fit(dataset).feature_ for m in ("ndcg@1", "ndcg@10")] == [0, 0]
    assert TopDocuments().fit(dataset).feature_ == 1


def test_features_may_be_named(queries):
    named = TopDocuments(3, feature="f5", columns=["f8", "f1"]).fit(queries)
    numbered = TopDocuments(3, feature=4, columns=(7, 0)).fit(queries)
    assert named.feature_ == 4
    assert_array_equal(named.columns_, [7, 0])
    assert_array_equal(named.transform(queries), numbered.transform(queries))


def test_columns_choose_from_the_mean_of_all_features(queries):
    every = TopDocuments(3, feature=4).fit(queries).transform(queries)
    some = TopDocuments(3, feature=4, columns=np.array([6, 2])).fit(queries).transform(queries)
    assert_array_equal(some, every[:, [6, 2]])


def test_the_best_feature_needs_labels_to_be_found_but_not_to_be_used(queries):
    bare = RankingDataset.from_arrays(queries.features, qid=queries.query_index)
    with pytest.raises(ValueError, match="finds the best feature by labels. The dataset has none"):
        TopDocuments().fit(bare)
    expected = TopDocuments().fit(queries).transform(queries)
    assert_array_equal(TopDocuments().fit(queries).transform(bare), expected)
    assert TopDocuments(feature=0).fit(bare).transform(bare).shape == (60, 8)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 0}, "'n' parameter of TopDocuments must be a whole number, 1 or larger. Got 0"),
        ({"feature": 8}, "'best' or a column from 0 to 7 or the name of one. Got 8 instead"),
        ({"feature": -1}, "Got -1 instead"),
        ({"feature": True}, "Got True instead"),
        ({"feature": "bm25"}, "'feature' parameter of TopDocuments .* Got 'bm25' instead"),
        ({"columns": []}, r"must be None or a list of features, .* Got \[\] instead"),
        ({"columns": [0, 8]}, r"Got \[0, 8\] instead"),
        ({"columns": "f1"}, "Got 'f1' instead"),
        ({"columns": 3}, "'columns' parameter of TopDocuments .* Got 3 instead"),
    ],
)
def test_wrong_parameters_are_refused(queries, parameters, message):
    with pytest.raises(ValueError, match=message):
        TopDocuments(**parameters).fit(queries)


def test_a_name_needs_named_features(queries):
    unnamed = queries.with_features(queries.features)
    with pytest.raises(ValueError, match="'best' or a column from 0 to 7. Got 'f1' instead"):
        TopDocuments(feature="f1").fit(unnamed)
