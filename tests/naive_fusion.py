"""Slow, plain definitions of the columns of lists and neighbours: one document at a time."""

from math import sqrt
from statistics import mean, pstdev


def list_columns(scores):
    """The six columns of a list for one query. None: the list lacks the document."""
    present = [score for score in scores if score is not None]
    n, result = len(present), []
    if not n:
        return [(0.0, 0.0, 0.0, len(scores) + 1.0, 0.0, 0.0) for _ in scores]
    low, high = min(present), max(present)
    alike = low == high
    z = {s: 0.0 if alike else (s - mean(present)) / pstdev(present) for s in present}
    for score in scores:
        if score is None:
            result.append((low, z[low], 0.0, n + 1.0, 0.0, 0.0))
            continue
        ranks = [i + 1 for i, s in enumerate(sorted(present, reverse=True)) if s == score]
        t = 1.0 if alike else (score - low) / (high - low)
        result.append((score, z[score], t, mean(ranks), 1 / mean(ranks), 1.0))
    return result


def cosine(a, b):
    norms = sqrt(sum(x * x for x in a)) * sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / norms if norms else 0.0


def firsts(values, n):
    """Documents with one of the n largest values, ties with the last one included."""
    least = sorted(values, reverse=True)[min(n, len(values)) - 1]
    return [i for i, value in enumerate(values) if value >= least]


def neighbour_columns(vectors, lists, n_neighbours):
    """The columns of one query. `lists` has the values of each list."""
    n = len(vectors)
    fused = [mean(values) for values in zip(*lists, strict=True)]
    result = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        c = {j: cosine(vectors[i], vectors[j]) for j in others}
        near = []
        if others:
            least = sorted(c.values(), reverse=True)[min(n_neighbours, len(others)) - 1]
            near = [j for j in others if c[j] >= least]
        weights = {j: max(c[j], 0.0) for j in near}
        total = sum(weights.values())
        row = []
        for values in (*lists, fused):
            weighed = sum(weights[j] * values[j] for j in near)
            row.append(weighed / total if total > 0 else values[i])
        tops = [firsts(values, 3) for values in (*lists, fused)] + [firsts(fused, 10)]
        row += [mean(c[j] for j in top if j != i) if set(top) - {i} else 0.0 for top in tops]
        row.append(total / len(near) if near else 0.0)
        row.append(mean(c.values()) if others else 0.0)
        result.append(row)
    return result
