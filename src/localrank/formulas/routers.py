"""Routers: they choose between the groups of a local model. Most can be exported as data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.representations import (
    Mean,
    Representation,
    Scaled,
    Skew,
    TopDocuments,
    TopScores,
    Variance,
)

# How `localrank serve` reports which groups weigh in a list.
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
        Function that returns the weight of each group for each query of a dataset, of shape
        (n_queries, n_groups): the selector's own code.
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
        """The router as data for JSON, given the names of the features. Groups count from 0."""


@dataclass(frozen=True, eq=False)
class LinearRouter(Router):
    """Chooses the group with the largest linear score of a list's description, or mixes groups.

    Parameters
    ----------
    selector_weights : callable
    description : Description
    coefficients : ndarray of shape (n_classes, n_dimensions)
    intercepts : ndarray of shape (n_classes,)
    groups : ndarray of shape (n_classes,)
        Group of each row. Other groups have no weight.
    hard : bool
        True: the group with the largest sum takes all; the first of equals. False: groups weigh by
        the softmax of the sums.

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
    """Chooses the group whose centre is nearest to a list's description, or mixes near groups.

    Let d be the Euclidean distance between the description and a centre. The weight of a group is
    proportional to exp(-d² / 2 width).

    Parameters
    ----------
    selector_weights : callable
    description : Description
    centres : ndarray of shape (n_groups, n_dimensions)
    width : float or None, default=None
        Width of the weights. None: the nearest group takes all; the first of equals.
    n_used : int or None, default=None
        Number of groups that keep their weight, those with the largest weights. None: all.

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
    """Chooses the group of the query's category.

    Parameters
    ----------
    selector_weights : callable
    feature : int or None
        The feature that holds the category. None: categories are looked up by query id.
    groups : mapping
        Group of each value of the feature, or of each query id as text.
    refuses : bool
        True: a list of any other category is an error. False: it goes to the group of its nearest
        training query, which needs a service.

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
    """A choice that needs the whole model: `localrank serve` makes it.

    Parameters
    ----------
    selector_weights : callable
    reason : str
        Why the choice cannot be exported as data: a clause without a full stop.
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


DescriptionKind = Literal["mean", "variance", "skew", "top-documents", "top-values"]


@dataclass(frozen=True, eq=False)
class Description:
    """The numbers that describe a list of documents.

    A missing value is filled with the median of the feature in the list, or with `fill` if no
    document has it. Each feature is divided by `scale`. Then `kind` makes one number of each
    feature. Of these numbers only the `columns` are kept, or `centre` is subtracted and the rest
    is multiplied by `components`.

    Parameters
    ----------
    kind : str
        "mean", "variance" (divisor n) or "skew" (third central moment over σ³, 0 if all values are
        equal) of the documents. "top-documents": the mean of the first `n` documents by the
        feature `by`; documents with equal values at the cut share the remaining places.
        "top-values": the mean of the `n` largest values of each feature.
    fill, scale : ndarray of shape (n_features,)
        Fill value and divisor of each feature.
    n : int, optional
        Number of documents or values, for "top-documents" and "top-values".
    by : int, optional
        Feature that orders the documents, for "top-documents".
    columns : ndarray of int, optional
        Numbers to keep. None: all.
    centre : ndarray of shape (n_features,), optional
        Subtracted from the numbers. None: nothing is subtracted.
    components : ndarray of shape (n_components, n_features), optional
        Multiplied with the numbers. None: nothing is multiplied.
    """

    kind: DescriptionKind
    fill: Floats
    scale: Floats
    n: int | None = None
    by: int | None = None
    columns: Integers | None = None
    centre: Floats | None = None
    components: Floats | None = None

    @classmethod
    def of(cls, representation: Representation) -> Description | None:
        """The description that a fitted representation makes; None if it is of no such kind.

        Examples
        --------
        >>> from localrank.data import RankingDataset
        >>> dataset = RankingDataset.from_arrays([[1.0, 5.0], [3.0, 5.0]], qid=["a", "a"])
        >>> Description.of(Scaled(Mean()).fit(dataset)).data(["bm25", "age"])
        {'kind': 'mean', 'fill': [0.0, 0.0], 'divide_by': [1.0, 1.0]}
        """
        n_features = representation.n_features_in_
        filling = getattr(representation, "filling_", None)
        fill = np.zeros(n_features) if filling is None else filling.values
        plain = cls("mean", fill, np.ones(n_features))
        match representation:
            case Scaled():
                inner = cls.of(representation.representation_)
                # Nothing is missing after the first filling.
                return inner and replace(inner, fill=fill, scale=representation.spread_)
            case Mean():
                return plain
            case Variance():
                return replace(plain, kind="variance")
            case Skew():
                return replace(plain, kind="skew")
            case TopDocuments():
                return replace(
                    plain,
                    kind="top-documents",
                    n=representation.n,
                    by=representation.feature_,
                    columns=representation.columns_,
                )
            case TopScores():
                return replace(
                    plain,
                    kind="top-values",
                    n=representation.h,
                    centre=representation.mean_,
                    components=representation.components_,
                )
            case _:
                return None

    def data(self, names: Sequence[str]) -> dict[str, Any]:
        """The description as data for JSON, given the names of the features."""
        data: dict[str, Any] = {"kind": self.kind}
        if self.n is not None:
            data["n"] = self.n
        if self.by is not None:
            data["by"] = names[self.by]
        data |= {"fill": self.fill.tolist(), "divide_by": self.scale.tolist()}
        if self.columns is not None:
            data["columns"] = [names[column] for column in self.columns.tolist()]
        if self.centre is not None and self.components is not None:
            data |= {"subtract": self.centre.tolist(), "components": self.components.tolist()}
        return data
