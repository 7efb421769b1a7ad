"""Groups refined by how well each group's model ranks each training query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.parallel import in_parallel
from localrank._base.rules import Rules, optional, refuse, whole
from localrank.data import RankingDataset
from localrank.grouping._training import TrainingQueries
from localrank.grouping.base import Grouping, Groups, a_grouping, group_queries
from localrank.measures import NDCG, AveragePrecision, Measure, Precision, ReciprocalRank
from localrank.measures.base import evaluate_rows
from localrank.rankers import Ranker
from localrank.registry import declare
from localrank.representations.base import Points, Representation

# The measures of a performance profile.
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


@declare(
    "refined",
    "another grouping, repeated by how well each group's model ranks each query",
    sample={"grouping": "kmeans"},
)
class Refined(Grouping):
    """Another grouping, repeated on the queries' performance profiles [1].

    After each clustering, every group's model ranks every training query. The profile of a query
    is the values of NDCG@3, 5 and 10, MAP@100, MRR@100 and P@3, 5 and 10 under each model. The
    next clustering groups the profiles.

    Parameters
    ----------
    grouping : Grouping or clusterer
        The grouping to repeat: a part of `localrank.grouping`, or a clusterer of scikit-learn
        such as KMeans(5).
    rounds : int, default=3
        Number of clusterings in all. With 1 nothing is refined.
    n_folds : int or None, default=None
        Number of folds for cross-fitting. Each query is then ranked by models that were trained
        without its fold. Training costs that many times as much. None: the paper's way. A query is
        also ranked by the model that has learned from it, and looks unfairly well suited to it.
    random_state : int or None, default=0
        Seed of the folds.

    References
    ----------
    1. Kuzi, Labhishetty, Karmaker Santu, Joshi, Zhai. Analysis of Adaptive Training for
       Learning to Rank in Information Retrieval. CIKM 2019.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from localrank import LocalRanker
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import RankSVM
    >>> from localrank.representations import Mean
    >>> from localrank.selection import NearestCentroid
    >>> dataset, _ = make_queries(60)
    >>> grouping = Refined(KMeans(2, random_state=0), rounds=3)
    >>> local = LocalRanker(Mean(), grouping, RankSVM(), NearestCentroid()).fit(dataset)
    >>> len(local.groups_.n_changed)
    2
    """

    _parameters: ClassVar[Rules] = {
        "grouping": a_grouping,
        "rounds": whole(1),
        "n_folds": optional(whole(2)),
    }

    def __init__(
        self,
        grouping: Any,
        *,
        rounds: int = 3,
        n_folds: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.grouping = grouping
        self.rounds = rounds
        self.n_folds = n_folds
        self.random_state = random_state

    def _group(self, representation: Representation, descriptions: Array) -> Groups:
        # The first round, which needs no models.
        return group_queries(self.grouping, representation, descriptions)

    def group_training(
        self, training: TrainingQueries, representation: Representation, descriptions: Array
    ) -> Groups:
        n_queries = training.dataset.n_queries
        if self.n_folds is not None and self.n_folds > n_queries:
            refuse(self, "n_folds", f"at most the number of queries ({n_queries})")
        groups = training.form_groups(self.grouping, representation, descriptions)
        n_changed = []
        for _ in range(self.rounds - 1):
            refined = training.form_groups(self.grouping, *self._profiles(training, groups))
            n_changed.append(count_changed(groups.home, refined.home))
            groups = refined
        return replace(groups, n_changed=tuple(n_changed))

    def _profiles(
        self, training: TrainingQueries, groups: Groups
    ) -> tuple[PerformanceProfile, Floats]:
        dataset, n_jobs = training.dataset, training.n_jobs
        if self.n_folds is None:
            profile = PerformanceProfile(training.models(groups), n_jobs)
            return profile, profile.transform_rows(dataset)
        profiles = np.empty((dataset.n_queries, len(groups) * len(MEASURES)))
        order = np.random.default_rng(self.random_state).permutation(training.content_order)
        for fold in map(np.sort, np.array_split(order, self.n_folds)):
            kept = np.ones(dataset.n_queries, dtype=bool)
            kept[fold] = False
            profile = PerformanceProfile(training.models(groups, kept=kept), n_jobs)
            profiles[fold] = profile.transform_rows(dataset.taken(fold))
        return profile, profiles


class PerformanceProfile(Points):
    """Describes a query by how well each of some models ranks it.

    Parameters
    ----------
    models : sequence of Ranker
        The fitted models.
    n_jobs : int or None, default=None
        Models that rank at the same time. None: one.

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

    _sees_missing = True

    def _transform(self, dataset: RankingDataset) -> Floats:
        profiles = in_parallel(
            _profile, self.models, shared=(dataset,), n_jobs=self.n_jobs, description="Profiles"
        )
        return np.hstack(profiles)


def _profile(model: Ranker, dataset: RankingDataset) -> Floats:
    """The values of all measures for a model's ranking of each query."""
    values = evaluate_rows(dataset, model.predict_rows(dataset), MEASURES)
    return np.column_stack(list(values.values()))


def count_changed(before: Integers, after: Integers) -> int:
    """The number of queries that changed their group, with groups matched so that it is smallest.

    Examples
    --------
    >>> count_changed(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]))
    1
    """
    # Imported here: loading a model does not need it.
    from scipy.optimize import linear_sum_assignment

    shared = np.zeros((before.max() + 1, after.max() + 1), dtype=np.int64)
    np.add.at(shared, (before, after), 1)
    rows, columns = linear_sum_assignment(shared, maximize=True)
    return int(len(before) - shared[rows, columns].sum())
