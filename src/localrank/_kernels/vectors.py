"""Lengths of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Floats
from localrank._kernels.compilation import kernel

Singles = NDArray[np.float32]


@kernel(fastmath={"reassoc", "contract"})
def _sum_of_squares(row: Any) -> float:
    # float64 holds the square of every float32, so a sum is finite if all values are.
    total = 0.0
    for i in range(len(row)):
        total += np.float64(row[i]) * np.float64(row[i])
    return total


@kernel
def norms(values: Singles, result: Floats) -> None:
    """The Euclidean length of each row. It is finite if every value of the row is."""
    for row in range(len(values)):
        result[row] = np.sqrt(_sum_of_squares(values[row]))
