"""An example request for each model, whose documents get different scores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.rankers import Ranker

if TYPE_CHECKING:
    from localrank.text import TextRanker

N_DOCUMENTS = 8
# Units of made-up features.
SIZES = (10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 0.1, 0.01)
# Terms of an index that are looked at, the fewest letters of a word, and the queries tried.
N_TERMS, N_LETTERS, N_TRIED = 200, 5, 10


def example_of(ranker: Ranker, texts: TextRanker | None) -> dict[str, Any] | None:
    """The content of a request that the model ranks. None: it refuses all made-up documents.

    A model file holds no documents, and not the units of its features. So values of several units
    are tried. Those that the model tells apart best are used.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(60)
    >>> len(example_of(RankSVM().fit(dataset), None)["documents"])
    8
    """
    if texts is not None and texts.extractor_.takes_words_alone and (words := _words(texts)):
        return {"query": words}
    names = getattr(ranker, "feature_names_in_", None)
    known = None if names is None else tuple(names.tolist())
    best, n_best, vectors, door = None, 0, None, ranker._door
    if door.needs_vectors:
        shape = (N_DOCUMENTS, door.n_dimensions or 1)
        vectors = np.random.default_rng(1).normal(size=shape).round(2)
    for table in _tables(ranker.n_features_in_):
        dataset = RankingDataset.from_arrays(
            table, qid=np.zeros(N_DOCUMENTS, np.int64), feature_names=known, vectors=vectors
        )
        # A model may refuse documents that are too far from its training data.
        with suppress(ValueError):
            n_different = len(np.unique(ranker.predict(dataset)))
            if n_different > n_best:
                best, n_best = table, n_different
    if best is None:
        return None
    rows = enumerate(best.tolist(), start=1)
    documents = [{"id": f"doc-{number}", "features": row} for number, row in rows]
    for document, vector in zip(
        documents, [] if vectors is None else vectors.tolist(), strict=False
    ):
        document["vector"] = vector
    return {"documents": documents}


def _tables(n_features: int) -> Iterator[Floats]:
    """Made-up documents: shares, standard scores, numbers up to some size, and of all sizes."""
    rng = np.random.default_rng(0)
    shape = (N_DOCUMENTS, n_features)
    shares = rng.random(shape).round(2)
    yield shares
    yield rng.normal(size=shape).round(2)
    for size in SIZES:
        yield shares * size
    sizes = 10 ** rng.uniform(-2, 6, shape)
    rounded = np.vectorize(lambda value: float(f"{value:.3g}"), otypes=[float])(sizes)
    yield rounded
    yield rounded * rng.choice([-1, 1], shape)


def _words(texts: TextRanker) -> str | None:
    """Two words of the index that stand in the same documents, or one. None: it has no such."""
    index = texts.extractor_.index_
    stream, vocabulary = index.streams[-1], index.vocabulary
    # Words of a few documents: others find one document, or nearly all.
    distances = np.abs(np.diff(stream.begins) - np.cbrt(index.n_documents))
    nearest = np.argpartition(distances, min(N_TERMS, len(distances) - 1))[:N_TERMS]
    documents: dict[str, set[int]] = {}
    for term in np.sort(nearest).tolist():
        letters = vocabulary.letters[slice(*vocabulary.begins[term : term + 2])]
        word = letters.tobytes().decode(errors="replace")
        if len(word) >= N_LETTERS and word.isalpha():
            of_word = stream.documents[slice(*stream.begins[term : term + 2])]
            documents[word] = set(of_word.tolist())

    def overlap(pair: tuple[str, str]) -> float:
        first, second = (documents[word] for word in pair)
        return len(first & second) / len(first | second)

    pairs = sorted(combinations(documents, 2), key=overlap, reverse=True)[:N_TRIED]
    for words in [*pairs, *([word] for word in list(documents)[:N_TRIED])]:
        query = " ".join(words)
        # A stem may be no word of its own to the analyzer, and find nothing.
        if len(np.unique(texts.rank(query).scores)) > 1:
            return query
    return None
