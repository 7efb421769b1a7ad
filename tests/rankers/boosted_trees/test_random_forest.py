import lightgbm
import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.data import make_queries
from localrank.data._content_order import content_order
from localrank.rankers import RandomForest


@pytest.fixture(scope="module")
def split():
    dataset, _ = make_queries(160, n_types=1, random_state=3)
    return dataset.select(np.arange(100)), dataset.select(np.arange(100, 160))


def test_trees_are_what_lightgbm_trains_on_the_same_rows(split):
    train, test = split
    ranker = RandomForest(10, random_state=5).fit(train)
    seed = np.random.RandomState(5).randint(2**31 - 1)
    rows, _ = content_order(train, seed)
    booster = lightgbm.train(
        {
            "objective": "regression",
            "boosting": "rf",
            "bagging_freq": 1,
            "bagging_fraction": 0.632,
            "feature_fraction_bynode": 0.3,
            "num_leaves": 100,
            "min_data_in_leaf": 1,
            "min_sum_hessian_in_leaf": 0.0,
            "seed": seed,
            "num_threads": 1,
            "verbosity": -1,
        },
        lightgbm.Dataset(train.features[rows], train.labels[rows]),
        10,
    )
    assert_allclose(ranker.predict(test), booster.predict(test.features), rtol=1e-12)
    assert_allclose(ranker.booster.predict(test.features), ranker.predict(test), rtol=1e-12)


def test_scores_are_means_of_labels(split):
    train, test = split
    scores = RandomForest(20).fit(train).predict(test)
    assert train.labels.min() <= scores.min()
    assert scores.max() <= train.labels.max()
    assert scores.mean() == pytest.approx(train.labels.mean(), abs=0.1)


def test_more_trees_depend_less_on_the_seed(split):
    train, test = split

    def difference(n_trees):
        one, other = (RandomForest(n_trees, random_state=s).fit(train) for s in (1, 2))
        return np.abs(one.predict(test) - other.predict(test)).mean()

    assert difference(80) < 0.5 * difference(5)


def test_a_forest_ranks_better_than_its_trees(split):
    train, test = split
    one, many = (RandomForest(n).fit(train).score(test) for n in (1, 100))
    assert many > one + 0.05


def test_it_needs_trees_that_differ(split):
    message = "'document_fraction' parameter of RandomForest must be .* below 1. Got 1.0 instead"
    with pytest.raises(ValueError, match=message):
        RandomForest(document_fraction=1.0).fit(split[0])
