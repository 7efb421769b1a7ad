"""Linear ranker by the cross entropy of whole lists."""

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

# What is tried where l2 is None, from strong to weak.
L2S = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
# Accuracy that tells models of the path apart as well as any.
_PATH_TOL = 1e-5
# Where nothing can be held out.
SINGLE_QUERY_L2 = 1.0


@declare("listwise-linear", "linear, from whole lists")
class ListwiseLinear(GainRanker, LinearRanker):
    """Linear ranker whose softmax over a query's documents comes near the gains of the labels.

    It minimises the mean over the queries with different labels of

        -Σ_i t_i log softmax(Xw)_i + l2/2 ‖w‖²

    where the targets t_i of a query's documents are in proportion to their gains 2^y_i - 1, or y_i
    where labels are larger than 30; gains are counted from the lowest label where it is negative;
    `gain` chooses others. It is ListNet's loss [1]_ with other targets; for labels 0 and 1 it
    bounds NDCG [2]_. The function is convex, and minimised by L-BFGS. Every query weighs the same,
    however long. Any labels serve. The model does not depend on the order of the rows.

    Parameters
    ----------
    l2 : float or None, default=None
        Weight of the size of w. None chooses it from 13 values from 100 to 0.0001, about half a
        power of ten apart: the one with the best `measure` on the validation queries given to
        `fit`, or else in cross-validation over the training queries; of equal ones the
        strongest. With a single query to learn from it is 1.
    scaling : {"standard", "query"} or None, default="standard"
        Features are divided by their standard deviation around the query means, or mapped to
        [0, 1] within each query, or left as they are. Cross-validation does not repeat it.
    n_folds : int, default=5
        Parts of the queries in cross-validation. The parts depend on the content of the queries
        and the seed alone, and queries that are copies are in one part.
    measure : str or Measure, default="ndcg@10"
        What the choice of l2 maximises, or minimises where small values are good.
    gain : {"exponential", "linear"}, list of float or None, default=None
        2^y - 1, y, or the gains of the labels 0, 1, 2 and so on, which never fall. None: by the
        size of the labels, as said above. What `measure` counts is not changed by it.
    tol : float, default=1e-8
        Stop when the gradient has fallen to this share of that at w = 0, both in coordinates in
        which all directions are about as curved. Scores are then about as accurate.
    max_iter : int, default=1000
        Most steps.
    random_state : int or None, default=0
        Seed of the parts.
    missing : {"impute", "refuse"}, default="impute"
        Missing values are filled by the median of the query, with an indicator for each feature
        that has any in training; or refused.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the scaled features, then of the indicators.
    scale_ : ndarray of shape (n_features,)
        Under `scaling="standard"`: what each feature is divided by.
    l2_ : float
        The one given or chosen.
    l2_path_ : list of (float, float)
        Each value tried, with the mean measure of the held-out queries; empty where none was.
    objective_ : float
        Value of the formula above at `coef_`.
    n_iter_ : int
        Steps to `coef_`.

    Notes
    -----
    Query weights make the means above weighted ones, that of the measure too. A query of weight 2
    counts like the query given twice.

    References
    ----------
    .. [1] Cao, Qin, Liu, Tsai, Li. Learning to Rank: From Pairwise Approach to Listwise Approach.
       ICML 2007.
    .. [2] Bruch, Wang, Bendersky, Najork. An Analysis of the Softmax Cross Entropy Loss for
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
            # Only differences within a query matter. A constant becomes exactly 0.
            first, last = np.searchsorted(dataset.offsets, [rows.start, rows.stop])
            begins = dataset.offsets[first:last] - rows.start
            firsts = np.repeat(block[begins], dataset.query_sizes[first:last], axis=0)
            np.subtract(block, firsts, out=features[rows])
        lists = dataset.replaced(features=features)
        # Matrices are small: BLAS's threads would do little but wait for each other.
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
            found = loss.minimum(l2, self.tol, self.max_iter)
        self.coef_ = found.weights
        self.objective_ = found.objective
        self.n_iter_ = found.n_steps
        self.l2_ = l2
        self.l2_path_ = list(zip(L2S, values, strict=False))
        if not found.converged:
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
        """The mean measure of validation queries, along the path."""
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
        """The mean measure of queries whose fold was held out, along the path.

        Queries of one label have the same value by any scores. Empty without two folds.
        """
        n_folds = folds.max() + 1
        if n_folds < 2:
            return []
        scores = np.zeros((len(L2S), lists.n_documents))
        for fold in range(n_folds):
            own = folds == fold
            rows = own[lists.query_index]
            features = read_only(lists.features[rows], np.float64)
            path = loss.without(own).path(L2S, max(self.tol, _PATH_TOL), self.max_iter)
            for held_out, weights in zip(scores, path, strict=True):
                held_out[rows] = projections(features, weights)
        values = np.array([measure.of_rows(lists, held_out) for held_out in scores])
        counted = ~np.isnan(values[0])
        means: list[float] = np.average(
            values[:, counted], axis=1, weights=query_weights[counted]
        ).tolist()
        return means

    def _folds(self, dataset: RankingDataset, query_weights: Floats) -> Integers:
        """The fold of each query that teaches something, -1 for others."""
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
