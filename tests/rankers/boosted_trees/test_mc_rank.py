import lightgbm
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import RankingDataset, make_queries
from localrank.data._content_order import content_order
from localrank.measures import NDCG
from localrank.rankers import McRank
from localrank.rankers.boosted_trees.mc_rank import classes_of


@pytest.fixture(scope="module")
def split():
    dataset, _ = make_queries(160, n_types=1, random_state=3)
    return dataset.select(np.arange(100)), dataset.select(np.arange(100, 160))


@pytest.mark.parametrize(
    ("gain", "expected"),
    [
        (None, [0, 1, 3, 7, 15]),
        ("linear", [0, 1, 2, 3, 4]),
        ([0, 1, 2, 5, 20], [0, 1, 2, 5, 20]),
    ],
)
def test_the_score_is_the_expected_gain_by_lightgbms_probabilities(split, gain, expected):
    train, test = split
    ranker = McRank(10, gain=gain, random_state=5).fit(train)
    seed = np.random.RandomState(5).randint(2**31 - 1)
    rows, _ = content_order(train, seed)
    booster = lightgbm.train(
        {
            "objective": "multiclass",
            "num_class": 5,
            "min_sum_hessian_in_leaf": 0.0,
            "learning_rate": ranker.learning_rate,
            "num_leaves": ranker.n_leaves,
            "min_data_in_leaf": ranker.min_leaf_documents,
            "feature_fraction": ranker.feature_fraction,
            "lambda_l2": ranker.l2,
            "seed": seed,
            "num_threads": 1,
            "verbosity": -1,
        },
        lightgbm.Dataset(train.features[rows], train.labels[rows]),
        10,
    )
    probabilities = booster.predict(test.features)
    assert_array_equal(ranker.gains_, expected)
    assert ranker.n_trees_ == 10
    scores = sum(gain * share for gain, share in zip(expected, probabilities.T, strict=True))
    assert_allclose(ranker.predict(test), scores, rtol=1e-12)


def test_what_can_be_memorised_gets_its_gain(rng):
    features = rng.normal(size=(300, 3))
    labels = (features[:, 0] > 0) + 2.0 * (features[:, 1] > 0)
    dataset = RankingDataset.from_arrays(features, labels, np.arange(300) // 10)
    ranker = McRank(200, learning_rate=0.2, min_leaf_documents=1, l2=0, feature_fraction=1)
    assert_allclose(ranker.fit(dataset).predict(dataset), 2**labels - 1, atol=1e-2)


def test_gains_that_are_merged_share_a_class(split):
    train, _ = split
    assert_array_equal(McRank(3, gain=[0, 0, 1, 1, 4]).fit(train).gains_, [0, 1, 4])


def test_early_stopping_keeps_the_trees_that_do_best_on_validation_queries(split):
    train, valid = split
    ranker = McRank(60, learning_rate=0.3, patience=200, measure="ndcg@5")
    ranker.fit(train, valid=valid)
    curve = [
        NDCG(5).mean(valid, McRank(n, learning_rate=0.3).fit(train).predict(valid))
        for n in range(max(1, ranker.n_trees_ - 3), ranker.n_trees_ + 4)
    ]
    assert NDCG(5).mean(valid, ranker.predict(valid)) == pytest.approx(max(curve))
    assert len(ranker.class_trees_) == 5
    assert all(trees.n_trees == ranker.n_trees_ for trees in ranker.class_trees_)


@pytest.mark.parametrize(
    "worth",
    [
        lambda rng: rng.geometric(0.01, 1000).astype(float),
        lambda rng: np.round(rng.uniform(100, 140, 1000), 1),
        lambda rng: rng.random(1000),
    ],
)
def test_of_many_gains_a_few_classes_are_made_in_their_order(worth, rng):
    values = worth(rng)
    classes = classes_of(values)
    assert set(classes) == set(range(classes.max() + 1))
    assert 4 < len(set(classes)) <= 16
    by_value = classes[np.argsort(values, kind="stable")]
    assert (np.diff(by_value) >= 0).all()


def test_up_to_31_gains_are_a_class_each():
    assert_array_equal(classes_of(np.arange(31.0)[::-1] / 7), np.arange(31)[::-1])


def test_the_gain_of_a_class_is_the_mean_of_its_documents(split, rng):
    train, _ = split
    labels = np.round(100 * train.labels + rng.uniform(0, 60, train.n_documents), 2)
    ranker = McRank(2).fit(train.replaced(relevance=labels))
    classes = classes_of(labels)
    means = [labels[classes == number].mean() for number in range(classes.max() + 1)]
    assert_allclose(ranker.gains_, means)
    assert (np.diff(ranker.gains_) > 0).all()
