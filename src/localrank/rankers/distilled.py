"""One model that ranks like many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from localrank._base.arrays import Array, Flags, Floats
from localrank._base.estimator import check_is_fitted, clone
from localrank._base.rules import (
    Rules,
    check_parameters,
    check_together,
    have_features,
    instance,
    optional,
)
from localrank.data import RankingDataset, concatenate
from localrank.rankers._categories import learned_from
from localrank.rankers._explaining import contribution_rows
from localrank.rankers._inputs import as_dataset, has_two_labels
from localrank.rankers._training import remember, remember_categories
from localrank.rankers.base import HeldOut, Needs, Ranker, Weights
from localrank.rankers.boosted_trees.gbrt import GBRT
from localrank.rankers.query_coordinates.query_coordinates import (
    COORDINATES_FRACTION,
    QueryCoordinates,
)
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.formulas import Formula


@declare(
    "distilled",
    "one model that learns the scores of another ranker",
    sample={"ranker": "rank-svm", "student": GBRT(15, min_leaf_documents=5)},
)
class Distilled(Ranker):
    """Trains a ranker, then a second one on the scores of the first, and keeps the second.

    The first, the teacher, may be large and slow, such as an ensemble of many models. The second,
    the student, learns from the teacher's scores of the training documents instead of their
    labels. Scores say more than labels: they order all documents of every query, even of queries
    without a relevant document. Only the student is saved and ranks.

    Parameters
    ----------
    ranker : Ranker
        The teacher. It stays unchanged: a clone is trained, and then dropped.
    student : Ranker, optional
        A ranker that learns from real-valued labels, such as GBRT. None: 600 boosted regression
        trees of 31 leaves, on query coordinates.

    Attributes
    ----------
    student_ : Ranker
        The trained clone of the student.

    See Also
    --------
    distil : The same for a teacher that is already trained. It also accepts lists without labels.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import Ensemble, LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> teacher = Ensemble([LambdaMART(20, random_state=seed) for seed in range(5)])
    >>> teacher.fit(dataset).n_models_, Distilled(teacher).fit(dataset).n_models_
    (5, 1)
    """

    _parameters: ClassVar[Rules] = {
        "ranker": instance(Ranker, "a ranker"),
        "student": optional(instance(Ranker, "a ranker, or None")),
    }
    _fitted: ClassVar[Rules] = {"student_": instance(Ranker)}

    needs = Needs(missing=True, blocks=True, order="given", trial=False)

    student_: Ranker

    def __init__(self, ranker: Ranker, student: Ranker | None = None) -> None:
        self.ranker = ranker
        self.student = student

    @property
    def n_models_(self) -> int:
        return self.student_.n_models_

    def learns_from(self, dataset: RankingDataset) -> Flags:
        return self.ranker.learns_from(dataset)

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        teacher: Ranker = clone(self.ranker)
        teacher.fit_rows(dataset, query_weights, valid)
        self._teach(dataset.replaced(relevance=teacher.predict_rows(dataset)), query_weights)

    def _teach(self, scored: RankingDataset, query_weights: Weights = None) -> None:
        """Train the student on lists labelled with the teacher's scores."""
        student: Ranker = clone(self.student_in_use)
        self.student_ = student.fit_rows(scored, query_weights)

    @property
    def student_in_use(self) -> Ranker:
        """The student given, or the default."""
        return student_in_coordinates() if self.student is None else self.student

    def _check_fitted(self) -> None:
        check_together(self, holds=have_features(self.n_features_in_, self.student_))

    def _row_bytes(self) -> int:
        return self.student_._row_bytes()

    def _predict(self, dataset: RankingDataset) -> Array:
        return self.student_.score_block(dataset)

    def _formula(self) -> Formula:
        return self.student_.formula()

    def _contributions(self, dataset: RankingDataset) -> Floats:
        return contribution_rows(self.student_, dataset)

    def _importances(self) -> Floats:
        return self.student_.feature_importances_


def student_in_coordinates(
    n_trees: int = 600,
    n_leaves: int = 31,
    *,
    min_leaf_documents: int = 50,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> QueryCoordinates:
    """Boosted regression trees on query coordinates."""
    trees = GBRT(
        n_trees,
        n_leaves=n_leaves,
        min_leaf_documents=min_leaf_documents,
        feature_fraction=COORDINATES_FRACTION,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    return QueryCoordinates(trees)


def distil(
    ranker: Ranker, lists: Any, *, unlabelled: Any = None, student: Ranker | None = None
) -> Distilled:
    """Train one model on the scores of a fitted ranker.

    Parameters
    ----------
    ranker : Ranker
        The teacher, fitted.
    lists : RankingDataset
        Lists for the student: the teacher's training queries, or any others. Labels are ignored.
    unlabelled : RankingDataset, optional
        More lists, for example from the logs of a search engine.
    student : Ranker, optional
        As for `Distilled`.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import fast
    >>> dataset, _ = make_queries(200)
    >>> train, log = dataset.select(range(80)), dataset.select(range(80, 200))
    >>> teacher = fast(n_trees=20).fit(train)
    >>> student = distil(teacher, train, unlabelled=log)
    >>> student.n_models_
    1
    """
    check_is_fitted(ranker, "n_features_in_")
    model = Distilled(clone(ranker), student)
    check_parameters(model)
    dataset = _numbered(as_dataset(lists, None, None), 0)
    if unlabelled is not None:
        more = _numbered(as_dataset(unlabelled, None, None), dataset.n_queries)
        dataset = concatenate([dataset, more])
    scored = dataset.replaced(relevance=dataset.in_query_order(ranker.predict(dataset)))
    if not has_two_labels(scored).any():
        raise ValueError(
            "There is nothing to learn: in no list does the teacher score two documents "
            "differently."
        )
    scored, categories = learned_from(model, scored)
    model._teach(scored)
    remember(model, scored)
    remember_categories(model, categories)
    return model


def _numbered(dataset: RankingDataset, first: int) -> RankingDataset:
    """The same lists with numbers as query ids, so that a query may have several lists."""
    return dataset.replaced(query_ids=np.arange(first, first + dataset.n_queries))
