"""RankBoost."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.progress import progress
from localrank._base.rules import Rules, floats, integers, optional, whole
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.measures import Measure, parse_measure
from localrank.measures.base import mean_of_queries
from localrank.measures.parsing import a_measure
from localrank.rankers._contribution_tables import shares, table_of
from localrank.rankers._inputs import filling_of, has_two_labels
from localrank.rankers._training import remember_curve
from localrank.rankers.base import HeldOut, Missing, Ranker, Weights, missing_rule
from localrank.rankers.rank_boost._boosting import PairWeights, best_threshold
from localrank.registry import declare
from localrank.trees import Trees

if TYPE_CHECKING:
    from localrank.formulas import Formula

# Smallest share of the total weight for a weak ranker's right or wrong pairs.
SMALLEST_WEIGHT = 1e-6
# Smaller differences between sums of potentials, as a share of all weight, are rounding.
ROUNDING = 1e-12
# Training ends if a round would lower the loss by a smaller share than this ...
SMALLEST_GAIN = 1e-10
# ... or if the loss is below this: every pair is in order, by a wide margin.
SMALLEST_LOSS = 1e-12


@declare(
    "rank-boost",
    "boosted thresholds of single features",
    grid={"n_rounds": [30, 100, 300]},
    sample={"n_rounds": 15},
)
class RankBoost(Ranker):
    """Boosted thresholds of single features on the exponential loss of pairs [1].

    The units of features do not matter: only the order of a feature's values counts.

    The score is H(x) = sum_t alpha_t h_t(x) with weak rankers h(x) = [x_f > threshold]. A negative
    alpha prefers small values. Training lowers the mean of exp(H(x_j) - H(x_i)) over all pairs of
    documents of a query with y_i > y_j, for graded labels too. Let D be the weights of the pairs
    under the current scores, normalised to sum 1. A round

    1. chooses the weak ranker with the largest |r|, r = sum D(i, j) (h(x_i) - h(x_j)). This equals
       the sum of h over the documents, each times its potential: the weight of its pairs with
       lower documents less the weight of its pairs with higher ones. One histogram per feature
       serves all its thresholds. The criterion bounds the best factor on the loss by
       sqrt(1 - r^2) (the third method of [1]).
    2. steps by alpha = ln(W+ / W-) / 2, where W+ and W- are the exact weights of the pairs that h
       orders rightly and wrongly. This minimises the loss along h, and multiplies it by
       1 - (sqrt(W+) - sqrt(W-))^2 < 1. A W below 1e-6 counts as 1e-6. A weak ranker that is
       never wrong therefore gets an alpha of at most 6.9; the loss still falls.

    The potentials come from sums per query and label. The time of a round is proportional to
    documents times features, whatever the number of pairs. Training ends early if no weak ranker
    lowers the loss any more, or if the loss is below 1e-12.

    Thresholds are observed values, evenly spaced in the order of a feature's distinct values. An
    increasing transformation of a feature changes scores only by rounding. A repeated query
    counts like a query of weight 2.

    Parameters
    ----------
    n_rounds : int, default=300
        Number of weak rankers. With validation queries: the largest number tried.
    n_thresholds : int or None, default=255
        Number of thresholds tried per feature. None: every distinct value. Above 255, a document
        takes four bytes per feature instead of one.
    patience : int, default=50
        With validation queries: stop after this many rounds without an improvement, and keep the
        best number of rounds.
    measure : str or Measure, default="map"
        Measure on the validation queries that decides when to stop.
    missing : {"impute", "refuse"}, default="impute"
        "impute": fill a missing value with the median of its query, and add an indicator column
        for each feature that has missing values in training. "refuse": raise an error.

    Attributes
    ----------
    n_rounds_ : int
        Number of weak rankers kept.
    features_ : ndarray of shape (n_rounds_,)
        Column of each weak ranker. Indicators come after the features.
    thresholds_ : ndarray of shape (n_rounds_,)
        Threshold of each weak ranker.
    alphas_ : ndarray of shape (n_rounds_,)
        What each weak ranker adds to the score of a document above its threshold.
    losses_ : ndarray of shape (n_rounds_,)
        Mean of exp(H(x_j) - H(x_i)) over the pairs after each round, with query weights. It falls
        strictly, and bounds the share of pairs in wrong order.
    curve_ : ndarray of shape (n, 2)
        With validation queries: numbers of rounds, and `measure` after as many rounds. It also has
        the rounds after the best one.
    n_pairs_ : int
        Number of training pairs, without those of queries with weight 0.

    References
    ----------
    1. Freund, Iyer, Schapire, Singer. An Efficient Boosting Algorithm for Combining
       Preferences. JMLR 4, 2003.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(120, random_state=0)
    >>> train, test = dataset.select(range(80)), dataset.select(range(80, 120))
    >>> ranker = RankBoost(100).fit(train)
    >>> bool(ranker.losses_[-1] < ranker.losses_[0] < 1)
    True
    >>> ranker.predict(test).shape == (test.n_documents,)
    True
    """

    _parameters: ClassVar[Rules] = {
        "n_rounds": whole(1, 100_000),
        "n_thresholds": optional(whole(1)),
        "patience": whole(1),
        "measure": a_measure,
        "missing": missing_rule,
    }

    _fitted: ClassVar[Rules] = {
        "n_rounds_": whole(0, name="n_rounds"),
        "features_": integers("n_rounds", below="n_features"),
        "thresholds_": floats("n_rounds"),
        "alphas_": floats("n_rounds"),
        "losses_": floats("n_rounds"),
        "n_pairs_": whole(1),
    }

    def __init__(
        self,
        n_rounds: int = 300,
        *,
        n_thresholds: int | None = 255,
        patience: int = 50,
        measure: str | Measure = "map",
        missing: Missing = "impute",
    ) -> None:
        self.n_rounds = n_rounds
        self.n_thresholds = n_thresholds
        self.patience = patience
        self.measure = measure
        self.missing = missing

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        measure = parse_measure(self.measure)
        dataset, query_weights = _with_pairs(dataset, query_weights)
        thresholds, bins = bin_features(dataset.features, self.n_thresholds)
        n_bins = np.array([len(values) + 1 for values in thresholds])
        weights, self.n_pairs_ = _pairs(dataset, query_weights)

        scores = np.zeros(dataset.n_documents)
        loss = weights.update(scores)
        held_out = None if valid is None else _HeldOut(valid, measure)
        stumps: list[tuple[int, float, float]] = []
        losses: list[float] = []
        with progress("RankBoost", self.n_rounds) as advance:
            while len(stumps) < self.n_rounds and loss >= SMALLEST_LOSS:
                feature, threshold = best_threshold(
                    bins, n_bins, weights.potentials, ROUNDING * loss
                )
                if feature < 0:
                    break
                right, wrong = (w / loss for w in weights.split(bins[feature], threshold))
                alpha = 0.5 * np.log(max(right, SMALLEST_WEIGHT) / max(wrong, SMALLEST_WEIGHT))
                if -right * np.expm1(-alpha) - wrong * np.expm1(alpha) < SMALLEST_GAIN:
                    break
                scores += alpha * (bins[feature] > threshold)
                loss = weights.update(scores)
                stumps.append((feature, float(thresholds[feature][threshold]), float(alpha)))
                losses.append(loss)
                advance()
                if held_out is not None and held_out.rounds_without_gain(stumps) >= self.patience:
                    break
        self.n_rounds_ = len(stumps) if held_out is None else held_out.best_round
        if held_out is not None:
            remember_curve(self, held_out.values)
        if not stumps:
            warnings.warn(
                "RankBoost found no feature with a threshold that tells better from worse "
                "documents: all documents get score 0.",
                stacklevel=3,
            )
        kept = stumps[: self.n_rounds_]
        self.features_ = np.array([stump[0] for stump in kept], dtype=np.int64)
        self.thresholds_ = np.array([stump[1] for stump in kept], dtype=np.float64)
        self.alphas_ = np.array([stump[2] for stump in kept], dtype=np.float64)
        self.losses_ = np.array(losses[: self.n_rounds_], dtype=np.float64)

    def _predict(self, dataset: RankingDataset) -> Array:
        """Sum the step functions of all used features."""
        scores = np.zeros(dataset.n_documents)
        for feature in np.unique(self.features_):
            scores += self._steps(dataset, feature)
        return scores

    def _steps(self, dataset: RankingDataset, feature: int) -> Floats:
        """What a feature adds to the scores."""
        thresholds, levels = self._levels(feature)
        column = dataset.features[:, feature].astype(np.float64)
        values: Floats = levels[np.searchsorted(thresholds, column)]
        return values

    def _levels(self, feature: int) -> tuple[Floats, Floats]:
        """A feature's thresholds, ascending, and what it adds below, between and above them."""
        rounds = np.flatnonzero(self.features_ == feature)
        rounds = rounds[np.argsort(self.thresholds_[rounds], kind="stable")]
        return self.thresholds_[rounds], np.concatenate([[0.0], np.cumsum(self.alphas_[rounds])])

    def _formula(self) -> Formula:
        from localrank.formulas import Linear, TreeSum
        from localrank.trees import joined

        n_columns = filling_of(self).n_columns
        if not self.n_rounds_:
            return Linear(np.zeros(n_columns))
        trees = [
            (steps_as_tree(n_columns, int(feature), *self._levels(feature)), 1.0)
            for feature in np.unique(self.features_)
        ]
        return TreeSum(joined(trees))

    def _contributions(self, dataset: RankingDataset) -> Floats:
        values = np.zeros((dataset.n_documents, dataset.n_features))
        for feature in np.unique(self.features_):
            values[:, feature] = self._steps(dataset, feature)
        return table_of(values)

    def _importances(self) -> Floats:
        return shares(
            np.bincount(self.features_, np.abs(self.alphas_), minlength=self.n_features_in_)
        )


