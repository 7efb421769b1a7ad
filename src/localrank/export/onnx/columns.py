"""Columns that are computed from the features, as steps of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.export.onnx.aggregates import Aggregates
from localrank.export.onnx.list_columns import Coordinates, Lists
from localrank.export.onnx.steps import Steps, Value
from localrank.formulas import Column, OnColumns
from localrank.rankers.listwise_net.scoring import MOST

# From `localrank.rankers.query_coordinates`: values within this range count as equal.
_LEAST_RANGE = 1e-300
# From `localrank.rankers.listwise_net`: the relative deviation below which aggregates count as
# constant, and the grid.
_CONSTANT, _NET_GRID = 1e-12, 2.0**-20


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
    """Computes columns from features. Results that several columns need are computed once."""

    def __init__(self, steps: Steps, formula: OnColumns, table: Value, n_features: int) -> None:
        self.steps = steps
        self.formula = formula
        self.table = table
        self.n_features = n_features
        self._made: dict[str, Value] = {}
        self._coordinates: Coordinates | None = None

    def block(self, kind: str, columns: Sequence[Column]) -> Value:
        """The columns of one kind, of shape (n_documents, n_columns)."""
        features = [column.feature for column in columns]
        if kind == "feature":
            return self._taken(self.table, features)
        if kind == "product":
            others = [column.other for column in columns]
            return self._taken(self.table, features) * self._taken(self.table, others)
        if kind not in self._made:
            self._made[kind] = _MAKERS[kind](self)
        return self._taken(self._made[kind], features)

    def _taken(self, table: Value, columns: list[int]) -> Value:
        return self.steps.apply("Gather", table, np.array(columns), axis=1)

    @property
    def coordinates(self) -> Coordinates:
        if self._coordinates is None:
            lists = Lists.of(self.steps, self.table.transposed)
            self._coordinates = Coordinates.of(lists)
        return self._coordinates

    def deviations(self) -> Value:
        return self.coordinates.deviations().transposed

    def percentiles(self) -> Value:
        return self.coordinates.percentiles().transposed

    def robust_deviations(self) -> Value:
        return self.coordinates.robust_deviations().transposed

    def aggregates(self) -> Value:
        return Aggregates(self.coordinates).table(self.n_features)

    def missing(self) -> Value:
        return self.table.is_nan().as_floats()

    def filled(self) -> Value:
        return self.coordinates.lists.filled(self._fills()).transposed

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
        return self._single(self.steps.apply("Clip", self.deviations(), -MOST, MOST))

    def centred_percentiles(self) -> Value:
        return self._single((self.percentiles() - 0.5) / np.sqrt(1 / 12))

    def standard_aggregates(self) -> Value:
        """The aggregates minus their mean over the list, divided by their deviation."""
        steps, table = self.steps, self.aggregates()
        n = table.size(0).as_floats()
        off = table - self._sum(table) / n
        deviation = (self._sum(off * off) / n).sqrt()
        constant = deviation <= table.magnitude.max(axis=0) * _CONSTANT
        z = off / steps.where(constant, np.inf, deviation)
        return self._single(steps.apply("Round", z / _NET_GRID) * _NET_GRID)

    def rank_differences(self) -> Value:
        """The number of smaller values minus the number of larger values."""
        lists = self.coordinates.lists
        differences = (lists.between - lists.counts).as_floats()
        constant = self.coordinates.constant
        return lists.masked(self.steps.where(constant, 0.0, differences)).transposed

    def _sum(self, table: Value) -> Value:
        sums = self.steps.apply("CumSum", table, 0)
        return self.steps.apply("Gather", sums, np.array([-1]), axis=0)

    def _single(self, table: Value) -> Value:
        """The table rounded to single precision, as nets see it."""
        from onnx import TensorProto

        return self.steps.apply("Cast", table, to=TensorProto.FLOAT).as_floats()

    def _fills(self) -> Floats:
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
    "robust-deviation": _Maker.robust_deviations,
    "aggregate": _Maker.aggregates,
    "missing": _Maker.missing,
    "filled": _Maker.filled,
    "min-max": _Maker.min_max,
    "min-max-zero": _Maker.min_max_zero,
    "cut-deviation": _Maker.cut_deviations,
    "centred-percentile": _Maker.centred_percentiles,
    "standard-aggregate": _Maker.standard_aggregates,
    "rank-difference": _Maker.rank_differences,
}
