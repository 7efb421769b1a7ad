"""Checks for targets that hold one sum of trees or of weighted features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localrank._base.arrays import Array
from localrank.export._node_tables import LARGEST
from localrank.export.base import ExportedModel
from localrank.formulas import (
    Formula,
    Linear,
    Net,
    NotExportable,
    OnColumns,
    Routed,
    Standardised,
    TreeSum,
)
from localrank.trees import Trees
from localrank.trees._columns import MISSING, MISSING_ZERO


def trees_of(model: ExportedModel, holder: str, *, zero_may_be_missing: bool = False) -> Trees:
    """The trees of a model that is one sum of trees. Refuses other models.

    Parameters
    ----------
    model : ExportedModel
    holder : str
        Name of the file or engine that takes the trees, for the refusal.
    zero_may_be_missing : bool, default=False
        Whether it knows splits that treat zero as missing, as LightGBM does.
    """
    if isinstance(model.formula, TreeSum):
        trees = model.formula.trees
        if (trees.decisions & MISSING_ZERO).any() and not zero_may_be_missing:
            raise NotExportable(
                _what(model),
                f"its trees treat zero as missing, which {holder} cannot express",
                "Take lightgbm, or train without `zero_as_missing`.",
            )
        return trees
    if isinstance(model.formula, Linear):
        raise NotExportable(
            _what(model),
            f"{holder} holds trees, and the model is a weighted sum of the features",
            "Take elasticsearch-ltr, opensearch-ltr, solr or ranklib, which have linear models.",
        )
    raise refusal(model, holder)


def refusal(model: ExportedModel, holder: str) -> NotExportable:
    """The error for a model that is neither trees nor linear: why, and what to do instead."""
    steps = list(model.formula.walk())
    serve = "or run the model with `localrank serve`."
    if any(isinstance(step, Routed) for step in steps):
        return NotExportable(
            _what(model),
            f"one of its steps chooses between models by the query, and {holder} holds one model",
            f"Take a method with one model for all queries, {serve}",
        )
    made = [step for step in steps if isinstance(step, OnColumns)]
    kinds = {column.kind for step in made for column in step.columns}
    if made and kinds <= {"feature", "filled", "missing"}:
        return NotExportable(
            _what(model),
            f"it replaces missing values with the median of their list, and {holder} takes "
            "features as they are",
            f"Take a method of trees, which handle missing values, such as lambdamart, take onnx, "
            f"{serve}",
        )
    if made:
        source = (
            "the whole list" if any(step.looks_at_list for step in made) else "several features"
        )
        return NotExportable(
            _what(model),
            f"its columns are computed from {source}, and {holder} takes features as they are",
            f"Take a method that scores a document by its features alone, such as lambdamart, "
            f"take onnx, {serve}",
        )
    if any(isinstance(step, Standardised) for step in steps):
        return NotExportable(
            _what(model),
            f"it standardises scores within the query, and {holder} scores one document at a time",
            f"{_with_fixed_scales(steps)}, take onnx, {serve}",
        )
    return NotExportable(
        _what(model),
        f"{holder} holds one sum of trees, and the model is more than that",
        f"Take onnx, {serve}",
    )


def _with_fixed_scales(steps: Sequence[Formula]) -> str:
    """The advice for an ensemble that standardises scores: what to train instead."""
    members = "trees alone" if any(isinstance(step, Linear | Net) for step in steps) else "trees"
    return (
        f'Train an ensemble of {members} with fixed scales (combine="fixed" of a recipe such as '
        "global-ensemble, aggregator=FixedScale() of Ensemble)"
    )


def check_single_range(model: ExportedModel, holder: str) -> None:
    """Refuse a model whose scores may be beyond the range of single precision.

    Parameters
    ----------
    model : ExportedModel
        A sum of trees, of weighted features, or a net. Other models pass.
    holder : str
        Name of the engine that computes in single precision, for the refusal.
    """
    reach = 0.0
    match model.formula:
        case TreeSum(trees=trees):
            largest = np.maximum.reduceat(np.abs(trees.leaf_values), trees.leaf_offsets[:-1])
            # Engines that allow no score below zero add a constant of up to the same size.
            reach = 2 * float(largest.sum())
        case Linear(weights=weights, constant=constant):
            reach = max(float(np.abs(weights).max()), abs(constant))
        case Net(mean=mean, scale=scale, skip=skip):
            reach = float(np.abs([mean, scale, skip]).max())
    if not reach <= LARGEST:
        raise NotExportable(
            _what(model),
            f"its numbers exceed the range of float32, and {holder} computes in float32",
            "Take onnx, which computes in double precision.",
        )


def knows_missing(trees: Trees) -> bool:
    """Whether the trees learned where missing values go."""
    return bool((trees.decisions & MISSING).any())


def zero_for_missing(features: Array) -> Array:
    """Features in single precision, with 0 for missing values."""
    with np.errstate(over="ignore"):
        singles = features.astype(np.float32)
    return np.nan_to_num(singles, nan=0.0, posinf=np.inf, neginf=-np.inf)


def _what(model: ExportedModel) -> str:
    return str(model.facts.get("ranker", model.name))
