"""Strings one after another in UTF-8: from and to numpy's letters, and numbered by a hash table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Flags, Floats, Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.hashing import hash_of, inlined, same_bytes

Bytes = NDArray[np.uint8]
Letters = NDArray[np.uint32]
Secrets = NDArray[np.uint64]

# Strings are read eight bytes at a time, so that arrays of them are longer than what is in them.
MARGIN = 8


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


@kernel
def utf_8_begins(letters: Letters, begins: Integers) -> None:
    """Where each row of letters begins in UTF-8; zeros at the end of a row are none."""
    width = letters.shape[1]
    for row in range(len(letters)):
        n = width
        while n > 0 and letters[row, n - 1] == 0:
            n -= 1
        size = n
        for i in range(n):
            code = letters[row, i]
            size += (code >= 0x80) + (code >= 0x800) + (code >= 0x10000)
        begins[row + 1] = begins[row] + size


@kernel
def write_utf_8(letters: Letters, begins: Integers, text: Bytes) -> None:
    """Write rows of letters as UTF-8 to where they begin. Halves of pairs take three bytes."""
    for row in range(len(letters)):
        at, end, i = begins[row], begins[row + 1], 0
        while at < end:
            code = letters[row, i]
            i += 1
            if code < 0x80:
                text[at] = code
                at += 1
                continue
            n_more = 1 + (code >= 0x800) + (code >= 0x10000)
            # As many ones as bytes, then the highest bits.
            text[at] = (0xFF00 >> (n_more + 1) & 0xFF) | (code >> np.uint32(6 * n_more))
            for more in range(1, n_more + 1):
                text[at + more] = 0x80 | (code >> np.uint32(6 * (n_more - more)) & 0x3F)
            at += n_more + 1


@kernel
def letter_counts(text: Bytes, begins: Integers, chosen: Integers) -> tuple[int, int]:
    """The letters of the longest of some strings, and of all of them together."""
    longest = total = 0
    for k in range(len(chosen)):
        begin, end = begins[chosen[k]], begins[chosen[k] + 1]
        n = end - begin
        for at in range(begin, end):
            n -= (text[at] & 0xC0) == 0x80
        longest = max(longest, n)
        total += n
    return longest, total


@kernel
def write_letters(text: Bytes, begins: Integers, chosen: Integers, letters: Letters) -> None:
    """Write some strings in UTF-8 as rows of letters, which are zeros before."""
    for k in range(len(chosen)):
        at, end, i = begins[chosen[k]], begins[chosen[k] + 1], 0
        while at < end:
            code, at = character_at(text, at)
            letters[k, i] = code
            i += 1


@kernel
def stretch_starts(text: Bytes, begins: Integers, starts: Integers) -> int:
    """Where a string differs from the one before it; returns how many places these are."""
    address, n = text.ctypes.data, 0
    for item in range(len(begins) - 1):
        begin, size = begins[item], begins[item + 1] - begins[item]
        if (
            item == 0
            or begin - begins[item - 1] != size
            or not same_bytes(address + begin, address + begins[item - 1], size)
        ):
            starts[n] = item
            n += 1
    return n


@kernel
def grouped(groups: Integers, offsets: Integers, items: Integers) -> None:
    """Items by group, in their order within each; those of a group below 0 are left out.

    `offsets` are zeros before; after it, they say where the items of each group begin.
    """
    for item in range(len(groups)):
        if groups[item] >= 0:
            offsets[groups[item] + 1] += 1
    for group in range(len(offsets) - 1):
        offsets[group + 1] += offsets[group]
    for item in range(len(groups)):
        if groups[item] >= 0:
            items[offsets[groups[item]]] = item
            offsets[groups[item]] += 1
    # Each offset has moved to the end of its group.
    for group in range(len(offsets) - 1, 0, -1):
        offsets[group] = offsets[group - 1]
    offsets[0] = 0


@kernel
def number_in_groups(
    text: Bytes, begins: Integers, items: Integers, offsets: Integers, secrets: Secrets,
    slots: Integers, numbers: Integers, firsts: Integers, bounds: Integers,
) -> None:  # fmt: skip
    """Number the different strings of each group, one group after another.

    The group `g` has the strings `items[offsets[g]:offsets[g + 1]]`. Equal strings of a group get
    the same number, a new one the next; `firsts` has the first string of each number, `bounds` the
    first number of each group, and the end. `slots` are -1 before, a power of two of them, at
    least twice the strings of the largest group: the numbers of earlier groups are smaller, so
    that a slot which holds one is free.
    """
    address, mask = text.ctypes.data, len(slots) - 1
    secret, other_secret = secrets
    n = 0
    for group in range(len(offsets) - 1):
        first_number = n
        for k in range(offsets[group], offsets[group + 1]):
            item = items[k]
            begin, size = begins[item], begins[item + 1] - begins[item]
            value = hash_of(address + begin, size, secret, other_secret)
            slot = np.int64(value & np.uint64(mask))
            number = slots[slot]
            while number >= first_number:
                other = begins[firsts[number]]
                if begins[firsts[number] + 1] - other == size and same_bytes(
                    address + begin, address + other, size
                ):
                    break
                slot = (slot + 1) & mask
                number = slots[slot]
            if number < first_number:
                number = n
                slots[slot] = number
                firsts[number] = item
                n += 1
            numbers[item] = number
        bounds[group + 1] = n


@kernel
def look_up(
    text: Bytes, begins: Integers, slots: Integers, firsts: Integers, secrets: Secrets,
    wanted: Bytes, wanted_begins: Integers, numbers: Integers,
) -> None:  # fmt: skip
    """The numbers of wanted strings, by the slots that `number_in_groups` filled for one group.

    A string that has no number gets -1.
    """
    address, wanted_address, mask = text.ctypes.data, wanted.ctypes.data, len(slots) - 1
    secret, other_secret = secrets
    for item in range(len(wanted_begins) - 1):
        begin, size = wanted_begins[item], wanted_begins[item + 1] - wanted_begins[item]
        value = hash_of(wanted_address + begin, size, secret, other_secret)
        slot = np.int64(value & np.uint64(mask))
        number = slots[slot]
        while number >= 0:
            other = begins[firsts[number]]
            if begins[firsts[number] + 1] - other == size and same_bytes(
                wanted_address + begin, address + other, size
            ):
                break
            slot = (slot + 1) & mask
            number = slots[slot]
        numbers[item] = number


@kernel
def spread(numbers: Integers, values: Floats, result: Floats) -> None:
    """Put each value to its number; those without a number, which is -1, are left out."""
    for i in range(len(numbers)):
        if numbers[i] >= 0:
            result[numbers[i]] = values[i]


@kernel
def first_repeated(numbers: Integers, seen: Flags) -> int:
    """Where a number occurs for the second time; -1 if none does. `seen` is False before."""
    for i in range(len(numbers)):
        if numbers[i] >= 0:
            if seen[numbers[i]]:
                return i
            seen[numbers[i]] = True
    return -1
