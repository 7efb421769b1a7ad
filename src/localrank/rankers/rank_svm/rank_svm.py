"""RankSVM."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Flags, Floats
from localrank._base.rules import Rule, Rules, one_of, refuse
from localrank.data import RankingDataset
from localrank.rankers._gains import gains
from localrank.rankers._linear import LinearRanker, Scaling, carried, fitted_path
from localrank.rankers.base import HeldOut, Missing, Needs, Weights
from localrank.rankers.rank_svm._pairwise import FITTED, PARAMETERS, minimized, pairs_of
from localrank.registry import declare

# Pairs of documents are weighed by their labels for at most this many labels: 190 pairs.
MAX_LABELS = 20


@declare("rank-svm", "linear, from pairs of documents", grid={"C": [0.01, 0.1, 1.0, 10.0]})
class RankSVM(LinearRanker):
    """Linear ranker trained on pairs: a better document should score at least 1 above a worse one.

    A fast baseline: it trains in a fraction of a second on a thousand queries.

    It minimises ½‖w‖² + C/N · Σ loss(1 - w·(x_i - x_j)) over the N pairs of documents of the same
    query with y_i > y_j [1]. Only the order of the labels counts. Dividing by N gives C the same
    meaning on every dataset. Pairs are never listed: a step costs O(n log n) for n documents,
    whatever the number of labels. The squared hinge is minimised by Newton's method [2], the
    hinge by Newton's method on smoothed losses. Both compute a lower bound on the minimum and
    stop when the objective is close enough to it.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the pairs relative to the size of w. Powers of ten from 0.01 to 10 are a sensible
        grid; `fit_path` fits them faster than one by one.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss of a pair that falls short of its margin by z: max(0, z)²/2 or max(0, z).
    pair_weight : {"pair", "query", "ir"}, default="pair"
        "pair": every pair weighs the same, so long lists count more. "query": every query weighs
        the same, and Σ 1/N becomes the mean over queries of the mean over their pairs. "ir": the
        same, times a weight for each pair of labels, large where a wrong order costs most at the
        top of a list: RSVM-IR [3], see Notes. It needs `label_pairs=None` and at most 20 different
        labels, and takes time and memory for each pair of labels.
    label_pairs : sequence of (high, low) or None, default=None
        Pairs of labels to learn from. None: all pairs of different labels. A document is kept in
        memory once for each pair of labels that it takes part in.
    scaling : {"standard", "query"} or None, default="standard"
        "standard": divide each feature by its standard deviation within queries. "query": map
        each feature to [0, 1] within each query. None: leave features as they are.
    tol : float, default=1e-6
        Stop when the objective is proven to be this close to its minimum, relative to the
        objective or to its decrease since w = 0, whichever is smaller.
    max_iter : int, default=200
        Largest number of steps.
    missing : {"impute", "refuse"}, default="impute"
        "impute": fill a missing value with the median of its query, and add an indicator column
        for each feature that has missing values in training. "refuse": raise an error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the scaled features, then of the indicators.
    scale_ : ndarray of shape (n_features,)
        With `scaling="standard"`: the divisor of each feature.
    objective_ : float
        Value of the formula above at `coef_`.
    duality_gap_ : float
        Difference between the objective and a value of its dual. The objective is at most this
        far above its minimum. For the squared hinge it is half the squared norm of the gradient.
    n_iter_ : int
        Number of steps on all pairs. Training on a large dataset starts from the solution for a
        part of it.
    n_pairs_ : int
        Number of pairs in training.

    Notes
    -----
    A query's weight multiplies the weights of its pairs. C/N is scaled so that all pairs together
    still weigh C. A query of weight 2 counts like the query given twice.

    RSVM-IR, `RankSVM(loss="hinge", pair_weight="ir")`, weighs a pair by its query and by its labels
    s > t: by 1 / (number of the query's pairs), times the mean drop in NDCG@1 if a random document
    of label s and one of label t change places in a random perfect ranking. Here the expectation
    is computed, not drawn. In a query whose highest label is s, shared by n documents, the drop is
    (1 - gain(t) / gain(s)) / n on average; in other queries it is 0. The mean is over the queries
    with both labels. Pairs of labels whose first is never the highest of a query weigh nothing.

    A ranker such as `QueryCoordinates` may compute the columns. More than 500 such columns are
    kept in memory, and training is limited to queries with 250,000 documents in all, chosen by
    their content.

    References
    ----------
    1. Joachims. Optimizing Search Engines using Clickthrough Data. KDD 2002.
    2. Chapelle, Keerthi. Efficient Algorithms for Ranking with SVMs. Information Retrieval
       13, 2010.
    3. Cao, Xu, Liu, Li, Huang, Hon. Adapting Ranking SVM to Document Retrieval. SIGIR 2006.

    Examples
    --------
    >>> X = [[3.0, 0.0], [1.0, 1.0], [0.0, 3.0]]
    >>> ranker = RankSVM(C=10, scaling=None).fit(X, [2, 1, 0], qid=[7, 7, 7])
    >>> ranker.coef_.round(2)
    array([ 0.32, -0.32])
    >>> ranker.n_pairs_, round(ranker.objective_, 2)
    (3, 0.11)
    """

    needs = Needs(blocks=True, trial=False)

    path_parameters: ClassVar = ("C",)

    _fitted: ClassVar[Rules] = FITTED
    _parameters: ClassVar[Rules] = {
        **PARAMETERS,
        "label_pairs": Rule(
            lambda value, _: value is None or _are_label_pairs(value),
            "None or different pairs (high, low) with high > low",
        ),
        "pair_weight": one_of("pair", "query", "ir"),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        pair_weight: Literal["pair", "query", "ir"] = "pair",
        label_pairs: Sequence[tuple[float, float]] | None = None,
        scaling: Scaling = "standard",
        tol: float = 1e-6,
        max_iter: int = 200,
        missing: Missing = "impute",
    ) -> None:
        self.C = C
        self.loss = loss
        self.pair_weight = pair_weight
        self.label_pairs = label_pairs
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.missing = missing

    def fit_path(self, X: Any, y: Any = None, *, qid: Any = None, Cs: ArrayLike) -> list[Self]:
        """Fit a clone for each C, faster than separate fits: each starts from the one before.

        Parameters
        ----------
        X, y, qid
            As for `fit`.
        Cs : array-like of float
            Values of C, in any order.

        Returns
        -------
        list of RankSVM
            One fitted clone per entry of `Cs`, in the same order.

        Examples
        --------
        >>> from localrank.data import make_queries
        >>> dataset, _ = make_queries(50, random_state=0)
        >>> path = RankSVM().fit_path(dataset, Cs=[1, 0.01])
        >>> [ranker.C for ranker in path]
        [1.0, 0.01]
        """
        return fitted_path(self, X, y, qid, Cs)

    def learns_from(self, dataset: RankingDataset) -> Flags:
        if self.label_pairs is None:
            return super().learns_from(dataset)
        teaches = np.zeros(dataset.n_queries, dtype=bool)
        for high, low in self.label_pairs:
            queries = np.intersect1d(
                dataset.query_index[dataset.labels == high],
                dataset.query_index[dataset.labels == low],
            )
            teaches[queries] = True
        return teaches

    def _lesson(self) -> str:
        if self.label_pairs is None:
            return super()._lesson()
        return f"a pair of the labels in label_pairs={self.label_pairs!r}"

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        label_pairs, label_weights = self.label_pairs, None
        if self.pair_weight == "ir":
            if label_pairs is not None:
                refuse(self, "pair_weight", "'pair' or 'query' with label_pairs")
            label_pairs, label_weights = _drops(dataset, query_weights)
        pairs = pairs_of(self, dataset, query_weights, label_pairs, label_weights)
        shared = carried(self)
        self.coef_ = shared["start"] = minimized(self, pairs, shared.get("start"))


def _drops(
    dataset: RankingDataset, query_weights: Weights
) -> tuple[list[tuple[float, float]], Floats]:
    """All pairs of labels (high, low), and the mean drop in NDCG@1 if their documents swap."""
    labels, place = np.unique(dataset.labels, return_inverse=True)
    if len(labels) > MAX_LABELS:
        raise ValueError(
            f"RankSVM with pair_weight='ir' takes at most {MAX_LABELS} different labels. The "
            f"data has {len(labels):,}."
        )
    cells = np.bincount(
        dataset.query_index * len(labels) + place, minlength=dataset.n_queries * len(labels)
    )
    counts = cells.reshape(dataset.n_queries, len(labels))
    weights = np.ones(dataset.n_queries) if query_weights is None else query_weights
    gain, best = gains(labels), len(labels) - 1 - (counts[:, ::-1] > 0).argmax(axis=1)
    pairs, drops = [], []
    for high, low in combinations(range(len(labels))[::-1], 2):
        both = weights * ((counts[:, high] > 0) & (counts[:, low] > 0))
        if both.any():
            chances = (best == high) / np.maximum(counts[:, high], 1)
            pairs.append((float(labels[high]), float(labels[low])))
            drops.append((1 - gain[low] / gain[high]) * np.average(chances, weights=both))
    return pairs, np.array(drops)


def _are_label_pairs(value: Any) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return False
    pairs = [tuple(pair) if isinstance(pair, Sequence) else () for pair in value]
    return bool(pairs) and len(set(pairs)) == len(pairs) and all(map(_descends, pairs))


def _descends(pair: tuple[float, ...]) -> bool:
    return len(pair) == 2 and all(isinstance(x, Real) for x in pair) and pair[0] > pair[1]
