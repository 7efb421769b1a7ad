"""Ranks the rows of a request and makes the answer."""

from __future__ import annotations

import threading
from functools import partial
from itertools import pairwise

import msgspec
import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.serving._arrow import write_arrow
from localrank.serving._explaining import reasons
from localrank.serving._jobs import OneByOne
from localrank.serving._lists import Lists, check_compared
from localrank.serving._messages import ARROW, Place, Ranking, Rankings, Refused
from localrank.serving._metrics import Metrics
from localrank.serving._models import Loaded, ServedModels
from localrank.serving._requests import Asked

# Two rankings are compared by the documents that their first places have in common.
N_FIRST = 10
_encoder = msgspec.json.Encoder()


def scored(model: Loaded, lists: Lists) -> Floats:
    """The scores of all rows, as `predict` gives them."""
    if not lists.dataset.n_documents:
        return np.empty(0)
    check_compared(lists.dataset.query_sizes, model.inputs)
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


def answer(
    model: Loaded,
    lists: Lists,
    scores: Floats,
    form: str,
    *,
    batch: bool,
    top: int | None = None,
    explain: bool = False,
) -> bytes:
    """The body of the answer."""
    parts = [scores[begin:end] for begin, end in pairwise(lists.dataset.offsets.tolist())]
    orders = [best_first(part)[:top] for part in parts]
    if form == ARROW:
        return write_arrow(model.name, model.version, lists, orders, parts)
    rankings = [
        Ranking(
            model.name,
            model.version,
            query,
            len(ids),
            [
                Place(ids[index], index, score)
                for index, score in zip(order.tolist(), part[order].tolist(), strict=True)
            ],
        )
        for query, ids, order, part in zip(lists.queries, lists.ids, orders, parts, strict=True)
    ]
    # A query of words may find no document: then there is nothing to explain.
    if explain and len(scores):
        for ranking, why in zip(
            rankings, reasons(model.ranker, lists.dataset, orders), strict=True
        ):
            ranking.explanation = why
    return _encoder.encode(Rankings(rankings) if batch else rankings[0])


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


# The most requests that wait for it. More are skipped, so that it never delays answers.
MAX_WAITING = 16


class Shadow:
    """Ranks in a separate thread, after the answer, and records how well the rankings agree.

    Parameters
    ----------
    name : str
        Name of the shadow model.
    models : ServedModels
    metrics : Metrics
    """

    def __init__(self, name: str, models: ServedModels, metrics: Metrics) -> None:
        self.name = name
        self.models = models
        self.metrics = metrics
        self._jobs = OneByOne("shadow")
        self._free = threading.Semaphore(MAX_WAITING)

    def watch(self, asked: Asked, lists: Lists, model: str, scores: Floats) -> None:
        """Compare with a model's answer, unless that model is the shadow itself."""
        if model == self.name:
            return
        if not self._free.acquire(blocking=False):
            self._skip(lists)
            return
        job = self._jobs.submit(partial(self._compare, asked, lists, model, scores))
        job.add_done_callback(lambda _: self._free.release())

    def stop(self) -> None:
        """Begin no more comparisons."""
        self._jobs.stop()

    def longest(self) -> float:
        """For how many seconds a comparison has run. 0: none runs."""
        return self._jobs.longest()

    def _compare(self, asked: Asked, lists: Lists, model: str, scores: Floats) -> None:
        try:
            shadow = self.models.named(self.name)
            same = asked.lists(shadow)
            others = scored(shadow, same)
        except Refused:
            self._skip(lists)
            return
        # The same words may find other documents in this model's index, or none.
        if same.ids != lists.ids or not len(scores):
            self._skip(lists)
            return
        correlation = self.metrics.shadow_correlation.labels(model, self.name)
        overlap = self.metrics.shadow_overlap.labels(model, self.name)
        for begin, end in pairwise(lists.dataset.offsets):
            rho, common = agreement(scores[begin:end], others[begin:end])
            correlation.observe(rho)
            overlap.observe(common)

    def _skip(self, lists: Lists) -> None:
        self.metrics.shadow_skipped.labels(self.name).inc(len(lists.queries))
