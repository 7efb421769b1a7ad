"""AdaRank."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.progress import progress
from localrank._base.rules import Rules, flag, floats, integers, whole
from localrank.data import RankingDataset
from localrank.measures import Measure, parse_measure
from localrank.measures.parsing import a_measure
from localrank.rankers._judged import Judged
from localrank.rankers._linear import LinearRanker, Scaling
from localrank.rankers._training import remember_curve, teaching
from localrank.rankers.base import HeldOut, Missing, Weights, missing_rule
from localrank.registry import declare

# A weak ranker without any error counts as wrong by this much: alpha is at most 7.25.
SMALLEST_ERROR = 1e-6
# Smaller differences between means are rounding.
ROUNDING = 1e-12


@declare(
    "ada-rank",
    "boosted single features, for a measure",
    grid={"measure": ["ndcg@10", "map"]},
    sample={"n_rounds": 30},
)
class AdaRank(LinearRanker):
    """Single features, boosted for a measure of whole lists [1].

    The score is Σ_t alpha_t h_t(x) with weak rankers h(x) = x_f, or -x_f. Query i has a weight
    P(i); at first all weights are equal. Let E_i(s) in [0, 1] be the measure of query i ranked by
    s. A round

    1. chooses the weak ranker with the largest mean m = Σ_i P(i) E_i(h);
    2. adds it with alpha = ln((1 + m) / (1 - m)) / 2;
    3. gives each query the weight P(i) = exp(-E_i(scores)) / Σ_k exp(-E_k(scores)): queries that
       are ranked badly count more.

    A round is kept only if the mean of the measure rises. Otherwise its weak ranker is put aside
    until another round is kept. Training ends when all weak rankers are put aside. In the paper
    every round is kept, and one feature may be chosen again and again.

    Parameters
    ----------
    n_rounds : int, default=500
        Largest number of rounds.
    measure : str or Measure, default="ndcg@10"
        The measure E. If small values are good, E is 1 minus the measure.
    both_directions : bool, default=True
        Whether a weak ranker may also rank small values of a feature first. The paper has False.
    scaling : {"standard", "query"} or None, default="standard"
        "standard": divide each feature by its standard deviation within queries. "query": map
        each feature to [0, 1] within each query. None: leave features as they are.
    missing : {"impute", "refuse"}, default="impute"
        "impute": fill a missing value with the median of its query, and add an indicator column
        for each feature that has missing values in training. "refuse": raise an error.

    Attributes
    ----------
    n_rounds_ : int
        Number of rounds kept. With validation queries: the number with the best `measure`.
    features_ : ndarray of shape (n_rounds_,)
        The column of each weak ranker; indicators come after the features.
    alphas_ : ndarray of shape (n_rounds_,)
        Weight of each weak ranker. It is negative if small values rank first.
    performances_ : ndarray of shape (n_rounds_,)
        Mean E of the training queries after each round. It rises strictly.
    curve_ : ndarray of shape (n, 2)
        With validation queries: numbers of rounds, and `measure` after as many rounds. It also has
        the rounds after the best one.
    coef_ : ndarray of shape (n_features,)
        The sum of the alphas of each column.
    scale_ : ndarray of shape (n_features,)
        With `scaling="standard"`: the divisor of each feature.

    Notes
    -----
    The measure of each single feature is computed once, because it does not change from round to
    round. A query's weight multiplies its P in every round.

    References
    ----------
    1. Xu, Li. AdaRank: A Boosting Algorithm for Information Retrieval. SIGIR 2007.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(120, n_types=1, random_state=0)
    >>> train, test = dataset.select(range(80)), dataset.select(range(80, 120))
    >>> ranker = AdaRank(measure="map").fit(train)
    >>> bool(ranker.performances_[0] < ranker.performances_[-1])
    True
    >>> ranker.score(test) > 0.7
    True
    """

    _parameters: ClassVar[Rules] = {
        "n_rounds": whole(1, 100_000),
        "measure": a_measure,
        "both_directions": flag,
        "missing": missing_rule,
    }

    _fitted: ClassVar[Rules] = {
        "n_rounds_": whole(0, name="n_rounds"),
        "features_": integers("n_rounds", below="n_features"),
        "alphas_": floats("n_rounds"),
        "performances_": floats("n_rounds"),
    }

    def __init__(
        self,
        n_rounds: int = 500,
        *,
        measure: str | Measure = "ndcg@10",
        both_directions: bool = True,
        scaling: Scaling = "standard",
        missing: Missing = "impute",
    ) -> None:
        self.n_rounds = n_rounds
        self.measure = measure
        self.both_directions = both_directions
        self.scaling = scaling
        self.missing = missing

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        measure = parse_measure(self.measure)
        judged = Judged.of(dataset, measure, query_weights, teaching(self, dataset, query_weights))
        held_out = None if valid is None else Judged.of(valid, measure)
        self._learn_scaling(dataset)
        features, alphas, performances = self._boosted(judged)
        kept = len(alphas)
        if held_out is not None:
            means = _means(held_out, self._scaled(held_out.dataset), features, alphas)
            # The smallest of equals.
            kept = 1 + int(np.argmax(means)) if len(means) else 0
            remember_curve(self, means if measure.higher_is_better else 1 - means)
        self.n_rounds_ = kept
        self.features_ = np.array(features[:kept], dtype=np.int64)
        self.alphas_ = np.array(alphas[:kept], dtype=np.float64)
        self.performances_ = np.array(performances[:kept], dtype=np.float64)
        self.coef_ = np.zeros(dataset.n_features)
        np.add.at(self.coef_, self.features_, self.alphas_)
        if not alphas:
            warnings.warn(
                f"AdaRank found no feature that ranks better than chance by {measure}: all "
                f"documents get score 0.",
                stacklevel=3,
            )

    def _boosted(self, judged: Judged) -> tuple[list[int], list[float], list[float]]:
        """The columns, alphas and mean measures of the rounds."""
        lists = self._scaled(judged.dataset)
        n_features = lists.shape[1]
        signs = (1.0, -1.0) if self.both_directions else (1.0,)
        columns = np.ascontiguousarray(lists.T)
        weak = np.array([judged.by_query(sign * column) for sign in signs for column in columns])
        features: list[int] = []
        alphas: list[float] = []
        performances: list[float] = []
        scores = np.zeros(lists.shape[0])
        best, weights = judged.mean(scores), judged.weights
        may_help = np.ones(len(weak), dtype=bool)
        with progress("AdaRank", self.n_rounds) as advance:
            while len(alphas) < self.n_rounds and may_help.any():
                means = np.where(may_help, weak @ weights, -np.inf)
                chosen = int(np.argmax(means))
                mean = min(float(means[chosen]), 1 - SMALLEST_ERROR)
                feature = chosen % n_features
                alpha = signs[chosen // n_features] * 0.5 * float(np.log((1 + mean) / (1 - mean)))
                trial = scores + alpha * columns[feature]
                reached = judged.by_query(trial)
                performance = float(judged.weights @ reached)
                if performance <= best + ROUNDING:
                    may_help[chosen] = False
                    continue
                scores, best = trial, performance
                weights = judged.weights * np.exp(-reached)
                weights /= weights.sum()
                may_help[:] = True
                features.append(feature)
                alphas.append(alpha)
                performances.append(performance)
                advance()
        return features, alphas, performances


def _means(held_out: Judged, lists: Floats, features: list[int], alphas: list[float]) -> Floats:
    """The mean on validation queries after each round."""
    scores, means = np.zeros(len(lists)), np.empty(len(alphas))
    for number, (feature, alpha) in enumerate(zip(features, alphas, strict=True)):
        scores = scores + alpha * lists[:, feature]
        means[number] = held_out.mean(scores)
    return means
