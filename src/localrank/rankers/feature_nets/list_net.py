"""ListNet."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.rankers.base import HeldOut, Missing, Weights
from localrank.rankers.feature_nets._feature_net import FeatureNet
from localrank.registry import declare


@declare(
    "list-net",
    "linear or a small net, from whole lists with a softmax of the labels",
    grid={"n_units": [0, 10]},
)
class ListNet(FeatureNet):
    """Linear ranker or small net: the softmax of scores approximates that of the labels [1].

    It minimises the mean over queries of

        -Σ_i softmax(y)_i log softmax(s)_i

    with the labels y and scores s of the query's documents. A document with inputs x has the score
    s = skip · x, plus output · max(0, hidden x + bias) if there are hidden units. The inputs are
    the features minus their mean over all training documents, divided by their standard deviation,
    and cut at ±4.

    `ListwiseLinear` and `ListwiseNet` have the same loss with other targets: the gains of NDCG,
    which are 0 for documents of label 0. Training is limited to lists with 250,000 documents in
    all, chosen by their content.

    Parameters
    ----------
    n_units : int, default=0
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
    and 12 passes over the lists or more, until there are 300 steps. A query's weight multiplies
    its loss; weights are scaled to mean 1.

    References
    ----------
    1. Cao, Qin, Liu, Tsai, Li. Learning to Rank: From Pairwise Approach to Listwise Approach.
       ICML 2007.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(120, n_types=1, random_state=0)
    >>> train, test = dataset.select(range(80)), dataset.select(range(80, 120))
    >>> ListNet().fit(train).score(test) > 0.8
    True
    >>> ListNet(n_units=10).fit(train).hidden_.shape
    (1, 10, 20)
    """

    def __init__(
        self,
        n_units: int = 0,
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
        self._train(dataset, query_weights, top_one(dataset), n_nets=1, dropout=0.0)


def top_one(dataset: RankingDataset) -> Floats:
    """The softmax of the labels of each query.

    Examples
    --------
    >>> lists = RankingDataset.from_arrays(np.zeros((3, 1)), [0, np.log(3), 7], ["a", "a", "b"])
    >>> top_one(lists)
    array([0.25, 0.75, 1.  ])
    """
    query = dataset.query_index
    shares = np.exp(dataset.labels - dataset.label_bounds[1][query])
    shares /= np.add.reduceat(shares, dataset.offsets[:-1])[query]
    return shares
