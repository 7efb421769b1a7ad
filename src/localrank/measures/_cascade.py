"""A reader who goes down a list until a document satisfies."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Floats
from localrank._kernels.compilation import kernel
from localrank.measures._ties import RankedLists, tie_end


@kernel
def cascade(lists: RankedLists, satisfied: Floats, weights: Floats) -> Floats:
    """Expected weight of the rank at which the reader is satisfied; 0 for a reader who never is.

    `satisfied` has the probability that the document at a position satisfies, `weights` one weight
    for each rank that counts.
    """
    tied, ends, offsets = lists.tied, lists.ends, lists.offsets
    values = np.empty(len(ends), np.float64)
    for query in range(len(ends)):
        begin = offsets[query]
        values[query] = 0.0
        reading = 1.0  # probability that nothing above has satisfied
        start, cut = begin, begin + min(ends[query] - begin, len(weights))
        while start < cut:
            stop = tie_end(tied, start, ends[query])
            if stop == start + 1:
                values[query] += reading * satisfied[start] * weights[start - begin]
                reading *= 1.0 - satisfied[start]
            else:
                still = mean_products(satisfied[start:stop], min(stop, cut) - start)
                for i in range(1, len(still)):
                    chance = still[i - 1] - still[i]
                    values[query] += reading * chance * weights[start - begin + i - 1]
                reading *= still[-1]
            start = stop
    return values


@kernel
def mean_products(satisfied: Floats, n_places: int) -> Floats:
    """Mean product of (1 - satisfied) over all choices of 0, 1, ..., n_places documents.

    Documents are taken in one at a time: of the choices of i among j documents the share i / j
    holds the last one. By Maclaurin's inequality the mean product of i is at most the mean to
    the power i, so places where that vanishes are not computed.
    """
    mean = 0.0
    j = 0  # documents so far: first those that never satisfy, whose product is 1
    for chance in satisfied:
        mean += (1.0 - chance) / len(satisfied)
        j += chance == 0
    if mean <= 0.0:
        n_places = 1
    elif mean < 1.0:
        n_places = min(n_places, int(-40.0 / np.log(mean)) + 1)
    products = np.ones(n_places + 1)
    for chance in satisfied:
        if chance > 0:
            j += 1
            for i in range(min(j, n_places), 0, -1):
                share = i / j
                products[i] = (1 - share) * products[i] + share * (1 - chance) * products[i - 1]
    return products
