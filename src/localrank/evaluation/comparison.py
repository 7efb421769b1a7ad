"""Several methods on the same queries, compared query by query."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from localrank.data import Fold, RankingDataset, concatenate
from localrank.evaluation.clairvoyance import clairvoyant_bound
from localrank.evaluation.group_map import group_map
from localrank.evaluation.runs import Run, Store
from localrank.evaluation.significance import PairedTest, paired_tests
from localrank.evaluation.tuning import Grid, tune
from localrank.local_ranker import LocalRanker
from localrank.measures import Measure, evaluate, parse_measure
from localrank.measures.base import mean_of_queries
from localrank.rankers import Ranker

# Bounds of rankers with more groups would train too many models for their controls.
MOST_GROUPS = 20


@dataclass(frozen=True, eq=False)
class MethodResult:
    """One method on the test queries of all folds.

    Attributes
    ----------
    values : dict from measure to ndarray of shape (n_queries,)
    against_baseline, against_ensemble : dict from measure to PairedTest
        Corrected for the number of methods by Holm's rule; empty for the opponent itself.
    runs : list of Run
        One for each fold.
    failed : str or None
    """

    name: str
    values: dict[Measure, NDArray[np.float64]]
    against_baseline: dict[Measure, PairedTest]
    against_ensemble: dict[Measure, PairedTest]
    runs: list[Run]
    failed: str | None

    @property
    def scores(self) -> NDArray[np.float64]:
        """Of the test documents of all folds."""
        return np.concatenate([run.scores for run in self.runs])

    def total(self, fact: str) -> float:
        """Sum of a fact over the folds."""
        return float(sum(run.facts[fact] for run in self.runs))

    def means(self) -> dict[Measure, float]:
        return {measure: mean_of_queries(values) for measure, values in self.values.items()}


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    measures : list of Measure
        The first is what methods are tuned and judged by.
    baseline : str
    ensemble : str or None
        The equal-cost opponent.
    methods : dict from name to MethodResult
        In the order given, failed ones too.
    test : RankingDataset
        The test queries of all folds.
    fold_names : list of str
        The fold of each test query.
    """

    measures: list[Measure]
    baseline: str
    ensemble: str | None
    methods: dict[str, MethodResult]
    test: RankingDataset
    fold_names: list[str]

    @property
    def finished(self) -> dict[str, MethodResult]:
        """The methods that did not fail."""
        return {name: result for name, result in self.methods.items() if result.failed is None}

    def verdict(self) -> str:
        """Whether any method beats the baseline, and the ensemble, in words."""
        return verdict(self)


