"""Trained regression trees as arrays, their scores and contributions."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numba
import numpy as np
from llvmlite import binding
from numpy.typing import ArrayLike, NDArray

from localrank._kernels.compilation import kernel
from localrank._kernels.numba_internals import COMPILER_ERRORS
from localrank._kernels.sorting import read_only
from localrank.trees._columns import DEFAULT_LEFT, IN_SET, MISSING, columns_of
from localrank.trees._scoring import (
    BLOCK,
    MAX_TABLES,
    ROW,
    padded,
    rank_sets,
    rank_values,
    rank_values_in_loops,
    sum_leaves,
    walk_trees,
    warn_of_loops,
)
from localrank.trees._symmetric import MAX_TABLES as MAX_SYMMETRIC_TABLES
from localrank.trees._symmetric import levels_of, look_up_leaves

if TYPE_CHECKING:
    from localrank.trees._contributions import TreeContributions

DTYPES = {
    "leaf_offsets": np.int64,
    "split_features": np.int32,
    "thresholds": np.float64,
    "decisions": np.uint8,
    "left_children": np.int32,
    "right_children": np.int32,
    "gains": np.float32,
    "leaf_values": np.float64,
    "leaf_counts": np.int64,
    "set_offsets": np.int64,
    "set_words": np.uint32,
}
# No sets: the offsets end where they begin.
_NO_OFFSETS, _NO_WORDS = np.zeros(1, np.int64), np.zeros(0, np.uint32)


@dataclass(frozen=True, eq=False, repr=False)
class Trees:
    """A sum of regression trees, stored as arrays.

    Tree `t` has the leaves from `leaf_offsets[t]` to `leaf_offsets[t + 1]`, and one split fewer.
    The splits of all trees are stored one after another, and so are the leaves. The arrays are
    checked: arrays that are not trees raise a ValueError. Scoring never reads outside them.

    Parameters
    ----------
    n_features : int
        Number of features of a document.
    leaf_offsets : ndarray of int64, shape (n_trees + 1,)
        First leaf of each tree, and the number of leaves at the end.
    split_features : ndarray of int32, shape (n_splits,)
        Feature of each split.
    thresholds : ndarray of float64, shape (n_splits,)
        A document goes left at a split if its value is at most the threshold. At a split by a set,
        the number of the set.
    decisions : ndarray of uint8, shape (n_splits,)
        LightGBM's flags for missing values. 2: missing values go left. 4: zero and NaN count as
        missing. 8: NaN counts as missing. Without 4 and 8, NaN counts as zero. 1: a split by a set
        of categories. A document goes left if its category is in the set; missing values and all
        other categories go right.
    left_children, right_children : ndarray of int32, shape (n_splits,)
        Number of the next split within the tree, or `~leaf` with the number of a leaf within the
        tree. Splits come after their parents.
    gains : ndarray of float32, shape (n_splits,)
        Gain of each split in training.
    leaf_values : ndarray of float64, shape (n_leaves,)
        Value of each leaf.
    leaf_counts : ndarray of int64, shape (n_leaves,)
        Number of training documents in each leaf.
    set_offsets : ndarray of int64, shape (n_sets + 1,), optional
        First word of each set of categories, and the number of words at the end. By default, there
        are no sets.
    set_words : ndarray of uint32, optional
        The sets. Bit `b` of word `w` of a set is the category `32 * w + b`.

    Examples
    --------
    >>> stump = Trees(
    ...     n_features=1,
    ...     leaf_offsets=np.array([0, 2]),
    ...     split_features=np.zeros(1, np.int32),
    ...     thresholds=np.array([0.5]),
    ...     decisions=np.zeros(1, np.uint8),
    ...     left_children=np.array([~0], np.int32),
    ...     right_children=np.array([~1], np.int32),
    ...     gains=np.ones(1, np.float32),
    ...     leaf_values=np.array([-1.0, 2.0]),
    ...     leaf_counts=np.array([10, 20]),
    ... )
    >>> stump.score([[0.5], [0.6]])
    array([-1.,  2.])
    """

    n_features: int
    leaf_offsets: NDArray[np.int64]
    split_features: NDArray[np.int32]
    thresholds: NDArray[np.float64]
    decisions: NDArray[np.uint8]
    left_children: NDArray[np.int32]
    right_children: NDArray[np.int32]
    gains: NDArray[np.float32]
    leaf_values: NDArray[np.float64]
    leaf_counts: NDArray[np.int64]
    set_offsets: NDArray[np.int64] = field(default_factory=_NO_OFFSETS.copy)
    set_words: NDArray[np.uint32] = field(default_factory=_NO_WORDS.copy)

    def __post_init__(self) -> None:
        _require(
            type(self.n_features) is int and 0 < self.n_features < 2**31,
            f"n_features must be a positive whole number. Got {self.n_features!r} instead.",
        )
        for name, dtype in DTYPES.items():
            object.__setattr__(self, name, _frozen(name, getattr(self, name), dtype))
        self._check_sizes()
        self._check_values()
        self._check_children()

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.leaf_offsets) - 1

    @property
    def split_offsets(self) -> NDArray[np.int64]:
        """First split of each tree, and the number of splits at the end."""
        return self.leaf_offsets - np.arange(self.n_trees + 1)

    @property
    def has_sets(self) -> bool:
        """Whether a split asks for a set of categories."""
        return bool((self.decisions & IN_SET).any())

    def score(self, features: ArrayLike) -> NDArray[np.float64]:
        """Sum the leaves of each document. Scores equal LightGBM's predictions, to the last bit.

        Parameters
        ----------
        features : array-like of shape (n_documents, n_features)
            Features of the documents. NaN is a missing value. float32 is compared as float32, with
            the same result; everything else as float64.
        """
        values = self._admitted(features)
        scorer = self._scorers.get(values.dtype)
        if scorer is None:
            scorer = self._scorers[values.dtype] = Scorer(self, values.dtype)
        return scorer.score(values)

    def contributions(self, features: ArrayLike) -> tuple[NDArray[np.float64], float]:
        """Shapley values: what each feature adds to the score of each document, and the base.

        They sum to the score, up to rounding. The values are computed by TreeSHAP from the numbers
        of training documents that went each way, as in LightGBM's `pred_contrib`.

        Parameters
        ----------
        features : array-like of shape (n_documents, n_features)
            As for `score`.

        Returns
        -------
        values : ndarray of shape (n_documents, n_features)
        base : float
            Mean of the leaves, weighted by their training documents, summed over the trees.
        """
        # Only explanations need it.
        from localrank.trees._contributions import TreeContributions

        values = self._admitted(features)
        if values.dtype not in self._contributors:
            self._contributors[values.dtype] = TreeContributions(self, values.dtype)
        contributor = self._contributors[values.dtype]
        return contributor.of(values), contributor.base

    def importances(self, kind: Literal["gain", "split"] = "gain") -> NDArray[np.float64]:
        """Importance of each feature. "gain": the sum of its splits' gains. "split": their number.

        Splits without gain do not count.
        """
        if kind not in ("gain", "split"):
            raise ValueError(
                f"The 'kind' argument must be 'gain' or 'split'. Got {kind!r} instead."
            )
        gained = self.gains > 0
        return np.bincount(
            self.split_features[gained],
            weights=self.gains[gained] if kind == "gain" else None,
            minlength=self.n_features,
        ).astype(np.float64)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        names = {field.name for field in fields(self)}
        _require(state.keys() == names, f"The state of trees must have exactly {sorted(names)}.")
        self.__init__(**state)  # type: ignore[misc]

    def __repr__(self) -> str:
        n_leaves = np.diff(self.leaf_offsets)
        return (
            f"Trees: {self.n_trees} trees of {n_leaves.min()} to {n_leaves.max()} leaves, "
            f"{self.n_features} features"
        )

    def _admitted(self, features: ArrayLike) -> NDArray[Any]:
        values = np.asarray(features)
        values = read_only(values, values.dtype if values.dtype == np.float32 else np.float64)
        if values.ndim != 2 or values.shape[1] != self.n_features:
            raise ValueError(
                f"These trees score rows of {self.n_features} features. Got an array of shape "
                f"{values.shape} instead."
            )
        return values

    # Made when they are first needed, one for each dtype of features.
    @cached_property
    def _scorers(self) -> dict[Any, Scorer]:
        return {}

    @cached_property
    def _contributors(self) -> dict[Any, TreeContributions]:
        return {}

    def _check_sizes(self) -> None:
        offsets = self.leaf_offsets
        _require(
            len(offsets) > 1 and offsets[0] == 0,
            "leaf_offsets must begin with 0 and have an entry for each tree and the end.",
        )
        n_leaves = len(self.leaf_values)
        _require(
            bool((offsets[1:] > offsets[:-1]).all()) and offsets[-1] == n_leaves,
            f"leaf_offsets must ascend from 0 to the number of leaves, {n_leaves}.",
        )
        n_splits = n_leaves - self.n_trees
        for name in DTYPES.keys() - {"leaf_offsets", "set_offsets", "set_words"}:
            size, expected = len(getattr(self, name)), n_splits
            if name.startswith("leaf_"):
                expected = n_leaves
            _require(size == expected, f"{name} must have {expected} entries. Got {size} instead.")
        sets, n_words = self.set_offsets, len(self.set_words)
        _require(
            len(sets) > 0
            and sets[0] == 0
            and sets[-1] == n_words
            and bool((sets[1:] > sets[:-1]).all()),
            f"set_offsets must ascend from 0 to the number of words, {n_words}.",
        )

    def _check_values(self) -> None:
        for name in ("thresholds", "leaf_values"):
            _require(bool(np.isfinite(getattr(self, name)).all()), f"{name} must be finite.")
        _require(
            bool(((self.split_features >= 0) & (self.split_features < self.n_features)).all()),
            f"split_features must be feature numbers from 0 to {self.n_features - 1}.",
        )
        missing = self.decisions & MISSING
        by_set = self.decisions & IN_SET != 0
        _require(
            bool(((self.decisions & ~np.uint8(MISSING | DEFAULT_LEFT | IN_SET)) == 0).all())
            and bool((missing != MISSING).all()),
            "decisions must be sums of 1 for a set, 2 for default left and 4 or 8 for what is "
            "missing.",
        )
        numbers, n_sets = self.thresholds[by_set], len(self.set_offsets) - 1
        _require(
            bool(((numbers >= 0) & (numbers < n_sets) & (numbers % 1 == 0)).all()),
            f"thresholds of splits by sets must be numbers of sets, below {n_sets}.",
        )
        _require(
            bool(((self.leaf_counts >= 0) & (self.leaf_counts < 2**31)).all()),
            "leaf_counts must be whole numbers from 0 to 2^31 - 1.",
        )

    def _check_children(self) -> None:
        """Check that every leaf, and every split except a tree's first, has exactly one parent."""
        starts, n_leaves = self.split_offsets, np.diff(self.leaf_offsets)
        n_splits = n_leaves - 1
        tree = np.repeat(np.arange(self.n_trees), n_splits)
        number = np.arange(len(tree)) - starts[tree]
        parents = np.zeros(len(tree) + len(self.leaf_values), np.int64)
        for name in ("left_children", "right_children"):
            child = getattr(self, name).astype(np.int64)
            is_leaf = child < 0
            _require(
                bool(np.where(is_leaf, ~child < n_leaves[tree], child > number).all())
                and bool((child < n_splits[tree]).all()),
                f"{name} must be later splits of the same tree, or ~leaf for one of its leaves.",
            )
            place = np.where(
                is_leaf, len(tree) + self.leaf_offsets[tree] + ~child, starts[tree] + child
            )
            np.add.at(parents, place, 1)
        expected = np.ones(len(parents), np.int64)
        has_splits = n_splits > 0
        expected[starts[:-1][has_splits]] = 0
        expected[len(tree) + self.leaf_offsets[:-1][~has_splits]] = 0
        _require(
            bool((parents == expected).all()),
            "left_children and right_children must name every split but a tree's first, and "
            "every leaf, once.",
        )


