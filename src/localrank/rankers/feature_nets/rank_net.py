"""RankNet."""

from __future__ import annotations

import numpy as np

from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.rankers.base import HeldOut, Missing, Weights
from localrank.rankers.feature_nets.feature_net import FeatureNet
from localrank.rankers.feature_nets.pair_loss import pair_loss


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
    inputs are the features, less the mean over all training documents, divided by their standard
    deviation, and cut at ±4. Every query weighs the same, however many pairs it has. Only the
    order of labels matters. Training is limited to lists with 250,000 documents in all, chosen by
    their content.

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
