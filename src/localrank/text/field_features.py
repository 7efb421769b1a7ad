"""Features of a query's terms in one stream, for all candidates at once."""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from localrank.arrays import Floats
from localrank.kernels.compilation import kernel
from localrank.text.naming import FROM_COUNTS

N_FEATURES = len(FROM_COUNTS)
(_COVERED, _RATIO, _LENGTH, _IDF, _TF, _NTF, _TFIDF, _BOOLEAN) = (
    FROM_COUNTS.index(name)
    for name in (
        "covered", "covered_ratio", "length", "idf_sum", "tf_sum", "ntf_sum", "tfidf_sum",
        "boolean",
    )
)  # fmt: skip
(_COSINE, _BM25, _ABS, _DIR, _JM) = (
    FROM_COUNTS.index(name) for name in ("cosine", "bm25", "lm_abs", "lm_dir", "lm_jm")
)
_LOG_TF = FROM_COUNTS.index("log_tf")
_LOG_BM25 = FROM_COUNTS.index("log_bm25")
# The logarithm of BM25 is that of this where BM25 is lower.
LOWEST_BM25 = 1e-3


@kernel
def spread(values: Floats, row: Floats, first: int) -> None:
    """Write the sum, minimum, maximum, mean and variance of some values."""
    total, low, high = 0.0, values[0], values[0]
    for value in values:
        total += value
        low = min(low, value)
        high = max(high, value)
    mean = total / len(values)
    variance = 0.0
    for value in values:
        variance += (value - mean) ** 2
    row[first] = total
    row[first + 1] = low
    row[first + 2] = high
    row[first + 3] = mean
    row[first + 4] = variance / len(values)


@kernel
def stream_features(
    counts: Floats, lengths: Floats, distinct: Floats, norms: Floats, average_length: float,
    terms: Floats, parameters: Floats,
) -> Floats:  # fmt: skip
    """The features of `FROM_COUNTS`, of shape (n_candidates, n_features).

    Parameters
    ----------
    counts : ndarray of shape (n_terms, n_candidates)
        How often each candidate has each term of the query.
    lengths, distinct, norms : ndarray of shape (n_candidates,)
        Number of terms, of different terms, and length of the vector of each candidate.
    average_length : float
    terms : ndarray of shape (5, n_terms)
        Of each term of the query: how often the query has it, its idf, BM25's idf, its
        probability in the collection, and the collection's size by its count there.
    parameters : ndarray of shape (6,)
        BM25's k1, b and factor; the prior, the share and the discount of the language models.
    """
    n_terms, n_candidates = counts.shape
    table = np.zeros((n_candidates, N_FEATURES))
    if n_terms == 0:
        for candidate in range(n_candidates):
            table[candidate, _LENGTH] = lengths[candidate]
        return table
    repeats, idf, bm25_idf, background, rarity = terms
    k1, b, factor, prior, share, discount = parameters
    query_norm = 0.0
    for term in range(n_terms):
        query_norm += (repeats[term] * idf[term]) ** 2
    query_norm = sqrt(query_norm)
    tf, ntf, tfidf = np.empty(n_terms), np.empty(n_terms), np.empty(n_terms)
    for candidate in range(n_candidates):
        row = table[candidate]
        length = lengths[candidate]
        saturation = k1 * (1 - b + b * length / average_length)
        covered, product, bm25 = 0, 0.0, 0.0
        absolute, dirichlet, mercer = 0.0, 0.0, 0.0
        for term in range(n_terms):
            count = counts[term, candidate]
            share_of_text = count / length if length > 0 else 0.0
            tf[term] = count
            ntf[term] = share_of_text
            tfidf[term] = count * idf[term]
            # Language models give a document without words the probabilities of the collection.
            p = background[term]
            if length > 0:
                absolute += repeats[term] * log(
                    (max(count - discount, 0.0) + discount * distinct[candidate] * p) / length
                )
                mercer += repeats[term] * log((1 - share) * share_of_text + share * p)
            else:
                absolute += repeats[term] * log(p)
                mercer += repeats[term] * log(p)
            dirichlet += repeats[term] * log((count + prior * p) / (length + prior))
            if count > 0:
                covered += 1
                product += repeats[term] * idf[term] * count * idf[term]
                bm25 += repeats[term] * bm25_idf[term] * factor * count / (count + saturation)
                row[_LOG_TF] += log(count + 1)
                row[_LOG_TF + 1] += log(rarity[term] + 1)
                row[_LOG_TF + 2] += log(share_of_text * idf[term] + 1)
                row[_LOG_TF + 3] += log(share_of_text + 1)
                row[_LOG_TF + 4] += log(share_of_text * rarity[term] + 1)
                row[_LOG_TF + 5] += log(idf[term])
        row[_COVERED] = covered
        row[_RATIO] = covered / n_terms
        row[_LENGTH] = length
        spread(idf, row, _IDF)
        spread(tf, row, _TF)
        spread(ntf, row, _NTF)
        spread(tfidf, row, _TFIDF)
        row[_BOOLEAN] = covered == n_terms
        if product > 0:
            row[_COSINE] = product / (query_norm * norms[candidate])
        row[_BM25] = bm25
        row[_ABS] = absolute
        row[_DIR] = dirichlet
        row[_JM] = mercer
        row[_LOG_BM25] = log(max(bm25, LOWEST_BM25))
    return table
