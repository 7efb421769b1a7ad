"""How near each other the words of a query stand in a document."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import kernel

Numbers = NDArray[np.int32]


@kernel
def taken_words(words: Numbers, bounds: Integers, documents: Integers) -> tuple[Numbers, Integers]:
    """The words of some documents, one after another, and where each begins."""
    begins = np.zeros(len(documents) + 1, np.int64)
    for row in range(len(documents)):
        document = documents[row]
        begins[row + 1] = begins[row] + bounds[document + 1] - bounds[document]
    taken = np.empty(begins[-1], np.int32)
    for row in range(len(documents)):
        first = bounds[documents[row]]
        for place in range(begins[row + 1] - begins[row]):
            taken[begins[row] + place] = words[first + place]
    return taken, begins


@kernel
def appended_words(
    words: Numbers, begins: Integers, other: Numbers, other_begins: Integers
) -> tuple[Numbers, Integers]:
    """The words of texts that each have a second text behind them."""
    all_begins = begins + other_begins
    joined = np.empty(all_begins[-1], np.int32)
    for row in range(len(begins) - 1):
        at = all_begins[row]
        for place in range(begins[row], begins[row + 1]):
            joined[at] = words[place]
            at += 1
        for place in range(other_begins[row], other_begins[row + 1]):
            joined[at] = other[place]
            at += 1
    return joined, all_begins


@kernel
def proximity_features(
    words: Numbers, begins: Integers, terms: Integers, sequence: Integers
) -> Floats:
    """The features of `PROXIMITY`, of shape (n_documents, 2).

    Parameters
    ----------
    words : ndarray of int32
        Words of the documents, one after another.
    begins : ndarray of shape (n_documents + 1,)
    terms : ndarray of int
        The different terms of the query; one below 0 is in no document.
    sequence : ndarray of int
        The terms of the query as they stand in it, as places in `terms`.
    """
    n_terms = len(terms)
    table = np.zeros((len(begins) - 1, 2))
    if n_terms == 0:
        return table
    follows = np.zeros((n_terms, n_terms), np.bool_)
    for at in range(len(sequence) - 1):
        follows[sequence[at], sequence[at + 1]] = True
    latest = np.empty(n_terms, np.int64)
    for row in range(len(begins) - 1):
        latest[:] = -1
        n_seen, shortest, previous, n_pairs = 0, 0, -1, 0
        for at in range(begins[row], begins[row + 1]):
            word = words[at]
            term = -1
            for place in range(n_terms):
                if terms[place] == word:
                    term = place
                    break
            if term >= 0:
                if previous >= 0 and follows[previous, term]:
                    n_pairs += 1
                n_seen += latest[term] < 0
                latest[term] = at
                if n_seen == n_terms:
                    width = at - latest.min() + 1
                    shortest = width if shortest == 0 else min(shortest, width)
            previous = term
        if shortest > 0:
            table[row, 0] = n_terms / shortest
        table[row, 1] = n_pairs
    return table
