import json
from dataclasses import replace

import numpy as np
import pytest
from trees.random_trees import N_FEATURES, random_documents, random_trees

from localrank.export.vespa._rank_profile import write_trees
from localrank.export.vespa.application import in_single_precision, score_trees
from localrank.formulas import NotExportable

NAMES = [f"x{number}" for number in range(N_FEATURES)]
# Zero is never missing; NaN is, or counts as zero.
DECISIONS = (0, 2, 8, 10)


def trees_of(rng, decisions, n_trees=20, max_leaves=9):
    trees = random_trees(rng, n_trees, max_leaves)
    flags = rng.choice(np.array(decisions, np.uint8), len(trees.decisions))
    return replace(trees, decisions=flags)


def vespa_scores(text, rows, **options):
    columns = dict(zip(NAMES, rows.T.astype(np.float64), strict=True))
    return score_trees(text, columns.__getitem__, len(rows), **options)


def test_every_value_goes_where_the_trees_send_it(rng):
    for dtype in (np.float64, np.float32):
        for _ in range(10):
            trees = trees_of(rng, DECISIONS)
            rows = random_documents(rng, 300, dtype, trees.thresholds)
            np.testing.assert_allclose(
                vespa_scores(write_trees(trees, NAMES), rows), trees.score(rows), atol=1e-13
            )


def test_thresholds_of_every_magnitude_keep_their_documents(rng):
    exponents = np.linspace(-300, 300, 61)
    for threshold in np.concatenate([10.0**exponents, -(10.0**exponents), [0.0, -0.0]]).tolist():
        trees = trees_of(rng, (0,), n_trees=1)
        while len(trees.thresholds) == 0:
            trees = trees_of(rng, (0,), n_trees=1)
        trees = replace(trees, thresholds=np.full_like(trees.thresholds, threshold))
        around = [np.nextafter(threshold, -np.inf), threshold, np.nextafter(threshold, np.inf)]
        rows = np.repeat(around, N_FEATURES).reshape(3, N_FEATURES)
        np.testing.assert_array_equal(
            vespa_scores(write_trees(trees, NAMES), rows), trees.score(rows)
        )


def test_values_of_single_precision_go_where_the_trees_send_them_on_content_nodes(rng):
    for _ in range(10):
        trees = trees_of(rng, DECISIONS)
        rows = random_documents(rng, 300, np.float32, trees.thresholds)
        np.testing.assert_allclose(
            vespa_scores(write_trees(trees, NAMES, NAMES), rows, on_content_node=True),
            trees.score(rows),
            atol=1e-13,
        )


def test_values_of_single_precision_go_where_large_sums_of_trees_send_them(rng):
    trees = trees_of(rng, DECISIONS, 900, 20)
    text = write_trees(trees, NAMES, NAMES)
    assert in_single_precision(text)
    rows = random_documents(rng, 200, np.float32, trees.thresholds)
    rounded = vespa_scores(text, rows, on_content_node=True)
    # Leaves are about 1: a single wrong turn would be larger.
    np.testing.assert_allclose(rounded, trees.score(rows), rtol=0, atol=1e-4)
    assert (rounded != trees.score(rows)).all()
    np.testing.assert_allclose(vespa_scores(text, rows), trees.score(rows), rtol=0, atol=1e-11)


def test_sums_of_few_or_small_trees_are_computed_in_double_precision(rng):
    assert not in_single_precision(write_trees(trees_of(rng, DECISIONS, 30, 20), NAMES))
    assert not in_single_precision(write_trees(trees_of(rng, DECISIONS, 3000, 8), NAMES))
    assert not in_single_precision(write_trees(random_trees(rng, 3, 1), NAMES))


def test_the_file_names_the_features_that_it_uses(rng):
    trees = trees_of(rng, DECISIONS)
    trees = replace(trees, split_features=np.full_like(trees.split_features, 3))
    content = json.loads(write_trees(trees, NAMES))
    assert content["feature_names"] == ["x3"]
    assert '"split_feature": 0' in json.dumps(content)


def test_trees_without_splits_are_their_leaves(rng):
    trees = random_trees(rng, 3, 1)
    scores = vespa_scores(write_trees(trees, NAMES), np.zeros((2, N_FEATURES)))
    assert scores == pytest.approx(trees.leaf_values.sum())


def test_zeros_that_go_with_missing_values_are_refused(rng):
    trees = trees_of(rng, (4,))
    # Zero belongs to the left, and missing values to the right.
    trees = replace(trees, thresholds=np.ones_like(trees.thresholds))
    with pytest.raises(
        NotExportable, match="does not treat zeros as missing values.*zero_as_missing"
    ):
        write_trees(trees, NAMES)


def test_zeros_that_go_with_missing_values_to_where_they_belong_are_exact(rng):
    trees = trees_of(rng, (4,))
    sides = np.where(trees.thresholds >= 0, 6, 4).astype(np.uint8)
    trees = replace(trees, decisions=sides)
    rows = random_documents(rng, 300, np.float64, trees.thresholds)
    np.testing.assert_allclose(
        vespa_scores(write_trees(trees, NAMES), rows), trees.score(rows), atol=1e-13
    )
