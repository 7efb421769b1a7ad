import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text.naive_text import words as naive_words

from localrank._kernels.hashing import hash_of
from localrank.text._characters import normalised
from localrank.text._word_table import (
    WordTable,
    as_lines,
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
    numbers, bounds = table.number_text(*as_lines([normalised(text, True) for text in many]))
    words = table.words()
    assert len(set(words)) == len(words) == len(table)
    for place, text in enumerate(many):
        of_text = numbers[bounds[place] : bounds[place + 1]]
        assert [words[number] for number in of_text] == naive_words(text)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 5000])
def test_a_table_grows_and_forgets_no_word(n):
    table = WordTable()
    expected = [f"word{number}" * (1 + number % 3) for number in range(n)]
    numbers, _ = table.number_text(
        *as_lines([" ".join(expected).encode(), b"", " ".join(expected).encode()])
    )
    assert numbers.tolist() == [*range(n), *range(n)]
    assert table.words() == expected
    again = WordTable.of(*encoded(expected))
    assert again.number(*encoded([*expected, "other"]), add=False).tolist() == [*range(n), -1]


@pytest.mark.parametrize("n_texts", [1, 7, 500])
def test_a_table_grows_within_a_block_of_texts(n_texts):
    texts = [
        " ".join([f"{'long' * (number % 4)}{text * number % 999}é" for number in range(60)])
        for text in range(n_texts)
    ]
    table = WordTable()
    numbers, bounds = table.number_text(*as_lines([text.encode() for text in texts]))
    words = table.words()
    assert bounds[-1] == len(numbers)
    for place, text in enumerate(texts):
        of_text = numbers[bounds[place] : bounds[place + 1]]
        assert [words[number] for number in of_text] == text.split()


def test_a_word_longer_than_all_room_is_one_word():
    table = WordTable()
    numbers, _ = table.number_text(*as_lines([b"a " + b"x" * 10_000_000 + b" a"]))
    assert numbers.tolist() == [0, 1, 0]
    assert len(table.words(1)[0]) == 10_000_000


def test_words_that_begin_alike_are_different():
    table = WordTable()
    numbers, _ = table.number_text(*as_lines([b"ab a abc ab"]))
    assert numbers.tolist() == [0, 1, 2, 0]


def test_words_do_not_go_on_from_one_text_to_the_next():
    numbers, bounds = WordTable().number_text(*as_lines([b"ab", b"cd", b"", b"ab"]))
    assert numbers.tolist() == [0, 1, 0]
    assert bounds.tolist() == [0, 1, 2, 2, 3]


def test_numbers_of_words_fit_texts_of_single_characters():
    numbers, _ = WordTable().number_text(*as_lines([b"a"] * 1000 + ["語".encode() * 50]))
    assert len(numbers) == 1050
    assert np.all(numbers[:1000] == 0)


@pytest.mark.parametrize(("word", "slot"), [("aaaaaaaab", 1), ("aaaaaaaac", 2)])
def test_words_of_equal_hash_and_beginning_are_told_apart_by_their_letters(word, slot):
    letters, begins = encoded(["aaaaaaaab", "........"])
    text, _ = encoded([word, "........"])
    address = text.ctypes.data
    value, key = np.uint64((99 << 32) + 1), np.uint64(key_of(address, 9))
    slots = np.zeros((4, 2), np.uint64)
    slots[1] = key, entry_of(0, value)
    assert slot_of(address, 9, value, key, slots, begins, letters.ctypes.data) == slot


def sip_hash(word, key, n_block, n_final):
    """SipHash as its paper defines it, with whole numbers of Python."""
    ones = 2**64 - 1

    def rounds(v, n):
        for _ in range(n):
            for a, b, by, turned in ((0, 1, 13, 0), (2, 3, 16, 2), (2, 1, 17, 2), (0, 3, 21, 0)):
                v[a] = (v[a] + v[b]) & ones
                v[b] = (v[b] << by | v[b] >> 64 - by) & ones ^ v[a]
                if b == 1:
                    v[turned] = (v[turned] << 32 | v[turned] >> 32) & ones
        return v

    secrets = [int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")]
    name = [
        int.from_bytes(b"somepseudorandomlygeneratedbytes"[at : at + 8], "big")
        for at in range(0, 32, 8)
    ]
    v = [secrets[place % 2] ^ name[place] for place in range(4)]
    padded = word + bytes(7 - len(word) % 8) + bytes([len(word) % 256])
    for at in range(0, len(padded), 8):
        block = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= block
        v = rounds(v, n_block)
        v[0] ^= block
    v[2] ^= 255
    v = rounds(v, n_final)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_the_slow_sip_hash_is_that_of_the_paper():
    assert sip_hash(bytes(range(15)), bytes(range(16)), 2, 4) == 0xA129CA6149BE45E5


@pytest.mark.parametrize("size", [0, 1, 6, 7, 8, 9, 15, 16, 17, 255, 256, 300])
def test_words_are_hashed_with_secrets(size):
    word, key = bytes(number * 7 % 256 for number in range(size)), bytes(range(100, 116))
    text = np.frombuffer(b"." + word + b"........", np.uint8)
    secrets = np.frombuffer(key, np.uint64)
    value = hash_of(text.ctypes.data + 1, size, *secrets)
    assert int(value) % 2**64 == sip_hash(word, key, 1, 3)


def words_that_collide(n, n_bits):
    """Words whose FNV-1a hash, a hash without secrets, ends in the same bits."""
    letters = np.array(
        [list(word) for word in itertools.product(b"abcdefghijklmnopqrst", repeat=4)]
    )
    values = np.full(len(letters), 14695981039346656037, np.uint64)
    for column in letters.T.astype(np.uint64):
        values = (values ^ column) * np.uint64(1099511628211)
    values ^= values >> np.uint64(29)
    chosen = letters[values % np.uint64(2**n_bits) == values[0] % np.uint64(2**n_bits)][:n]
    assert len(chosen) == n
    return [bytes(word.tolist()).decode() for word in chosen]


def probes(table):
    """How many slots are looked at to find each word."""
    slots = np.flatnonzero(table._slots[:, 1])
    numbers = (table._slots[slots, 1] & np.uint64(2**32 - 1)).astype(int) - 1
    homes = (table._hashes[numbers] % np.uint64(len(table._slots))).astype(int)
    return 1 + (slots - homes) % len(table._slots)


def test_chosen_words_do_not_crowd_the_table():
    table = WordTable.of(*encoded(words_that_collide(250, 9)))
    # All in one slot, a search would look at 125 on average.
    assert len(table._slots) == 512
    assert probes(table).mean() < 5


def test_each_table_has_secrets_of_its_own_and_the_same_numbers():
    words = [f"word{number}" for number in range(300)]
    one, other = WordTable.of(*encoded(words)), WordTable.of(*encoded(words))
    assert not np.array_equal(one._hashes, other._hashes)
    assert one.words() == other.words() == words
