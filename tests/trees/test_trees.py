"""What trees refuse: anything a kernel could follow out of its arrays."""

import copy
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from trees.random_trees import random_documents, random_trees

from localrank.trees import Trees

ARRAYS = [field.name for field in fields(Trees) if field.name != "n_features"]


@pytest.fixture(scope="module")
def trees():
    return random_trees(np.random.default_rng(4), 6, 9)


def changed(trees, name, place, value):
    values = getattr(trees, name).copy()
    values[place] = value
    return {name: values}


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("split_features", 0, 5, "feature numbers from 0 to 4"),
        ("split_features", 3, -1, "feature numbers from 0 to 4"),
        ("thresholds", 1, np.nan, "thresholds must be finite"),
        ("thresholds", 1, np.inf, "thresholds must be finite"),
        ("leaf_values", 2, -np.inf, "leaf_values must be finite"),
        ("decisions", 0, 1, "must be numbers of sets, below 0"),
        ("decisions", 0, 12, "decisions must be sums of 1"),
        ("decisions", 0, 16, "decisions must be sums of 1"),
        ("left_children", 0, 0, "left_children must be later splits"),
        ("right_children", 0, 2**31 - 1, "right_children must be later splits"),
        ("left_children", 0, -(2**31), "left_children must be later splits"),
        ("leaf_offsets", 0, 1, "leaf_offsets must begin with 0"),
        ("leaf_offsets", 0, -1, "leaf_offsets must begin with 0"),
        ("leaf_offsets", 1, 0, "leaf_offsets must ascend from 0"),
        ("leaf_offsets", -1, 2**62, "leaf_offsets must ascend from 0"),
        ("leaf_counts", 0, -1, "leaf_counts must be whole numbers"),
    ],
)
def test_a_wrong_entry_is_refused_by_name(trees, name, place, value, message):
    with pytest.raises(ValueError, match=message):
        replace(trees, **changed(trees, name, place, value))


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_another_length_type_or_shape_are_refused(trees, name):
    values = getattr(trees, name)
    other = np.complex128 if values.dtype.kind == "f" else np.float64
    another_length = np.append(values, values[-1:]) if values.size else np.zeros(1, values.dtype)
    for wrong in (another_length, values.astype(other), values[None], values.tolist(), None):
        with pytest.raises(ValueError, match="must"):
            replace(trees, **{name: wrong})


@pytest.mark.parametrize("n", [0, -1, 2**31, 5.0, "5", True, None])
def test_the_number_of_features_is_a_positive_whole_number(trees, n):
    with pytest.raises(ValueError, match="n_features must be a positive whole number"):
        replace(trees, n_features=n)


def test_a_leaf_with_two_parents_is_refused(trees):
    with pytest.raises(ValueError, match="must name every split but a tree's first, and every"):
        replace(trees, left_children=trees.right_children)


def test_a_model_without_trees_is_refused(trees):
    empty = {name: getattr(trees, name)[:0] for name in ARRAYS} | {"leaf_offsets": np.zeros(1, int)}
    with pytest.raises(ValueError, match="an entry for each tree"):
        replace(trees, **empty)


@settings(max_examples=300)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), max_leaves=st.sampled_from([4, 20, 90, 300]))
def test_crafted_arrays_are_refused_or_score_finitely(data, seed, max_leaves):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 4, max_leaves)
    name = data.draw(st.sampled_from(ARRAYS))
    values = getattr(trees, name).copy()
    if not len(values):
        return
    for _ in range(data.draw(st.integers(1, 3))):
        raw = values.view(np.uint8)
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        crafted = replace(trees, **{name: values})
    except ValueError:
        return
    with np.errstate(over="ignore"):
        scores = crafted.score(random_documents(rng, 70, np.float64, trees.thresholds))
    assert not np.isnan(scores).any()


def test_arrays_cannot_be_changed_afterwards(trees):
    values = trees.leaf_values.copy()
    mine = replace(trees, leaf_values=values)
    values[:] = 7.0
    assert_array_equal(mine.leaf_values, trees.leaf_values)
    with pytest.raises(ValueError, match="read-only"):
        mine.left_children[0] = 99


def test_copies_and_pickles_score_the_same_and_hold_only_the_arrays(trees):
    rows = random_documents(np.random.default_rng(0), 80, np.float64, trees.thresholds)
    expected = trees.score(rows)
    for other in (pickle.loads(pickle.dumps(trees)), copy.deepcopy(trees)):
        assert_array_equal(other.score(rows), expected)
    assert set(trees.__getstate__()) == {"n_features", *ARRAYS}


def test_state_is_checked_where_it_is_restored(trees):
    state = trees.__getstate__() | changed(trees, "left_children", 0, 10**6)
    with pytest.raises(ValueError, match="left_children"):
        Trees.__new__(Trees).__setstate__(state)
    with pytest.raises(ValueError, match="must have exactly"):
        Trees.__new__(Trees).__setstate__({"n_features": 5})


def test_importances_are_of_splits_that_gained(trees):
    gains = trees.gains.copy()
    gains[trees.split_features == 2] = 0.0
    importances = replace(trees, gains=gains)
    assert importances.importances("gain")[2] == importances.importances("split")[2] == 0
    assert importances.importances("split").sum() == (gains > 0).sum()
    assert importances.importances().sum() == pytest.approx(gains.sum())
    with pytest.raises(ValueError, match="'gain' or 'split'. Got 'cover' instead"):
        trees.importances("cover")


def test_trees_say_what_they_are(trees):
    assert repr(trees).startswith("Trees: 6 trees of ")
