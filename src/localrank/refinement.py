"""Groups refined by how well each group's model ranks each training query."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator

from localrank.data import RankingDataset
from localrank.grouping.base import Groups
from localrank.measures import (
    NDCG,
    AveragePrecision,
    Measure,
    Precision,
    ReciprocalRank,
    evaluate,
)
from localrank.parallel import in_parallel
from localrank.parameters import refuse, whole_numbers
from localrank.rankers import Ranker
from localrank.representations.base import Points

# What a performance profile consists of.
MEASURES: tuple[Measure, ...] = (
    NDCG(3),
    NDCG(5),
    NDCG(10),
    AveragePrecision(100),
    ReciprocalRank(100),
    Precision(3),
    Precision(5),
    Precision(10),
)
# The models of groups, trained on the queries that a mask leaves in.
Train = Callable[[Groups, NDArray[np.bool_]], list[Ranker]]
# Groups of queries by profiles.
Regroup = Callable[[Points, NDArray[np.float64]], Groups]


class Refinement(BaseEstimator):
    """Groups queries again by their performance profiles, `rounds` clusterings in all [1]_.

    After each clustering every group's model ranks every training query. The profile of a query
    is the values of NDCG@3, 5 and 10, MAP@100, MRR@100 and P@3, 5 and 10 under each model; the
    next clustering is of the profiles.

    Parameters
    ----------
    rounds : int, default=3
        Clusterings in all; with 1 nothing is refined.
    n_folds : int or None, default=None
        None is the paper's way, in which a query is also ranked by the model that has learned
        from it, and looks unfairly well suited to it. A number cross-fits: each query is ranked
        by models that were trained without its fold, at so many times the cost.
    random_state : int or None, default=0
        Seed of the folds.

    References
    ----------
    .. [1] Kuzi, Labhishetty, Karmaker Santu, Joshi, Zhai. Analysis of Adaptive Training for
       Learning to Rank in Information Retrieval. CIKM 2019.
    """

    def __init__(
        self, rounds: int = 3, *, n_folds: int | None = None, random_state: int | None = 0
    ) -> None:
        self.rounds = rounds
        self.n_folds = n_folds
        self.random_state = random_state

    def refine(
        self,
        dataset: RankingDataset,
        groups: Groups,
        train: Train,
        regroup: Regroup,
        n_jobs: int | None = None,
    ) -> tuple[Groups, list[int]]:
        """The last groups, and how many queries changed their group in each round."""
        whole_numbers(self, rounds=1)
        if self.n_folds is not None:
            whole_numbers(self, n_folds=2)
            if self.n_folds > dataset.n_queries:
                refuse(self, "n_folds", f"at most the number of queries ({dataset.n_queries})")
        n_changed = []
        for _ in range(self.rounds - 1):
            representation, profiles = self._profiles(dataset, groups, train, n_jobs)
            refined = regroup(representation, profiles)
            n_changed.append(count_changed(groups.home, refined.home))
            groups = refined
        return groups, n_changed

    def _profiles(
        self, dataset: RankingDataset, groups: Groups, train: Train, n_jobs: int | None = None
    ) -> tuple[PerformanceProfile, NDArray[np.float64]]:
        everyone = np.ones(dataset.n_queries, dtype=bool)
        if self.n_folds is None:
            profile = PerformanceProfile(train(groups, everyone), n_jobs).fit(dataset)
            return profile, profile.transform(dataset)
        profiles = np.empty((dataset.n_queries, len(groups) * len(MEASURES)))
        order = np.random.default_rng(self.random_state).permutation(dataset.n_queries)
        for fold in np.array_split(order, self.n_folds):
            kept = everyone.copy()
            kept[fold] = False
            profile = PerformanceProfile(train(groups, kept), n_jobs).fit(dataset)
            profiles[fold] = profile.transform(dataset.select(fold))
        return profile, profiles


class PerformanceProfile(Points):
    """Describes a query by how well each of some models ranks it.

    Parameters
    ----------
    models : sequence of Ranker
        Fitted.
    n_jobs : int or None, default=None
        Models asked at the same time.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import BestFeature
    >>> dataset, _ = make_queries(20)
    >>> models = [BestFeature().fit(dataset)] * 2
    >>> PerformanceProfile(models).fit(dataset).transform(dataset).shape
    (20, 16)
    """

    def __init__(self, models: Sequence[Ranker], n_jobs: int | None = None) -> None:
        self.models = models
        self.n_jobs = n_jobs

    @property
    def needs_labels(self) -> bool:
        return True

    def _transform(self, dataset: RankingDataset) -> NDArray[np.float64]:
        def values(model: Ranker) -> NDArray[np.float64]:
            found = evaluate(dataset, model.predict(dataset), MEASURES)
            return np.column_stack(list(found.values()))

        return np.hstack(
            in_parallel(values, self.models, n_jobs=self.n_jobs, description="Profiles")
        )


def count_changed(before: NDArray[np.int64], after: NDArray[np.int64]) -> int:
    """How many queries are in another group, groups matched so that as few as possible are.

    Examples
    --------
    >>> count_changed(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]))
    1
    """
    shared = np.zeros((before.max() + 1, after.max() + 1), dtype=np.int64)
    np.add.at(shared, (before, after), 1)
    rows, columns = linear_sum_assignment(shared, maximize=True)
    return int(len(before) - shared[rows, columns].sum())
