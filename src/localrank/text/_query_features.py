"""Computes the features of one query and its documents, in all streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import kernel
from localrank.data.errors import AdvisedError
from localrank.text._corpus import Part
from localrank.text._definitions import ARTICLES, ASKED, definition_features, query_facts
from localrank.text._index import Index, joined_words, with_whole
from localrank.text._postings import Numbers, counts_in, inverted, squared_norms
from localrank.text._proximity import proximity_features, taken_words
from localrank.text._stream import Stream, inverse_document_frequency
from localrank.text._vocabulary import Numbering
from localrank.text.naming import (
    DEFINITION,
    FROM_COUNTS,
    PROXIMITY,
    QUERY_FEATURES,
    SENTENCES,
    stream_names,
)


@dataclass(frozen=True)
class TermWeighting:
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
    settings : TermWeighting
    max_words : int
        At most this many different words in a query.
    """

    def __init__(
        self,
        index: Index,
        analyzer: Any,
        fields: Sequence[str],
        names: Sequence[str],
        settings: TermWeighting,
        max_words: int,
    ) -> None:
        self.index = index
        self.analyzer = analyzer
        self.settings = settings
        self.max_words = max_words
        self.n_fields = len(fields)
        self.n_features = len(names)
        s = settings
        self.parameters = np.array([s.k1, s.b, s.factor, s.prior, s.share, s.discount])
        split = [name.rpartition(".")[::2] for name in names]
        # For each stream: the positions of its features, and their columns in its table.
        self.from_counts = [_places(split, stream, FROM_COUNTS) for stream in stream_names(fields)]
        self.proximity = [_places(split, stream, PROXIMITY) for stream in stream_names(fields)]
        self.definitions = [_places(split, stream, DEFINITION) for stream in stream_names(fields)]
        self.sentences = [
            _places(split, stream, (SENTENCES,))[0] for stream in stream_names(fields)
        ]
        self.of_query = {name: place for place, name in enumerate(names) if name in QUERY_FEATURES}

    def terms_of(self, query: str) -> QueryTerms:
        """The terms of a query. Refuses a query of too many different ones."""
        words = list(self.analyzer(query))
        places = {word: place for place, word in enumerate(dict.fromkeys(words))}
        if len(places) > self.max_words:
            raise AdvisedError(
                f"A query may have at most {self.max_words:,} different words. Got "
                f"{len(places):,} instead, in {query[:40]!r}….",
                "Shorten it, or set max_query_words of the FeatureExtractor.",
                "Shorten it.",
            )
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
        table = self._table(
            terms, terms.numbers, streams, norms, documents, self.index.columns[documents]
        )
        self._add_query(table, terms, query)
        self._add_from_words(table, terms, terms.numbers, self._asked, streams, documents)
        return table

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
        table = self._table(terms, numbers, given.streams, norms, documents, given.columns)
        self._add_query(table, terms, query)
        asked = given.numbering.numbers(self._asked_terms).astype(np.int64)
        self._add_from_words(table, terms, numbers, asked, given.streams, documents)
        return table

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
        n_columns = columns.shape[1] - (self.n_fields if any(self.sentences) else 0)
        table = np.empty((len(documents), self.n_features + n_columns))
        table[:, self.n_features :] = columns[:, :n_columns]
        for place, to in enumerate(self.sentences):
            fields = slice(None) if place == self.n_fields else slice(place, place + 1)
            table[:, to] = columns[:, n_columns:][:, fields].sum(axis=1, keepdims=True)
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

    def _add_query(self, table: Floats, terms: QueryTerms, query: str) -> None:
        """Fill in the features of the query alone."""
        facts = {"query_length": float(len(terms.sequence))}
        if self.of_query.keys() - facts.keys():
            facts |= query_facts(query)
        for name, place in self.of_query.items():
            table[:, place] = facts[name]

    def _add_from_words(
        self,
        table: Floats,
        terms: QueryTerms,
        numbers: Integers,
        asked: Integers,
        streams: Sequence[Stream],
        documents: Integers,
    ) -> None:
        """Fill in the features that need the words of documents in their order."""
        if not any(len(to) for to, _ in (*self.proximity, *self.definitions)):
            return
        fields = streams[: self.n_fields]
        texts = [taken_words(_words(stream), stream.word_bounds, documents) for stream in fields]
        if len(texts) > 1:
            texts.append(joined_words(texts))
        for place, text in enumerate(texts):
            to, columns_of = self.proximity[place]
            if len(to):
                made = proximity_features(*text, numbers, terms.sequence)
                table[:, to] = made[:, columns_of]
            to, columns_of = self.definitions[place]
            if len(to):
                phrase = numbers[terms.sequence]
                made = definition_features(*text, phrase, asked, len(ARTICLES))
                table[:, to] = made[:, columns_of]

    @cached_property
    def _asked_terms(self) -> list[str]:
        """The words of `ASKED` as terms, if a feature asks for them."""
        if not any(len(to) for to, _ in self.definitions):
            return []
        return [term for word in ASKED for term in self.analyzer(word)]

    @cached_property
    def _asked(self) -> Integers:
        """The numbers of these terms in the vocabulary. -1: it does not have the term."""
        return self.index.vocabulary.numbers(self._asked_terms).astype(np.int64)


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


