from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from text.naive_text import features as naive_features
from text.naive_text import pairs, window

from localrank.text import FeatureExtractor

words = st.lists(st.sampled_from("abcdefgh"), max_size=10)
corpora = st.lists(st.tuples(words, words), min_size=1, max_size=7)
# Letters that no corpus has are unknown terms.
queries = st.lists(st.sampled_from("abcdxy"), max_size=5)


def fitted(texts, **parameters):
    corpus = [
        {"id": number, "title": " ".join(title), "body": " ".join(body)}
        for number, (title, body) in enumerate(texts)
    ]
    extractor = FeatureExtractor(["title", "body"], features="all", **parameters)
    return extractor.fit(corpus), corpus


def streams_of(texts):
    return {
        "title": [title for title, _ in texts],
        "body": [body for _, body in texts],
        "whole": [title + body for title, body in texts],
    }


@settings(max_examples=80)
@given(corpora, queries)
def test_every_feature_is_its_formula(texts, query):
    extractor, _ = fitted(texts)
    dataset = extractor.transform(
        {"q": " ".join(query)}, {"q": [str(number) for number in range(len(texts))]}
    )
    for name, values in zip(dataset.feature_names, dataset.features.T, strict=True):
        if name == "query_length":
            assert set(values) == {len(query)}
            continue
        stream, feature = name.split(".")
        collection = streams_of(texts)[stream]
        if feature in ("window", "pairs"):
            naive = {"window": window, "pairs": pairs}[feature]
            expected = [naive(query, document) for document in collection]
        else:
            expected = [
                naive_features(query, document, collection)[feature] for document in collection
            ]
        assert_allclose(values, expected, rtol=1e-12, atol=1e-13, err_msg=name)


@settings(max_examples=60)
@given(corpora, queries, st.lists(st.tuples(words, words), min_size=1, max_size=3))
def test_documents_given_as_texts_have_the_features_of_their_formulas(texts, query, given_texts):
    extractor, _ = fitted(texts)
    documents = [{"title": " ".join(title), "body": " ".join(body)} for title, body in given_texts]
    table = extractor.features_of(" ".join(query), documents)
    collections, given_streams = streams_of(texts), streams_of(given_texts)
    for name, values in zip(extractor.feature_names, table.T, strict=True):
        stream, _, feature = name.rpartition(".")
        if stream and feature not in ("window", "pairs"):
            expected = [
                naive_features(query, document, collections[stream])[feature]
                for document in given_streams[stream]
            ]
            assert_allclose(values, expected, rtol=1e-12, atol=1e-13, err_msg=name)


@settings(max_examples=60)
@given(corpora, queries)
def test_a_document_has_the_same_features_as_text_and_in_the_index(texts, query):
    extractor, corpus = fitted(texts)
    indexed = extractor.transform([" ".join(query)], {"1": [document["id"] for document in corpus]})
    as_texts = extractor.features_of(" ".join(query), corpus)
    assert_allclose(as_texts, indexed.features, rtol=1e-13, atol=1e-15)


def test_parameters_are_those_of_the_formulas():
    texts = [(["a", "b"], ["a", "c", "c"]), (["b"], ["d"]), ([], ["a"])]
    extractor, corpus = fitted(texts, k1=2.0, b=0.3, prior=10.0, share=0.4, discount=0.2)
    table = extractor.features_of("a c c", corpus)
    for stream, collection in streams_of(texts).items():
        for feature in ("bm25", "lm_abs", "lm_dir", "lm_jm"):
            expected = [
                naive_features(
                    ["a", "c", "c"], document, collection, k1=2.0, b=0.3, mu=10, lam=0.4, delta=0.2
                )[feature]
                for document in collection
            ]
            column = extractor.feature_names.index(f"{stream}.{feature}")
            assert_allclose(table[:, column], expected, rtol=1e-12)


def test_language_models_by_hand():
    # Eight words in all: "a" three times, "b" once; the first document is "a a b c".
    corpus = [{"id": 1, "text": "a a b c"}, {"id": 2, "text": "a c d d"}]
    extractor = FeatureExtractor(
        features=["lm_jm", "lm_dir", "lm_abs"], share=0.5, prior=4, discount=0.5
    ).fit(corpus)
    table = extractor.features_of("a b", corpus[:1])
    # p(a) = (3 + 1) / (8 + 1), p(b) = (1 + 1) / (8 + 1); three different words.
    # Half a document and half the collection: (1/4 + 2/9) (1/8 + 1/9), by both of the first.
    # Discounted: (3/8 + 3/8 4/9) (1/8 + 3/8 2/9).
    assert_allclose(table[0], [log(289 / 2592), log(289 / 2592), log(65 / 576)], rtol=1e-14)


@pytest.mark.parametrize("query", ["", "...", "unknown words"])
def test_queries_without_known_terms_have_finite_features(query):
    extractor, corpus = fitted([(["a"], ["b", "c"]), ([], [])])
    assert np.isfinite(extractor.features_of(query, corpus)).all()


def test_statistics_of_one_document_are_finite():
    extractor, corpus = fitted([(["a"], ["a"])])
    assert np.isfinite(extractor.features_of("a b", corpus)).all()
