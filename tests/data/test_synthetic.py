import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import make_queries
from localrank.measures import NDCG
from localrank.rankers import BestFeature


def test_the_same_seed_makes_the_same_queries():
    (one, types), (again, types_again) = make_queries(30), make_queries(30)
    assert_array_equal(one.features, again.features)
    assert_array_equal(types, types_again)
    assert not np.array_equal(one.features[:5], make_queries(30, random_state=1)[0].features[:5])


def test_sizes_stay_within_the_asked_bounds():
    dataset, _ = make_queries(200, n_documents=(3, 5))
    assert set(dataset.query_sizes.tolist()) == {3, 4, 5}


def test_every_type_occurs():
    assert set(make_queries(4, n_types=4)[1].tolist()) == {0, 1, 2, 3}


def test_types_rank_by_different_features():
    dataset, types = make_queries(400, n_types=2, n_features=12, noise=0.1)
    # Without the feature that helps every type, each type has a best one of its own block.
    shared = 8
    for kind in (0, 1):
        of_type = dataset.select(types == kind)
        features = of_type.features.copy()
        features[:, shared:] = 0
        best = BestFeature().fit(of_type.with_features(features))
        other = dataset.select(types != kind)
        block = range(4 * kind, 4 * kind + 4)
        assert best.feature_ in block
        assert NDCG(5).mean(of_type, of_type.features[:, best.feature_]) > NDCG(5).mean(
            other, other.features[:, best.feature_]
        )


def test_documents_spread_most_along_their_types_features():
    dataset, types = make_queries(40, n_types=2, n_features=12, n_documents=(200, 200))
    for query in range(40):
        cloud = dataset.features[dataset.offsets[query] : dataset.offsets[query + 1]]
        spread = cloud.std(axis=0)
        along_type, elsewhere = spread[4 * types[query] :][:4], spread[4 * (1 - types[query]) :][:4]
        assert along_type.mean() > elsewhere.mean()


def test_noise_makes_labels_harder_to_predict():
    def best(noise):
        dataset, _ = make_queries(200, n_types=1, noise=noise)
        return BestFeature().fit(dataset).score(dataset)

    assert best(0.0) > best(1.0) > best(5.0)


@pytest.mark.parametrize(
    "arguments",
    [{"n_documents": (0, 3)}, {"n_documents": (5, 3)}, {"n_types": 0}, {"n_features": 4}],
)
def test_impossible_requests_are_refused(arguments):
    with pytest.raises(ValueError, match="Got"):
        make_queries(20, **arguments)
