"""What every representation promises, checked for every one that declares itself."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from localrank import representations
from localrank.data import RankingDataset, make_queries
from localrank.registry import declared, make_sample
from localrank.representations import (
    Gaussian,
    PrincipalComponents,
    RelevantMean,
    Scaled,
    TopDocuments,
    TopScores,
)

# Those that do differently for other parameters.
VARIANTS = [
    Gaussian("bhattacharyya"),
    PrincipalComponents(2),
    Scaled(Gaussian()),
    Scaled(RelevantMean()),
    TopDocuments(3, feature=1, columns=[0, 2]),
    TopScores(3, n_components=2),
]


DECLARED = [make_sample(part) for part in declared(representations).values()]


@pytest.fixture(params=DECLARED + VARIANTS, ids=repr)
def representation(request):
    return clone(request.param)


@pytest.fixture(scope="module")
def clouds():
    """Queries whose documents spread in every direction."""
    return make_queries(12, n_documents=(10, 30), n_features=5, n_types=2, random_state=3)[0]


@pytest.fixture(scope="module")
def poor():
    """Queries of one document, of equal documents, with constant features, and an ordinary one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5))
    qid = np.repeat([1, 2, 3, 4, 5], [1, 4, 5, 2, 8])
    X[1:5] = X[1]
    X[5:10, :3] = 0.1
    X[:, 4] = 0.3
    return RankingDataset.from_arrays(X, rng.integers(0, 3, size=20), qid)


def shuffled(dataset, seed=0):
    """The same queries, the documents of each in another order."""
    order = np.lexsort(
        (np.random.default_rng(seed).random(dataset.n_documents), dataset.query_index)
    )
    return rearranged(dataset, order)


def test_the_constructor_only_stores(representation):
    for name, value in representation.get_params(deep=False).items():
        assert getattr(representation, name) is value
    assert not [name for name in vars(representation) if name.endswith("_")]


def test_a_clone_has_the_same_parameters_and_is_not_fitted(representation, clouds):
    twin = clone(representation.fit(clouds))
    assert repr(twin) == repr(representation)
    with pytest.raises(NotFittedError):
        twin.transform(clouds)


def test_fit_returns_the_representation_and_queries_are_along_the_first_axis(
    representation, clouds
):
    assert representation.fit(clouds) is representation
    A = representation.transform(clouds)
    assert len(A) == clouds.n_queries
    assert A.dtype == np.float64
    assert np.isfinite(A).all()
    assert representation.points is (A.ndim == 2)


def test_queries_are_described_alike_alone_and_among_others(representation, clouds):
    A = representation.fit(clouds).transform(clouds)
    some = representation.transform(clouds.select([7, 2]))
    assert_allclose(some, A[[7, 2]], rtol=1e-12, atol=1e-12)


def test_the_order_of_documents_does_not_matter(representation, clouds):
    other = shuffled(clouds)
    twin = clone(representation).fit(other)
    A, B = representation.fit(clouds).transform(clouds), twin.transform(other)
    expected = representation.distances(A, A)
    assert_allclose(twin.distances(B, B), expected, rtol=1e-9, atol=1e-9)
    assert_allclose(representation.distances(A, B), expected, rtol=1e-9, atol=1e-9)
    if representation.points:
        assert_allclose(B, A, rtol=1e-9, atol=1e-12)


def test_distances_are_symmetric_positive_and_zero_between_equal_queries(representation, clouds):
    A = representation.fit(clouds).transform(clouds)
    distances = representation.distances(A, A)
    assert distances.shape == (12, 12)
    assert_allclose(distances, distances.T, rtol=1e-12, atol=1e-13)
    assert (distances >= 0).all()
    assert_allclose(np.diag(distances), 0, atol=1e-12)
    assert (distances[~np.eye(12, dtype=bool)] > 1e-6).all()


def test_distances_of_some_queries_are_part_of_those_of_all(representation, clouds):
    A = representation.fit(clouds).transform(clouds)
    some = representation.distances(A[2:5], A[1:])
    assert some.shape == (3, 11)
    assert_allclose(some, representation.distances(A, A)[2:5, 1:], rtol=1e-12, atol=1e-12)


def test_points_have_euclidean_distances(representation, clouds):
    A = representation.fit(clouds).transform(clouds)
    if representation.points:
        expected = np.linalg.norm(A[:, None] - A, axis=-1)
        assert_allclose(representation.distances(A, A), expected)


def test_similarities_are_one_for_equal_queries_and_fall_with_the_distance(representation, clouds):
    representation.fit(clouds)
    similarities = representation.similarities(np.linspace(0, 1, 20)[None])
    assert similarities.shape == (1, 20)
    assert similarities[0, 0] == 1
    assert (np.diff(similarities) < 0).all()
    assert (similarities >= 0).all()


def test_poor_queries_are_described(representation, poor):
    A = representation.fit(poor).transform(poor)
    assert np.isfinite(A).all()
    distances = representation.distances(A, A)
    assert np.isfinite(distances).all()
    assert (distances >= 0).all()


