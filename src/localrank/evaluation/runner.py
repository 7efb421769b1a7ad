"""Training methods on folds, and their results."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.estimator import clone
from localrank._base.parallel import as_finished, cpu_seconds, one_blas_thread
from localrank._base.printing import Printed, Table
from localrank._base.progress import progress
from localrank._base.rules import parts_of
from localrank.data import Fold, RankingDataset, concatenate
from localrank.data._frames import FrameLibrary, frame_of
from localrank.evaluation.clairvoyance import clairvoyant_bound
from localrank.evaluation.fold_results import FoldResult, Store, described, fingerprint
from localrank.evaluation.plots.chart import Chart, Plotted
from localrank.evaluation.query_groups import group_map
from localrank.evaluation.significance import PairedTest, paired_test
from localrank.evaluation.tuning import Grid, tune
from localrank.local_ranker import LocalRanker
from localrank.measures import NDCG, Measure, parse_measure
from localrank.measures.base import mean_of_queries
from localrank.persistence import library_versions
from localrank.rankers import Ranker


@dataclass(frozen=True, eq=False, repr=False)
class MethodResult(Printed, Plotted):
    """The result of one method on the test queries of all folds.

    Attributes
    ----------
    name : str
    runs : list of FoldResult
        The result of each fold.
    test : RankingDataset
        The test queries of all folds, without features.
    fold_names : list of str
        The fold of each test query.
    """

    name: str
    runs: list[FoldResult]
    test: RankingDataset
    fold_names: list[str]
    _values: dict[Measure, Floats] = field(default_factory=dict, init=False)

    def _shown(self) -> list[str | Table]:
        if self.failed:
            return [f"{self.name} failed: {self.failed}"]
        measures = self._measures()
        means = [self.fold_means(measure) for measure in measures]
        costs = ["models", "CPU s", "KiB"]
        rows = [
            [
                run.fold,
                *(f"{mean[run.fold]:.4f}" for mean in means),
                f"{run.n_models:,}",
                f"{run.train_cpu_seconds:.1f}",
                f"{run.model_bytes / 1024:,.0f}",
            ]
            for run in self.runs
        ]
        title = f"{self.name} on {self.test.n_queries:,} test queries: " + ", ".join(
            f"{measure} {self.mean(measure):.4f}" for measure in measures
        )
        return [Table(title, ["fold", *map(str, measures), *costs], rows)]

    def _measures(self) -> list[Measure]:
        """The measures that were asked for, or NDCG@10."""
        return list(self._values) or [NDCG(10)]

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per test query: its fold, and the measures asked for.

        `library` is as in `RankingDataset.to_frame`.
        """
        columns = {"query": self.test.query_ids, "fold": np.array(self.fold_names)}
        columns |= {str(measure): self.values(measure) for measure in self._measures()}
        return frame_of(columns, library, self.test.frame_library)

    def chart(self) -> Chart:
        """The mean of each fold, by the measures asked for."""
        means = {str(m): list(self.fold_means(m).values()) for m in self._measures()}
        return Chart(
            "bars",
            panels={self.name: means},
            ticks=[run.fold for run in self.runs],
            y_label="mean of the fold",
            numbers="%.3f",
        )

    def values(self, measure: str | Measure) -> Floats:
        """One value per test query. NaN: the measure skips the query."""
        measure = parse_measure(measure)
        if measure not in self._values:
            self._values[measure] = measure(self.test, self.scores)
        return self._values[measure]

    def mean(self, measure: str | Measure) -> float:
        """Mean over the queries that the measure does not skip."""
        return mean_of_queries(self.values(measure))

    def against(self, other: MethodResult, measure: str | Measure, test: str = "t") -> PairedTest:
        """A paired test with another method. A gain is an improvement."""
        measure = parse_measure(measure)
        sign = 1 if measure.higher_is_better else -1
        return paired_test(sign * self.values(measure), sign * other.values(measure), test=test)

    def fold_means(self, measure: str | Measure) -> dict[str, float]:
        """The mean of each fold."""
        values, names = self.values(measure), np.array(self.fold_names)
        return {run.fold: mean_of_queries(values[names == run.fold]) for run in self.runs}

    @property
    def scores(self) -> Floats:
        """Scores of the test documents of all folds."""
        return np.concatenate([run.scores for run in self.runs])

    @property
    def train_seconds(self) -> float:
        """Training time of all folds."""
        return sum(run.train_seconds for run in self.runs)

    @property
    def train_cpu_seconds(self) -> float:
        """CPU time of training, of all folds and threads."""
        return sum(run.train_cpu_seconds for run in self.runs)

    @property
    def milliseconds_per_query(self) -> float:
        """Mean time to score a test query."""
        return 1000 * sum(run.predict_seconds for run in self.runs) / self.test.n_queries

    @property
    def n_models(self) -> int:
        """Number of models, in the fold with the most."""
        return max(run.n_models for run in self.runs)

    @property
    def model_bytes(self) -> float:
        """Mean size of a saved model over the folds."""
        return sum(run.model_bytes for run in self.runs) / len(self.runs)

    @property
    def chosen(self) -> list[str]:
        """The parameters that tuning chose in each fold, as text. Empty without tuning."""
        return [
            ", ".join(f"{name}={value}" for name, value in run.chosen.items())
            for run in self.runs
            if run.chosen
        ]

    @property
    def failed(self) -> str | None:
        """Why the method failed, in the first fold that failed. None: it did not fail."""
        return next((run.failed for run in self.runs if run.failed), None)


