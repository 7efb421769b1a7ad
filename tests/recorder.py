"""Rankers for tests of what trains others."""

import threading
from typing import ClassVar

from localrank.rankers import Ranker
from localrank.rankers.base import Needs


class Recorder(Ranker):
    """Keeps what it is given, and ranks by the first feature."""

    needs = Needs(order="given")
    seen: ClassVar[list] = []

    def __init__(self, n_jobs=None):
        self.n_jobs = n_jobs

    def _fit(self, dataset, query_weights, valid):
        Recorder.seen.append((dataset, query_weights, valid, self.n_jobs))

    def _predict(self, dataset):
        return dataset.features[:, 0]


class Together(Ranker):
    """Is trained only beside another one."""

    needs = Needs(order="given")
    meeting = threading.Barrier(2)

    def _fit(self, dataset, query_weights, valid):
        self.meeting.wait(timeout=20)
        self.fitted_ = True

    def _predict(self, dataset):
        return dataset.features[:, 0]
