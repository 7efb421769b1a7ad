"""Models of CatBoost: scores to the last bit, contributions and importances."""

import json

import catboost
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank.trees import Trees, read_catboost_json
from localrank.trees.catboost_json import highest_at_most

N_FEATURES = 5
LARGEST = float(np.finfo(np.float32).max)
floats32 = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(border=floats32, value=st.floats(allow_nan=False), steps=st.integers(-3, 3))
def test_a_number_of_64_bits_is_sent_where_its_32_bits_are(border, value, steps):
    border = np.float32(border)
    (threshold,) = highest_at_most(np.array([border]))
    near = threshold
    for _ in range(abs(steps)):
        near = np.nextafter(near, np.copysign(np.inf, steps))
    for number in (value, near, np.float64(border)):
        with np.errstate(over="ignore"):
            assert (number <= threshold) == (np.float32(number) <= border)


@given(border=floats32, value=floats32)
def test_a_number_of_32_bits_is_sent_by_the_border(border, value):
    (threshold,) = highest_at_most(np.array([border], np.float32))
    assert (value <= threshold) == (value <= border)


def random_model(rng, depths, sides=("AsIs", "AsFalse", "AsTrue"), scale=1.0, bias=0.0):
    """A model as CatBoost writes it, with borders that features have in common."""
    pool = np.array([0.5, 0.1, -2.0, 1e30, LARGEST, -LARGEST, 1.0, 1e-30], np.float32)
    borders = [
        np.unique(np.append(rng.normal(size=9).astype(np.float32), rng.choice(pool, 3)))
        for _ in range(N_FEATURES)
    ]
    numbers = np.cumsum([0, *map(len, borders)])
    trees = []
    for depth in depths:
        features = rng.integers(0, N_FEATURES, depth)
        places = [int(rng.integers(len(borders[feature]))) for feature in features]
        trees.append(
            {
                "splits": [
                    {
                        "border": float(borders[feature][place]),
                        "float_feature_index": int(feature),
                        "split_index": int(numbers[feature] + place),
                        "split_type": "FloatFeature",
                    }
                    for feature, place in zip(features, places, strict=True)
                ],
                "leaf_values": rng.normal(size=2**depth).tolist(),
                "leaf_weights": rng.integers(1, 50, 2**depth).tolist(),
            }
        )
    facts = [
        {
            "borders": borders[feature].astype(float).tolist(),
            "feature_id": "",
            "feature_index": feature,
            "flat_feature_index": feature,
            "has_nans": True,
            "nan_value_treatment": str(rng.choice(sides)),
        }
        for feature in range(N_FEATURES)
    ]
    return {
        "features_info": {"float_features": facts},
        "model_info": {},
        "oblivious_trees": trees,
        "scale_and_bias": [scale, [bias]],
    }


def loaded(model, folder, n_trees=None):
    """A model as ours and as CatBoost's, which rounds some leaves when it reads them."""
    path = folder / "model.json"
    path.write_text(json.dumps(model))
    booster = catboost.CatBoost()
    booster.load_model(str(path), format="json")
    booster.save_model(str(path), format="json")
    trees = read_catboost_json(path.read_text(), n_trees)
    return trees, booster


def by_catboost(booster, rows):
    return booster.predict(rows, prediction_type="RawFormulaVal", thread_count=1)


def documents(rng, model, n, dtype):
    """Rows with missing and infinite values, borders, and numbers that round to borders."""
    borders = np.concatenate(
        [fact["borders"] for fact in model["features_info"]["float_features"]]
    ).astype(np.float32)
    thresholds = highest_at_most(borders)
    near = [borders, thresholds, np.nextafter(thresholds, np.inf)]
    pool = np.concatenate([*near, [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300] * 8])
    shape = (n, N_FEATURES)
    rows = np.where(rng.random(shape) < 0.7, rng.choice(pool, shape), rng.normal(size=shape))
    with np.errstate(over="ignore"):
        return rows.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("depths", [[1], [6] * 9, [0, 1, 2, 3, 4, 5, 6, 7, 8], [8, 3], [9, 2]])
def test_scores_are_catboosts_to_the_last_bit(depths, dtype, tmp_path):
    rng = np.random.default_rng(len(depths))
    model = random_model(rng, depths)
    trees, booster = loaded(model, tmp_path)
    assert trees.n_trees == len(depths)
    for n in (1, 16, 40, 133):
        rows = documents(rng, model, n, dtype)
        assert_array_equal(trees.score(rows), by_catboost(booster, rows))


def test_a_bias_is_added_and_a_scale_multiplied(tmp_path):
    rng = np.random.default_rng(0)
    for scale, bias in ((1.0, 0.37), (0.3, -2.0)):
        model = random_model(rng, [4] * 20, scale=scale, bias=bias)
        trees, booster = loaded(model, tmp_path)
        rows = documents(rng, model, 200, np.float64)
        expected = by_catboost(booster, rows)
        if scale == 1:
            assert_array_equal(trees.score(rows), expected)
        assert_allclose(trees.score(rows), expected, rtol=1e-13, atol=1e-13)


