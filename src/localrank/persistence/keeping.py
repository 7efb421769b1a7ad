"""Interrupted training: models that were finished are kept and not trained again."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.parallel import in_parallel
from localrank._base.rules import parts_of
from localrank.data import RankingDataset
from localrank.data._offsets import rows_of
from localrank.data._parts import over_parts
from localrank.persistence.encoding import Writer
from localrank.persistence.files import library_versions, load, save_model

_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


@contextmanager
def kept_models(folder: str | PathLike[str] | None) -> Iterator[None]:
    """Keep each model that is trained inside the block in a file, as soon as it is finished.

    After an interruption, the same call with the same folder reads these models instead of
    training them again. It works for the models of groups, the rankers of an ensemble, and the
    models of pairs of labels. A file's name is a digest of all that decides the model: the ranker
    with its parameters, the training and validation queries, their weights, and the versions of
    the libraries. It does not notice a change in your own classes. A damaged file is replaced.

    Some models contain models, such as an ensemble with a local ranker. The inner ones are kept
    too if the outer ones are trained one after the other in this process.

    Parameters
    ----------
    folder : path or None
        Folder of the files. It is made if it does not exist. Delete it when training is done.
        None: keep nothing.

    Examples
    --------
    >>> import tempfile
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import BestFeature, Ensemble, RankSVM
    >>> dataset, _ = make_queries(20)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with kept_models(folder):
    ...         model = Ensemble([BestFeature(), RankSVM()]).fit(dataset)
    ...     len(list(Path(folder).glob("*.localrank")))
    2
    """
    path = None if folder is None else Path(folder)
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)
    token = _folder.set(path)
    try:
        yield
    finally:
        _folder.reset(token)


@dataclass(frozen=True, eq=False)
class Lesson:
    """All that decides a model.

    Parameters
    ----------
    ranker : Ranker
        The unfitted ranker.
    dataset : RankingDataset
        The training queries.
    query_weights : ndarray of shape (n_queries,), optional
        Weight of each query. None: equal weights.
    valid : RankingDataset, optional
        The validation queries. None: no validation.
    queries : ndarray of int, optional
        Positions of the queries that are learned from. None: all.
    besides : str
        Anything else that decides the model.
    """

    ranker: Any
    dataset: RankingDataset
    query_weights: Floats | None = None
    valid: RankingDataset | None = None
    queries: Integers | None = None
    besides: str = ""


def trained_models(
    function: Callable[..., Any],
    items: Sequence[Any],
    lessons: Sequence[Lesson],
    *,
    shared: Sequence[Any],
    n_jobs: int | None,
    description: str,
) -> list[Any]:
    """Train a model for each item by a function, with `in_parallel`.

    Inside `kept_models`, models that have a file are read instead, and new models are saved when
    they are finished. Models inside models are kept too if the function runs in this thread, with
    one job.
    """
    folder = _folder.get()
    models: dict[int, Any] = {}
    paths = [] if folder is None else [folder / f"{name}.localrank" for name in _names(lessons)]
    for number, path in enumerate(paths):
        model = _read(path, lessons[number].ranker)
        if model is not None:
            models[number] = model
    missing = [number for number in range(len(items)) if number not in models]

    def save(place: int, model: Any) -> None:
        save_model(model, paths[missing[place]])

    trained = in_parallel(
        function,
        [items[number] for number in missing],
        shared=shared,
        n_jobs=n_jobs,
        description=description,
        finished=save if paths else None,
    )
    models |= zip(missing, trained, strict=True)
    return [models[number] for number in range(len(items))]


def _read(path: Path, ranker: Any) -> Any:
    """The model of a file; None if there is no file or it cannot be read."""
    try:
        return load(path, classes=[type(part) for part in parts_of(ranker)])
    except (FileNotFoundError, ValueError):
        return None


def _names(lessons: Sequence[Lesson]) -> list[str]:
    """A digest for each lesson. Equal lessons are numbered, for rankers without a seed."""
    contents: dict[int, Array] = {}
    versions, seen = json.dumps(library_versions()), Counter[str]()
    names = []
    for lesson in lessons:
        writer = Writer()
        ranker = json.dumps(writer.encoded(lesson.ranker)).encode() + writer.arrays()
        pieces = [versions.encode(), ranker, lesson.besides.encode()]
        pieces += _pieces(lesson.dataset, lesson.queries, lesson.query_weights, contents)
        if lesson.valid is not None:
            pieces += _pieces(lesson.valid, None, None, contents)
        name = _digest(pieces)
        seen[name] += 1
        names.append(_digest([name.encode(), str(seen[name]).encode()]))
    return names


def _digest(pieces: Sequence[bytes]) -> str:
    """A digest of several texts that depends on where each of them ends."""
    return hashlib.sha256(b"".join(hashlib.sha256(piece).digest() for piece in pieces)).hexdigest()


def _pieces(
    dataset: RankingDataset,
    queries: Integers | None,
    query_weights: Floats | None,
    contents: dict[int, Array],
) -> list[bytes]:
    """The content of queries that decides a model. Features of a dataset are read only once."""
    if id(dataset) not in contents:
        parts = over_parts(_feature_digests, dataset, description="Content of queries")
        contents[id(dataset)] = np.concatenate(parts)
    if queries is None:
        queries = np.arange(dataset.n_queries)
    rows, offsets = rows_of(dataset.offsets, queries)
    facts = [dataset.dtype.str, dataset.feature_names, dataset.query_ids[queries].tolist()]
    arrays = [contents[id(dataset)][queries], offsets, dataset.labels[rows]]
    for weights, places in ((dataset.document_weights, rows), (query_weights, queries)):
        arrays.append(np.empty(0) if weights is None else weights[places])
    for vectors, places in ((dataset._vectors, rows), (dataset._query_vectors, queries)):
        arrays.append(np.empty(0) if vectors is None else vectors[places].array())
    return [json.dumps(facts, default=str).encode(), *(array.tobytes() for array in arrays)]


def _feature_digests(dataset: RankingDataset) -> Array:
    """A digest of the features of each query, of shape (n_queries, 32)."""
    digests = []
    for rows, block in dataset.feature_blocks():
        table = np.ascontiguousarray(block)
        first, end = np.searchsorted(dataset.offsets, [rows.start, rows.stop])
        queries = np.split(table, dataset.offsets[first + 1 : end] - rows.start)
        digests += [hashlib.sha256(features.data).digest() for features in queries]
    return np.frombuffer(b"".join(digests), np.uint8).reshape(dataset.n_queries, -1)
