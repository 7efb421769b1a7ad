"""Independent work on all cores, one thread each, with progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import joblib
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_limits

from localrank.progress import progress

Item = TypeVar("Item")
Result = TypeVar("Result")
Estimator = TypeVar("Estimator", bound=BaseEstimator)


def in_parallel(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    n_jobs: int | None,
    description: str,
) -> list[Result]:
    """Results of a function for each item, in their order.

    Threads do the work, because kernels and LightGBM release the interpreter; under
    `joblib.parallel_config` it may be processes or a Dask cluster. Linear algebra has one
    thread meanwhile, whatever the number of jobs, so that results do not depend on it.

    Parameters
    ----------
    function : callable
    items : sequence
    n_jobs : int or None
        None is one job, -1 as many as cores.
    description : str
        What the progress bar says.

    Examples
    --------
    >>> in_parallel(len, ["a", "bcd"], n_jobs=2, description="Lengths")
    [1, 3]
    """
    results = []
    with progress(description, len(items)) as advance, threadpool_limits(1, user_api="blas"):
        jobs = (joblib.delayed(function)(item) for item in items)
        for result in joblib.Parallel(n_jobs, prefer="threads", return_as="generator")(jobs):
            results.append(result)
            advance()
    return results


def one_thread(estimator: Estimator) -> Estimator:
    """A clone that works with one thread, as everything that runs beside others should.

    Examples
    --------
    >>> from localrank.rankers import LambdaMART, Quadratic
    >>> one_thread(Quadratic(LambdaMART(n_jobs=-1))).ranker.n_jobs
    1
    """
    return with_jobs(estimator, 1)


def with_jobs(estimator: Estimator, n_jobs: int | None) -> Estimator:
    """A clone in which every part that has `n_jobs` has this one, members of lists too.

    Examples
    --------
    >>> from localrank.rankers import Ensemble, LambdaMART
    >>> with_jobs(Ensemble([LambdaMART()]), 3)
    Ensemble(n_jobs=3, rankers=[LambdaMART(n_jobs=3)])
    """
    copy: Estimator = clone(estimator)
    parameters = copy.get_params()
    names = [name for name in parameters if name.split("__")[-1] == "n_jobs"]
    copy.set_params(**dict.fromkeys(names, n_jobs))
    for name, value in parameters.items():
        if isinstance(value, list | tuple):
            parts = [with_jobs(v, n_jobs) if isinstance(v, BaseEstimator) else v for v in value]
            copy.set_params(**{name: type(value)(parts)})
    return copy
