"""Two lists of candidates, by words and by vectors: their union and the columns of each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.vectors import Singles
from localrank.data import Vectors
from localrank.fusion._list_columns import COLUMNS, list_columns
from localrank.text._corpus import Part
from localrank.text.encoders import Encoder

# The columns after the features of texts.
LIST_COLUMNS = (*(f"{name}.{column}" for name in ("bm25", "vectors") for column in COLUMNS),)
COSINE = "vectors.cosine"

# An encoder is known by the vector that it gives this text.
_KNOWN_TEXT = "Which documents answer the question, and how far do they agree?"
_LEAST_COSINE = 0.99


class Found(NamedTuple):
    """Documents of queries with scores, one query after another."""

    documents: Integers
    scores: Floats
    offsets: Integers

    def keys(self, n_documents: int) -> Integers:
        """A number for each pair of query and document."""
        queries = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return queries * n_documents + self.documents

    def scores_of(self, keys: Integers, n_documents: int) -> Floats:
        """The scores of pairs; NaN for those that are not in the list."""
        known = self.keys(n_documents)
        order = np.argsort(known)
        result = np.full(len(keys), np.nan)
        if len(known):
            places = order[np.minimum(np.searchsorted(known[order], keys), len(known) - 1)]
            found = known[places] == keys
            result[found] = self.scores[places[found]]
        return result


class Lists(NamedTuple):
    """The candidates of queries, by words and perhaps by vectors."""

    by_words: Found
    by_vectors: Found | None = None
    query_vectors: Singles | None = None

    def documents(self, n_documents: int) -> list[Integers]:
        """The documents of each query: those by words, then those by vectors alone."""
        words, vectors = self.by_words, self.by_vectors
        if vectors is None:
            return np.split(words.documents, words.offsets[1:-1])
        first, second = words.keys(n_documents), vectors.keys(n_documents)
        keys = np.concatenate([first, second[~np.isin(second, first)]])
        keys = keys[np.argsort(keys // n_documents, kind="stable")]
        ends = np.searchsorted(keys // n_documents, np.arange(1, len(words.offsets) - 1))
        return np.split(keys % n_documents, ends)

    def columns(self, queries: Integers, documents: Integers, vectors: Singles) -> Floats:
        """The columns of both lists and the cosine, for pairs in the order of the queries.

        Parameters
        ----------
        queries, documents : ndarray of shape (n_pairs,)
        vectors : ndarray of shape (n_documents, n_dimensions)
        """
        n_documents = len(vectors)
        keys = queries * n_documents + documents
        offsets = np.append(np.flatnonzero(np.diff(queries, prepend=-1)), len(keys))
        assert self.by_vectors is not None
        assert self.query_vectors is not None
        tables = [
            list_columns(found.scores_of(keys, n_documents), offsets)
            for found in (self.by_words, self.by_vectors)
        ]
        likeness = [
            cosines(vectors[documents[begin:end]], self.query_vectors[queries[begin]])
            for begin, end in pairwise(offsets.tolist())
        ]
        return np.concatenate([*tables, np.concatenate(likeness)[:, None]], axis=1)


def cosines(vectors: Singles, query: Singles) -> Floats:
    """The cosine of each vector with one vector; 0 where either is zeros."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1) * np.linalg.norm(
        query.astype(np.float64)
    )
    products = (vectors @ query).astype(np.float64)
    result = np.zeros(len(vectors))
    np.divide(products, lengths, out=result, where=lengths > 0)
    return result


def document_vectors(vectors: Any, encoder: Encoder | None) -> Callable[[Part], Singles]:
    """A function from a part of a corpus to its vectors: looked up by id, or made by an encoder."""
    if vectors is None:
        if encoder is None:
            raise ValueError(
                "The extractor is for documents with vectors: give fit 'vectors' or an 'encoder'."
            )
        return lambda part: encoder(["\n".join(texts) for texts in zip(*part.texts, strict=True)])
    known = Vectors.of(vectors)
    return lambda part: known.take(part.ids, missing="zero")


def warn_of_missing(vectors: Singles) -> None:
    """Refuse a corpus in which no document has a vector. Warn if some have none."""
    n_missing = int(np.count_nonzero(~vectors.any(axis=1)))
    if n_missing == len(vectors):
        raise ValueError(
            "No document has a vector: all are zeros, or the ids of the vectors are not those of "
            "the documents."
        )
    if n_missing:
        warnings.warn(
            f"{n_missing:,} of {len(vectors):,} documents have no vector, or zeros. They are found "
            f"by their words alone.",
            stacklevel=4,
        )


def mark_of(encoder: Encoder) -> Singles:
    """A vector that identifies an encoder."""
    vector: Singles = encoder([_KNOWN_TEXT])[0]
    return vector


def check_encoder(encoder: Encoder, mark: Singles | None, n_dimensions: int) -> None:
    """Refuse an encoder other than the one that made the documents' vectors."""
    given = mark_of(encoder)
    if len(given) != n_dimensions:
        raise ValueError(
            f"The encoder {encoder.name} makes vectors of {len(given)} numbers, and those of the "
            f"documents have {n_dimensions}."
        )
    if mark is not None and (likeness := cosines(given[None], mark)[0]) < _LEAST_COSINE:
        raise ValueError(
            f"The encoder {encoder.name} is not that of the documents: their vectors of the same "
            f"text have the cosine {likeness:.2f}. Use the same model."
        )
