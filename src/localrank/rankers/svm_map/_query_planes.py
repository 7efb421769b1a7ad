"""Planes kept for each query: storing them, the highest at a point, the lowest point of a segment.

Slot i of query q holds the plane with slope `slopes[i, q]` and intercept `intercepts[i, q]`.
"""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import kernel


@kernel
def centre_by_query(features: Floats, offsets: Integers) -> None:
    """Take their mean from each query's features: only differences within a query matter.

    Exactly 0 where a feature is constant, since the first document is subtracted before.
    """
    n_features = features.shape[1]
    first, means = np.empty(n_features, np.float64), np.empty(n_features, np.float64)
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        first[:] = features[begin]
        means[:] = 0.0
        for row in range(begin, end):
            for column in range(n_features):
                features[row, column] -= first[column]
                means[column] += features[row, column]
        means /= end - begin
        for row in range(begin, end):
            for column in range(n_features):
                features[row, column] -= means[column]


@kernel
def store_planes(
    features: Floats,
    offsets: Integers,
    contributions: Floats,
    new_intercepts: Floats,
    queries: Integers,
    slopes: Floats,
    intercepts: Floats,
    last_used: Integers,
) -> None:
    """Put a new plane of each of some queries into its slot that was used longest ago.

    Its slope is the sum of contribution * features over the query's documents.
    """
    for query in queries:
        slot = 0
        for other in range(1, len(last_used)):
            if last_used[other, query] < last_used[slot, query]:
                slot = other
        slope = slopes[slot, query]
        slope[:] = 0.0
        for row in range(offsets[query], offsets[query + 1]):
            contribution = contributions[row]
            if contribution != 0.0:
                for column in range(len(slope)):
                    slope[column] += contribution * features[row, column]
        intercepts[slot, query] = new_intercepts[query]


@kernel
def sum_of_highest(
    heights: Floats,
    weights: Floats,
    slopes: Floats,
    intercepts: Floats,
    last_used: Integers,
    now: int,
) -> tuple[Floats, float]:
    """Weighted sum over queries of each one's highest plane, as slope and intercept.

    Heights, of shape (n_slots, n_queries), tell the point; `now` is noted for the slots used.
    """
    slope, intercept = np.zeros(slopes.shape[2], np.float64), 0.0
    for query in range(heights.shape[1]):
        best = 0
        for slot in range(1, len(heights)):
            if heights[slot, query] > heights[best, query]:
                best = slot
        weight = weights[query]
        last_used[best, query] = max(last_used[best, query], now)
        intercept += weight * intercepts[best, query]
        for column in range(len(slope)):
            slope[column] += weight * slopes[best, query, column]
    return slope, intercept


@kernel
def lowest_between(
    at_start: Floats,
    at_end: Floats,
    weights: Floats,
    linear: float,
    quadratic: float,
    n_halvings: int,
) -> float:
    """At which share t of the way between two points a convex objective is lowest.

    The objective is linear * t + quadratic * t² / 2 + the weighted sum over queries of their
    highest planes, whose heights are given at both ends. The sign of its slope is searched by
    halving.
    """
    n_slots, n_queries = at_start.shape
    low, high = 0.0, 1.0
    highest = np.empty(n_queries, np.float64)
    rises = np.empty(n_queries, np.float64)
    t = 1.0
    for _ in range(n_halvings):
        highest[:] = -np.inf
        for slot in range(n_slots):
            for query in range(n_queries):
                start, end = at_start[slot, query], at_end[slot, query]
                height = (1 - t) * start + t * end
                higher = height > highest[query]
                highest[query] = height if higher else highest[query]
                rises[query] = end - start if higher else rises[query]
        slope = linear + quadratic * t
        for query in range(n_queries):
            slope += weights[query] * rises[query]
        if slope <= 0:
            low = t
        else:
            high = t
        if low == 1.0:
            break
        t = 0.5 * (low + high)
    return t
