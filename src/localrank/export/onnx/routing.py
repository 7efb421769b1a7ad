"""Weights of groups for a list, as steps of a graph."""

from __future__ import annotations

import numpy as np

from localrank.export.onnx.list_columns import Lists
from localrank.export.onnx.steps import Steps, Value
from localrank.formulas import (
    CategoryRouter,
    CentreRouter,
    Description,
    LinearRouter,
    NotExportable,
    Router,
    ServiceRouter,
)


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
        "Take a selector that a graph can compute, such as NearestCentroid or Classifier with "
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
    """The mean, and the documents minus the mean, computed relative to the first document."""
    first = steps.apply("Gather", values, np.array([0]), axis=0)
    rest = values - first
    shift = rest.sum(axis=0) / n
    return first + shift, rest - shift


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
