"""Computes the features of one query and its documents, in all streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from localrank.arrays import Floats, Integers
from localrank.text.corpus import Part
from localrank.text.field_features import stream_features
from localrank.text.index import Index, joined_words, with_whole
from localrank.text.naming import FROM_COUNTS, PROXIMITY, stream_names
from localrank.text.postings import Numbers, counts_in, inverted, squared_norms
from localrank.text.proximity import proximity_features, taken_words
from localrank.text.retrieval import Weights, highest, impacts
from localrank.text.stream import Stream, inverse_document_frequency
from localrank.text.vocabulary import Numbering


@dataclass(frozen=True)
class Settings:
    """The variant and parameters of BM25, and the parameters of the language models."""

    variant: str
    k1: float
    b: float
    prior: float
    share: float
    discount: float

    @property
    def factor(self) -> float:
        """The factor of all scores in this variant of BM25."""
        return self.k1 + 1 if self.variant == "atire" else 1.0


@dataclass(frozen=True)
class QueryTerms:
    """The different terms of a query, in the order of their first occurrence.

    Attributes
    ----------
    texts : list of str
        The terms.
    numbers : ndarray of int64
        Their numbers in the vocabulary. -1: the vocabulary does not have the term.
    repeats : ndarray of float
        How often each term occurs in the query.
    sequence : ndarray of int64
        All terms of the query in order, as positions in `numbers`.
    """

    texts: list[str]
    numbers: Integers
    repeats: Floats
    sequence: Integers


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents that are given as texts. Their terms have numbers of their own.

    Attributes
    ----------
    numbering : Numbering
    known : ndarray of int64
        The number of each term in the vocabulary of the index. -1: it does not have the term.
    streams : list of Stream
    columns : ndarray of shape (n_documents, n_columns)
    """

    numbering: Numbering
    known: Integers
    streams: list[Stream]
    columns: Floats

    @classmethod
    def of(cls, part: Part, analyzer: Any, index: Index) -> Self:
        numbering = Numbering(analyzer)
        numbered = [numbering.number(texts) for texts in part.texts]
        n_terms = len(numbering)
        streams = [
            Stream(*inverted(terms, bounds, n_terms), np.diff(bounds), terms)
            for terms, bounds in numbered
        ]
        known = index.vocabulary.same_as(numbering.vocabulary())
        return cls(numbering, known.astype(np.int64), with_whole(streams), part.columns)


