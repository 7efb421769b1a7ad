import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank.rankers.rank_boost.rank_boost import steps_as_tree
from localrank.trees import Split, nested

values = st.sampled_from([-1e300, -2.5, -0.0, 0.0, 1e-30, 0.1, 3.0, 7.5])


@settings(max_examples=200)
@given(st.lists(values, min_size=1, max_size=20), st.lists(values, min_size=1, max_size=20))
def test_the_tree_adds_up_the_steps_below_a_value(thresholds, asked):
    thresholds = np.sort(np.array(thresholds) + 0.0)
    alphas = np.cos(np.arange(len(thresholds)))
    tree = steps_as_tree(3, 2, thresholds, np.append(0.0, np.cumsum(alphas)))
    features = np.zeros((len(asked), 3))
    features[:, 2] = asked
    expected = [alphas[thresholds < value].sum() for value in asked]
    assert_allclose(tree.score(features), expected, atol=1e-12)


def test_a_tree_is_no_deeper_than_it_must_be():
    tree = steps_as_tree(1, 0, np.arange(255.0), np.arange(256.0))

    def depth(node):
        return 1 + max(depth(node.left), depth(node.right)) if isinstance(node, Split) else 0

    assert depth(nested(tree)[0]) == 8


def test_a_value_at_a_threshold_is_below_it():
    tree = steps_as_tree(1, 0, np.array([5.0]), np.array([1.0, 2.0]))
    above = np.nextafter(5.0, 6.0)
    assert_array_equal(tree.score([[5.0], [above]]), [1.0, 2.0])
