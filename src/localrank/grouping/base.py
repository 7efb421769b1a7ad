"""Groups of training queries, and the base of groupings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from localrank._base.arrays import Array, Integers
from localrank._base.estimator import Estimator, clone
from localrank._base.memory import check_memory
from localrank._base.rules import (
    Rule,
    Rules,
    check_parameters,
    check_together,
    facts,
    integers,
    whole,
)
from localrank.data._offsets import offsets_of
from localrank.representations.base import Representation

if TYPE_CHECKING:
    from localrank.grouping._training import TrainingQueries

# Queries checked first for enough different ones to cluster.
_SOME = 1024


@dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Groups of training queries, which may overlap.

    Parameters
    ----------
    members : ndarray
        Positions of the queries in the first group, ascending, then in the second, and so on.
    offsets : ndarray of shape (n_groups + 1,)
        Start of each group in `members`, and the end of the last.
    home : ndarray of shape (n_queries,)
        The group that serves each query. If groups do not overlap, it is the query's only group.
    n_merged : int
        Number of groups that were merged into others because they had too little to learn from.
    n_changed : tuple of int
        Number of queries that changed their group in each round of `Refined`; otherwise empty.

    Examples
    --------
    >>> groups = Groups.from_labels(np.array([5, 2, 5]))
    >>> groups
    Groups: 2, of 1 to 2 queries
    >>> groups[0], groups[1], groups.home
    (array([1]), array([0, 2]), array([1, 0, 1]))
    """

    _fitted: ClassVar[Rules] = {
        "home": integers("n_queries", below=2**62),
        "members": integers(None, below="n_queries"),
        "offsets": integers(None, below=2**62),
        "n_merged": whole(0),
        "n_changed": facts,
    }

    members: Integers
    offsets: Integers
    home: Integers
    n_merged: int = 0
    n_changed: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return f"Groups: {len(self):,}, of {self.sizes.min():,} to {self.sizes.max():,} queries"

    def _check_fitted(self) -> None:
        ascend = len(self.offsets) > 1 and bool((np.diff(self.offsets) > 0).all())
        ends = ascend and self.offsets[0] == 0 and self.offsets[-1] == len(self.members)
        check_together(self, holds=bool(ends) and self.home.max(initial=0) < len(self))

    @classmethod
    def from_labels(cls, labels: Array) -> Self:
        """One group for each value of the labels, in ascending order."""
        _, home, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        return cls(np.argsort(home, kind="stable"), offsets_of(sizes), home)

    @classmethod
    def from_lists(cls, lists: Sequence[Integers], home: Integers, n_merged: int = 0) -> Self:
        """Groups of the queries in each list."""
        offsets = offsets_of(np.array([len(queries) for queries in lists]))
        return cls(np.concatenate([np.sort(queries) for queries in lists]), offsets, home, n_merged)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, group: int) -> Integers:
        if not 0 <= group < len(self):
            raise IndexError(f"There are groups 0 to {len(self) - 1}. Got {group} instead.")
        return self.members[self.offsets[group] : self.offsets[group + 1]]

    def __iter__(self) -> Iterator[Integers]:
        return (self[group] for group in range(len(self)))

    @property
    def sizes(self) -> Integers:
        """Number of queries in each group."""
        return np.diff(self.offsets)

    def renumbered(self, queries: Integers) -> Groups:
        """The same groups with other positions: query i becomes query `queries[i]`."""
        home = np.empty_like(self.home)
        home[queries] = self.home
        return Groups.from_lists([queries[members] for members in self], home, self.n_merged)

    def distinct(self) -> Groups:
        """The groups without duplicates; of equal groups the first is kept."""
        first: dict[bytes, int] = {}
        kept = np.array([first.setdefault(members.tobytes(), len(first)) for members in self])
        lists = [self[group] for group in np.unique(kept, return_index=True)[1]]
        return Groups.from_lists(lists, kept[self.home], self.n_merged)


@dataclass(frozen=True, eq=False)
class Reordered:
    """Rows of an array in another order. A row is copied when it is asked for.

    Examples
    --------
    >>> rows = Reordered(np.array([[1.0], [2.0], [3.0]]), np.array([2, 0]))
    >>> len(rows), rows[:1], np.asarray(rows)
    (2, array([[3.]]), array([[3.],
           [1.]]))
    """

    array: Array
    order: Integers

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, rows: slice | Integers) -> Array:
        return self.array[self.order[rows]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype)

    def chosen(self, rows: Integers) -> Reordered:
        """Some of the rows."""
        return Reordered(self.array, self.order[rows])


