"""A model as JSON and arrays, and back.

An object is written as the name of its class with its parameters and fitted attributes. Reading
builds only classes from a closed list, by name, and checks each object by the rules that its class
declares (`parameters`, `fitted`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank._base.estimator import is_estimator
from localrank._base.rules import check_fitted, check_parameters, parts_of, rules
from localrank.data import RankingDataset
from localrank.measures import Measure, parse_measure
from localrank.persistence import _scikit_learn as scikit_learn
from localrank.registry import is_declared

PACKAGES = ("aggregation", "fusion", "grouping", "rankers", "representations", "selection")
# Classes that are in models and have no name on the command line.
INNER = {
    "Analyzer": "text.analysis",
    "Cells": "selection.cells",
    "ColumnRecord": "data._column_record",
    "FeatureExtractor": "text.extractor",
    "Filling": "data._filling",
    "Groups": "grouping.base",
    "Index": "text._index",
    "KnownGroups": "grouping.known_groups",
    "KMeansGroups": "grouping.clusterers",
    "L1MLR": "rankers.mlr.mlr",
    "LSH": "selection.lsh",
    "LinearClassifier": "selection._linear_classifier",
    "LocalMetrics": "rankers.lgmml._local_metrics",
    "LocalRanker": "local_ranker",
    "MLR": "rankers.mlr.mlr",
    "RMLR": "rankers.mlr.mlr",
    "SameCategory": "selection.same_category",
    "SharedRankSVM": "rankers.rank_svm.shared_rank_svm",
    "StoredIndex": "text._index_folder",
    "Stream": "text._stream",
    "TextRanker": "text.text_ranker",
    "Trees": "trees",
    "Vocabulary": "text._vocabulary",
}
DTYPES = {"<f8", "<f4", "<i8", "<i4", "<u8", "<u4", "|u1", "|b1"}
# Arrays begin at multiples of this many bytes.
ALIGNMENT = 8
MAX_AXES = 8
SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
# Levels of nested objects. A composed ranker has about ten.
MAX_LEVELS = 100
# Entries of a dictionary whose keys are not texts. Numbers can be chosen to collide.
MAX_NUMBERED = 1_000
MAX_JOBS = 1_024
# Letters that an array of texts of one width may waste.
WIDE = 100_000


class Writer:
    """Turns a model into JSON, and collects its arrays."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def arrays(self) -> bytes:
        """The bytes of all arrays so far."""
        return b"".join(self._pieces)

    def encoded(self, value: Any) -> Any:
        """A value as JSON."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.generic):
            return self.encoded(value.item())
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return value if math.isfinite(value) else {"number": repr(float(value))}
        if isinstance(value, list):
            return [self.encoded(item) for item in value]
        if isinstance(value, tuple):
            return {"tuple": [self.encoded(item) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[self.encoded(k), self.encoded(v)] for k, v in value.items()]}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, Measure):
            return {"measure": str(value)}
        return self._object(value)

    def _array(self, value: NDArray[Any]) -> Any:
        if value.dtype.kind in "UT":
            return {"texts": value.tolist()}
        if value.dtype.kind == "M":
            return {"times": [value.dtype.str, self._array(value.astype(np.int64))]}
        ordered = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
        if ordered.dtype.str not in DTYPES:
            raise ValueError(f"An array of {value.dtype} cannot be saved.")
        piece = ordered.tobytes()
        at, self._size = self._size, self._size + -(-len(piece) // ALIGNMENT) * ALIGNMENT
        self._pieces.append(piece.ljust(self._size - at, b"\0"))
        return {"array": [ordered.dtype.str, list(value.shape), at]}

    def _object(self, value: Any) -> Any:
        cls = type(value)
        if scikit_learn.knows(cls):
            state = scikit_learn.state_of(value)
            return {"scikit-learn": cls.__name__, **self._mappings(state)}
        if is_dataclass(value):
            state = {"fitted": {f.name: getattr(value, f.name) for f in fields(value)}}
        elif is_estimator(value) and cls.__module__.split(".")[0] != "sklearn":
            saved = value._saved() if hasattr(value, "_saved") else vars(value)
            known = rules(cls, "_fitted")
            state = {
                "parameters": value.get_params(deep=False),
                "fitted": {name: saved[name] for name in known if name in saved},
            }
            unknown = [n for n in saved if n.endswith("_") and n[0] != "_" and n not in known]
            if unknown:
                raise ValueError(
                    f"{cls.__name__} cannot be saved: it does not declare {', '.join(unknown)} "
                    f"among its fitted attributes, `_fitted`."
                )
        else:
            raise ValueError(
                f"A {cls.__name__} cannot be saved. These classes of scikit-learn can: "
                f"{', '.join(scikit_learn.NAMES)}."
            )
        return {"class": cls.__name__, **self._mappings(state)}

    def _mappings(self, state: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {
            key: {name: self.encoded(item) for name, item in mapping.items()}
            for key, mapping in state.items()
        }


class Reader:
    """Builds a model from JSON and arrays, and checks it.

    Parameters
    ----------
    arrays : memoryview
        The bytes of all arrays.
    classes : sequence of type
        Classes that may be built besides those of localrank.
    """

    def __init__(self, arrays: memoryview, classes: Sequence[type]) -> None:
        self._arrays = arrays
        self._left = len(arrays)
        self._level = 0
        self._given = {cls.__name__: cls for cls in classes}

    def decoded(self, value: Any) -> Any:
        """The value that `Writer.encoded` turned into JSON."""
        if value is None or isinstance(value, bool | str | int | float):
            return value
        self._level += 1
        if self._level > MAX_LEVELS:
            raise ValueError("it is nested too deeply")
        built = self._built(value)
        self._level -= 1
        return built

    def _built(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.decoded(item) for item in value]
        if "class" in value:
            return self._object(value)
        if "scikit-learn" in value:
            state = self._parameters(value), self._mapping(value, "fitted")
            return scikit_learn.built(value["scikit-learn"], *state)
        ((kind, content),) = value.items()
        if kind == "number":
            return SPECIAL[content]
        if kind == "tuple":
            return tuple(self.decoded(item) for item in content)
        if kind == "dict":
            if len(content) > MAX_NUMBERED and not all(type(key) is str for key, _ in content):
                raise ValueError("a dictionary has too many keys that are not texts")
            return {self.decoded(key): self.decoded(item) for key, item in content}
        if kind == "array":
            return self._array(*content)
        if kind == "texts":
            return as_texts(content)
        if kind == "times":
            dtype, numbers = content
            if not isinstance(dtype, str) or not dtype.startswith("<M8"):
                raise ValueError(f"{dtype!r} is not a type of times")
            return self.decoded(numbers).astype(np.int64).view(np.dtype(dtype))
        if kind == "measure":
            return parse_measure(content)
        raise ValueError(f"it has a value of the unknown kind {kind!r}")

    def _mapping(self, value: dict[str, Any], key: str) -> dict[str, Any]:
        return {name: self.decoded(item) for name, item in value.get(key, {}).items()}

    def _parameters(self, value: dict[str, Any]) -> dict[str, Any]:
        parameters = self._mapping(value, "parameters")
        jobs = parameters.get("n_jobs")
        if jobs is not None and (type(jobs) is not int or abs(jobs) > MAX_JOBS):
            raise ValueError(f"n_jobs must be None or a whole number up to {MAX_JOBS}")
        return parameters

    def _array(self, dtype: str, shape: list[int], at: int) -> NDArray[Any]:
        numbers = [at, *shape]
        if dtype not in DTYPES or len(shape) > MAX_AXES:
            raise ValueError(f"an array of {dtype!r} with {len(shape)} axes is not known")
        if not all(type(number) is int and number >= 0 for number in numbers) or at % ALIGNMENT:
            raise ValueError("an array has an impossible position or shape")
        count = math.prod(shape)
        size = count * np.dtype(dtype).itemsize
        if at + size > len(self._arrays) or max(shape, default=0) > len(self._arrays):
            raise ValueError("an array ends after the file")
        # Parts copy their arrays. A file that uses its bytes many times could fill the memory.
        self._left -= size
        if self._left < 0:
            raise ValueError("its arrays overlap")
        return np.frombuffer(self._arrays, dtype, count, at).reshape(shape)

    def _object(self, value: dict[str, Any]) -> Any:
        name = value["class"]
        cls = self._given.get(name) or localrank_class(name)
        if cls is None:
            raise ValueError(f"it asks for {name!r}, which a model file may not use")
        fitted = self._mapping(value, "fitted")
        known = {f.name for f in fields(cls)} if is_dataclass(cls) else rules(cls, "_fitted").keys()
        if surplus := fitted.keys() - known:
            raise ValueError(f"{name} has no {', '.join(sorted(surplus))}")
        if is_dataclass(cls):
            built: Any = cls(**fitted)
            check_fitted(built)
            return built
        built = cls(**self._parameters(value))
        check_parameters(built)
        vars(built).update(fitted)
        # A part that is a parameter stays unfitted.
        if fitted:
            check_fitted(built)
            if hasattr(built, "_restored"):
                built._restored()
            if getattr(built, "needs", None) is not None and built.needs.trial:
                rank_example(built)
        return built


def rank_example(ranker: Any) -> None:
    """Rank two documents, to detect parts that do not fit each other.

    Every ranker is tried by itself: the model of one group may not be used for long.
    """
    features = np.array([[0.0], [1.0]]) * np.ones(ranker.n_features_in_)
    query = 0
    for part in parts_of(ranker):
        # A part that knows queries by a column or by ids ranks only these queries.
        known = getattr(part, "query_vectors", None)
        if known is not None:
            features[:] = 1.0
        if isinstance(known, dict):
            query = next(iter(known))
    dataset = RankingDataset(features, None, np.array([0, 2]), np.array([query]))
    # A part may read vectors, of any length.
    dataset = dataset.with_vectors(np.eye(2))
    with np.errstate(all="ignore"):
        scores = ranker.predict_rows(dataset)
    if scores.shape != (2,):
        raise ValueError(f"{type(ranker).__name__} does not give one score per document")


@cache
def localrank_class(name: str) -> type | None:
    """The class of localrank with this name, if models may hold it. No other is imported."""
    if name in INNER:
        cls: type = getattr(import_module(f"localrank.{INNER[name]}"), name)
        return cls
    for package in (import_module(f"localrank.{package}") for package in PACKAGES):
        if name in dir(package) and is_declared(part := getattr(package, name)):
            return part if isinstance(part, type) else None
    return None


def as_texts(values: Any) -> NDArray[Any]:
    """An array of texts: of one width, or of varying width if a few are much longer."""
    if not isinstance(values, list) or not all(type(value) is str for value in values):
        raise ValueError("a list of texts holds something that is not a text")
    longest = max(map(len, values), default=0)
    if longest * len(values) > WIDE + 16 * sum(map(len, values)):
        return np.array(values, dtype=np.dtypes.StringDType())
    return np.array(values, dtype=f"<U{max(longest, 1)}")
