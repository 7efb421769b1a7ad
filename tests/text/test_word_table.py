import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text.naive_text import words as naive_words

from localrank.text._characters import normalised
from localrank.text._word_table import (
    WordTable,
    encoded,
    entry_of,
    key_of,
    slot_of,
    split_words,
)

# All characters, halves of pairs among them, and more often those that words turn on.
odd = st.sampled_from(
    "aBz09 _-'.\0\n\u00ad\u200b\u200d\u0301\u0308éßİΐﬁ½①ªΣς語ひカー٣שא😀❤"
    "\ufe0f\ud83d\ude00\U0001f1e6"
)
texts = st.text(st.one_of(odd, st.characters()), max_size=30)


@settings(max_examples=300)
@given(texts)
def test_words_are_runs_of_letters_numbers_and_marks(text):
    assert split_words(normalised(text, True)) == naive_words(text)


@settings(max_examples=100)
@given(st.lists(texts, max_size=6))
def test_numbered_words_are_the_words_in_their_order(many):
    table = WordTable()
    numbers, bounds = table.number_text([normalised(text, True) for text in many])
    words = table.words()
    assert len(set(words)) == len(words) == len(table)
    for place, text in enumerate(many):
        of_text = numbers[bounds[place] : bounds[place + 1]]
        assert [words[number] for number in of_text] == naive_words(text)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 5000])
def test_a_table_grows_and_forgets_no_word(n):
    table = WordTable()
    expected = [f"word{number}" * (1 + number % 3) for number in range(n)]
    numbers, _ = table.number_text([" ".join(expected).encode(), b"", " ".join(expected).encode()])
    assert numbers.tolist() == [*range(n), *range(n)]
    assert table.words() == expected
    again = WordTable.of(*encoded(expected))
    assert again.number(*encoded([*expected, "other"]), add=False).tolist() == [*range(n), -1]


def test_a_word_longer_than_all_room_is_one_word():
    table = WordTable()
    numbers, _ = table.number_text([b"a " + b"x" * 10_000_000 + b" a"])
    assert numbers.tolist() == [0, 1, 0]
    assert len(table.words(1)[0]) == 10_000_000


def test_words_that_begin_alike_are_different():
    table = WordTable()
    numbers, _ = table.number_text([b"ab a abc ab"])
    assert numbers.tolist() == [0, 1, 2, 0]


def test_words_do_not_go_on_from_one_text_to_the_next():
    numbers, bounds = WordTable().number_text([b"ab", b"cd", b"", b"ab"])
    assert numbers.tolist() == [0, 1, 0]
    assert bounds.tolist() == [0, 1, 2, 2, 3]


def test_numbers_of_words_fit_texts_of_single_characters():
    numbers, _ = WordTable().number_text([b"a"] * 1000 + ["語".encode() * 50])
    assert len(numbers) == 1050
    assert np.all(numbers[:1000] == 0)


@pytest.mark.parametrize(("word", "slot"), [("aaaaaaaab", 1), ("aaaaaaaac", 2)])
def test_words_of_equal_hash_and_beginning_are_told_apart_by_their_letters(word, slot):
    letters, begins = encoded(["aaaaaaaab"])
    text, _ = encoded([word])
    value, key = np.uint64((99 << 32) + 1), key_of(text, 0, 9)
    slots = np.zeros((4, 2), np.uint64)
    slots[1] = key, entry_of(0, value)
    assert slot_of(text, 0, 9, value, np.uint64(key), slots, begins, letters) == slot