class _HeldOut:
    """Scores of the validation queries, round by round, and the best round so far."""

    def __init__(self, dataset: RankingDataset, measure: Measure) -> None:
        self._dataset = dataset
        self._measure = measure
        self._scores = np.zeros(dataset.n_documents)
        self._best = -np.inf
        self.values: list[float] = []
        self.best_round = 0

    def rounds_without_gain(self, stumps: list[tuple[int, float, float]]) -> int:
        """Add the last weak ranker. Returns the number of rounds since the best one."""
        feature, threshold, alpha = stumps[-1]
        # In double precision, as `predict` compares.
        column = self._dataset.features[:, feature].astype(np.float64, copy=False)
        self._scores += alpha * (column > threshold)
        value = mean_of_queries(self._measure.of_rows(self._dataset, self._scores))
        self.values.append(value)
        value = value if self._measure.higher_is_better else -value
        # A measure that skips every query does not stop training.
        if value > self._best or np.isnan(value):
            self._best, self.best_round = value, len(stumps)
        return len(stumps) - self.best_round


def _with_pairs(dataset: RankingDataset, query_weights: Weights) -> tuple[RankingDataset, Floats]:
    """Queries of positive weight with two labels, and their weights. Rows ascend by label."""
    weights = np.ones(dataset.n_queries) if query_weights is None else query_weights
    counted = has_two_labels(dataset) & (weights > 0)
    used = dataset.select(counted)
    by_label = np.lexsort((used.labels, used.query_index))
    return used.reordered(by_label, np.arange(used.n_queries)), weights[counted]


