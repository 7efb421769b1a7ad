"""The inverted index of a corpus: terms, postings of each field, ids and numbers of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.rules import (
    Rule,
    Rules,
    check_together,
    instance,
    instances,
    optional,
    texts,
)
from localrank._kernels.numbers import MAX_MAGNITUDE
from localrank._kernels.vectors import Singles
from localrank.data._checks import checked_ids, first_repeated
from localrank.text._corpus import Part, Reader
from localrank.text._postings import Numbers, Postings, added, chained, inverted
from localrank.text._proximity import appended_words
from localrank.text._stream import Stream
from localrank.text._vocabulary import Numbering, Vocabulary

_numbers = Rule(
    lambda value, sizes: (
        isinstance(value, np.ndarray)
        and value.dtype == np.float64
        and value.ndim == 2
        and sizes.setdefault("n_documents", len(value)) == len(value)
        and not (np.abs(value) > MAX_MAGNITUDE).any()
    ),
    f"numbers within ±{MAX_MAGNITUDE:g}, or NaN, of shape (n_documents, any)",
)


def _vectors(*axes: str) -> Rule:
    return Rule(
        lambda value, sizes: (
            isinstance(value, np.ndarray)
            and value.dtype == np.float32
            and value.ndim == len(axes)
            and all(
                sizes.setdefault(axis, length) == length
                for axis, length in zip(axes, value.shape, strict=True)
            )
            and bool(np.isfinite(value).all())
        ),
        f"finite numbers of 32 bits, of shape ({', '.join(axes)})",
    )


@dataclass(frozen=True, eq=False, repr=False)
class Index:
    """The index of a corpus.

    Each stream takes 8 bytes for each different word of each document, and 8 bytes for each
    document; 4 bytes more for each word if features of proximity are wanted. All fields together
    are another stream. During the building, each stream is in memory twice for a time, and so is
    one part of the texts.

    Attributes
    ----------
    document_ids : ndarray of str, shape (n_documents,)
    vocabulary : Vocabulary
    streams : list of Stream
        One stream for each field. If there are several fields, one more for all together.
    columns : ndarray of shape (n_documents, n_columns)
        Numbers of the documents. NaN: a document has no number. If features ask for sentences,
        the last columns are their numbers, one for each field.
    vectors : ndarray of float32, shape (n_documents, n_dimensions), optional
        Vectors of the documents; zeros where a document has none. None: no document has one.
    encoder_mark : ndarray of float32, shape (n_dimensions,), optional
        A vector that identifies the encoder of the documents. None: the vectors were given.
    """

    document_ids: Array
    vocabulary: Vocabulary
    streams: list[Stream]
    columns: Floats
    vectors: Singles | None = None
    encoder_mark: Singles | None = None

    _fitted: ClassVar[Rules] = {
        "document_ids": texts("n_documents"),
        "vocabulary": instance(Vocabulary),
        "streams": instances(Stream),
        "columns": _numbers,
        "vectors": optional(_vectors("n_documents", "n_dimensions")),
        "encoder_mark": optional(_vectors("n_dimensions")),
    }

    def _check_fitted(self) -> None:
        n_terms = len(self.vocabulary)
        check_together(
            self,
            holds=all(
                len(stream.begins) == n_terms + 1 and stream.n_documents == self.n_documents
                for stream in self.streams
            ),
        )

    @property
    def n_documents(self) -> int:
        return len(self.document_ids)

    @cached_property
    def _place_of_id(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.document_ids.tolist())}

    def __contains__(self, document: object) -> bool:
        return document in self._place_of_id

    def places(self, documents: Iterable[Any], query: str) -> Integers:
        """The positions of a query's documents, given by their ids."""
        names = [str(document) for document in documents]
        places = [self._place_of_id.get(name, -1) for name in names]
        if -1 in places:
            raise ValueError(
                f"The candidate {names[places.index(-1)]!r} of query {query!r} is not in the "
                f"corpus."
            )
        if (twice := first_repeated(np.array(names))) is not None:
            raise ValueError(
                f"The candidate {twice!r} of query {query!r} is given twice. Give it once."
            )
        return np.array(places, dtype=np.int64)

    @property
    def n_bytes(self) -> int:
        """The memory of the arrays, in bytes."""
        arrays: list[Array] = [self.vocabulary.letters, self.vocabulary.begins, self.columns]
        for stream in self.streams:
            arrays += [stream.begins, stream.documents, stream.counts, stream.lengths]
            arrays += [] if stream.terms is None else [stream.terms]
        arrays += [] if self.vectors is None else [self.vectors]
        return self.document_ids.nbytes + sum(array.nbytes for array in arrays)


