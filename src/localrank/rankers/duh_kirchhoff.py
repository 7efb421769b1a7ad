"""Duh and Kirchhoff's ranker: one model per query, trained on the query's principal components."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Array, Flags, Floats
from localrank._base.estimator import clone
from localrank._base.parallel import in_parallel, one_thread
from localrank._base.rules import (
    Rules,
    check_together,
    facts,
    floats,
    instance,
    number,
    one_of,
    optional,
    whole,
)
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.rankers._inputs import filling_of
from localrank.rankers._linear import Scaling, ScalingRanker
from localrank.rankers._training import teaching
from localrank.rankers.base import HeldOut, Missing, Needs, Ranker, Weights, missing_rule
from localrank.rankers.rank_boost.rank_boost import RankBoost
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.formulas import Formula

Function = Callable[[Floats], Floats]

# A direction whose variance is a smaller share of the largest is dropped.
RESOLUTION = 1e-10
# Differences between documents below this share of their values are rounding.
ROUNDING = 1e-14
# Number of kernel values in memory at a time.
BLOCK = 2**20


@declare(
    "duh-kirchhoff",
    "one model per query, trained on its documents' principal components",
    kind="local",
    sample={"ranker": "rank-boost", "ranker__n_rounds": 8},
)
class DuhKirchhoff(ScalingRanker):
    """Trains a ranker for each query, on training data projected on its principal components.

    To rank a query, it finds the principal components of the query's documents [1], projects all
    training documents on them, trains a ranker there, and ranks the projected documents of the
    query with it. Every query thus has a model fitted to the directions in which its documents
    differ. Nothing is learned before the query is known: `fit` and the saved model keep the
    training data. Ranking one query takes as long as training one ranker: it is slow by design.

    Parameters
    ----------
    ranker : Ranker, optional
        The ranker to train for each query. None: RankBoost(100).
    kernel : {"linear", "poly", "rbf"}, default="linear"
        "linear": plain principal components. "poly": kernel PCA with (gamma x·y + 1)^degree.
        "rbf": kernel PCA with exp(-gamma ‖x - y‖²).
    n_components : int, default=10
        Largest number of components. A query has no more than its documents span.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : float or None, default=None
        Factor in the kernels. None: 1 / number of features.
    scaling : {"standard", "query"} or None, default="standard"
        "standard": divide each feature by its standard deviation within queries. "query": map
        each feature to [0, 1] within each query. None: leave features as they are. Principal
        components depend on the units of features, so use None only for scaled features. With
        "standard", a feature that varies more than usual in a query counts more in that query.
    n_jobs : int or None, default=None
        Number of queries ranked at the same time, with one thread each. None: one. -1: one per
        core. The result does not depend on it.
    missing : {"impute", "refuse"}, default="impute"
        "impute": fill a missing value with the median of its query, and add an indicator column
        for each feature that has missing values in training. "refuse": raise an error.

    Attributes
    ----------
    training_ : dict of ndarray
        Scaled features, labels and offsets of the training queries.
    validation_ : dict of ndarray or None
        The same for the validation queries, for rankers that choose their size with them.
    query_weights_ : ndarray of shape (n_training_queries,) or None
    scale_ : ndarray of shape (n_features,)
        With `scaling="standard"`: the divisor of each feature.

    Notes
    -----
    If all documents of a query have the same features, there are no components, and all score 0.
    The polynomial kernel is computed relative to the mean of the query's documents. A shift of the
    features therefore changes no kernel.

    References
    ----------
    1. Duh, Kirchhoff. Learning to Rank with Partially-Labeled Data. SIGIR 2008.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60, random_state=0)
    >>> train, test = dataset.select(range(55)), dataset.select(range(55, 60))
    >>> ranker = DuhKirchhoff(RankBoost(30), n_components=8).fit(train)
    >>> ranker.predict(test).shape == (test.n_documents,)
    True
    """

    # Only weights of queries are kept for later training.
    needs = Needs(order="given", document_weights=False)

    _parameters: ClassVar[Rules] = {
        "ranker": optional(instance(Ranker, "a ranker or None")),
        "kernel": one_of("linear", "poly", "rbf"),
        "n_components": whole(1),
        "degree": whole(1, 100),
        "gamma": optional(number(above=0)),
        "missing": missing_rule,
    }

    _fitted: ClassVar[Rules] = {
        "training_": facts,
        "validation_": optional(facts),
        "query_weights_": optional(floats(None)),
    }

    def __init__(
        self,
        ranker: Ranker | None = None,
        *,
        kernel: Literal["linear", "poly", "rbf"] = "linear",
        n_components: int = 10,
        degree: int = 3,
        gamma: float | None = None,
        scaling: Scaling = "standard",
        n_jobs: int | None = None,
        missing: Missing = "impute",
    ) -> None:
        self.ranker = ranker
        self.kernel = kernel
        self.n_components = n_components
        self.degree = degree
        self.gamma = gamma
        self.scaling = scaling
        self.n_jobs = n_jobs
        self.missing = missing

    def learns_from(self, dataset: RankingDataset) -> Flags:
        return self._ranker().learns_from(dataset)

    def _lesson(self) -> str:
        return self._ranker()._lesson()

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        teaching(self, dataset, query_weights)
        self.training_ = _kept(dataset, self._scaled_training_features(dataset))
        self.validation_ = None if valid is None else _kept(valid, self._scaled(valid))
        self.query_weights_ = query_weights

    def _check_fitted(self) -> None:
        kept = [_dataset(part) for part in (self.training_, self.validation_) if part is not None]
        weights = self.query_weights_
        check_together(
            self,
            holds=all(part.n_features == filling_of(self).n_columns for part in kept)
            and all(part.relevance is not None for part in kept)
            and (weights is None or (len(weights) == kept[0].n_queries and weights.min() >= 0)),
        )

    def _formula(self) -> Formula:
        from localrank.formulas import NotExportable

        raise NotExportable(
            "DuhKirchhoff",
            "it trains a model for each list it ranks, and has no formula before",
            "Call it as a service by localrank serve, or distil it: "
            "distil(ranker, lists, student=GBRT()).",
        )

    def _predict(self, dataset: RankingDataset) -> Array:
        features = self._scaled(dataset)
        return np.concatenate(
            in_parallel(
                # A clone: the fitted attributes are large, and are shared below.
                clone(self)._scores_of,
                [features[begin:end] for begin, end in pairwise(dataset.offsets)],
                shared=(
                    _dataset(self.training_),
                    None if self.validation_ is None else _dataset(self.validation_),
                    self.query_weights_,
                ),
                n_jobs=self.n_jobs,
                description="Ranking queries",
            )
        )

    def _scores_of(
        self, documents: Floats, training: RankingDataset, valid: HeldOut, query_weights: Weights
    ) -> Floats:
        """Scores of a query's documents, by a model trained on their components."""
        # Sorted, so that the components are the same, to the last bit, for any order of documents.
        order = np.lexsort(documents.T[::-1])
        project = self._projection(documents[order])
        scores = np.zeros(len(documents))
        if project is None:
            return scores
        model = one_thread(self._ranker())
        model.fit_rows(
            training.replaced(features=project(training.features)),
            query_weights,
            None if valid is None else valid.replaced(features=project(valid.features)),
        )
        projected = RankingDataset(
            project(documents[order]), None, np.array([0, len(documents)]), np.array([0])
        )
        scores[order] = model.predict_rows(projected)
        return scores

    def _projection(self, documents: Floats) -> Function | None:
        """The function that projects rows on a query's components; None if it has none."""
        # The mean is taken of differences from a document, so that a constant feature adds none.
        centre = documents[0] + (documents - documents[0]).mean(axis=0)
        centred = documents - centre
        if np.abs(centred).max() <= ROUNDING * np.abs(documents).max():
            return None
        if self.kernel == "linear":
            left, lengths, axes = np.linalg.svd(centred, full_matrices=False)
            n = min(self.n_components, int(np.sum(lengths > RESOLUTION**0.5 * lengths[0])))
            directions = axes[:n].T * _signs(left[:, :n])
            # Without this, rounding would let constant features separate training documents.
            directions[~centred.any(axis=0)] = 0.0
            return lambda rows: row_products(rows - centre, directions)
        gamma = 1 / documents.shape[1] if self.gamma is None else float(self.gamma)
        kernel = partial(
            kernel_values, points=centred, kernel=self.kernel, degree=self.degree, gamma=gamma
        )
        return self._kernel_projection(kernel, centre, centred)

    def _kernel_projection(
        self, kernel: Function, centre: Floats, points: Floats
    ) -> Function | None:
        # Imported here: loading a model does not need it.
        from scipy.linalg import eigh

        values = kernel(points)
        means = values.mean(axis=0)
        size = len(points)
        variances, vectors = eigh(
            values - means - means[:, None] + means.mean(),
            subset_by_index=(max(size - self.n_components, 0), size - 1),
        )
        noise = size * np.finfo(np.float64).eps * values.max()
        kept = np.flatnonzero(variances > max(RESOLUTION * variances[-1], noise))[::-1]
        if not kept.size:
            return None
        vectors = vectors[:, kept]
        weights = vectors * (_signs(vectors) / np.sqrt(variances[kept]))
        # Kernel values are centred by row. Weights with sum 0 have the same effect.
        weights -= weights.mean(axis=0)
        origin = means @ weights

        def project(rows: Floats) -> Floats:
            step = max(BLOCK // size, 1)
            projected = np.empty((len(rows), len(kept)))
            for first in range(0, len(rows), step):
                block = slice(first, first + step)
                projected[block] = row_products(kernel(rows[block] - centre), weights) - origin
            return projected

        return project

    def _ranker(self) -> Ranker:
        return RankBoost(100) if self.ranker is None else self.ranker


def _kept(dataset: RankingDataset, features: Floats) -> dict[str, Array]:
    return {"features": features, "labels": dataset.labels, "offsets": dataset.offsets}


def _dataset(kept: dict[str, Array]) -> RankingDataset:
    n_queries = len(kept["offsets"]) - 1
    return RankingDataset(kept["features"], kept["labels"], kept["offsets"], np.arange(n_queries))


def _signs(vectors: Floats) -> Floats:
    """Signs that make the largest entry of each column positive; the first of near-equals."""
    sizes = np.abs(vectors)
    first = np.argmax(sizes > 0.999999 * sizes.max(axis=0), axis=0)
    signs: Floats = np.sign(vectors[first, np.arange(vectors.shape[1])])
    return signs


def row_products(rows: Floats, matrix: Floats) -> Floats:
    """The matrix product, row by row.

    Examples
    --------
    >>> row_products(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [0.0, 5.0]]))
    array([[ 3., 10.]])
    """
    products: Floats = _row_products(read_only(rows, np.float64), read_only(matrix, np.float64))
    return products


def kernel_values(
    rows: Floats, points: Floats, kernel: Literal["poly", "rbf"], degree: int, gamma: float
) -> Floats:
    """The kernel between each row and each point.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    points : ndarray of shape (n_points, n_features)
    kernel : {"poly", "rbf"}
        (gamma x·y + 1)^degree or exp(-gamma ‖x - y‖²).
    degree : int
        Of the polynomial.
    gamma : float

    Examples
    --------
    >>> kernel_values(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]]), "poly", 2, 1.0)
    array([[16.]])
    """
    columns = read_only(points.T, np.float64)
    if kernel == "rbf":
        values: Floats = _squared_distances(read_only(rows, np.float64), columns)
        values *= -gamma
        return np.exp(values, out=values)
    base = gamma * row_products(rows, columns) + 1.0
    values = base.copy()
    # Many times faster than a power, for the degrees in use.
    for _ in range(degree - 1):
        values *= base
    return values


@kernel
def _row_products(rows: Floats, matrix: Floats) -> Floats:
    products = np.zeros((len(rows), matrix.shape[1]))
    for row in range(len(rows)):
        for column in range(len(matrix)):
            # Several products at a time, each a sum in the order of the columns.
            for place in range(matrix.shape[1]):
                products[row, place] += rows[row, column] * matrix[column, place]
    return products


@kernel
def _squared_distances(rows: Floats, columns: Floats) -> Floats:
    distances = np.zeros((len(rows), columns.shape[1]))
    for row in range(len(rows)):
        for column in range(len(columns)):
            for place in range(columns.shape[1]):
                difference = rows[row, column] - columns[column, place]
                distances[row, place] += difference * difference
    return distances
