"""The multiple nested ranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank._base.arrays import Array, Flags, Floats
from localrank._base.estimator import clone
from localrank._base.rules import (
    Rules,
    check_together,
    have_features,
    instance,
    instances,
    number,
    optional,
    whole,
)
from localrank._kernels.sorting import argsort_descending
from localrank.data import RankingDataset
from localrank.data._offsets import offsets_of
from localrank.rankers._inputs import finite_scores, has_two_labels
from localrank.rankers.base import HeldOut, Needs, Ranker, Weights
from localrank.rankers.rank_svm.rank_svm import RankSVM
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.formulas import Formula

# Rounding may put a whole number of documents this much above it.
_ROUNDING = 1e-9


@declare("nested", "rankers in stages, each for the top of the list before it")
class NestedRanker(Ranker):
    """Ranks a query in stages. Each stage ranks the top of the list again with its own ranker [1].

    The first ranker learns from all documents. It ranks the training queries, and the top share of
    each list stays. The next ranker learns from these documents only, and so on: each learns to
    order what the rankers before it could not tell apart at the top. A query is ranked in the same
    way. The documents that a stage keeps rank above those that it drops, which keep its order.

    Parameters
    ----------
    ranker : Ranker, optional
        The ranker of every stage. It stays unchanged: clones are trained. None: RankSVM().
    n_stages : int, default=3
        Number of stages. 1: the ranking of `ranker`. Training stops earlier if no query has
        documents left to learn from.
    share : float, default=0.5
        Share of the documents that a stage keeps in each query, rounded up. Documents that tie
        with the last one stay as well, so that the order of the documents does not matter.

    Attributes
    ----------
    rankers_ : list of Ranker
        The trained ranker of each stage.

    Notes
    -----
    A score is the number of documents below in the final list. It means nothing beyond the order
    in the query. Validation queries are cut like training queries, by the same rankers. The paper
    trains nets by RankNet and keeps fixed numbers of documents, or a share.

    References
    ----------
    1. Matveeva, Burges, Burkard, Laucius, Wong. High Accuracy Retrieval with Multiple Nested
       Ranker. SIGIR 2006.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(50, random_state=0)
    >>> ranker = NestedRanker(n_stages=2).fit(dataset)
    >>> first, second = ranker.rankers_
    >>> first.training_data_["n_documents"], second.training_data_["n_documents"]
    (2006, 1016)
    """

    needs = Needs(missing=True, order="given", lists=True)

    _parameters: ClassVar[Rules] = {
        "ranker": optional(instance(Ranker, "a ranker")),
        "n_stages": whole(1),
        "share": number(above=0, most=1),
    }

    _fitted: ClassVar[Rules] = {"rankers_": instances(Ranker)}

    rankers_: list[Ranker]

    def __init__(
        self, ranker: Ranker | None = None, *, n_stages: int = 3, share: float = 0.5
    ) -> None:
        self.ranker = ranker
        self.n_stages = n_stages
        self.share = share

    @property
    def n_models_(self) -> int:
        return sum(ranker.n_models_ for ranker in self.rankers_)

    def learns_from(self, dataset: RankingDataset) -> Flags:
        return (self.ranker or RankSVM()).learns_from(dataset)

    def _check_fitted(self) -> None:
        check_together(self, holds=have_features(self.n_features_in_, *self.rankers_))

    def _row_bytes(self) -> int:
        return max(ranker._row_bytes() for ranker in self.rankers_)

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        ranker = self.ranker or RankSVM()
        models: list[Ranker] = []
        for stage in range(self.n_stages):
            if stage:
                dataset = self._cut(dataset, models[-1])
                if valid is not None:
                    cut = self._cut(valid, models[-1])
                    valid = cut if has_two_labels(cut).any() else None
            teaches = ranker.learns_from(dataset)
            if query_weights is not None:
                teaches = teaches & (query_weights > 0)
            if stage and not teaches.any():
                break
            model: Ranker = clone(ranker)
            models.append(model.fit_rows(dataset, query_weights, valid))
        self.rankers_ = models

    def _cut(self, dataset: RankingDataset, model: Ranker) -> RankingDataset:
        """The documents at the top of each query's list."""
        return _of(dataset, self._top(dataset, model.predict_rows(dataset)))

    def _top(self, dataset: RankingDataset, scores: Floats) -> Flags:
        """Whether a document is in the top share of its query, or ties with the last of it."""
        n_kept = np.ceil(self.share * dataset.query_sizes - _ROUNDING).astype(np.int64)
        order = argsort_descending(scores, dataset.offsets)
        lowest = scores[order[dataset.offsets[:-1] + np.maximum(n_kept, 1) - 1]]
        return np.asarray(scores >= lowest[dataset.query_index])

    def _predict(self, dataset: RankingDataset) -> Array:
        rows, part = np.arange(dataset.n_documents), dataset
        stages, scores = np.zeros(len(rows), np.int64), np.empty(len(rows))
        for stage, ranker in enumerate(self.rankers_):
            if stage:
                top = self._top(part, scores[rows])
                rows, part = rows[top], _of(part, top)
            # Ranks would hide a score that is no number.
            scores[rows] = finite_scores(ranker, part, ranker.score_block(part))
            stages[rows] = stage
        return _numbers_below(dataset, stages, scores)

    def _formula(self) -> Formula:
        from localrank.formulas import NotExportable

        raise NotExportable(
            "NestedRanker",
            "it cuts lists stage by stage, and no search engine ranks its own top again and again",
            "Call it as a service instead: localrank serve. Or export one stage, "
            "`NestedRanker.rankers_`, and use it to re-rank.",
        )

    def _members(self) -> Sequence[Ranker]:
        return self.rankers_

    def _importances(self) -> Floats:
        shares: Floats = np.mean([ranker.feature_importances_ for ranker in self.rankers_], axis=0)
        return shares


def _of(dataset: RankingDataset, chosen: Flags) -> RankingDataset:
    """The chosen documents. Every query has some."""
    rows = np.flatnonzero(chosen)
    return dataset.with_rows(rows, offsets_of(dataset.count(chosen)), np.arange(dataset.n_queries))


def _numbers_below(dataset: RankingDataset, stages: Array, scores: Floats) -> Floats:
    """How many documents of the query have an earlier stage, or the same and a lower score."""
    query = dataset.query_index
    order = np.lexsort((scores, stages, query))
    keys = np.stack([query[order], stages[order], scores[order]])
    begins = np.flatnonzero(np.any(keys[:, 1:] != keys[:, :-1], axis=0)) + 1
    starts = np.zeros(len(order), np.int64)
    starts[begins] = begins
    below = np.empty(len(order))
    below[order] = np.maximum.accumulate(starts) - dataset.offsets[query[order]]
    return below