class Grouping(Estimator):
    """Puts training queries into groups; scikit-learn's clusterers work as well."""

    # Whether `_group` takes `Reordered` descriptions, of which it copies a few at a time.
    _copies_few: ClassVar[bool] = False

    def group(self, representation: Representation, descriptions: Array | Reordered) -> Groups:
        """Groups of the queries with these descriptions."""
        check_parameters(self)
        rows: Any = descriptions if self._copies_few else np.asarray(descriptions)
        return self._group(representation, rows)

    @abstractmethod
    def _group(self, representation: Representation, descriptions: Array) -> Groups:
        """Group the queries."""

    def group_training(
        self, training: TrainingQueries, representation: Representation, descriptions: Array
    ) -> Groups:
        """Groups to train models on.

        A grouping that needs more than descriptions, such as `Refined`, overrides this.
        """
        return training.form_groups(self, representation, descriptions)


a_grouping = Rule(
    lambda value, _: isinstance(value, Grouping) or hasattr(value, "fit_predict"),
    "one of localrank.grouping or a clusterer of scikit-learn",
)


def group_queries(
    grouping: Any, representation: Representation, descriptions: Array | Reordered
) -> Groups:
    """Group queries by a `Grouping`, or by a clusterer of scikit-learn.

    A clusterer with `metric="precomputed"` gets the representation's distances. Any other
    clusterer gets the descriptions, which must be points.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from localrank.data import make_queries
    >>> from localrank.representations import Mean
    >>> dataset, _ = make_queries(30)
    >>> mean = Mean().fit(dataset)
    >>> len(group_queries(KMeans(3, random_state=0), mean, mean.transform(dataset)))
    3
    """
    if isinstance(grouping, Grouping):
        return grouping.group(representation, descriptions)
    descriptions = np.asarray(descriptions)
    if not hasattr(grouping, "fit_predict"):
        raise ValueError(
            f"A grouping must be one of localrank.grouping or a clusterer of scikit-learn. "
            f"Got {grouping!r} instead."
        )
    n_clusters = getattr(grouping, "n_clusters", None)
    if isinstance(n_clusters, int) and n_clusters > len(descriptions):
        raise too_many_groups(grouping, "n_clusters", len(descriptions))
    if getattr(grouping, "metric", None) == "precomputed":
        n = len(descriptions)
        check_memory(
            16 * n**2,
            f"{type(grouping).__name__} on the distances of {n:,} queries",
            "Use k-means, or fewer training queries.",
        )
        values = representation.distances(descriptions, descriptions)
    elif representation.points:
        values = descriptions
    else:
        raise ValueError(
            f"{type(grouping).__name__} needs queries that are points. "
            f"{type(representation).__name__} gives only distances between them. Use "
            f"Agglomerative, or a representation such as Mean or TopScores."
        )
    if isinstance(n_clusters, int) and _n_different(descriptions[:_SOME]) <= n_clusters:
        different, labels = np.unique(descriptions, axis=0, return_inverse=True)
        if len(different) <= n_clusters:
            # Nothing to cluster: each different description is a group.
            return Groups.from_labels(labels.ravel())
    return Groups.from_labels(clone(grouping).fit_predict(values))


def _n_different(descriptions: Array) -> int:
    return len(np.unique(descriptions, axis=0))


def drawn_positions(n_queries: int, n_drawn: int, random_state: int | None) -> Integers:
    """Positions of randomly drawn queries, ascending.

    Examples
    --------
    >>> drawn_positions(10, 3, 0)
    array([5, 6, 9])
    """
    rng = np.random.default_rng(random_state)
    return np.sort(rng.choice(n_queries, n_drawn, replace=False))


def too_many_groups(grouping: Any, name: str, n_queries: int) -> ValueError:
    """The error for more groups than queries."""
    return ValueError(
        f"The {name!r} parameter of {type(grouping).__name__} must be at most the number of "
        f"training queries ({n_queries}). Got {getattr(grouping, name)!r} instead."
    )
