"""Sums over the pairs of a query's documents, without listing the pairs.

A pair is a document i and one j of a lower level in the same query; its slack at scores s is
z = 1 - (s_i - s_j). Its loss is z²/2 for 0 < z ≤ knee and linear beyond, knee·z - knee²/2.
Going through a query by descending score, the documents j with z > 0 only ever grow in number,
so one pass with a Fenwick tree over the levels gives every document its sums over the lower
levels: O(n log n) for n documents, whatever the number of levels. Negated scores and levels turn
the lower document of each pair into the higher one, so the same pass serves both.
"""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.rows import longest_query
from localrank._kernels.sorting import sort_rows

# Up to this many pairs of a document on the quadratic part are summed one by one.
_FEW = 32


@kernel
def count_pairs(
    labels: Floats, offsets: Integers, levels: Integers, n_levels: Integers, n_pairs: Integers
) -> None:
    """Number each query's distinct labels from 0 upwards, and count its pairs.

    Fills `levels` per document, `n_levels` and `n_pairs` per query.
    """
    longest = longest_query(offsets)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        sort_rows(labels, begin, end, order, spare)
        level, below, pairs = 0, 0, 0
        for place in range(end - begin - 1, -1, -1):
            row = order[place]
            seen = end - begin - 1 - place
            if seen > 0 and labels[row] > labels[order[place + 1]]:
                level += 1
                below = seen
            levels[row] = level
            pairs += below
        n_levels[query] = level + 1
        n_pairs[query] = pairs


