"""Trees of random shape, thresholds and treatment of missing values, and documents to meet them."""

import numpy as np

from localrank.trees import Trees

N_FEATURES = 5
DECISIONS = np.array([0, 2, 4, 6, 8, 10], np.uint8)
# Values near LightGBM's bound for zero and near the limits of float32, and some of documents.
NEAR_ZERO = [0.0, -0.0, 1e-35, -1e-35, 1.0000000180025095e-35, 1.1e-35, -1.1e-35, 1e-36, 5e-324]
ORDINARY = [0.5, -0.5, 0.1, float(np.float32(0.1)), 1 + 1e-12, 1 - 1e-12, 1.0, 2.0, -3.0]
EXTREME = [1e300, -1e300, 3.4028234663852886e38, 3.5e38, -3.5e38, 1e-46, -1e-46]
VALUES = np.array([*NEAR_ZERO, *ORDINARY, *EXTREME])


def random_trees(rng, n_trees, max_leaves):
    """A sum of trees; every leaf is split as LightGBM does, keeping its number on the left."""
    parts = [_random_tree(rng, int(rng.integers(1, max_leaves + 1))) for _ in range(n_trees)]
    left, right = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    n_leaves = np.array([len(part[0]) + 1 for part in parts])
    n_splits, n_all = len(left), int(n_leaves.sum())
    common = rng.random(n_splits) < 0.5
    return Trees(
        n_features=N_FEATURES,
        leaf_offsets=np.cumsum([0, *n_leaves]),
        split_features=rng.integers(0, N_FEATURES, n_splits).astype(np.int32),
        thresholds=np.where(common, rng.choice(VALUES, n_splits), rng.normal(size=n_splits)),
        decisions=rng.choice(DECISIONS, n_splits),
        left_children=left,
        right_children=right,
        gains=rng.random(n_splits).astype(np.float32),
        leaf_values=rng.normal(size=n_all),
        leaf_counts=rng.integers(1, 100, n_all),
    )


def random_documents(rng, n_documents, dtype, thresholds):
    """Rows with missing values, zeros, and values that are thresholds or next to them."""
    pool = np.concatenate([VALUES, thresholds, np.nextafter(thresholds, np.inf), [np.nan] * 5])
    shape = (n_documents, N_FEATURES)
    rows = np.where(rng.random(shape) < 0.7, rng.choice(pool, shape), rng.normal(size=shape))
    with np.errstate(over="ignore"):
        return rows.astype(dtype)


def _random_tree(rng, n_leaves):
    left, right = np.zeros((2, n_leaves - 1), np.int32)
    parent_side: dict = {0: None}
    for split in range(n_leaves - 1):
        leaf = int(rng.integers(split + 1))
        if parent_side[leaf] is not None:
            children, parent = parent_side[leaf]
            children[parent] = split
        left[split], right[split] = ~leaf, ~(split + 1)
        parent_side[leaf], parent_side[split + 1] = (left, split), (right, split)
    return left, right
