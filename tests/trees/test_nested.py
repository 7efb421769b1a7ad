import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from trees.random_trees import random_documents, random_trees

from localrank.trees import Leaf, Split, joined, nested

# LightGBM treats smaller values as zero.
ZERO = 1.0000000180025095e-35


def leaf_of(node, x):
    """The leaf that a document falls into, by LightGBM's rules."""
    while isinstance(node, Split):
        value, missing = float(x[node.feature]), node.decision & 12
        lacking = missing == 8 and np.isnan(value)
        if np.isnan(value) and missing != 8:
            value = 0.0
        if abs(value) <= ZERO:
            value = 0.0
        lacking |= missing == 4 and value == 0
        left = bool(node.decision & 2) if lacking else value <= node.threshold
        node = node.left if left else node.right
    return node.value


def walked(trees, features):
    return [sum(leaf_of(tree, x) for tree in nested(trees)) for x in features]


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_trees=st.integers(1, 8),
    max_leaves=st.sampled_from([1, 2, 5, 40]),
)
def test_walking_nested_trees_gives_their_scores(seed, n_trees, max_leaves):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, n_trees, max_leaves)
    features = random_documents(rng, 30, np.float64, trees.thresholds)
    assert_allclose(walked(trees, features), trees.score(features), rtol=1e-12, atol=1e-12)


def test_there_is_a_nested_tree_for_each_tree(rng):
    trees = random_trees(rng, 5, 20)
    parts = nested(trees)
    assert len(parts) == 5

    def leaves(node):
        return [node.value] if isinstance(node, Leaf) else leaves(node.left) + leaves(node.right)

    for tree, first, last in zip(parts, trees.leaf_offsets, trees.leaf_offsets[1:], strict=False):
        assert sorted(leaves(tree)) == sorted(trees.leaf_values[first:last].tolist())


@pytest.mark.parametrize("weights", [[1.0, 1.0], [2.0, -0.5], [0.0, 3.0]])
def test_joined_trees_score_as_the_weighted_sum(weights, rng):
    parts = [random_trees(rng, n, 20) for n in (3, 4)]
    features = random_documents(rng, 50, np.float64, parts[0].thresholds)
    together = joined(list(zip(parts, weights, strict=True)))
    expected = sum(
        w * np.array(walked(part, features)) for w, part in zip(weights, parts, strict=True)
    )
    assert_allclose(together.score(features), expected, rtol=1e-12, atol=1e-12)
    assert together.n_trees == 7


def test_joining_one_changes_nothing(rng):
    trees = random_trees(rng, 3, 20)
    features = random_documents(rng, 50, np.float32, trees.thresholds)
    assert_array_equal(joined([(trees, 1.0)]).score(features), trees.score(features))