@kernel
def pair_losses(
    scores: Floats,
    offsets: Integers,
    levels: Integers,
    n_levels: Integers,
    weights: Floats,
    knee: float,
    order: Integers,
    gradient: Floats,
    degrees: Floats,
) -> tuple[float, float, float]:
    """Weighted sums over the pairs of loss, hinge max(0, z), and z·(knee - z) where 0 < z < knee.

    The last is knee times what the hinge has above z times the slope of the smoothed hinge; it
    is 0 for an infinite knee. Fills per document the descending `order` of its query, the
    `gradient` of the summed loss in the scores, and the summed weight of its pairs in the
    quadratic part, its `degree` in their graph.
    """
    longest, most = longest_query(offsets), 0
    for query in range(len(offsets) - 1):
        most = max(most, n_levels[query])
    spare = np.empty(longest, np.int64)
    values, ranks = np.empty(longest), np.empty(longest, np.int64)
    counts, slopes = np.empty(longest), np.empty(longest)
    sums, near, far = np.empty((longest + 2, 2)), np.empty((most, 3)), np.empty((most, 3))
    totals, ignored = np.zeros(3), np.zeros(3)
    loss, hinge, excess = 0.0, 0.0, 0.0
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        n, top, weight = end - begin, n_levels[query] - 1, weights[query]
        rows, grades = order[begin:end], levels[begin:end]
        totals[:] = 0.0
        if knee < 1.0 and _extent(scores[begin:end]) < 1.0 - knee:
            _all_beyond(scores[begin:end], grades, near, knee, slopes, totals)
            for place in range(n):
                rows[place] = begin + place
                gradient[begin + place], degrees[begin + place] = -weight * slopes[place], 0.0
        else:
            sort_rows(scores, begin, end, rows, spare)
            # The middle score is taken off, so that sums of squares keep their digits.
            middle = scores[rows[n // 2]]
            if top == 1:
                # Higher documents first, each part by descending score.
                split = grades.sum()
                higher, lower = 0, split
                for place in range(n):
                    row = rows[place]
                    spot = higher if levels[row] == 1 else lower
                    higher += levels[row]
                    lower += 1 - levels[row]
                    values[spot], ranks[spot] = scores[row] - middle, row
                _two_levels(values[:n], split, knee, sums, counts, slopes, totals)
                for place in range(n):
                    row = ranks[place]
                    gradient[row], degrees[row] = weight * slopes[place], weight * counts[place]
            else:
                for place in range(n):
                    row = rows[place]
                    values[place], ranks[place] = scores[row] - middle, levels[row]
                _sweep(values[:n], ranks[:n], top, knee, near, far, counts, slopes, totals)
                for place in range(n):
                    row = rows[place]
                    gradient[row], degrees[row] = -weight * slopes[place], weight * counts[place]
                for place in range(n):
                    row = rows[n - 1 - place]
                    values[place], ranks[place] = middle - scores[row], top - levels[row]
                _sweep(values[:n], ranks[:n], top, knee, near, far, counts, slopes, ignored)
                for place in range(n):
                    row = rows[n - 1 - place]
                    gradient[row] += weight * slopes[place]
                    degrees[row] += weight * counts[place]
        loss += weight * totals[0]
        hinge += weight * totals[1]
        excess += weight * totals[2]
    return loss, hinge, excess


@inner_kernel
def _extent(values: Floats) -> float:
    low, high = np.inf, -np.inf
    for value in values:
        low, high = min(low, value), max(high, value)
    return high - low


@inner_kernel
def _all_beyond(
    scores: Floats, levels: Integers, tree: Floats, knee: float, slopes: Floats, totals: Floats
) -> None:
    """Slopes and totals of a query where the slack of every pair is above the knee."""
    n, top = len(scores), 0
    for level in levels:
        top = max(top, level)
    tree[: top + 1, 0] = 0.0
    for level in levels:
        tree[level, 0] += 1.0
    below = 0.0
    for level in range(top + 1):
        # Documents of lower levels, less those of higher ones.
        tree[level, 1], tree[level, 2] = below, below - (n - below - tree[level, 0])
        below += tree[level, 0]
    n_pairs, margin = 0.0, 0.0
    for row in range(n):
        lead = tree[levels[row], 2]
        n_pairs += tree[levels[row], 1]
        margin += lead * scores[row]
        slopes[row] = knee * lead
    totals[1] = n_pairs - margin
    totals[0] = knee * (totals[1] - 0.5 * knee * n_pairs)


@inner_kernel
def _two_levels(
    values: Floats,
    split: int,
    knee: float,
    sums: Floats,
    counts: Floats,
    slopes: Floats,
    totals: Floats,
) -> None:
    """Derivatives, counts and totals of a query with two levels, the higher up to `split`.

    Both parts are sorted, so the pairs of a document end at two places of the other part that
    only move on from one document to the next, and running sums give the rest.
    """
    n, running, square = len(values), 0.0, 0.0
    for place in range(n):
        # One entry more in front of each part: the empty sum.
        if place in (0, split):
            running, square = 0.0, 0.0
            sums[place + (place == split), 0] = sums[place + (place == split), 1] = 0.0
        running += values[place]
        square += values[place] * values[place]
        at = place + 1 + (place >= split)
        sums[at, 0], sums[at, 1] = running, square
    entered, passed = split, split
    for place in range(split):
        bound = values[place] - 1.0
        while entered < n and values[entered] > bound:
            entered += 1
        while passed < n and values[passed] > bound + knee:
            passed += 1
        count, beyond = entered - passed, passed - split
        total = sums[entered + 1, 0] - sums[passed + 1, 0]
        slope = total - count * bound
        squares = sums[entered + 1, 1] - sums[passed + 1, 1]
        squares -= bound * (2.0 * total - count * bound)
        if count <= _FEW:
            # Differences of running sums lose digits, which the certificate of a small gap needs.
            slope = squares = 0.0
            for other in range(passed, entered):
                slack = values[other] - bound
                slope += slack
                squares += slack * slack
                totals[2] += slack * (knee - slack) if knee < np.inf else 0.0
        elif knee < np.inf:
            totals[2] += knee * slope - squares
        totals[0] += 0.5 * squares
        totals[1] += slope
        if beyond > 0:
            distance = sums[passed + 1, 0] - beyond * bound
            slope += knee * beyond
            totals[0] += knee * (distance - 0.5 * knee * beyond)
            totals[1] += distance
        counts[place], slopes[place] = count, -slope
    left, kept = 0, 0
    for place in range(split, n):
        bound = values[place] + 1.0
        while left < split and values[left] >= bound:
            left += 1
        while kept < split and values[kept] >= bound - knee:
            kept += 1
        count, beyond = kept - left, split - kept
        slope = count * bound - (sums[kept, 0] - sums[left, 0])
        if beyond > 0:
            slope += knee * beyond
        counts[place], slopes[place] = count, slope


@inner_kernel
def _sweep(
    values: Floats,
    ranks: Integers,
    top: int,
    knee: float,
    near: Floats,
    far: Floats,
    counts: Floats,
    slopes: Floats,
    totals: Floats,
) -> None:
    """Per document, over its pairs as the higher one: number in the quadratic part, and slope.

    `near` and `far` are trees of counts, sums and squares of the scores of the documents whose
    slack is above 0 and above the knee.
    """
    near[: top + 1] = 0.0
    far[: top + 1] = 0.0
    n, entered, passed = len(values), 0, 0
    for place in range(n):
        bound = values[place] - 1.0
        while entered < n and values[entered] > bound:
            _insert(near, top, ranks[entered], values[entered])
            entered += 1
        while passed < n and values[passed] > bound + knee:
            _insert(far, top, ranks[passed], values[passed])
            passed += 1
        count, total, square = _below(near, ranks[place])
        totals[1] += total - count * bound
        slope = 0.0
        if passed > 0:
            beyond, far_total, far_square = _below(far, ranks[place])
            count, total, square = count - beyond, total - far_total, square - far_square
            slope = knee * beyond
            totals[0] += knee * (far_total - beyond * bound - 0.5 * knee * beyond)
        squares, slack = square - bound * (2.0 * total - count * bound), total - count * bound
        if knee < np.inf and entered - passed <= _FEW:
            slack = squares = 0.0
            for other in range(passed, entered):
                if ranks[other] < ranks[place]:
                    single = values[other] - bound
                    slack += single
                    squares += single * single
                    totals[2] += single * (knee - single)
        elif count > 0.0 and knee < np.inf:
            totals[2] += knee * slack - squares
        totals[0] += 0.5 * squares
        counts[place], slopes[place] = count, slope + slack


@inner_kernel
def _insert(tree: Floats, top: int, rank: int, value: float) -> None:
    node = rank + 1
    while node <= top:
        tree[node, 0] += 1.0
        tree[node, 1] += value
        tree[node, 2] += value * value
        node += node & -node


@inner_kernel
def _below(tree: Floats, rank: int) -> tuple[float, float, float]:
    count, total, square = 0.0, 0.0, 0.0
    while rank > 0:
        count += tree[rank, 0]
        total += tree[rank, 1]
        square += tree[rank, 2]
        rank &= rank - 1
    return count, total, square
