"""The results of tuning: every combination of parameters that was tried."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.printing import Printed, Table
from localrank.data._frames import FrameLibrary, columns_of, frame_of
from localrank.evaluation._plotted import Plotted
from localrank.evaluation.plots import draw_bars, draw_curves
from localrank.measures import Measure
from localrank.measures.base import mean_of_queries
from localrank.rankers import Ranker

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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

    def plot(self) -> Figure:
        """The mean against a parameter, a curve for each choice of the others.

        The parameter is the first that is a number in every combination. Without one, each
        combination has a bar. Needs the extra `localrank[plots]`.
        """
        return _plot(self)

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


def parameters_text(parameters: Parameters) -> str:
    """A combination of parameters as text.

    Examples
    --------
    >>> parameters_text({"C": 0.1, "ranker": "rank-svm"})
    "C=0.1, ranker='rank-svm'"
    """
    return ", ".join(f"{name}={value!r}" for name, value in parameters.items())


def _plot(tuning: Tuning) -> Figure:
    """A curve over a parameter of numbers, one for each choice of the others; bars without one."""
    title, y_label = f"{tuning.measure} of held-out queries", f"mean {tuning.measure}"
    parameter = _numeric_parameter([trial.parameters for trial in tuning.path])
    if parameter is None:
        ticks = [parameters_text(trial.parameters) for trial in tuning.path]
        means = [trial.mean for trial in tuning.path]
        return draw_bars({title: {str(tuning.measure): means}}, ticks, y_label, numbers="%.4f")
    points: dict[str, list[tuple[float, float]]] = {}
    for trial in tuning.path:
        fixed = {name: value for name, value in trial.parameters.items() if name != parameter}
        name = parameters_text(fixed) or str(tuning.measure)
        points.setdefault(name, []).append((trial.parameters[parameter], trial.mean))
    curves = {
        name: ([x for x, _ in sorted(tried)], [y for _, y in sorted(tried)])
        for name, tried in points.items()
    }
    values = [value for x, _ in curves.values() for value in x]
    wide = min(values) > 0 and max(values) > WIDE * min(values)
    return draw_curves({title: curves}, parameter, y_label, log_x=wide)


def _numeric_parameter(tried: list[dict[str, Any]]) -> str | None:
    """The first parameter that is a number in every combination, and not always the same."""
    for name in tried[0]:
        values = [parameters.get(name) for parameters in tried]
        if len(set(map(repr, values))) > 1 and all(
            isinstance(value, Real) and not isinstance(value, bool) for value in values
        ):
            return name
    return None
