"""Where and how an experiment runs, and what it reads from the results of methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from localrank.data import Fold, concatenate, folds
from localrank.data.fold import Folds
from localrank.evaluation import MethodResult, run
from localrank.evaluation.runner import judged_queries
from localrank.measures import Measure
from localrank.rankers import Ranker

# Collections that test on one part and train on all others; the rest rotate as LETOR does.
WITHOUT_VALIDATION = {"ClueWeb09"}


@dataclass(frozen=True)
class Setting:
    """The data and the options of an experiment.

    Attributes
    ----------
    folder : Path
        A folder that `localrank.data.folds` reads. Its name selects the published numbers.
    quick : bool, default=False
        Two folds and small models: a fast check that everything runs.
    seeds : tuple of int, default=()
        One for each training of what is random. Empty: the experiment's own, its `SEEDS`.
    n_jobs : int or None, default=-1
    store : Path, optional
        A folder for finished work of long experiments. None: nothing is stored.
    say : callable, default=print
        Called with a line about the progress.
    """

    folder: Path
    quick: bool = False
    seeds: tuple[int, ...] = ()
    n_jobs: int | None = -1
    store: Path | None = None
    say: Callable[[str], None] = print

    @property
    def data(self) -> str:
        """Name of the collection."""
        return self.folder.resolve().name

    @property
    def random_state(self) -> int:
        """The seed, for experiments that take one."""
        if len(self.seeds) != 1:
            raise ValueError(f"This experiment takes one seed. Got {len(self.seeds)}.")
        return self.seeds[0]

    @property
    def n_folds(self) -> int | None:
        """How many of a collection's folds count: two if `quick`. None: all."""
        return 2 if self.quick else None

    @cached_property
    def folds(self) -> Folds:
        """The folds of the folder; the first two if `quick`."""
        return own_folds(self.folder)[: self.n_folds]

    @property
    def validated_folds(self) -> list[Fold]:
        """The folds, each with validation queries."""
        return with_validation(self.folds)

    def refuse_missing_values(self) -> None:
        """Raise an error if a feature of a document is missing, before anything is trained."""
        for fold in self.folds:
            for part in (fold.train, fold.valid, fold.test):
                if part is None or not (missing := np.isnan(part.features)).any():
                    continue
                document, feature = np.argwhere(missing)[0]
                raise ValueError(
                    f"This experiment cannot use missing values, and {self.data} has some: in "
                    f"{fold.name}, query {part.query_ids[part.query_index[document]]}, feature "
                    f"{feature + 1} is missing."
                )

    def run(
        self, methods: Mapping[str, Ranker], parts: Iterable[Fold], **options: Any
    ) -> dict[str, MethodResult]:
        """Train and score methods on folds. Validation queries do not stop trees.

        Parameters
        ----------
        methods : dict from name to Ranker
        parts : iterable of Fold
        **options
            Options of `localrank.evaluation.run`.
        """
        options = {"valid": False, **options}
        return run(methods, parts, n_jobs=self.n_jobs, say=self.say, **options)

    def run_each(
        self, methods: Sequence[Mapping[str, Ranker]], parts: Sequence[Fold], **options: Any
    ) -> dict[str, MethodResult]:
        """The same for methods with other parameters in each fold."""
        results = [
            self.run(fold_methods, [fold], **options)
            for fold_methods, fold in zip(methods, parts, strict=True)
        ]
        test = concatenate([judged_queries(fold.test) for fold in parts])
        names = [fold.name for fold in parts for _ in range(fold.test.n_queries)]
        return {
            method: MethodResult(
                method, [fold_methods[method].runs[0] for fold_methods in results], test, names
            )
            for method in methods[0]
        }


def own_folds(folder: Path) -> Folds:
    """The folds of a collection, by the collection's protocol."""
    return folds(folder, validation=folder.resolve().name not in WITHOUT_VALIDATION)


def with_validation(parts: Iterable[Fold]) -> list[Fold]:
    """The folds. Where a fold has no validation queries, every third training query validates."""
    validated = []
    for fold in parts:
        if fold.valid is None:
            held_out = np.arange(fold.train.n_queries) % 3 == 2
            train, valid = fold.train.select(~held_out), fold.train.select(held_out)
            fold = replace(fold, train=train, valid=valid)
        validated.append(fold)
    return validated


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
    for fold in result.runs:
        # With one group, nothing is chosen.
        if fold.bound is not None:
            best[names == fold.fold] = fold.bound.values
            control[names == fold.fold] = fold.bound.control.mean(axis=0)
    return float(selected.mean()), float(best.mean()), float(control.mean())
