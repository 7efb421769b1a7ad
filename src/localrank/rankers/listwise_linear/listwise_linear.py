"""Linear ranker trained on the cross entropy of whole lists."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np

from localrank.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.data.content_order import row_keys
from localrank.declaration import declare
from localrank.estimator import drawn_seed
from localrank.fitted import Kinds, count, facts, real
from localrank.kernels.rows import projections
from localrank.kernels.sorting import read_only
from localrank.measures import Measure, parse_measure
from localrank.measures.base import mean_of_queries
from localrank.measures.parsing import a_measure
from localrank.parallel import one_blas_thread
from localrank.parameters import Rules, number, optional, whole
from localrank.rankers.base import HeldOut, Missing, Weights, missing_rule
from localrank.rankers.gains import Gain, GainRanker, targets
from localrank.rankers.linear import LinearRanker, Scaling
from localrank.rankers.listwise_linear.cross_entropy import CrossEntropy

# Values tried if l2 is None, from strong to weak.
L2S = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
# Accurate enough to compare the models of a path.
_PATH_TOL = 1e-5
# Used if no query can be held out.
SINGLE_QUERY_L2 = 1.0


@declare("listwise-linear", "linear, from whole lists")
class ListwiseLinear(GainRanker, LinearRanker):
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

    _parameters: ClassVar[Rules] = {
        "l2": optional(number(above=0)),
        "n_folds": whole(2),
        "measure": a_measure,
        "tol": number(above=0),
        "max_iter": whole(1, 1_000_000),
        "missing": missing_rule,
    }

    _fitted: ClassVar[Kinds] = {
        "objective_": real,
        "n_iter_": count(0),
        "l2_": real,
        "l2_path_": facts,
    }

    _reads_blocks = True

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

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
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
