"""Ranked lists, and what becomes of documents with equal scores."""

from __future__ import annotations

from typing import NamedTuple
from weakref import ReferenceType, ref

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


# The rules that leave tied documents exchangeable.
_UNORDERED = ("averaged", "threshold")


class RankedLists(NamedTuple):
    """The labels of each query in the order of the scores, as kernels take them. Read-only.

    Attributes
    ----------
    labels : ndarray of shape (n_documents,)
        By query, then from the top of its list. Negative labels are 0.
    judged : ndarray of bool of shape (n_documents,)
        Whether somebody judged the document at a position: its label is not negative.
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
    judged: Flags
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


class _Ranking(NamedTuple):
    """Ranked lists, by tie rule, of a dataset and the scores that it had."""

    dataset: ReferenceType[RankingDataset]
    scores: Floats
    lists: dict[str, RankedLists]


# Sorting takes most of the time of a measure, and measures are often asked for one after the other:
# the last ranking is kept, with a copy of its scores, unless it is large.
_MAX_KEPT = 2**18
_last: _Ranking | None = None


def rank(dataset: RankingDataset, scores: Floats, ties: str) -> RankedLists:
    """Rank checked scores, given in the order of the rows, by a rule of `TIE_RULES`."""
    global _last
    last = _last
    if last is None or last.dataset() is not dataset or not np.array_equal(last.scores, scores):
        if dataset.n_documents > _MAX_KEPT:
            return _rank(dataset, scores, ties)
        last = _last = _Ranking(ref(dataset), scores.copy(), {})
    if ties not in last.lists:
        last.lists[ties] = _rank(dataset, scores, ties)
    return last.lists[ties]


def _rank(dataset: RankingDataset, scores: Floats, ties: str) -> RankedLists:
    scores = _compared(dataset, scores, ties)
    offsets = read_only(dataset.offsets, np.int64)
    labels, ideal = read_only(dataset.labels, np.float64), dataset.ideal_labels
    longest = int(dataset.query_sizes.max())
    ranked, tied, ends = _arrange(read_only(scores, np.float64), labels, offsets, longest)
    if ties not in _UNORDERED and tied.any():
        order = argsort_descending(scores, offsets)
        _order_ties(order, tied, _precedence(dataset, ties))
        ranked, tied = labels[order], np.zeros_like(tied)
    if ideal[offsets[1:] - 1].min() < 0:
        judged = ranked >= 0
        ranked, ideal = np.maximum(ranked, 0.0), np.maximum(ideal, 0.0)
    else:
        judged = np.ones(len(ranked), np.bool_)
    return RankedLists(
        read_only(ranked, np.float64),
        read_only(judged, np.bool_),
        read_only(tied, np.bool_),
        read_only(ends, np.int64),
        offsets,
        read_only(ideal, np.float64),
    )


def ranked_rows(dataset: RankingDataset, scores: Floats, ties: str) -> tuple[Integers, Flags]:
    """The rows of each query by descending score, and whether each is tied with the one above.

    For measures that need to know which document is at a position, not only its label.
    """
    scores = _compared(dataset, scores, ties)
    order = argsort_descending(scores, dataset.offsets)
    ranked = scores[order]
    tied = np.zeros(len(order), np.bool_)
    tied[1:] = ranked[1:] == ranked[:-1]
    tied[dataset.offsets[:-1]] = False
    if ties not in _UNORDERED and tied.any():
        _order_ties(order, tied, _precedence(dataset, ties))
        tied = np.zeros_like(tied)
    return order, tied


def _compared(dataset: RankingDataset, scores: Floats, ties: str) -> Floats:
    """The scores as a tie rule compares them."""
    if ties != "document_id":
        return scores
    if dataset.document_ids is None:
        raise ValueError("Ties by document id need a dataset with document_ids.")
    return _as_float32(scores)


@kernel
def _arrange(
    scores: Floats, labels: Floats, offsets: Integers, longest: int
) -> tuple[Floats, Flags, Integers]:
    """Labels by descending score, whether the score is that of the position above, and ends."""
    ranked = np.empty(len(scores), np.float64)
    tied = np.empty(len(scores), np.bool_)
    ends = np.empty(len(offsets) - 1, np.int64)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    # Of a pool of runs, a run may have retrieved a small part: the others need no sorting.
    retrieved, rows = np.empty(longest, np.float64), np.empty(longest, np.int64)
    for query in range(len(ends)):
        begin, end = offsets[query], offsets[query + 1]
        n, last = 0, end
        for row in range(end - 1, begin - 1, -1):
            if scores[row] == -np.inf:
                last -= 1
                ranked[last] = labels[row]
                tied[last] = True
        for row in range(begin, end):
            if scores[row] != -np.inf:
                retrieved[n] = scores[row]
                rows[n] = row
                n += 1
        sort_rows(retrieved, 0, n, order, spare)
        previous = np.nan
        for i in range(n):
            score = retrieved[order[i]]
            ranked[begin + i] = labels[rows[order[i]]]
            tied[begin + i] = score == previous
            previous = score
        if last < end:
            tied[last] = False
        ends[query] = last
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
        return document_precedence(dataset)
    return np.arange(dataset.n_documents) if dataset.input_order is None else dataset.input_order


def document_precedence(dataset: RankingDataset) -> Integers:
    """A number for each row, lower for larger document ids, as texts."""
    names = np.asarray(dataset.document_ids)
    names = names if names.dtype.kind in "UT" else names.astype(str)
    numbers: Integers = np.unique(names, return_inverse=True)[1]
    return -numbers


def _order_ties(order: Integers, tied: Flags, precedence: Array) -> None:
    """Sort each run of tied positions by the precedence of its rows, in place."""
    member = tied.copy()
    member[:-1] |= tied[1:]
    positions = np.flatnonzero(member)
    group = np.cumsum(~tied[positions])
    rows = order[positions]
    order[positions] = rows[np.lexsort((precedence[rows], group))]