def build_index(
    corpus: Any,
    reader: Reader,
    analyzer: Any,
    *,
    with_words: bool,
    vectors_of: Callable[[Part], Singles] | None = None,
    encoder_mark: Singles | None = None,
) -> Index:
    """Read a corpus in parts and index it.

    Parameters
    ----------
    corpus : iterable of dict, or DataFrame
    reader : Reader
    analyzer : Analyzer or callable
    with_words : bool
        Whether to keep the words of documents in their order.
    vectors_of : callable or None
        A function from a part to the vectors of its documents. None: they have none.
    encoder_mark : ndarray or None
        The index keeps it.
    """
    numbering = Numbering(analyzer)
    ids: list[str] = []
    values: list[Floats] = []
    vectors: list[Singles] = []
    n_fields = len(reader.fields)
    postings: list[list[Postings]] = [[] for _ in range(n_fields)]
    lengths: list[list[Integers]] = [[] for _ in range(n_fields)]
    words: list[list[Numbers]] = [[] for _ in range(n_fields)]
    for documents in reader.parts(corpus):
        first = len(ids)
        ids += documents.ids
        values.append(documents.columns)
        if vectors_of is not None:
            vectors.append(vectors_of(documents))
        for field, field_texts in enumerate(documents.texts):
            terms, bounds = numbering.number(field_texts)
            postings[field].append(inverted(terms, bounds, len(numbering), first))
            lengths[field].append(np.diff(bounds))
            if with_words:
                words[field].append(terms)
    document_ids = checked_document_ids(ids)
    n_terms = len(numbering)
    streams = []
    for field in range(n_fields):
        chain = chained(postings[field], n_terms)
        kept = np.concatenate(words[field]) if with_words else None
        words[field].clear()
        streams.append(Stream(*chain, np.concatenate(lengths[field]), kept))
    return Index(
        document_ids,
        numbering.vocabulary(),
        with_whole(streams),
        np.concatenate(values),
        np.concatenate(vectors) if vectors else None,
        encoder_mark,
    )


def checked_document_ids(ids: list[str]) -> Array:
    """The ids of a corpus as an array. Refuses a corpus without documents, and repeated ids."""
    if not ids:
        raise ValueError("The corpus has no documents.")
    document_ids = checked_ids(ids, len(ids), "ids of documents", "document")
    if (twice := first_repeated(document_ids)) is not None:
        raise ValueError(f"Ids of documents must be unique. {twice!r} appears twice.")
    return document_ids


def with_whole(streams: Sequence[Stream]) -> list[Stream]:
    """The streams of fields. If there are several, one more for the fields joined together.

    The joined stream does not keep its words. They are joined when documents are asked for.
    """
    if len(streams) == 1:
        return list(streams)
    whole = streams[0].postings
    for stream in streams[1:]:
        whole = added(whole, stream.postings)
    lengths = np.sum([stream.lengths for stream in streams], axis=0)
    return [*streams, Stream(*whole, lengths)]


def joined_words(texts: Sequence[tuple[Numbers, Integers]]) -> tuple[Numbers, Integers]:
    """The words of some documents, with their fields joined."""
    words, begins = texts[0]
    for other, other_begins in texts[1:]:
        words, begins = appended_words(words, begins, other, other_begins)
    return words, begins
