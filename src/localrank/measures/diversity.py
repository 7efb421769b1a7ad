"""α-nDCG: a ranking of documents on several subtopics."""

from __future__ import annotations

import io
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Array, Flags, Floats, Integers
from localrank._base.rules import number, one_of, whole
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.data import Qrels, RankingDataset, Run, judged
from localrank.data._compression import damage_named, open_binary
from localrank.data._trec_reader import plain
from localrank.measures._cascade import mean_products
from localrank.measures._ties import (
    TIE_RULES,
    checked_scores,
    document_precedence,
    ranked_rows,
    tie_end,
)

LINE = "query subtopic document grade"
# The worst order of a tie cannot be told without trying all of them.
_TIES = tuple(rule for rule in TIE_RULES if rule != "pessimistic")


def alpha_ndcg(
    dataset: RankingDataset,
    scores: ArrayLike,
    subtopics: ArrayLike,
    *,
    cutoff: int | None = None,
    alpha: float = 0.5,
    ties: str = "averaged",
    empty: float = 0.0,
) -> Floats:
    """α-nDCG of each query: discounted gain that falls where a subtopic is covered again [1].

    A document gains (1 - alpha)^n for each of its subtopics, where n is the number of documents
    above that cover it as well. The sum of gains / log2(1 + rank) is divided by that of an ideal
    ranking, in which each document is the one that gains most, as in ndeval.

    Parameters
    ----------
    dataset : RankingDataset
        Queries with all documents that cover a subtopic. Labels are not needed.
    scores : array-like of shape (n_documents,)
        Scores in the order of the input; -inf: not retrieved.
    subtopics : array-like of shape (n_documents, n_subtopics)
        True, or a number above 0, where a document covers a subtopic. In the order of the input.
        Queries may use the same columns for different subtopics.
    cutoff : int, optional
        Number of top documents that count. None: all.
    alpha : float
        Loss of interest in a subtopic with each document on it, from 0 to 1.
    ties : {"averaged", "input", "document_id"}
        How documents with equal scores count. "averaged": the mean over all their orders. "input":
        the order of the input. "document_id": descending document id, as in ndeval.
    empty : float
        The value of a query without a document on any subtopic.

    Returns
    -------
    ndarray of shape (n_queries,)

    References
    ----------
    1. Clarke et al. Novelty and Diversity in Information Retrieval Evaluation. SIGIR 2008.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays(np.zeros((3, 0)), qid=[1, 1, 1])
    >>> subtopics = [[1, 0], [1, 0], [0, 1]]
    >>> alpha_ndcg(dataset, [3, 2, 1], subtopics).round(4)  # the second repeats the first
    array([0.9652])
    >>> alpha_ndcg(dataset, [3, 1, 2], subtopics)
    array([1.])
    """
    for name, value, rule in (
        ("cutoff", cutoff, whole(1)),
        ("alpha", alpha, number(least=0, most=1)),
        ("ties", ties, one_of(*_TIES)),
    ):
        if not rule.holds(value, {}) and not (name == "cutoff" and value is None):
            words = f"{rule.words} or None" if name == "cutoff" else rule.words
            raise ValueError(
                f"The '{name}' argument of alpha_ndcg must be {words}. Got {value!r} instead."
            )
    covers = np.asarray(subtopics)
    if covers.ndim != 2 or len(covers) != dataset.n_documents:
        raise ValueError(
            f"Subtopics need one row per document ({dataset.n_documents}), and one column per "
            f"subtopic. Got shape {covers.shape} instead."
        )
    covers = read_only(dataset.in_query_order(covers > 0), np.bool_)
    values = checked_scores(dataset, scores)
    order, tied = ranked_rows(dataset, values, ties)
    ends = dataset.offsets[:-1] + dataset.count(values > -np.inf)
    n_ranks = min(int(dataset.query_sizes.max()), cutoff or dataset.n_documents)
    weights = 1 / np.log2(np.arange(2.0, n_ranks + 2))
    offsets = read_only(dataset.offsets, np.int64)
    precedence = read_only(_precedence(dataset, covers), np.int64)
    result: Floats = _gained(order, tied, ends, offsets, covers, weights, float(alpha))
    ideal = _ideal(precedence, offsets, covers, weights, float(alpha), n_ranks)
    lacking = ideal == 0
    result[lacking] = empty
    result[~lacking] /= ideal[~lacking]
    return result


