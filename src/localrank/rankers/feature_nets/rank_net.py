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
    """Small net on the logistic loss of pairs [1]_.

    It minimises the mean over queries of the mean over the query's pairs with y_i > y_j of

        log(1 + exp(s_j - s_i))

    A document with inputs x has the score s = output · max(0, hidden x + bias) + skip · x. The
    inputs are the features, less the mean of all training documents, divided by their standard
    deviation, up to ±4. Every query weighs the same, however many pairs it has. Only the order of
    labels matters. It learns from lists with up to 250,000 documents in all, chosen by their
    content.

    Parameters
    ----------
    n_units : int, default=10
        In the hidden layer. 0: the score is linear.
    learning_rate : float, default=0.01
        The highest: it rises over the first tenth of the steps, and falls to 0 along a cosine.
    decay : float, default=0.02
        Weights shrink by this share, times the learning rate, in each step.
    random_state : int or None, default=0
    missing : {"impute", "refuse"}, default="impute"
        Missing values are filled by the median of the query, with an indicator for each feature
        that has any in training; or refused.

    Attributes
    ----------
    hidden_ : ndarray of shape (1, n_units, n_features)
    bias_, output_ : ndarray of shape (1, n_units)
    skip_ : ndarray of shape (1, n_features)
    mean_, scale_ : ndarray of shape (n_features,)
        What is subtracted, and what each feature is then divided by.

    Notes
    -----
    Training is that of `ListwiseNet`, without dropped units: Adam with decoupled decay, 12 passes
    over the lists or as many as make 300 steps. A step takes time in proportion to the pairs of
    its lists, and memory in proportion to their documents. A query's weight multiplies its loss;
    the mean of the weights counts as 1.

    References
    ----------
    .. [1] Burges, Shaked, Renshaw, et al. Learning to Rank using Gradient Descent. ICML 2005.

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
        # Places among the labels: single precision tells them apart.
        levels = np.unique(dataset.labels, return_inverse=True)[1]
        self._train(dataset, query_weights, levels, n_nets=1, dropout=0.0, loss=pair_loss)