def _frozen(name: str, values: Any, dtype: Any) -> NDArray[Any]:
    """A read-only copy that nothing else can write to."""
    if not isinstance(values, np.ndarray) or values.dtype != dtype or values.ndim != 1:
        raise ValueError(f"{name} must be an array of {np.dtype(dtype)} in one dimension.")
    copy = np.array(values, dtype=dtype, order="C", copy=True, subok=False)
    copy.flags.writeable = False
    return copy


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


# Number of documents whose ranks are in memory at a time: whole blocks.
SLAB = 16 * BLOCK


class Scorer:
    """Scores documents whose features have one dtype.

    Parameters
    ----------
    trees : Trees
    dtype : float32 or float64
    """

    def __init__(self, trees: Trees, dtype: Any) -> None:
        columns, self._sets, split_columns, cuts = columns_of(trees, dtype)
        self._n_columns = len(columns.features)
        self._columns: Any = columns
        self._paths: Any = (
            split_columns,
            cuts,
            trees.left_children,
            trees.right_children,
            read_only(trees.split_offsets, np.int64),
            trees.leaf_offsets,
            trees.leaf_values,
        )
        self._rank_values: Any = rank_values
        self._add_scores: Any = walk_trees
        self._trees: Any = self._paths
        levels = levels_of(trees, split_columns, cuts)
        if levels is not None:
            self._add_scores = look_up_leaves
            self._trees = (*levels, _n_tables())
        elif np.diff(trees.leaf_offsets).max() <= MAX_LEAVES:
            self._add_scores = sum_leaves
            self._trees = (*rows_of(trees, split_columns, cuts), min(_n_tables(), MAX_TABLES))

    def score(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """One score per row of a contiguous read-only array."""
        scores = np.zeros(padded(len(rows)))
        ranks = np.empty(min(len(scores), SLAB) * self._n_columns, np.uint8)
        try:
            for first in range(0, len(rows), SLAB):
                slab = rows[first : first + SLAB]
                self._rank_values(slab, *self._columns, ranks)
                if self._sets is not None:
                    rank_sets(slab, self._n_columns, *self._sets, ranks)
                self._add_scores(ranks, len(slab), self._n_columns, *self._trees, scores[first:])
        except COMPILER_ERRORS as error:
            if self._rank_values is rank_values_in_loops:
                raise
            warn_of_loops(error)
            self._rank_values = rank_values_in_loops
            self._add_scores, self._trees = walk_trees, self._paths
            return self.score(rows)
        return scores[: len(rows)]


@cache
def _n_tables() -> int:
    """Rows of leaf values to keep in registers: useful if one instruction can look up eight."""
    config: Any = numba.config
    try:
        has = binding.get_host_cpu_features().get("avx512f", False)
    except RuntimeError:  # LLVM does not know the processor
        has = False
    if config.CPU_FEATURES is not None:
        has = "+avx512f" in config.CPU_FEATURES
    return MAX_SYMMETRIC_TABLES if has else 0


# Leaves have numbers of 8 bits where documents find them by masks.
MAX_LEAVES = 256


class Rows(NamedTuple):
    """The leaves of trees in rows of eight, from left to right, and what rules them out.

    A split rules out the leaves on its left. It has an entry in every row with such leaves; the
    entries of a row are together. Each tree's last row comes first.

    Attributes
    ----------
    columns : ndarray of shape (n_entries,)
    cuts : ndarray of shape (n_entries,)
        An entry counts for documents whose rank in the column is larger than the cut.
    masks : ndarray of shape (n_entries,)
        Bits of the leaves that such a document may still fall into.
    starts : ndarray of shape (n_rows + 1,)
        Where each row's entries begin, and the end.
    bases : ndarray of shape (n_rows,)
        Place of the row's first leaf in its tree.
    row_starts : ndarray of shape (n_trees + 1,)
        Where each tree's rows begin, and the end.
    leaf_values : ndarray
        Eight for each row, a tree's from left to right, and some more that may be read.
    """

    columns: NDArray[np.int32]
    cuts: NDArray[np.uint8]
    masks: NDArray[np.uint8]
    starts: NDArray[np.int64]
    bases: NDArray[np.uint8]
    row_starts: NDArray[np.int64]
    leaf_values: NDArray[np.float64]


def rows_of(trees: Trees, columns: NDArray[np.int32], cuts: NDArray[np.uint8]) -> Rows:
    """The rows of trees with at most 256 leaves, given each split's column and cut."""
    n_leaves = np.diff(trees.leaf_offsets)
    places, firsts, n_left = _place_leaves(
        trees.left_children, trees.right_children, trees.split_offsets, trees.leaf_offsets
    )
    n_rows = -(-n_leaves // ROW)
    row_starts = np.append(0, np.cumsum(n_rows))
    tree_of_split = np.repeat(np.arange(trees.n_trees), n_leaves - 1)
    ends = firsts + n_left
    n_entries = (ends - 1) // ROW - firsts // ROW + 1
    split = np.repeat(np.arange(len(firsts)), n_entries)
    number = np.arange(len(split)) - np.repeat(np.cumsum(n_entries) - n_entries, n_entries)
    base = (firsts[split] // ROW + number) * ROW
    low, high = np.maximum(firsts[split], base) - base, np.minimum(ends[split] - base, ROW)
    row = row_starts[tree_of_split[split] + 1] - 1 - base // ROW
    order = np.argsort(row, kind="stable")
    values = np.zeros(row_starts[-1] * ROW + MAX_TABLES * ROW)
    values[np.repeat(row_starts[:-1] * ROW, n_leaves) + places] = trees.leaf_values
    within = np.arange(row_starts[-1]) - np.repeat(row_starts[:-1], n_rows)
    return Rows(
        read_only(columns[split[order]], np.int32),
        read_only(cuts[split[order]], np.uint8),
        read_only((~((1 << high) - (1 << low)) & 0xFF)[order], np.uint8),
        read_only(np.append(0, np.cumsum(np.bincount(row, minlength=row_starts[-1]))), np.int64),
        read_only((np.repeat(n_rows, n_rows) - 1 - within) * ROW, np.uint8),
        read_only(row_starts, np.int64),
        read_only(values, np.float64),
    )


@kernel
def _place_leaves(
    left_children: NDArray[np.int32],
    right_children: NDArray[np.int32],
    split_offsets: NDArray[np.int64],
    leaf_offsets: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Each leaf's place in its tree from left to right; each split's first, and number on its left.

    Children come after their parents.
    """
    places = np.zeros(leaf_offsets[-1], np.int64)
    firsts = np.zeros(len(left_children), np.int64)
    n_left = np.zeros(len(left_children), np.int64)
    n_below = np.zeros(len(left_children), np.int64)
    for tree in range(len(split_offsets) - 1):
        root, end = split_offsets[tree], split_offsets[tree + 1]
        for split in range(end - 1, root - 1, -1):
            left, right = left_children[split], right_children[split]
            n_left[split] = n_below[root + left] if left >= 0 else 1
            n_below[split] = n_left[split] + (n_below[root + right] if right >= 0 else 1)
        for split in range(root, end):
            left, right = left_children[split], right_children[split]
            for child, place in ((left, firsts[split]), (right, firsts[split] + n_left[split])):
                if child >= 0:
                    firsts[root + child] = place
                else:
                    places[leaf_offsets[tree] + ~child] = place
    return places, firsts, n_left
