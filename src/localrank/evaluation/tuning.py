"""The choice of parameters by cross-validation over queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import joblib
import numpy as np
from sklearn.model_selection import ParameterGrid

from localrank._base.arrays import Floats, Integers
from localrank._base.estimator import clone
from localrank._base.names import unknown
from localrank._base.parallel import cpu_seconds, in_parallel, one_thread
from localrank._base.printing import Printed, Table
from localrank.data import RankingDataset
from localrank.data._frames import FrameLibrary, columns_of, frame_of
from localrank.data._shared_queries import warn_of_training_queries
from localrank.evaluation.plots.chart import Chart, Plotted
from localrank.measures import Measure, parse_measure
from localrank.measures.base import mean_of_queries
from localrank.rankers import Ranker
from localrank.rankers._inputs import has_two_labels, held_out_queries

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]
Parameters = dict[str, Any]
# Values that span more than this ratio get a logarithmic axis.
WIDE = 30


@dataclass(frozen=True, eq=False, repr=False)
class Trial(Printed):
    """One combination of parameters, and how well it ranks held-out queries.

    Attributes
    ----------
    parameters : dict
    mean : float
        Mean of the measure over the queries that it does not skip.
    standard_error : float
        Standard error of the mean. NaN: the mean is of one query.
    values : ndarray of shape (n_queries,)
        The measure of each query. NaN: the measure skips the query.
    """

    parameters: Parameters
    mean: float
    standard_error: float
    values: Floats

    def _shown(self) -> list[str | Table]:
        return [f"{parameters_text(self.parameters)}: {self.mean:.4f} ± {self.standard_error:.4f}"]

    @classmethod
    def of(cls, parameters: Parameters, values: Floats) -> Trial:
        """Mean and standard error of the values that count."""
        counted = values[~np.isnan(values)]
        error = counted.std(ddof=1) / np.sqrt(counted.size) if counted.size > 1 else np.nan
        return cls(parameters, mean_of_queries(values), float(error), values)


@dataclass(frozen=True, eq=False, repr=False)
class Tuning(Printed, Plotted):
    """The result of `tune`.

    Attributes
    ----------
    best_parameters : dict
    best_estimator : Ranker
        A ranker with the best parameters, fitted on the whole dataset.
    path : tuple of Trial
        Every combination, in the order of the grid.
    best_index : int
        Position of the best combination in `path`.
    measure : Measure
    fit_seconds, fit_cpu_seconds : float
        Time to fit `best_estimator`. CPU seconds count every thread.
    frame_library : str or None
        The library of the DataFrame that the data came in.
    """

    best_parameters: Parameters
    best_estimator: Ranker
    path: tuple[Trial, ...]
    best_index: int
    measure: Measure
    fit_seconds: float
    fit_cpu_seconds: float
    frame_library: str | None = None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per combination: its parameters, mean, standard error, and whether it is best."""
        return [
            {
                **trial.parameters,
                "mean": trial.mean,
                "standard_error": trial.standard_error,
                "best": index == self.best_index,
            }
            for index, trial in enumerate(self.path)
        ]

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per combination; `library` as in `RankingDataset.to_frame`."""
        return frame_of(columns_of(self.rows), library, self.frame_library)

    def chart(self) -> Chart:
        """The mean against a parameter, a curve for each choice of the others.

        The parameter is the first that is a number in every combination. Without one, each
        combination has a bar.
        """
        title, y_label = f"{self.measure} of held-out queries", f"mean {self.measure}"
        parameter = _numeric_parameter([trial.parameters for trial in self.path])
        if parameter is None:
            ticks = [parameters_text(trial.parameters) for trial in self.path]
            means = [trial.mean for trial in self.path]
            panels = {title: {str(self.measure): means}}
            return Chart("bars", panels=panels, ticks=ticks, y_label=y_label, numbers="%.4f")
        points: dict[str, list[tuple[float, float]]] = {}
        for trial in self.path:
            fixed = {name: value for name, value in trial.parameters.items() if name != parameter}
            name = parameters_text(fixed) or str(self.measure)
            points.setdefault(name, []).append((trial.parameters[parameter], trial.mean))
        curves = {
            name: ([x for x, _ in sorted(tried)], [y for _, y in sorted(tried)])
            for name, tried in points.items()
        }
        values = [value for x, _ in curves.values() for value in x]
        wide = min(values) > 0 and max(values) > WIDE * min(values)
        return Chart(
            "curves", panels={title: curves}, x_label=parameter, y_label=y_label, log_x=wide
        )

    def _shown(self) -> list[str | Table]:
        n_queries = int(np.sum(~np.isnan(self.path[0].values)))
        rows = [
            [
                parameters_text(trial.parameters),
                f"{trial.mean:.4f}",
                f"{trial.standard_error:.4f}",
                "best" if index == self.best_index else "",
            ]
            for index, trial in enumerate(self.path)
        ]
        columns = ["parameters", "mean", "standard error", ""]
        return [Table(f"{self.measure} of {n_queries:,} held-out queries", columns, rows)]


def tune(
    estimator: Ranker | Callable[..., Ranker],
    grid: Grid,
    dataset: RankingDataset,
    folds: int = 5,
    measure: str | Measure = "ndcg@10",
    *,
    valid: RankingDataset | None = None,
    fit_with_valid: bool = False,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> Tuning:
    """Choose parameters by how well they rank queries that were not trained on.

    The queries are cut into folds at random, the same for all combinations of parameters. Each
    combination is fitted on all folds but one and scored on that one, so that every query is
    scored once. The combination with the best mean over the queries wins; of equal ones, the
    first. A ranker with `fit_path` (RankSVM and SVMMap for C, LGMML for margin and step) is
    fitted along the path.

    Parameters
    ----------
    estimator : Ranker or callable
        A ranker, which is not changed; or a function that makes one from parameters, such as
        `local_rank`.
    grid : dict of str to sequence, or list of such
        Values to try for each parameter. Parameters of a ranker have scikit-learn's names:
        "ranker__C" is the C of the ranker inside. Each dict of a list makes its own combinations.
    dataset : RankingDataset
    folds : int, default=5
    measure : str or Measure, default="ndcg@10"
    valid : RankingDataset, optional
        Score on these queries, and fit on the whole dataset, instead of cross-validation.
    fit_with_valid : bool, default=False
        Give `valid` to the final fit too, for rankers that choose their size by it.
    n_jobs : int or None, default=None
        Number of fits at the same time, with one thread each. -1: all cores. The result does not
        depend on it.
    random_state : int or None, default=0
        Seed of the folds.

    Returns
    -------
    Tuning
        The best parameters, a ranker with them fitted on the whole dataset, and the whole path.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import RankBoost
    >>> dataset, _ = make_queries(60)
    >>> tuning = tune(RankBoost(), {"n_rounds": [5, 50, 500]}, dataset, folds=3)
    >>> tuning
    ndcg@10 of 60 held-out queries
    <BLANKLINE>
     parameters      mean  standard error
     ──────────────────────────────────────────
     n_rounds=5    0.5039          0.0208
     n_rounds=50   0.5799          0.0220  best
     n_rounds=500  0.5502          0.0205
    >>> tuning.path[1]
    n_rounds=50: 0.5799 ± 0.0220
    >>> tuning.best_estimator
    RankBoost(n_rounds=50)
    """
    measure = parse_measure(measure)
    combinations = _combinations(grid)
    models = [_with_parameters(estimator, parameters) for parameters in combinations]
    if valid is None:
        scored, parts = dataset, _parts(dataset, folds, random_state)
    else:
        scored = held_out_queries(valid)
        warn_of_training_queries(dataset, scored, stacklevel=2)
        parts = [np.arange(scored.n_queries)]

    cross, kind_of_ranker = valid is None, type(models[0]).__name__

    def held_out_values(
        item: tuple[list[int], int],
        dataset: RankingDataset,
        scored: RankingDataset,
        models: list[Ranker],
        parts: list[Integers],
    ) -> list[Floats]:
        together, fold = item
        train, test = dataset, scored
        if cross:
            held_out = np.isin(np.arange(dataset.n_queries), parts[fold])
            train, test = dataset.view().select(~held_out), dataset.view().select(held_out)
        try:
            fitted = _fitted([one_thread(models[index]) for index in together], train)
            return [measure(test, model.predict(test)) for model in fitted]
        except Exception as error:  # raised again with the parameters that were tried
            tried = " or ".join(parameters_text(combinations[index]) for index in together)
            where = f", fold {fold + 1} held out" if cross else ""
            kind = ValueError if isinstance(error, ValueError) else RuntimeError
            raise kind(f"{kind_of_ranker} with {tried}{where}: {error}") from error

    items = [
        (together, fold) for together in _paths(models, combinations) for fold in range(len(parts))
    ]
    values = np.full((len(models), scored.n_queries), np.nan)
    results = in_parallel(
        held_out_values,
        items,
        shared=(dataset, scored, models, parts),
        n_jobs=n_jobs,
        description="Tuning",
    )
    for (together, fold), scored_together in zip(items, results, strict=True):
        for index, of_fold in zip(together, scored_together, strict=True):
            values[index, parts[fold]] = of_fold
    path = tuple(map(Trial.of, combinations, values))
    means = np.array([trial.mean for trial in path])
    if np.isnan(means).any():
        raise ValueError(f"{measure} skips every query, so there is nothing to choose by.")
    best = int(means.argmax() if measure.higher_is_better else means.argmin())
    start, cpu_start = time.perf_counter(), cpu_seconds()
    model = models[best].fit(dataset, valid=valid if fit_with_valid else None)
    seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu_start
    return Tuning(
        best_parameters=combinations[best],
        best_estimator=model,
        path=path,
        best_index=best,
        measure=measure,
        fit_seconds=seconds,
        fit_cpu_seconds=cpu,
        frame_library=dataset.frame_library,
    )


def _combinations(grid: Grid) -> list[Parameters]:
    parts = [grid] if isinstance(grid, Mapping) else list(grid)
    if not parts or not all(parts):
        raise ValueError(f"A grid needs at least one parameter with values. Got {grid!r} instead.")
    for part in parts:
        for name, values in part.items():
            if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
                raise ValueError(f"Values of {name!r} must be a list. Got {values!r} instead.")
            if not len(values):
                raise ValueError(f"The grid has no values of {name!r}.")
    # Plain numbers print better than numpy's.
    plain = [
        {name: v.tolist() if isinstance(v, np.ndarray) else list(v) for name, v in part.items()}
        for part in parts
    ]
    return list(ParameterGrid(plain))


def _with_parameters(estimator: Ranker | Callable[..., Ranker], parameters: Parameters) -> Ranker:
    if not isinstance(estimator, Ranker):
        return estimator(**parameters)
    model: Ranker = clone(estimator)
    # From the outside in: a value may be a part with parameters that are in the grid, too.
    for name in sorted(parameters, key=lambda name: name.count("__")):
        known = model.get_params()
        if name not in known:
            raise unknown(f"{type(estimator).__name__} has no parameter", name, known)
        # A copy, so that combinations with the same part do not share it.
        model.set_params(**{name: clone(parameters[name], safe=False)})
    return model


def _parts(dataset: RankingDataset, folds: int, random_state: int | None) -> list[Integers]:
    """The held-out queries of each fold, by position, ascending."""
    n_queries = dataset.n_queries
    if not isinstance(folds, Integral) or not 2 <= folds <= n_queries:
        raise ValueError(
            f"The 'folds' argument must be a whole number from 2 to the number of queries "
            f"({n_queries}). Got {folds!r} instead."
        )
    order = np.random.default_rng(random_state).permutation(n_queries)
    parts = [np.sort(part) for part in np.array_split(order, folds)]
    teaches = has_two_labels(dataset)
    for fold, part in enumerate(parts):
        if not np.delete(teaches, part).any():
            raise ValueError(
                f"There is nothing to learn without fold {fold + 1}: no other query has two "
                f"different labels. Choose another number of folds or another 'random_state'."
            )
    return parts


def _paths(models: Sequence[Ranker], combinations: Sequence[Parameters]) -> list[list[int]]:
    """Combinations to fit together: they differ only along the ranker's path."""
    paths: dict[Any, list[int]] = {}
    for index, (model, parameters) in enumerate(zip(models, combinations, strict=True)):
        key: Any = index
        along = getattr(model, "path_parameters", ()) if hasattr(model, "fit_path") else ()
        if any(name in parameters for name in along):
            key = joblib.hash({name: parameters[name] for name in parameters if name not in along})
        paths.setdefault(key, []).append(index)
    return list(paths.values())


def _fitted(models: list[Any], dataset: RankingDataset) -> list[Ranker]:
    if len(models) == 1:
        return [models[0].fit(dataset)]
    along = {
        f"{name}s": [getattr(model, name) for model in models] for name in models[0].path_parameters
    }
    path: list[Ranker] = models[0].fit_path(dataset, **along)
    return path


def parameters_text(parameters: Parameters) -> str:
    """A combination of parameters as text.

    Examples
    --------
    >>> parameters_text({"C": 0.1, "ranker": "rank-svm"})
    "C=0.1, ranker='rank-svm'"
    """
    return ", ".join(f"{name}={value!r}" for name, value in parameters.items())


def _numeric_parameter(tried: list[dict[str, Any]]) -> str | None:
    """The first parameter that is a number in every combination, and not always the same."""
    for name in tried[0]:
        values = [parameters.get(name) for parameters in tried]
        if len(set(map(repr, values))) > 1 and all(
            isinstance(value, Real) and not isinstance(value, bool) for value in values
        ):
            return name
    return None
