"""RankNet."""

from __future__ import annotations

from math import exp, log

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.rankers.base import HeldOut, Missing, Weights
from localrank.rankers.feature_nets._feature_net import FeatureNet
from localrank.registry import declare


@declare(
    "rank-net",
    "a small net, from pairs of documents",
    grid={"n_units": [0, 10]},
)
class RankNet(FeatureNet):
    """Small net trained on the logistic loss of pairs [1].

    It minimises the mean over queries of the mean over the query's pairs with y_i > y_j of

        log(1 + exp(s_j - s_i))

    A document with inputs x has the score s = output · max(0, hidden x + bias) + skip · x. The
    inputs are the features minus their mean over all training documents, divided by their standard
    deviation, and cut at ±4. Every query weighs the same, however many pairs it has. Only the order
    of labels matters. Training is limited to lists with 250,000 documents in all, chosen by their
    content.

    Parameters
    ----------
    n_units : int, default=10
        Units in the hidden layer. 0: a linear score.
    learning_rate : float, default=0.01
        Highest learning rate. The rate rises over the first tenth of the steps, and then falls
        to 0 along a cosine.
    decay : float, default=0.02
        Weight decay: in each step, weights shrink by this share times the learning rate.
    random_state : int or None, default=0
        Seed of the start and of the order of lists.
    missing : {"impute", "refuse"}, default="impute"
        "impute": fill a missing value with the median of its query, and add an indicator column
        for each feature that has missing values in training. "refuse": raise an error.

    Attributes
    ----------
    hidden_ : ndarray of shape (1, n_units, n_features)
    bias_, output_ : ndarray of shape (1, n_units)
    skip_ : ndarray of shape (1, n_features)
    mean_, scale_ : ndarray of shape (n_features,)
        Mean and divisor of each feature.

    Notes
    -----
    Training is the same as for `ListwiseNet`, without dropout: Adam with decoupled weight decay,
    and 12 passes over the lists or more, until there are 300 steps. The time of a step is
    proportional to the number of pairs in its lists, the memory to the number of documents. A
    query's weight multiplies its loss; weights are scaled to mean 1.

    References
    ----------
    1. Burges, Shaked, Renshaw, et al. Learning to Rank using Gradient Descent. ICML 2005.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(120, n_types=1, random_state=0)
    >>> train, test = dataset.select(range(80)), dataset.select(range(80, 120))
    >>> RankNet().fit(train).score(test) > 0.8
    True
    """

    def __init__(
        self,
        n_units: int = 10,
        *,
        learning_rate: float = 0.01,
        decay: float = 0.02,
        random_state: int | None = 0,
        missing: Missing = "impute",
    ) -> None:
        self.n_units = n_units
        self.learning_rate = learning_rate
        self.decay = decay
        self.random_state = random_state
        self.missing = missing

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        self._learn_standard(dataset)
        # Labels by rank: single precision can tell them apart.
        levels = np.unique(dataset.labels, return_inverse=True)[1]
        self._train(dataset, query_weights, levels, n_nets=1, dropout=0.0, loss=pair_loss)


# Products are turned into logarithms before they grow out of bounds.
_LARGE = 1e200


def pair_loss(
    scores: Array, sizes: Integers, levels: Array, weights: Array
) -> tuple[Floats, Array]:
    """Σ_q w_q times the mean over the pairs of log(1 + exp(s_j - s_i)), and its slope.

    The pairs of a list are those with level i above level j. They are gone through one after
    another, and none is stored.

    Parameters
    ----------
    scores : ndarray of shape (n_documents, n_nets)
    sizes : ndarray of shape (n_lists,)
    levels : ndarray of shape (n_documents,)
    weights : ndarray of shape (n_lists,)

    Returns
    -------
    values : ndarray of shape (n_nets,)
    slopes : ndarray of shape (n_documents, n_nets)

    Examples
    --------
    >>> scores = np.array([[0.0], [0.0], [1.0]])
    >>> values, slopes = pair_loss(scores, np.array([3]), np.array([1.0, 0.0, 1.0]), np.ones(1))
    >>> values.round(3), slopes[:, 0].round(3)
    (array([0.503]), array([-0.25 ,  0.384, -0.134]))
    """
    slopes = np.zeros((scores.shape[1], len(scores)))
    values = _fill_slopes(
        read_only(scores.T, np.float64),
        read_only(np.append(0, np.cumsum(sizes)), np.int64),
        read_only(levels, np.float64),
        read_only(weights, np.float64),
        slopes,
    )
    return values, slopes.T.astype(scores.dtype)


@kernel
def _fill_slopes(
    scores: Floats, offsets: Integers, levels: Floats, weights: Floats, slopes: Floats
) -> Floats:
    values = np.zeros(len(scores))
    for net in range(len(scores)):
        for query in range(len(weights)):
            begin, end = offsets[query], offsets[query + 1]
            n_pairs, total, product = 0, 0.0, 1.0
            for i in range(begin, end):
                for j in range(begin, i):
                    if levels[i] == levels[j]:
                        continue
                    high, low = (i, j) if levels[i] > levels[j] else (j, i)
                    lead = scores[net, high] - scores[net, low]
                    small = exp(-abs(lead))
                    # The sum of log(1 + exp(-lead)), with few logarithms.
                    total += max(-lead, 0.0)
                    product *= 1.0 + small
                    if product > _LARGE:
                        total += log(product)
                        product = 1.0
                    # The share 1 / (1 + exp(lead)) by which the pair is wrong.
                    wrong = (small if lead > 0 else 1.0) / (1.0 + small)
                    slopes[net, high] -= wrong
                    slopes[net, low] += wrong
                    n_pairs += 1
            if n_pairs > 0:
                share = weights[query] / n_pairs
                values[net] += share * (total + log(product))
                slopes[net, begin:end] *= share
    return values
