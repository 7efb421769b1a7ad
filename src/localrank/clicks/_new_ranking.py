"""Where a ranking that was never shown puts the documents of a log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels.sorting import argsort_descending
from localrank.data import RankingDataset
from localrank.data._strings import Strings, by_group, first_repeated
from localrank.data.click_log import ClickLog
from localrank.data.run_sources import as_run
from localrank.measures._ties import checked_scores
from localrank.rankers.base import Ranker


@dataclass(frozen=True)
class NewRanking:
    """The documents of a new ranking, for the queries that a log has.

    Attributes
    ----------
    queries : ndarray of shape (n_lines,)
        The number of each document's query in the log.
    positions : ndarray of shape (n_lines,)
        Its position in the new list, from 0.
    pairs : ndarray of shape (n_lines,)
        Its pair in the log. -1: it was never shown for this query.
    ranked : ndarray of bool of shape (n_queries,)
        Whether the new ranking has the query.
    """

    queries: Integers
    positions: Integers
    pairs: Integers
    ranked: Array


def new_ranking(log: ClickLog, ranking: Any, features: RankingDataset | None) -> NewRanking:
    """Find the queries and documents of a ranking in a log, by their ids as text.

    Parameters
    ----------
    log : ClickLog
    ranking : Ranker, scores, or whatever `as_run` takes
        A ranker and scores need `features`.
    features : RankingDataset or None
        The candidates of each query. Documents without ids have the number of their row.
    """
    if features is None:
        if isinstance(ranking, Ranker):
            raise ValueError(
                "A ranker needs the features of the documents: give the dataset as 'features'."
            )
        run = as_run(ranking)
        query_ids, document_ids, scores = run.query_ids, run.document_ids, run.scores
    else:
        given = ranking.predict(features) if isinstance(ranking, Ranker) else ranking
        scores = checked_scores(features, given)
        query_ids = np.repeat(features.query_ids, features.query_sizes)
        order = features.input_order
        rows = np.arange(features.n_documents) if order is None else order
        document_ids = rows if features.document_ids is None else features.document_ids
    queries = _numbers(log.query_ids, np.asarray(query_ids))
    kept = np.flatnonzero(queries >= 0)
    if not kept.size:
        raise ValueError(
            f"The ranking and the log have no query in common. The ranking has queries such as "
            f"{str(query_ids[0])!r}, the log such as {str(log.query_ids[0])!r}."
        )
    queries, documents = queries[kept], np.asarray(document_ids)[kept]
    lines, offsets = by_group(queries, log.n_queries)
    # The best first; equal scores keep the order that they came in.
    ranked = lines[argsort_descending(np.asarray(scores, np.float64)[kept][lines], offsets)]
    positions = np.empty(len(kept), np.int64)
    positions[ranked] = np.arange(len(kept)) - np.repeat(offsets[:-1], np.diff(offsets))
    return NewRanking(queries, positions, _pairs(log, queries, documents), np.diff(offsets) > 0)


def _numbers(known: Array, wanted: Array) -> Integers:
    """The number of each id among the known ones. -1: it is not one of them."""
    numbers, firsts = Strings.joined([Strings.of(known), Strings.of(wanted)]).numbered()
    if len(known) > len(firsts) or (numbers[: len(known)] != np.arange(len(known))).any():
        raise ValueError("Two queries of the log have the same id, read as text.")
    found = numbers[len(known) :]
    return np.where(found < len(known), found, -1)


def _pairs(log: ClickLog, queries: Integers, documents: Array) -> Integers:
    """The pair of each document in the log. -1: it was not shown for this query."""
    names = Strings.joined([Strings.of(log.document_ids), Strings.of(documents)])
    items, offsets = by_group(np.concatenate([log.pair_queries, queries]), log.n_queries)
    numbers, firsts, _ = names.numbered_in_groups(items, offsets)
    lines = numbers[log.n_pairs :]
    if (line := first_repeated(lines, len(firsts))) is not None:
        raise ValueError(
            f"The ranking has the document {str(documents[line])!r} twice for query "
            f"{str(log.query_ids[queries[line]])!r}."
        )
    pair_of = np.full(len(firsts), -1)
    # A log that sessions were selected from has pairs without any impression.
    shown = np.unique(log.pairs)
    pair_of[numbers[shown]] = shown
    found: Integers = pair_of[lines]
    return found


def weights_by_line(ranking: NewRanking, weights: Floats) -> Floats:
    """The weight of each document's new position. 0: beyond the weights."""
    inside = ranking.positions < len(weights)
    return np.where(inside, weights[np.minimum(ranking.positions, len(weights) - 1)], 0.0)
