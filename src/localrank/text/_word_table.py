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
from localrank._kernels.hashing import first_bytes, hash_of, inlined, same_bytes
from localrank._kernels.strings import MARGIN, character_at
from localrank.text._characters import ALONE, BREAK, LETTER, MARK, ascii_classes, unicode_classes

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int32]
Slots = NDArray[np.uint64]

_FIRST_WORDS, _FIRST_LETTERS = 256, 2048
# Bytes of a word that a slot holds.
_SHORT = 7
# Bytes of the texts whose words are looked up together. Few, for the processor's cache.
_BLOCK = 2**14


class WordTable:
    """Different words in the order in which they came, each with its number.

    Examples
    --------
    >>> table = WordTable()
    >>> numbers, bounds = table.number_text(*as_lines([b"to be or not to be", b"be"]))
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

    def number_text(self, lines: bytes, begins: Integers) -> tuple[Numbers, Integers]:
        """The number of each word of texts, and where each text begins; new words are added.

        Each text ends with a line end, so that no word goes on into the next.
        """
        classes = ascii_classes() if lines.isascii() else unicode_classes()
        data = _with_margin(lines)
        # A word takes a byte and ends at another, or takes three.
        numbers = np.empty(len(lines) // 2, np.int32)
        starts = np.zeros(len(begins), np.int64)
        n_bytes = max(_BLOCK, int(np.diff(begins).max(initial=0)))
        edges, keys, hashes = np.empty(n_bytes, np.int64), *np.empty((2, n_bytes // 2), np.uint64)
        state = np.zeros(4, np.int64)
        state[2] = self._n_words
        while not number_words(
            data, begins, classes, self._secrets,
            self._slots, self._hashes, self._begins, self._letters,
            edges, keys, hashes, state, numbers, starts,
        ):  # fmt: skip
            self._n_words = int(state[2])
            self._grow()
        self._n_words = int(state[2])
        return numbers[: starts[-1]].copy(), starts

    def number(self, letters: Bytes, begins: Integers, *, add: bool) -> Numbers:
        """The number of each of some words; of one that is not here -1, unless it is added."""
        data = _with_margin(letters[: begins[-1]].tobytes())
        numbers = np.empty(len(begins) - 1, np.int32)
        state = np.array([0, self._n_words], np.int64)
        while not number_given(
            data, begins, add, self._secrets,
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


def as_lines(texts: Sequence[bytes]) -> tuple[bytes, Integers]:
    """Texts one after another, each with a line end, and where each begins."""
    return b"\n".join([*texts, b""]), begins_of([len(text) + 1 for text in texts])


def encoded(words: Sequence[str]) -> tuple[Bytes, Integers]:
    """Words one after another in UTF-8, and where each begins."""
    all_bytes = [word.encode("utf-8", "surrogatepass") for word in words]
    begins = begins_of([len(word) for word in all_bytes])
    return np.frombuffer(b"".join(all_bytes), np.uint8), begins


def begins_of(sizes: Sequence[int]) -> Integers:
    """Where each of some texts begins, and the end."""
    begins = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=begins[1:])
    return begins


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
    data = np.frombuffer(text + b"\n", np.uint8)
    edges = np.empty(len(data), np.int64)
    at = edges[: word_edges(data, 0, len(data), classes, edges)].tolist()
    return [
        text[begin:end].decode("utf-8", "surrogatepass")
        for begin, end in zip(at[::2], at[1::2], strict=True)
    ]


def _with_margin(text: bytes) -> Bytes:
    """The bytes of a text, of which eight are read at once: its end too."""
    return np.frombuffer(text + bytes(MARGIN), np.uint8)


def _longer(values: Array, length: int) -> Array:
    longer = np.zeros(length, values.dtype)
    longer[: len(values)] = values
    return longer


@kernel
def word_edges(text: Bytes, at: int, end: int, classes: Bytes, edges: Integers) -> int:
    """Write down where words begin and end, in turn; return how many places these are.

    The text ends with a break, so that there are no more edges than bytes.
    """
    n, word = 0, BREAK
    while at < end:
        code = text[at]
        if code < 0x80 and word != ALONE:
            # Most characters. There is no branch, which a processor could not predict.
            kind = classes[code]
            edges[n] = at
            n += kind != word
            word = kind
            at += 1
            continue
        code, after = character_at(text, at)
        kind = classes[code]
        if word != BREAK and kind != MARK and (kind != LETTER or word != LETTER):
            edges[n] = at
            n += 1
            word = BREAK
        if word == BREAK and kind in (LETTER, ALONE):
            edges[n] = at
            n += 1
            word = kind
        at = after
    return n


@inlined
def key_of(address: int, size: int) -> Any:
    """The first bytes of a word and its length, in eight bytes: all of a word that is short."""
    return first_bytes(address, min(size, _SHORT)) | np.uint64(min(size, 255)) << np.uint64(56)


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
    address: int, size: int, value: Any, key: Any, slots: Slots, begins: Integers, letters: int
) -> Any:
    """Where in the slots a word is, or would be; the table's letters are known by address.

    A slot is a key and an entry, which is 0 where no word is. Most words are short, and found
    without a look at their letters, which may be far away in memory.
    """
    mask = len(slots) - 1
    slot = np.int64(value & np.uint64(mask))
    while slots[slot, 1] != 0:
        if slots[slot, 0] == key and (slots[slot, 1] ^ value) >> np.uint64(32) == 0:
            if size <= _SHORT:
                break
            number = number_at(slots, slot)
            first = begins[number]
            if begins[number + 1] - first == size and same_bytes(
                letters + first + _SHORT, address + _SHORT, size - _SHORT
            ):
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
    if number >= len(hashes) or first + end - begin > len(letters) - MARGIN:
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
    edges: Integers, keys: Array, values: Array,
    state: Integers, numbers: Numbers, starts: Integers,
) -> bool:  # fmt: skip
    """Number the words of texts; False where the table must grow before it is called again.

    A block of texts is searched for words, then these are hashed, then looked up: none of the
    three waits for another, and the processor does much of each at once.

    The state is the text and the word of it to go on from, how many words the table has, and how
    many were numbered.
    """
    secret, other_secret = secrets
    address, letters_address = text.ctypes.data, letters.ctypes.data
    document, first, n_words, n = state
    while document < len(bounds) - 1:
        last = document + 1
        while last < len(bounds) - 1 and bounds[last + 1] - bounds[document] <= len(edges):
            last += 1
        n_found = word_edges(text, bounds[document], bounds[last], classes, edges) // 2
        for word in range(first, n_found):
            begin, size = edges[2 * word], edges[2 * word + 1] - edges[2 * word]
            keys[word] = key_of(address + begin, size)
            values[word] = hash_of(address + begin, size, secret, other_secret)
        for word in range(first, n_found):
            begin, end = edges[2 * word], edges[2 * word + 1]
            while begin >= bounds[document + 1]:
                document += 1
                starts[document] = n
            key, value = keys[word], values[word]
            slot = slot_of(address + begin, end - begin, value, key, slots, begins, letters_address)
            if slots[slot, 1] == 0:
                if not added(
                    text, begin, end, value, key, slot, n_words, slots, hashes, begins, letters
                ):
                    state[0], state[1] = document, n - starts[document]
                    state[2], state[3] = n_words, n
                    return False
                n_words += 1
            numbers[n] = number_at(slots, slot)
            n += 1
        while document < last:
            document += 1
            starts[document] = n
        first = 0
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
    address, letters_address = words.ctypes.data, letters.ctypes.data
    first, n_words = state
    for word in range(first, len(numbers)):
        begin, end = bounds[word], bounds[word + 1]
        key = key_of(address + begin, end - begin)
        value = hash_of(address + begin, end - begin, secret, other_secret)
        slot = slot_of(address + begin, end - begin, value, key, slots, begins, letters_address)
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
    mask, address = len(slots) - 1, letters.ctypes.data
    for number in range(n_words):
        slot = np.int64(hashes[number] & np.uint64(mask))
        while slots[slot, 1] != 0:
            slot = (slot + 1) & mask
        first = begins[number]
        slots[slot, 0] = key_of(address + first, begins[number + 1] - first)
        slots[slot, 1] = entry_of(number, hashes[number])