def run(
    methods: Mapping[str, Ranker],
    folds: Iterable[Fold],
    *,
    grids: Mapping[str, Grid] | None = None,
    measure: str | Measure = "ndcg@10",
    valid: bool = True,
    n_controls: int = 0,
    keep_failures: bool = False,
    inspect: Callable[[str, Fold, Ranker], None] | None = None,
    store: Path | None = None,
    n_jobs: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, MethodResult]:
    """Train every method on the training queries of each fold, and score its test queries.

    Before a method is timed, it is trained once on a few queries, so that compiling kernels does
    not count. Linear algebra has one thread, so that times compare. If a Dask client is in scope,
    its workers do the runs, several at the same time and each with one thread. The store gets
    each result when it is finished.

    Parameters
    ----------
    methods : dict from name to Ranker
        Rankers to train. They are not changed: clones are trained, one after another, each with
        `n_jobs`.
    folds : iterable of Fold
        Folds with different test queries. They are read one at a time.
    grids : dict from name to grid, optional
        Parameters to tune for some methods, in each fold by its validation queries or, without
        any, by cross-validation over its training queries. The winner's fit is timed and scored.
    measure : str or Measure, default="ndcg@10"
        The measure of tuning and of bounds.
    valid : bool, default=True
        Give each fold's validation queries to `fit`. Tuning always gets them.
    n_controls : int, default=0
        Draws of random groups for the clairvoyant bound of rankers with groups. 0: no bound.
    keep_failures : bool, default=False
        If a method fails, note the reason and go on. False: raise its exception.
    inspect : callable, optional
        Called with name, fold and fitted model after each scoring, in the order of the folds and
        methods. It is not called for results from the store. No model is kept otherwise.
    store : path, optional
        A folder for finished work, which is not done again. None stores nothing.
    n_jobs : int or None, default=None
    say : callable, optional
        Called with a line about each run.

    Returns
    -------
    dict from name to MethodResult

    Examples
    --------
    >>> from localrank.data import folds, make_queries
    >>> from localrank.rankers import BestFeature, RankSVM
    >>> dataset, _ = make_queries(60)
    >>> methods = {"rank-svm": RankSVM(), "best-feature": BestFeature()}
    >>> results = run(methods, folds(dataset, 3), grids={"rank-svm": {"C": [0.1, 1.0]}})
    >>> results["rank-svm"].mean("map") > results["best-feature"].mean("map")
    True
    >>> results["rank-svm"].chosen
    ['C=0.1', 'C=1.0', 'C=1.0']
    """
    runner = FoldRunner(
        parse_measure(measure), valid, n_controls, n_jobs, inspect is not None, uuid4().hex
    )
    kept = Store(store)
    runs: dict[str, dict[int, FoldResult]] = {name: {} for name in methods}
    tests, fold_names = [], []
    # Work under way, by the number of its call, and models to inspect.
    under_way: dict[int, tuple[int, Fold, str, str]] = {}
    to_inspect: dict[int, tuple[str, Fold, Ranker | None]] = {}
    n_runs = len(folds) * len(methods) if isinstance(folds, Sized) else None

    def missing() -> Iterator[tuple[tuple[str, Ranker, Grid | None], tuple[Fold]]]:
        """Calls for what the store does not have, one at a time."""
        n_calls = place = 0
        for fold in folds:
            tests.append(judged_queries(fold.test))
            fold_names.extend([fold.name] * fold.test.n_queries)
            mark = fingerprint(fold) if store else ""
            for name, ranker in methods.items():
                grid = (grids or {}).get(name) or None
                key = runner.key(mark, ranker, grid) if store else ""
                result = kept.get(fold.name, name, key)
                if result is not None:
                    runs[name][place] = result
                    advance()
                    continue
                under_way[n_calls] = place, fold, name, key
                n_calls += 1
                yield (name, ranker, grid), (fold,)
            # Release the fold before the next one is read.
            del fold
            place += 1

    with progress("Training", n_runs) as advance:
        n_inspected = 0
        for index, get in as_finished(runner, missing(), description="Compare"):
            place, fold, name, key = under_way.pop(index)
            model = None
            try:
                model, result = get()
            except Exception as error:  # the other methods are still compared
                if not keep_failures:
                    raise
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                nothing = np.empty(0), np.empty(0, dtype=np.int64)
                result = FoldResult(fold.name, *nothing, failed=reason)
                say(f"{fold.name}: {name} failed: {reason}")
            else:
                say(f"{fold.name}: {name} trained in {result.train_seconds:.1f} s")
            kept.put(name, key, result)
            runs[name][place] = result
            # In the order of the folds and methods, whichever is finished first.
            to_inspect[index] = name, fold, model
            while n_inspected in to_inspect:
                name, fold, model = to_inspect.pop(n_inspected)
                n_inspected += 1
                if inspect is not None and model is not None:
                    inspect(name, fold, model)
            del fold, model, get
            advance()
    test = concatenate(tests)
    return {
        name: MethodResult(name, [done[place] for place in sorted(done)], test, fold_names)
        for name, done in runs.items()
    }


