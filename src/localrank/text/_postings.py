"""Postings: for each term the documents that have it, and how often."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import kernel

Numbers = NDArray[np.int32]


class Postings(NamedTuple):
    """The documents of term `t` are those from `begins[t]` to `begins[t + 1]`, ascending."""

    begins: Integers
    documents: Numbers
    counts: Numbers


def inverted(terms: Numbers, bounds: Integers, n_terms: int, first: int = 0) -> Postings:
    """Postings of documents whose terms stand one after another.

    Parameters
    ----------
    terms : ndarray of int32
    bounds : ndarray of shape (n_documents + 1,)
        Where each document's terms begin, and the end.
    n_terms : int
    first : int
        Number of the first document.

    Examples
    --------
    >>> postings = inverted(np.array([1, 0, 1], np.int32), np.array([0, 2, 3]), 2)
    >>> [values.tolist() for values in postings]
    [[0, 1, 3], [0, 0, 1], [1, 1, 1]]
    """
    begins = posting_begins(terms, bounds, n_terms)
    documents = np.empty(begins[-1], np.int32)
    counts = np.empty(begins[-1], np.int32)
    fill_postings(terms, bounds, first, begins, documents, counts)
    return Postings(begins, documents, counts)


def chained(parts: list[Postings], n_terms: int) -> Postings:
    """Postings of parts of a corpus, each of later documents than the one before it.

    Parts may know fewer terms. The list is emptied, so that each part can be let go.
    """
    sizes = np.zeros(n_terms, np.int64)
    for part in parts:
        sizes[: len(part.begins) - 1] += np.diff(part.begins)
    begins = np.zeros(n_terms + 1, np.int64)
    np.cumsum(sizes, out=begins[1:])
    documents, counts = (np.empty(begins[-1], np.int32) for _ in range(2))
    at = begins[:-1].copy()
    parts.reverse()
    while parts:
        append_postings(*parts.pop(), at, documents, counts)
    return Postings(begins, documents, counts)


def added(left: Postings, right: Postings) -> Postings:
    """Postings of texts that each have a text of the left and one of the right behind it."""
    n = merged_size(*left[:2], *right[:2])
    begins = np.zeros(len(left.begins), np.int64)
    documents, counts = np.empty(n, np.int32), np.empty(n, np.int32)
    merge_postings(*left, *right, begins, documents, counts)
    return Postings(begins, documents, counts)


@kernel
def posting_begins(terms: Numbers, bounds: Integers, n_terms: int) -> Integers:
    """Where the postings of each term will begin."""
    latest = np.full(n_terms, -1, np.int32)
    begins = np.zeros(n_terms + 1, np.int64)
    for document in range(len(bounds) - 1):
        for at in range(bounds[document], bounds[document + 1]):
            term = terms[at]
            if latest[term] != document:
                latest[term] = document
                begins[term + 1] += 1
    for term in range(n_terms):
        begins[term + 1] += begins[term]
    return begins


@kernel
def fill_postings(
    terms: Numbers, bounds: Integers, first: int, begins: Integers,
    documents: Numbers, counts: Numbers,
) -> None:  # fmt: skip
    """Write down the documents of each term, and its count in them."""
    ends = begins.copy()
    for document in range(len(bounds) - 1):
        for at in range(bounds[document], bounds[document + 1]):
            term = terms[at]
            end = ends[term]
            if end > begins[term] and documents[end - 1] == first + document:
                counts[end - 1] += 1
            else:
                documents[end] = first + document
                counts[end] = 1
                ends[term] = end + 1


@kernel
def append_postings(
    begins: Integers, documents: Numbers, counts: Numbers,
    at: Integers, all_documents: Numbers, all_counts: Numbers,
) -> None:  # fmt: skip
    """Put the postings of a part where each term's go on."""
    for term in range(len(begins) - 1):
        size = begins[term + 1] - begins[term]
        for place in range(size):
            all_documents[at[term] + place] = documents[begins[term] + place]
            all_counts[at[term] + place] = counts[begins[term] + place]
        at[term] += size


@kernel
def merged_size(
    begins: Integers, documents: Numbers, other_begins: Integers, other_documents: Numbers
) -> int:
    """How many postings two lists have for each term, those of a document in both counted once."""
    n = len(documents) + len(other_documents)
    for term in range(len(begins) - 1):
        i, j = begins[term], other_begins[term]
        while i < begins[term + 1] and j < other_begins[term + 1]:
            left, right = documents[i], other_documents[j]
            n -= left == right
            i += left <= right
            j += right <= left
    return n


@kernel
def merge_postings(
    begins: Integers, documents: Numbers, counts: Numbers,
    other_begins: Integers, other_documents: Numbers, other_counts: Numbers,
    all_begins: Integers, all_documents: Numbers, all_counts: Numbers,
) -> None:  # fmt: skip
    """Merge two lists of postings for each term; counts of a document are added."""
    n = 0
    for term in range(len(begins) - 1):
        i, end = begins[term], begins[term + 1]
        j, other_end = other_begins[term], other_begins[term + 1]
        while i < end or j < other_end:
            left = documents[i] if i < end else np.int32(2**31 - 1)
            right = other_documents[j] if j < other_end else np.int32(2**31 - 1)
            count = 0
            if left <= right:
                count += counts[i]
                i += 1
            if right <= left:
                count += other_counts[j]
                j += 1
            all_documents[n] = min(left, right)
            all_counts[n] = count
            n += 1
        all_begins[term + 1] = n


@kernel
def counts_in(
    begins: Integers, documents: Numbers, counts: Numbers, terms: Integers, candidates: Integers
) -> Floats:
    """How often each candidate has each term, of shape (n_terms, n_candidates).

    A term below 0 is in no document.
    """
    result = np.zeros((len(terms), len(candidates)))
    for row in range(len(terms)):
        if terms[row] < 0:
            continue
        first, last = begins[terms[row]], begins[terms[row] + 1]
        for column in range(len(candidates)):
            document = candidates[column]
            low, high = first, last
            while low < high:
                middle = (low + high) // 2
                if documents[middle] < document:
                    low = middle + 1
                else:
                    high = middle
            if low < last and documents[low] == document:
                result[row, column] = counts[low]
    return result


@kernel
def are_postings(begins: Integers, documents: Numbers, counts: Numbers, lengths: Integers) -> bool:
    """Whether documents ascend, counts are 1 or larger, and the counts of each add up to lengths.

    The documents must be known to lie below the number of lengths, and the begins to ascend.
    """
    rest = lengths.copy()
    for term in range(len(begins) - 1):
        previous = -1
        for at in range(begins[term], begins[term + 1]):
            document = documents[at]
            if document <= previous or counts[at] < 1:
                return False
            previous = document
            rest[document] -= counts[at]
    return not rest.any()


@kernel
def total_counts(begins: Integers, counts: Numbers) -> Floats:
    """How often each term occurs in all documents."""
    totals = np.zeros(len(begins) - 1)
    for term in range(len(totals)):
        for at in range(begins[term], begins[term + 1]):
            totals[term] += counts[at]
    return totals


@kernel
def squared_norms(
    begins: Integers, documents: Numbers, counts: Numbers, weights: Floats, n_documents: int
) -> Floats:
    """The sum over the terms of each document of (count times weight) squared."""
    norms = np.zeros(n_documents)
    for term in range(len(begins) - 1):
        for at in range(begins[term], begins[term + 1]):
            norms[documents[at]] += (counts[at] * weights[term]) ** 2
    return norms