class QueryFeatures:
    """Computes features with the statistics of an index.

    Parameters
    ----------
    index : Index
    analyzer : Analyzer or callable
    fields : sequence of str
    names : sequence of str
        Names of the features, from `feature_names`, without the columns of documents.
    settings : Settings
    """

    def __init__(
        self,
        index: Index,
        analyzer: Any,
        fields: Sequence[str],
        names: Sequence[str],
        settings: Settings,
    ) -> None:
        self.index = index
        self.analyzer = analyzer
        self.settings = settings
        self.n_fields = len(fields)
        self.n_features = len(names)
        s = settings
        self.parameters = np.array([s.k1, s.b, s.factor, s.prior, s.share, s.discount])
        split = [name.rpartition(".")[::2] for name in names]
        # For each stream: the positions of its features, and their columns in its table.
        self.from_counts = [_places(split, stream, FROM_COUNTS) for stream in stream_names(fields)]
        self.from_words = [_places(split, stream, PROXIMITY) for stream in stream_names(fields)]
        self.query_length = [place for place, name in enumerate(names) if name == "query_length"]

    def terms_of(self, query: str) -> QueryTerms:
        """The terms of a query."""
        words = list(self.analyzer(query))
        places = {word: place for place, word in enumerate(dict.fromkeys(words))}
        sequence = np.array([places[word] for word in words], dtype=np.int64)
        repeats = np.bincount(sequence, minlength=len(places)).astype(np.float64)
        numbers = self.index.vocabulary.numbers(list(places)).astype(np.int64)
        return QueryTerms(list(places), numbers, repeats, sequence)

    def retrieve(self, queries: Sequence[str], depth: int) -> tuple[Integers, Floats, Integers]:
        """Documents with the highest BM25 and their scores, and the offsets of the queries."""
        terms = [self.terms_of(query) for query in queries]
        depth = min(depth, self.index.n_documents)
        stream = self.index.streams[-1]
        if not stream.is_mapped:
            return _highest(stream, self.weights, terms, depth)
        results = [self._retrieve_one(query, depth) for query in terms]
        sizes = [len(documents) for documents, _, _ in results]
        return (
            np.concatenate([documents for documents, _, _ in results]),
            np.concatenate([scores for _, scores, _ in results]),
            np.append(0, np.cumsum(sizes)),
        )

    def _retrieve_one(self, terms: QueryTerms, depth: int) -> tuple[Integers, Floats, Integers]:
        """Candidates of one query, from the postings of its terms alone."""
        known = terms.numbers >= 0
        numbers = terms.numbers[known]
        stream = self.index.streams[-1].taken(numbers)
        weights = self._impacts(stream, self._bm25_idf[numbers])
        places = np.arange(len(numbers))
        query = QueryTerms(terms.texts, places, terms.repeats[known], terms.sequence)
        return _highest(stream, weights, [query], depth)

    @cached_property
    def weights(self) -> Weights:
        """The contribution of each posting to BM25: 4 bytes each, computed at first use."""
        return self._impacts(self.index.streams[-1], self._bm25_idf)

    @cached_property
    def _bm25_idf(self) -> Floats:
        stream = self.index.streams[-1]
        frequencies, variant = stream.document_frequencies, self.settings.variant
        return inverse_document_frequency(frequencies, stream.n_documents, variant)

    def _impacts(self, stream: Stream, idf: Floats) -> Weights:
        """The contributions of postings to BM25, with the average length of all documents."""
        s = self.settings
        weights: Weights = impacts(
            *stream.postings, stream.lengths, idf, stream.average_length, s.k1, s.b, s.factor
        )
        return weights

    def of_documents(self, query: str, documents: Integers) -> Floats:
        """The features of documents of the index, columns included."""
        terms = self.terms_of(query)
        streams = self.index.streams
        norms = [stream.norms for stream in streams]
        return self._table(
            terms, terms.numbers, streams, norms, documents, self.index.columns[documents]
        )

    def of_texts(self, query: str, given: Documents) -> Floats:
        """The features of documents that are given as texts, columns included."""
        terms = self.terms_of(query)
        numbers = given.numbering.numbers(terms.texts).astype(np.int64)
        norms = []
        for known, stream in zip(self.index.streams, given.streams, strict=True):
            frequencies = _looked_up(known.document_frequencies, given.known)
            idf = inverse_document_frequency(frequencies, known.n_documents)
            norms.append(np.sqrt(squared_norms(*stream.postings, idf, stream.n_documents)))
        documents = np.arange(len(given.columns))
        return self._table(terms, numbers, given.streams, norms, documents, given.columns)

    def _table(
        self,
        terms: QueryTerms,
        numbers: Integers,
        streams: Sequence[Stream],
        norms: Sequence[Floats],
        documents: Integers,
        columns: Floats,
    ) -> Floats:
        """The features of documents. `numbers` are the query's terms as `streams` number them."""
        table = np.empty((len(documents), self.n_features + columns.shape[1]))
        table[:, self.n_features :] = columns
        table[:, self.query_length] = len(terms.sequence)
        for place, stream in enumerate(streams):
            to, columns_of = self.from_counts[place]
            if len(to):
                known = self.index.streams[place]
                made = stream_features(
                    counts_in(*stream.postings, numbers, documents),
                    stream.lengths[documents].astype(np.float64),
                    stream.distinct[documents].astype(np.float64),
                    norms[place][documents],
                    known.average_length,
                    self._statistics(terms, known),
                    self.parameters,
                )
                table[:, to] = made[:, columns_of]
        self._add_proximity(table, terms, numbers, streams[: self.n_fields], documents)
        return table

    def _statistics(self, terms: QueryTerms, stream: Stream) -> Floats:
        """The statistics of each term that `stream_features` takes."""
        frequencies = _looked_up(stream.document_frequencies, terms.numbers)
        totals = _looked_up(stream.collection_frequencies, terms.numbers)
        n = stream.n_documents
        idf = inverse_document_frequency(frequencies, n)
        variant = self.settings.variant
        return np.stack(
            [
                terms.repeats,
                idf,
                idf if variant == "lucene" else inverse_document_frequency(frequencies, n, variant),
                (totals + 1) / (stream.n_words + 1),
                stream.n_words / np.maximum(totals, 1),
            ]
        )

    def _add_proximity(
        self,
        table: Floats,
        terms: QueryTerms,
        numbers: Integers,
        fields: Sequence[Stream],
        documents: Integers,
    ) -> None:
        if not any(len(to) for to, _ in self.from_words):
            return
        texts = [taken_words(_words(stream), stream.word_bounds, documents) for stream in fields]
        if len(texts) > 1:
            texts.append(joined_words(texts))
        for (to, columns_of), (words, begins) in zip(self.from_words, texts, strict=True):
            if len(to):
                made = proximity_features(words, begins, numbers, terms.sequence)
                table[:, to] = made[:, columns_of]


def _highest(
    stream: Stream, weights: Weights, queries: Sequence[QueryTerms], depth: int
) -> tuple[Integers, Floats, Integers]:
    begins = np.zeros(len(queries) + 1, np.int64)
    np.cumsum([len(query.numbers) for query in queries], out=begins[1:])
    return highest(
        stream.begins, stream.documents, weights, stream.n_documents,
        np.concatenate([query.numbers for query in queries]),
        np.concatenate([query.repeats for query in queries]),
        begins, depth,
    )  # fmt: skip


def _places(
    split: Sequence[Sequence[str]], stream: str, table: Sequence[str]
) -> tuple[list[int], list[int]]:
    """The positions of a stream's features among all features, and their columns in its table."""
    pairs = [
        (place, table.index(feature))
        for place, (of, feature) in enumerate(split)
        if of == stream and feature in table
    ]
    return [place for place, _ in pairs], [column for _, column in pairs]


def _looked_up(values: Any, numbers: Integers) -> Floats:
    """The value of each term. 0: a term whose number is below 0."""
    looked_up = np.zeros(len(numbers))
    known = numbers >= 0
    looked_up[known] = values[numbers[known]]
    return looked_up


def _words(stream: Stream) -> Numbers:
    assert stream.terms is not None  # checked when the extractor was fitted or loaded
    return stream.terms
