"""Trees from LightGBM's text format, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from localrank.trees._columns import IN_SET
from localrank.trees.trees import Trees

# LightGBM's bound on numbers.
_LIMIT = 1e300


def read_lightgbm_text(text: str) -> Trees:
    """Read the trees of a model in LightGBM's text format.

    Their scores equal `Booster.predict` with `raw_score=True`. For ranking and regression, that is
    the same as without. LightGBM averages the trees of a random forest, so their leaves are divided
    by the number of trees. Models with linear models in the leaves or several classes raise a
    ValueError.

    Parameters
    ----------
    text : str
        Model text, as written by `Booster.model_to_string`.
    """
    classes = read_lightgbm_classes(text)
    if len(classes) > 1:
        raise ValueError("Only models with one score per document are supported.")
    return classes[0]


def read_lightgbm_classes(text: str) -> list[Trees]:
    """Read the trees of each class of a model in LightGBM's text format.

    The softmax of their scores equals `Booster.predict`.

    Parameters
    ----------
    text : str
        As for `read_lightgbm_text`.
    """
    header, *parts = text.split("\nend of trees")[0].split("\nTree=")
    facts = _facts(header)
    n_classes = int(facts["num_tree_per_iteration"])
    if not parts:
        raise ValueError("The model has no trees.")
    averaged = "average_output" in header.split("\n")
    n_summed = len(parts) // n_classes if averaged else 1
    return [
        _trees(int(facts["max_feature_idx"]) + 1, parts[number::n_classes], n_summed)
        for number in range(n_classes)
    ]


def _trees(n_features: int, parts: list[str], divisor: int) -> Trees:
    trees = [_facts(part) for part in parts]
    if {tree.get("is_linear", "0") for tree in trees} != {"0"}:
        raise ValueError("Linear models in the leaves are not supported.")
    n_leaves = [int(tree["num_leaves"]) for tree in trees]
    grown = [tree for tree, size in zip(trees, n_leaves, strict=True) if size > 1]

    def joined(name: str) -> NDArray[np.float64]:
        return np.array([float(value) for tree in grown for value in tree[name].split()])

    counts = [
        int(count)
        for tree, size in zip(trees, n_leaves, strict=True)
        for count in (tree["leaf_count"].split() if size > 1 else ["0"])
    ]
    leaf_values = [float(value) for tree in trees for value in tree["leaf_value"].split()]
    # A split that separates missing values from all others has the threshold inf.
    thresholds = np.clip(joined("threshold"), -_LIMIT, _LIMIT)
    decisions = joined("decision_type").astype(np.uint8)
    # The threshold of a split by a set is the number of the set within its tree.
    n_sets = np.array([int(tree["num_cat"]) for tree in grown], np.int64)
    earlier = np.repeat(np.cumsum(n_sets) - n_sets, [size - 1 for size in n_leaves if size > 1])
    thresholds[decisions & IN_SET != 0] += earlier[decisions & IN_SET != 0]
    with_sets = [tree for tree in grown if int(tree["num_cat"])]
    words = [int(word) for tree in with_sets for word in tree["cat_threshold"].split()]
    sizes = [np.diff([*map(int, tree["cat_boundaries"].split())]) for tree in with_sets]
    return Trees(
        n_features=n_features,
        leaf_offsets=np.cumsum([0, *n_leaves]),
        split_features=joined("split_feature").astype(np.int32),
        thresholds=thresholds,
        decisions=decisions,
        left_children=joined("left_child").astype(np.int32),
        right_children=joined("right_child").astype(np.int32),
        gains=joined("split_gain").astype(np.float32),
        leaf_values=np.array(leaf_values) / divisor,
        leaf_counts=np.array(counts, np.int64),
        set_offsets=np.cumsum([0, *(size for of_tree in sizes for size in of_tree)]),
        set_words=np.array(words, np.uint32),
    )


def write_lightgbm_text(
    trees: Trees,
    objective: str = "",
    feature_names: Sequence[str] | None = None,
    categories: Sequence[Sequence[str]] = (),
) -> str:
    """Write trees in LightGBM's text format, for `lightgbm.Booster(model_str=...)`.

    The booster has the same scores.

    Parameters
    ----------
    trees : Trees
    objective : str
        LightGBM's name of the training objective.
    feature_names : sequence of str, optional
        Names of the features. White space in them becomes "_", as in LightGBM. None: Column_0,
        Column_1 and so on.
    categories : sequence of sequences of str, default=()
        The values of each categorical feature, by code. LightGBM then takes a pandas frame with
        columns of categories, and finds the codes itself.
    """
    n = trees.n_features
    names = feature_names or [f"Column_{column}" for column in range(n)]
    header = [
        "tree",
        "version=v4",
        "num_class=1",
        "num_tree_per_iteration=1",
        "label_index=0",
        f"max_feature_idx={n - 1}",
        *([f"objective={objective}"] if objective else []),
        "feature_names=" + " ".join("_".join(name.split()) for name in names),
        "feature_infos=" + " ".join(["none"] * n),
    ]
    n_below = _documents_below(trees)
    parts = [
        _tree_text(trees, number, slice(*splits), slice(*leaves), n_below)
        for number, (splits, leaves) in enumerate(
            zip(pairwise(trees.split_offsets), pairwise(trees.leaf_offsets), strict=True)
        )
    ]
    known = [f"pandas_categorical:{json.dumps(list(map(list, categories)))}"] if categories else []
    return "\n".join([*header, "", *parts, "end of trees", "", *known, *([""] if known else [])])


def _tree_text(
    trees: Trees, number: int, splits: slice, leaves: slice, n_below: NDArray[np.int64]
) -> str:
    facts: dict[str, NDArray[np.generic]] = {"leaf_value": trees.leaf_values[leaves]}
    n_leaves = leaves.stop - leaves.start
    n_sets = 0
    if n_leaves > 1:
        thresholds = trees.thresholds[splits].copy()
        by_set = trees.decisions[splits] & IN_SET != 0
        numbers = thresholds[by_set].astype(np.int64)
        n_sets = len(numbers)
        if n_sets:
            # LightGBM numbers the sets of each tree from 0.
            thresholds[by_set] = np.arange(n_sets)
            begins, ends = trees.set_offsets[numbers], trees.set_offsets[numbers + 1]
            facts["cat_boundaries"] = np.cumsum([0, *(ends - begins)])
            facts["cat_threshold"] = np.concatenate(
                [trees.set_words[b:e] for b, e in zip(begins, ends, strict=True)]
            )
        facts |= {
            "split_feature": trees.split_features[splits],
            "split_gain": trees.gains[splits],
            "threshold": thresholds,
            "decision_type": trees.decisions[splits],
            "left_child": trees.left_children[splits],
            "right_child": trees.right_children[splits],
            "leaf_count": trees.leaf_counts[leaves],
            "internal_count": n_below[splits],
        }
    lines = [f"{name}=" + " ".join(map(repr, values.tolist())) for name, values in facts.items()]
    return "\n".join(
        [
            f"Tree={number}",
            f"num_leaves={n_leaves}",
            f"num_cat={n_sets}",
            *lines,
            "shrinkage=1",
            "",
            "",
        ]
    )


def _documents_below(trees: Trees) -> NDArray[np.int64]:
    """Number of training documents that reached each split."""
    counts = [0] * len(trees.thresholds)
    tree_of = np.repeat(np.arange(trees.n_trees), np.diff(trees.split_offsets))
    starts, leaf_starts = trees.split_offsets[tree_of], trees.leaf_offsets[tree_of]
    children = np.stack([trees.left_children, trees.right_children], axis=1)
    # Children come after their parents.
    for split in reversed(range(len(counts))):
        for child in children[split].tolist():
            counts[split] += (
                counts[starts[split] + child]
                if child >= 0
                else int(trees.leaf_counts[leaf_starts[split] + ~child])
            )
    return np.array(counts, np.int64)


def _facts(part: str) -> dict[str, str]:
    lines = [line.partition("=") for line in part.split("\n")]
    return {name: value for name, equals, value in lines if equals}
