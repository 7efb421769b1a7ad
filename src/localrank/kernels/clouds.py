"""Queries as clouds of documents: the directions in which each one spreads."""

from __future__ import annotations

import numpy as np

from localrank.arrays import Array, Floats, Integers
from localrank.kernels.compilation import kernel
from localrank.kernels.eigenvectors import leading_eigenvectors
from localrank.kernels.offsets import longest_query


@kernel
def spread_of_clouds(
    features: Array, offsets: Integers, n_axes: int, resolution: float
) -> tuple[Floats, Floats]:
    """The share of each principal axis in a query's variance, and the first axes themselves.

    A variance of at most `resolution` times the largest is taken for none, and its axis is zero.
    """
    n_queries, n_features = len(offsets) - 1, features.shape[1]
    shares = np.zeros((n_queries, n_features))
    axes = np.zeros((n_queries, n_axes, n_features))
    longest = longest_query(offsets)
    room = np.empty(longest * n_features)
    columns = np.empty(n_features, np.int64)
    for query in range(n_queries):
        begin, end = offsets[query], offsets[query + 1]
        centred = _centred(features, begin, end, columns, room)
        n_documents, n_varying = centred.shape
        if n_varying == 0:
            continue
        # The products of documents have the eigenvalues of those of columns, and are fewer here.
        by_documents = n_documents < n_varying
        products = np.dot(centred, centred.T) if by_documents else np.dot(centred.T, centred)
        variances, vectors = leading_eigenvectors(products, min(n_axes, len(products)))
        rank = 0
        while rank < len(variances) and variances[rank] > resolution * variances[0]:
            rank += 1
        shares[query, :rank] = variances[:rank] / variances[:rank].sum()
        directions = np.ascontiguousarray(vectors.T)
        if by_documents:
            directions = np.dot(directions, centred)
        for axis in range(min(rank, len(directions))):
            _orient(directions[axis])
            for i in range(n_varying):
                axes[query, axis, columns[i]] = directions[axis, i]
    return shares, axes


@kernel
def _centred(features: Array, begin: int, end: int, columns: Integers, room: Floats) -> Floats:
    """The rows of a query less their mean, in the columns that vary, in units of their spread.

    Names the columns in `columns`. Differences from the first row are taken before the mean, so
    that a column is left out exactly where all its values are equal, however large they are.
    """
    n_features = features.shape[1]
    first, spread = np.empty(n_features), np.zeros(n_features)
    # Halves, because the difference of two numbers may be too large for a number.
    for column in range(n_features):
        first[column] = 0.5 * features[begin, column]
    for row in range(begin + 1, end):
        for column in range(n_features):
            difference = abs(0.5 * features[row, column] - first[column])
            spread[column] = max(spread[column], difference)
    n_varying = 0
    for column in range(n_features):
        if spread[column] > 0.0:
            columns[n_varying] = column
            n_varying += 1
    unit = spread.max()
    centred = room[: (end - begin) * n_varying].reshape(end - begin, n_varying)
    means = np.zeros(n_varying)
    for row in range(end - begin):
        for i in range(n_varying):
            difference = 0.5 * features[begin + row, columns[i]] - first[columns[i]]
            centred[row, i] = difference / unit
            means[i] += centred[row, i]
    means /= end - begin
    for row in range(end - begin):
        for i in range(n_varying):
            centred[row, i] -= means[i]
    return centred


@kernel
def _orient(direction: Floats) -> None:
    """Make a direction of length 1, with its largest entry positive, the first of about equal."""
    length = np.sqrt((direction * direction).sum())
    largest = np.abs(direction).max()
    for i in range(len(direction)):
        if abs(direction[i]) > 0.999999 * largest:
            direction /= np.copysign(length, direction[i])
            break
