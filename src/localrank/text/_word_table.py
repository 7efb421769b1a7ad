"""Words found in text and numbered, byte by byte."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Array, Integers
from localrank._kernels.compilation import kernel
from localrank.text._characters import ALONE, BREAK, LETTER, MARK, ascii_classes, unicode_classes

# An array handed to a function costs two atomic operations, and there are several calls a word.
inlined = kernel(forceinline=True)

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int32]
Slots = NDArray[np.uint64]

_FIRST_WORDS, _FIRST_LETTERS = 256, 2048
# Bytes of a word that a slot holds.
_SHORT = 7


class WordTable:
    """Different words in the order in which they came, each with its number.

    Examples
    --------
    >>> table = WordTable()
    >>> numbers, bounds = table.number_text([b"to be or not to be", b"be"])
    >>> numbers.tolist(), bounds.tolist(), table.words()
    ([0, 1, 2, 3, 0, 1, 1], [0, 6, 7], ['to', 'be', 'or', 'not'])
    """

    def __init__(self) -> None:
        # Unknown to those who write the texts. Numbers of words do not depend on it.
        self._secrets = np.frombuffer(os.urandom(16), np.uint64).copy()
        self._slots = np.zeros((2 * _FIRST_WORDS, 2), np.uint64)
        self._hashes = np.empty(_FIRST_WORDS, np.uint64)
        self._begins = np.zeros(_FIRST_WORDS + 1, np.int64)
        self._letters = np.empty(_FIRST_LETTERS, np.uint8)
        self._n_words = 0

    @classmethod
    def of(cls, letters: Bytes, begins: Integers) -> WordTable:
        """The table of different words that stand one after another."""
        table = cls()
        table.number(letters, begins, add=True)
        return table

    def __len__(self) -> int:
        return self._n_words

    @property
    def letters(self) -> Bytes:
        """The words one after another, in UTF-8."""
        return self._letters[: self._begins[self._n_words]].copy()

    @property
    def begins(self) -> Integers:
        """Where each word begins, and the end."""
        return self._begins[: self._n_words + 1].copy()

    def words(self, first: int = 0) -> list[str]:
        """The words, from one on."""
        return words_of(self._letters, self._begins[first : self._n_words + 1])

    def number_text(self, texts: Sequence[bytes]) -> tuple[Numbers, Integers]:
        """The number of each word of texts, and where each text begins; new words are added."""
        text, bounds = joined(texts)
        classes = ascii_classes() if text.isascii() else unicode_classes()
        data = np.frombuffer(text, np.uint8)
        # A word takes a byte and ends at another, at the end of a text, or after three.
        numbers = np.empty((len(data) + len(texts)) // 2 + 1, np.int32)
        starts = np.zeros(len(texts) + 1, np.int64)
        state = np.zeros(4, np.int64)
        state[2] = self._n_words
        while not number_words(
            data, bounds, classes, self._secrets,
            self._slots, self._hashes, self._begins, self._letters, state, numbers, starts,
        ):  # fmt: skip
            self._n_words = int(state[2])
            self._grow()
        self._n_words = int(state[2])
        return numbers[: starts[-1]].copy(), starts

    def number(self, letters: Bytes, begins: Integers, *, add: bool) -> Numbers:
        """The number of each of some words; of one that is not here -1, unless it is added."""
        numbers = np.empty(len(begins) - 1, np.int32)
        state = np.array([0, self._n_words], np.int64)
        while not number_given(
            letters, begins, add, self._secrets,
            self._slots, self._hashes, self._begins, self._letters, state, numbers,
        ):  # fmt: skip
            self._n_words = int(state[1])
            self._grow()
        self._n_words = int(state[1])
        return numbers

    def _grow(self) -> None:
        """Twice the room for words and letters."""
        n = 2 * len(self._hashes)
        self._hashes = _longer(self._hashes, n)
        self._begins = _longer(self._begins, n + 1)
        self._slots = np.zeros((2 * n, 2), np.uint64)
        refill(self._slots, self._hashes, self._begins, self._letters, self._n_words)
        self._letters = _longer(self._letters, 2 * len(self._letters))


def joined(texts: Sequence[bytes]) -> tuple[bytes, Integers]:
    """Texts one after another, and where each begins."""
    bounds = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=bounds[1:])
    return b"".join(texts), bounds


def encoded(words: Sequence[str]) -> tuple[Bytes, Integers]:
    """Words one after another in UTF-8, and where each begins."""
    text, begins = joined([word.encode("utf-8", "surrogatepass") for word in words])
    return np.frombuffer(text, np.uint8), begins


def words_of(letters: Bytes, begins: Integers) -> list[str]:
    """The words that stand one after another."""
    at = begins.tolist()
    data = letters[: at[-1]].tobytes()
    return [data[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(at)]


def split_words(text: bytes) -> list[str]:
    """The words of a text in their order.

    Examples
    --------
    >>> split_words("naïve co-op, 東京".encode())
    ['naïve', 'co', 'op', '東', '京']
    """
    classes = ascii_classes() if text.isascii() else unicode_classes()
    bounds = word_bounds(np.frombuffer(text, np.uint8), classes)
    return [text[begin:end].decode("utf-8", "surrogatepass") for begin, end in bounds.tolist()]


def _longer(values: Array, length: int) -> Array:
    longer = np.zeros(length, values.dtype)
    longer[: len(values)] = values
    return longer


@inlined
def character_at(text: Bytes, at: int) -> Any:
    """The code of the character at a place of UTF-8, and the place after it."""
    lead = np.int64(text[at])
    if lead < 0x80:
        return lead, at + 1
    if lead < 0xE0:
        return ((lead & 0x1F) << 6) | (np.int64(text[at + 1]) & 0x3F), at + 2
    if lead < 0xF0:
        return (
            ((lead & 0x0F) << 12)
            | ((np.int64(text[at + 1]) & 0x3F) << 6)
            | (np.int64(text[at + 2]) & 0x3F)
        ), at + 3
    return (
        ((lead & 0x07) << 18)
        | ((np.int64(text[at + 1]) & 0x3F) << 12)
        | ((np.int64(text[at + 2]) & 0x3F) << 6)
        | (np.int64(text[at + 3]) & 0x3F)
    ), at + 4


@inlined
def next_word(text: Bytes, at: int, end: int, classes: Bytes) -> tuple[int, int]:
    """Begin and end of the first word from a place on; both the end of the text where none is."""
    begin, kind = end, BREAK
    while at < end:
        code, after = character_at(text, at)
        kind = classes[code]
        if kind in (LETTER, ALONE):
            begin = at
            at = after
            break
        at = after
    while at < end:
        code, after = character_at(text, at)
        other = classes[code]
        if other != MARK and (other != LETTER or kind != LETTER):
            break
        at = after
    return begin, at


@kernel
def word_bounds(text: Bytes, classes: Bytes) -> Integers:
    """Begin and end of each word, of shape (n_words, 2)."""
    bounds = np.empty((len(text) // 2 + 1, 2), np.int64)
    n, end = 0, len(text)
    begin, stop = next_word(text, 0, end, classes)
    while begin < end:
        bounds[n, 0], bounds[n, 1] = begin, stop
        n += 1
        begin, stop = next_word(text, stop, end, classes)
    return bounds[:n]


@inlined
def key_of(text: Bytes, begin: int, end: int) -> Any:
    """The first bytes of a word and its length, in eight bytes: all of a word that is short."""
    key = np.uint64(min(end - begin, 255)) << np.uint64(56)
    for place in range(min(end - begin, _SHORT)):
        key |= np.uint64(text[begin + place]) << np.uint64(8 * place)
    return key


@inlined
def turned(value: Any, by: int) -> Any:
    """A number of 64 bits, turned to the left."""
    return (value << np.uint64(by)) | (value >> np.uint64(64 - by))


@inlined
def sip_round(a: Any, b: Any, c: Any, d: Any) -> Any:
    """One round of SipHash."""
    a += b
    c += d
    b = turned(b, 13) ^ a
    d = turned(d, 16) ^ c
    a = turned(a, 32)
    c += b
    a += d
    b = turned(b, 17) ^ c
    d = turned(d, 21) ^ a
    c = turned(c, 32)
    return a, b, c, d


@inlined
def hash_of(text: Bytes, begin: int, end: int, key: Any, secret: Any, other_secret: Any) -> Any:
    """SipHash-1-3 of a word, whose key is `key_of` it.

    Nobody who does not know the secrets can choose words that share a slot.
    """
    a = secret ^ np.uint64(0x736F6D6570736575)
    b = other_secret ^ np.uint64(0x646F72616E646F6D)
    c = secret ^ np.uint64(0x6C7967656E657261)
    d = other_secret ^ np.uint64(0x7465646279746573)
    last = key
    if end - begin > _SHORT:
        at = begin
        while end - at >= 8:
            block = np.uint64(0)
            for place in range(8):
                block |= np.uint64(text[at + place]) << np.uint64(8 * place)
            a, b, c, d = sip_round(a, b, c, d ^ block)
            a ^= block
            at += 8
        last = np.uint64((end - begin) & 255) << np.uint64(56)
        for place in range(end - at):
            last |= np.uint64(text[at + place]) << np.uint64(8 * place)
    # The last block of a short word is its key: its bytes, and its length in the highest one.
    a, b, c, d = sip_round(a, b, c, d ^ last)
    a ^= last
    c ^= np.uint64(255)
    for _ in range(3):
        a, b, c, d = sip_round(a, b, c, d)
    return a ^ b ^ c ^ d


@inlined
def entry_of(number: int, value: Any) -> Any:
    """What stands beside the key: half of the word's hash, and its number from 1 on."""
    return (value & np.uint64(0xFFFFFFFF00000000)) | np.uint64(number + 1)


