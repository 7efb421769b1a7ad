"""Penalties on a metric W: its trace, the lengths of its rows, or the sizes of its entries."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from localrank._base.arrays import Floats


class Penalty(Protocol):
    """A norm Ω of positive semidefinite matrices that is at least their trace."""

    def value(self, W: Floats) -> float:
        """Ω(W)."""

    def shrunk(self, T: Floats, weight: float) -> Floats:
        """The Y that minimises weight Ω(Y) + ‖Y - T‖² / 2.

        (T - Y) / weight is the Z for which Ω(Y) = Z·Y, and Z·W <= Ω(W) for every W.
        """


class Trace:
    """tr(W), the sum of the eigenvalues. It makes most of them 0."""

    def value(self, W: Floats) -> float:
        return float(np.trace(W))

    def shrunk(self, T: Floats, weight: float) -> Floats:
        return T - weight * np.eye(len(T))


class RowLengths:
    """‖W‖_{2,1}, the sum of the lengths of the rows. It makes most of them 0."""

    def value(self, W: Floats) -> float:
        return float(np.linalg.norm(W, axis=1).sum())

    def shrunk(self, T: Floats, weight: float) -> Floats:
        lengths = np.linalg.norm(T, axis=1, keepdims=True)
        shares = np.maximum(lengths - weight, 0.0) / np.where(lengths > 0, lengths, 1.0)
        shrunk: Floats = shares * T
        return shrunk


class EntrySizes:
    """‖W‖_1, the sum of the absolute values of the entries. It makes most of them 0."""

    def value(self, W: Floats) -> float:
        return float(np.abs(W).sum())

    def shrunk(self, T: Floats, weight: float) -> Floats:
        shrunk: Floats = np.sign(T) * np.maximum(np.abs(T) - weight, 0.0)
        return shrunk
