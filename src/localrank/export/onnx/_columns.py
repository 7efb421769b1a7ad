"""Columns that are computed from the features, as steps of a graph.

Columns that compare a document with the others of its list are computed in tables with a row for
each column and, in it, an entry for each document. The steps are those of
`localrank.rankers.query_coordinates`, in the same order of additions. The results have the same
bits, provided the runtime adds up a cumulative sum from first to last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.export.onnx._steps import Steps, Value
from localrank.formulas import Column, NotExportable, OnColumns
from localrank.rankers.listwise_net._scoring import MAX_INPUT
from localrank.rankers.query_coordinates._coordinates import HALF_RANK
from localrank.rankers.query_coordinates._first_component import CLOSE, MAX_STEPS, POWER

# From `localrank.rankers.query_coordinates`: values within this range count as equal.
_LEAST_RANGE = 1e-300
# From `localrank.rankers.listwise_net`: the relative deviation below which aggregates count as
# constant, and the grid.
_CONSTANT, _NET_GRID = 1e-12, 2.0**-20
# As in `localrank.rankers.query_coordinates._coordinates`.
_GRID = 2.0**-32
_RESOLUTION = 4 * float(np.finfo(np.float64).eps)
_MAX_DEVIATION = 20.0
_NORMAL = 1.4826
# The number of squarings after which directions vanish whose variance is 1e-13 smaller than the
# largest; and after which E^(2^k) vanishes, whose largest eigenvalue is 1 - CLOSE.
_FOR_LARGEST, _FOR_INVERSE = 48, 26


def table_of(steps: Steps, formula: OnColumns, table: Value, n_features: int) -> Value:
    """The columns on which a formula is computed, of shape (n_documents, n_columns)."""
    maker = _Maker(steps, formula, table, n_features)
    # Consecutive columns of one kind are computed together.
    blocks = [
        maker.block(kind, list(columns))
        for kind, columns in groupby(formula.columns, lambda column: column.kind)
    ]
    return blocks[0] if len(blocks) == 1 else steps.apply("Concat", *blocks, axis=1)


class _Maker:
    """Computes columns from features. Steps that several columns need are computed once."""

    def __init__(self, steps: Steps, formula: OnColumns, table: Value, n_features: int) -> None:
        self.steps = steps
        self.formula = formula
        self.table = table
        self.n_features = n_features

    def block(self, kind: str, columns: Sequence[Column]) -> Value:
        """The columns of one kind, of shape (n_documents, n_columns)."""
        features = [column.feature for column in columns]
        if kind == "feature":
            return self._taken(self.table, features)
        if kind == "product":
            others = [column.other for column in columns]
            return self._taken(self.table, features) * self._taken(self.table, others)
        return self._taken(_MAKERS[kind](self), features)

    def _taken(self, table: Value, columns: list[int]) -> Value:
        return self.steps.apply("Gather", table, np.array(columns), axis=1)

    @cached_property
    def coordinates(self) -> Coordinates:
        return Coordinates.of(Lists.of(self.steps, self.table.transposed))

    def deviations(self) -> Value:
        return self.coordinates.deviations().transposed

    def percentiles(self) -> Value:
        return self.coordinates.percentiles().transposed

    def aggregates(self) -> Value:
        return Aggregates(self.coordinates).table(self.n_features)

    def min_max(self) -> Value:
        """1/2 + (x - midpoint) · (1 / range). All values equal: 1/2."""
        lists = self.coordinates.lists
        extent = lists.high - lists.low
        constant = extent <= _LEAST_RANGE
        factor = self.steps.value(1.0) / self.steps.where(constant, 1.0, extent)
        off = lists.values * 0.5 - (lists.low + lists.high) * 0.5
        return (off * self.steps.where(constant, 0.0, factor) + 0.5).transposed

    def min_max_zero(self) -> Value:
        """(x - smallest) / range. All values equal: 0."""
        lists = self.coordinates.lists
        low, high = lists.low * 2.0, lists.high * 2.0
        extent = high - low
        extent = self.steps.where(extent <= 0.0, 1.0, extent)
        return ((lists.values - low) / extent).transposed

    def cut_deviations(self) -> Value:
        return self._single(self.steps.apply("Clip", self.deviations(), -MAX_INPUT, MAX_INPUT))

    def centred_percentiles(self) -> Value:
        return self._single((self.percentiles() - 0.5) / np.sqrt(1 / 12))

    def standard_aggregates(self) -> Value:
        """The aggregates minus their mean over the list, divided by their deviation."""
        steps, table = self.steps, self.aggregates()
        n = table.size(0).as_floats()
        off = table - _sum(table) / n
        deviation = (_sum(off * off) / n).sqrt()
        constant = deviation <= table.magnitude.max(axis=0) * _CONSTANT
        z = off / steps.where(constant, np.inf, deviation)
        return self._single(steps.apply("Round", z / _NET_GRID) * _NET_GRID)

    def rank_differences(self) -> Value:
        """The number of smaller values minus the number of larger values."""
        lists = self.coordinates.lists
        differences = (lists.between - lists.counts).as_floats()
        constant = self.coordinates.constant
        return lists.masked(self.steps.where(constant, 0.0, differences)).transposed

    def _single(self, table: Value) -> Value:
        """The table rounded to single precision, as nets see it."""
        from onnx import TensorProto

        return self.steps.apply("Cast", table, to=TensorProto.FLOAT).as_floats()

    def fills(self) -> Floats:
        """The values that the ranker fills in for a document without any value, by feature."""
        nothing = np.full((1, self.n_features), np.nan)
        made = self.formula.make(RankingDataset.from_arrays(nothing, qid=[0])).features[0]
        result = np.zeros(self.n_features)
        for column, value in zip(self.formula.columns, made.tolist(), strict=True):
            if column.kind == "filled":
                result[column.feature] = value
        return result


_MAKERS: dict[str, Callable[[_Maker], Value]] = {
    "deviation": _Maker.deviations,
    "percentile": _Maker.percentiles,
    "robust-deviation": lambda maker: maker.coordinates.robust_deviations().transposed,
    "aggregate": _Maker.aggregates,
    "missing": lambda maker: maker.table.is_nan().as_floats(),
    "filled": lambda maker: maker.coordinates.lists.filled(maker.fills()).transposed,
    "min-max": _Maker.min_max,
    "min-max-zero": _Maker.min_max_zero,
    "cut-deviation": _Maker.cut_deviations,
    "centred-percentile": _Maker.centred_percentiles,
    "standard-aggregate": _Maker.standard_aggregates,
    "rank-difference": _Maker.rank_differences,
}


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
        if n_features > MAX_STEPS:
            raise NotExportable(
                f"The first principal component of {n_features} features",
                f"the ranker takes at most {MAX_STEPS} steps to find it, and with more features "
                f"it may find another direction than the graph",
                'Use coordinates without it: QueryCoordinates(ranker, parts="zpb"), and '
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
            return _sum(steps.where(counted, table, 0.0)) / width

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
    return _sum(steps.where(varying, rows * (loadings * sign), 0.0))


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


def _sum(table: Value) -> Value:
    """The sum of the rows from first to last, of shape (1, n)."""
    sums = table.steps.apply("CumSum", table, 0)
    return table.steps.apply("Gather", sums, np.array([-1]), axis=0)


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
        return self.lists.masked(steps.apply("Clip", result, -_MAX_DEVIATION, _MAX_DEVIATION))

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