def judged_subtopics(run: Run, path: str | PathLike[str]) -> tuple[RankingDataset, Floats, Flags]:
    r"""A run with TREC judgments of subtopics: a dataset, its scores, and the subtopics.

    The lines of the file are `query subtopic document grade`. All queries and documents of the
    file are in the dataset. A document's label is its highest grade for a subtopic, and -1 if
    nobody judged it. One that is not in the run has the score -inf.

    Parameters
    ----------
    run : Run
        The ranking, as `localrank.data.read_run` reads it.
    path : str or PathLike
        The judgments.

    Returns
    -------
    dataset : RankingDataset
        Without features.
    scores : ndarray of shape (n_documents,)
    subtopics : ndarray of bool of shape (n_documents, n_subtopics)
        Whether a document covers a subtopic, for `alpha_ndcg`.

    Examples
    --------
    >>> import tempfile
    >>> run = Run(np.array(["q", "q"]), np.array(["a", "b"]), np.array([2.0, 1.0]))
    >>> with tempfile.NamedTemporaryFile("w") as file:
    ...     print("q 1 b 1", "q 2 b 1", "q 1 c 1", sep="\n", file=file, flush=True)
    ...     dataset, scores, subtopics = judged_subtopics(run, file.name)
    >>> dataset.relevance, scores, subtopics.astype(int).tolist()
    (array([-1.,  1.,  1.]), array([  2.,   1., -inf]), [[0, 0], [1, 1], [1, 0]])
    >>> alpha_ndcg(dataset, scores, subtopics).round(4)
    array([0.545])
    """
    lines = list(_judged_lines(Path(path)))
    if not lines:
        raise ValueError(f"{path}: the file has no lines. Each should look like {LINE!r}.")
    queries, topics, documents, given = zip(*lines, strict=True)
    grades = np.maximum(given, 0.0)
    highest: dict[tuple[str, str], float] = {}
    for pair, grade in zip(zip(queries, documents, strict=True), grades.tolist(), strict=True):
        highest[pair] = max(grade, highest.get(pair, 0.0))
    judged_queries, judged_documents = (np.array(ids) for ids in zip(*highest, strict=True))
    qrels = Qrels(judged_queries, judged_documents, np.array(list(highest.values())))
    dataset, scores = judged(run, qrels)
    names = dataset.query_ids.astype(str)[dataset.query_index].tolist()
    ids = np.asarray(dataset.document_ids).astype(str).tolist()
    rows = {pair: row for row, pair in enumerate(zip(names, ids, strict=True))}
    numbers = {topic: column for column, topic in enumerate(dict.fromkeys(topics))}
    labels = np.full(dataset.n_documents, -1.0)
    subtopics = np.zeros((dataset.n_documents, len(numbers)), np.bool_)
    for query, topic, document, grade in zip(queries, topics, documents, grades, strict=True):
        row = rows[query, document]
        labels[row] = highest[query, document]
        subtopics[row, numbers[topic]] |= grade > 0
    return dataset.replaced(relevance=labels), scores, dataset.in_input_order(subtopics)


def _judged_lines(path: Path) -> Iterator[tuple[str, str, str, float]]:
    """Query, subtopic, document and grade of each line."""
    with open_binary(path) as raw, damage_named(path), io.BufferedReader(raw) as file:
        for number, line in enumerate(file, start=1):
            words = line.split()
            if not words:
                continue
            try:
                query, topic, document = map(plain, words[:3])
                (grade,) = map(float, words[3:])
            except ValueError:
                grade = np.nan
            if not np.isfinite(grade):
                shown = line.strip()[:80].decode("utf-8", "backslashreplace")
                raise ValueError(
                    f"{path}:{number}: a line must be {LINE!r}. Got {shown!r} instead."
                )
            yield query, topic, document, grade


def _precedence(dataset: RankingDataset, covers: Flags) -> Array:
    """Which of two documents that gain the same comes first in the ideal ranking: the larger.

    Without document ids their subtopics decide, so that the order of rows does not matter.
    """
    if dataset.document_ids is not None:
        return -document_precedence(dataset)
    return np.unique(covers, axis=0, return_inverse=True)[1].ravel()


@kernel
def _gained(
    order: Integers,
    tied: Flags,
    ends: Integers,
    offsets: Integers,
    covers: Flags,
    weights: Floats,
    alpha: float,
) -> Floats:
    """Discounted gain of each ranking."""
    values = np.zeros(len(ends), np.float64)
    for query in range(len(ends)):
        begin, end = offsets[query], ends[query]
        cut = begin + min(end - begin, len(weights))
        for topic in range(covers.shape[1]):
            interest = 1.0
            start = begin
            while start < cut:
                stop = tie_end(tied, start, end)
                n_tied, n_covering = stop - start, 0
                for i in range(start, stop):
                    n_covering += covers[order[i], topic]
                if n_covering > 0 and n_tied == 1:
                    values[query] += interest * weights[start - begin]
                elif n_covering > 0:
                    # Seen from a document that covers the topic, the others of the tie are in any
                    # order above and below it.
                    others = np.zeros(n_tied - 1)
                    others[: n_covering - 1] = alpha
                    left = mean_products(others, min(stop, cut) - start - 1)
                    for i in range(min(len(left), min(stop, cut) - start)):
                        gain = interest * left[i] * weights[start - begin + i]
                        values[query] += gain * n_covering / n_tied
                interest *= (1.0 - alpha) ** n_covering
                start = stop
    return values


@kernel
def _ideal(
    precedence: Integers,
    offsets: Integers,
    covers: Flags,
    weights: Floats,
    alpha: float,
    n_ranks: int,
) -> Floats:
    """Discounted gain where each document is one that gains most after those above."""
    values = np.zeros(len(offsets) - 1, np.float64)
    interests = np.empty(covers.shape[1], np.float64)
    taken = np.zeros(len(covers), np.bool_)
    for query in range(len(values)):
        begin, end = offsets[query], offsets[query + 1]
        interests[:] = 1.0
        for place in range(min(end - begin, n_ranks)):
            best, most = -1, 0.0
            for row in range(begin, end):
                if taken[row]:
                    continue
                gain = 0.0
                for topic in range(len(interests)):
                    if covers[row, topic]:
                        gain += interests[topic]
                if gain > most or (
                    best >= 0 and gain == most and precedence[row] > precedence[best]
                ):
                    best, most = row, gain
            if best < 0:
                break
            taken[best] = True
            values[query] += most * weights[place]
            for topic in range(len(interests)):
                if covers[best, topic]:
                    interests[topic] *= 1.0 - alpha
    return values
