"""Nets as Solr's `NeuralNetworkModel`."""

from __future__ import annotations

from typing import Any

import numpy as np

from localrank.arrays import Array
from localrank.formulas import Net


def net_layers(net: Net) -> list[dict[str, Any]]:
    """The layers that compute a net on standardised features, (x - `mean`) / `scale`.

    Solr cannot clip. Two layers with max(·, 0) do the same: a = max(most - v, 0), then
    b = max(2 most - a, 0), which is v + most clipped to [0, 2 most]. The bias of the next layer
    subtracts `most` again. The linear skip s passes the hidden layer as max(s, 0) - max(-s, 0).

    Parameters
    ----------
    net : Net

    Examples
    --------
    >>> one = np.ones(1)
    >>> net = Net(one[:, None], -one, 2 * one, one, mean=one, scale=one, most=4.0)
    >>> for layer in net_layers(net):
    ...     print(layer["matrix"], layer["bias"], layer["activation"])
    [[-1.0]] [4.0] relu
    [[-1.0]] [8.0] relu
    [[1.0], [1.0], [-1.0]] [-5.0, -4.0, 4.0] relu
    [[2.0, 1.0, -1.0]] [0.0] identity
    """
    layers = []
    n_features = len(net.skip)
    weights = np.vstack([net.hidden, net.skip, -net.skip]).astype(np.float64)
    bias = np.append(net.bias, [0.0, 0.0]).astype(np.float64)
    if np.isfinite(net.most):
        opposite = np.where(np.eye(n_features) > 0, -1.0, 0.0)
        layers = [
            _layer(opposite, np.full(n_features, bound)) for bound in (net.most, 2 * net.most)
        ]
        bias -= net.most * weights.sum(axis=1)
    output = np.append(net.output, [1.0, -1.0])[None].astype(np.float64)
    return [*layers, _layer(weights, bias), _layer(output, np.zeros(1), "identity")]


def _layer(matrix: Array, bias: Array, activation: str = "relu") -> dict[str, Any]:
    return {"matrix": matrix.tolist(), "bias": bias.tolist(), "activation": activation}
