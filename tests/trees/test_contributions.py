"""Contributions compared with Shapley's formula and with LightGBM."""

from fractions import Fraction
from itertools import combinations
from math import factorial

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from trees.random_trees import N_FEATURES, random_documents, random_trees

from localrank.trees import Trees, read_lightgbm_text, write_lightgbm_text
from localrank.trees._contributions import MAX_ON_PATH


def expected_score(trees, document, known):
    """If a feature is unknown, a document goes both ways, in proportion to training documents."""

    def below(tree, child):
        if child < 0:
            return trees.leaf_counts[trees.leaf_offsets[tree] + ~child]
        split = trees.split_offsets[tree] + child
        return below(tree, trees.left_children[split]) + below(tree, trees.right_children[split])

    def value(tree, child):
        if child < 0:
            return trees.leaf_values[trees.leaf_offsets[tree] + ~child]
        split = trees.split_offsets[tree] + child
        left, right = trees.left_children[split], trees.right_children[split]
        if trees.split_features[split] in known:
            goes_left = document[trees.split_features[split]] <= trees.thresholds[split]
            return value(tree, left if goes_left else right)
        ways = [(below(tree, side), value(tree, side)) for side in (left, right)]
        return sum(n * v for n, v in ways) / sum(n for n, _ in ways)

    n_splits = np.diff(trees.split_offsets)
    return sum(value(tree, 0 if n_splits[tree] else ~0) for tree in range(trees.n_trees))


def shapley(trees, document):
    """The definition: every feature's mean gain over all orders in which features become known."""
    d = trees.n_features
    values = np.zeros(d)
    for feature in range(d):
        others = [other for other in range(d) if other != feature]
        for size in range(d):
            weight = factorial(size) * factorial(d - size - 1) / factorial(d)
            for known in combinations(others, size):
                with_it = expected_score(trees, document, {*known, feature})
                values[feature] += weight * (with_it - expected_score(trees, document, set(known)))
    return values


def by_lightgbm(trees, features):
    booster = lightgbm.Booster(model_str=write_lightgbm_text(trees))
    return booster.predict(features, pred_contrib=True, num_threads=1)


def plain_trees(rng, n_trees, max_leaves):
    """Random trees without missing values, and documents that meet their thresholds."""
    trees = random_trees(rng, n_trees, max_leaves)
    state = trees.__getstate__() | {
        "decisions": np.zeros_like(trees.decisions),
        "thresholds": rng.normal(size=len(trees.thresholds)),
    }
    return Trees(**state), rng.normal(size=(4, N_FEATURES))


def chain(n_splits, n_features, leaf_counts=None):
    """One tree with another feature at every split on the path to its last leaf."""
    number = np.arange(n_splits)
    right = np.where(number < n_splits - 1, number + 1, ~n_splits)
    return Trees(
        n_features=n_features,
        leaf_offsets=np.array([0, n_splits + 1]),
        split_features=(number % n_features).astype(np.int32),
        thresholds=np.zeros(n_splits),
        decisions=np.zeros(n_splits, np.uint8),
        left_children=(~number).astype(np.int32),
        right_children=right.astype(np.int32),
        gains=np.ones(n_splits, np.float32),
        leaf_values=np.arange(n_splits + 1, dtype=np.float64),
        leaf_counts=np.full(n_splits + 1, 3) if leaf_counts is None else np.array(leaf_counts),
    )


@pytest.mark.parametrize("max_leaves", [1, 2, 3, 5, 8])
def test_they_are_the_values_of_shapleys_formula(max_leaves, rng):
    for _ in range(6):
        trees, documents = plain_trees(rng, 2, max_leaves)
        values, base = trees.contributions(documents)
        assert base == pytest.approx(expected_score(trees, documents[0], set()))
        assert_allclose(values, [shapley(trees, row) for row in documents], atol=1e-12)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_trees=st.integers(1, 6),
    max_leaves=st.sampled_from([1, 2, 7, 8, 16, 33, 80, 257]),
    n_documents=st.integers(1, 140),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_they_are_lightgbms(seed, n_trees, max_leaves, n_documents, dtype):
    """Missing values, zeros that are missing, and both default directions are among them."""
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, n_trees, max_leaves)
    features = random_documents(rng, n_documents, dtype, trees.thresholds)
    values, base = trees.contributions(features)
    expected = by_lightgbm(trees, features)
    assert_allclose(values, expected[:, :-1], atol=1e-11)
    assert_allclose(base, expected[0, -1], atol=1e-11)


@pytest.mark.parametrize("n_leaves", [2, 7, 31, 200])
@pytest.mark.parametrize("zero_as_missing", [False, True])
def test_they_are_lightgbms_for_a_trained_model(n_leaves, zero_as_missing, rng):
    features = rng.normal(size=(2000, 12)).round(1)
    target = features[:, 0] * features[:, 1] + features[:, 2]
    features[rng.random(features.shape) < 0.2] = np.nan
    parameters = {"objective": "regression", "num_leaves": n_leaves, "verbosity": -1}
    parameters |= {"num_threads": 1, "zero_as_missing": zero_as_missing, "min_data_in_leaf": 3}
    booster = lightgbm.train(parameters, lightgbm.Dataset(features, target), 30)
    trees = read_lightgbm_text(booster.model_to_string())
    values, base = trees.contributions(features[:300])
    expected = booster.predict(features[:300], pred_contrib=True, num_threads=1)
    assert_allclose(values, expected[:, :-1], atol=1e-10)
    assert base == pytest.approx(expected[0, -1])


