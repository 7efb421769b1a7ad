"""Scores compared with LightGBM's, bit for bit."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from trees.random_trees import DECISIONS, NEAR_ZERO, random_documents, random_trees

from localrank._kernels.sorting import read_only
from localrank.data import make_queries
from localrank.trees import read_lightgbm_text, write_lightgbm_text
from localrank.trees import trees as scorer

DTYPES = [np.float32, np.float64]


def by_lightgbm(trees, features):
    booster = lightgbm.Booster(model_str=write_lightgbm_text(trees))
    return booster.predict(features, num_threads=1)


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_trees=st.integers(1, 12),
    max_leaves=st.sampled_from([1, 2, 7, 8, 9, 16, 17, 32, 33, 64, 65, 130, 255, 256, 257, 400]),
    n_documents=st.integers(1, 140),
    dtype=st.sampled_from(DTYPES),
)
def test_any_trees_score_as_lightgbm_scores_them(seed, n_trees, max_leaves, n_documents, dtype):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, n_trees, max_leaves)
    features = random_documents(rng, n_documents, dtype, trees.thresholds)
    assert_array_equal(trees.score(features), by_lightgbm(trees, features))


def trained(n_trees, n_leaves, *, dtype=np.float64, missing=0.0, seed=0, **parameters):
    rng = np.random.default_rng(seed)
    dataset, _ = make_queries(60, n_documents=(20, 40), random_state=seed)
    features = dataset.features.round(1)
    features[rng.random(features.shape) < missing] = np.nan
    features[rng.random(features.shape) < 0.2] = 0.0
    features = features.astype(dtype)
    booster = lightgbm.train(
        {
            "objective": "regression",
            "num_leaves": n_leaves,
            "min_data_in_leaf": 2,
            "num_threads": 1,
            "verbosity": -1,
            **parameters,
        },
        lightgbm.Dataset(features, dataset.labels),
        n_trees,
    )
    return booster, features


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_leaves", [2, 7, 15, 31, 64, 200, 300])
@pytest.mark.parametrize(
    "options",
    [{}, {"missing": 0.2}, {"missing": 0.2, "zero_as_missing": True}, {"use_missing": False}],
)
def test_trained_models_score_as_lightgbm_scores_them(n_leaves, dtype, options):
    booster, features = trained(20, n_leaves, dtype=dtype, **options)
    trees = read_lightgbm_text(booster.model_to_string())
    unseen = features + np.random.default_rng(1).choice(NEAR_ZERO, features.shape).astype(dtype)
    for rows in (features, unseen, -unseen):
        assert_array_equal(trees.score(rows), booster.predict(rows, num_threads=1))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), dtype=st.sampled_from(DTYPES))
def test_models_edited_in_text_treat_missing_values_as_lightgbm_does(seed, dtype):
    rng = np.random.default_rng(seed)
    booster, features = trained(10, 12, missing=0.3, seed=3)

    def edited(match):
        values = rng.choice(DECISIONS, len(match[1].split()))
        return "decision_type=" + " ".join(map(str, values))

    text = re.sub("decision_type=(.*)", edited, booster.model_to_string())
    # Without the sizes of trees, which no longer hold, LightGBM reads on to the next tree.
    text = re.sub("tree_sizes=.*\n", "", text)
    rows = features.astype(dtype)
    expected = lightgbm.Booster(model_str=text).predict(rows, num_threads=1)
    assert_array_equal(read_lightgbm_text(text).score(rows), expected)


@pytest.mark.parametrize("n_trees", [1, 2, 500, 5000])
def test_sums_are_in_the_order_of_the_trees(n_trees):
    rng = np.random.default_rng(n_trees)
    trees = random_trees(rng, n_trees, 6)
    features = random_documents(rng, 90, np.float64, trees.thresholds)
    assert_array_equal(trees.score(features), by_lightgbm(trees, features))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_feature_may_have_thousands_of_thresholds(dtype):
    booster, features = trained(60, 60, dtype=dtype, max_bin=5000)
    rng = np.random.default_rng(0)
    trees = random_trees(rng, 300, 40)
    assert max(np.bincount(trees.split_features)) > 1000
    rows = random_documents(rng, 100, dtype, trees.thresholds)
    assert_array_equal(trees.score(rows), by_lightgbm(trees, rows))
    many = read_lightgbm_text(booster.model_to_string())
    assert_array_equal(many.score(features), booster.predict(features, num_threads=1))


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 32, 33, 64, 65, 96, 97, 1024, 1025, 1057, 2500])
def test_a_score_does_not_depend_on_the_other_documents(n):
    rng = np.random.default_rng(n)
    trees = random_trees(rng, 20, 20)
    rows = random_documents(rng, 2500, np.float64, trees.thresholds)
    assert_array_equal(trees.score(rows[:n]), trees.score(rows)[:n])


@pytest.mark.parametrize("dtype", DTYPES)
def test_loops_rank_values_as_instructions_by_hand_do(dtype):
    rng = np.random.default_rng(5)
    trees = random_trees(rng, 30, 40)
    rows = random_documents(rng, 1150, dtype, trees.thresholds)
    loops = scorer.Scorer(trees, dtype)
    loops._rank_values = scorer.rank_values_in_loops
    assert_array_equal(loops.score(read_only(rows, dtype)), by_lightgbm(trees, rows))


@pytest.mark.parametrize("n_tables", [0, 1, 2, 4])
@pytest.mark.parametrize("max_leaves", [8, 16, 32, 50])
def test_any_processor_scores_the_same(n_tables, max_leaves, monkeypatch):
    monkeypatch.setattr(scorer, "_n_tables", lambda: n_tables)
    rng = np.random.default_rng(max_leaves)
    trees = random_trees(rng, 40, max_leaves)
    rows = random_documents(rng, 118, np.float64, trees.thresholds)
    assert_array_equal(trees.score(rows), by_lightgbm(trees, rows))


def test_infinite_values_go_left_and_right():
    rng = np.random.default_rng(0)
    trees = random_trees(rng, 30, 20)
    for dtype in DTYPES:
        rows = rng.choice([np.inf, -np.inf, 0.0, np.nan, 3e38], (200, 5)).astype(dtype)
        assert_array_equal(trees.score(rows), by_lightgbm(trees, rows))


def test_any_layout_and_type_of_features_scores_the_same():
    rng = np.random.default_rng(0)
    trees = random_trees(rng, 20, 20)
    rows = rng.integers(-3, 4, (100, 5)).astype(np.float32)
    expected = trees.score(rows)
    wide = np.zeros((100, 10), np.float32)
    wide[:, ::2] = rows
    variants = [np.asfortranarray(rows), wide[:, ::2], rows.astype(int), rows.tolist()]
    for variant in [*variants, rows.astype(">f4"), rows.astype(np.float16)]:
        assert_array_equal(trees.score(variant), expected)


def test_scoring_leaves_its_input_as_it_is():
    rng = np.random.default_rng(0)
    trees = random_trees(rng, 5, 9)
    rows = random_documents(rng, 50, np.float64, trees.thresholds)
    before = rows.copy()
    trees.score(rows)
    assert_array_equal(rows, before)
    assert rows.flags.writeable


@pytest.mark.parametrize("shape", [(3,), (3, 4), (3, 6), (1, 3, 5)])
def test_rows_of_another_width_are_refused(shape):
    trees = random_trees(np.random.default_rng(0), 2, 5)
    with pytest.raises(ValueError, match="score rows of 5 features. Got an array of shape"):
        trees.score(np.zeros(shape))


@pytest.mark.slow
def test_compiled_kernels_are_kept_between_processes(tmp_path):
    """A new process loads the kernels that an earlier one compiled."""
    program = """
import time
import numpy as np
from localrank.trees._scoring import rank_values, sum_leaves
from trees.random_trees import random_trees
trees = random_trees(np.random.default_rng(0), 5, 7)
trees.score(np.zeros((3, 5)))
hits = [sum(kernel.stats.cache_hits.values()) for kernel in (rank_values, sum_leaves)]
print(*hits)
"""
    for expected in ("0 0", "1 1"):
        result = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": ":".join(sys.path), "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert result.stdout.split("\n")[0] == expected


def test_threads_may_score_at_once():
    rng = np.random.default_rng(0)
    trees = random_trees(rng, 100, 20)
    rows = random_documents(rng, 500, np.float64, trees.thresholds)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(trees.score, [rows] * 32))
    for scores in results:
        assert_array_equal(scores, by_lightgbm(trees, rows))
