"""The documents of highest BM25 for each query, term by term over the postings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import kernel
from localrank.text._postings import Numbers

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