def test_poor_queries_are_described_by_what_others_taught(representation, clouds, poor):
    A, B = representation.fit(clouds).transform(clouds), representation.transform(poor)
    assert np.isfinite(B).all()
    assert np.isfinite(representation.distances(A, B)).all()


def test_documents_given_twice_are_a_query_like_others(representation, clouds):
    rows = np.repeat(np.arange(clouds.n_documents), 2)
    doubled = rearranged(clouds, rows)
    A = representation.fit(doubled).transform(doubled)
    assert np.isfinite(A).all()
    assert np.isfinite(representation.distances(A, A)).all()


def test_one_feature_is_enough(representation, clouds):
    if isinstance(representation, TopDocuments):
        representation.set_params(feature=0, columns=None)
    if "n_components" in representation.get_params():
        representation.set_params(n_components=1)
    narrow = clouds.with_features(clouds.features[:, :1])
    A = representation.fit(narrow).transform(narrow)
    assert np.isfinite(representation.distances(A, A)).all()


def test_float32_features_are_described_in_float64(representation, clouds):
    small = clouds.with_features(clouds.features.astype(np.float32))
    large = clouds.with_features(small.features.astype(np.float64))
    A = clone(representation).fit(small).transform(small)
    assert A.dtype == np.float64
    assert_allclose(A, representation.fit(large).transform(large), rtol=1e-12, atol=1e-12)


def test_inputs_stay_unchanged(representation, clouds):
    X, y, qid = clouds.features.copy(), clouds.relevance.copy(), clouds.query_index.copy()
    dataset = RankingDataset.from_arrays(X, y, qid)
    A = representation.fit(dataset).transform(dataset)
    before = A.copy()
    representation.similarities(representation.distances(A, A[:3]))
    assert_array_equal(A, before)
    assert_array_equal(X, clouds.features)
    assert_array_equal(y, clouds.relevance)


def test_fits_repeat_themselves_and_forget_earlier_ones(representation, clouds):
    fresh = clone(representation).fit(clouds).transform(clouds)
    representation.fit(clouds.select(np.arange(5)))
    assert_array_equal(representation.fit(clouds).transform(clouds), fresh)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_a_copy_describes_as_the_original(representation, clouds, again):
    A = representation.fit(clouds).transform(clouds)
    assert_array_equal(again(representation).transform(clouds), A)


def test_an_unfitted_representation_cannot_describe(representation, clouds):
    with pytest.raises(NotFittedError):
        representation.transform(clouds)


def test_another_number_of_features_is_refused(representation, clouds):
    representation.fit(clouds)
    with pytest.raises(ValueError, match="was fitted on 5 features. The dataset has 4"):
        representation.transform(clouds.with_features(clouds.features[:, :4]))


def test_a_query_is_described_by_the_values_present(representation, clouds):
    features = clouds.features.copy()
    features[3, 2] = features[::4, 1] = np.nan
    features[clouds.query_index == 5, 0] = np.nan
    holed = clouds.with_features(features)
    filled = holed.features.copy()
    medians = [
        np.nanmedian(f[:, 0]) for f in np.split(filled, clouds.offsets[1:-1]) if f[0, 0] == f[0, 0]
    ]
    for query in range(clouds.n_queries):
        documents = filled[clouds.offsets[query] : clouds.offsets[query + 1]]
        for column in range(3):
            fill = (
                np.median(medians)
                if np.isnan(documents[:, column]).all()
                else np.nanmedian(documents[:, column])
            )
            documents[np.isnan(documents[:, column]), column] = fill
    complete = clouds.with_features(filled)
    expected = clone(representation).fit(complete).transform(complete)
    assert_array_equal(representation.fit(holed).transform(holed), expected)
    assert np.isfinite(representation.fit(clouds).transform(holed)).all()


def test_labels_are_needed_only_where_it_says_so(representation, clouds):
    bare = RankingDataset.from_arrays(clouds.features, qid=clouds.query_index)
    A = representation.fit(clouds).transform(clouds)
    if representation.needs_labels:
        with pytest.raises(ValueError, match="describes queries by their labels"):
            representation.transform(bare)
        with pytest.raises(ValueError, match="describes queries by their labels"):
            representation.fit(bare)
        return
    assert_array_equal(representation.transform(bare), A)
    if getattr(representation, "feature", None) == "best":
        with pytest.raises(ValueError, match="finds the best feature by labels"):
            representation.fit(bare)
    else:
        assert_array_equal(representation.fit(bare).transform(bare), A)


def test_wrong_parameters_are_refused_in_one_form(representation, clouds):
    for name, value in representation.get_params(deep=False).items():
        kind = type(representation).__name__
        with pytest.raises(
            ValueError, match=f"'{name}' parameter of {kind} must be .* Got <object"
        ):
            representation.set_params(**{name: object()}).fit(clouds)
        representation.set_params(**{name: value})
