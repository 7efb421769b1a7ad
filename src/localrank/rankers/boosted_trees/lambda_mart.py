"""LambdaMART."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from localrank.data import RankingDataset
from localrank.measures import Measure
from localrank.parameters import refuse, whole_numbers
from localrank.rankers.boosted_trees.boosted_trees import BoostedTrees

# LightGBM's lambdarank refuses longer lists.
MAX_DOCUMENTS = 10_000
# Its rank_xendcg takes 2 to the power of a label as an integer of 32 bits.
MAX_LABEL = 30


class LambdaMART(BoostedTrees):
    """Boosted trees on LambdaRank's gradients of NDCG [1]_, trained by LightGBM.

    Any set of labels y serves; a label's gain is 2^y - 1. The model is the same for any number
    of threads and any order of the rows.

    With `objective="rank_xendcg"` the same trees fit another gradient, and the model is no longer
    LambdaMART by the book: that of the cross entropy between the softmax of a query's scores and
    targets in proportion to 2^y - g, with g drawn from [0, 1) for each document and tree [2]_, to
    which LightGBM adds two terms for the second derivatives between documents. It costs O(n) in the
    documents of a query instead of a sum over pairs. Labels must be whole numbers up to 30. A query
    with one label, of which LambdaRank learns nothing, draws the scores of its documents together.

    Parameters
    ----------
    n_trees : int, default=300
        Number of trees, or the most there may be where `fit` gets validation queries.
    objective : {"lambdarank", "rank_xendcg"}, default="lambdarank"
        LightGBM's name of what is minimised.
    learning_rate : float, default=0.05
    n_leaves : int, default=7
        Small trees suit collections of a thousand queries; raise it for larger ones.
    min_leaf_documents : int, default=50
    feature_fraction : float, default=0.5
        Share of the features each tree may use.
    l2 : float, default=1.0
        Ridge on the values of the leaves.
    truncation_level : int, default=30
        Pairs count where at least one document ranks this high. Of no effect on rank_xendcg,
        which has no pairs.
    patience : int, default=50
        With validation queries: stop when that many trees brought nothing, and keep the best
        number of trees.
    measure : str or Measure, default="ndcg@10"
        What is watched on the validation queries.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all cores.
    random_state : int or None, default=0

    Attributes
    ----------
    n_trees_ : int
        Number of trees kept.
    model_text_ : str
        The model in LightGBM's text format.
    booster : lightgbm.Booster

    References
    ----------
    .. [1] Burges. From RankNet to LambdaRank to LambdaMART: An Overview. Microsoft Research
       Technical Report MSR-TR-2010-82.
    .. [2] Bruch. An Alternative Cross Entropy Loss for Learning-to-Rank. WWW 2021.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(120, random_state=0)
    >>> train, test = dataset.select(range(80)), dataset.select(range(80, 120))
    >>> ranker = LambdaMART(n_trees=50).fit(train)
    >>> ranker.predict(test).shape == (test.n_documents,)
    True
    """

    def __init__(
        self,
        n_trees: int = 300,
        *,
        objective: Literal["lambdarank", "rank_xendcg"] = "lambdarank",
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
        self.objective = objective
        self.truncation_level = truncation_level

    def _objective(self, dataset: RankingDataset) -> tuple[dict[str, Any], NDArray[np.float64]]:
        whole_numbers(self, truncation_level=1)
        if self.objective == "lambdarank":
            return self._lambdarank(dataset)
        if self.objective != "rank_xendcg":
            refuse(self, "objective", "'lambdarank' or 'rank_xendcg'")
        labels = dataset.labels
        unfit = labels[(labels != np.round(labels)) | (labels > MAX_LABEL)]
        if unfit.size:
            raise ValueError(
                f"LambdaMART with objective='rank_xendcg' takes whole numbers up to {MAX_LABEL} "
                f"as labels. Got {unfit[0]:g} instead: change the labels, or the objective."
            )
        # Leaves of less curvature, where a list is as good as learned, make LightGBM fail.
        return {"objective": "rank_xendcg", "min_sum_hessian_in_leaf": 1e-3}, labels

    def _lambdarank(self, dataset: RankingDataset) -> tuple[dict[str, Any], NDArray[np.float64]]:
        longest = int(np.argmax(dataset.query_sizes))
        name, size = dataset.query_ids[longest].item(), dataset.query_sizes[longest]
        if size > MAX_DOCUMENTS:
            raise ValueError(
                f"LambdaMART trains on at most {MAX_DOCUMENTS:,} documents per query. Query "
                f"{name!r} has {size:,}: keep its relevant documents and a sample of the others, "
                f"or use objective='rank_xendcg' or GBRT."
            )
        labels, ranks = np.unique(dataset.labels, return_inverse=True)
        if labels[-1] > 1000:
            raise ValueError(
                f"The gain 2^y - 1 of label {labels[-1]:g} is too large for a float: "
                f"scale the labels down."
            )
        parameters = {
            "objective": "lambdarank",
            "lambdarank_truncation_level": self.truncation_level,
            "label_gain": np.exp2(labels) - 1,
        }
        return parameters, ranks.astype(np.float64)
