"""A table whose final size is not known while it is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank.arrays import Array
from localrank.kernels import parsing


class GrowingTable:
    """Rows of equal width, in one piece of memory that grows.

    Growing moves pages, not bytes, so no row exists twice. The first `reserve` takes no memory
    before rows are written. Later ones do, because numpy fills the new room with zeros: reserve
    little more than is needed.

    Examples
    --------
    >>> table = GrowingTable(np.float64, width=2)
    >>> table.reserve(3)
    >>> table.values[:4] = [1.0, 2.0, 3.0, 4.0]
    >>> table.finish(n_rows=2, width=2)
    array([[1., 2.],
           [3., 4.]])
    """

    def __init__(self, dtype: Any, width: int) -> None:
        self.values = np.zeros(0, dtype=dtype)
        self.width = width

    def size_of(self, n_rows: int) -> int:
        """Bytes that some rows take."""
        return n_rows * self.width * self.values.itemsize

    def reserve(self, n_rows: int) -> None:
        """Make room for some rows in all."""
        size = n_rows * self.width
        if self.values.size == 0:
            self.values = np.zeros(size, dtype=self.values.dtype)
        elif size > self.values.size:
            self.values.resize(size, refcheck=False)

    def widen(self, n_rows: int, capacity: int, width: int) -> None:
        """Give the rows more columns, which are 0, and room for as many rows as `capacity`."""
        before, self.width = self.width, width
        self.reserve(capacity)
        parsing.respace(self.values, n_rows, before, width)

    def finish(self, n_rows: int, width: int) -> Array:
        """The rows as a table of that width; all other room is given back."""
        if width < self.width:
            parsing.respace(self.values, n_rows, self.width, width)
        self.values.resize(n_rows * width, refcheck=False)
        return self.values.reshape(n_rows, width)
