"""Finished work of a comparison in a folder, so that what was interrupted can go on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank.data.atomic import atomic_write


@dataclass(frozen=True, eq=False)
class Run:
    """One method on one fold.

    Attributes
    ----------
    scores : ndarray of shape (n_test_documents,)
        Row by row of the test queries. Empty where the method failed.
    groups : ndarray of shape (n_test_queries,)
        The group that weighs most for each query; empty where there are no groups.
    facts : dict
        `train_seconds`, `predict_seconds`, `model_bytes`, `n_models`; `chosen` and `path` where
        parameters were tuned; `bound` and `map`, for rankers with groups; `failed`, the reason.
    """

    scores: NDArray[np.float64]
    groups: NDArray[np.int64]
    facts: dict[str, Any]


class Store:
    """Keeps runs in a folder, one file for each fold and method; nowhere where it is None.

    A run is found again only by the key it was put in with: a digest of all that decides it.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def get(self, fold: str, method: str, key: str) -> Run | None:
        """The run with this key, where there is one that can be read."""
        path = self._path(fold, method)
        if path is None or not path.is_file():
            return None
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                facts = json.loads(str(kept["facts"]))
                if facts.pop("key") != key:
                    return None
                return Run(kept["scores"], kept["groups"], facts)
        except Exception:  # damage shows in many ways, and what it hit is done again
            return None

    def put(self, fold: str, method: str, key: str, run: Run) -> None:
        """Keep a run; failed ones are tried again the next time."""
        path = self._path(fold, method)
        if path is None or run.facts["failed"]:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        facts = json.dumps({**run.facts, "key": key}, default=repr)
        with atomic_write(path) as file:
            np.savez_compressed(file, scores=run.scores, groups=run.groups, facts=np.array(facts))

    def _path(self, fold: str, method: str) -> Path | None:
        return None if self.folder is None else self.folder / fold / f"{method}.npz"
