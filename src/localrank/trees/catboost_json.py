"""Symmetric trees of CatBoost as arrays, with the same scores.

All splits of a level of a symmetric tree ask the same question. CatBoost answers it in single
precision: a value goes right if it is larger than the split's border after rounding to 32 bits. For
each border there is a largest number of 64 bits that rounds to at most the border. With that
threshold, numbers of 32 and of 64 bits go the way that CatBoost sends them.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank.trees._columns import DEFAULT_LEFT
from localrank.trees.trees import Trees

# LightGBM's flag: NaN is missing.
_MISSING_NAN = 0b1000
# A missing value goes left at every split, or right at every split.
_SIDES = {"AsIs": DEFAULT_LEFT, "AsFalse": DEFAULT_LEFT, "AsTrue": 0}


def read_catboost_json(
    text: str, n_trees: int | None = None, *, zero_for_new: bool = False
) -> Trees:
    """Read a model of symmetric trees that CatBoost saved with `format="json"`.

    Scores equal CatBoost's `RawFormulaVal` to the last bit if the model has scale 1, as models of
    ranking losses have. The leaves of other models are multiplied by the scale, which may change
    the last digit. Values nearer to zero than 1e-35 count as zero, as in all `Trees`.

    A split's gain is what it adds to the variance of the tree's values over the training
    documents. Sums of these gains are CatBoost's importances "PredictionValuesChange". The numbers
    of documents in the leaves are CatBoost's sums of weights, rounded.

    Parameters
    ----------
    text : str
        The model, of numeric features and one score per document.
    n_trees : int, optional
        Number of trees to read, from the first. None: all.
    zero_for_new : bool, default=False
        What a missing value counts as in a feature that had none in training. False: less than
        any number, as in CatBoost. True: 0, as in LightGBM. Then trees that never met a missing
        value are exported to engines that know none.

    Examples
    --------
    >>> model = {
    ...     "features_info": {"float_features": [{"flat_feature_index": 0, "borders": [0.5]}]},
    ...     "oblivious_trees": [
    ...         {
    ...             "splits": [{"float_feature_index": 0, "border": 0.5}],
    ...             "leaf_values": [-1.0, 2.0],
    ...             "leaf_weights": [10, 20],
    ...         }
    ...     ],
    ...     "scale_and_bias": [1, [0]],
    ... }
    >>> read_catboost_json(json.dumps(model)).score([[0.5], [0.6]])
    array([-1.,  2.])
    """
    model = json.loads(text)
    info, trees = model["features_info"], model.get("oblivious_trees")
    if trees is None:
        raise ValueError(
            "The model's trees are not symmetric. Train it with grow_policy='SymmetricTree'."
        )
    if other := sorted(name for name in info if name != "float_features" and info[name]):
        raise ValueError(f"Only numeric features are supported. The model has {', '.join(other)}.")
    scale, (bias, *more) = model["scale_and_bias"]
    if more:
        raise ValueError("Only models with one score per document are supported.")
    treatments = [fact.get("nan_value_treatment", "AsIs") for fact in info["float_features"]]
    sides = [
        0 if zero_for_new and treatment == "AsIs" else _MISSING_NAN | _SIDES[treatment]
        for treatment in treatments
    ]
    kept = [_tree(tree, sides, scale) for tree in trees[:n_trees]]
    if bias or not kept:
        kept.append(_tree({"leaf_values": [float(bias)], "leaf_weights": [0]}, sides, 1.0))
    return Trees(
        n_features=len(sides),
        leaf_offsets=np.cumsum([0, *(len(tree["leaf_values"]) for tree in kept)]),
        **{name: np.concatenate([tree[name] for tree in kept]) for name in kept[0]},
    )


def _tree(tree: dict[str, Any], sides: list[int], scale: float) -> dict[str, NDArray[Any]]:
    """The arrays of one tree, its splits level by level, its leaves from left to right."""
    # The first split is the lowest bit of a leaf's number, so it is the last to be asked.
    splits = (tree.get("splits") or [])[::-1]
    values = np.array(tree["leaf_values"], np.float64) * scale
    counts = np.rint(tree["leaf_weights"]).astype(np.int64)
    depth = len(splits)
    if len(values) != 2**depth or len(counts) != len(values):
        raise ValueError(
            f"A tree of {depth} levels must have {2**depth} leaves. Got {len(values)}."
        )
    features = np.array([split["float_feature_index"] for split in splits], np.int32)
    borders = np.array([split["border"] for split in splits], np.float32)
    flags = np.array([sides[feature] for feature in features], np.uint8)
    widths = 2 ** np.arange(depth)
    n_splits = 2**depth - 1
    left = 2 * np.arange(n_splits, dtype=np.int32) + 1
    right = left + 1
    left, right = (np.where(side >= n_splits, ~(side - n_splits), side) for side in (left, right))
    weights = np.array(tree["leaf_weights"], np.float64)
    gains = [np.zeros(0), *(_gains(values, weights, width) for width in widths.tolist())]
    return {
        "split_features": np.repeat(features, widths),
        "thresholds": np.repeat(highest_at_most(borders), widths),
        "decisions": np.repeat(flags, widths),
        "left_children": left.astype(np.int32),
        "right_children": right.astype(np.int32),
        "gains": np.concatenate(gains).astype(np.float32),
        "leaf_values": values,
        "leaf_counts": counts,
    }


def _gains(values: NDArray[Any], weights: NDArray[Any], n_splits: int) -> NDArray[Any]:
    """The gain of each split of a level: over pairs of leaves that differ in its answer alone."""
    value, weight = values.reshape(n_splits, 2, -1), weights.reshape(n_splits, 2, -1)
    both = weight.sum(axis=1)
    parts = weight.prod(axis=1) / np.where(both > 0, both, 1.0)
    gains: NDArray[Any] = (parts * (value[:, 1] - value[:, 0]) ** 2).sum(axis=1)
    return gains


def highest_at_most(borders: NDArray[np.float32]) -> NDArray[np.float64]:
    """The largest number of 64 bits that, rounded to 32 bits, is at most each border.

    Examples
    --------
    >>> border = np.float32([0.1])
    >>> threshold = highest_at_most(border)
    >>> above = np.nextafter(threshold, np.inf)
    >>> bool(threshold.astype(np.float32) <= border), bool(above.astype(np.float32) <= border)
    (True, False)
    """
    wide = borders.astype(np.float64)
    with np.errstate(over="ignore"):
        # The next number of 32 bits. After the largest comes 2^128, which stands for infinity.
        above = np.nextafter(borders, np.float32(np.inf)).astype(np.float64)
        halfway = wide + (np.where(np.isinf(above), 2.0**128, above) - wide) / 2
        # Half-way, a number is rounded to the one of both whose last bit is 0.
        down = halfway.astype(np.float32) <= borders
    return np.where(down, halfway, np.nextafter(halfway, -np.inf))