@inlined
def number_at(slots: Slots, slot: Any) -> Any:
    """The number of the word in a slot; -1 where none is."""
    return np.int64(slots[slot, 1] & np.uint64(0xFFFFFFFF)) - 1


@inlined
def slot_of(
    text: Bytes, begin: int, end: int, value: Any, key: Any,
    slots: Slots, begins: Integers, letters: Bytes,
) -> Any:  # fmt: skip
    """Where in the slots a word is, or would be.

    A slot is a key and an entry, which is 0 where no word is. Most words are short, and found
    without a look at their letters, which may be far away in memory.
    """
    mask, size = len(slots) - 1, end - begin
    slot = np.int64(value & np.uint64(mask))
    while slots[slot, 1] != 0:
        if slots[slot, 0] == key and (slots[slot, 1] ^ value) >> np.uint64(32) == 0:
            if size <= _SHORT:
                break
            number = number_at(slots, slot)
            first = begins[number]
            same = begins[number + 1] - first == size
            place = _SHORT
            while same and place < size:
                same = letters[first + place] == text[begin + place]
                place += 1
            if same:
                break
        slot = (slot + 1) & mask
    return slot


@inlined
def added(
    text: Bytes, begin: int, end: int, value: Any, key: Any, slot: int, number: int,
    slots: Slots, hashes: Array, begins: Integers, letters: Bytes,
) -> bool:  # fmt: skip
    """Add a word under a number; False, and nothing done, where the room is too small."""
    first = begins[number]
    if number >= len(hashes) or first + end - begin > len(letters):
        return False
    slots[slot, 0] = key
    slots[slot, 1] = entry_of(number, value)
    hashes[number] = value
    for at in range(end - begin):
        letters[first + at] = text[begin + at]
    begins[number + 1] = first + end - begin
    return True


