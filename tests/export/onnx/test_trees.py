from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from onnx_exports import files_of, in_every_runtime, same, scores_in
from trees.random_trees import N_FEATURES, VALUES, random_documents, random_trees

from localrank.data import RankingDataset
from localrank.export import ONNX, NotExportable
from localrank.formulas import TreeSum

# LightGBM's flags without those by which zero is missing.
USUAL = (0, 2, 8, 10)


def some_trees(rng, decisions=USUAL, n_trees=12):
    trees = random_trees(rng, n_trees, 9)
    return replace(trees, decisions=rng.choice(np.array(decisions, np.uint8), len(trees.decisions)))


def documents(rng, trees, dtype=np.float64):
    rows = random_documents(rng, 200, np.float64, trees.thresholds)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    # Datasets refuse values beyond 1e100.
    rows = np.clip(rows, -1e38, 1e38).astype(dtype)
    rows[:, 0] = np.nan_to_num(rows[:, 0])
    return RankingDataset.from_arrays(rows, qid=np.arange(len(rows)) // 10)


@in_every_runtime
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_trees_score_to_the_last_bit_at_their_thresholds(runtime, dtype, rng):
    for _ in range(10):
        trees = some_trees(rng)
        dataset = documents(rng, trees, dtype)
        scores = scores_in(runtime, TreeSum(trees), dataset)
        # A tree of one leaf is added last.
        np.testing.assert_allclose(scores, trees.score(dataset.features), rtol=0, atol=4e-15)


@in_every_runtime
@pytest.mark.parametrize("magnitude", [-30, -8, -3, 0, 3, 8, 30])
def test_a_value_goes_left_at_a_threshold_and_right_next_to_it(runtime, magnitude, rng):
    thresholds = rng.normal(size=50) * 10.0**magnitude
    trees = _stumps(thresholds)
    for towards, expected in ((None, 0.0), (np.inf, 50.0), (-np.inf, 0.0)):
        row = thresholds if towards is None else np.nextafter(thresholds, towards)
        dataset = RankingDataset.from_arrays(row[None], qid=[0])
        assert scores_in(runtime, TreeSum(trees), dataset).tolist() == [expected]


def _stumps(thresholds):
    """One tree for each feature: 0 up to the threshold, 1 above."""
    n = len(thresholds)
    return replace(
        random_trees(np.random.default_rng(0), 1, 2),
        n_features=n,
        leaf_offsets=np.arange(0, 2 * n + 1, 2),
        split_features=np.arange(n, dtype=np.int32),
        thresholds=thresholds,
        decisions=np.zeros(n, np.uint8),
        left_children=np.full(n, ~0, np.int32),
        right_children=np.full(n, ~1, np.int32),
        gains=np.ones(n, np.float32),
        leaf_values=np.tile([0.0, 1.0], n),
        leaf_counts=np.ones(2 * n, np.int64),
    )


@in_every_runtime
def test_zeros_are_missing_where_all_splits_of_a_feature_say_so(runtime, rng):
    trees = some_trees(rng)
    flags = np.where(trees.split_features < 3, rng.choice([4, 6], len(trees.decisions)), 10)
    trees = replace(trees, decisions=flags.astype(np.uint8))
    dataset = documents(rng, trees)
    scores = scores_in(runtime, TreeSum(trees), dataset)
    np.testing.assert_allclose(scores, trees.score(dataset.features), rtol=0, atol=4e-15)


def test_zeros_that_only_some_splits_take_as_missing_are_refused(rng):
    trees = some_trees(rng, (4, 8))
    with pytest.raises(NotExportable, match="same setting of zero_as_missing"):
        files_of(TreeSum(trees), N_FEATURES)


@in_every_runtime
def test_trees_without_splits_are_a_constant(runtime, rng):
    trees = random_trees(rng, 3, 1)
    dataset = documents(rng, some_trees(rng))
    scores = scores_in(runtime, TreeSum(trees), dataset)
    assert same(scores, np.full(len(scores), trees.leaf_values.sum()))


def test_the_vectorised_operator_is_that_of_onnx(rng):
    trees = some_trees(rng)
    dataset = documents(rng, trees)
    files = files_of(TreeSum(trees), N_FEATURES)
    evaluator = ReferenceEvaluator(onnx.load_model_from_string(files["some_model.onnx"]))
    (expected,) = evaluator.run(None, {"features": dataset.features})
    np.testing.assert_allclose(ONNX().scores(files, dataset), expected, rtol=0, atol=4e-15)


def test_documents_meet_thresholds_and_miss_values(rng):
    """What the tests above rest on."""
    trees = some_trees(rng)
    rows = documents(rng, trees).features
    assert np.isin(rows, trees.thresholds).mean() > 0.1
    assert np.isnan(rows).mean() > 0.05
    assert np.isin(VALUES[:5], rows).any()
