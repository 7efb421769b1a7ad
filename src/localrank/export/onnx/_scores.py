"""Formulas as steps of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank._base.arrays import Flags, Integers
from localrank.export._node_tables import ZERO, left_if_missing, plain_thresholds
from localrank.export.onnx._columns import Lists, table_of, total
from localrank.export.onnx._steps import ML_DOMAIN, Steps, Value
from localrank.formulas import (
    CategoryRouter,
    CentreRouter,
    Description,
    Formula,
    Linear,
    LinearRouter,
    Net,
    NotExportable,
    OnColumns,
    Routed,
    Router,
    ServiceRouter,
    Standardised,
    TreeSum,
    WeightedSum,
)
from localrank.trees import Trees
from localrank.trees._columns import MISSING_ZERO

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
    """Standardised scores, rounded as `localrank.aggregation.ZScore` rounds them."""
    size = scores.size(0).as_floats()
    off = scores - _sum(steps, scores) / size
    largest = off.magnitude.max(axis=0)
    constant = largest <= scores.magnitude.max(axis=0) * _NOISE
    off = off / steps.where(constant, 1.0, largest)
    deviation = (_sum(steps, off * off) / size).sqrt()
    return steps.where(constant, 0.0, off / steps.where(constant, 1.0, deviation))


def _sum(steps: Steps, scores: Value) -> Value:
    """The sum in any order, of shape (1,), as `localrank._kernels.sums` rounds it."""
    size = scores.size(0).as_floats()
    more = _power_above(steps, size)
    grid = _power_above(steps, scores.magnitude.max(axis=0)) * more
    coarse, fine = grid * 1.5, grid * more * (1.5 * 2.0**-52)
    high = (scores + coarse) - coarse
    low = ((scores - high) + fine) - fine
    return high.sum(axis=0) + low.sum(axis=0)


def _power_above(steps: Steps, number: Value) -> Value:
    """The least power of two above a number, of shape (1,)."""
    powers = steps.value(2.0 ** np.arange(-1021, 1001))
    return steps.where(number < powers, powers, np.inf).min(axis=0)


def weights_of(steps: Steps, router: Router, table: Value, n_groups: int) -> Value:
    """The weight of each group for a list, of shape (n_groups,).

    Parameters
    ----------
    steps : Steps
    router : Router
    table : Value of shape (n_documents, n_features)
    n_groups : int
    """
    match router:
        case LinearRouter():
            point = described(steps, router.description, table)
            rows = point @ router.coefficients.T + router.intercepts
            shares = _first_largest(steps, rows) if router.hard else _softmax(steps, rows)
            to_groups = np.zeros((len(router.groups), n_groups))
            to_groups[np.arange(len(router.groups)), router.groups] = 1.0
            weights = shares @ to_groups
        case CentreRouter():
            weights = _by_centres(steps, router, described(steps, router.description, table))
        case CategoryRouter(feature=int(feature), refuses=True):
            weights = _by_category(steps, router, table, feature, n_groups)
        case CategoryRouter(feature=None):
            raise _refusal("it chooses by the ids of queries, which are not features")
        case ServiceRouter():
            raise _refusal(router.reason)
        case _:
            raise _refusal("a list with a category that was not in training needs the whole model")
    return steps.apply("Squeeze", weights, np.array([0]))


def _refusal(reason: str) -> NotExportable:
    return NotExportable(
        "A choice between models of groups",
        reason,
        "Use a selector that a graph can compute, such as NearestCentroid or Classifier with "
        "Mean or TopDocuments, or run the model with `localrank serve`.",
    )


def described(steps: Steps, description: Description, table: Value) -> Value:
    """The description of a list, of shape (1, n_dimensions)."""
    filled = Lists.of(steps, table.transposed).filled(description.fill).transposed
    values = filled / description.scale
    n = values.size(0).as_floats()
    match description.kind:
        case "mean":
            point = _centred(steps, values, n)[0]
        case "variance":
            _, rest = _centred(steps, values, n)
            point = (rest * rest).sum(axis=0) / n
        case "skew":
            point = _skew(steps, _centred(steps, values, n)[1], n)
        case "top-documents":
            point = _top_documents(steps, description, values)
        case "top-values":
            point = _top_values(steps, description, values)
    if description.columns is not None:
        point = steps.apply("Gather", point, description.columns, axis=1)
    if description.centre is not None and description.components is not None:
        point = (point - description.centre) @ description.components.T
    return point


def _centred(steps: Steps, values: Value, n: Value) -> tuple[Value, Value]:
    """The mean, and the documents minus the mean, computed relative to the least value."""
    least = values.min(axis=0)
    rest = values - least
    shift = rest.sum(axis=0) / n
    return least + shift, rest - shift


def _skew(steps: Steps, rest: Value, n: Value) -> Value:
    largest = rest.magnitude.max(axis=0)
    constant = largest <= 0.0
    rest = rest / steps.where(constant, 1.0, largest)
    squares = rest * rest
    second = squares.sum(axis=0) / n
    third = (squares * rest).sum(axis=0) / n
    second = steps.where(constant, 1.0, second)
    return steps.where(constant, 0.0, third / (second * second.sqrt()))


def _top_documents(steps: Steps, description: Description, values: Value) -> Value:
    """The mean of the first documents by a feature. Documents tied at the cut share its places."""
    by = steps.apply("Gather", values, np.array([description.by]), axis=1)
    n_places = steps.apply("Min", values.size(0), np.array([description.n]))
    top, _ = steps.apply_for(2, "TopK", by, n_places, axis=0, largest=1)
    last = top.min(axis=0)
    above, not_below = (last < by).as_floats(), (last <= by).as_floats()
    tied = not_below - above
    n_left = n_places.as_floats() - above.sum(axis=0)
    shares = above + tied * (n_left / tied.sum(axis=0))
    return (shares * values).sum(axis=0) / shares.sum(axis=0)


def _top_values(steps: Steps, description: Description, values: Value) -> Value:
    n = steps.apply("Min", values.size(0), np.array([description.n]))
    top, _ = steps.apply_for(2, "TopK", values, n, axis=0, largest=1)
    return top.sum(axis=0) / n.as_floats()


def _first_largest(steps: Steps, rows: Value) -> Value:
    """1 for the first of the largest entries of a row, 0 for the others."""
    place = steps.apply("ArgMax", rows, axis=1, keepdims=1)
    n = steps.apply("Squeeze", rows.size(1))
    return steps.apply("Equal", steps.apply("Range", 0, n, 1), place).as_floats()


def _softmax(steps: Steps, rows: Value) -> Value:
    likelihoods = steps.apply("Exp", rows - rows.max(axis=1))
    return likelihoods / likelihoods.sum(axis=1)


def _by_centres(steps: Steps, router: CentreRouter, point: Value) -> Value:
    off = point - np.asarray(router.centres, np.float64)
    squares = (off * off).sum(axis=1).transposed
    if router.width is None:
        return _first_largest(steps, -squares)
    weights = _softmax(steps, -(squares / (2 * router.width)))
    n_groups = len(router.centres)
    if router.n_used is None or router.n_used >= n_groups:
        return weights
    _, order = steps.apply_for(2, "TopK", weights, np.array([router.n_used]), axis=1, largest=1)
    used = steps.apply("Expand", 1.0, steps.apply("Shape", order))
    mask = steps.apply("ScatterElements", np.zeros((1, n_groups)), order, used, axis=1)
    return weights * mask


def _by_category(
    steps: Steps, router: CategoryRouter, table: Value, feature: int, n_groups: int
) -> Value:
    """Weight 1 for the group of the category. NaN: the category was not in training."""
    category = steps.apply("Gather", table, feature, axis=1)
    first = steps.apply("Gather", category, np.array([0]), axis=0)
    known = np.array([float(value) for value in router.groups])
    to_groups = np.zeros((len(known), n_groups))
    to_groups[np.arange(len(known)), list(router.groups.values())] = 1.0
    is_category = steps.apply("Equal", first, known).as_floats()
    weights = steps.apply("Unsqueeze", is_category, np.array([0])) @ to_groups
    return steps.where(weights.sum(axis=1) <= 0.0, np.nan, weights)


# Codes of the operator TreeEnsemble: add up leaves; `value <= threshold` takes the true branch.
_SUM, _AT_MOST = 1, 0


def sum_of_trees(steps: Steps, table: Value, trees: Trees) -> Value:
    """The sum of the leaves that each row of a table falls into, in double precision.

    Parameters
    ----------
    steps : Steps
    table : Value of shape (n_documents, n_features)
    trees : Trees
    """
    n_leaves = np.diff(trees.leaf_offsets)
    # The operator does not support trees without a split.
    constant = float(trees.leaf_values[trees.leaf_offsets[:-1][n_leaves == 1]].sum())
    if (n_leaves == 1).all():
        return steps.apply("Expand", constant, table.size(0))
    scores = steps.apply_for(
        1,
        "TreeEnsemble",
        _without_zeros(steps, table, trees),
        domain=ML_DOMAIN,
        **_attributes(trees),
    )[0]
    scores = steps.apply("Squeeze", scores, np.array([1]))
    return scores + constant if constant else scores


def _attributes(trees: Trees) -> dict[str, Any]:
    from onnx import numpy_helper

    starts, n_leaves = trees.split_offsets, np.diff(trees.leaf_offsets)
    tree = np.repeat(np.arange(trees.n_trees), n_leaves - 1)
    in_tree = np.repeat(n_leaves > 1, n_leaves)
    leaf_numbers = np.cumsum(in_tree) - 1
    children = {}
    for side in ("left", "right"):
        child = getattr(trees, f"{side}_children").astype(np.int64)
        is_leaf = child < 0
        leaf = leaf_numbers[trees.leaf_offsets[tree] + np.where(is_leaf, ~child, 0)]
        children[side] = is_leaf, np.where(is_leaf, leaf, starts[tree] + child)
    n_unused = _unused_leaves(*children["left"], *children["right"])
    unused = np.zeros(n_unused)
    attributes: dict[str, Any] = {
        "n_targets": 1,
        "aggregate_function": _SUM,
        "post_transform": 0,
        "tree_roots": starts[:-1][n_leaves > 1].tolist(),
        "nodes_featureids": trees.split_features.tolist(),
        "nodes_splits": numpy_helper.from_array(plain_thresholds(trees)),
        "nodes_modes": numpy_helper.from_array(np.full(len(tree), _AT_MOST, np.uint8)),
        "nodes_missing_value_tracks_true": left_if_missing(trees).astype(int).tolist(),
        "leaf_targetids": [0] * int(n_unused + in_tree.sum()),
        "leaf_weights": numpy_helper.from_array(np.append(unused, trees.leaf_values[in_tree])),
    }
    for side, name in (("left", "true"), ("right", "false")):
        is_leaf, number = children[side]
        attributes[f"nodes_{name}leafs"] = is_leaf.astype(int).tolist()
        attributes[f"nodes_{name}nodeids"] = (number + n_unused * is_leaf).tolist()
    return attributes


def _unused_leaves(
    left_is_leaf: Flags, left: Integers, right_is_leaf: Flags, right: Integers
) -> int:
    """How many unused leaves to put first, so that no leaf has the number of its sibling.

    onnxruntime up to 1.23 mistakes a root for a leaf if a leaf and a split below it have the same
    number.
    """
    mixed = left_is_leaf != right_is_leaf
    taken = set(np.where(left_is_leaf, right - left, left - right)[mixed].tolist())
    return next(number for number in range(len(taken) + 1) if number not in taken)


def _without_zeros(steps: Steps, table: Value, trees: Trees) -> Value:
    """The table with NaN for zeros, in features whose splits treat zero as missing."""
    zero_is_missing = (trees.decisions & MISSING_ZERO) != 0
    columns = np.unique(trees.split_features[zero_is_missing])
    if not columns.size:
        return table
    if np.isin(trees.split_features[~zero_is_missing], columns).any():
        raise NotExportable(
            "A sum of trees",
            "some of its trees treat a feature's zeros as missing, and others do not",
            "Train all of them with the same setting of zero_as_missing.",
        )
    taken = np.isin(np.arange(trees.n_features), columns)
    return steps.where((table.magnitude <= ZERO) & taken, np.nan, table)
