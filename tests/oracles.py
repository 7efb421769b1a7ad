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


def recall(ranked, labels, k=None, level=1e-300):
    relevant = [label for label in labels if label >= level]
    found = [label for label in ranked[:k] if label >= level]
    return len(found) / len(relevant) if relevant else 0.0


def r_precision(ranked, labels, level=1e-300):
    n_relevant = sum(label >= level for label in labels)
    return precision(ranked, labels, n_relevant, level) if n_relevant else 0.0


def f1(ranked, labels, k=None, level=1e-300):
    found = precision(ranked, labels, k, level), recall(ranked, labels, k, level)
    return 2 * found[0] * found[1] / sum(found) if sum(found) else 0.0


def success(ranked, labels, k=None, level=1e-300):
    return float(any(label >= level for label in ranked[:k]))


def judged(ranked, labels, k=None):
    top = ranked[:k]
    return sum(label >= 0 for label in top) / len(top) if top else 0.0


def rank_biased_precision(ranked, labels, k=None, p=0.8, level=1e-300):
    return sum((1 - p) * p**i for i, label in enumerate(ranked[:k]) if label >= level)


def rank_biased_residual(ranked, labels, k=None, p=0.8):
    """One less the weight of what somebody judged."""
    return 1 - sum((1 - p) * p**i for i, label in enumerate(ranked[:k]) if label >= 0)


def bpref(ranked, labels, level=1e-300):
    n_relevant = sum(label >= level for label in labels)
    n_other = sum(0 <= label < level for label in labels)
    total = 0.0
    for place, label in enumerate(ranked):
        if label >= level:
            above = sum(0 <= other < level for other in ranked[:place])
            lost = min(above, n_relevant) / min(n_other, n_relevant) if above else 0.0
            total += 1 - lost
    return total / n_relevant if n_relevant else 0.0


def inst(ranked, labels, target=1.0, level=1e-300, n_ranks=200_000):
    """The sum of weights breaks off after so many ranks: the value is too large by about 1 / n."""
    gains = np.zeros(n_ranks)
    gains[: len(ranked)] = np.asarray(ranked) >= level
    place = np.arange(1, n_ranks + 1) + target + (target - np.cumsum(gains))
    weights = np.cumprod(np.concatenate([[1.0], ((place - 1) / place)[:-1] ** 2]))
    return float(gains @ weights / weights.sum())


def pfound(ranked, labels, k=None, decay=0.85, largest=4):
    looks, total = 1.0, 0.0
    for label in ranked[:k]:
        total += looks * label / largest
        looks *= decay * (1 - label / largest)
    return total


def alpha_dcg(rows, alpha=0.5, k=None):
    """Of rows of subtopics from the top of the list."""
    seen, total = np.zeros(np.shape(rows)[-1]), 0.0
    for rank, row in enumerate(rows[:k], start=1):
        total += sum((1 - alpha) ** seen[j] for j in np.flatnonzero(row)) / log2(1 + rank)
        seen += row
    return total


def greedy_alpha_dcg(rows, alpha=0.5, k=None):
    """Each next row is one that gains most; of equal ones the one with the larger subtopics."""
    left, chosen = [list(row) for row in rows], []
    while left and (k is None or len(chosen) < k):
        seen = np.sum(chosen, axis=0) if chosen else np.zeros(len(left[0]))
        best = max(left, key=lambda row: (np.round(np.dot(row, (1 - alpha) ** seen), 12), row))
        left.remove(best)
        chosen.append(best)
    return alpha_dcg(chosen, alpha, k)


def allrank_ndcg(ranked, k):
    """As allRank: 1 for a query without a gain."""
    return ndcg(ranked, ranked, k) if any(ranked) else 1.0


def allrank_reciprocal_rank(ranked, k):
    """As allRank: the place of the first maximum of the labels, whatever the maximum is."""
    place = ranked.index(max(ranked))
    return 1 / (1 + place) if place < k else 0.0


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


def lambdas(gains, sizes, truncation_level, scores, sigmoid=lambda x: 1 / (1 + np.exp(x))):
    """LambdaRank's gradient and second derivative of each document, pair by pair, as LightGBM."""
    first, second = np.zeros(len(gains)), np.zeros(len(gains))
    begins = np.cumsum([0, *sizes])
    for query in map(slice, begins[:-1], begins[1:]):
        gain, score, sums = gains[query], scores[query], 0.0
        best = np.sort(gain)[::-1][:truncation_level]
        largest = sum(g / np.log2(2 + rank) for rank, g in enumerate(best))
        order = np.argsort(-score, kind="stable")
        for one in range(min(truncation_level, len(order))):
            for other in range(one + 1, len(order)):
                ranks = sorted((one, other), key=lambda rank: -gain[order[rank]])
                high, low = order[ranks]
                if gain[high] == gain[low]:
                    continue
                ahead = score[high] - score[low]
                weight = (gain[high] - gain[low]) / largest
                weight *= 1 / np.log2(2 + one) - 1 / np.log2(2 + other)
                if score.min() < score.max():
                    weight /= float(np.float32(0.01)) + abs(ahead)
                share = sigmoid(ahead)
                first[query][[high, low]] += [-weight * share, weight * share]
                second[query][[high, low]] += weight * share * (1 - share)
                sums += 2 * weight * share
        if sums > 0:
            first[query] *= np.log2(1 + sums) / sums
            second[query] *= np.log2(1 + sums) / sums
    return first, second
