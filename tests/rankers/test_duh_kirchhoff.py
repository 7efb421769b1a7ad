from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from recorder import Recorder
from sklearn.decomposition import PCA, KernelPCA

from localrank.data import RankingDataset, concatenate, make_queries
from localrank.rankers import DuhKirchhoff, LambdaMART, RankBoost, RankSVM, duh_kirchhoff

KERNELS = ["linear", "poly", "rbf"]


@pytest.fixture(scope="module")
def split():
    """Training queries, and a few others to rank."""
    dataset, _ = make_queries(40, n_documents=(8, 20), n_features=8, n_types=2, random_state=1)
    dataset = dataset.replaced(feature_names=None)
    return dataset.select(range(30)), dataset.select(range(30, 40))


def clouds(dataset):
    return [dataset.features[begin:end] for begin, end in pairwise(dataset.offsets)]


def standardised(train, test):
    """Features divided by the standard deviation around the query means of the training data."""
    rest = np.concatenate([cloud - cloud.mean(axis=0) for cloud in clouds(train)])
    return (data.with_features(data.features / rest.std(axis=0)) for data in (train, test))


def within_query(train, test):
    """Features from 0 to 1 within each query."""
    for data in (train, test):
        scaled = [(c - c.min(axis=0)) / np.ptp(c, axis=0) for c in clouds(data)]
        yield data.with_features(np.concatenate(scaled))


def transcription(train, test, n_rounds, weights=None, **kernel):
    """One scikit-learn kernel PCA and one RankBoost per query."""
    scores = []
    for cloud in clouds(test):
        centre = cloud.mean(axis=0)
        components = KernelPCA(**kernel, eigen_solver="dense").fit(cloud - centre)
        projected = train.with_features(components.transform(train.features - centre))
        ranker = RankBoost(n_rounds).fit(projected, query_weight=weights)
        documents = components.transform(cloud - centre)
        scores.append(ranker.predict(documents, qid=np.zeros(len(documents), int)))
    return np.concatenate(scores)


@pytest.mark.parametrize("scaling", ["standard", "query", None])
@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "linear"},
        {"kernel": "poly"},
        {"kernel": "poly", "degree": 2, "gamma": 0.5},
        {"kernel": "rbf"},
        {"kernel": "rbf", "gamma": 0.02},
    ],
)
def test_scores_equal_those_of_a_kernel_pca_and_a_ranker_per_query(split, kernel, scaling):
    train, test = split
    weights = np.linspace(0.5, 2, train.n_queries)
    ranker = DuhKirchhoff(RankBoost(12), n_components=4, scaling=scaling, **kernel)
    scores = ranker.fit(train, query_weight=weights).predict(test)
    scaled = {"standard": standardised, "query": within_query, None: lambda *both: both}[scaling]
    train, test = scaled(train, test)
    expected = transcription(train, test, 12, weights, n_components=4, **kernel)
    assert len(np.unique(scores)) > 50
    assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)


def test_by_default_it_trains_a_hundred_rounds_of_rank_boost(split):
    train, test = split
    few = test.select(range(3))
    expected = DuhKirchhoff(RankBoost(100), n_components=10).fit(train)
    assert_array_equal(DuhKirchhoff().fit(train).predict(few), expected.predict(few))


@pytest.mark.parametrize("n_components", [1, 3, 8])
def test_plain_projections_are_those_of_a_pca_up_to_sign(split, seen, n_components):
    train, test = split
    DuhKirchhoff(Recorder(), n_components=n_components, scaling=None).fit(train).predict(test)
    for cloud, (given, *_) in zip(clouds(test), seen, strict=True):
        n = min(n_components, len(cloud) - 1)
        expected = PCA(n).fit(cloud).transform(train.features)
        assert_allclose(np.abs(given.features), np.abs(expected), rtol=1e-7, atol=1e-9)
        assert_array_equal(given.relevance, train.relevance)
        assert_array_equal(given.offsets, train.offsets)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_querys_own_projections_are_uncorrelated_with_falling_variances(split, kernel):
    train, test = split
    ranker = DuhKirchhoff(kernel=kernel, n_components=5).fit(train)
    for cloud in clouds(test):
        projected = ranker._projection(cloud)(cloud)
        assert_allclose(projected.mean(axis=0), 0, atol=1e-9)
        products = projected.T @ projected
        assert_allclose(products, np.diag(np.diag(products)), atol=1e-9 * products.max())
        assert (np.diff(np.diag(products)) < 0).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_document_farthest_along_a_component_lies_on_its_positive_side(split, kernel):
    train, test = split
    ranker = DuhKirchhoff(kernel=kernel, n_components=5).fit(train)
    for cloud in clouds(test):
        projected = ranker._projection(cloud)(cloud)
        farthest = np.abs(projected).argmax(axis=0)
        assert (projected[farthest, np.arange(projected.shape[1])] > 0).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_order_of_a_querys_documents_changes_no_bit(split, kernel, rng):
    train, test = split
    ranker = DuhKirchhoff(RankBoost(8), kernel=kernel, n_components=4).fit(train)
    order = rng.permutation(test.n_documents)
    mixed = ranker.predict(test.features[order], qid=test.query_index[order])
    assert_array_equal(mixed, ranker.predict(test)[order])


