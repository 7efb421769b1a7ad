"""The step function of a feature as a tree."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Floats
from localrank.trees import Trees


def steps_as_tree(n_features: int, feature: int, thresholds: Floats, levels: Floats) -> Trees:
    """The lowest tree whose leaves hold the values of a step function.

    As in all trees, values of at most 1e-35 in size count as zero.

    Parameters
    ----------
    n_features : int
        Number of features of a document.
    feature : int
        The feature that the step function reads.
    thresholds : ndarray of shape (n_steps,)
        Ascending thresholds. Equal ones are merged.
    levels : ndarray of shape (n_steps + 1,)
        Values up to the first threshold, between the first and the second, and so on.

    Examples
    --------
    >>> tree = steps_as_tree(2, 1, np.array([0.0, 5.0, 5.0]), np.array([10.0, 20.0, 30.0, 40.0]))
    >>> tree
    Trees: 1 trees of 3 to 3 leaves, 2 features
    >>> tree.score([[0.0, -1.0], [0.0, 0.0], [0.0, 5.0], [0.0, 5.1]])
    array([10., 10., 20., 40.])
    """
    # The last of equal thresholds is followed by the value above all of them.
    last = np.append(thresholds[1:] != thresholds[:-1], True)
    bounds, values = thresholds[last], np.append(levels[:1], levels[1:][last])
    splits: list[tuple[float, int, int]] = []

    def grown(first: int, end: int) -> int:
        """Number of the split above the leaves from `first` to `end`, or ~leaf for one leaf."""
        if end - first == 1:
            return ~first
        middle = (first + end) // 2
        number = len(splits)
        splits.append((0.0, 0, 0))
        left, right = grown(first, middle), grown(middle, end)
        splits[number] = (float(bounds[middle - 1]), left, right)
        return number

    grown(0, len(values))
    n_splits = len(splits)
    return Trees(
        n_features=n_features,
        leaf_offsets=np.array([0, len(values)]),
        split_features=np.full(n_splits, feature, np.int32),
        thresholds=np.array([split[0] for split in splits]),
        decisions=np.zeros(n_splits, np.uint8),
        left_children=np.array([split[1] for split in splits], np.int32),
        right_children=np.array([split[2] for split in splits], np.int32),
        gains=np.zeros(n_splits, np.float32),
        leaf_values=values,
        leaf_counts=np.zeros(len(values), np.int64),
    )
