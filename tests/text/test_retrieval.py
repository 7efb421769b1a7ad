import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from localrank.text import FeatureExtractor

words = st.lists(st.sampled_from("abcdefgh"), max_size=10)


def extractor_of(texts, **parameters):
    corpus = [{"id": number, "text": " ".join(text)} for number, text in enumerate(texts)]
    return FeatureExtractor(features=["bm25"], **parameters).fit(corpus)


def peer_scores(texts, query, method, k1, b):
    """Scores of all documents by bm25s."""
    peer = bm25s.BM25(method=method, k1=k1, b=b, dtype="float64")
    peer.index(texts, show_progress=False)
    known = [word for word in query if word in peer.vocab_dict]
    return peer.get_scores(known) if known else np.zeros(len(texts))


@pytest.mark.parametrize("variant", ["lucene", "robertson", "atire"])
@settings(max_examples=40)
@given(
    texts=st.lists(words.filter(len), min_size=2, max_size=12),
    query=st.lists(st.sampled_from("abcdxy"), min_size=1, max_size=4, unique=True),
    k1=st.sampled_from([0.9, 1.2, 2.0]),
    b=st.sampled_from([0.0, 0.4, 1.0]),
)
def test_scores_are_those_of_bm25s(variant, texts, query, k1, b):
    extractor = extractor_of(texts, variant=variant, k1=k1, b=b)
    expected = peer_scores(texts, query, variant, k1, b)
    run = extractor.retrieve([" ".join(query)], depth=len(texts))
    scores = np.zeros(len(texts))
    scores[run.document_ids.astype(int)] = run.scores
    assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)
    documents = [{"text": " ".join(text)} for text in texts]
    by_feature = extractor.features_of(" ".join(query), documents)[:, 0]
    assert_allclose(by_feature, expected, rtol=1e-6, atol=1e-9)


@settings(max_examples=100)
@given(
    texts=st.lists(words, min_size=1, max_size=30).filter(any),
    query=st.lists(st.sampled_from("abcx"), max_size=3),
    depth=st.integers(1, 12),
)
def test_the_highest_come_first_and_equal_ones_in_the_order_of_documents(texts, query, depth):
    extractor = extractor_of(texts)
    every = extractor.retrieve([" ".join(query)], depth=1000)
    order = sorted(
        range(len(every.scores)), key=lambda i: (-every.scores[i], int(every.document_ids[i]))
    )
    assert order == list(range(len(every.scores)))
    assert np.all(every.scores > 0)
    some = extractor.retrieve([" ".join(query)], depth=depth)
    assert some.document_ids.tolist() == every.document_ids[:depth].tolist()
    assert some.scores.tolist() == every.scores[:depth].tolist()


def test_documents_without_a_term_of_the_query_are_not_candidates():
    extractor = extractor_of([["a"], ["b"], []])
    assert extractor.retrieve(["a x"]).document_ids.tolist() == ["0"]
    run = extractor.retrieve(["", "x", "b"])
    assert (run.query_ids.tolist(), run.document_ids.tolist()) == (["3"], ["1"])
    assert len(extractor.retrieve(["x"]).scores) == 0


def test_queries_do_not_disturb_each_other():
    rng = np.random.default_rng(0)
    texts = [list(rng.choice(list("abcdefgh"), size=rng.integers(0, 20))) for _ in range(300)]
    extractor = extractor_of(texts)
    asked = ["a b", "c", "a a h", "", "x", "b"]
    together = extractor.retrieve(asked, depth=20)
    for number, query in enumerate(asked):
        alone = extractor.retrieve([query], depth=20)
        of_query = together.query_ids == str(number + 1)
        assert together.document_ids[of_query].tolist() == alone.document_ids.tolist()
        assert together.scores[of_query].tolist() == alone.scores.tolist()


def test_a_word_that_the_query_repeats_counts_as_often():
    extractor = extractor_of([["a"], ["b"]])
    twice, once = extractor.retrieve(["a a"]).scores, extractor.retrieve(["a"]).scores
    assert_allclose(twice, 2 * once)
