"""Lists of documents in the form that a model takes."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.names import unknown
from localrank._kernels.vectors import Singles
from localrank.data import RankingDataset
from localrank.data._categories import Categories, input_names, text_of
from localrank.data._checks import checked_features
from localrank.data._row_vectors import RowVectors
from localrank.rankers import Ranker
from localrank.rankers._explanation import borrowing_part
from localrank.serving._messages import Id, Refused, Value, Vector

if TYPE_CHECKING:
    from localrank.text import TextRanker
    from localrank.text._index import Index

# At most this many names of features are listed in a message.
MAX_NAMES = 5
# At most this many documents of a list for a model that compares each with each.
MAX_COMPARED = 2_000
_LARGEST = np.finfo(np.float32).max


class Inputs(NamedTuple):
    """What a model needs for each document.

    Attributes
    ----------
    n_features : int
    names : tuple of str or None
        The names of the features. None: the model was trained without names.
    categories : mapping
        The values of each feature of categories, by its name.
    vectors : bool
        Whether documents need vectors.
    n_dimensions : int or None
        How long these are. None: the model file does not say so.
    compares : bool
        Whether the model compares the documents of a list with each other.
    known : Index or None
        Where vectors are looked up by id. None: they are not looked up.
    """

    n_features: int
    names: tuple[str, ...] | None
    categories: Categories
    vectors: bool
    n_dimensions: int | None
    compares: bool
    known: Index | None


def inputs_of(ranker: Ranker, texts: TextRanker | None = None) -> Inputs:
    """What a model needs for each document."""
    categories: Categories = getattr(ranker, "categories_", None) or {}
    trained = getattr(ranker, "feature_names_in_", None)
    names = None if trained is None else tuple(trained.tolist())
    if names and categories:
        names = input_names(names, categories)
    door = ranker._door
    index = None if texts is None else texts.extractor_.index_
    return Inputs(
        ranker.n_features_in_ if names is None else len(names),
        names,
        categories,
        door.needs_vectors,
        door.n_dimensions,
        borrowing_part(ranker) is not None,
        None if index is None or index.vectors is None else index,
    )


@dataclass(frozen=True)
class Lists:
    """The lists of one request.

    Attributes
    ----------
    dataset : RankingDataset
        A query for each list, its rows in the order of the request.
    queries : list
        Ids of the queries. None: the request gives no id.
    ids : list of list
        Ids of the documents of each list.
    named : bool
        Whether all these ids are those of the request. Otherwise some are positions.
    """

    dataset: RankingDataset
    queries: Sequence[Id | None]
    ids: Sequence[Sequence[Id]]
    named: bool = True


def as_dataset(
    features: Floats, sizes: Sequence[int], inputs: Inputs, vectors: RowVectors | None = None
) -> RankingDataset:
    """A dataset of the rows of lists that follow one another, in the model's order of features."""
    try:
        features = checked_features(features)
    except ValueError as error:
        raise Refused(422, str(error)) from None
    return RankingDataset._checked(
        features=features,
        relevance=None,
        offsets=np.array([0, *accumulate(sizes)]),
        query_ids=np.arange(len(sizes)),
        document_ids=None,
        feature_names=inputs.names,
        input_order=None,
        categories=inputs.categories or None,
        _vectors=vectors,
    )


def nothing(n_features: int) -> RankingDataset:
    """An empty list, for a query that no document matches."""
    return RankingDataset._checked(
        features=np.empty((0, n_features)),
        relevance=None,
        offsets=np.array([0, 0]),
        query_ids=np.array(["1"]),
        document_ids=None,
        feature_names=None,
        input_order=None,
    )


def check_compared(sizes: Integers, inputs: Inputs) -> None:
    """Refuse a list that is too long for a model that compares its documents."""
    if inputs.compares and len(sizes) and int(sizes.max()) > MAX_COMPARED:
        raise Refused(
            413,
            f"This model compares the documents of a list with each other, and accepts at most "
            f"{MAX_COMPARED:,} documents in a list. Got {int(sizes.max()):,} instead.",
        )


