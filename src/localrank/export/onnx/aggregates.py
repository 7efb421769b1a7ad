"""The nine aggregates of a document's coordinates, as steps of a graph.

A graph has no step that finds eigenvectors. First principal components are found by squaring
matrices repeatedly, by the rule of `localrank.rankers.query_coordinates.first_component`. The
loadings are

    ((1 + CLOSE) I - C / largest)^-POWER start

where C holds the products of the columns and `largest` is its largest eigenvalue. The inverse is
the product of I + E^(2^k) over k = 0, 1, 2, …, with E = C / largest - CLOSE I.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank.export.onnx.list_columns import Coordinates, Lists
from localrank.export.onnx.steps import Steps, Value
from localrank.formulas import NotExportable
from localrank.rankers.query_coordinates.coordinates import HALF_RANK
from localrank.rankers.query_coordinates.first_component import CLOSE, MOST_STEPS, POWER

# As in `localrank.rankers.query_coordinates.coordinates`.
_GRID = 2.0**-32
# The number of squarings after which directions vanish whose variance is 1e-13 smaller than the
# largest; and after which E^(2^k) vanishes, whose largest eigenvalue is 1 - CLOSE.
_FOR_LARGEST, _FOR_INVERSE = 48, 26


@dataclass(frozen=True, eq=False)
class Aggregates:
    """The aggregates of those columns that vary within a list.

    Parameters
    ----------
    coordinates : Coordinates
    """

    coordinates: Coordinates

    def table(self, n_features: int) -> Value:
        """The aggregates, one column each, of shape (n_documents, 9)."""
        if n_features > MOST_STEPS:
            raise NotExportable(
                f"The first principal component of {n_features} features",
                f"the ranker takes at most {MOST_STEPS} steps to find it, and with more features "
                f"it may find another direction than the graph",
                'Take coordinates without it: QueryCoordinates(ranker, parts="zpb"), and '
                "ListwiseNet(coordinates=False).",
            )
        lists, steps = self.coordinates.lists, self.coordinates.lists.steps
        varying = ~self.coordinates.constant
        z, p = self.coordinates.deviations(), self.coordinates.percentiles()
        counted = steps.apply("And", varying, ~lists.missing)
        n = lists.values.size(1).as_floats()
        neutral = (n + 1.0) * 0.5 / n
        width = counted.as_floats().sum(axis=0)
        has_none = width <= 0.0
        width = steps.where(has_none, 1.0, width)

        def mean(table: Value) -> Value:
            return _last(steps.apply("CumSum", steps.where(counted, table, 0.0), 0)) / width

        means = mean(p)
        early = mean(_discount(steps, n, p))
        off = p - means
        spread = mean(off * off).sqrt()
        start = _start(steps, varying, n_features)
        centred = steps.where(counted, p - lists.neutral, 0.0)
        components = [
            _component(steps, centred, start, varying),
            _component(steps, steps.where(counted, z, 0.0), start, varying),
        ]
        early_of_none = _discount(steps, n, neutral)
        nothing_varies = varying.as_floats().sum(axis=0) <= 0.0
        complete = lists.missing.as_floats().sum(axis=0).sum(axis=1) <= 0.0
        rows = [
            steps.where(has_none, neutral, means),
            steps.where(has_none, early_of_none, early),
            *(steps.where(nothing_varies, 0.0, component) for component in components),
            steps.where(has_none, 0.0, spread),
        ]
        # If nothing varies and nothing is missing, the rankers do not round.
        rounded = [steps.apply("Round", row / _GRID) * _GRID for row in rows]
        as_it_is = nothing_varies & complete
        rows = [steps.where(as_it_is, row, grid) for row, grid in zip(rows, rounded, strict=True)]
        result = []
        for row in rows[:4]:
            ranked = Lists.of(steps, row)
            result += [row, ranked.percentiles(ranked.high <= ranked.low)]
        return steps.apply("Concat", *result, rows[4], axis=0).transposed


def _discount(steps: Steps, n: Value, percentiles: Value) -> Value:
    above = n * (steps.value(1.0) - percentiles)
    return steps.value(HALF_RANK) / (above + HALF_RANK)


def _start(steps: Steps, varying: Value, n_features: int) -> Value:
    """1 + sin(i²) / 2 for the i-th varying column, 0 for the others, of shape (n_columns, 1)."""
    numbers = np.arange(1.0, n_features + 1)
    loadings = 1.0 + 0.5 * np.sin(numbers**2)
    number = steps.apply("CumSum", varying.as_integers(), 0) - 1
    places = steps.apply("Max", number, 0)
    return steps.where(varying, steps.apply("Gather", loadings, places, axis=0), 0.0)


def _component(steps: Steps, rows: Value, start: Value, varying: Value) -> Value:
    """The documents' scores on the first principal component of rows, of shape (1, n)."""
    products = steps.apply("Gemm", rows, rows, transB=1)
    shares = power = products / _squares(steps, rows)
    for _ in range(_FOR_LARGEST):
        power = power @ power / _squares(steps, power)
    largest = (shares * power).sum(axis=0).sum(axis=1)
    zeros = steps.apply("Expand", 0.0, steps.apply("Shape", products))
    inverse = unit = steps.apply("EyeLike", zeros)
    power = shares / largest - unit * CLOSE
    for _ in range(_FOR_INVERSE):
        inverse, power = inverse + inverse @ power, power @ power
    loadings = start
    for _ in range(POWER):
        loadings = inverse @ loadings
        loadings = loadings / _squares(steps, loadings).sqrt()
    sign = _sign(steps, loadings)
    weighted = steps.where(varying, rows * (loadings * sign), 0.0)
    return _last(steps.apply("CumSum", weighted, 0))


def _squares(steps: Steps, table: Value) -> Value:
    """The sum of the squares, of shape (1, 1)."""
    return steps.apply("ReduceSumSquare", table, axes=[0, 1], keepdims=1)


def _sign(steps: Steps, loadings: Value) -> Value:
    """The sign of the sum. If it is zero, that of the first of the largest loadings."""
    total, magnitude = loadings.sum(axis=0), loadings.magnitude
    is_large = (magnitude.max(axis=0) * 0.999999 < magnitude).as_floats()
    first = steps.apply("ArgMax", is_large, axis=0, keepdims=1)
    large = steps.apply("GatherElements", loadings, first, axis=0)
    deciding = steps.where(total.magnitude <= magnitude.sum(axis=0) * 1e-9, large, total)
    return steps.where(deciding < 0.0, -1.0, 1.0)


def _last(table: Value) -> Value:
    """The last row, of shape (1, n)."""
    return table.steps.apply("Gather", table, np.array([-1]), axis=0)
