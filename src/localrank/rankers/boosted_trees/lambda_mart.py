"""LambdaMART."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.measures import Measure
from localrank.parameters import Rules, whole
from localrank.rankers.boosted_trees.boosted_trees import BoostedTrees
from localrank.rankers.gains import gains

# LightGBM's lambdarank refuses longer lists.
MAX_DOCUMENTS = 10_000


@declare(
    "lambdamart",
    "boosted trees for NDCG",
    grid={"n_leaves": [5, 7, 15]},
    sample={"n_trees": 15, "min_leaf_documents": 5},
)
class LambdaMART(BoostedTrees):
    """Boosted trees on LambdaRank's gradients of NDCG [1]_, trained by LightGBM.

    Any labels y serve. The gain of a label is 2^y - 1, or y where labels are larger than 30, as
    counts of clicks are; where the lowest is negative, gains are counted from it. The model is
    the same for any number of threads and any order of the rows.

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
            patience=patience,
            measure=measure,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.truncation_level = truncation_level

    def _objective(self, dataset: RankingDataset) -> tuple[dict[str, Any], Floats]:
        longest = int(np.argmax(dataset.query_sizes))
        name, size = dataset.query_ids.tolist()[longest], dataset.query_sizes[longest]
        if size > MAX_DOCUMENTS:
            raise ValueError(
                f"LambdaMART trains on at most {MAX_DOCUMENTS:,} documents per query. Query "
                f"{name!r} has {size:,}: keep its relevant documents and a sample of the others, "
                f"or use CrossEntropyMART or GBRT."
            )
        labels, ranks = np.unique(dataset.labels, return_inverse=True)
        parameters = {
            "lambdarank_truncation_level": self.truncation_level,
            "label_gain": gains(labels),
        }
        return parameters, ranks.astype(np.float64)
