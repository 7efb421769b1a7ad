"""Coordinate ascent on a measure."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.estimator import drawn_seed
from localrank._base.progress import progress
from localrank._base.rules import Rules, floats, number, whole
from localrank._kernels.rows import projections
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.measures import Measure, parse_measure
from localrank.measures.parsing import a_measure
from localrank.rankers._judged import Judged
from localrank.rankers._linear import LinearRanker, Scaling
from localrank.rankers._training import teaching
from localrank.rankers.base import HeldOut, Missing, Weights, missing_rule
from localrank.registry import declare

# At most this many pairs with different labels, which decide the steps to try ...
MAX_PAIRS = 10_000
# ... and of pairs with any labels, from which these are drawn.
MAX_NUMBERS = 1_000_000
# Smaller differences between means are rounding.
ROUNDING = 1e-12


@declare(
    "coordinate-ascent",
    "linear, one weight at a time, for a measure",
    grid={"measure": ["ndcg@10", "map"]},
    sample={"n_restarts": 1, "n_steps": 10},
)
class CoordinateAscent(LinearRanker):
    """Linear ranker that maximises a measure directly, one weight at a time [1].

    All weights start equal. A pass visits the features in random order. It moves the weight of
    each to the value with the highest mean measure of the training queries, if that is an
    improvement. A climb ends when a pass raises the mean by less than `tol`. Several climbs visit
    the features in different orders; the best is kept.

    Along a weight, the measure changes only at steps that exchange two documents of a query. For
    documents i and j with scores s and values x of the feature, that is

        step = -(s_i - s_j) / (x_i - x_j)

    The steps of all pairs with different labels are sorted. One point between each two of them,
    and one beyond either end, is tried: the search along the line is exact. If there are more than
    `n_steps` points, only `n_steps` of them are tried, evenly spaced in their order.

    Parameters
    ----------
    n_restarts : int, default=5
        Number of climbs.
    n_steps : int, default=25
        Largest number of points tried along a weight.
    measure : str or Measure, default="ndcg@10"
        Measure to maximise. It is minimised if small values are good.
    tol : float, default=0.001
        A climb ends with the first pass that gains less than this.
    max_iter : int, default=25
        Largest number of passes of a climb.
    scaling : {"standard", "query"} or None, default="standard"
        "standard": divide each feature by its standard deviation within queries. "query": map
        each feature to [0, 1] within each query. None: leave features as they are.
    random_state : int or None, default=0
        Seed of the orders of the features, and of the sample of pairs.
    missing : {"impute", "refuse"}, default="impute"
        "impute": fill a missing value with the median of its query, and add an indicator column
        for each feature that has missing values in training. "refuse": raise an error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the scaled features, then of the indicators. Their absolute values sum to 1.
    scale_ : ndarray of shape (n_features,)
        With `scaling="standard"`: the divisor of each feature.
    performances_ : ndarray of shape (n_passes + 1,)
        Mean measure of the training queries in the best climb, before its first pass and after each
        pass. If small values are good, 1 minus the measure. It never falls.

    Notes
    -----
    With validation queries, the climb that is best on them is kept. If training queries have more
    than 10,000 pairs of documents with different labels, a random sample of 10,000 pairs decides
    which steps to try. The measure always uses all documents. A query's weight multiplies its
    share in the mean.

    References
    ----------
    1. Metzler, Croft. Linear Feature-Based Models for Information Retrieval. Information
       Retrieval 10, 2007.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60, n_features=5, n_types=1, random_state=0)
    >>> train, test = dataset.select(range(40)), dataset.select(range(40, 60))
    >>> ranker = CoordinateAscent(2).fit(train)
    >>> float(np.abs(ranker.coef_).sum().round(6))
    1.0
    >>> ranker.score(test) > 0.8
    True
    """

    _parameters: ClassVar[Rules] = {
        "n_restarts": whole(1, 10_000),
        "n_steps": whole(2, 1_000_000),
        "measure": a_measure,
        "tol": number(least=0),
        "max_iter": whole(1, 1_000_000),
        "missing": missing_rule,
    }

    _fitted: ClassVar[Rules] = {"performances_": floats(None)}

    def __init__(
        self,
        n_restarts: int = 5,
        *,
        n_steps: int = 25,
        measure: str | Measure = "ndcg@10",
        tol: float = 0.001,
        max_iter: int = 25,
        scaling: Scaling = "standard",
        random_state: int | None = 0,
        missing: Missing = "impute",
    ) -> None:
        self.n_restarts = n_restarts
        self.n_steps = n_steps
        self.measure = measure
        self.tol = tol
        self.max_iter = max_iter
        self.scaling = scaling
        self.random_state = random_state
        self.missing = missing

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        measure = parse_measure(self.measure)
        judged = Judged.of(dataset, measure, query_weights, teaching(self, dataset, query_weights))
        held_out = None if valid is None else Judged.of(valid, measure)
        self._learn_scaling(dataset)
        rng = np.random.default_rng(drawn_seed(self.random_state))
        columns = np.ascontiguousarray(self._scaled(judged.dataset).T)
        pairs = sampled_pairs(judged.dataset, rng)
        highest = -np.inf
        with progress("CoordinateAscent", self.n_restarts) as advance:
            for _ in range(self.n_restarts):
                weights, performances = self._climb(judged, columns, pairs, rng)
                reached = performances[-1]
                if held_out is not None:
                    lists = read_only(self._scaled(held_out.dataset), np.float64)
                    reached = held_out.mean(projections(lists, weights))
                if reached > highest:
                    highest = reached
                    self.coef_, self.performances_ = weights, np.array(performances)
                advance()

    def _climb(
        self, judged: Judged, columns: Floats, pairs: Integers, rng: np.random.Generator
    ) -> tuple[Floats, list[float]]:
        """The weights at the end of a climb, and the mean measure before and after each pass."""
        n_features = len(columns)
        weights = np.full(n_features, 1.0 / n_features)
        scores = columns.mean(axis=0)
        performances = [judged.mean(scores)]
        for _ in range(self.max_iter):
            reached = performances[-1]
            for feature in rng.permutation(n_features):
                steps = steps_between(scores[pairs], columns[feature][pairs], self.n_steps)
                step, reached = best_step(judged, scores, columns[feature], steps, reached)
                weights[feature] += step
                scores = scores + step * columns[feature]
            performances.append(reached)
            if performances[-1] - performances[-2] < self.tol:
                break
        return weights / (np.abs(weights).sum() or 1.0), performances


def best_step(
    judged: Judged, scores: Floats, column: Floats, steps: Floats, reached: float
) -> tuple[float, float]:
    """The step along a column with the highest mean, and that mean.

    The first of equally good steps is returned, and 0 if no step improves on `reached`.
    """
    best = 0.0
    for step in steps.tolist():
        mean = judged.mean(scores + step * column)
        if mean > reached + ROUNDING:
            best, reached = step, mean
    return best, reached


def steps_between(scores: Floats, values: Floats, most: int) -> Floats:
    """Points between the steps at which pairs of documents change places, nearest to 0 first.

    Parameters
    ----------
    scores, values : ndarray of shape (2, n_pairs)
        Score of either document of each pair, and its value of the feature.
    most : int
        Largest number of points. If there are more, they are thinned evenly in their order.

    Examples
    --------
    >>> steps_between(np.array([[0.0, 1.0], [2.0, 4.0]]), np.array([[1.0, 1.0], [0.0, 0.0]]), 9)
    array([1. , 2.5, 4. ])
    """
    rise = values[0] - values[1]
    moved = rise != 0
    with np.errstate(over="ignore"):
        places = (scores[1] - scores[0])[moved] / rise[moved]
    places = np.unique(places[np.isfinite(places)])
    if not len(places):
        return places
    beyond = places[-1] - places[0] or abs(places[0]) or 1.0
    between = 0.5 * (places[:-1] + places[1:])
    points = np.concatenate([[places[0] - beyond], between, [places[-1] + beyond]])
    if len(points) > most:
        points = points[np.linspace(0, len(points) - 1, most).round().astype(np.int64)]
    nearest: Floats = points[np.argsort(np.abs(points), kind="stable")]
    return nearest


def sampled_pairs(dataset: RankingDataset, rng: np.random.Generator) -> Integers:
    """Rows of two documents of a query with different labels, of shape (2, n_pairs).

    All such pairs if there are few, otherwise a random sample.

    Examples
    --------
    >>> lists = RankingDataset.from_arrays(np.zeros((5, 1)), [0, 1, 1, 0, 2], [1, 1, 1, 2, 2])
    >>> sampled_pairs(lists, np.random.default_rng(0))
    array([[1, 2, 4],
           [0, 0, 3]])
    """
    ends = np.cumsum(dataset.query_sizes * (dataset.query_sizes - 1) // 2)
    numbers = np.arange(min(int(ends[-1]), MAX_NUMBERS))
    if ends[-1] > MAX_NUMBERS:
        numbers = rng.integers(0, ends[-1], MAX_NUMBERS)
    query = np.searchsorted(ends, numbers, side="right")
    within = numbers - np.append(0, ends)[query]
    # Pair k of a query consists of its documents i and k - i (i - 1) / 2 < i.
    first = ((1 + np.sqrt(1 + 8.0 * within)) / 2).astype(np.int64)
    second = within - first * (first - 1) // 2
    pairs: Integers = dataset.offsets[query] + np.stack([first, second])
    pairs = pairs[:, dataset.labels[pairs[0]] != dataset.labels[pairs[1]]]
    if pairs.shape[1] > MAX_PAIRS:
        pairs = pairs[:, rng.choice(pairs.shape[1], MAX_PAIRS, replace=False)]
    return pairs
