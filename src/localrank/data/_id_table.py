"""A hash table of ids, which is asked again and again."""

from __future__ import annotations

import os

import numpy as np

from localrank._base.arrays import Integers
from localrank._kernels import strings
from localrank._kernels.sorting import read_only
from localrank.data._strings import Strings, first_repeated


class IdTable:
    """Finds the positions of ids.

    It is built once, and then looks up ids in time that does not grow with their number.

    Parameters
    ----------
    ids : Strings

    Attributes
    ----------
    first_repeated : int or None
        The first position of an id that an earlier one has, too.

    Examples
    --------
    >>> table = IdTable(Strings.of(np.array(["a", "b"])))
    >>> table.rows(Strings.of(np.array(["b", "c", "a"])))
    array([ 1, -1,  0])
    """

    def __init__(self, ids: Strings) -> None:
        n = len(ids)
        self._ids = read_only(ids.text, np.uint8), read_only(ids.begins, np.int64)
        # Unknown to those who choose the ids. Positions do not depend on it.
        self._secrets = np.frombuffer(os.urandom(16), np.uint64)
        slots = np.full(1 << max(2 * n - 1, 1).bit_length(), -1)
        numbers, firsts, bounds = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(2, int)
        strings.number_in_groups(
            *self._ids, read_only(np.arange(n), np.int64), read_only([0, n], np.int64),
            self._secrets, slots, numbers, firsts, bounds,
        )  # fmt: skip
        self._slots, self._firsts = read_only(slots, np.int64), read_only(firsts, np.int64)
        self.first_repeated = None if bounds[1] == n else first_repeated(numbers, n)

    def rows(self, wanted: Strings) -> Integers:
        """The position of each id; -1 for one that is not in the table."""
        numbers = np.empty(len(wanted), np.int64)
        strings.look_up(
            *self._ids, self._slots, self._firsts, self._secrets,
            read_only(wanted.text, np.uint8), read_only(wanted.begins, np.int64), numbers,
        )  # fmt: skip
        return numbers
