"""Slow, plain definitions that fast code is compared with: one ranked list at a time."""

from itertools import groupby, pairwise, permutations, product
from math import log2, prod
from statistics import mean

import numpy as np

INFINITY = float("inf")


def orders(scores):
    """Every order of the retrieved documents, best score first, that the ties allow."""
    retrieved = [i for i, score in enumerate(scores) if score > -INFINITY]
    ranked = sorted(retrieved, key=lambda i: -scores[i])
    groups = [list(group) for _, group in groupby(ranked, key=lambda i: scores[i])]
    for choice in product(*(permutations(group) for group in groups)):
        yield [i for group in choice for i in group]


def over_ties(value, labels, scores, **parameters):
    """Values of a measure in all orders of the tied documents."""
    return [value([labels[i] for i in order], labels, **parameters) for order in orders(scores)]


def expected(value, labels, scores, **parameters):
    return mean(over_ties(value, labels, scores, **parameters))


# Each takes the labels of the retrieved documents from the top of the list, and all labels.


def dcg(labels, k=None, gain="exponential", discount="log2"):
    total = 0.0
    for rank, label in enumerate(labels[:k], start=1):
        divisor = log2(1 + rank) if discount == "log2" else max(1.0, log2(rank))
        total += (2**label - 1 if gain == "exponential" else label) / divisor
    return total


def ndcg(ranked, labels, k=None, **choices):
    ideal = dcg(sorted(labels, reverse=True), k, **choices)
    return dcg(ranked, k, **choices) / ideal if ideal else 0.0


def average_precision(ranked, labels, k=None, level=1e-300, denominator="relevant"):
    n_relevant = sum(label >= level for label in labels)
    if n_relevant == 0:
        return 0.0
    total = 0.0
    for rank, label in enumerate(ranked[:k], start=1):
        if label >= level:
            total += sum(other >= level for other in ranked[:rank]) / rank
    return total / (min(n_relevant, k) if denominator == "reachable" and k else n_relevant)


def reciprocal_rank(ranked, labels, k=None, level=1e-300):
    return next((1 / r for r, label in enumerate(ranked[:k], start=1) if label >= level), 0.0)


def precision(ranked, labels, k=None, level=1e-300):
    return sum(label >= level for label in ranked[:k]) / (k or len(labels))


def expected_reciprocal_rank(ranked, labels, k=None, largest=4):
    stops = [(2**label - 1) / 2**largest for label in ranked[:k]]
    return sum(stop * prod(1 - s for s in stops[:i]) / (i + 1) for i, stop in enumerate(stops))


def order_error_rate(ranked, labels, pair=None):
    """For complete lists only."""
    wrong = possible = 0
    for i, above in enumerate(ranked):
        for below in ranked[i + 1 :]:
            if above != below and (pair is None or {above, below} == set(pair)):
                possible += 1
                wrong += above < below
    return wrong / possible if possible else 0.0


def letor_ndcg(ranked, k, version):
    """NDCG@k as the evaluation scripts of LETOR 3 and 4 compute it from labels in rank order."""
    if version == 4 and len(ranked) < k:
        return 0.0

    def gain_at(labels):
        total = 0.0
        for position in range(min(k, len(labels))):
            gain = 2 ** labels[position] - 1
            total += gain if position < 2 else gain / log2(position + 1)
        return total

    ideal = gain_at(sorted(ranked, reverse=True))
    return gain_at(ranked) / ideal if ideal else 0.0


def ranklib_precision(ranked, k):
    size = min(k, len(ranked))
    return sum(label > 0 for label in ranked[:size]) / size


def ranking_planes(dataset, document_features):
    """Slopes and intercepts of all rankings of each query, from the definition of Psi and AP.

    Of queries with relevant and irrelevant documents; `document_features` has what Psi adds up, a
    document along its first axis.
    """
    relevant = dataset.labels > 0
    parts = [slice(*ends) for ends in pairwise(dataset.offsets)]
    return [
        _planes(document_features[part], relevant[part])
        for part in parts
        if relevant[part].any() and not relevant[part].all()
    ]


def _planes(phi, relevant):
    R, I = np.flatnonzero(relevant), np.flatnonzero(~relevant)  # noqa: E741
    slopes, intercepts = [], []
    for order in permutations(range(len(relevant))):
        position = np.argsort(order) + 1
        slope = np.zeros(phi.shape[1:])
        for r in R:
            for i in I:
                sign = 1 if position[r] < position[i] else -1
                slope += (sign - 1) * (phi[r] - phi[i]) / (len(R) * len(I))
        slopes.append(slope)
        precisions = np.arange(1, len(R) + 1) / np.sort(position[R])
        intercepts.append(1 - precisions.mean())
    return np.array(slopes), np.array(intercepts)
