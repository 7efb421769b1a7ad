"""Splits by sets of categories: LightGBM is the oracle, to the last bit."""

from dataclasses import replace

import lightgbm
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.trees import _scoring, joined, read_lightgbm_text, trees, write_lightgbm_text

ODD = [
    np.nan,
    -1,
    -0.5,
    -7,
    0.7,
    39.9,
    40,
    41,
    63,
    64,
    95,
    96,
    1e9,
    -1e9,
    2.0**31,
    2.0**33 + 3,
    1e99,
]


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(1500, 3))
    features[:, 0] = rng.integers(0, 40, 1500)
    features[:, 2] = rng.integers(0, 3, 1500)
    features[::9, 0] = np.nan
    return features


def booster_of(documents, n_leaves=15, n_trees=12):
    effects = np.random.default_rng(1).normal(size=40)
    labels = effects[np.nan_to_num(documents[:, 0]).astype(int)] + documents[:, 1]
    labels += documents[:, 2] == 1
    options = {"num_leaves": n_leaves, "min_data_in_leaf": 2, "min_data_per_group": 2}
    data = lightgbm.Dataset(documents, labels, categorical_feature=[0, 2])
    return lightgbm.train({**options, "num_threads": 1, "verbosity": -1}, data, n_trees)


@pytest.fixture(scope="module")
def booster(documents):
    return booster_of(documents)


@pytest.fixture(scope="module")
def model(booster):
    return read_lightgbm_text(booster.model_to_string())


def odd(documents):
    """Documents with values that no category has."""
    result = documents[: len(ODD) * 20].copy()
    result[:, 0] = np.tile(ODD, 20)
    return result


@pytest.mark.parametrize("n_leaves", [4, 15, 300])
@pytest.mark.parametrize("loops", [False, True])
def test_scores_are_lightgbms_to_the_last_bit(documents, n_leaves, loops, monkeypatch):
    if loops:
        monkeypatch.setattr(trees, "rank_values", _scoring.rank_values_in_loops)
    booster = booster_of(documents, n_leaves, n_trees=5)
    model = read_lightgbm_text(booster.model_to_string())
    assert model.has_sets
    for asked in (documents, odd(documents), documents[:1], odd(documents)[:21]):
        assert_array_equal(model.score(asked), booster.predict(asked))


def test_single_precision_scores_the_same(model, documents):
    asked = odd(documents)
    single = asked[asked[:, 0] != 1e99].astype(np.float32)
    assert_array_equal(model.score(single), model.score(single.astype(np.float64)))


def test_contributions_are_lightgbms(model, booster, documents):
    for asked in (documents[:200], odd(documents)):
        expected = booster.predict(asked, pred_contrib=True)
        values, base = model.contributions(asked)
        assert_allclose(values, expected[:, :-1], atol=1e-12)
        assert_allclose(base, expected[0, -1], atol=1e-12)


def test_trees_come_back_from_text_with_the_same_scores(model, booster, documents):
    text = write_lightgbm_text(model, "regression")
    assert_array_equal(
        lightgbm.Booster(model_str=text).predict(odd(documents)), booster.predict(odd(documents))
    )
    assert_array_equal(read_lightgbm_text(text).score(documents), model.score(documents))


def test_a_file_with_the_values_lets_lightgbm_code_a_frame(model, documents):
    import pandas as pd

    names = [tuple(f"c{i:02}" for i in range(40)), ("x", "y", "z")]
    text = write_lightgbm_text(model, "regression", ["a", "b", "c"], names)
    complete = documents[~np.isnan(documents[:, 0])]
    frame = pd.DataFrame(complete, columns=["a", "b", "c"])
    for column, values in (("a", names[0]), ("c", names[1])):
        texts = np.array(values)[frame[column].astype(int)]
        # In another order than in training: LightGBM goes by the values in the file.
        frame[column] = pd.Categorical(texts, categories=values[::-1])
    scores = lightgbm.Booster(model_str=text).predict(frame)
    assert_array_equal(scores, model.score(complete))


def test_a_weighted_sum_keeps_the_sets_of_each_part(documents):
    parts = [
        read_lightgbm_text(booster_of(rows, n_trees=3).model_to_string())
        for rows in (documents, documents[:, [2, 1, 0]][::-1] % 40)
    ]
    both = joined([(parts[0], 2.0), (parts[1], -1.0)])
    expected = 2 * parts[0].score(documents) - parts[1].score(documents)
    assert_allclose(both.score(documents), expected, atol=1e-12)


def test_a_model_without_sets_has_no_columns_of_sets(rng):
    features = rng.normal(size=(300, 2))
    options = {"num_threads": 1, "verbosity": -1}
    booster = lightgbm.train(options, lightgbm.Dataset(features, features[:, 0]), 3)
    model = read_lightgbm_text(booster.model_to_string())
    assert not model.has_sets
    assert trees.Scorer(model, np.float64)._sets is None


@pytest.mark.parametrize("number", [-1.0, 0.5, "n_sets", 1e9, 1e300])
def test_a_split_by_a_set_that_does_not_exist_is_refused(model, number):
    number = len(model.set_offsets) - 1 if number == "n_sets" else number
    thresholds = model.thresholds.copy()
    thresholds[np.flatnonzero(model.decisions & 1)[0]] = number
    with pytest.raises(ValueError, match="thresholds of splits by sets must be numbers of sets"):
        replace(model, thresholds=thresholds)


@pytest.mark.parametrize(
    ("place", "value"), [(0, 1), (1, 0), (1, -1), (1, 2**62), (-1, 2**40), (-1, 1)]
)
def test_offsets_of_sets_that_leave_the_words_are_refused(model, place, value):
    offsets = model.set_offsets.copy()
    offsets[place] = value
    with pytest.raises(ValueError, match="set_offsets must ascend from 0 to the number of words"):
        replace(model, set_offsets=offsets)


def test_sets_without_words_are_refused(model):
    with pytest.raises(ValueError, match="set_offsets must ascend"):
        replace(model, set_words=model.set_words[:0])
