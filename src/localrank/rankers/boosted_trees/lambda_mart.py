"""LambdaMART."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from localrank.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.measures import Measure
from localrank.parameters import Rules, whole
from localrank.rankers.base import Weights
from localrank.rankers.boosted_trees.boosted_trees import BoostedTrees, GainBoosting
from localrank.rankers.gains import Gain, gains

# LightGBM's lambdarank refuses longer lists.
MAX_LIST_LENGTH = 10_000


@declare(
    "lambdamart",
    "boosted trees for NDCG",
    grid={"n_leaves": [5, 7, 15]},
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
class LambdaMART(GainBoosting, BoostedTrees):
    """Boosted trees on LambdaRank's gradients of NDCG [1]_, trained by LightGBM.

    Any labels y serve. The gain of a label is 2^y - 1, or y where labels are larger than 30, as
    counts of clicks are; where the lowest is negative, gains are counted from it; `gain` chooses
    another. The model is the same for any number of threads and any order of the rows.

    LightGBM compares at most 10,000 documents with each other. It gets a longer list in as few
    parts of equal size as there can be, each with its share of the documents of every label.
    Which documents of a label go into which part is decided by their content and the seed. The
    parts that have something to learn from weigh as much together as another list does. Scoring
    knows no parts.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees, or the most there may be where `fit` gets validation queries.
    learning_rate : float, default=0.05
    n_leaves : int, default=7
        Small trees suit collections of a thousand queries; raise it for larger ones.
    min_leaf_documents : int, default=50
    feature_fraction : float, default=0.5
        Share of the features each tree may use.
    l2 : float, default=1.0
        Ridge on the values of the leaves.
    truncation_level : int, default=30
        Pairs count where at least one document ranks this high.
    gain : {"exponential", "linear"}, list of float or None, default=None
        2^y - 1, y, or the gains of the labels 0, 1, 2 and so on, which never fall. None: by the
        size of the labels, as said above. What `measure` counts is not changed by it.
    patience : int, default=50
        With validation queries: stop when that many trees brought nothing, and keep the best
        number of trees.
    measure : str or Measure, default="ndcg@10"
        What is watched on the validation queries.
    n_jobs : int or None, default=None
        Threads of training; None is 1, -1 all cores. Scoring takes one.
    random_state : int or None, default=0

    Attributes
    ----------
    n_trees_ : int
        Number of trees kept.
    trees_ : Trees
        The model as arrays.
    booster : lightgbm.Booster
        The same as LightGBM's own object, made when asked for.

    References
    ----------
    .. [1] Burges. From RankNet to LambdaRank to LambdaMART: An Overview. Microsoft Research
       Technical Report MSR-TR-2010-82.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(120, random_state=0)
    >>> train, test = dataset.select(range(80)), dataset.select(range(80, 120))
    >>> ranker = LambdaMART(n_trees=50).fit(train)
    >>> ranker.predict(test).shape == (test.n_documents,)
    True
    """

    _objective_name = "lambdarank"

    _parameters: ClassVar[Rules] = {
        "truncation_level": whole(1),
    }

    def __init__(
        self,
        n_trees: int = 300,
        *,
        learning_rate: float = 0.05,
        n_leaves: int = 7,
        min_leaf_documents: int = 50,
        feature_fraction: float = 0.5,
        l2: float = 1.0,
        truncation_level: int = 30,
        gain: Gain = None,
        patience: int = 50,
        measure: str | Measure = "ndcg@10",
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        super().__init__(
            n_trees,
            learning_rate=learning_rate,
            n_leaves=n_leaves,
            min_leaf_documents=min_leaf_documents,
            feature_fraction=feature_fraction,
            l2=l2,
            gain=gain,
            patience=patience,
            measure=measure,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.truncation_level = truncation_level

    def _lists(
        self, dataset: RankingDataset, query_weights: Weights
    ) -> tuple[RankingDataset, Integers, Weights]:
        dataset, sizes, weights = super()._lists(dataset, query_weights)
        if sizes.max() <= MAX_LIST_LENGTH:
            return dataset, sizes, weights
        worth = gains(dataset.labels, self.gain)
        rows, shares = np.arange(dataset.n_documents), np.ones(dataset.n_documents)
        part_sizes: list[int] = []
        for begin, size in zip(dataset.offsets[:-1].tolist(), sizes.tolist(), strict=True):
            own = slice(begin, begin + size)
            parts = parts_of_list(dataset.labels[own], MAX_LIST_LENGTH)
            part_sizes += map(len, parts)
            if len(parts) > 1:
                rows[own] = begin + np.concatenate(parts)
                n_teaching = sum(bool(np.ptp(worth[own][part]) > 0) for part in parts)
                shares[own] /= max(n_teaching, 1)
        weights = shares if weights is None else shares * weights
        dataset = dataset.reordered(rows, np.arange(dataset.n_queries))
        return dataset, np.array(part_sizes), weights[rows]

    def _objective(self, dataset: RankingDataset) -> tuple[dict[str, Any], Floats]:
        labels, ranks = np.unique(dataset.labels, return_inverse=True)
        parameters = {
            "lambdarank_truncation_level": self.truncation_level,
            "label_gain": gains(labels, self.gain),
        }
        return parameters, ranks.astype(np.float64)


def parts_of_list(labels: Floats, most: int) -> list[Integers]:
    """The places of a list's documents, cut into parts of at most so many documents.

    The parts are as few as there can be, and differ by at most one in their number of documents
    and in that of each label. In a part, documents keep their order.

    Examples
    --------
    >>> [part.tolist() for part in parts_of_list(np.array([0, 1, 0, 0, 1.0, 0]), 3)]
    [[0, 1, 3], [2, 4, 5]]
    """
    n_parts = -(-len(labels) // most)
    by_label = np.argsort(labels, kind="stable")
    return [np.sort(by_label[part::n_parts]) for part in range(n_parts)]
