"""Several rankers as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone

from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.parallel import in_parallel, one_thread
from localrank.parameters import Rule, Rules, one_of
from localrank.rankers.base import Ranker


@declare("ensemble", "several rankers, averaged", sample={"rankers": ["lambdamart", "rank-svm"]})
class Ensemble(Ranker):
    """The mean of several rankers' scores, made comparable within each query.

    Parameters
    ----------
    rankers : sequence of Ranker
        Of any kinds; they stay as they are, clones are trained. For several models of one kind
        give them different seeds.
    combine : {"zscore", "mean", "borda"}, default="zscore"
        Whether scores are standardised within each query before the mean, so that every ranker
        counts alike, taken as they are, or replaced by their ranks within the query, equal
        scores sharing theirs.
    n_jobs : int or None, default=None
        Rankers trained at the same time, with one thread each; -1 for all cores. With None or 1
        they are trained one after the other, each with its own `n_jobs`. The result does not
        depend on it.

    Attributes
    ----------
    rankers_ : list of Ranker
        The trained clones.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART, RankSVM
    >>> dataset, _ = make_queries(80)
    >>> trees = [LambdaMART(20, random_state=seed) for seed in range(2)]
    >>> ensemble = Ensemble([*trees, RankSVM()]).fit(dataset)
    >>> len(ensemble.rankers_), ensemble.predict(dataset).shape == (dataset.n_documents,)
    (3, True)
    """

    _parameters: ClassVar[Rules] = {
        "rankers": Rule(
            lambda value: (
                isinstance(value, Sequence)
                and len(value) > 0
                and all(isinstance(ranker, Ranker) for ranker in value)
            ),
            "a list of rankers, not empty",
        ),
        "combine": one_of("zscore", "mean", "borda"),
    }

    def __init__(
        self,
        rankers: Sequence[Ranker],
        *,
        combine: Literal["zscore", "mean", "borda"] = "zscore",
        n_jobs: int | None = None,
    ) -> None:
        self.rankers = rankers
        self.combine = combine
        self.n_jobs = n_jobs

    @property
    def accepts_missing(self) -> bool:
        return all(getattr(ranker, "accepts_missing", False) for ranker in self.rankers)

    def learns_from(self, dataset: RankingDataset) -> NDArray[np.bool_]:
        masks = np.array([ranker.learns_from(dataset) for ranker in self.rankers])
        return np.asarray(masks.all(axis=0))

    def _fit(
        self,
        dataset: RankingDataset,
        query_weights: NDArray[np.float64] | None,
        valid: RankingDataset | None,
    ) -> None:
        alone = joblib.effective_n_jobs(self.n_jobs) == 1

        def train(ranker: Ranker) -> Ranker:
            model: Ranker = clone(ranker) if alone else one_thread(ranker)
            return model.fit(dataset, query_weight=query_weights, valid=valid)

        self.rankers_ = in_parallel(train, self.rankers, n_jobs=self.n_jobs, description="Ensemble")

    def _predict(self, dataset: RankingDataset) -> NDArray[Any]:
        total = np.zeros(dataset.n_documents)
        for ranker in self.rankers_:
            scores = dataset.in_query_order(ranker.predict(dataset))
            total += comparable(scores, dataset, self.combine)
        return total / len(self.rankers_)


def comparable(
    scores: NDArray[np.float64], dataset: RankingDataset, combine: str
) -> NDArray[np.float64]:
    """Scores, row by row, made comparable with another ranker's.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays(np.zeros((5, 1)), qid=["a", "a", "a", "b", "b"])
    >>> comparable(np.array([1.0, 2.0, 3.0, 7.0, 7.0]), dataset, "zscore").round(2)
    array([-1.22,  0.  ,  1.22,  0.  ,  0.  ])
    >>> comparable(np.array([1.0, 9.0, 9.0, 7.0, 8.0]), dataset, "borda")
    array([1. , 2.5, 2.5, 1. , 2. ])
    """
    if combine == "mean":
        return scores
    offsets, query = dataset.offsets[:-1], dataset.query_index
    if combine == "borda":
        # Ranks among all documents sorted by query, then score, less those of queries before.
        order = np.lexsort((scores, query))
        new = np.ones(len(scores), dtype=bool)
        new[1:] = (np.diff(scores[order]) > 0) | (np.diff(query[order]) > 0)
        dense = np.empty(len(scores))
        dense[order] = np.cumsum(new)
        ranks: NDArray[np.float64] = rankdata(dense) - offsets[query]
        return ranks
    centred = scores - (np.add.reduceat(scores, offsets) / dataset.query_sizes)[query]
    # Relative to the largest, so that squares neither vanish nor overflow.
    largest = np.maximum.reduceat(np.abs(centred), offsets)
    noise = 1e-12 * np.maximum.reduceat(np.abs(scores), offsets)
    varied = largest > noise
    centred = np.where(varied[query], centred / np.where(varied, largest, 1.0)[query], 0.0)
    deviation = np.sqrt(np.add.reduceat(centred**2, offsets) / dataset.query_sizes)
    return centred / np.where(varied, deviation, 1.0)[query]
