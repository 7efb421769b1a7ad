import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank import LocalRanker
from localrank.data import RankingDataset, make_queries
from localrank.grouping import Agglomerative
from localrank.rankers import RankSVM
from localrank.representations import PrincipalComponents, RelevantContrast, TopContrast
from localrank.selection import NearestCentroid, NearestQuery


@pytest.fixture(scope="module")
def clouds():
    return make_queries(8, n_documents=(8, 15), n_features=5, random_state=1)[0]


def scatter_of_pairs(X, relevance):
    """The mean of (x - x')(x - x')^T over pairs, a pair weighing as both its documents do."""
    total, matrix = 0.0, np.zeros((X.shape[1], X.shape[1]))
    for x, good in zip(X, relevance, strict=True):
        for other, also_good in zip(X, relevance, strict=True):
            weight = good * (1 - also_good)
            matrix += weight * np.outer(x - other, x - other)
            total += weight
    return matrix / total


def assert_leading(directions, matrix):
    values, vectors = np.linalg.eigh(matrix)
    for p, direction in enumerate(directions, 1):
        assert values[-p] - values[-p - 1] > 1e-6
        assert_allclose(abs(direction @ vectors[:, -p]), 1, rtol=1e-9)


@pytest.mark.parametrize(
    "representation", [RelevantContrast(relevance_level=99), TopContrast(n=10_000)], ids=repr
)
def test_queries_of_one_kind_alone_are_refused(queries, representation):
    with pytest.raises(ValueError, match="needs a training query with documents of both kinds"):
        representation.fit(queries)


@pytest.mark.parametrize("level", [None, 2.0])
def test_directions_are_those_of_the_scatter_of_relevant_and_other_documents(clouds, level):
    described = RelevantContrast(3, level).fit(clouds).transform(clouds)
    shares = []
    for query, directions in enumerate(described):
        of_query = clouds.query_index == query
        relevant = clouds.labels[of_query] >= (level or 1)
        assert 0 < relevant.sum() < of_query.sum()
        matrix = scatter_of_pairs(clouds.features[of_query], relevant.astype(float))
        assert_leading(directions, matrix)
        shares.append(np.linalg.eigvalsh(matrix)[::-1] / np.trace(matrix))
    explained = RelevantContrast(3, level).fit(clouds).explained_
    assert_allclose(explained, np.mean(shares, axis=0), rtol=1e-9)


@pytest.mark.parametrize("n", [1, 4])
def test_without_labels_the_top_documents_stand_for_the_relevant_ones(clouds, n):
    described = TopContrast(3, n=n, feature=2).fit(clouds).transform(clouds)
    for query, directions in enumerate(described):
        X = clouds.features[clouds.query_index == query]
        top = np.argsort(np.argsort(-X[:, 2])) < n
        assert_leading(directions, scatter_of_pairs(X, top.astype(float)))


def test_documents_that_tie_at_the_cut_are_partly_of_both_kinds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4))
    X[:, 0] = [3.0, 2.0, 2.0, 2.0, 1.0, 0.0]
    dataset = RankingDataset.from_arrays(X, qid=np.ones(6))
    (directions,) = TopContrast(3, n=2, feature=0).fit(dataset).transform(dataset)
    assert_leading(directions, scatter_of_pairs(X, [1, 1 / 3, 1 / 3, 1 / 3, 0, 0]))


def test_labels_that_say_nothing_leave_the_principal_components():
    """Each document in both kinds: then pairs of both kinds are all pairs."""
    X = np.random.default_rng(0).normal(size=(20, 5))
    twice = RankingDataset.from_arrays(np.vstack([X, X]), np.repeat([1, 0], 20), qid=np.ones(40))
    (contrast,) = RelevantContrast(3).fit(twice).transform(twice)
    (components,) = PrincipalComponents(3).fit(twice).transform(twice)
    assert_allclose(contrast, components, atol=1e-9)


@pytest.mark.parametrize("kind", [RelevantContrast(2), TopContrast(2, n=3, feature=1)], ids=repr)
def test_a_cloud_may_be_shifted_and_scaled(clouds, kind):
    before = kind.fit(clouds).transform(clouds)
    shift = np.random.default_rng(0).normal(size=(clouds.n_queries, 5))[clouds.query_index]
    factor = np.linspace(0.1, 30, clouds.n_queries)[clouds.query_index, None]
    after = kind.transform(clouds.with_features(factor * (clouds.features + 10 * shift)))
    assert_allclose(after, before, atol=1e-8)


@pytest.mark.parametrize("kind", [RelevantContrast(2), TopContrast(2, n=3, feature=1)], ids=repr)
def test_a_large_offset_takes_no_digits(clouds, kind):
    exact = clouds.with_features(np.round(clouds.features * 2**10) / 2**10)
    far = clouds.with_features(exact.features + 2**40)
    assert_array_equal(far.features - 2**40, exact.features)
    before = kind.fit(exact).transform(exact)
    assert_allclose(kind.fit(far).transform(far), before, rtol=0, atol=1e-9)


def test_documents_of_one_kind_give_no_direction(clouds):
    labels = clouds.labels.copy()
    labels[clouds.query_index == 0] = 0
    labels[clouds.query_index == 1] = 1
    dataset = RankingDataset.from_arrays(clouds.features, labels, clouds.query_index)
    described = RelevantContrast(2).fit(dataset).transform(dataset)
    lengths = np.linalg.norm(described, axis=2)
    assert_array_equal(lengths[:2], 0)
    assert_allclose(lengths[2:], 1)
    top = TopContrast(2, n=3, feature=0).fit(clouds)
    few = clouds.with_rows(np.arange(3), np.array([0, 3]), np.array([0]))
    assert_array_equal(top.transform(few), 0)


def test_labels_group_training_queries_and_top_documents_select(clouds):
    parts = RelevantContrast(), Agglomerative(2), RankSVM()
    with pytest.raises(ValueError, match="NearestQuery cannot describe new queries"):
        LocalRanker(*parts, NearestQuery()).fit(clouds)
    bare = clouds.replaced(relevance=None)
    for selector in (NearestQuery, NearestCentroid):
        local = LocalRanker(*parts, selector(representation=TopContrast(n=3))).fit(clouds)
        assert_array_equal(local.predict(bare), local.predict(clouds))
    hashed = LocalRanker(*parts, NearestQuery("lsh", representation=TopContrast(n=3))).fit(clouds)
    assert np.isfinite(hashed.predict(bare)).all()
