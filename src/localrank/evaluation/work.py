"""One method on one fold: train, time, score."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from localrank.arrays import Floats
from localrank.data import Fold, RankingDataset
from localrank.data.deferred import gathered
from localrank.data.passes import in_partitions
from localrank.estimator import clone
from localrank.evaluation.clairvoyance import clairvoyant_bound
from localrank.evaluation.group_map import group_map
from localrank.evaluation.store import FoldResult, described
from localrank.evaluation.tuning import Grid, tune
from localrank.local_ranker import LocalRanker
from localrank.measures import Measure
from localrank.parallel import cpu_seconds, one_blas_thread
from localrank.persistence import library_versions
from localrank.progress import progress
from localrank.rankers import Ranker

# Most groups of a ranker with a bound. The controls of more would train too many models.
MOST_GROUPS = 20
# Parts for tuning in a fold without validation queries.
TUNING_FOLDS = 3
# How often scoring is timed if it takes less than this many seconds: other work on the machine
# can make a short time ten times longer.
N_REPEATS, SHORT = 3, 0.5
# Numbers of queries to train on and to score in the warm-up.
WARM_TRAIN, WARM_TEST = 30, 3
# Pairs of comparison and method that were warmed up in this process.
_warm: set[tuple[str, str]] = set()
# Warming up silences the warnings of the whole process.
_warming = threading.Lock()


@dataclass(frozen=True)
class Work:
    """The work on a method and a fold, here or on a Dask worker."""

    measure: Measure
    valid: bool
    n_controls: int
    n_jobs: int | None
    keep_model: bool
    comparison: str

    def key(self, mark: str, ranker: Ranker, grid: Grid | None) -> str:
        """A digest of all that decides the result."""
        decides = (
            mark,
            described(ranker),
            grid,
            str(self.measure),
            self.n_controls,
            self.valid,
            library_versions(),
        )
        return hashlib.sha256(repr(decides).encode()).hexdigest()

    def __call__(
        self, method: tuple[str, Ranker, Grid | None], fold: Fold
    ) -> tuple[Ranker | None, FoldResult]:
        name, ranker, grid = method
        with _warming:
            if (self.comparison, name) not in _warm:
                _warm_up(ranker, fold, self.valid, self.n_jobs)
                _warm.add((self.comparison, name))
        # On a busy machine, threads of linear algebra that wait for each other use many times the
        # CPU seconds of the work.
        with one_blas_thread():
            model, result = _run(
                ranker, fold, grid, self.measure, self.valid, self.n_controls, self.n_jobs
            )
        return model if self.keep_model else None, result


def _run(
    ranker: Ranker,
    fold: Fold,
    grid: Grid | None,
    measure: Measure,
    valid: bool,
    n_controls: int,
    n_jobs: int | None,
) -> tuple[Ranker, FoldResult]:
    model = _with_jobs(ranker, n_jobs)
    facts: dict[str, Any] = {}
    if grid is None:
        start, cpu_start = time.perf_counter(), cpu_seconds()
        model.fit(fold.train, valid=fold.valid if valid else None)
        facts["train_seconds"] = time.perf_counter() - start
        facts["train_cpu_seconds"] = cpu_seconds() - cpu_start
    else:
        tuning = tune(
            model,
            grid,
            fold.train,
            TUNING_FOLDS,
            measure,
            valid=fold.valid,
            fit_with_valid=valid,
            n_jobs=n_jobs,
        )
        model = tuning.best_estimator
        facts["train_seconds"] = tuning.fit_seconds
        facts["train_cpu_seconds"] = tuning.fit_cpu_seconds
        facts["chosen"] = tuning.best_parameters
        facts["path"] = tuning.rows
    facts["n_models"] = model.n_models_
    facts["model_bytes"] = _size(model)
    test = fold.test if in_partitions(fold.test) else gathered(fold.test)
    scores, facts["predict_seconds"] = _scored(model, test)
    groups = np.empty(0, dtype=np.int64)
    if isinstance(model, LocalRanker):
        groups = model.selector_.weights(test, model.models_).argmax(axis=1)
        if model.n_groups_ <= MOST_GROUPS:
            facts["map"] = group_map(model, fold.train)
        if n_controls and 1 < model.n_groups_ <= MOST_GROUPS:
            facts["bound"] = clairvoyant_bound(
                model, fold.train, test, measure, n_controls=n_controls
            )
    return model, FoldResult(fold.name, scores, groups, **facts)


def _scored(model: Ranker, test: RankingDataset) -> tuple[Floats, float]:
    """Scores, query by query, and the shortest time. Short times are measured again."""
    taken: list[float] = []
    while not taken or (len(taken) < N_REPEATS and sum(taken) < SHORT):
        start = time.perf_counter()
        scores = model.predict(test)
        taken.append(time.perf_counter() - start)
    return test.in_query_order(scores), min(taken)


def _warm_up(ranker: Ranker, fold: Fold, valid: bool, n_jobs: int | None) -> None:
    """Compile and load what the method needs. Errors are ignored: they come again in the work."""
    with contextlib.suppress(Exception), warnings.catch_warnings(), progress("Warming up", 1):
        warnings.simplefilter("ignore")
        teaching = np.flatnonzero(ranker.learns_from(fold.train))
        train = fold.train.select(np.sort(teaching[:WARM_TRAIN]))
        held_out = None
        if valid and fold.valid is not None:
            held_out = fold.valid.select(range(min(WARM_TRAIN, fold.valid.n_queries)))
        model = _with_jobs(ranker, n_jobs).fit(train, valid=held_out)
        model.predict(train.select(range(min(WARM_TEST, train.n_queries))))


def _with_jobs(ranker: Ranker, n_jobs: int | None) -> Ranker:
    model: Ranker = clone(ranker)
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=n_jobs)
    return model


def _size(model: Ranker) -> int:
    """Bytes of the model's file. 0: it cannot be saved, as may be with a user's ranker."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.localrank")
        try:
            model.save(path)
        except ValueError:
            return 0
        return path.stat().st_size