@kernel
def number_words(
    text: Bytes, bounds: Integers, classes: Bytes, secrets: Slots,
    slots: Slots, hashes: Array, begins: Integers, letters: Bytes,
    state: Integers, numbers: Numbers, starts: Integers,
) -> bool:  # fmt: skip
    """Number the words of texts; False where the table must grow before it is called again.

    The state is the text and the place to go on from, how many words the table has, and how many
    were numbered.
    """
    secret, other_secret = secrets
    document, at, n_words, n = state
    while document < len(bounds) - 1:
        end = bounds[document + 1]
        begin, stop = next_word(text, at, end, classes)
        while begin < end:
            key = key_of(text, begin, stop)
            value = hash_of(text, begin, stop, key, secret, other_secret)
            slot = slot_of(text, begin, stop, value, key, slots, begins, letters)
            if slots[slot, 1] == 0:
                if not added(
                    text, begin, stop, value, key, slot, n_words, slots, hashes, begins, letters
                ):
                    state[0], state[1], state[2], state[3] = document, begin, n_words, n
                    return False
                n_words += 1
            numbers[n] = number_at(slots, slot)
            n += 1
            begin, stop = next_word(text, stop, end, classes)
        document += 1
        starts[document] = n
        at = end
    state[2] = n_words
    return True


@kernel
def number_given(
    words: Bytes, bounds: Integers, add: bool, secrets: Slots,
    slots: Slots, hashes: Array, begins: Integers, letters: Bytes,
    state: Integers, numbers: Numbers,
) -> bool:  # fmt: skip
    """Number given words; False where the table must grow before it is called again."""
    secret, other_secret = secrets
    first, n_words = state
    for word in range(first, len(numbers)):
        begin, end = bounds[word], bounds[word + 1]
        key = key_of(words, begin, end)
        value = hash_of(words, begin, end, key, secret, other_secret)
        slot = slot_of(words, begin, end, value, key, slots, begins, letters)
        if slots[slot, 1] == 0 and add:
            if not added(
                words, begin, end, value, key, slot, n_words, slots, hashes, begins, letters
            ):
                state[0], state[1] = word, n_words
                return False
            n_words += 1
        numbers[word] = number_at(slots, slot)
    state[0], state[1] = len(numbers), n_words
    return True


@kernel
def refill(slots: Slots, hashes: Array, begins: Integers, letters: Bytes, n_words: int) -> None:
    """Find each word its slot in larger, empty ones."""
    mask = len(slots) - 1
    for number in range(n_words):
        slot = np.int64(hashes[number] & np.uint64(mask))
        while slots[slot, 1] != 0:
            slot = (slot + 1) & mask
        slots[slot, 0] = key_of(letters, begins[number], begins[number + 1])
        slots[slot, 1] = entry_of(number, hashes[number])
