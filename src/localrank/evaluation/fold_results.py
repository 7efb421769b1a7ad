"""The result of one method on one fold, and a folder of them, so that work can be resumed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.printing import Printed, Table
from localrank.data import Fold
from localrank.data._atomic import atomic_write
from localrank.evaluation.clairvoyance import ClairvoyantBound
from localrank.evaluation.query_groups import GroupMap, MappedGroup, StrongFeature
from localrank.measures import parse_measure

BOUND = ("selected", "values", "control")


@dataclass(frozen=True, eq=False, repr=False)
class FoldResult(Printed):
    """The result of one method on one fold.

    Attributes
    ----------
    fold : str
    scores : ndarray of shape (n_test_documents,)
        Scores of the test documents, query by query. Empty: the method failed.
    groups : ndarray of shape (n_test_queries,)
        The group with the largest weight for each query. Empty: the method has no groups.
    train_seconds, train_cpu_seconds, predict_seconds : float
        Times of training and scoring. Training a tuned method is its final fit. CPU seconds count
        every thread.
    n_models : int
    model_bytes : int
        Size of the saved model.
    chosen : dict or None
        The parameters that tuning chose. None: not tuned.
    path : list of dict or None
        Every combination that was tried: `Tuning.rows`.
    bound : ClairvoyantBound or None
    map : GroupMap or None
    failed : str or None
        Why the method failed. None: it did not.
    """

    fold: str
    scores: Floats
    groups: Integers
    train_seconds: float = 0.0
    train_cpu_seconds: float = 0.0
    predict_seconds: float = 0.0
    n_models: int = 0
    model_bytes: int = 0
    chosen: dict[str, Any] | None = None
    path: list[dict[str, Any]] | None = None
    bound: ClairvoyantBound | None = None
    map: GroupMap | None = None
    failed: str | None = None

    def _shown(self) -> list[str | Table]:
        if self.failed:
            return [f"FoldResult of {self.fold}: failed: {self.failed}"]
        models = "1 model" if self.n_models == 1 else f"{self.n_models:,} models"
        return [
            f"FoldResult of {self.fold}: {len(self.scores):,} documents scored; {models} of "
            f"{self.model_bytes / 1024:,.0f} KiB, trained in {self.train_seconds:.1f} s"
        ]


class Store:
    """Keeps results in a folder, one file for each fold and method. None stores nothing.

    A result is returned only for the key that it was stored with: a digest of all that decides
    it.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def get(self, fold: str, method: str, key: str) -> FoldResult | None:
        """The result with this key. None: there is none, or it cannot be read."""
        path = self._path(fold, method)
        if path is None or not path.is_file():
            return None
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                facts = json.loads(str(kept["facts"]))
                if facts.pop("key") != key:
                    return None
                if facts["bound"] is not None:
                    measure = parse_measure(facts["bound"].pop("measure"))
                    arrays = {name: kept[name] for name in BOUND}
                    facts["bound"] = ClairvoyantBound(measure, **facts["bound"], **arrays)
                if facts["map"] is not None:
                    facts["map"] = _group_map(facts["map"])
                return FoldResult(fold, kept["scores"], kept["groups"], **facts)
        except Exception:  # damage shows in many ways; damaged work is done again
            return None

    def put(self, method: str, key: str, run: FoldResult) -> None:
        """Keep a result. Failed methods are not kept: they are tried again."""
        path = self._path(run.fold, method)
        if path is None or run.failed:
            return
        facts = {name: value for name, value in vars(run).items() if name != "fold"}
        arrays = {name: facts.pop(name) for name in ("scores", "groups")}
        if run.map is not None:
            facts["map"] = asdict(run.map)
        if run.bound is not None:
            arrays |= {name: getattr(run.bound, name) for name in BOUND}
            facts["bound"] = {"measure": str(run.bound.measure), "n_groups": run.bound.n_groups}
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**facts, "key": key}, default=repr)
        with atomic_write(path) as file:
            np.savez_compressed(file, facts=np.array(text), **arrays)

    def _path(self, fold: str, method: str) -> Path | None:
        return None if self.folder is None else self.folder / fold / f"{method}.npz"


def fingerprint(fold: Fold) -> str:
    """A digest of a fold's queries, documents, labels and vectors."""
    digest = hashlib.sha256(fold.name.encode())
    for part in (fold.train, fold.valid, fold.test):
        if part is not None:
            for _, block in part.feature_blocks():
                digest.update(np.ascontiguousarray(block).data)
            # The mark, because one document for each query has as many vectors.
            mark = None if part.query_vectors is None else np.frombuffer(b"queries", np.uint8)
            for array in (part.labels, part.offsets, part.vectors, mark, part.query_vectors):
                if array is not None:
                    digest.update(np.ascontiguousarray(array).data)
            digest.update(json.dumps(part.query_ids.tolist(), default=str).encode())
    return digest.hexdigest()


def described(value: Any) -> Any:
    """A ranker's class and the parameters that decide its result, without `n_jobs`.

    Examples
    --------
    >>> from localrank.rankers import Ensemble, RankSVM
    >>> described(Ensemble([RankSVM(0.5)]))[1]["rankers"][0][1]["C"]
    '0.5'
    """
    if isinstance(value, list | tuple):
        return [described(item) for item in value]
    if not hasattr(value, "get_params") or isinstance(value, type):
        return repr(value)
    parameters = value.get_params(deep=False)
    return type(value).__name__, {
        name: described(part) for name, part in parameters.items() if name != "n_jobs"
    }


def _group_map(facts: dict[str, Any]) -> GroupMap:
    groups = [
        MappedGroup(group["size"], [StrongFeature(**feature) for feature in group["strongest"]])
        for group in facts.pop("groups")
    ]
    return GroupMap(**facts, groups=groups)
