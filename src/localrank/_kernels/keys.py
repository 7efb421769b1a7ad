"""Whole numbers as keys: numbered by a hash table, and found twice in a group."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank._base.arrays import Integers
from localrank._kernels.compilation import kernel
from localrank._kernels.hashing import inlined


@inlined
def slot_of(key: Any, secret: int, mask: int) -> Any:
    """Where the search for a key begins in a table of `mask + 1` slots."""
    value = np.uint64(key) ^ np.uint64(secret)
    value = (value ^ (value >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    value = (value ^ (value >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return np.int64((value ^ (value >> np.uint64(33))) & np.uint64(mask))


@kernel
def number_keys(keys: Integers, secret: int, numbers: Integers) -> Integers:
    """Give equal keys the same number, in the order they come; returns the key of each number.

    The table grows with the keys that differ, so that few different keys stay in the cache.
    """
    size, n = 1 << 10, 0
    known = np.empty(size // 2, np.int64)
    slots = np.full(size, -1)
    for i in range(len(keys)):
        slot = slot_of(keys[i], secret, size - 1)
        while slots[slot] >= 0 and known[slots[slot]] != keys[i]:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            if n == len(known):
                size *= 4
                more = np.empty(size // 2, np.int64)
                more[:n] = known
                known = more
                slots = np.full(size, -1)
                for number in range(n):
                    slot = slot_of(known[number], secret, size - 1)
                    while slots[slot] >= 0:
                        slot = (slot + 1) & (size - 1)
                    slots[slot] = number
                slot = slot_of(keys[i], secret, size - 1)
                while slots[slot] >= 0:
                    slot = (slot + 1) & (size - 1)
            slots[slot] = n
            known[n] = keys[i]
            n += 1
        numbers[i] = slots[slot]
    return known[:n].copy()


@kernel
def first_repeats(
    numbers: Integers, offsets: Integers, last_groups: Integers, rows: Integers
) -> None:
    """The first row of each group whose number an earlier row of the group has; -1: there is none.

    The rows of a group are `offsets[group]` to `offsets[group + 1]`. `last_groups` is -1 before,
    one for each number.
    """
    for group in range(len(offsets) - 1):
        rows[group] = -1
        for row in range(offsets[group], offsets[group + 1]):
            if last_groups[numbers[row]] == group and rows[group] < 0:
                rows[group] = row
            last_groups[numbers[row]] = group