@pytest.mark.parametrize("kernel", KERNELS)
def test_documents_equal_to_training_documents_are_projected_alike(split, kernel, seen):
    train, _ = split
    ranker = DuhKirchhoff(Recorder(), kernel=kernel, n_components=3).fit(train)
    scores = ranker.predict(train)
    for query, (given, *_) in enumerate(seen):
        rows = slice(train.offsets[query], train.offsets[query + 1])
        assert_array_equal(scores[rows], given.features[rows, 0])


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_zero_of_the_features_does_not_matter(split, kernel):
    train, test = split
    shift = np.array([3.0, -40.0, 500.0, 0, 1, 2, 3, 4])
    ranker = DuhKirchhoff(RankBoost(8), kernel=kernel, n_components=4)
    plain = ranker.fit(train).predict(test)
    shifted = (data.with_features(data.features + shift) for data in (train, test))
    assert_allclose(ranker.fit(next(shifted)).predict(next(shifted)), plain, rtol=1e-9)


def test_a_polynomial_of_degree_1_is_linear(split):
    train, test = split
    linear = DuhKirchhoff(RankBoost(8), n_components=4).fit(train)
    poly = DuhKirchhoff(RankBoost(8), kernel="poly", degree=1, n_components=4).fit(train)
    assert_allclose(poly.predict(test), linear.predict(test), rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_queries_without_directions_score_0(split, kernel):
    train, _ = split
    one, same = np.full((1, 8), 7.3), np.tile(np.linspace(0.1, 1e6, 8), (5, 1))
    # The same up to rounding.
    nearly = np.tile(0.1 * np.arange(1, 9), (3, 1))
    nearly[1] += np.spacing(nearly[1])
    ranker = DuhKirchhoff(RankBoost(3), kernel=kernel).fit(train)
    for documents in (one, same, nearly):
        scores = ranker.predict(documents, qid=np.zeros(len(documents), int))
        assert_array_equal(scores, np.zeros(len(documents)))


def test_documents_as_good_as_equal_for_a_kernel_score_0(split):
    train, test = split
    ranker = DuhKirchhoff(RankBoost(3), kernel="rbf", gamma=1e-20).fit(train)
    assert not ranker.predict(test.select([0])).any()


def test_documents_unlike_any_training_document_score_0_with_a_warning(split):
    train, test = split
    ranker = DuhKirchhoff(RankBoost(3), kernel="rbf", gamma=1e20).fit(train)
    with pytest.warns(UserWarning, match="RankBoost found no feature"):
        assert not ranker.predict(test.select([0])).any()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_documents", [2, 4])
def test_there_are_no_more_directions_than_documents_differ_in(
    split, seen, kernel, n_documents, rng
):
    train, _ = split
    few = np.repeat(rng.normal(size=(n_documents, 8)), 2, axis=0)
    ranker = DuhKirchhoff(Recorder(), kernel=kernel, n_components=6).fit(train)
    ranker.predict(few, qid=np.zeros(len(few), int))
    assert seen[0][0].n_features == n_documents - 1


def test_documents_on_a_line_have_one_direction(split, seen, rng):
    train, _ = split
    line = np.linspace(-1, 1, 9)[:, None] * rng.normal(size=8) + rng.normal(size=8)
    DuhKirchhoff(Recorder(), scaling=None).fit(train).predict(line, qid=np.zeros(9, int))
    assert seen[0][0].n_features == 1


def test_a_feature_that_a_query_does_not_vary_in_does_not_count(split, seen):
    train, test = split
    features = test.features.copy()
    features[:, 2] = 1234.5678
    far = train.features.copy()
    far[:, 2] = np.random.default_rng(0).normal(size=len(far))
    ranker = DuhKirchhoff(Recorder(), n_components=4, scaling=None)
    ranker.fit(train).predict(test.with_features(features))
    ranker.fit(train.with_features(far)).predict(test.with_features(features))
    n = test.n_queries
    for (one, *_), (other, *_) in zip(seen[:n], seen[n:], strict=True):
        assert_array_equal(one.features, other.features)


def test_other_queries_change_no_bit(split):
    train, test = split
    ranker = DuhKirchhoff(RankBoost(8), kernel="rbf").fit(train)
    together = ranker.predict(test)
    for query, (begin, end) in enumerate(pairwise(test.offsets)):
        assert_array_equal(ranker.predict(test.select([query])), together[begin:end])


@pytest.mark.parametrize("block", [1, 100, 10_000])
def test_the_size_of_blocks_changes_no_bit(split, monkeypatch, block):
    train, test = split
    ranker = DuhKirchhoff(RankBoost(8), kernel="poly").fit(train)
    few = test.select([0, 1])
    expected = ranker.predict(few)
    monkeypatch.setattr(duh_kirchhoff, "BLOCK", block)
    assert_array_equal(ranker.predict(few), expected)


def test_weights_and_validation_queries_reach_the_ranker(split, seen):
    train, test = split
    few, valid = train.select(range(20)), train.select(range(20, 30))
    weights = np.linspace(1, 2, 20)
    ranker = DuhKirchhoff(Recorder(), n_components=3).fit(few, query_weight=weights, valid=valid)
    ranker.predict(test)
    everything = DuhKirchhoff(Recorder(), n_components=3).fit(few)
    # The validation queries, prepared as training queries.
    both = concatenate([few, valid])
    everything.training_ = duh_kirchhoff._kept(both, everything._scaled(both))
    everything.predict(test)
    n = test.n_queries
    for (given, query_weights, held_out, _), (joint, *_) in zip(seen[:n], seen[n:], strict=True):
        assert_array_equal(query_weights, weights)
        assert_array_equal(held_out.relevance, valid.relevance)
        assert_array_equal(np.concatenate([given.features, held_out.features]), joint.features)


def test_validation_queries_choose_the_number_of_rounds(split):
    train, test = split
    few, valid = train.select(range(20)), train.select(range(20, 30))
    plain = DuhKirchhoff(RankBoost(60, patience=5)).fit(few).predict(test)
    chosen = DuhKirchhoff(RankBoost(60, patience=5)).fit(few, valid=valid).predict(test)
    assert np.abs(plain - chosen).max() > 0.1


def test_the_wrapped_ranker_stays_as_it_is_and_works_with_one_thread(split, seen):
    train, test = split
    inner = Recorder(n_jobs=2)
    DuhKirchhoff(inner, n_jobs=2).fit(train).predict(test)
    assert [n_jobs for *_, n_jobs in seen] == [1] * test.n_queries
    assert inner.get_params() == {"n_jobs": 2}
    assert not hasattr(inner, "n_features_in_")


@pytest.mark.parametrize("inner", [LambdaMART(10, min_leaf_documents=5), RankSVM()])
def test_any_ranker_works(split, inner):
    train, test = split
    ranker = DuhKirchhoff(inner, n_components=8).fit(train)
    assert ranker.score(test) > 0.6


def test_directions_of_the_query_decide_what_is_learned(rng):
    # Two kinds of queries. In each kind, documents differ in one feature, and only it counts.
    qid = np.repeat(np.arange(40), 10)
    kinds = qid % 2
    features = rng.normal(scale=0.05, size=(400, 2))
    rows = np.arange(400)
    features[rows, kinds] = rng.normal(size=400)
    labels = (np.where(kinds == 0, 1, -1) * features[rows, kinds] > 0.5).astype(float)
    dataset = RankingDataset.from_arrays(features, labels, qid)
    train, test = dataset.select(range(30)), dataset.select(range(30, 40))
    ranker = DuhKirchhoff(RankBoost(10), n_components=1).fit(train)
    assert ranker.score(test) > 0.95


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ranker": RankBoost}, "'ranker' parameter of DuhKirchhoff must be a ranker or None"),
        ({"kernel": "cosine"}, "must be 'linear', 'poly' or 'rbf'. Got 'cosine' instead"),
        ({"n_components": 0}, "'n_components' .* must be a whole number, 1 or larger. Got 0"),
        ({"n_components": 0.5}, "'n_components' .* must be a whole number"),
        ({"degree": 0}, "'degree' .* must be a whole number from 1 to 100. Got 0 instead"),
        ({"degree": 2.5}, "'degree' .* must be a whole number"),
        ({"gamma": 0.0}, "'gamma' .* must be a finite number above 0. Got 0.0 instead"),
        ({"gamma": "scale"}, "'gamma' .* must be a finite number above 0"),
        ({"scaling": "minmax"}, "must be 'standard', 'query' or None. Got 'minmax' instead"),
    ],
)
def test_parameters_out_of_range_are_refused(queries, parameters, message):
    with pytest.raises(ValueError, match=message):
        DuhKirchhoff(**parameters).fit(queries)


def test_queries_that_the_ranker_cannot_learn_from_are_refused_at_once(queries):
    ranker = DuhKirchhoff(RankSVM(label_pairs=[(9, 0)]))
    with pytest.raises(ValueError, match=r"nothing to learn: no query .* label_pairs=\[\(9, 0\)\]"):
        ranker.fit(queries)
