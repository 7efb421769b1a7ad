"""Symmetric trees are found among trees of any shape, and scored as all others are."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from trees.random_trees import random_documents
from trees.test_catboost_json import N_FEATURES, random_model

import localrank.trees.trees as scorer
from localrank._kernels.sorting import read_only
from localrank.trees import Trees, joined, nested, read_catboost_json
from localrank.trees._symmetric import look_up_leaves

DTYPES = [np.float32, np.float64]


def symmetric(rng, depths):
    return read_catboost_json(json.dumps(random_model(rng, depths)))


def naive(trees, rows):
    """Each document goes down each tree, and the values of its leaves are summed in order."""

    def value(node, row):
        while hasattr(node, "left"):
            number = row[node.feature]
            if np.isnan(number):
                goes_left = bool(node.decision & 2)
            else:
                goes_left = (0.0 if abs(number) <= 1e-35 else number) <= node.threshold
            node = node.left if goes_left else node.right
        return node.value

    scores = np.zeros(len(rows))
    for tree in nested(trees):
        scores += [value(tree, row) for row in rows.astype(np.float64)]
    return scores


def kernel_of(trees, rows):
    trees.score(rows)
    return trees._scorers[rows.dtype]._add_scores


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_tables", [0, 1, 2, 4, 8])
def test_any_processor_scores_the_same(n_tables, dtype, monkeypatch):
    monkeypatch.setattr(scorer, "_n_tables", lambda: n_tables)
    rng = np.random.default_rng(n_tables)
    trees = symmetric(rng, [0, 1, 2, 3, 4, 5, 6, 7, 8, 6, 3, 0])
    rows = random_documents(rng, 118, dtype, trees.thresholds)
    assert_array_equal(trees.score(rows), naive(trees, rows))
    assert kernel_of(trees, rows) is look_up_leaves


@pytest.mark.parametrize("n", [1, 15, 16, 17, 33, 64, 65, 97, 1100])
def test_any_number_of_documents_scores_as_one(n):
    rng = np.random.default_rng(n)
    trees = symmetric(rng, [6] * 10)
    rows = random_documents(rng, n, np.float64, trees.thresholds)
    assert_array_equal(trees.score(rows), [trees.score(row[None])[0] for row in rows])


def test_trees_of_nine_levels_are_walked():
    rng = np.random.default_rng(0)
    trees = symmetric(rng, [9, 1])
    rows = random_documents(rng, 70, np.float64, trees.thresholds)
    assert_array_equal(trees.score(rows), naive(trees, rows))
    assert kernel_of(trees, rows) is not look_up_leaves


@pytest.mark.parametrize("name", ["thresholds", "split_features", "decisions"])
def test_a_split_of_its_own_makes_a_tree_another(name):
    rng = np.random.default_rng(0)
    trees = symmetric(rng, [3, 3, 3])
    rows = random_documents(rng, 500, np.float64, trees.thresholds)
    for split in range(trees.split_offsets[1], trees.split_offsets[2]):
        values = getattr(trees, name).copy()
        changed = {
            "thresholds": lambda value: value + 0.123,
            "split_features": lambda value: (value + 1) % N_FEATURES,
            "decisions": lambda value: value ^ 2,
        }
        values[split] = changed[name](values[split])
        other = replace(trees, **{name: values})
        assert_array_equal(other.score(rows), naive(other, rows))
        # The first split of a tree is a level alone.
        alone = split == trees.split_offsets[1]
        assert (kernel_of(other, rows) is look_up_leaves) == alone


def test_other_numbers_of_splits_and_leaves_are_another_tree():
    rng = np.random.default_rng(0)
    trees = symmetric(rng, [2, 2])
    rows = random_documents(rng, 200, np.float64, trees.thresholds)
    left, right = trees.left_children.copy(), trees.right_children.copy()
    left[4], right[4] = right[4], left[4]
    swapped = replace(trees, left_children=left, right_children=right)
    assert_array_equal(swapped.score(rows), naive(swapped, rows))
    assert not np.array_equal(swapped.score(rows), trees.score(rows))


def test_sums_of_symmetric_trees_are_symmetric():
    rng = np.random.default_rng(0)
    one, other = symmetric(rng, [4, 2]), symmetric(rng, [6])
    both = joined([(one, 1.0), (other, 1.0)])
    rows = random_documents(rng, 100, np.float64, both.thresholds)
    assert kernel_of(both, rows) is look_up_leaves
    assert_array_equal(both.score(rows), naive(both, rows))


def test_without_instructions_by_hand_scores_are_the_same(monkeypatch):
    from localrank._kernels.numba_internals import COMPILER_ERRORS

    def fails(*_):
        raise COMPILER_ERRORS[0]("no such instruction")

    rng = np.random.default_rng(0)
    trees = symmetric(rng, [5, 3])
    rows = random_documents(rng, 70, np.float64, trees.thresholds)
    loops = scorer.Scorer(trees, np.float64)
    loops._add_scores = fails
    with pytest.warns(RuntimeWarning, match="Loops score them"):
        assert_array_equal(loops.score(read_only(rows, np.float64)), naive(trees, rows))


def test_stumps_of_any_library_are_symmetric():
    stump = Trees(
        n_features=1,
        leaf_offsets=np.array([0, 2]),
        split_features=np.zeros(1, np.int32),
        thresholds=np.array([0.5]),
        decisions=np.zeros(1, np.uint8),
        left_children=np.array([~0], np.int32),
        right_children=np.array([~1], np.int32),
        gains=np.ones(1, np.float32),
        leaf_values=np.array([-1.0, 2.0]),
        leaf_counts=np.array([10, 20]),
    )
    rows = np.array([[0.5], [0.6], [np.nan]])
    assert kernel_of(stump, rows) is look_up_leaves
    assert stump.score(rows).tolist() == [-1, 2, -1]
