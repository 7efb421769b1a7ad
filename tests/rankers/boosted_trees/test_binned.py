import lightgbm
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from localrank.data import RankingDataset, make_queries
from localrank.data import _sources as sources
from localrank.rankers import (
    GBRT,
    CrossEntropyMART,
    Ensemble,
    LambdaMART,
    McRank,
    QueryCoordinates,
    RandomForest,
    RankSVM,
)
from localrank.rankers.boosted_trees import _binned as module
from localrank.rankers.boosted_trees._binned import binned
from localrank.recipes import best

# LightGBM draws a sample if there are more rows than this.
SAMPLE = 200_000


def test_trees_are_those_of_the_whole_array():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(SAMPLE + 20_000, 4)).astype(np.float32)
    features[:, 1] *= generator.random(len(features)) < 0.1
    features[:, 2] = np.where(features[:, 2] > 1, np.nan, features[:, 2])
    labels = np.nan_to_num(features).sum(axis=1)
    dataset = RankingDataset.from_arrays(features, qid=np.arange(len(features)) // 50)
    parameters = {"seed": 3, "objective": "regression", "verbosity": -1, "num_threads": 1}
    expected = lightgbm.train(parameters, lightgbm.Dataset(features, labels), 3)
    booster = lightgbm.train(parameters, binned(dataset, parameters).set_label(labels), 3)
    assert booster.model_to_string() == expected.model_to_string()


@pytest.mark.parametrize("ranker", [LambdaMART(9), RankSVM(), best(9, min_leaf_documents=5)])
def test_models_do_not_depend_on_the_size_of_blocks(ranker, monkeypatch):
    dataset, _ = make_queries(60, n_features=5, random_state=0)
    train, valid = dataset.select(range(45)), dataset.select(range(45, 60))
    ranker = QueryCoordinates(ranker)
    scores = ranker.fit(train, valid=valid).predict(dataset)
    monkeypatch.setattr("localrank.data._sources.SMALL_BYTES", 0)
    monkeypatch.setattr(sources, "BLOCK_BYTES", 2000)
    assert_array_equal(ranker.fit(train, valid=valid).predict(dataset), scores)


def test_bins_of_very_many_documents_are_chosen_by_a_sample_that_takes_little_room(monkeypatch):
    dataset, _ = make_queries(60, n_documents=(10, 10), n_features=5, random_state=0)
    sizes = []
    sample = module._sample
    monkeypatch.setattr(
        module, "_sample", lambda data, rows: sizes.append(len(rows)) or sample(data, rows)
    )
    model = LambdaMART(9, min_leaf_documents=5)
    scores = model.fit(dataset).predict(dataset)
    monkeypatch.setattr(module, "MANY", 599)
    monkeypatch.setattr(module, "LEAST", 20)
    for n_bytes in (2**28, 8 * 5 * 100, 0):
        monkeypatch.setattr(module, "SAMPLE_BYTES", n_bytes)
        assert model.fit(dataset).score(dataset) > 0.7
        if n_bytes == 2**28:
            assert_array_equal(model.predict(dataset), scores)
    assert sizes == [600, 600, 100, 20]


MEMBERS = [
    LambdaMART(9, min_leaf_documents=5),
    GBRT(9, min_leaf_documents=5),
    RankSVM(),
    CrossEntropyMART(9, min_leaf_documents=5),
    McRank(9, min_leaf_documents=5),
    LambdaMART(9, min_leaf_documents=5, random_state=1),
    LambdaMART(9, min_leaf_documents=5, random_state=1, n_leaves=3),
    RandomForest(9, min_leaf_documents=2),
]


@pytest.fixture
def made(monkeypatch):
    """The parameters of all bins that are made."""
    parameters = []
    make = module._made_bins
    monkeypatch.setattr(
        module, "_made_bins", lambda data, given: parameters.append(given) or make(data, given)
    )
    return parameters


@pytest.mark.parametrize("stop_early", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_rankers_of_an_ensemble_share_bins_and_are_the_same_as_alone(made, stop_early, weighted):
    dataset, _ = make_queries(60, n_features=5, random_state=0)
    train, valid = dataset.select(range(45)), dataset.select(range(45, 60))
    weights = np.random.default_rng(0).uniform(0.5, 2, 45) if weighted else None
    how = {"query_weight": weights, "valid": valid if stop_early else None}
    together = Ensemble(MEMBERS).fit(train, **how)
    # Four rankers with the first seed, two with the second, and one of other leaves.
    assert len(made) == 3
    for ranker, member in zip(MEMBERS, together.rankers_, strict=True):
        alone = clone(ranker).fit(train, **how)
        assert_array_equal(alone.predict(dataset), member.predict(dataset))
    trained = Ensemble(MEMBERS[::-1], n_jobs=2).fit(train, **how).rankers_[::-1]
    for one, other in zip(together.rankers_, trained, strict=True):
        assert_array_equal(one.predict(dataset), other.predict(dataset))


def test_weights_of_documents_do_not_stay_with_shared_bins(rng):
    """The gradient of LambdaMART has its weights; LightGBM holds those of the others."""
    dataset, _ = make_queries(60, n_features=5, random_state=0)
    weights = rng.uniform(0.1, 2, dataset.n_documents)
    members = [GBRT(9, min_leaf_documents=5), LambdaMART(9, min_leaf_documents=5)]
    together = Ensemble(members).fit(dataset, sample_weight=weights)
    for ranker, member in zip(members, together.rankers_, strict=True):
        alone = clone(ranker).fit(dataset, sample_weight=weights)
        assert_array_equal(alone.predict(dataset), member.predict(dataset))


def test_bins_of_very_many_values_are_not_held(made, monkeypatch):
    monkeypatch.setattr(module, "SHARED_BYTES", 100)
    dataset, _ = make_queries(30, n_features=5, random_state=0)
    Ensemble([LambdaMART(3), GBRT(3)]).fit(dataset)
    assert len(made) == 2


def test_the_two_views_of_best_have_bins_each(made):
    dataset, _ = make_queries(60, n_features=5, random_state=0)
    best(5).fit(dataset)
    assert len(made) == 2


def test_nothing_is_shared_outside_an_ensemble(made):
    dataset, _ = make_queries(30, n_features=5, random_state=0)
    for ranker in (LambdaMART(3), GBRT(3)):
        ranker.fit(dataset)
    assert len(made) == 2


@pytest.mark.parametrize("n", [0, 1, 2, 5000])
@pytest.mark.parametrize("kind", ["any", "equal", "few", "signs", "extreme"])
def test_sorting_is_that_of_numpy(n, kind, rng):
    values = {
        "any": rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n),
        "equal": np.full(n, 0.25),
        "few": rng.integers(1, 4, n) / 3,
        "signs": rng.choice([-1.5, 2.5], n),
        "extreme": rng.choice([np.inf, -np.inf, 5e-324, np.finfo(float).max], n),
    }[kind]
    expected = np.sort(values)
    module.sort(values.view(np.uint64), np.empty(n + 3, np.uint64))
    assert_array_equal(values, expected)
