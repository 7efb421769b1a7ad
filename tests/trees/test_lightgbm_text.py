import lightgbm
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from trees.random_trees import random_documents, random_trees

from localrank.data import make_queries
from localrank.trees import read_lightgbm_classes, read_lightgbm_text, write_lightgbm_text

EXACT = ["leaf_offsets", "split_features", "thresholds", "decisions", "left_children"]
EXACT += ["right_children", "leaf_values"]


def trained(**parameters):
    dataset, _ = make_queries(40, random_state=0)
    data = lightgbm.Dataset(
        dataset.features, dataset.labels, group=dataset.query_sizes, free_raw_data=False
    )
    options = {"num_leaves": 8, "min_data_in_leaf": 5, "num_threads": 1, "verbosity": -1}
    return lightgbm.train({**options, **parameters}, data, 12), dataset.features


@pytest.mark.parametrize("objective", ["lambdarank", "rank_xendcg", "regression"])
def test_a_booster_made_of_the_trees_is_the_one_they_came_from(objective):
    booster, features = trained(objective=objective)
    trees = read_lightgbm_text(booster.model_to_string())
    again = lightgbm.Booster(model_str=write_lightgbm_text(trees, objective))
    assert again.num_trees() == 12
    assert_array_equal(again.predict(features), booster.predict(features))
    assert_array_equal(
        again.predict(features, pred_leaf=True), booster.predict(features, pred_leaf=True)
    )
    # The explanation of a score needs the number of training documents in each leaf.
    assert_allclose(
        again.predict(features, pred_contrib=True), booster.predict(features, pred_contrib=True)
    )


def test_importances_are_lightgbms():
    booster, _ = trained(objective="lambdarank")
    text = booster.model_to_string()
    trees, read = read_lightgbm_text(text), lightgbm.Booster(model_str=text)
    for kind in ("gain", "split"):
        assert_array_equal(trees.importances(kind), read.feature_importance(kind))


def test_training_continues_from_a_booster_made_of_the_trees():
    booster, features = trained(objective="regression")
    again = lightgbm.Booster(
        model_str=write_lightgbm_text(read_lightgbm_text(booster.model_to_string()))
    )
    labels = np.arange(len(features)) % 3.0
    data = lightgbm.Dataset(features, labels, params={"verbosity": -1}, free_raw_data=False)
    options = {"objective": "regression", "num_threads": 1, "verbosity": -1}
    one, two = (
        lightgbm.train(options, data, 3, init_model=model).predict(features)
        for model in (booster, again)
    )
    assert_array_equal(one, two)


def test_random_trees_come_back_from_text_as_they_went(rng):
    trees = random_trees(rng, 40, 12)
    text = write_lightgbm_text(trees)
    for other in (text, lightgbm.Booster(model_str=text).model_to_string()):
        again = read_lightgbm_text(other)
        for name in EXACT:
            assert_array_equal(getattr(again, name), getattr(trees, name))
        assert_allclose(again.gains, trees.gains, rtol=1e-5)  # LightGBM writes 6 digits


def test_part_of_the_trees_is_what_lightgbm_predicts_with_them():
    booster, features = trained(objective="lambdarank")
    trees = read_lightgbm_text(booster.model_to_string(num_iteration=5))
    assert trees.n_trees == 5
    assert_array_equal(trees.score(features), booster.predict(features, num_iteration=5))


def test_dumping_a_model_made_of_the_trees_gives_its_splits(rng):
    trees = random_trees(rng, 3, 5)
    dump = lightgbm.Booster(model_str=write_lightgbm_text(trees)).dump_model()
    assert [tree["num_leaves"] for tree in dump["tree_info"]] == np.diff(
        trees.leaf_offsets
    ).tolist()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"objective": "multiclass", "num_class": 5}, "one score per document"),
        ({"objective": "regression", "linear_tree": True}, "Linear models"),
    ],
)
def test_other_models_are_refused(parameters, message):
    booster, _ = trained(**parameters)
    with pytest.raises(ValueError, match=message):
        read_lightgbm_text(booster.model_to_string())


def test_a_forest_scores_as_lightgbm():
    sampled = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
    booster, features = trained(objective="regression", **sampled)
    expected = booster.predict(features)
    trees = read_lightgbm_text(booster.model_to_string())
    assert_allclose(trees.score(features), expected, rtol=1e-12)


def test_classes_have_their_own_trees():
    booster, features = trained(objective="multiclass", num_class=5)
    expected = booster.predict(features, raw_score=True)
    classes = read_lightgbm_classes(booster.model_to_string())
    assert len(classes) == 5
    for trees, scores in zip(classes, expected.T, strict=True):
        assert_array_equal(trees.score(features), scores)


def test_a_text_without_trees_is_refused():
    text = write_lightgbm_text(random_trees(np.random.default_rng(0), 1, 3))
    with pytest.raises(ValueError, match="has no trees"):
        read_lightgbm_text(text.split("\nTree=")[0])


def test_single_leaves_are_read_and_written():
    dataset, _ = make_queries(10, random_state=0)
    options = {"objective": "regression", "min_data_in_leaf": 10**6, "verbosity": -1}
    booster = lightgbm.train(options, lightgbm.Dataset(dataset.features, dataset.labels), 3)
    trees = read_lightgbm_text(booster.model_to_string())
    assert_array_equal(trees.score(dataset.features), booster.predict(dataset.features))
    again = lightgbm.Booster(model_str=write_lightgbm_text(trees))
    assert_array_equal(again.predict(dataset.features), booster.predict(dataset.features))


def test_explanations_of_random_trees_add_up(rng):
    trees = random_trees(rng, 5, 9)
    rows = random_documents(rng, 20, np.float64, trees.thresholds)
    booster = lightgbm.Booster(model_str=write_lightgbm_text(trees))
    assert_allclose(booster.predict(rows, pred_contrib=True).sum(axis=1), trees.score(rows))
