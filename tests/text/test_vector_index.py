import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import Vectors
from localrank.text import VectorIndex, _nearest


def naive(vectors, query, k, metric):
    """Pairs of row and score, the best first; each score by the formula in float64."""
    scored = []
    for row, vector in enumerate(vectors.astype(float)):
        score = float(vector @ query)
        if metric == "cosine":
            if not vector.any() or not query.any():
                continue
            score /= np.sqrt(vector @ vector) * np.sqrt(query @ query)
        scored.append((-score, row))
    return [(row, -score) for score, row in sorted(scored)][:k]


# Small whole numbers: products are exact, and many are equal.
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 5), st.integers(1, 50),
    st.sampled_from(["cosine", "product"]), st.integers(1, 9), st.integers(1, 3),
)  # fmt: skip
def test_search_is_the_naive_one(seed, n, n_queries, k, metric, block, block_queries):
    draw = np.random.default_rng(seed)
    vectors = draw.integers(-2, 3, (n, 3)).astype(np.float32)
    queries = draw.integers(-2, 3, (n_queries, 3)).astype(np.float32)
    index = VectorIndex((np.arange(n), vectors), metric=metric)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_nearest, "_BLOCK_ROWS", block)
        patch.setattr(_nearest, "_BLOCK_QUERIES", block_queries)
        rows, scores, offsets = index.rows(queries, k)
    for query in range(n_queries):
        expected = naive(vectors, queries[query], k, metric)
        own = slice(offsets[query], offsets[query + 1])
        assert_allclose(scores[own], [score for _, score in expected], atol=1e-6)
        if metric == "product":
            assert rows[own].tolist() == [row for row, _ in expected]
        # Cosines are rounded, so that equal ones may change places.
        assert len(set(rows[own].tolist())) == len(expected)


def test_a_rotation_of_all_vectors_changes_nothing():
    draw = np.random.default_rng(0)
    vectors, queries = draw.normal(size=(200, 8)), draw.normal(size=(5, 8))
    rotation = np.linalg.qr(draw.normal(size=(8, 8)))[0]
    one = VectorIndex((np.arange(200), vectors)).rows(queries, 20)
    other = VectorIndex((np.arange(200), vectors @ rotation)).rows(queries @ rotation, 20)
    assert_array_equal(one[0], other[0])
    assert_allclose(one[1], other[1], atol=1e-5)


def test_a_run_has_the_ids_of_queries_and_documents():
    index = VectorIndex({"a": [1, 0], "b": [0, 1], "zero": [0, 0]})
    run = index.search({"x": [1, 0.1], "nothing": [0, 0], "y": [0, 1]}, k=5)
    assert run.query_ids.tolist() == ["x", "x", "y", "y"]
    assert run.document_ids.tolist() == ["a", "b", "b", "a"]


def test_queries_without_direction_find_nothing():
    assert VectorIndex({"a": [1, 0]}).search({"q": [0, 0]}).scores.size == 0


def test_vectors_may_stay_in_their_file(tmp_path):
    values = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32)
    np.save(tmp_path / "v.npy", values)
    mapped = Vectors(np.arange(100), np.load(tmp_path / "v.npy", mmap_mode="r"))
    one = VectorIndex(mapped).rows(values[:3], 7)
    other = VectorIndex((np.arange(100), values)).rows(values[:3], 7)
    for found, expected in zip(one, other, strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("metric", ["cosine", "product"])
def test_approximate_search_finds_most_with_exact_scores(metric):
    pytest.importorskip("usearch", reason="the extra ann is not installed")
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(2000, 16)).astype(np.float32)
    vectors[5] = 0
    queries = draw.normal(size=(20, 16)).astype(np.float32)
    exact = VectorIndex((np.arange(2000), vectors), metric=metric)
    graph = VectorIndex((np.arange(2000), vectors), metric=metric, approximate=True)
    expected, found = exact.rows(queries, 10), graph.rows(queries, 10)
    assert_array_equal(found[2], expected[2])
    shared = 0
    for query in range(20):
        own = slice(found[2][query], found[2][query + 1])
        known = dict(zip(expected[0][own].tolist(), expected[1][own], strict=True))
        pairs = dict(zip(found[0][own].tolist(), found[1][own], strict=True))
        shared += len(known.keys() & pairs.keys())
        for row in known.keys() & pairs.keys():
            assert_allclose(pairs[row], known[row], rtol=1e-5)
        assert (np.diff(found[1][own]) <= 0).all()
    assert shared >= 195
    one = graph.rows(queries[:1], 10)
    assert_array_equal(one[0], found[0][:10])


def test_vectors_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"must have 2 numbers.* Got shape \(1, 3\) instead"):
        VectorIndex({"a": [1, 0]}).search({"q": [1, 2, 3]})


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="'cosine' or 'product'. Got 'l2' instead"):
        VectorIndex({"a": [1, 0]}, metric="l2")
    with pytest.raises(ValueError, match="The k must be a whole number, 1 or larger"):
        VectorIndex({"a": [1, 0]}).search({"q": [1, 2]}, k=0)
