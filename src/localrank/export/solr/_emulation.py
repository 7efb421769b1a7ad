"""Computes scores as Solr's learning-to-rank module does, from the uploaded files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Array
from localrank.export.solr._readings import SLACK, Singles


def solr_scores(
    fields: Sequence[str],
    store: Mapping[str, Mapping[str, Any]],
    model: Mapping[str, Any],
    X: Array,
) -> Singles:
    """The score of each document. Features, sums and products are float32, in Solr's order.

    Parameters
    ----------
    fields : list
        Field of each column of X, as in the schema.
    store : mapping
        The uploaded features by name.
    model : mapping
        The uploaded model.
    X : ndarray of shape (n_documents, n_features)
        Values of the features. NaN: a missing value.
    """
    values = _values(fields, store, model, X)
    params = model["params"]
    match model["class"].rpartition(".")[2]:
        case "LinearModel":
            return _linear(params["weights"], values, len(X))
        case "MultipleAdditiveTreesModel":
            return _trees(params["trees"], values, len(X))
        case "NeuralNetworkModel":
            return _net(params["layers"], values)
        case name:
            raise ValueError(f"The model has the class {name}, which no export writes.")


def _values(
    fields: Sequence[str],
    store: Mapping[str, Mapping[str, Any]],
    model: Mapping[str, Any],
    X: Array,
) -> dict[str, Singles]:
    """The normalized values of the model's features, by name."""
    columns = {field: column for column, field in enumerate(fields)}
    values = {}
    for entry in model["features"]:
        params = store[entry["name"]]["params"]
        if "field" in params:
            with np.errstate(over="ignore"):
                column = X[:, columns[params["field"]]].astype(np.float32)
            column[np.isnan(column)] = np.float32(params.get("defaultValue", 0))
        else:
            column = np.full(len(X), np.float32(params["value"]))
        values[entry["name"]] = _normalized(entry["norm"], column) if "norm" in entry else column
    return values


def _normalized(norm: Mapping[str, Any], column: Singles) -> Singles:
    numbers = {name: np.float32(value) for name, value in norm["params"].items()}
    if norm["class"].endswith("StandardNormalizer"):
        start, unit = numbers["avg"], numbers["std"]
    else:
        start, unit = numbers["min"], numbers["max"] - numbers["min"]
    with np.errstate(over="ignore"):
        return (column - start) / unit


def _linear(
    weights: Mapping[str, float], values: Mapping[str, Singles], n_documents: int
) -> Singles:
    scores = np.zeros(n_documents, np.float32)
    for name, column in values.items():
        scores += column * np.float32(weights[name])
    return scores


def _net(layers: Sequence[Mapping[str, Any]], values: Mapping[str, Singles]) -> Singles:
    inputs: Singles = np.stack(list(values.values()))
    for layer in layers:
        matrix = np.array(layer["matrix"], np.float32)
        units = np.repeat(np.array(layer["bias"], np.float32)[:, None], inputs.shape[1], axis=1)
        for column, row in zip(matrix.T, inputs, strict=True):
            units += column[:, None] * row
        inputs = np.maximum(units, 0) if layer["activation"] == "relu" else units
    scores: Singles = inputs[0]
    return scores


def _trees(
    trees: Sequence[Mapping[str, Any]], values: Mapping[str, Singles], n_documents: int
) -> Singles:
    scores = np.zeros(n_documents, np.float32)
    every = np.arange(n_documents)
    for tree in trees:
        leaves = np.empty(n_documents, np.float32)
        _descend(tree["root"], values, every, leaves)
        scores += np.float32(tree["weight"]) * leaves
    return scores


def _descend(
    node: Mapping[str, Any],
    values: Mapping[str, Singles],
    rows: NDArray[np.int64],
    leaves: Singles,
) -> None:
    """Write the leaf values of the rows that reach a node."""
    if "feature" not in node:
        leaves[rows] = np.float32(node["value"])
        return
    goes_left = values[node["feature"]][rows] <= np.float32(node["threshold"]) + SLACK
    _descend(node["left"], values, rows[goes_left], leaves)
    _descend(node["right"], values, rows[~goes_left], leaves)
