"""Anchors with metrics, and the distances of documents to all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from localrank._base.arrays import Array, Floats
from localrank._base.rules import Rules, check_together, facts, floats
from localrank.rankers.lgmml._anchors import add_squares

Matrix = Floats

# Least width of a panel, and largest number of panels.
_WIDTH, _PANELS = 16, 8
# Numbers in a block of products, few enough for the processor's cache, and its rows.
_BLOCK, _BLOCK_ROWS = 1 << 18, 256
# The number of rows of a block is a multiple of this. Matrix products then treat all rows the same,
# and equal documents have equal distances.
_UNIT = 16


@dataclass(frozen=True, eq=False)
class LocalMetrics:
    """Anchors a_r, each with its own metric M_r.

    The distance of a document x to anchor r is ‖R_r (x / scale - a_r)‖, where R_r is upper
    triangular and M_r = R_r^T R_r. Distances of a block of documents to all anchors take a few
    matrix products. Rows i to j of all the R_r make a panel. Only the features from i on matter
    for it, which saves almost half the work.

    Parameters
    ----------
    scale : ndarray of shape (n_features,)
        Divisor of each feature.
    anchors : ndarray of shape (n_metrics, n_features)
        Scaled features of the anchors.
    panels : list of ndarray of shape (n_features - first row, n_rows * n_metrics)
        Rows of the factors, transposed: the first rows of all factors, then the second rows.
    origins : list of ndarray of shape (n_rows, n_metrics)
        Products of these rows with the anchors, relative to the mean of the anchors.

    Examples
    --------
    >>> metrics = LocalMetrics.stack(
    ...     np.ones(2), anchors=np.zeros((2, 2)), factors=[np.eye(2), np.array([[1, 1], [0, 2]])]
    ... )
    >>> metrics.distances(np.array([[3.0, 4.0]])) ** 2
    array([[ 25., 113.]])
    """

    _fitted: ClassVar[Rules] = {
        "scale": floats("n_features", above=0),
        "anchors": floats("n_metrics", "n_features"),
        "panels": facts,
        "origins": facts,
    }

    scale: Floats
    anchors: Matrix
    panels: list[Matrix]
    origins: list[Matrix]

    def _check_fitted(self) -> None:
        n_metrics, n_features = self.anchors.shape
        width = max(_WIDTH, -(-n_features // _PANELS))
        begins = range(0, n_features, width)
        rows = [min(width, n_features - begin) for begin in begins]
        panels = [
            (n_features - begin, n * n_metrics) for begin, n in zip(begins, rows, strict=True)
        ]
        check_together(
            self,
            holds=[_shape(panel) for panel in self.panels] == panels
            and [_shape(origin) for origin in self.origins] == [(n, n_metrics) for n in rows],
        )

    @classmethod
    def stack(cls, scale: Floats, anchors: Matrix, factors: Sequence[Array] | Matrix) -> Self:
        """Build from the triangular factor of each metric."""
        n_features = len(scale)
        width = max(_WIDTH, -(-n_features // _PANELS))
        triangles = np.array(factors, dtype=np.float64)
        centred = anchors - anchors.mean(axis=0)
        panels, origins = [], []
        for begin in range(0, n_features, width):
            rows = triangles[:, begin : begin + width, begin:].transpose(2, 1, 0)
            panels.append(rows.reshape(len(rows), -1))
            origins.append(np.einsum("rk,kjr->jr", centred[:, begin:], rows))
        return cls(scale, anchors, panels, origins)

    def scaled(self, factor: float) -> Self:
        """The same metrics with all distances times a factor."""
        return replace(
            self,
            panels=[factor * panel for panel in self.panels],
            origins=[factor * origin for origin in self.origins],
        )

    def factors(self) -> Matrix:
        """The triangular factor of each metric, of shape (n_metrics, n_features, n_features)."""
        n_metrics, n_features = self.anchors.shape
        factors = np.zeros((n_metrics, n_features, n_features))
        for panel in self.panels:
            rows = panel.reshape(len(panel), -1, n_metrics).transpose(2, 1, 0)
            begin = n_features - len(panel)
            factors[:, begin : begin + rows.shape[1], begin:] = rows
        return factors

    def distances(self, features: Array) -> Matrix:
        """Distances of documents to the anchors, of shape (n_documents, n_metrics)."""
        n_documents, n_features = features.shape
        centre = self.anchors.mean(axis=0)
        widest = self.panels[0].shape[1]
        n_rows = max(min(_BLOCK // widest, _BLOCK_ROWS), _UNIT)
        # All blocks have the same number of rows, the last one too.
        n_rows = -(-n_documents // -(-n_documents // n_rows))
        n_rows = -(-n_rows // _UNIT) * _UNIT
        block, products = np.zeros((n_rows, n_features)), np.empty(n_rows * widest)
        squares = np.zeros((n_documents, len(self.anchors)))
        for first in range(0, n_documents, n_rows):
            rows = features[first : first + n_rows]
            np.divide(rows, self.scale, out=block[: len(rows)])
            block[: len(rows)] -= centre
            for panel, origin in zip(self.panels, self.origins, strict=True):
                projected = products[: n_rows * panel.shape[1]].reshape(n_rows, -1)
                np.matmul(block[:, n_features - len(panel) :], panel, out=projected)
                add_squares(projected, origin, squares[first : first + n_rows])
        return np.sqrt(squares, out=squares)


def _shape(values: Any) -> tuple[int, ...] | None:
    """The shape of an array of finite numbers; None for anything else."""
    return values.shape if floats(None, None).holds(values, {}) else None
