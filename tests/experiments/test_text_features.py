"""Against loops over words, by the definitions."""

from math import log, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from localrank.experiments.text_collections import TextCollection, raw_features

TITLES = ["Flow past wings", "heat", "", "Wing heat, heat!", "shock"]
BODIES = [
    "the flow of air past a wing wing",
    "heat in shells and heat in plates",
    "flow flow flow",
    "",
    "nothing like it",
]
# A word twice, a stop word, a word that no document has; a query without judgments; another.
QUERIES = ["the heat of a heat wing zeppelin", "air", "flow past shock"]
JUDGMENTS = np.array([[0, 1, 4], [0, 3, 2], [2, 0, 1], [2, 4, 3]])


def words(text):
    kept = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return [word for word in kept if word not in ENGLISH_STOP_WORDS]


def naive(collection, query, document):
    """The features of one pair, by name."""
    texts = [words(f"{t} {b}") for t, b in zip(collection.titles, collection.bodies, strict=True)]
    everything = [word for text in texts for word in text]
    asked = [word for word in words(collection.queries[query]) if word in everything]
    terms = set(asked)
    p = {w: everything.count(w) / len(everything) for w in set(everything)}
    n = len(texts)
    idf = {w: log((n + 1) / (sum(w in text for text in texts) + 0.5)) for w in p}

    features = {}
    for name, field in (("title", collection.titles), ("body", collection.bodies)):
        if not any(field):
            continue
        split = [words(text) for text in field]
        text_words, mean = split[document], np.mean([len(text) for text in split])
        c, size = {w: text_words.count(w) for w in terms}, len(text_words)
        absolute = {
            w: (max(c[w] - 0.7, 0) + 0.7 * len(set(text_words)) * p[w]) / size if size else p[w]
            for w in c
        }
        mixed = {w: 0.9 * c[w] / size + 0.1 * p[w] if size else p[w] for w in c}
        features |= {
            f"{name} count": sum(c.values()),
            f"{name} log count": sum(log(1 + c[w]) for w in c),
            f"{name} count per word": sum(c[w] / size for w in c if size),
            f"{name} count by rarity": sum(c[w] * idf[w] for w in c),
            f"{name} BM25": sum(
                idf[w] * c[w] * 2.2 / (c[w] + 1.2 * (0.25 + 0.75 * size / mean)) for w in c
            ),
            f"{name} Dirichlet": sum(log((c[w] + 2000 * p[w]) / (size + 2000)) for w in c),
            f"{name} Jelinek-Mercer": sum(log(mixed[w]) for w in c),
            f"{name} absolute discount": sum(log(absolute[w]) for w in c),
            f"{name} coverage": sum(c[w] > 0 for w in c) / len(c),
            f"{name} length": size,
        }
    left = {w: asked.count(w) * idf[w] for w in terms}
    right = {w: texts[document].count(w) * idf[w] for w in set(texts[document])}
    norms = sqrt(sum(v**2 for v in left.values()) * sum(v**2 for v in right.values()))
    cosine = sum(left[w] * right.get(w, 0) for w in left) / norms if norms else 0.0
    return {**features, "rarity": sum(idf[w] for w in terms), "cosine": cosine}


@pytest.fixture
def collection():
    return TextCollection("cran", TITLES, BODIES, QUERIES, JUDGMENTS)


@pytest.mark.parametrize("titles", [TITLES, [""] * 5])
def test_features_are_those_of_loops_over_words(collection, titles):
    bodies = BODIES if any(titles) else [f"{t} {b}" for t, b in zip(TITLES, BODIES, strict=True)]
    collection = TextCollection("npl", titles, bodies, QUERIES, JUDGMENTS)
    dataset = raw_features(collection)
    assert dataset.n_documents == 2 * 5
    for row, (query, document) in enumerate(
        zip(dataset.query_ids[dataset.query_index], dataset.document_ids, strict=True)
    ):
        expected = naive(collection, query - 1, int(document) - 1)
        assert list(expected) == list(dataset.feature_names)
        assert_allclose(dataset.features[row], list(expected.values()), rtol=1e-12, atol=1e-12)


def test_a_query_keeps_its_highest_documents_by_bm25_of_the_whole_text(collection):
    whole = [f"{t} {b}" for t, b in zip(TITLES, BODIES, strict=True)]
    one_field = TextCollection("npl", [""] * 5, whole, QUERIES, JUDGMENTS)
    for query, document_ids in enumerate(np.split(raw_features(collection, 2).document_ids, 2)):
        scores = [naive(one_field, 2 * query, document)["body BM25"] for document in range(5)]
        assert [int(document) - 1 for document in document_ids] == list(
            np.argsort(-np.array(scores))[:2]
        )


def test_labels_are_grades_and_0_where_nothing_was_judged(collection):
    dataset = raw_features(collection)
    assert dataset.query_ids.tolist() == [1, 3]
    labels = {
        (int(dataset.query_ids[q]) - 1, int(d) - 1): int(label)
        for q, d, label in zip(
            dataset.query_index, dataset.document_ids, dataset.labels, strict=True
        )
    }
    judged = {(q, d): grade for q, d, grade in JUDGMENTS}
    assert labels == {(q, d): judged.get((q, d), 0) for q in (0, 2) for d in range(5)}
