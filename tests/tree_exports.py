"""Models of random trees for exports, and documents that meet their thresholds."""

from dataclasses import replace

import numpy as np
from trees.random_trees import N_FEATURES, VALUES, random_trees

from localrank.data import RankingDataset
from localrank.export import ExportedModel
from localrank.formulas import Formula, TreeSum

NAMES = tuple(f"field {number}" for number in range(1, N_FEATURES + 1))
# LightGBM's flags: zero is never missing; NaN is, or counts as zero.
KNOWS_MISSING, ZERO_FOR_MISSING = (8, 10), (0, 2)


def exported(formula: Formula, names=NAMES) -> ExportedModel:
    return ExportedModel("some_model", formula, names, {"ranker": "SomeRanker"})


def tree_model(rng, decisions=KNOWS_MISSING + ZERO_FOR_MISSING, *, n_trees=12) -> ExportedModel:
    trees = random_trees(rng, n_trees, 9)
    flags = rng.choice(np.array(decisions, np.uint8), len(trees.decisions))
    return exported(TreeSum(replace(trees, decisions=flags)))


def documents_at(rng, thresholds, n_documents=300) -> RankingDataset:
    """Float32 values that are thresholds or next to them, zeros, extremes, missing values."""
    with np.errstate(over="ignore"):
        near = np.concatenate([VALUES, thresholds]).astype(np.float32)
        near = np.concatenate([near, *(np.nextafter(near, np.float32(s)) for s in (-9e37, 9e37))])
    near = near[np.isfinite(near)]
    shape = (n_documents, N_FEATURES)
    rows = rng.choice(near, shape)
    rows[rng.random(shape) < 0.15] = np.nan
    # Queries need a value somewhere.
    rows[:, 0] = np.nan_to_num(rows[:, 0])
    qid = np.arange(n_documents) // 10
    return RankingDataset.from_arrays(rows, qid=qid, feature_names=NAMES)


def spread(scores, others) -> float:
    """How far two scores are from differing by a constant."""
    return float(np.ptp(scores - others))
