"""Linear ranker trained on the cross entropy of whole lists."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from localrank._base.arrays import Flags, Floats, Integers
from localrank._base.estimator import drawn_seed
from localrank._base.parallel import one_blas_thread
from localrank._base.rules import Rules, facts, number, optional, real, whole
from localrank._kernels.compilation import kernel
from localrank._kernels.rows import longest_query, projections
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.data._content_order import row_keys
from localrank.measures import Measure, parse_measure
from localrank.measures.base import mean_of_queries
from localrank.measures.parsing import a_measure
from localrank.rankers._gains import (
    Gain,
    a_gain,
    check_gains,
    differ_in_gain,
    lesson_of_gain,
    targets,
)
from localrank.rankers._linear import LinearRanker, Scaling
from localrank.rankers.base import HeldOut, Missing, Needs, Weights, missing_rule
from localrank.registry import declare

# Values tried if l2 is None, from strong to weak.
L2S = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
# Accurate enough to compare the models of a path.
_PATH_TOL = 1e-5
# Used if no query can be held out.
SINGLE_QUERY_L2 = 1.0


@declare("listwise-linear", "linear, from whole lists")
class ListwiseLinear(LinearRanker):
    """Linear ranker whose softmax over a query's documents approximates the gains of the labels.

    By default it chooses its penalty `l2` itself.

    It minimises the mean over the queries with different labels of

        -Σ_i t_i log softmax(Xw)_i + l2/2 ‖w‖²

    The targets t_i of a query's documents are proportional to their gains 2^y_i - 1. If labels are
    larger than 30, the gain is y_i. If the lowest label is negative, gains are counted from it. The
    parameter `gain` sets other gains. This is ListNet's loss [1] with other targets; for labels 0
    and 1 it bounds NDCG [2]. The function is convex, and minimised by L-BFGS. Every query weighs
    the same, however long its list. Labels may be any numbers. The model does not depend on the
    order of the rows.

    Parameters
    ----------
    l2 : float or None, default=None
        Weight of the penalty on w. None: the best of 13 values from 100 to 0.0001, about half a
        power of ten apart. The best value has the best `measure` on the validation queries given
        to `fit`, or else in cross-validation over the training queries; among equals, the
        strongest. With a single query to learn from, it is 1.
    scaling : {"standard", "query"} or None, default="standard"
        "standard": divide each feature by its standard deviation within queries. "query": map
        each feature to [0, 1] within each query. None: leave features as they are.
        Cross-validation does not learn it anew for each fold.
    n_folds : int, default=5
        Number of folds in cross-validation. The folds depend only on the content of the queries
        and the seed. Copies of a query are in the same fold.
    measure : str or Measure, default="ndcg@10"
        Measure that chooses l2. It is minimised if small values are good.
    gain : {"exponential", "linear"}, list of float or None, default=None
        Gain of a label y in training. "exponential": 2^y - 1. "linear": y. A list: the gains of
        the labels 0, 1, 2 and so on, which must not fall. None: chosen by the size of the labels,
        as above. `measure` keeps its own gains.
    tol : float, default=1e-8
        Stop when the gradient is at most this share of the gradient at w = 0. Both are measured in
        coordinates in which all directions have about the same curvature. Scores are then about
        as accurate.
    max_iter : int, default=1000
        Largest number of steps.
    random_state : int or None, default=0
        Seed of the folds.
    missing : {"impute", "refuse"}, default="impute"
        "impute": fill a missing value with the median of its query, and add an indicator column
        for each feature that has missing values in training. "refuse": raise an error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the scaled features, then of the indicators.
    scale_ : ndarray of shape (n_features,)
        With `scaling="standard"`: the divisor of each feature.
    l2_ : float
        The given or chosen value of `l2`.
    l2_path_ : list of (float, float)
        Each value tried, with the mean measure of the held-out queries. Empty if none was tried.
    objective_ : float
        Value of the formula above at `coef_`.
    n_iter_ : int
        Number of steps to `coef_`.

    Notes
    -----
    With query weights, the mean above and the mean of the measure are weighted. A query of weight
    2 counts like the query given twice.

    References
    ----------
    1. Cao, Qin, Liu, Tsai, Li. Learning to Rank: From Pairwise Approach to Listwise Approach.
       ICML 2007.
    2. Bruch, Wang, Bendersky, Najork. An Analysis of the Softmax Cross Entropy Loss for
       Learning-to-Rank with Binary Relevance. ICTIR 2019.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(120, n_documents=(3, 8), random_state=0)
    >>> train, test = dataset.select(range(80)), dataset.select(range(80, 120))
    >>> ranker = ListwiseLinear().fit(train)
    >>> len(ranker.l2_path_)
    13
    >>> ranker.score(test) > 0.85
    True
    """

    needs = Needs(blocks=True, trial=False)

    _parameters: ClassVar[Rules] = {
        "gain": a_gain,
        "l2": optional(number(above=0)),
        "n_folds": whole(2),
        "measure": a_measure,
        "tol": number(above=0),
        "max_iter": whole(1, 1_000_000),
        "missing": missing_rule,
    }

    _fitted: ClassVar[Rules] = {
        "objective_": real,
        "n_iter_": whole(0),
        "l2_": real,
        "l2_path_": facts,
    }

    def __init__(
        self,
        l2: float | None = None,
        *,
        scaling: Scaling = "standard",
        n_folds: int = 5,
        measure: str | Measure = "ndcg@10",
        gain: Gain = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: int | None = 0,
        missing: Missing = "impute",
    ) -> None:
        self.l2 = l2
        self.scaling = scaling
        self.n_folds = n_folds
        self.measure = measure
        self.gain = gain
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.missing = missing

    def learns_from(self, dataset: RankingDataset) -> Flags:
        return differ_in_gain(dataset, self.gain)

    def _lesson(self) -> str:
        return lesson_of_gain(self.gain)

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        check_gains(self, dataset, query_weights)
        measure = parse_measure(self.measure)
        weights = np.ones(dataset.n_queries) if query_weights is None else query_weights
        if self.l2 is None:
            if valid is None:
                _check_decides(measure, dataset, weights)
            else:
                _check_decides(measure, valid, np.ones(valid.n_queries))
        self._learn_scaling(dataset)
        features = np.empty((dataset.n_documents, dataset.n_features))
        for rows, block in self._scaled_blocks(dataset):
            # Only differences within a query matter. A constant feature becomes exactly 0.
            first, last = np.searchsorted(dataset.offsets, [rows.start, rows.stop])
            begins = dataset.offsets[first:last] - rows.start
            firsts = np.repeat(block[begins], dataset.query_sizes[first:last], axis=0)
            np.subtract(block, firsts, out=features[rows])
        lists = dataset.replaced(features=features)
        # The matrices are small: threads of BLAS would mostly wait for each other.
        with one_blas_thread():
            teaching = np.where(self.learns_from(lists), weights, 0.0)
            loss = CrossEntropy.of(features, lists.offsets, targets(lists, self.gain), teaching)
            values: list[float] = []
            if self.l2 is None and valid is not None:
                values = self._values_on(valid, loss, measure)
            elif self.l2 is None:
                folds = self._folds(dataset, weights)
                values = self._values_across(folds, lists, weights, loss, measure)
            l2 = SINGLE_QUERY_L2 if self.l2 is None else float(self.l2)
            if values:
                l2 = L2S[int(np.argmax(values) if measure.higher_is_better else np.argmin(values))]
            minimum = loss.minimum(l2, self.tol, self.max_iter)
        self.coef_ = minimum.weights
        self.objective_ = minimum.objective
        self.n_iter_ = minimum.n_steps
        self.l2_ = l2
        self.l2_path_ = list(zip(L2S, values, strict=False))
        if not minimum.converged:
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(
                f"ListwiseLinear stopped after {self.n_iter_} steps, with a gradient larger than "
                f"tol={self.tol:g} allows. Raise 'max_iter', 'tol' or 'l2', or scale the features.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _values_on(
        self, valid: RankingDataset, loss: CrossEntropy, measure: Measure
    ) -> list[float]:
        """Mean measure of the validation queries for each l2."""
        features = read_only(self._scaled(valid), np.float64)
        return [
            mean_of_queries(measure.of_rows(valid, projections(features, weights)))
            for weights in loss.path(L2S, max(self.tol, _PATH_TOL), self.max_iter)
        ]

    def _values_across(
        self,
        folds: Integers,
        lists: RankingDataset,
        query_weights: Floats,
        loss: CrossEntropy,
        measure: Measure,
    ) -> list[float]:
        """Mean measure of held-out queries for each l2, over all folds. Empty for one fold.

        Queries with one label count too: their value does not depend on the scores.
        """
        n_folds = folds.max() + 1
        if n_folds < 2:
            return []
        scores = np.zeros((len(L2S), lists.n_documents))
        for fold in range(n_folds):
            held_out = folds == fold
            rows = held_out[lists.query_index]
            features = read_only(lists.features[rows], np.float64)
            path = loss.without(held_out).path(L2S, max(self.tol, _PATH_TOL), self.max_iter)
            for scores_of_l2, weights in zip(scores, path, strict=True):
                scores_of_l2[rows] = projections(features, weights)
        values = np.array([measure.of_rows(lists, scores_of_l2) for scores_of_l2 in scores])
        counted = ~np.isnan(values[0])
        means: list[float] = np.average(
            values[:, counted], axis=1, weights=query_weights[counted]
        ).tolist()
        return means

    def _folds(self, dataset: RankingDataset, query_weights: Floats) -> Integers:
        """The fold of each query; -1 for queries that nothing can be learned from."""
        seed = drawn_seed(self.random_state)
        used = self.learns_from(dataset) & (query_weights > 0)
        keys = np.add.reduceat(row_keys(dataset, seed), dataset.offsets[:-1])
        folds = np.full(dataset.n_queries, -1)
        folds[used] = np.unique(keys[used], return_inverse=True)[1] % self.n_folds
        return folds


def _check_decides(measure: Measure, dataset: RankingDataset, query_weights: Floats) -> None:
    # Which queries a measure skips does not depend on the scores.
    values = measure.of_rows(dataset, np.zeros(dataset.n_documents))
    if np.isnan(values[query_weights > 0]).all():
        raise ValueError(f"There is nothing to choose l2 by: {measure} skips every query.")


# With more features than this, the second derivatives at 0 are treated as a diagonal matrix.
_EXPLICIT = 2000
# Size of a block of features that is multiplied at a time.
_BLOCK_BYTES = 2**26


@dataclass(frozen=True)
class ListwiseSolution:
    """Weights, their objective, the number of steps, and whether the search converged."""

    weights: Floats
    objective: float
    n_steps: int
    converged: bool


@dataclass(frozen=True)
class CrossEntropy:
    """The weighted mean over queries of -Σ t_i log softmax(Xw)_i.

    L-BFGS takes more steps the more second derivatives differ between directions. If features are
    correlated, they differ by orders of magnitude. The search therefore uses coordinates z in which
    all second derivatives at w = 0 are 1: w = V z / sqrt(curvatures + l2), where V holds the
    eigenvectors of the covariance within queries.

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
        Rows query by query, each query's near the origin. Shifting a query changes nothing.
    offsets : ndarray of shape (n_queries + 1,)
    targets : ndarray of shape (n_documents,)
        Target of each document. The targets of a query with positive weight sum to 1.
    weights : ndarray of shape (n_queries,)
        Weights of the queries, with sum 1.
    curvatures : ndarray of shape (n_features,)
        Eigenvalues of the covariance.
    axes : ndarray of shape (n_features, n_features) or None
        V. None: the axes are the features.
    """

    features: Floats
    offsets: Integers
    targets: Floats
    weights: Floats
    curvatures: Floats
    axes: Floats | None

    @classmethod
    def of(cls, features: Floats, offsets: Integers, targets: Floats, weights: Floats) -> Self:
        """The cross entropy for query weights with any positive sum."""
        weights = weights / weights.sum()
        curvatures, axes = _curvatures(features, offsets, weights)
        return cls(
            read_only(features, np.float64),
            read_only(offsets, np.int64),
            read_only(targets, np.float64),
            read_only(weights, np.float64),
            curvatures,
            axes,
        )

    def without(self, queries: Flags) -> Self:
        """The mean over the other queries, in the same coordinates."""
        weights = np.where(queries, 0.0, self.weights)
        return replace(self, weights=read_only(weights / weights.sum(), np.float64))

    def evaluate(self, weights: Floats, l2: float) -> tuple[float, Floats]:
        """The cross entropy plus l2/2 |w|², and its gradient."""
        value, gradient = cross_entropy(
            self.features, self.offsets, self.targets, self.weights, weights
        )
        return value + 0.5 * l2 * float(weights @ weights), gradient + l2 * weights

    def minimum(
        self, l2: float, tol: float, max_iter: int, start: Floats | None = None
    ) -> ListwiseSolution:
        """The minimum of the cross entropy plus l2/2 |w|²."""
        # Imported here: loading a model does not need it.
        from scipy.optimize import minimize

        units = 1.0 / np.sqrt(self.curvatures + l2)
        axes = self.axes

        def weights_at(place: Floats) -> Floats:
            return place * units if axes is None else axes @ (place * units)

        def slope(gradient: Floats) -> Floats:
            return units * (gradient if axes is None else gradient @ axes)

        def evaluate(place: Floats) -> tuple[float, Floats]:
            value, gradient = self.evaluate(weights_at(place), l2)
            return value, slope(gradient)

        place = np.zeros_like(units)
        if start is not None:
            place = (start if axes is None else start @ axes) / units
        result = minimize(
            evaluate,
            place,
            jac=True,
            method="L-BFGS-B",
            options={
                "gtol": tol * np.abs(slope(self._gradient_at_zero)).max(),
                "ftol": 0.0,
                "maxiter": max_iter,
                "maxfun": 20 * max_iter,
            },
        )
        # Status 2: rounding stops the search along a line. That counts as converged.
        return ListwiseSolution(
            weights_at(result.x), float(result.fun), int(result.nit), result.status != 1
        )

    def path(self, l2s: Iterable[float], tol: float, max_iter: int) -> Iterator[Floats]:
        """The weights for each l2. Each search starts at the result of the one before."""
        weights = None
        for l2 in l2s:
            weights = self.minimum(l2, tol, max_iter, weights).weights
            yield weights

    @cached_property
    def _gradient_at_zero(self) -> Floats:
        return self.evaluate(np.zeros_like(self.curvatures), 0.0)[1]


def _curvatures(
    features: Floats, offsets: Integers, weights: Floats
) -> tuple[Floats, Floats | None]:
    """Second derivatives at w = 0, where every softmax is uniform, and their axes."""
    sizes = np.diff(offsets)
    shares = np.repeat(weights / sizes, sizes)
    means = np.add.reduceat(features, offsets[:-1]) / sizes[:, None]
    if features.shape[1] > _EXPLICIT:
        squares = np.einsum("i,ij,ij->j", shares, features, features, optimize=False)
        return np.maximum(squares - weights @ means**2, 0.0), None
    second = -(means * weights[:, None]).T @ means
    n_rows = max(_BLOCK_BYTES // features[0].nbytes, 1)
    for begin in range(0, len(features), n_rows):
        block = features[begin : begin + n_rows]
        second += (block * shares[begin : begin + n_rows, None]).T @ block
    values, axes = np.linalg.eigh(second)
    return np.maximum(values, 0.0), axes


# Sums may be taken in another order, which lets them use vector instructions.
@kernel(fastmath={"reassoc", "contract"})
def cross_entropy(
    features: Floats, offsets: Integers, targets: Floats, weights: Floats, direction: Floats
) -> tuple[float, Floats]:
    """The weighted sum over queries of -Σ t_i log softmax(X w)_i, and its gradient in w.

    The targets of a query sum to 1. Queries of weight 0 are passed over. Each query's rows are
    read twice in a row, so that the second time they are at hand.
    """
    n_features = features.shape[1]
    scores = np.empty(longest_query(offsets))
    value, gradient = 0.0, np.zeros(n_features)
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        if weights[query] == 0.0:
            continue
        largest = -np.inf
        for row in range(begin, end):
            score = 0.0
            for column in range(n_features):
                score += features[row, column] * direction[column]
            scores[row - begin] = score
            largest = max(largest, score)
        total = 0.0
        for place in range(end - begin):
            scores[place] -= largest
            total += np.exp(scores[place])
        log_total = np.log(total)
        for row in range(begin, end):
            log_share = scores[row - begin] - log_total
            value -= weights[query] * targets[row] * log_share
            excess = weights[query] * (np.exp(log_share) - targets[row])
            for column in range(n_features):
                gradient[column] += excess * features[row, column]
    return value, gradient