def _pairs(dataset: RankingDataset, query_weights: Floats) -> tuple[PairWeights, int]:
    """Weights of the pairs, with sum 1 for equal scores, and the number of pairs.

    Rows must ascend by label in each query.
    """
    labels, index = dataset.labels, dataset.query_index
    begins = np.flatnonzero((labels[1:] != labels[:-1]) | (index[1:] != index[:-1])) + 1
    levels = np.concatenate([[0], begins, [len(labels)]])
    sizes = dataset.query_sizes
    of_query = np.searchsorted(levels, dataset.offsets)
    n_pairs = (sizes**2 - np.add.reduceat(np.diff(levels) ** 2, of_query[:-1])) // 2
    log_weights = np.log(query_weights)
    log_weights -= log_weights.max()
    log_weights -= np.log(np.exp(log_weights) @ n_pairs)
    return PairWeights(levels, of_query, log_weights), int(n_pairs.sum())


# Values that are searched for together.
_BLOCK = 64


def bin_features(features: Array, n_thresholds: int | None) -> tuple[list[Floats], Array]:
    """Thresholds for each feature, and for each value the number of them below it.

    Thresholds are values that occur: all distinct ones but the largest. If these are more than
    `n_thresholds`, this many of them are used, evenly spaced in their order. Increasing
    transformations of a feature and repeated rows leave the bins as they are.

    Parameters
    ----------
    features : ndarray of shape (n_documents, n_features)
        Without NaN.
    n_thresholds : int or None
        At most this many per feature; None: no limit.

    Returns
    -------
    thresholds : list of n_features ndarrays
        Ascending.
    bins : ndarray of shape (n_features, n_documents)
        uint8 where `n_thresholds` is 255 or less, uint32 otherwise.

    Examples
    --------
    >>> thresholds, bins = bin_features(np.array([[1.0], [7.0], [3.0], [3.0], [5.0]]), 2)
    >>> thresholds
    [array([1., 5.])]
    >>> bins
    array([[0, 2, 1, 1, 1]], dtype=uint8)
    """
    small = n_thresholds is not None and n_thresholds <= 255
    bins = np.empty(features.shape[::-1], dtype=np.uint8 if small else np.uint32)
    thresholds = []
    for column, counts in zip(_columns(features), bins, strict=True):
        values = np.unique(column)[:-1]
        if n_thresholds is not None and len(values) > n_thresholds:
            spaced = (np.arange(n_thresholds) + 0.5) * (len(values) / n_thresholds)
            values = values[spaced.astype(np.int64)]
        # Padded to twice a power of 2, so that a search needs no test for the end.
        longest = 1 << max(len(values).bit_length() - 1, 0)
        edges = np.full(2 * longest, np.inf)
        edges[: len(values)] = values
        _count_below(read_only(column, np.float64), read_only(edges, np.float64), longest, counts)
        thresholds.append(values)
    return thresholds, bins


