"""How near each other the words of a query stand in a document."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import kernel

Numbers = NDArray[np.int32]

_LAST_BITS = 1023


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
    order = np.argsort(terms)
    ordered = terms[order]
    # Most words of documents are no terms of the query, and are known by their last bits.
    is_possible = np.zeros(_LAST_BITS + 1, np.bool_)
    for term in terms:
        is_possible[term & _LAST_BITS] = True
    followers = np.sort(sequence[:-1] * n_terms + sequence[1:])
    # The terms of the query in a document, and their places. The shortest window of all terms ends
    # with one of them; it begins where the next begin would leave out a term.
    longest = np.diff(begins).max() if len(table) else 0
    found, places = np.empty(longest, np.int64), np.empty(longest, np.int64)
    counts = np.empty(n_terms, np.int64)
    for row in range(len(table)):
        counts[:] = 0
        n_pairs, n_found, n_inside, begin, shortest, previous = 0, 0, 0, 0, 0, -1
        for at in range(begins[row], begins[row + 1]):
            place = place_in(ordered, words[at]) if is_possible[words[at] & _LAST_BITS] else -1
            if place < 0:
                previous = -1
                continue
            term = order[place]
            if previous >= 0 and place_in(followers, previous * n_terms + term) >= 0:
                n_pairs += 1
            previous = term
            found[n_found], places[n_found] = term, at
            n_found += 1
            n_inside += counts[term] == 0
            counts[term] += 1
            while counts[found[begin]] > 1:
                counts[found[begin]] -= 1
                begin += 1
            if n_inside == n_terms:
                width = at - places[begin] + 1
                shortest = width if shortest == 0 else min(shortest, width)
        if shortest > 0:
            table[row, 0] = n_terms / shortest
        table[row, 1] = n_pairs
    return table


@kernel(forceinline=True)
def place_in(values: Integers, value: int) -> int:
    """A place of a value among ascending ones; -1 where it is not."""
    place, n = 0, len(values)
    while n > 1:
        half = n >> 1
        place += half if values[place + half] <= value else 0
        n -= half
    return place if n == 1 and values[place] == value else -1
