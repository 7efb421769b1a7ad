"""What several retrievers found for a query, as the documents of a model that fuses lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from localrank._base.arrays import Floats
from localrank._base.names import unknown
from localrank.data._row_vectors import RowVectors, joined_vectors
from localrank.fusion._list_columns import COLUMNS, list_columns, list_names
from localrank.serving._lists import Inputs, Lists, as_dataset, looked_up, nothing, vector_of
from localrank.serving._messages import MAX_DIMENSIONS, MAX_VECTOR_BYTES, Hit, Id, Refused, Runs
from localrank.serving._messages import Vector as VectorForm

_vector: msgspec.json.Decoder[VectorForm] = msgspec.json.Decoder(VectorForm)
# The largest score: as for features.
_LARGEST = 1e100


def documents_of(runs: Runs) -> dict[str, Id]:
    """The documents that at least one list has, in the order of the lists.

    Examples
    --------
    >>> from localrank.serving._messages import Hit, Runs
    >>> documents_of(Runs({"bm25": [Hit("a", 9.0), Hit(7, 3.0)], "dense": [Hit("7", 0.8)]}))
    {'a': 'a', '7': 7}
    """
    documents: dict[str, Id] = {}
    for hits in runs.runs.values():
        for hit in hits:
            documents.setdefault(str(hit.id), hit.id)
    return documents


class Fusible(NamedTuple):
    """The documents of one query's lists, with the columns that a model takes."""

    query: Id | None
    ids: list[Id]
    table: Floats
    vectors: RowVectors | None


def fusible(runs: Runs, inputs: Inputs) -> Fusible:
    """The documents of the lists with the columns that a model takes. Raises `Refused` if wrong.

    Columns and rules are those of `localrank.fusion.lists_dataset`.
    """
    names = _names(inputs)
    if absent := [name for name in names if name not in runs.runs]:
        raise Refused(
            422,
            f"runs: lacks the list {absent[0]!r}, which the model needs. If it found nothing, send "
            f"an empty one.",
        )
    if surplus := [name for name in runs.runs if name not in names]:
        raise Refused(422, f"runs: {unknown('The model has no list', surplus[0], names)}")
    documents = documents_of(runs)
    if not documents:
        return Fusible(runs.query, [], np.empty((0, inputs.n_features)), None)
    place = {document: row for row, document in enumerate(documents)}
    columns: dict[str, Floats] = {}
    for name in names:
        scores = _scores(name, runs.runs[name], place)
        values = list_columns(scores, np.array([0, len(place)])).T
        columns |= {f"{name}.{column}": of for column, of in zip(COLUMNS, values, strict=True)}
    table = np.column_stack([columns[name] for name in inputs.names or ()])
    vectors = None
    if inputs.vectors:
        vectors = _vectors(list(documents), runs.vectors, inputs)
    return Fusible(runs.query, list(documents.values()), table, vectors)


def joined(queries: Sequence[Fusible], inputs: Inputs) -> Lists:
    """The documents of several queries in the form that a model takes."""
    sizes = [len(each.ids) for each in queries]
    if len(queries) > 1 and 0 in sizes:
        raise Refused(422, f"lists[{sizes.index(0)}]: no list found a document. Leave it out.")
    dataset = (
        as_dataset(
            np.concatenate([each.table for each in queries]),
            sizes,
            inputs,
            joined_vectors([each.vectors for each in queries]),
        )
        if sum(sizes)
        else nothing(inputs.n_features)
    )
    return Lists(dataset, [each.query for each in queries], [each.ids for each in queries])


def _names(inputs: Inputs) -> tuple[str, ...]:
    """The lists that a model takes. Raises `Refused` if it takes anything else."""
    names = list_names(inputs.names)
    if not names:
        raise Refused(
            422,
            "runs: the model was not trained on lists of retrievers. Send `documents` with their "
            "features.",
        )
    of_lists = {f"{name}.{column}" for name in names for column in COLUMNS}
    if more := [name for name in inputs.names or () if name not in of_lists]:
        raise Refused(
            422,
            f"runs: the model also takes {more[0]!r}, which no list has. Send `documents` with "
            f"all {inputs.n_features:,} features.",
        )
    return names


def _scores(name: str, hits: Sequence[Hit], place: Mapping[str, int]) -> Floats:
    """The scores of all documents by one list. NaN: the list lacks the document."""
    scores = np.full(len(place), np.nan)
    for number, hit in enumerate(hits):
        row = place[str(hit.id)]
        if not np.isnan(scores[row]):
            raise Refused(
                422, f"runs.{name}[{number}]: the document {hit.id!r} is in the list twice."
            )
        if not abs(hit.score) <= _LARGEST:
            raise Refused(
                422,
                f"runs.{name}[{number}]: a score must lie between -{_LARGEST:g} and "
                f"{_LARGEST:g}. Got {hit.score:g} instead.",
            )
        scores[row] = hit.score
    return scores


def _vectors(
    documents: Sequence[str], given: Mapping[str, msgspec.Raw] | None, inputs: Inputs
) -> RowVectors:
    """The vectors of the documents, given or looked up."""
    if given is None and inputs.known is not None:
        return looked_up(documents, inputs.known)
    vectors, width = [], inputs.n_dimensions
    for document in documents:
        raw = None if given is None else given.get(document)
        if raw is None:
            raise Refused(
                422,
                f"vectors: the model finds neighbours by vectors, and the document {document!r} "
                f"has none. Zeros say so.",
            )
        where = f"vectors[{document!r}]"
        # Before its numbers are read.
        if memoryview(raw).nbytes > MAX_VECTOR_BYTES:
            raise Refused(422, f"{where} may have at most {MAX_DIMENSIONS:,} numbers.")
        try:
            vector = _vector.decode(raw)
        except msgspec.ValidationError as error:
            raise Refused(422, f"{where}: {error}.") from None
        if vector is None:
            raise Refused(422, f"{where} is null. Zeros say that a document has no vector.")
        if width is None:
            width = len(vector)
        vectors.append(vector_of(vector, where, width))
    return RowVectors(np.array(vectors, np.float32))
