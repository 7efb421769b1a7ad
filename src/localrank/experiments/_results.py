"""What experiments read from the results of methods."""

from __future__ import annotations

import numpy as np

from localrank.evaluation import MethodResult
from localrank.measures import Measure


def chosen(result: MethodResult) -> list[str]:
    """The values of the chosen parameters, one short text per fold."""
    return [
        "/".join(f"{value:g}" for value in run.chosen.values()) for run in result.runs if run.chosen
    ]


def mean_of_folds(result: MethodResult, measure: Measure) -> float:
    """The mean of the folds' means, as LETOR computes it. Other means are over the queries."""
    return float(np.mean(list(result.fold_means(measure).values())))


def bound_means(result: MethodResult, measure: Measure) -> tuple[float, float, float]:
    """Means with the selected groups, with the best groups in hindsight, and with random groups.

    Parameters
    ----------
    result : MethodResult
        The result of a run with `n_controls`.
    measure : Measure
        The measure of that run.
    """
    selected, names = result.values(measure), np.array(result.fold_names)
    best, control = selected.copy(), selected.copy()
    for run in result.runs:
        # With one group, nothing is chosen.
        if run.bound is not None:
            best[names == run.fold] = run.bound.values
            control[names == run.fold] = run.bound.control.mean(axis=0)
    return float(selected.mean()), float(best.mean()), float(control.mean())
