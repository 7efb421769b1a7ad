"""What chooses between the groups of a local model, as data where it can be said."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from localrank.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.formulas.descriptions import Description

# How `localrank serve` says which groups weigh in a list.
SERVICE = {
    "request": "POST /v1/rank?explain=true with the documents of the list",
    "answer": "explanation.groups: each has the number of a group and its weight; groups without "
    "weight, or not named, have none",
}


@dataclass(frozen=True, eq=False)
class Router(ABC):
    """Weighs the groups of training queries for a list of documents.

    Parameters
    ----------
    selector_weights : callable
        The weight of each group for each query of a dataset, of shape (n_queries, n_groups): the
        selector's own code.
    """

    selector_weights: Callable[[RankingDataset], Floats]

    def weights(self, dataset: RankingDataset) -> Floats:
        """The weight of each group for each list, of shape (n_queries, n_groups)."""
        return self.selector_weights(dataset)

    @property
    def several(self) -> bool:
        """Whether more than one group may weigh in a list."""
        return False

    @property
    def needs_service(self) -> bool:
        """Whether some lists can only be routed by a service that has the whole model."""
        return False

    @abstractmethod
    def data(self, names: Sequence[str]) -> dict[str, Any]:
        """The router as JSON has it, given the names of the features. Groups count from 0."""


@dataclass(frozen=True, eq=False)
class LinearRouter(Router):
    """The group with the largest weighted sum of a list's description, or their softmax.

    Parameters
    ----------
    selector_weights : callable
    description : Description
    coefficients : ndarray of shape (n_classes, n_dimensions)
    intercepts : ndarray of shape (n_classes,)
    groups : ndarray of shape (n_classes,)
        The group that each row is of; other groups have no weight.
    hard : bool
        Whether the first of the largest sums takes all, or groups weigh by the softmax.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import adaptive_training
    >>> dataset, _ = make_queries(60, n_features=3, n_types=2)
    >>> router = adaptive_training(2, select="fusion").fit(dataset).formula().router
    >>> type(router).__name__, router.coefficients.shape, router.several
    ('LinearRouter', (2, 3), True)
    """

    description: Description
    coefficients: Floats
    intercepts: Floats
    groups: Integers
    hard: bool

    @property
    def several(self) -> bool:
        return not self.hard

    def data(self, names: Sequence[str]) -> dict[str, Any]:
        return {
            "router": "linear" if self.hard else "softmax",
            "description": self.description.data(names),
            "rows": self.groups.tolist(),
            "coefficients": self.coefficients.tolist(),
            "intercepts": self.intercepts.tolist(),
        }


@dataclass(frozen=True, eq=False)
class CentreRouter(Router):
    """The group whose centre is nearest to a list's description, or all by their nearness.

    With d the Euclidean distance of the description from a centre, a group weighs in proportion
    to exp(-d² / 2 width).

    Parameters
    ----------
    selector_weights : callable
    description : Description
    centres : ndarray of shape (n_groups, n_dimensions)
    width : float or None, default=None
        None: the nearest group takes all, the first of equals.
    n_used : int or None, default=None
        So many groups of the largest weights keep theirs, and the others have none; None: all.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import pca_queries
    >>> dataset, _ = make_queries(60, n_features=3, n_types=2)
    >>> router = pca_queries(2).fit(dataset).formula().router
    >>> type(router).__name__, len(router.centres), router.several
    ('CentreRouter', 2, False)
    """

    description: Description
    centres: Floats
    width: float | None = None
    n_used: int | None = None

    @property
    def several(self) -> bool:
        return self.width is not None and len(self.centres) > 1 and self.n_used != 1

    def data(self, names: Sequence[str]) -> dict[str, Any]:
        data: dict[str, Any] = {
            "router": "nearest-centre" if self.width is None else "near-centres",
            "description": self.description.data(names),
            "centres": self.centres.tolist(),
        }
        if self.width is not None:
            data |= {"width": self.width, "n_used": self.n_used or len(self.centres)}
        return data


@dataclass(frozen=True, eq=False)
class CategoryRouter(Router):
    """The group of the query's category.

    Parameters
    ----------
    selector_weights : callable
    feature : int or None
        The feature that holds the category; None: categories are known by query id.
    groups : mapping
        From values of the feature, or from query ids as texts, to groups.
    refuses : bool
        Whether a list of any other category is an error, or goes to the group of its nearest
        training query, which takes a service.

    Examples
    --------
    >>> router = CategoryRouter(lambda dataset: ..., None, {"7": 0, "8": 1}, refuses=True)
    >>> router.data(["bm25"])["categories"]
    ['7', '8']
    """

    feature: int | None
    groups: Mapping[float | str, int]
    refuses: bool

    @property
    def needs_service(self) -> bool:
        return not self.refuses

    def data(self, names: Sequence[str]) -> dict[str, Any]:
        by = {"query": True} if self.feature is None else {"feature": names[self.feature]}
        data = {
            "router": "category",
            "by": by,
            "categories": list(self.groups),
            "category_groups": list(self.groups.values()),
            "others": "refuse" if self.refuses else "service",
        }
        return data if self.refuses else {**data, "service": SERVICE}


@dataclass(frozen=True, eq=False)
class ServiceRouter(Router):
    """A choice that takes the whole model: `localrank serve` makes it.

    Parameters
    ----------
    selector_weights : callable
    reason : str
        Why the choice cannot be said in data: a clause without a full stop.
    blends : bool
        Whether more than one group may weigh in a list.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import local_rank
    >>> dataset, _ = make_queries(60)
    >>> local_rank(3).fit(dataset).formula().router.reason
    'NearestQuery compares a list with 60 training queries'
    """

    reason: str
    blends: bool

    @property
    def several(self) -> bool:
        return self.blends

    @property
    def needs_service(self) -> bool:
        return True

    def data(self, names: Sequence[str]) -> dict[str, Any]:
        return {"router": "service", "reason": self.reason, "service": SERVICE}
