"""What every selector promises, checked for every one that declares itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import localrank
from localrank import LocalRanker, selection
from localrank.data import RankingDataset
from localrank.grouping import Agglomerative, Groups
from localrank.rankers import RankSVM
from localrank.registry import declared, make_sample
from localrank.representations import Mean, RelevantMean, TopDocuments
from localrank.selection import Classifier, NearestQuery

# Those that do differently for other parameters.
VARIANTS = [
    Classifier(hard=False),
    NearestQuery(representation=TopDocuments(3)),
]
SELECTORS = [make_sample(part) for part in declared(selection).values()] + VARIANTS


@pytest.fixture(params=SELECTORS, ids=repr)
def selector(request):
    return clone(request.param)


@pytest.fixture(scope="module")
def groups(queries):
    mean = Mean().fit(queries)
    return Agglomerative(3).group(mean, mean.transform(queries))


@pytest.fixture(scope="module")
def models(queries, groups):
    return [RankSVM().fit(queries.select(members)) for members in groups]


def fitted(selector, dataset, groups):
    mean = Mean().fit(dataset)
    return selector.fit(dataset, groups, mean, mean.transform(dataset))


def without_labels(dataset):
    return RankingDataset.from_arrays(dataset.features, qid=dataset.query_index)


def test_the_constructor_only_stores(selector):
    for name, value in selector.get_params(deep=False).items():
        assert getattr(selector, name) is value
    assert not [name for name in vars(selector) if name.endswith("_")]


def test_a_clone_has_the_same_parameters_and_is_not_fitted(selector, queries, groups):
    twin = clone(fitted(selector, queries, groups))
    assert repr(twin) == repr(selector)
    assert not [name for name in vars(twin) if name.endswith("_")]


def test_weights_of_a_query_are_shares_of_the_groups(selector, queries, groups, models):
    assert fitted(selector, queries, groups) is selector
    weights = selector.weights(queries, models)
    assert weights.shape == (queries.n_queries, len(groups))
    assert weights.dtype == np.float64
    assert (weights >= 0).all()
    assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)


def test_one_group_has_all_the_weight(selector, queries, models):
    alone = Groups.from_labels(np.zeros(queries.n_queries))
    assert_array_equal(fitted(selector, queries, alone).weights(queries, models[:1]), 1)


def test_weights_do_not_depend_on_the_other_queries(selector, queries, groups, models):
    weights = fitted(selector, queries, groups).weights(queries, models)
    assert_allclose(selector.weights(queries.select([7]), models), weights[[7]], rtol=1e-12)
    some = np.array([50, 3, 21])
    assert_allclose(selector.weights(queries.select(some), models), weights[some], rtol=1e-12)


def test_the_order_of_training_queries_does_not_matter(selector, queries, groups, models):
    order = np.random.default_rng(0).permutation(queries.n_queries)
    place = np.argsort(order)
    other = fitted(clone(selector), queries.select(order), groups.renumbered(place))
    weights = fitted(selector, queries, groups).weights(queries, models)
    assert_allclose(other.weights(queries, models), weights, rtol=1e-6, atol=1e-6)


def test_fits_repeat_themselves_and_forget_earlier_ones(selector, queries, groups, models):
    fresh = fitted(clone(selector), queries, groups).weights(queries, models)
    few = queries.select(np.arange(20))
    fitted(selector, few, Groups.from_labels(np.arange(20) % 2))
    assert_array_equal(fitted(selector, queries, groups).weights(queries, models), fresh)


def test_inputs_stay_unchanged(selector, queries, groups, models):
    mean = Mean().fit(queries)
    descriptions = mean.transform(queries)
    before = [a.copy() for a in (queries.features, descriptions, groups.home, groups.members)]
    selector.fit(queries, groups, mean, descriptions).weights(queries, models)
    now = (queries.features, descriptions, groups.home, groups.members)
    for one, other in zip(now, before, strict=True):
        assert_array_equal(one, other)


def test_a_representation_of_its_own_is_used(selector, queries, groups):
    selector.set_params(representation=TopDocuments(2, columns=[1, 4]))
    fitted(selector, queries, groups)
    assert isinstance(selector.representation_, TopDocuments)
    assert selector.descriptions_.shape == (queries.n_queries, 2)
    assert not hasattr(selector.representation, "columns_")


def test_labels_are_needed_only_where_it_says_so(selector, queries, groups, models):
    weights = fitted(selector, queries, groups).weights(queries, models)
    bare = without_labels(queries)
    if selector.needs_labels:
        with pytest.raises(ValueError, match="chooses by labels. The dataset has none"):
            selector.weights(bare, models)
    else:
        assert_array_equal(selector.weights(bare, models), weights)


def test_a_representation_by_labels_is_refused_where_queries_have_none(selector, queries, groups):
    selector.set_params(representation=RelevantMean())
    if selector.needs_labels:
        fitted(selector, queries, groups)
    else:
        with pytest.raises(ValueError, match="cannot describe new .*, which needs labels"):
            fitted(selector, queries, groups)


def test_a_local_ranker_of_it_is_saved_where_it_can_serve(selector, queries, tmp_path):
    local = LocalRanker(Mean(), Agglomerative(3), RankSVM(), selector).fit(queries)
    path = tmp_path / "model.localrank"
    if selector.needs_labels:
        with pytest.raises(ValueError, match="cannot be saved: it chooses by labels"):
            local.save(path)
        return
    local.save(path)
    loaded = localrank.load(path)
    expected = local.selector_.weights(queries, local.models_)
    assert_array_equal(loaded.selector_.weights(queries, loaded.models_), expected)
    assert_array_equal(loaded.predict(queries), local.predict(queries))


def test_wrong_parameters_are_refused_in_one_form(selector, queries, groups):
    for name, value in selector.get_params(deep=False).items():
        message = f"The '{name}' parameter of {type(selector).__name__} must be .* Got <object"
        with pytest.raises(ValueError, match=message):
            fitted(selector.set_params(**{name: object()}), queries, groups)
        selector.set_params(**{name: value})