def test_base_and_contributions_sum_to_the_score(rng):
    trees = random_trees(rng, 20, 60)
    features = random_documents(rng, 200, np.float64, trees.thresholds)
    values, base = trees.contributions(features)
    assert_allclose(base + values.sum(axis=1), trees.score(features), atol=1e-11)


def test_a_feature_that_no_split_asks_for_contributes_exactly_nothing(rng):
    trees = random_trees(rng, 10, 20)
    state = trees.__getstate__()
    state["split_features"] = np.where(state["split_features"] == 2, 3, state["split_features"])
    values, _ = Trees(**state).contributions(rng.normal(size=(50, N_FEATURES)))
    assert_array_equal(values[:, 2], 0.0)
    assert (values[:, 3] != 0).any()


def test_features_that_play_the_same_part_contribute_alike():
    """Leaf 0 unless both features are large: x and y are exchangeable."""
    both = chain(2, 2, leaf_counts=[2, 1, 1])
    mirrored = Trees(**both.__getstate__() | {"split_features": both.split_features[::-1].copy()})
    documents = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    values = both.contributions(documents)[0] + mirrored.contributions(documents)[0]
    assert_allclose(values[:, 0], values[[0, 2, 1, 3], 1], atol=1e-15)


def test_contributions_of_a_sum_are_sums_of_contributions(rng):
    trees, documents = plain_trees(rng, 2, 9)
    alone = []
    for tree in range(2):
        leaves = slice(*trees.leaf_offsets[tree : tree + 2])
        splits = slice(*trees.split_offsets[tree : tree + 2])
        state = {
            name: values if name == "n_features" else values[leaves if "leaf_" in name else splits]
            for name, values in trees.__getstate__().items()
            if not name.startswith("set_")
        }
        state["leaf_offsets"] = np.array([0, leaves.stop - leaves.start])
        alone.append(Trees(**state).contributions(documents)[0])
    assert_allclose(trees.contributions(documents)[0], sum(alone), atol=1e-13)


def test_every_document_of_a_call_is_on_its_own(rng):
    trees = random_trees(rng, 5, 20)
    features = random_documents(rng, 150, np.float64, trees.thresholds)
    values, _ = trees.contributions(features)
    for row in (0, 63, 64, 100, 149):
        assert_array_equal(trees.contributions(features[[row]])[0][0], values[row])


def exact_chain(n_splits, document):
    """Contributions to the score of `chain` in fractions, by Shapley's weights of subset sizes."""
    k, values = n_splits, [Fraction(0)] * n_splits
    for leaf in range(k + 1):
        on_path = range(min(leaf + 1, k))
        # Of the n - j leaves below split j, one is on its left. All leaves have as many documents.
        shares = [
            Fraction(1, k + 1 - j) if j == leaf else Fraction(k - j, k + 1 - j) for j in on_path
        ]
        passes = [int((document[j] <= 0) == (j == leaf)) for j in on_path]
        for feature in on_path:
            by_size = [Fraction(1)]
            for j in on_path:
                if j != feature:
                    unknown = [size * shares[j] for size in by_size] + [Fraction(0)]
                    known = [Fraction(0)] + [size * passes[j] for size in by_size]
                    by_size = [sum(pair) for pair in zip(unknown, known, strict=True)]
            n = len(on_path)
            weights = [
                Fraction(factorial(s) * factorial(n - s - 1), factorial(n)) for s in range(n)
            ]
            mean = sum(w * size for w, size in zip(weights, by_size, strict=True))
            values[feature] += leaf * (passes[feature] - shares[feature]) * mean
    return np.array(values, dtype=np.float64)


def test_long_paths_keep_their_digits(rng):
    """LightGBM divides products again, and is wrong in the second digit at 60 splits."""
    document = np.where(rng.random(28) < 0.9, 1.0, -1.0)
    values, _ = chain(28, 28).contributions(document[None])
    assert_allclose(values[0], exact_chain(28, document), rtol=1e-12)


def test_very_long_paths_still_sum_to_the_score(rng):
    deep = chain(MAX_ON_PATH, MAX_ON_PATH)
    documents = np.where(rng.random((20, MAX_ON_PATH)) < 0.99, 1.0, -1.0)
    values, base = deep.contributions(documents)
    assert_allclose(base + values.sum(axis=1), deep.score(documents), atol=1e-10)


def test_leaves_without_training_documents_are_no_trouble():
    empty = chain(3, 3, leaf_counts=[0, 5, 0, 0])
    documents = np.array([[-1.0, 0, 0], [1, 1, 1], [1, 1, -1]])
    values, base = empty.contributions(documents)
    assert np.isfinite(values).all()
    assert_allclose(base + values.sum(axis=1), empty.score(documents), atol=1e-14)


def test_paths_that_ask_for_too_many_features_are_refused():
    too_many = MAX_ON_PATH + 1
    with pytest.raises(ValueError, match="at most 256 features on the way to a leaf"):
        chain(too_many, too_many).contributions(np.zeros((1, too_many)))


def test_rows_of_another_width_are_refused(rng):
    with pytest.raises(ValueError, match="score rows of 5 features"):
        random_trees(rng, 1, 4).contributions(np.zeros((2, 4)))
