"""Ids as strings in one piece of memory, which kernels compare and number."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Array, Integers
from localrank._kernels import strings
from localrank._kernels.sorting import read_only
from localrank._kernels.strings import MARGIN, Bytes
from localrank.data._checks import fits_fixed_width, text_ids


@dataclass(frozen=True, eq=False)
class Strings:
    """Strings one after another in UTF-8.

    Parameters
    ----------
    text : ndarray of uint8
        At least `MARGIN` bytes longer than the strings.
    begins : ndarray of shape (n_strings + 1,)
        Where each string begins, and the end.

    Examples
    --------
    >>> names = Strings.of(np.array(["é", "bc"]))
    >>> names.begins, names.array()
    (array([0, 2, 4]), array(['é', 'bc'], dtype='<U2'))
    """

    text: Bytes
    begins: Integers

    @classmethod
    def of(cls, ids: Array) -> Strings:
        """The strings of an array of ids; numbers are written as Python writes them."""
        if ids.dtype.kind not in "UT":
            ids = ids.astype(str)
        if ids.dtype.kind == "T":
            return cls.of_bytes([name.encode("utf-8", "surrogatepass") for name in ids.tolist()])
        width = ids.dtype.itemsize // 4
        begins = np.zeros(len(ids) + 1, np.int64)
        if width == 0 or len(ids) == 0:
            return cls(np.zeros(MARGIN, np.uint8), begins)
        plain = np.ascontiguousarray(ids, dtype=f"=U{width}")
        letters = read_only(plain.view(np.uint32).reshape(len(ids), width), np.uint32)
        strings.utf_8_begins(letters, begins)
        text = np.zeros(int(begins[-1]) + MARGIN, np.uint8)
        strings.write_utf_8(letters, begins, text)
        return cls(text, begins)

    @classmethod
    def of_bytes(cls, names: Sequence[bytes]) -> Strings:
        """Strings given as UTF-8, one by one."""
        begins = np.zeros(len(names) + 1, np.int64)
        np.cumsum([len(name) for name in names], out=begins[1:])
        return cls(np.frombuffer(b"".join([*names, bytes(MARGIN)]), np.uint8), begins)

    @classmethod
    def joined(cls, parts: Sequence[Strings]) -> Strings:
        """Strings of several parts one after another."""
        if len(parts) == 1:
            return parts[0]
        texts = [part.text[: part.begins[-1]] for part in parts]
        ends = np.cumsum([0, *(len(text) for text in texts)])
        begins = [part.begins[:-1] + end for part, end in zip(parts, ends, strict=False)]
        text = np.concatenate([*texts, np.zeros(MARGIN, np.uint8)])
        return cls(text, np.concatenate([*begins, ends[-1:]]))

    def __len__(self) -> int:
        return len(self.begins) - 1

    def array(self, chosen: Integers | None = None) -> Array:
        """The strings, or some of them by number, as an array of ids."""
        chosen = np.arange(len(self)) if chosen is None else chosen
        parts = read_only(self.text, np.uint8), read_only(self.begins, np.int64)
        rows = read_only(chosen, np.int64)
        longest, total = strings.letter_counts(*parts, rows)
        if not fits_fixed_width(len(rows), longest, total):
            return text_ids(self.names(rows))
        if longest == 0:
            return np.zeros(len(rows), "U1")
        letters = np.zeros((len(rows), longest), np.uint32)
        strings.write_letters(*parts, rows, letters)
        return letters.view(f"U{longest}").ravel()

    def names(self, chosen: Sequence[int] | Integers) -> list[str]:
        """Some of the strings, by number."""
        chosen = np.asarray(chosen, np.int64)
        return [
            self.text[begin:end].tobytes().decode("utf-8", "surrogatepass")
            for begin, end in zip(
                self.begins[chosen].tolist(), self.begins[chosen + 1].tolist(), strict=True
            )
        ]

    def numbered(self) -> tuple[Integers, Integers]:
        """The number of each string among the different ones, and the first string of each number.

        They are numbered as they come. Stretches of equal strings are looked up once.

        Examples
        --------
        >>> Strings.of(np.array(["b", "b", "a", "b"])).numbered()
        (array([0, 0, 1, 0]), array([0, 2]))
        """
        text, begins = read_only(self.text, np.uint8), read_only(self.begins, np.int64)
        starts = np.empty(len(self), np.int64)
        starts = starts[: strings.stretch_starts(text, begins, starts)].copy()
        sizes = np.diff(starts, append=len(self))
        numbers, firsts, _ = self.numbered_in_groups(starts, np.array([0, len(starts)]))
        return np.repeat(numbers[starts], sizes), firsts

    def numbered_in_groups(
        self, items: Integers, offsets: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """Number the different strings within each group, one group after another.

        Parameters
        ----------
        items : ndarray
            Strings by group, each string once.
        offsets : ndarray of shape (n_groups + 1,)
            Where each group begins among the items, and the end.

        Returns
        -------
        numbers : ndarray of shape (n_strings,)
            -1 for a string that is not among the items.
        firsts : ndarray of shape (n_numbers,)
            The first string of each number.
        bounds : ndarray of shape (n_groups + 1,)
            The first number of each group, and the end.
        """
        largest = int(np.diff(offsets).max(initial=1))
        slots = np.full(1 << max(2 * largest - 1, 1).bit_length(), -1)
        numbers, firsts = np.full(len(self), -1), np.empty(len(items), np.int64)
        bounds = np.zeros(len(offsets), np.int64)
        # Unknown to those who choose the ids. Numbers do not depend on it.
        secrets = np.frombuffer(os.urandom(16), np.uint64)
        strings.number_in_groups(
            read_only(self.text, np.uint8), read_only(self.begins, np.int64),
            read_only(items, np.int64), read_only(offsets, np.int64), secrets,
            slots, numbers, firsts, bounds,
        )  # fmt: skip
        return numbers, firsts[: bounds[-1]].copy(), bounds


def by_group(groups: Integers, n_groups: int) -> tuple[Integers, Integers]:
    """Items by group, in their order within each, and where each group begins.

    Items of a group below 0 are left out.

    Examples
    --------
    >>> by_group(np.array([1, 0, -1, 1]), 2)
    (array([1, 0, 3]), array([0, 1, 3]))
    """
    offsets = np.zeros(n_groups + 1, np.int64)
    items = np.empty(np.count_nonzero(groups >= 0), np.int64)
    strings.grouped(read_only(groups, np.int64), offsets, items)
    return items, offsets


def first_repeated(numbers: Integers, n_numbers: int) -> int | None:
    """The first place of a number that an earlier one has, too. Those below 0 do not count.

    Examples
    --------
    >>> first_repeated(np.array([-1, 0, 1, -1, 0, 1]), 2)
    4
    """
    place = int(strings.first_repeated(read_only(numbers, np.int64), np.zeros(n_numbers, np.bool_)))
    return None if place < 0 else place