N_FEATURES = len(FROM_COUNTS)
(_COVERED, _RATIO, _LENGTH, _IDF, _TF, _NTF, _TFIDF, _BOOLEAN) = (
    FROM_COUNTS.index(name)
    for name in (
        "covered", "covered_ratio", "length", "idf_sum", "tf_sum", "ntf_sum", "tfidf_sum",
        "boolean",
    )
)  # fmt: skip
(_COSINE, _BM25, _ABS, _DIR, _JM) = (
    FROM_COUNTS.index(name) for name in ("cosine", "bm25", "lm_abs", "lm_dir", "lm_jm")
)
_LOG_TF = FROM_COUNTS.index("log_tf")
_LOG_BM25 = FROM_COUNTS.index("log_bm25")
# The logarithm of BM25 is that of this where BM25 is lower.
LOWEST_BM25 = 1e-3


@kernel
def spread(values: Floats, row: Floats, first: int) -> None:
    """Write the sum, minimum, maximum, mean and variance of some values."""
    total, low, high = 0.0, values[0], values[0]
    for value in values:
        total += value
        low = min(low, value)
        high = max(high, value)
    mean = total / len(values)
    variance = 0.0
    for value in values:
        variance += (value - mean) ** 2
    row[first] = total
    row[first + 1] = low
    row[first + 2] = high
    row[first + 3] = mean
    row[first + 4] = variance / len(values)


@kernel
def stream_features(
    counts: Floats, lengths: Floats, distinct: Floats, norms: Floats, average_length: float,
    terms: Floats, parameters: Floats,
) -> Floats:  # fmt: skip
    """The features of `FROM_COUNTS`, of shape (n_candidates, n_features).

    Parameters
    ----------
    counts : ndarray of shape (n_terms, n_candidates)
        How often each candidate has each term of the query.
    lengths, distinct, norms : ndarray of shape (n_candidates,)
        Number of terms, of different terms, and length of the vector of each candidate.
    average_length : float
    terms : ndarray of shape (5, n_terms)
        Of each term of the query: how often the query has it, its idf, BM25's idf, its
        probability in the collection, and the collection's size by its count there.
    parameters : ndarray of shape (6,)
        BM25's k1, b and factor; the prior, the share and the discount of the language models.
    """
    n_terms, n_candidates = counts.shape
    table = np.zeros((n_candidates, N_FEATURES))
    if n_terms == 0:
        for candidate in range(n_candidates):
            table[candidate, _LENGTH] = lengths[candidate]
        return table
    repeats, idf, bm25_idf, background, rarity = terms
    k1, b, factor, prior, share, discount = parameters
    query_norm = 0.0
    for term in range(n_terms):
        query_norm += (repeats[term] * idf[term]) ** 2
    query_norm = sqrt(query_norm)
    tf, ntf, tfidf = np.empty(n_terms), np.empty(n_terms), np.empty(n_terms)
    for candidate in range(n_candidates):
        row = table[candidate]
        length = lengths[candidate]
        saturation = k1 * (1 - b + b * length / average_length)
        covered, product, bm25 = 0, 0.0, 0.0
        absolute, dirichlet, mercer = 0.0, 0.0, 0.0
        for term in range(n_terms):
            count = counts[term, candidate]
            share_of_text = count / length if length > 0 else 0.0
            tf[term] = count
            ntf[term] = share_of_text
            tfidf[term] = count * idf[term]
            # Language models give a document without words the probabilities of the collection.
            p = background[term]
            if length > 0:
                absolute += repeats[term] * log(
                    (max(count - discount, 0.0) + discount * distinct[candidate] * p) / length
                )
                mercer += repeats[term] * log((1 - share) * share_of_text + share * p)
            else:
                absolute += repeats[term] * log(p)
                mercer += repeats[term] * log(p)
            dirichlet += repeats[term] * log((count + prior * p) / (length + prior))
            if count > 0:
                covered += 1
                product += repeats[term] * idf[term] * count * idf[term]
                bm25 += repeats[term] * bm25_idf[term] * factor * count / (count + saturation)
                row[_LOG_TF] += log(count + 1)
                row[_LOG_TF + 1] += log(rarity[term] + 1)
                row[_LOG_TF + 2] += log(share_of_text * idf[term] + 1)
                row[_LOG_TF + 3] += log(share_of_text + 1)
                row[_LOG_TF + 4] += log(share_of_text * rarity[term] + 1)
                row[_LOG_TF + 5] += log(idf[term])
        row[_COVERED] = covered
        row[_RATIO] = covered / n_terms
        row[_LENGTH] = length
        spread(idf, row, _IDF)
        spread(tf, row, _TF)
        spread(ntf, row, _NTF)
        spread(tfidf, row, _TFIDF)
        row[_BOOLEAN] = covered == n_terms
        if product > 0:
            row[_COSINE] = product / (query_norm * norms[candidate])
        row[_BM25] = bm25
        row[_ABS] = absolute
        row[_DIR] = dirichlet
        row[_JM] = mercer
        row[_LOG_BM25] = log(max(bm25, LOWEST_BM25))
    return table