def _columns(features: Array) -> Iterator[Floats]:
    """Each column, contiguous; neighbours are copied together, in tiles that fit the cache."""
    width, height = 16, 1024
    for left in range(0, features.shape[1], width):
        strip = features[:, left : left + width]
        columns = np.empty(strip.shape[::-1])
        for top in range(0, len(features), height):
            columns[:, top : top + height] = strip[top : top + height].T
        yield from columns


@kernel
def _count_below(values: Floats, edges: Floats, longest: int, counts: Array) -> None:
    """Binary search with strides that are powers of 2, from `longest` down.

    A block of values takes each step together: no branch, and several in one instruction.
    """
    found = np.empty(_BLOCK, np.int64)
    for first in range(0, len(values), _BLOCK):
        block = values[first : first + _BLOCK]
        found[:] = 0
        stride = longest
        while stride > 0:
            for i in range(len(block)):
                ahead = found[i] + stride
                found[i] = ahead if edges[ahead - 1] < block[i] else found[i]
            stride >>= 1
        for i in range(len(block)):
            counts[first + i] = found[i]


def steps_as_tree(n_features: int, feature: int, thresholds: Floats, levels: Floats) -> Trees:
    """The lowest tree whose leaves hold the values of a step function.

    As in all trees, values of at most 1e-35 in size count as zero.

    Parameters
    ----------
    n_features : int
        Number of features of a document.
    feature : int
        The feature that the step function reads.
    thresholds : ndarray of shape (n_steps,)
        Ascending thresholds. Equal ones are merged.
    levels : ndarray of shape (n_steps + 1,)
        Values up to the first threshold, between the first and the second, and so on.

    Examples
    --------
    >>> tree = steps_as_tree(2, 1, np.array([0.0, 5.0, 5.0]), np.array([10.0, 20.0, 30.0, 40.0]))
    >>> tree
    Trees: 1 trees of 3 to 3 leaves, 2 features
    >>> tree.score([[0.0, -1.0], [0.0, 0.0], [0.0, 5.0], [0.0, 5.1]])
    array([10., 10., 20., 40.])
    """
    # The last of equal thresholds is followed by the value above all of them.
    last = np.append(thresholds[1:] != thresholds[:-1], True)
    bounds, values = thresholds[last], np.append(levels[:1], levels[1:][last])
    splits: list[tuple[float, int, int]] = []

    def grown(first: int, end: int) -> int:
        """Number of the split above the leaves from `first` to `end`, or ~leaf for one leaf."""
        if end - first == 1:
            return ~first
        middle = (first + end) // 2
        number = len(splits)
        splits.append((0.0, 0, 0))
        left, right = grown(first, middle), grown(middle, end)
        splits[number] = (float(bounds[middle - 1]), left, right)
        return number

    grown(0, len(values))
    n_splits = len(splits)
    return Trees(
        n_features=n_features,
        leaf_offsets=np.array([0, len(values)]),
        split_features=np.full(n_splits, feature, np.int32),
        thresholds=np.array([split[0] for split in splits]),
        decisions=np.zeros(n_splits, np.uint8),
        left_children=np.array([split[1] for split in splits], np.int32),
        right_children=np.array([split[2] for split in splits], np.int32),
        gains=np.zeros(n_splits, np.float32),
        leaf_values=values,
        leaf_counts=np.zeros(len(values), np.int64),
    )
