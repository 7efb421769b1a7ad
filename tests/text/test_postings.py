from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank.text._postings import (
    Postings,
    added,
    chained,
    counts_in,
    inverted,
    squared_norms,
    total_counts,
)

N_TERMS = 5
documents = st.lists(st.lists(st.integers(0, N_TERMS - 1), max_size=8), max_size=8)


def postings_of(texts, n_terms=N_TERMS, first=0):
    terms = np.array([term for text in texts for term in text], np.int32)
    bounds = np.cumsum([0, *map(len, texts)])
    return inverted(terms, bounds, n_terms, first)


def as_counts(postings):
    """Counts by term and document."""
    counts = {}
    for term in range(len(postings.begins) - 1):
        of_term = slice(postings.begins[term], postings.begins[term + 1])
        numbers = postings.documents[of_term].tolist()
        assert numbers == sorted(set(numbers))
        counts |= {(term, d): c for d, c in zip(numbers, postings.counts[of_term], strict=True)}
    return counts


def naive(texts):
    return Counter((term, number) for number, text in enumerate(texts) for term in text)


@settings(max_examples=100)
@given(documents)
def test_postings_are_counts_by_term_and_document(texts):
    assert as_counts(postings_of(texts)) == naive(texts)


@settings(max_examples=100)
@given(documents, st.integers(0, 8), st.integers(0, 8))
def test_parts_one_after_another_are_the_whole(texts, first, second):
    cuts = sorted([0, min(first, len(texts)), min(second, len(texts)), len(texts)])
    parts = []
    for begin, end in pairwise(cuts):
        # A part knows only the terms that were met by its end.
        known = max([term for text in texts[:end] for term in text], default=-1) + 1
        parts.append(postings_of(texts[begin:end], known, begin))
    whole = chained(parts, N_TERMS)
    for values, expected in zip(whole, postings_of(texts), strict=True):
        assert_array_equal(values, expected)


@settings(max_examples=100)
@given(documents, documents)
def test_texts_behind_each_other_have_the_counts_of_both(left, right):
    n = max(len(left), len(right))
    left, right = (texts + [[]] * (n - len(texts)) for texts in (left, right))
    both = [a + b for a, b in zip(left, right, strict=True)]
    assert as_counts(added(postings_of(left), postings_of(right))) == naive(both)


def read_only(postings) -> Postings:
    for values in postings:
        values.flags.writeable = False
    return Postings(*postings)


@settings(max_examples=100)
@given(documents, st.lists(st.integers(-1, N_TERMS - 1), max_size=4))
def test_counts_of_candidates_in_any_order(texts, terms):
    candidates = np.arange(len(texts))[::-1].copy()
    counts = counts_in(*read_only(postings_of(texts)), np.array(terms, dtype=np.int64), candidates)
    expected = [[texts[c].count(term) for c in candidates] for term in terms]
    assert_array_equal(counts, np.array(expected).reshape(len(terms), len(texts)))


def test_totals_are_over_all_documents():
    postings = read_only(postings_of([[0, 0, 1], [], [1, 4]]))
    assert_array_equal(total_counts(postings.begins, postings.counts), [2, 2, 0, 0, 1])


def test_norms_are_of_counts_by_weights():
    postings = read_only(postings_of([[0, 0, 1], [], [1]]))
    norms = squared_norms(*postings, np.array([1.0, 3.0, 9.0, 9.0, 9.0]), 3)
    assert_allclose(norms, [4 + 9, 0, 9])