Weights = NDArray[np.float32]


@kernel
def impacts(
    begins: Integers, documents: Numbers, counts: Numbers, lengths: Integers, idf: Floats,
    average_length: float, k1: float, b: float, factor: float,
) -> Weights:  # fmt: skip
    """What each posting adds to the BM25 of its document."""
    result = np.empty(len(documents), np.float32)
    saturation = k1 * (1 - b + b * lengths / average_length)
    for term in range(len(begins) - 1):
        weight = idf[term] * factor
        for at in range(begins[term], begins[term + 1]):
            count = counts[at]
            result[at] = weight * count / (count + saturation[documents[at]])
    return result


@kernel
def highest(
    begins: Integers, documents: Numbers, weights: Weights, n_documents: int,
    terms: Integers, repeats: Floats, query_begins: Integers, depth: int,
) -> tuple[Integers, Floats, Integers]:  # fmt: skip
    """Documents and scores of each query, the highest first, and where each query's begin.

    Equal ones come in the order of documents. A document that has no term of the query, or a
    score of 0, is not among them. Terms below 0 are in no document.
    """
    n_queries = len(query_begins) - 1
    depth = min(depth, n_documents)
    chosen = np.empty(n_queries * depth, np.int64)
    chosen_scores = np.empty(n_queries * depth)
    offsets = np.zeros(n_queries + 1, np.int64)
    scores = np.zeros(n_documents, np.float32)
    heap = np.empty(depth, np.int64)
    for query in range(n_queries):
        for place in range(query_begins[query], query_begins[query + 1]):
            term = terms[place]
            if term < 0:
                continue
            repeat = np.float32(repeats[place])
            for at in range(begins[term], begins[term + 1]):
                scores[documents[at]] += repeat * weights[at]
        size = 0
        lowest = np.float32(0.0)
        for document in range(n_documents):
            score = scores[document]
            if score > lowest:
                if size < depth:
                    heap[size] = document
                    size += 1
                    rise(heap, size - 1, scores)
                else:
                    heap[0] = document
                    sink(heap, size, scores)
                if size == depth:
                    lowest = scores[heap[0]]
        first = offsets[query]
        offsets[query + 1] = first + size
        for place in range(size - 1, -1, -1):
            document = heap[0]
            chosen[first + place] = document
            chosen_scores[first + place] = scores[document]
            heap[0] = heap[place]
            sink(heap, place, scores)
        scores[:] = 0
    n = offsets[-1]
    return chosen[:n], chosen_scores[:n], offsets


@kernel
def worse(document: int, other: int, scores: Weights) -> bool:
    """Whether a document comes after another: by score, or by its number where that is equal."""
    score, other_score = scores[document], scores[other]
    return score < other_score or (score == other_score and document > other)


@kernel
def rise(heap: Integers, place: int, scores: Weights) -> None:
    """Bring the entry at a place to where it belongs, in a heap whose first entry is the worst."""
    document = heap[place]
    while place > 0:
        parent = (place - 1) >> 1
        if not worse(document, heap[parent], scores):
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = document


@kernel
def sink(heap: Integers, size: int, scores: Weights) -> None:
    """Bring the first entry of a heap to where it belongs."""
    if size == 0:
        return
    document, place = heap[0], 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and worse(heap[child + 1], heap[child], scores):
            child += 1
        if not worse(heap[child], document, scores):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = document
