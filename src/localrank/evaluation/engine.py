"""Methods on folds: train, time, score."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from localrank.arrays import Floats
from localrank.data import Fold, RankingDataset, concatenate
from localrank.data.deferred import gathered
from localrank.data.passes import in_partitions
from localrank.estimator import clone
from localrank.evaluation.clairvoyance import clairvoyant_bound
from localrank.evaluation.group_map import group_map
from localrank.evaluation.significance import PairedTest, paired_test
from localrank.evaluation.store import Run, Store, described, fingerprint
from localrank.evaluation.tuning import Grid, tune
from localrank.local_ranker import LocalRanker
from localrank.measures import NDCG, Measure, parse_measure
from localrank.measures.base import mean_of_queries
from localrank.parallel import one_blas_thread
from localrank.persistence import library_versions
from localrank.printing import Printed, Table
from localrank.progress import progress
from localrank.rankers import Ranker

# Bounds of rankers with more groups would train too many models for their controls.
MOST_GROUPS = 20
# Parts for tuning where a fold has no validation queries.
TUNING_FOLDS = 3
# How often scoring is timed where that takes less than this many seconds: other work on the
# machine can lengthen a short time tenfold.
N_REPEATS, SHORT = 3, 0.5
# Queries for the warm-up, to train on and to score.
WARM_TRAIN, WARM_TEST = 30, 3


@dataclass(frozen=True, eq=False, repr=False)
class MethodResult(Printed):
    """One method on the test queries of all folds.

    Attributes
    ----------
    name : str
    runs : list of Run
        One for each fold.
    test : RankingDataset
        The test queries of all folds, without features.
    fold_names : list of str
        The fold of each test query.
    """

    name: str
    runs: list[Run]
    test: RankingDataset
    fold_names: list[str]
    _values: dict[Measure, Floats] = field(default_factory=dict, init=False)

    def _shown(self) -> list[str | Table]:
        if self.failed:
            return [f"{self.name} failed: {self.failed}"]
        measures = list(self._values) or [NDCG(10)]
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

    def values(self, measure: str | Measure) -> Floats:
        """One value per test query, NaN where the measure skips it."""
        measure = parse_measure(measure)
        if measure not in self._values:
            self._values[measure] = measure(self.test, self.scores)
        return self._values[measure]

    def mean(self, measure: str | Measure) -> float:
        """Over the queries that the measure does not skip."""
        return mean_of_queries(self.values(measure))

    def against(self, other: MethodResult, measure: str | Measure) -> PairedTest:
        """A paired test with another method, in which a gain is an improvement."""
        measure = parse_measure(measure)
        sign = 1 if measure.higher_is_better else -1
        return paired_test(sign * self.values(measure), sign * other.values(measure))

    def fold_means(self, measure: str | Measure) -> dict[str, float]:
        """The mean of each fold."""
        values, names = self.values(measure), np.array(self.fold_names)
        return {run.fold: mean_of_queries(values[names == run.fold]) for run in self.runs}

    @property
    def scores(self) -> Floats:
        """Of the test documents of all folds."""
        return np.concatenate([run.scores for run in self.runs])

    @property
    def train_seconds(self) -> float:
        """Of all folds."""
        return sum(run.train_seconds for run in self.runs)

    @property
    def train_cpu_seconds(self) -> float:
        """Of all folds and threads."""
        return sum(run.train_cpu_seconds for run in self.runs)

    @property
    def milliseconds_per_query(self) -> float:
        """To score a test query, on average."""
        return 1000 * sum(run.predict_seconds for run in self.runs) / self.test.n_queries

    @property
    def n_models(self) -> int:
        """Of the fold with the most."""
        return max(run.n_models for run in self.runs)

    @property
    def model_bytes(self) -> float:
        """Size of a saved model, on average over the folds."""
        return sum(run.model_bytes for run in self.runs) / len(self.runs)

    @property
    def chosen(self) -> list[str]:
        """The parameters that tuning chose, one text for each fold; empty without tuning."""
        return [
            ", ".join(f"{name}={value}" for name, value in run.chosen.items())
            for run in self.runs
            if run.chosen
        ]

    @property
    def failed(self) -> str | None:
        """Why the first fold failed that did."""
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

    Before a method is timed it is trained once on a few queries, so that no time is that of
    compiling kernels. Linear algebra has one thread, so that times compare.

    Parameters
    ----------
    methods : dict from name to Ranker
        They stay as they are: clones are trained, one after another, each with `n_jobs`.
    folds : iterable of Fold
        Read one at a time. Their test queries must differ.
    grids : dict from name to grid, optional
        Parameters to tune for some methods, in each fold by its validation queries or, where it
        has none, by cross-validation over its training queries. The winner's fit is the one that
        is timed and scored.
    measure : str or Measure, default="ndcg@10"
        Of tuning and of bounds.
    valid : bool, default=True
        Give each fold's validation queries to `fit`. Tuning has them in any case.
    n_controls : int, default=0
        Draws of random groups for the clairvoyant bound of rankers with groups. 0: no bound.
    keep_failures : bool, default=False
        Note the reason where a method fails, and go on. False raises its exception.
    inspect : callable, optional
        Called with name, fold and fitted model after each scoring. Not called for runs that come
        from the store. No model is kept otherwise.
    store : path, optional
        A folder for finished work. What it has already is not done again.
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
    measure = parse_measure(measure)
    kept = Store(store)
    runs: dict[str, list[Run]] = {name: [] for name in methods}
    warm: set[str] = set()
    tests, fold_names = [], []
    n_runs = len(folds) * len(methods) if isinstance(folds, Sized) else None
    with progress("Training", n_runs) as advance:
        for fold in folds:
            tests.append(judged_queries(fold.test))
            fold_names += [fold.name] * fold.test.n_queries
            mark = "" if store is None else fingerprint(fold)
            for name, ranker in methods.items():
                grid = (grids or {}).get(name) or None
                decides = (
                    mark,
                    described(ranker),
                    grid,
                    str(measure),
                    n_controls,
                    valid,
                    library_versions(),
                )
                key = hashlib.sha256(repr(decides).encode()).hexdigest()
                result = kept.get(fold.name, name, key)
                model = None
                if result is None:
                    if name not in warm:
                        _warm_up(ranker, fold, valid, n_jobs)
                        warm.add(name)
                    try:
                        # Threads of linear algebra that wait for each other on a busy machine burn
                        # many times the CPU seconds of the work itself.
                        with one_blas_thread():
                            model, result = _run(
                                ranker, fold, grid, measure, valid, n_controls, n_jobs
                            )
                    except Exception as error:  # whatever it is, the other methods are compared
                        if not keep_failures:
                            raise
                        reason = " ".join(f"{type(error).__name__}: {error}".split())
                        nothing = np.empty(0), np.empty(0, dtype=np.int64)
                        result = Run(fold.name, *nothing, failed=reason)
                        say(f"{fold.name}: {name} failed: {reason}")
                    else:
                        say(f"{fold.name}: {name} trained in {result.train_seconds:.1f} s")
                    kept.put(name, key, result)
                    if inspect is not None and model is not None:
                        inspect(name, fold, model)
                runs[name].append(result)
                advance()
            # Let go before the next one is read.
            del fold
    test = concatenate(tests)
    return {name: MethodResult(name, own, test, fold_names) for name, own in runs.items()}


def _run(
    ranker: Ranker,
    fold: Fold,
    grid: Grid | None,
    measure: Measure,
    valid: bool,
    n_controls: int,
    n_jobs: int | None,
) -> tuple[Ranker, Run]:
    model = _with_jobs(ranker, n_jobs)
    facts: dict[str, Any] = {}
    if grid is None:
        start, cpu_start = time.perf_counter(), time.process_time()
        model.fit(fold.train, valid=fold.valid if valid else None)
        facts["train_seconds"] = time.perf_counter() - start
        facts["train_cpu_seconds"] = time.process_time() - cpu_start
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
        facts["path"] = tuning.table()
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
    return model, Run(fold.name, scores, groups, **facts)


def judged_queries(test: RankingDataset) -> RankingDataset:
    """What measures need of test queries: all but the features.

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
    )


def _scored(model: Ranker, test: RankingDataset) -> tuple[Floats, float]:
    """Scores row by row of the queries, and the shortest time; short times are repeated."""
    taken: list[float] = []
    while not taken or (len(taken) < N_REPEATS and sum(taken) < SHORT):
        start = time.perf_counter()
        scores = model.predict(test)
        taken.append(time.perf_counter() - start)
    return test.in_query_order(scores), min(taken)


def _warm_up(ranker: Ranker, fold: Fold, valid: bool, n_jobs: int | None) -> None:
    """Compile and load what the method needs; what fails here fails again where it counts."""
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
    """Bytes of the model's file; 0 where it cannot be saved, as a ranker of one's own may not."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.localrank")
        try:
            model.save(path)
        except ValueError:
            return 0
        return path.stat().st_size
