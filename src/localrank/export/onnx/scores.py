"""Formulas as steps of a graph."""

from __future__ import annotations

import numpy as np

from localrank.export.onnx.columns import table_of
from localrank.export.onnx.list_columns import total
from localrank.export.onnx.routing import weights_of
from localrank.export.onnx.steps import Steps, Value
from localrank.export.onnx.trees import sum_of_trees
from localrank.formulas import (
    Formula,
    Linear,
    Net,
    NotExportable,
    OnColumns,
    Routed,
    Standardised,
    TreeSum,
    WeightedSum,
)

# Scores whose distance from their mean, relative to the largest, is at most this count as equal.
_NOISE = 1e-12


def scores_of(steps: Steps, formula: Formula, table: Value, n_features: int) -> Value:
    """The scores of a list's documents, of shape (n_documents,).

    Parameters
    ----------
    steps : Steps
    formula : Formula
    table : Value of shape (n_documents, n_features)
        The columns on which the formula is computed.
    n_features : int
    """
    match formula:
        case Linear():
            products = table * np.asarray(formula.weights, np.float64)
            shape = steps.apply("Concat", table.size(0), np.array([1]), axis=0)
            sums = total(products, steps.apply("Expand", n_features, shape))
            return steps.apply("Squeeze", sums, np.array([1])) + formula.constant
        case TreeSum():
            return sum_of_trees(steps, table, formula.trees)
        case Net():
            return _net(steps, formula, table)
        case WeightedSum():
            terms = [scores_of(steps, term, table, n_features) for term in formula.terms]
            result = steps.value(np.float64(formula.constant))
            for weight, term in zip(formula.weights.tolist(), terms, strict=True):
                result = result + term * weight
            return result
        case Standardised():
            return _standardised(steps, scores_of(steps, formula.term, table, n_features))
        case OnColumns():
            columns = table_of(steps, formula, table, n_features)
            return scores_of(steps, formula.term, columns, len(formula.columns))
        case Routed():
            return _routed(steps, formula, table, n_features)
        case _:
            raise NotExportable(
                type(formula).__name__,
                "a graph has no steps for it",
                "Run the model with `localrank serve`.",
            )


def _routed(steps: Steps, formula: Routed, table: Value, n_features: int) -> Value:
    weights = weights_of(steps, formula.router, table, len(formula.groups))
    several = None
    if formula.standardises and formula.router.several:
        used = steps.apply("Not", steps.apply("Equal", weights, 0.0))
        several = steps.value(1.0) < used.as_floats().sum(axis=0)
    result = steps.value(0.0)
    for number, group in enumerate(formula.groups):
        scores = scores_of(steps, group, table, n_features)
        if several is not None:
            scores = steps.where(several, _standardised(steps, scores), scores)
        result = result + steps.apply("Gather", weights, np.array([number])) * scores
    return result


def _net(steps: Steps, net: Net, table: Value) -> Value:
    inputs = (table - net.mean) / net.scale
    inputs = steps.apply("Clip", inputs, -float(net.most), float(net.most))
    skip = inputs @ net.skip
    # onnxruntime cannot multiply matrices without columns.
    if not len(net.bias):
        return skip
    return steps.apply("Relu", inputs @ net.hidden.T + net.bias) @ net.output + skip


def _standardised(steps: Steps, scores: Value) -> Value:
    """Standardised scores, with the order of additions of `localrank.aggregation.ZScore`."""
    size = scores.size(0).as_floats()
    off = scores - _sum(steps, scores) / size
    largest = off.magnitude.max(axis=0)
    constant = largest <= scores.magnitude.max(axis=0) * _NOISE
    off = off / steps.where(constant, 1.0, largest)
    deviation = (_sum(steps, off * off) / size).sqrt()
    return steps.where(constant, 0.0, off / steps.where(constant, 1.0, deviation))


def _sum(steps: Steps, scores: Value) -> Value:
    """The sum from first to last, of shape (1,)."""
    return steps.apply("Gather", steps.apply("CumSum", scores, 0), np.array([-1]))