def compare(
    methods: Mapping[str, Ranker],
    folds: Sequence[Fold],
    measures: Sequence[str | Measure] = ("ndcg@10", "ndcg@5", "map"),
    *,
    baseline: str,
    ensemble: str | None = None,
    grids: Mapping[str, Grid] | None = None,
    n_controls: int = 3,
    store: Path | None = None,
    n_jobs: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Train every method on the same queries, and score the same test queries.

    Parameters
    ----------
    methods : dict from name to Ranker
        They stay as they are: clones are trained, one after another, each with `n_jobs`.
    folds : sequence of Fold
        Their test queries must differ. Validation queries go to every method; those that have
        no use for them ignore them.
    measures : sequence of str or Measure
        The first is primary.
    baseline : str
        The method that differences are against.
    ensemble : str, optional
        A second opponent: as many models as the local methods have.
    grids : dict from name to grid, optional
        Parameters to tune for some methods, in each fold by its validation queries or, where it
        has none, by cross-validation over its training queries.
    n_controls : int, default=3
        Draws of random groups for the clairvoyant bound of rankers with groups; 0 for no bound.
    store : path, optional
        A folder where finished work is kept: what is there already is not done again.
    n_jobs : int or None, default=None
    say : callable, optional
        Told in a line what was done.

    Examples
    --------
    >>> from localrank.data import folds, make_queries
    >>> from localrank.rankers import BestFeature, RankSVM
    >>> dataset, _ = make_queries(60)
    >>> methods = {"rank-svm": RankSVM(), "best-feature": BestFeature()}
    >>> result = compare(methods, list(folds(dataset, 3)), ["ndcg@10"], baseline="rank-svm")
    >>> test = result.methods["best-feature"].against_baseline[result.measures[0]]
    >>> test.n_queries, test.mean_difference < 0
    (60, True)
    """
    parsed = [parse_measure(measure) for measure in measures]
    for opponent in (baseline, *([ensemble] if ensemble else [])):
        if opponent not in methods:
            raise ValueError(f"{opponent!r} is not among the methods: {', '.join(methods)}.")
    test = concatenate([fold.test for fold in folds])
    kept = Store(store)
    runs: dict[str, list[Run]] = {name: [] for name in methods}
    for fold in folds:
        mark = fingerprint(fold)
        for name, ranker in methods.items():
            grid = (grids or {}).get(name)
            key = hashlib.sha256(
                repr((mark, _described(ranker), grid, str(parsed[0]), n_controls)).encode()
            ).hexdigest()
            run = kept.get(fold.name, name, key)
            if run is None:
                run = _run(ranker, fold, grid, parsed[0], n_controls, n_jobs)
                kept.put(fold.name, name, key, run)
                say(_told(name, fold.name, run))
            if name == baseline and run.facts["failed"]:
                raise ValueError(f"The baseline {name} failed: {run.facts['failed']}")
            runs[name].append(run)
    return _compared(test, folds, parsed, baseline, ensemble, runs)


def fingerprint(fold: Fold) -> str:
    """A digest of a fold's queries, documents and labels."""
    digest = hashlib.sha256(fold.name.encode())
    for part in (fold.train, fold.valid, fold.test):
        if part is not None:
            for array in (part.features, part.labels, part.offsets, part.query_ids.astype(str)):
                digest.update(np.ascontiguousarray(array).view(np.uint8).tobytes())
    return digest.hexdigest()


def count_models(ranker: Ranker) -> int:
    """How many models a fitted ranker consists of."""
    for attribute in ("models_", "rankers_"):
        if hasattr(ranker, attribute):
            return sum(count_models(part) for part in getattr(ranker, attribute))
    return count_models(ranker.ranker_) if hasattr(ranker, "ranker_") else 1


def _run(
    ranker: Ranker,
    fold: Fold,
    grid: Grid | None,
    measure: Measure,
    n_controls: int,
    n_jobs: int | None,
) -> Run:
    nobody = np.empty(0, dtype=np.int64)
    try:
        model = clone(ranker)
        facts: dict[str, Any] = {"failed": None}
        if grid is not None:
            tuning = tune(model, grid, fold.train, 3, measure, valid=fold.valid, n_jobs=n_jobs)
            model.set_params(**tuning.best_parameters)
            facts["chosen"] = {name: repr(v) for name, v in tuning.best_parameters.items()}
            facts["path"] = tuning.table()
        if "n_jobs" in model.get_params(deep=False):
            model.set_params(n_jobs=n_jobs)
        start = time.perf_counter()
        model.fit(fold.train, valid=fold.valid)
        trained = time.perf_counter()
        scores = fold.test.in_query_order(model.predict(fold.test))
        facts["train_seconds"] = trained - start
        facts["predict_seconds"] = time.perf_counter() - trained
        facts["n_models"] = count_models(model)
        facts["model_bytes"] = _size(model)
        groups = nobody
        if isinstance(model, LocalRanker):
            groups = model.selector_.weights(fold.test, model.models_).argmax(axis=1)
            if model.n_groups_ <= MOST_GROUPS:
                facts["map"] = asdict(group_map(model, fold.train))
            if n_controls and 1 < model.n_groups_ <= MOST_GROUPS:
                bound = clairvoyant_bound(
                    model, fold.train, fold.test, measure, n_controls=n_controls
                )
                facts["bound"] = {
                    "n_groups": bound.n_groups,
                    "clairvoyant": bound.values.tolist(),
                    "control": bound.control.tolist(),
                }
    except Exception as error:  # whatever fails is reported by name, and the rest goes on
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return Run(np.empty(0), nobody, {"failed": reason})
    return Run(scores, groups, facts)


def _compared(
    test: RankingDataset,
    folds: Sequence[Fold],
    measures: list[Measure],
    baseline: str,
    ensemble: str | None,
    runs: dict[str, list[Run]],
) -> Comparison:
    failures = {
        name: next((run.facts["failed"] for run in own if run.facts["failed"]), None)
        for name, own in runs.items()
    }
    values = {
        name: evaluate(test, np.concatenate([run.scores for run in own]), measures)
        for name, own in runs.items()
        if not failures[name]
    }

    def against(opponent: str | None) -> dict[str, dict[Measure, PairedTest]]:
        tests: dict[str, dict[Measure, PairedTest]] = {name: {} for name in runs}
        if opponent not in values:
            return tests
        for measure in measures:
            # Where less is better, a gain is a smaller value.
            sign = 1 if measure.higher_is_better else -1
            others = {
                name: sign * column[measure] for name, column in values.items() if name != opponent
            }
            found = paired_tests(others, sign * values[opponent][measure]) if others else {}
            for name, result in found.items():
                tests[name][measure] = result
        return tests

    by_baseline, by_ensemble = against(baseline), against(ensemble)
    return Comparison(
        measures,
        baseline,
        ensemble,
        {
            name: MethodResult(
                name,
                values.get(name, {}),
                by_baseline[name],
                by_ensemble[name],
                own,
                failures[name],
            )
            for name, own in runs.items()
        },
        test,
        [fold.name for fold in folds for _ in range(fold.test.n_queries)],
    )


def verdict(comparison: Comparison) -> str:
    """Whether any method beats the baseline and its equal-cost ensemble, in words."""
    measure = comparison.measures[0]
    others = {
        name: result
        for name, result in comparison.finished.items()
        if name not in (comparison.baseline, comparison.ensemble)
    }
    n_queries = comparison.test.n_queries

    def beaten(which: str, opponent: str) -> str:
        better: list[str] = []
        worse: list[str] = []
        for name, result in others.items():
            found = getattr(result, which).get(measure)
            if found is not None and found.corrected_p_value < 0.05:
                (better if found.mean_difference > 0 else worse).append(
                    f"{name} ({found.mean_difference:+.4f})"
                )
        if better:
            return f"significantly better than {opponent}: {', '.join(better)}."
        some = f"; significantly worse: {', '.join(worse)}" if worse else ""
        return f"no method is significantly better than {opponent}{some}."

    if not others:
        return f"There is nothing to compare with {comparison.baseline}."
    found = beaten("against_baseline", comparison.baseline)
    text = f"By {measure} on {n_queries:,} test queries, {found}"
    if comparison.ensemble in comparison.finished:
        found = beaten("against_ensemble", f"the {comparison.ensemble}")
        text += f" At equal cost, {found}"
    return text


def _described(value: Any) -> Any:
    """A ranker's class and the parameters that decide its result, parts too; threads do not."""
    if isinstance(value, list | tuple):
        return [_described(item) for item in value]
    if not hasattr(value, "get_params") or isinstance(value, type):
        return repr(value)
    parameters = value.get_params(deep=False)
    return type(value).__name__, {
        name: _described(part) for name, part in parameters.items() if name != "n_jobs"
    }


def _size(model: Ranker) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.localrank")
        model.save(path)
        return path.stat().st_size


def _told(name: str, fold: str, run: Run) -> str:
    if run.facts["failed"]:
        return f"{fold}: {name} failed: {run.facts['failed']}"
    return f"{fold}: {name} trained in {run.facts['train_seconds']:.1f} s"