def test_part_of_the_trees_is_what_catboost_predicts_with_them(tmp_path):
    rng = np.random.default_rng(1)
    model = random_model(rng, [3] * 12)
    some, booster = loaded(model, tmp_path, 5)
    rows = documents(rng, model, 50, np.float64)
    assert some.n_trees == 5
    assert_array_equal(some.score(rows), booster.predict(rows, ntree_end=5))


@pytest.fixture(scope="module")
def trained():
    """A trained model with weights, missing values, constant and repeated features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = 7.0
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = np.nan_to_num(X[:, 3])
    y = np.nan_to_num(X[:, 0]) + X[:, 3] * np.nan_to_num(X[:, 1]) + rng.normal(size=2000)
    return X, y, np.repeat(np.arange(100), 20)


def fitted(trained, folder, **parameters):
    X, y, qid = trained
    model = catboost.CatBoost(
        {
            "loss_function": "QueryRMSE",
            "iterations": 30,
            "depth": 5,
            "thread_count": 1,
            "allow_writing_files": False,
            "logging_level": "Silent",
            **parameters,
        }
    )
    model.fit(catboost.Pool(X, y, group_id=qid))
    path = folder / "model.json"
    model.save_model(str(path), format="json")
    return model, path.read_text()


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"nan_mode": "Max"},
        {"depth": 1},
        {"loss_function": "RMSE"},
        {"loss_function": "YetiRank"},
        {"loss_function": "PairLogit", "border_count": 3},
    ],
)
def test_a_trained_model_scores_as_in_catboost(trained, parameters, tmp_path):
    model, text = fitted(trained, tmp_path, **parameters)
    trees = read_catboost_json(text)
    for rows in (trained[0], trained[0].astype(np.float32), -10 * trained[0]):
        assert_array_equal(trees.score(rows), by_catboost(model, rows))


@pytest.mark.parametrize("loss", ["QueryRMSE", "YetiRank", "PairLogit"])
def test_contributions_are_catboosts(trained, loss, tmp_path):
    model, text = fitted(trained, tmp_path, loss_function=loss)
    X = trained[0][:300]
    values, base = read_catboost_json(text).contributions(X)
    expected = model.get_feature_importance(catboost.Pool(X), type="ShapValues")
    assert_allclose(values, expected[:, :-1], rtol=1e-9, atol=1e-12)
    assert_allclose(base, expected[0, -1], rtol=1e-9, atol=1e-12)


def test_importances_are_catboosts_changes_of_the_prediction(trained, tmp_path):
    model, text = fitted(trained, tmp_path)
    gains = read_catboost_json(text).importances("gain")
    expected = model.get_feature_importance(type="PredictionValuesChange")
    assert_allclose(100 * gains / gains.sum(), expected, rtol=1e-5, atol=1e-9)


def test_values_next_to_zero_count_as_zero():
    split = {"float_feature_index": 0, "border": 2e-36}
    tree = {"splits": [split], "leaf_values": [-1.0, 2.0], "leaf_weights": [1, 1]}
    model = {"features_info": {"float_features": [{}]}, "oblivious_trees": [tree]}
    trees = read_catboost_json(json.dumps({**model, "scale_and_bias": [1, [0]]}))
    assert trees.score([[0.0], [1e-35], [1.1e-35], [-1.1e-35]]).tolist() == [-1, -1, 2, -1]


def test_a_model_without_trees_scores_its_bias():
    info = {"float_features": [{}, {}]}
    model = {"features_info": info, "oblivious_trees": [], "scale_and_bias": [1, [0.5]]}
    trees = read_catboost_json(json.dumps(model))
    assert isinstance(trees, Trees)
    assert trees.score(np.ones((3, 2))).tolist() == [0.5] * 3


def test_other_models_are_refused(trained, tmp_path):
    _, text = fitted(trained, tmp_path, grow_policy="Depthwise", depth=3)
    with pytest.raises(ValueError, match="not symmetric. Train it with grow_policy='SymmetricTr"):
        read_catboost_json(text)
    model = random_model(np.random.default_rng(0), [2])
    with pytest.raises(ValueError, match="one score per document"):
        read_catboost_json(json.dumps({**model, "scale_and_bias": [1, [0, 0]]}))
    model["features_info"]["categorical_features"] = [{"flat_feature_index": 9}]
    with pytest.raises(ValueError, match="Only numeric features .* has categorical_features"):
        read_catboost_json(json.dumps(model))


def test_a_tree_needs_a_leaf_for_every_answer():
    model = random_model(np.random.default_rng(0), [2])
    del model["oblivious_trees"][0]["leaf_values"][0]
    with pytest.raises(ValueError, match="A tree of 2 levels must have 4 leaves. Got 3"):
        read_catboost_json(json.dumps(model))
