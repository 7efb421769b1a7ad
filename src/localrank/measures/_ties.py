"""Ranked lists, and what becomes of documents with equal scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import argsort_descending, read_only, sort_rows
from localrank.data import RankingDataset

TIE_RULES = {
    "averaged": "Documents with equal scores count with the mean over all their orders.",
    "input": "Documents with equal scores keep the order of the input.",
    "pessimistic": "Documents with equal scores are ranked worst first.",
    "document_id": (
        "Documents with equal scores (compared as float32) are ranked by descending document id."
    ),
}


class RankedLists(NamedTuple):
    """The labels of each query in the order of the scores, as kernels take them.

    Attributes
    ----------
    labels : ndarray of shape (n_documents,)
        By query, then from the top of its list. Negative labels are 0.
    tied : ndarray of bool of shape (n_documents,)
        Whether a position and the one above it are exchangeable. All False under a tie rule
        that puts tied documents into an order.
    ends : ndarray of shape (n_queries,)
        Where the ranked documents of each query end; the ones after were not retrieved.
    offsets : ndarray of shape (n_queries + 1,)
    ideal : ndarray of shape (n_documents,)
        The labels of each query in descending order.
    """

    labels: Floats
    tied: Flags
    ends: Integers
    offsets: Integers
    ideal: Floats


def checked_scores(dataset: RankingDataset, scores: ArrayLike) -> Floats:
    """The scores as float64 in the order of the dataset's rows."""
    values = np.asarray(scores)
    if values.shape != (dataset.n_documents,):
        raise ValueError(
            f"Scores need one number per document ({dataset.n_documents}). "
            f"Got shape {values.shape} instead."
        )
    values = values.astype(np.float64, copy=False)
    if not values.max() < np.inf:  # also where the maximum is NaN
        for name, wrong in (("NaN", np.isnan(values)), ("+inf", np.isposinf(values))):
            if wrong.any():
                raise ValueError(
                    f"Scores must be numbers below infinity. {np.sum(wrong)} of {len(values)} "
                    f"are {name}, the first at position {np.argmax(wrong)}."
                )
    return dataset.in_query_order(values)


def rank(dataset: RankingDataset, scores: Floats, ties: str) -> RankedLists:
    """Rank checked scores, given in the order of the rows, by a rule of `TIE_RULES`."""
    if ties == "document_id":
        if dataset.document_ids is None:
            raise ValueError("Ties by document id need a dataset with document_ids.")
        scores = _as_float32(scores)
    offsets = read_only(dataset.offsets, np.int64)
    labels, ideal = dataset.labels, dataset.ideal_labels
    if ideal[offsets[1:] - 1].min() < 0:
        labels, ideal = np.maximum(labels, 0.0), np.maximum(ideal, 0.0)
    labels = read_only(labels, np.float64)
    longest = int(dataset.query_sizes.max())
    ranked, tied, ends = _arrange(read_only(scores, np.float64), labels, offsets, longest)
    if ties not in ("averaged", "threshold") and tied.any():
        order = argsort_descending(scores, offsets)
        _order_ties(order, tied, _precedence(dataset, ties))
        ranked, tied = labels[order], np.zeros_like(tied)
    return RankedLists(ranked, tied, ends, offsets, read_only(ideal, np.float64))


@kernel
def _arrange(
    scores: Floats, labels: Floats, offsets: Integers, longest: int
) -> tuple[Floats, Flags, Integers]:
    """Labels by descending score, whether the score is that of the position above, and ends."""
    ranked = np.empty(len(scores), np.float64)
    tied = np.empty(len(scores), np.bool_)
    ends = np.empty(len(offsets) - 1, np.int64)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for query in range(len(ends)):
        begin, end = offsets[query], offsets[query + 1]
        sort_rows(scores, begin, end, order, spare)
        previous = np.nan
        for i in range(end - begin):
            score = scores[order[i]]
            ranked[begin + i] = labels[order[i]]
            tied[begin + i] = score == previous
            previous = score
        while end > begin and scores[order[end - begin - 1]] == -np.inf:
            end -= 1
        ends[query] = end
    return ranked, tied, ends


@kernel
def tie_end(tied: Flags, position: int, end: int) -> int:
    """One past the last document tied with the one at a position."""
    position += 1
    while position < end and tied[position]:
        position += 1
    return position


def _as_float32(scores: Floats) -> Floats:
    """Scores rounded to float32, the finite ones to finite numbers."""
    largest = np.finfo(np.float32).max
    rounded = np.clip(scores, -largest, largest).astype(np.float32)
    return np.where(scores == -np.inf, scores, rounded)


def _precedence(dataset: RankingDataset, ties: str) -> Array:
    """What the documents of a tie are sorted by, ascending."""
    if ties == "pessimistic":
        return dataset.labels
    if ties == "document_id":
        names = np.asarray(dataset.document_ids)
        names = names if names.dtype.kind in "UT" else names.astype(str)
        _, number = np.unique(names, return_inverse=True)
        return -number
    return np.arange(dataset.n_documents) if dataset.input_order is None else dataset.input_order


def _order_ties(order: Integers, tied: Flags, precedence: Array) -> None:
    """Sort each run of tied positions by the precedence of its rows, in place."""
    member = tied.copy()
    member[:-1] |= tied[1:]
    positions = np.flatnonzero(member)
    group = np.cumsum(~tied[positions])
    rows = order[positions]
    order[positions] = rows[np.lexsort((precedence[rows], group))]
