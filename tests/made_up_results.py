"""Results of methods that were never trained, for what experiments make of results."""

import numpy as np

from localrank.data import concatenate
from localrank.evaluation import MethodResult
from localrank.evaluation.fold_results import FoldResult


def made_up_result(folds, name, seed, cpu_seconds=1.0, predict_seconds=1.0, chosen=None):
    """A method with random scores, and times as given."""
    rng = np.random.default_rng(seed)
    runs = [
        FoldResult(
            fold.name,
            rng.normal(size=fold.test.n_documents),
            np.empty(0, np.int64),
            train_seconds=0.1,
            train_cpu_seconds=cpu_seconds,
            predict_seconds=predict_seconds,
            chosen=chosen,
        )
        for fold in folds
    ]
    names = [fold.name for fold in folds for _ in range(fold.test.n_queries)]
    return MethodResult(name, runs, concatenate([fold.test for fold in folds]), names)
