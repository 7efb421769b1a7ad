"""Trees as nested splits, and weighted sums of trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from localrank.trees._columns import IN_SET
from localrank.trees.trees import Trees


@dataclass(frozen=True)
class Leaf:
    """The end of a path through a tree.

    Parameters
    ----------
    value : float
        What the tree adds to the score of a document in this leaf.
    """

    value: float


@dataclass(frozen=True)
class Split:
    """Sends documents to one of two branches.

    Parameters
    ----------
    feature : int
    threshold : float
        A document goes left if its value is at most this.
    decision : int
        LightGBM's flags for missing values, as in `Trees`.
    left, right : Split or Leaf
    """

    feature: int
    threshold: float
    decision: int
    left: Split | Leaf
    right: Split | Leaf


def nested(trees: Trees) -> list[Split | Leaf]:
    """Each tree as its first split, or as its leaf if it has only one.

    Parameters
    ----------
    trees : Trees

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> tree = nested(LambdaMART(1, n_leaves=2).fit(dataset).trees_)[0]
    >>> type(tree).__name__, type(tree.left).__name__, type(tree.right).__name__
    ('Split', 'Leaf', 'Leaf')
    """
    result = []
    bounds = zip(pairwise(trees.split_offsets), pairwise(trees.leaf_offsets), strict=True)
    for (first, last), (leaf, leaf_end) in bounds:
        leaves = [Leaf(value) for value in trees.leaf_values[leaf:leaf_end].tolist()]
        splits: list[Split | None] = [None] * (last - first)
        # Children come after their parents.
        for number in reversed(range(last - first)):
            left, right = (
                leaves[~child] if child < 0 else splits[child]
                for child in (
                    int(trees.left_children[first + number]),
                    int(trees.right_children[first + number]),
                )
            )
            assert left is not None
            assert right is not None
            splits[number] = Split(
                int(trees.split_features[first + number]),
                float(trees.thresholds[first + number]),
                int(trees.decisions[first + number]),
                left,
                right,
            )
        result.append(leaves[0] if not splits else splits[0])
    return [tree for tree in result if tree is not None]


def joined(parts: Sequence[tuple[Trees, float]]) -> Trees:
    """Trees whose score is the weighted sum of other trees' scores.

    Parameters
    ----------
    parts : sequence of (Trees, float)
        Trees and their weights. Leaves are multiplied by the weights.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> trees = LambdaMART(5).fit(dataset).trees_
    >>> both = joined([(trees, 2.0), (trees, -1.0)])
    >>> both.n_trees
    10
    >>> bool(np.allclose(both.score(dataset.features), trees.score(dataset.features)))
    True
    """
    together = [trees for trees, _ in parts]

    def all_of(name: str) -> np.ndarray:
        return np.concatenate([getattr(trees, name) for trees in together])

    n_leaves = np.concatenate([np.diff(trees.leaf_offsets) for trees in together])
    names = ("split_features", "decisions", "left_children", "right_children", "gains")
    # The threshold of a split by a set is the number of the set.
    n_sets = np.array([len(trees.set_offsets) - 1 for trees in together])
    thresholds = [
        np.where(trees.decisions & IN_SET, trees.thresholds + earlier, trees.thresholds)
        for trees, earlier in zip(together, np.cumsum(n_sets) - n_sets, strict=True)
    ]
    sizes = [np.diff(trees.set_offsets) for trees in together]
    return Trees(
        n_features=together[0].n_features,
        leaf_offsets=np.concatenate([[0], np.cumsum(n_leaves)]),
        **{name: all_of(name) for name in (*names, "leaf_counts", "set_words")},
        thresholds=np.concatenate(thresholds),
        set_offsets=np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
        leaf_values=np.concatenate([weight * trees.leaf_values for trees, weight in parts]),
    )
