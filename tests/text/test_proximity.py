import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from text.naive_text import pairs, window

from localrank.text._proximity import appended_words, proximity_features, taken_words

words = st.lists(st.integers(0, 4), max_size=12)


def joined(texts) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.array([word for text in texts for word in text], np.int32)
    return numbers, np.cumsum([0, *map(len, texts)])


def measured(query, texts):
    terms = list(dict.fromkeys(query))
    sequence = np.array([terms.index(word) for word in query], dtype=np.int64)
    return proximity_features(*joined(texts), np.array(terms, dtype=np.int64), sequence)


@settings(max_examples=300)
@given(st.lists(st.integers(0, 3), max_size=5), st.lists(words, min_size=1, max_size=3))
def test_windows_and_pairs_are_what_a_search_of_all_stretches_finds(query, texts):
    expected = [[window(query, text), pairs(query, text)] for text in texts]
    assert_allclose(measured(query, texts), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ([0, 1], [1.0, 1]),
        ([1, 0], [1.0, 0]),
        ([0, 9, 9, 1, 9, 0], [2 / 3, 0]),
        ([0, 0, 0], [0.0, 0]),
        ([0, 1, 9, 0, 1], [1.0, 2]),
        ([], [0.0, 0]),
    ],
)
def test_two_words(text, expected):
    assert_allclose(measured([0, 1], [text])[0], expected)


def test_a_word_that_is_nowhere_leaves_no_window():
    numbers, begins = joined([[0, 1]])
    table = proximity_features(numbers, begins, np.array([0, -1]), np.array([0, 1]))
    assert_array_equal(table, [[0.0, 0.0]])


def test_taken_and_appended_words_keep_their_order():
    numbers, begins = joined([[1, 2], [], [3]])
    numbers.flags.writeable = False
    taken = taken_words(numbers, begins, np.array([2, 0, 2]))
    assert [values.tolist() for values in taken] == [[3, 1, 2, 3], [0, 1, 3, 4]]
    other = joined([[7], [8, 9], []])
    both = appended_words(*taken, *other)
    assert [values.tolist() for values in both] == [[3, 7, 1, 2, 8, 9, 3], [0, 2, 6, 7]]


@pytest.mark.parametrize("seed", range(3))
def test_long_queries_and_documents_have_the_same_windows_and_pairs(seed):
    rng = np.random.default_rng(seed)
    # Many terms, many of them alike in their last bits, and pairs that occur again.
    known = rng.permutation(2000)[:60]
    query = [*rng.choice(known, 150), *known]
    texts = [rng.choice(np.append(known, range(5000, 5030)), size).tolist() for size in (900, 60)]
    expected = [[window_of_many(query, text), pairs(query, text)] for text in texts]
    assert_allclose(measured(query, texts), expected)
    assert expected[0][0] > 0


def window_of_many(query, document):
    """The naive window, from the latest place of each term at each end."""
    widths = []
    for end in range(len(document)):
        latest = {word: at for at, word in enumerate(document[: end + 1]) if word in set(query)}
        if latest.keys() == set(query):
            widths.append(end - min(latest.values()) + 1)
    return len(set(query)) / min(widths) if widths else 0.0
