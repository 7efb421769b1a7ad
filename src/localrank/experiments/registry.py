"""The experiments by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from localrank.data import Fold, folds
from localrank.experiments import (
    adaptive_training,
    lgmml,
    local_rank,
    multiple_hyperplanes,
    pca_queries,
)
from localrank.experiments.base import Reproduction, Say
from localrank.names import unknown


class Experiment(Protocol):
    """What every experiment is."""

    def __call__(
        self,
        parts: Sequence[Fold],
        data: str,
        *,
        quick: bool = False,
        random_state: int | None = 0,
        n_jobs: int | None = -1,
        say: Say = print,
    ) -> Reproduction:
        """Run it on folds of a collection with a name.

        Parameters
        ----------
        parts : sequence of Fold
        data : str
            Name of the collection, for the published numbers.
        quick : bool, default=False
            Two folds and small models, to see that it works.
        random_state : int or None, default=0
        n_jobs : int or None, default=-1
        say : callable, default=print
            Takes a line about the progress.
        """


EXPERIMENTS: dict[str, Experiment] = {
    "local-rank": local_rank.reproduce,
    "adaptive-training": adaptive_training.reproduce,
    "pca-queries": pca_queries.reproduce,
    "lgmml": lgmml.reproduce,
    "multiple-hyperplanes": multiple_hyperplanes.reproduce,
}


def reproduce(
    experiment: str,
    folder: Path,
    *,
    quick: bool = False,
    random_state: int | None = 0,
    n_jobs: int | None = -1,
    say: Say = print,
) -> Reproduction:
    """Repeat a paper's experiment on the folds in a folder.

    Parameters
    ----------
    experiment : str
        A name in `EXPERIMENTS`.
    folder : Path
        As `localrank.data.folds` takes it. Its name says which published numbers belong to it.
    quick : bool, default=False
        Two folds and small models, to see that it works.
    random_state : int or None, default=0
    n_jobs : int or None, default=-1
    say : callable, default=print
        Takes a line about the progress.
    """
    if experiment not in EXPERIMENTS:
        raise unknown("There is no experiment", experiment, EXPERIMENTS)
    parts = list(folds(folder))
    return EXPERIMENTS[experiment](
        parts,
        folder.resolve().name,
        quick=quick,
        random_state=random_state,
        n_jobs=n_jobs,
        say=say,
    )
