"""Raw features of queries and documents: counts, rarity, lengths, and retrieval models.

They are the low-level features of LETOR's OHSUMED, shortened. Most are sums, over the distinct
words of a query, of a function of the word's count in the document. With the function applied to
the sparse matrix of counts, the features of all queries are one product.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, diags_array
from sklearn.feature_extraction.text import CountVectorizer

from localrank._base.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.experiments._text_collections import TextCollection

# Parameters of BM25, and of the three smoothings as in LETOR.
K1, B = 1.2, 0.75
PRIOR, SHARE, DISCOUNT = 2000.0, 0.1, 0.7


def raw_features(collection: TextCollection, n_documents: int = 100) -> RankingDataset:
    """The features of each judged query's highest documents by BM25, with grades as labels.

    A document is its title and its body. If both exist, each has its features. Words are
    lower-cased, without English stop words, not stemmed. Documents below the highest are left out,
    also relevant ones. Unjudged documents have the label 0.

    Parameters
    ----------
    collection : TextCollection
    n_documents : int, default=100
        How many documents each query keeps. Among equal ones the first are kept.
    """
    texts = [f"{t} {b}" for t, b in zip(collection.titles, collection.bodies, strict=True)]
    words = CountVectorizer(token_pattern=r"[a-z0-9]+", stop_words="english", dtype=np.float64)
    counts = csr_array(words.fit_transform(texts))
    asked = np.unique(collection.judgments[:, 0])
    queries = csr_array(words.transform([collection.queries[query] for query in asked]))
    terms = (queries > 0).astype(np.float64)
    background, rarity = _background(counts), _rarity(counts)

    fields = {"title": collection.titles, "body": collection.bodies}
    features = {
        f"{name} {feature}": values
        for name, field in fields.items()
        if any(field)
        for feature, values in _field_features(
            terms, csr_array(words.transform(field)), background, rarity
        ).items()
    }
    features["rarity"] = np.repeat((terms @ rarity)[:, None], len(texts), axis=1)
    features["cosine"] = _cosine(queries, counts, rarity)

    bm25 = (terms @ _bm25(counts, rarity).T).toarray()
    highest = np.argsort(-bm25, axis=1, kind="stable")[:, :n_documents]
    labels = np.zeros(bm25.shape)
    query, document, grade = collection.judgments.T
    labels[np.searchsorted(asked, query), document] = grade
    return RankingDataset.from_arrays(
        np.stack([_picked(values, highest) for values in features.values()], axis=1),
        _picked(labels, highest),
        np.repeat(asked + 1, highest.shape[1]),
        document_ids=(highest + 1).ravel().astype(str),
        feature_names=list(features),
    )


def _picked(values: Floats, columns: Integers) -> Floats:
    picked: Floats = np.take_along_axis(values, columns, axis=1).ravel()
    return picked


def _background(counts: csr_array) -> Floats:
    """How likely each word is in the collection."""
    totals = counts.sum(axis=0)
    background: Floats = totals / totals.sum()
    return background


def _rarity(counts: csr_array) -> Floats:
    """Inverse document frequency, above 0."""
    present = (counts > 0).sum(axis=0)
    rarity: Floats = np.log((counts.shape[0] + 1) / (present + 0.5))
    return rarity


def _field_features(
    terms: csr_array, counts: csr_array, background: Floats, rarity: Floats
) -> dict[str, Floats]:
    """Each feature of all queries (rows) and documents (columns), in one field."""
    lengths = counts.sum(axis=1)
    distinct = (counts > 0).sum(axis=1)
    size = terms.sum(axis=1)[:, None]

    def total(function: Callable[[Floats, Integers, Integers], Floats]) -> Floats:
        """Sum over a query's words of a function of counts, documents and words: 0 at count 0."""
        values: Floats = (terms @ _mapped(counts, function).T).toarray()
        return values

    # The logarithm of a smoothed probability has two parts: the weighted background, which every
    # word has, and what the word's count adds. A document without words is background alone.
    words = (terms @ np.log(background))[:, None]
    empty = lengths == 0
    left_over = np.where(empty, 1.0, DISCOUNT * distinct / np.maximum(lengths, 1))
    return {
        "count": total(lambda c, d, w: c),
        "log count": total(lambda c, d, w: np.log1p(c)),
        "count per word": total(lambda c, d, w: c / lengths[d]),
        "count by rarity": total(lambda c, d, w: c * rarity[w]),
        "BM25": (terms @ _bm25(counts, rarity).T).toarray(),
        "Dirichlet": total(lambda c, d, w: np.log1p(c / (PRIOR * background[w])))
        + words
        + size * np.log(PRIOR / (lengths + PRIOR)),
        "Jelinek-Mercer": total(
            lambda c, d, w: np.log1p((1 - SHARE) * c / (lengths[d] * SHARE * background[w]))
        )
        + words
        + size * np.where(empty, 0.0, np.log(SHARE)),
        "absolute discount": total(
            lambda c, d, w: np.log1p((c - DISCOUNT) / (DISCOUNT * distinct[d] * background[w]))
        )
        + words
        + size * np.log(left_over),
        "coverage": total(lambda c, d, w: np.ones_like(c)) / np.maximum(size, 1),
        "length": np.repeat(lengths[None, :], terms.shape[0], axis=0),
    }


def _mapped(
    counts: csr_array, function: Callable[[Floats, Integers, Integers], Floats]
) -> csr_array:
    document = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    data = function(counts.data, document, counts.indices)
    return csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def _bm25(counts: csr_array, rarity: Floats) -> csr_array:
    lengths = counts.sum(axis=1)
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    return _mapped(counts, lambda c, d, w: rarity[w] * c * (K1 + 1) / (c + norm[d]))


def _cosine(queries: csr_array, counts: csr_array, rarity: Floats) -> Floats:
    """Cosines between the vectors of counts times rarity."""
    left, right = (_unit(matrix @ diags_array(rarity)) for matrix in (queries, counts))
    cosines: Floats = (left @ right.T).toarray()
    return cosines


def _unit(rows: csr_array) -> csr_array:
    norms = np.sqrt((rows**2).sum(axis=1))
    return diags_array(1 / np.where(norms > 0, norms, 1.0)) @ rows
