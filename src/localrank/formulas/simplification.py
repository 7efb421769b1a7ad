"""Formulas with as few steps as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from localrank.formulas.base import Formula
from localrank.formulas.steps import (
    Linear,
    OnColumns,
    Routed,
    Standardised,
    TreeSum,
    WeightedSum,
)
from localrank.trees import Trees, joined


def simplified(formula: Formula) -> Formula:
    """The same formula with as few steps as possible.

    Sums of sums become one sum. Linear terms of a sum become one term, and so do trees. A sum of
    one term with weight 1 becomes the term. A constant added to trees becomes a tree of one leaf.
    Scores change only by rounding.

    Parameters
    ----------
    formula : Formula

    Examples
    --------
    >>> halves = np.full(2, 0.5)
    >>> both = WeightedSum((Linear(np.array([1.0, 3.0])), Linear(np.array([5.0, 5.0]))), halves)
    >>> simplified(WeightedSum((both,), np.array([10.0]), 2.0))
    Linear(weights=array([30., 40.]), constant=2.0)
    """
    match formula:
        case WeightedSum():
            return _sum(*_flat(formula, 1.0))
        case Standardised():
            return Standardised(simplified(formula.term))
        case OnColumns():
            return replace(formula, term=simplified(formula.term))
        case Routed():
            return replace(formula, groups=tuple(map(simplified, formula.groups)))
        case _:
            return formula


def _flat(formula: Formula, weight: float) -> tuple[list[tuple[Formula, float]], float]:
    """The terms of a sum of sums with their weights, and the constant."""
    if not isinstance(formula, WeightedSum):
        term = simplified(formula)
        if isinstance(term, WeightedSum):
            return _flat(term, weight)
        return [(term, weight)], 0.0
    terms, constant = [], weight * formula.constant
    for member, share in zip(formula.terms, formula.weights, strict=True):
        more, added = _flat(member, weight * float(share))
        terms += more
        constant += added
    return terms, constant


def _sum(terms: Sequence[tuple[Formula, float]], constant: float) -> Formula:
    linear = [(term, weight) for term, weight in terms if isinstance(term, Linear)]
    trees = [(term.trees, weight) for term, weight in terms if isinstance(term, TreeSum)]
    rest = [pair for pair in terms if not isinstance(pair[0], Linear | TreeSum)]
    merged: list[tuple[Formula, float]] = []
    if trees:
        merged.append((TreeSum(joined(trees)), 1.0))
    if linear:
        weights = np.sum([weight * term.weights for term, weight in linear], axis=0)
        constant += sum(weight * term.constant for term, weight in linear)
        merged.append((Linear(weights), 1.0))
    merged += rest
    if len(merged) == 1:
        ((term, weight),) = merged
        if isinstance(term, Linear):
            return replace(term, constant=term.constant + constant)
        if isinstance(term, TreeSum) and constant:
            return TreeSum(joined([(term.trees, 1.0), (_leaf(term.trees, constant), 1.0)]))
        if weight == 1 and not constant:
            return term
    return WeightedSum(
        tuple(term for term, _ in merged), np.array([weight for _, weight in merged]), constant
    )


def _leaf(like: Trees, value: float) -> Trees:
    """A tree of one leaf."""
    none = np.empty(0, np.int32)
    return Trees(
        n_features=like.n_features,
        leaf_offsets=np.array([0, 1]),
        split_features=none,
        thresholds=np.empty(0),
        decisions=np.empty(0, np.uint8),
        left_children=none,
        right_children=none,
        gains=np.empty(0, np.float32),
        leaf_values=np.array([value]),
        leaf_counts=np.zeros(1, np.int64),
    )
