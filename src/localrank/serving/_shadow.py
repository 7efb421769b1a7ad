"""A shadow model: it ranks lists that others answered, for comparison."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from localrank._base.arrays import Floats
from localrank.serving._bodies import Asked
from localrank.serving._failures import Refused
from localrank.serving._lists import Lists
from localrank.serving._metrics import Metrics
from localrank.serving._models import ServedModels
from localrank.serving._ranking import agreement, scored

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
        self._thread = ThreadPoolExecutor(1, "shadow")
        self._free = threading.Semaphore(MAX_WAITING)

    def watch(self, asked: Asked, lists: Lists, model: str, scores: Floats) -> None:
        """Compare with a model's answer, unless that model is the shadow itself."""
        if model == self.name:
            return
        if not self._free.acquire(blocking=False):
            self._skip(lists)
            return
        job = self._thread.submit(self._compare, asked, lists, model, scores)
        job.add_done_callback(lambda _: self._free.release())

    def stop(self) -> None:
        """Stop, and drop the requests that wait."""
        self._thread.shutdown(cancel_futures=True)

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