def judged_queries(test: RankingDataset) -> RankingDataset:
    """Test queries without features, which measures do not need.

    Examples
    --------
    >>> test = RankingDataset.from_arrays([[0.5], [0.2]], y=[1, 0], qid=["a", "a"])
    >>> judged_queries(test).labels, judged_queries(test).n_features
    (array([1., 0.]), 0)
    """
    return RankingDataset(
        np.empty((test.n_documents, 0)),
        test.relevance,
        test.offsets,
        test.query_ids,
        test.document_ids,
    ).replaced(frame_library=test.frame_library)


# Rankers with more groups get no bound: its controls would train too many models.
MAX_GROUPS = 20
# Parts for tuning in a fold without validation queries.
TUNING_FOLDS = 3
# How often scoring is timed if it takes less than this many seconds: other work on the machine
# can make a short time ten times longer.
N_REPEATS, SHORT = 3, 0.5
# Numbers of queries to train on and to score in the warm-up, and of trees and metrics.
WARM_TRAIN, WARM_TEST, WARM_PARTS = 30, 3, 5
# Pairs of comparison and method that were warmed up in this process.
_warm: set[tuple[str, str]] = set()
# Warming up silences the warnings of the whole process.
_warming = threading.Lock()


@dataclass(frozen=True)
class FoldRunner:
    """Trains a method on a fold and scores its test queries, here or on a Dask worker."""

    measure: Measure
    valid: bool
    n_controls: int
    n_jobs: int | None
    keep_model: bool
    comparison: str

    def key(self, mark: str, ranker: Ranker, grid: Grid | None) -> str:
        """A digest of all that decides the result."""
        measure, n_controls, valid = str(self.measure), self.n_controls, self.valid
        decides = (mark, described(ranker), grid, measure, n_controls, valid, library_versions())
        return hashlib.sha256(repr(decides).encode()).hexdigest()

    def __call__(
        self, method: tuple[str, Ranker, Grid | None], fold: Fold
    ) -> tuple[Ranker | None, FoldResult]:
        name, ranker, grid = method
        with _warming:
            if (self.comparison, name) not in _warm:
                self._warm_up(ranker, fold)
                _warm.add((self.comparison, name))
        # On a busy machine, threads of linear algebra that wait for each other use many times the
        # CPU seconds of the work.
        with one_blas_thread():
            model, facts = self._trained(ranker, fold, grid)
            result = self._tested(model, fold, facts)
        return model if self.keep_model else None, result

    def _warm_up(self, ranker: Ranker, fold: Fold) -> None:
        """Compile and load what the method needs. Errors come again in the work: ignore them."""
        with contextlib.suppress(Exception), warnings.catch_warnings(), progress("Warming up", 1):
            warnings.simplefilter("ignore")
            teaching = np.flatnonzero(ranker.learns_from(fold.train))
            train = fold.train.select(np.sort(teaching[:WARM_TRAIN]))
            held_out = None
            if self.valid and fold.valid is not None:
                held_out = fold.valid.select(range(min(WARM_TRAIN, fold.valid.n_queries)))
            model = self._with_jobs(ranker)
            for part in parts_of(model):
                for many in ("n_trees", "n_metrics"):
                    if hasattr(part, many):
                        setattr(part, many, min(getattr(part, many), WARM_PARTS))
            model.fit(train, valid=held_out)
            model.predict(train.select(range(min(WARM_TEST, train.n_queries))))

    def _trained(
        self, ranker: Ranker, fold: Fold, grid: Grid | None
    ) -> tuple[Ranker, dict[str, Any]]:
        """A fitted model, and what is known of its training, for a `FoldResult`."""
        model = self._with_jobs(ranker)
        if grid is None:
            start, cpu_start = time.perf_counter(), cpu_seconds()
            model.fit(fold.train, valid=fold.valid if self.valid else None)
            seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu_start
            return model, {"train_seconds": seconds, "train_cpu_seconds": cpu}
        tuning = tune(
            model,
            grid,
            fold.train,
            TUNING_FOLDS,
            self.measure,
            valid=fold.valid,
            fit_with_valid=self.valid,
            n_jobs=self.n_jobs,
        )
        return tuning.best_estimator, {
            "train_seconds": tuning.fit_seconds,
            "train_cpu_seconds": tuning.fit_cpu_seconds,
            "chosen": tuning.best_parameters,
            "path": tuning.rows,
        }

    def _tested(self, model: Ranker, fold: Fold, facts: dict[str, Any]) -> FoldResult:
        """The model's scores, cost and groups, beside the facts of its training."""
        test = fold.test.in_memory(files=False)
        facts |= {"n_models": model.n_models_, "model_bytes": _size(model)}
        scores, facts["predict_seconds"] = _scored(model, test)
        groups = np.empty(0, dtype=np.int64)
        if isinstance(model, LocalRanker):
            groups = model.selector_.weights(test, model.models_).argmax(axis=1)
            if model.n_groups_ <= MAX_GROUPS:
                facts["map"] = group_map(model, fold.train)
            if self.n_controls and 1 < model.n_groups_ <= MAX_GROUPS:
                facts["bound"] = clairvoyant_bound(
                    model, fold.train, test, self.measure, n_controls=self.n_controls
                )
        return FoldResult(fold.name, scores, groups, **facts)

    def _with_jobs(self, ranker: Ranker) -> Ranker:
        model: Ranker = clone(ranker)
        if "n_jobs" in model.get_params(deep=False):
            model.set_params(n_jobs=self.n_jobs)
        return model


def _scored(model: Ranker, test: RankingDataset) -> tuple[Floats, float]:
    """Scores, query by query, and the shortest time. Short times are measured again."""
    taken: list[float] = []
    while not taken or (len(taken) < N_REPEATS and sum(taken) < SHORT):
        start = time.perf_counter()
        scores = model.predict(test)
        taken.append(time.perf_counter() - start)
    return test.in_query_order(scores), min(taken)


def _size(model: Ranker) -> int:
    """Bytes of the model's file. 0: it cannot be saved, as may be with a user's ranker."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.localrank")
        try:
            model.save(path)
        except ValueError:
            return 0
        return path.stat().st_size