def vector_of(given: list[float] | str, where: str, n_dimensions: int) -> Singles:
    """A vector of a request. Raises `Refused` if it is wrong."""
    if isinstance(given, str):
        try:
            values = np.frombuffer(b64decode(given, validate=True), "<f4").astype(np.float32)
        except ValueError as error:
            raise Refused(422, f"{where} is not base64 of numbers of 32 bits: {error}.") from None
        finite = np.isfinite(values).all()
    else:
        wide = np.array(given, np.float64)
        finite = (np.abs(wide) <= _LARGEST).all()
        values = wide.astype(np.float32) if finite else np.zeros(len(wide), np.float32)
    if len(values) != n_dimensions:
        raise Refused(
            422, f"{where} must have {n_dimensions:,} numbers. Got {len(values):,} instead."
        )
    if not finite:
        raise Refused(422, f"{where} must hold finite numbers of 32 bits.")
    return values


def vectors_of_list(
    vectors: Sequence[Vector], ids: Sequence[Id | None], inputs: Inputs
) -> RowVectors:
    """The vectors of a list's documents, given or looked up.

    Raises `Refused` if some are missing or wrong.
    """
    absent = [number for number, vector in enumerate(vectors) if vector is None]
    if len(absent) == len(vectors) and inputs.known is not None:
        return looked_up(ids, inputs.known)
    if absent:
        raise Refused(
            422,
            f"documents[{absent[0]}]: the model finds neighbours by vectors, and there is no "
            "`vector`. Zeros say that a document has none.",
        )
    width = inputs.n_dimensions
    if width is None:
        first = vectors[0]
        width = len(b64decode(first)) // 4 if isinstance(first, str) else len(first or ())
    table = np.empty((len(vectors), width), np.float32)
    for number, vector in enumerate(vectors):
        assert vector is not None
        table[number] = vector_of(vector, f"documents[{number}].vector", width)
    return RowVectors(table)


def looked_up(ids: Sequence[Id | None], index: Index) -> RowVectors:
    """The vectors of documents of an index. Raises `Refused` if one is not there."""
    for number, name in enumerate(ids):
        if name is None or str(name) not in index:
            what = "neither a vector nor an id" if name is None else "no vector"
            known = "" if name is None else f", and the model's index has no document {name!r}"
            raise Refused(422, f"documents[{number}]: has {what}{known}.")
    assert index.vectors is not None
    different, places = np.unique(np.array([str(name) for name in ids]), return_inverse=True)
    return RowVectors(index.vectors, index.places(different, "")[places])


def columns_of(given: Sequence[str], names: Sequence[str] | None) -> list[int]:
    """The position of each of the model's features among the given names."""
    if names is None:
        raise Refused(422, "The model was trained without feature names: leave out feature_names.")
    if tuple(given) == names:
        return list(range(len(names)))
    place = {name: column for column, name in enumerate(given)}
    if len(place) != len(given):
        raise Refused(422, "feature_names must be unique.")
    check_names("feature_names", place, names)
    return [place[name] for name in names]


def coded(
    rows: Sequence[Sequence[Value | str]], names: Sequence[str], categories: Categories
) -> Floats:
    """Rows with the codes of categories; NaN for a value that was not in training."""
    matrix = np.empty((len(rows), len(names)))
    for column, name in enumerate(names):
        values = [row[column] for row in rows]
        if name in categories:
            place: dict[str | None, float] = {
                text: float(code) for code, text in enumerate(categories[name])
            }
            texts = [value if isinstance(value, str) else text_of(value, name) for value in values]
            matrix[:, column] = [place.get(text, np.nan) for text in texts]
            continue
        for number, value in enumerate(values):
            if isinstance(value, str):
                raise Refused(
                    422, f"documents[{number}]: the feature {name!r} is a number. Got a text."
                )
        matrix[:, column] = np.array(values, dtype=np.float64)
    return matrix


def check_names(where: str, given: dict[str, Any], names: Sequence[str]) -> None:
    missing = [name for name in names if name not in given]
    if missing:
        raise Refused(422, f"{where}: lacks {_listed(missing)}, which the model needs.")
    surplus = [name for name in given if name not in set(names)]
    if surplus:
        raise Refused(422, f"{where}: {unknown('The model has no feature', surplus[0], names)}")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return ", ".join(map(repr, names[:MAX_NAMES])) + more
