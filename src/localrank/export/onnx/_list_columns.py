"""Columns that compare a document with the others of its list, as steps of a graph.

Tables have a row for each column and, in it, an entry for each document. The steps are those of
`localrank.rankers.query_coordinates`, in the same order of additions. The results have the same
bits, provided the runtime adds up a cumulative sum from first to last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank._base.arrays import Floats
from localrank.export.onnx._steps import Steps, Value

# As in `localrank.rankers.query_coordinates._coordinates`.
_RESOLUTION = 4 * float(np.finfo(np.float64).eps)
_MOST = 20.0
_NORMAL = 1.4826


@dataclass(frozen=True, eq=False)
class Lists:
    """The values of some columns in a list, and their order.

    Attributes
    ----------
    values : Value of shape (n_columns, n_documents)
        The values. NaN: missing.
    missing : Value of shape (n_columns, n_documents)
        Whether a value is missing.
    counts : Value of shape (n_columns, 1)
        Number of values that are present: whole numbers.
    low, high : Value of shape (n_columns, 1)
        Half the smallest value and half the largest.
    ascending : Value of shape (n_columns, n_documents)
        The values from smallest to largest, then infinity for missing values.
    between : Value of shape (n_columns, n_documents)
        For each value, the number of smaller values plus the number of values that are not larger.
    """

    steps: Steps
    values: Value
    missing: Value
    counts: Value
    low: Value
    high: Value
    ascending: Value
    between: Value

    @classmethod
    def of(cls, steps: Steps, values: Value) -> Lists:
        """Order the rows of a table."""
        missing = values.is_nan()
        counts = (~missing).as_integers().sum(axis=1)
        upper = steps.where(missing, np.inf, values)
        lower = steps.where(missing, -np.inf, values)
        n = values.size(1)
        ascending, order = steps.apply_for(2, "TopK", upper, n, axis=1, largest=0)
        falling = steps.where(missing, np.inf, -values)
        _, reverse = steps.apply_for(2, "TopK", falling, n, axis=1, largest=0)
        # Equal values are in the order of the documents both times, which cancels.
        between = _places(steps, order) - _places(steps, reverse) + counts
        low, high = upper.min(axis=1) * 0.5, lower.max(axis=1) * 0.5
        return cls(steps, values, missing, counts, low, high, ascending, between)

    def percentiles(self, constant: Value) -> Value:
        """Ranks from the smallest, divided by their number. Constant rows: the mean rank."""
        counts = self.counts.as_floats()
        ranks = (self.between + 1).as_floats() * 0.5 / counts
        return self.masked(self.steps.where(constant, self.neutral, ranks))

    @property
    def neutral(self) -> Value:
        """The mean percentile."""
        counts = self.counts.as_floats()
        return (counts + 1.0) * 0.5 / counts

    def filled(self, fills: Floats) -> Value:
        """The values, with the row's median for missing ones. No value is present: `fills`."""
        medians = median(self.ascending, self.counts)
        medians = self.steps.where(self.counts <= 0, fills[:, None], medians)
        return self.steps.where(self.missing, medians, self.values)

    def masked(self, table: Value) -> Value:
        """The table with NaN for missing values."""
        return self.steps.where(self.missing, np.nan, table)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Deviations and percentiles of the columns of a list.

    Attributes
    ----------
    lists : Lists
    constant : Value of shape (n_columns, 1)
        Whether a column has only one value, up to four roundings.
    """

    lists: Lists
    constant: Value
    unit: Value
    ordered: Value
    is_value: Value

    @classmethod
    def of(cls, lists: Lists) -> Coordinates:
        steps, unit = lists.steps, lists.high - lists.low
        constant = unit <= lists.high.magnitude * _RESOLUTION
        unit = steps.where(constant, 1.0, unit)
        numbers = _numbers(steps, lists.values)
        is_value = numbers < lists.counts
        ordered = (lists.ascending * 0.5 - lists.low) / unit
        ordered = steps.where(is_value, ordered, 0.0)
        return cls(lists, constant, unit, ordered, is_value)

    @property
    def shares(self) -> Value:
        """The position of each value between the smallest, 0, and the largest, 1."""
        return (self.lists.values * 0.5 - self.lists.low) / self.unit

    def percentiles(self) -> Value:
        return self.lists.percentiles(self.constant)

    def deviations(self) -> Value:
        """Distances from the mean, in standard deviations."""
        mean, deviation = self._moments()
        return self.lists.masked((self.shares - mean) * self._per(deviation))

    def robust_deviations(self) -> Value:
        """Distances from the median, in units of the median distance from it."""
        steps = self.lists.steps
        _, deviation = self._moments()
        middle = self._median(self.ordered)
        off = steps.where(self.is_value, (self.ordered - middle).magnitude, np.inf)
        off, _ = steps.apply_for(2, "TopK", off, off.size(1), axis=1, largest=0)
        scale = self._median(off) * _NORMAL + deviation * 0.1
        result = (self.shares - middle) * self._per(scale)
        return self.lists.masked(steps.apply("Clip", result, -_MOST, _MOST))

    def _moments(self) -> tuple[Value, Value]:
        counts = self.lists.counts
        mean = total(self.ordered, counts) / counts.as_floats()
        off = self.ordered - mean
        squares = self.lists.steps.where(self.is_value, off * off, 0.0)
        return mean, (total(squares, counts) / counts.as_floats()).sqrt()

    def _median(self, ordered: Value) -> Value:
        return median(ordered, self.lists.counts)

    def _per(self, unit: Value) -> Value:
        """1 / unit. Constant columns: 0.

        The condition also keeps onnxruntime from merging 1 / unit and the product with it into one
        division, which would round once less.
        """
        steps = self.lists.steps
        return steps.where(self.constant, 0.0, steps.value(1.0) / unit)


def median(ordered: Value, counts: Value) -> Value:
    """The median of the first entries of ordered rows."""
    steps = ordered.steps
    places = (steps.apply("Max", counts - 1, 0) / 2, counts / 2)
    # Without any value both places are 0, and the result is not used.
    lower, upper = (steps.apply("GatherElements", ordered, place, axis=1) for place in places)
    return (lower + upper) * 0.5


def _places(steps: Steps, order: Value) -> Value:
    """The place of each entry in the order of its row."""
    numbers = _numbers(steps, order)
    spread = steps.apply("Expand", numbers, steps.apply("Shape", order))
    return steps.apply("ScatterElements", order, order, spread, axis=1)


def _numbers(steps: Steps, table: Value) -> Value:
    """0, 1, 2 and so on, one for each entry of a row, of shape (1, n)."""
    n = steps.apply("Squeeze", table.size(1))
    return steps.apply("Unsqueeze", steps.apply("Range", 0, n, 1), np.array([0]))


def total(table: Value, counts: Value) -> Value:
    """The sum of each row's first `counts` entries, added up in four parts as the rankers do.

    The other entries are 0.
    """
    steps = table.steps
    last = counts / 4 * 4
    numbers = _numbers(steps, table)
    n = table.size(1)
    padding = steps.apply("Mod", -n, 4)
    pads = steps.apply("Concat", np.zeros(3, np.int64), padding, axis=0)
    lanes = steps.apply("Pad", steps.where(numbers < last, table, 0.0), pads, 0.0)
    lanes = steps.apply("CumSum", steps.apply("Reshape", lanes, np.array([0, -1, 4])), 1)
    a, b, c, d = steps.apply_for(
        4, "Split", steps.apply("Gather", lanes, -1, axis=1), np.ones(4, np.int64), axis=1
    )
    for number in range(3):
        place = last + number
        entry = steps.apply("GatherElements", table, steps.apply("Min", place, n - 1), axis=1)
        a = a + steps.where(place < counts, entry, 0.0)
    return (a + b) + (c + d)
