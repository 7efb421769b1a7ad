"""Ranks the rows of a request and makes the answer."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.serving._explaining import reasons
from localrank.serving._failures import Refused
from localrank.serving._lists import Lists
from localrank.serving._messages import Place, Ranking
from localrank.serving._models import Loaded

# Two rankings are compared by the documents that their first places have in common.
N_FIRST = 10


def scored(model: Loaded, lists: Lists) -> Floats:
    """The scores of all rows, as `predict` gives them."""
    if not lists.dataset.n_documents:
        return np.empty(0)
    try:
        return model.ranker.predict(lists.dataset)
    except ValueError as error:
        raise Refused(422, str(error)) from None


def best_first(scores: Floats) -> Integers:
    """The order of documents by score. Equal scores keep the order of the request.

    Examples
    --------
    >>> best_first(np.array([0.5, 2.0, 0.5]))
    array([1, 0, 2])
    """
    return np.argsort(-scores, kind="stable")


def rankings(
    model: Loaded, lists: Lists, scores: Floats, *, top: int | None, explain: bool
) -> list[Ranking]:
    """The answer for each list."""
    offsets = lists.dataset.offsets
    parts = [scores[begin:end] for begin, end in pairwise(offsets)]
    orders = [best_first(part)[:top] for part in parts]
    # A query of words may find no document: then there is nothing to explain.
    explains = explain and len(scores) > 0
    why = reasons(model.ranker, lists.dataset, orders) if explains else None
    result = []
    for number, (query, ids) in enumerate(zip(lists.queries, lists.ids, strict=True)):
        part, order = parts[number], orders[number]
        places = [
            Place(ids[index], index, score)
            for index, score in zip(order.tolist(), part[order].tolist(), strict=True)
        ]
        ranking = Ranking(model.name, model.version, query, len(ids), places)
        if why is not None:
            ranking.explanation = why[number]
        result.append(ranking)
    return result


def agreement(first: Floats, second: Floats) -> tuple[float, float]:
    """Spearman's correlation of two rankings of a list, and the overlap of their first ten.

    Examples
    --------
    >>> agreement(np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0]))
    (-1.0, 1.0)
    """
    n = len(first)
    orders = best_first(first), best_first(second)
    overlap = len(np.intersect1d(orders[0][:N_FIRST], orders[1][:N_FIRST])) / min(n, N_FIRST)
    if n == 1:
        return 1.0, overlap
    places = np.empty((2, n))
    for place, order in zip(places, orders, strict=True):
        place[order] = np.arange(n)
    gaps = float(np.sum((places[0] - places[1]) ** 2))
    return 1 - 6 * gaps / (n * (n**2 - 1)), overlap
