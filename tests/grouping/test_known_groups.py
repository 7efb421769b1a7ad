import numpy as np
import pytest
from numpy.testing import assert_array_equal

import localrank
from localrank import LocalRanker
from localrank.data import RankingDataset, make_queries
from localrank.grouping import Agglomerative, KnownGroups
from localrank.rankers import RankSVM
from localrank.representations import Mean, TopDocuments
from localrank.selection import NearestCentroid, NearestQuery, SameCategory

NAMES = ["news", "shops", "people"]


@pytest.fixture(scope="module")
def typed():
    """Training and test queries of three types, and the types."""
    dataset, types = make_queries(90, n_documents=(4, 9), n_features=6, n_types=3, separation=1)
    return dataset.select(range(60)), dataset.select(range(60, 90)), types


@pytest.fixture(scope="module")
def kinds(typed):
    """The category of every query by its id."""
    _, _, types = typed
    return {query: NAMES[kind] for query, kind in enumerate(types, start=1)}


def with_column(dataset, values):
    """The dataset with a last feature named "kind"."""
    column = np.asarray(values, dtype=float)[dataset.query_index]
    return dataset.with_features(
        np.column_stack([dataset.features, column]), [*dataset.feature_names, "kind"]
    )


def known(categories, **parameters):
    few = Mean() if isinstance(categories, dict) else TopDocuments(3, columns=[0, 1, 2])
    selector = SameCategory(categories, **parameters)
    return LocalRanker(few, KnownGroups(categories), RankSVM(), selector)


def test_each_category_is_a_group_with_the_model_of_its_queries(typed, kinds):
    train, test, types = typed
    local = known(kinds).fit(train)
    order = np.argsort(NAMES)
    for group, kind in enumerate(order):
        members = np.flatnonzero(types[:60] == kind)
        assert_array_equal(local.groups_[group], members)
        alone = RankSVM().fit(train.select(members))
        asked = test.select(np.flatnonzero(types[60:] == kind))
        assert_array_equal(local.predict(asked), alone.predict(asked))


@pytest.mark.parametrize("column", ["kind", 6])
def test_a_column_of_the_features_serves_as_well(typed, kinds, column, tmp_path):
    train, test, types = typed
    train, test = with_column(train, types[:60]), with_column(test, types[60:])
    local = known(column).fit(train)
    assert_array_equal(local.groups_.home, types[:60])
    assert_array_equal(local.selector_.weights(test, []), np.eye(3)[types[60:]])
    local.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert_array_equal(loaded.predict(test), local.predict(test))


def test_a_saved_model_knows_its_categories(typed, kinds, tmp_path):
    train, test, _ = typed
    local = known(kinds).fit(train)
    local.save(tmp_path / "model.localrank")
    loaded = localrank.load(tmp_path / "model.localrank")
    assert loaded.get_params()["selector__categories"] == kinds
    assert_array_equal(loaded.predict(test), local.predict(test))


def test_ids_and_categories_are_compared_by_their_text(typed, kinds):
    train, test, _ = typed
    texts = {str(query): kind for query, kind in kinds.items()}
    assert_array_equal(known(texts).fit(train).predict(test), known(kinds).fit(train).predict(test))


def test_an_unseen_category_goes_to_the_group_of_the_nearest_query(typed, kinds):
    train, test, _ = typed
    some = {query: kind for query, kind in kinds.items() if query <= 60}
    some |= {61: "travel", 62: "news"}
    local = known(some).fit(train)
    nearest = local.with_selector(NearestQuery(), train).selector_.weights(test, [])
    weights = local.selector_.weights(test, [])
    news = int(np.flatnonzero(local.selector_.categories_ == "news")[0])
    assert_array_equal(weights[1], np.eye(3)[news])
    assert_array_equal(weights[[0, *range(2, 30)]], nearest[[0, *range(2, 30)]])
    assert (weights[1] != nearest[1]).any() or news == nearest[1].argmax()


@pytest.mark.parametrize(
    ("category", "message"),
    [("travel", "Query 61 has category 'travel', which no"), (None, "61 has no known category")],
)
def test_an_unseen_category_is_an_error_where_that_is_asked_for(typed, kinds, category, message):
    train, test, _ = typed
    some = {query: kind for query, kind in kinds.items() if query != 61}
    if category is not None:
        some[61] = category
    local = known(some, unseen="refuse").fit(train)
    assert np.isfinite(local.predict(test.select(range(1, 30)))).all()
    with pytest.raises(ValueError, match=message):
        local.predict(test)


def test_a_missing_value_is_no_category(typed):
    train, test, types = typed
    train = with_column(train, types[:60])
    kind = np.where(np.arange(30) == 4, np.nan, types[60:])
    test = with_column(test, kind)
    local = known("kind", unseen="refuse").fit(train)
    with pytest.raises(ValueError, match="Query 65 has no known category"):
        local.predict(test)
    holed = with_column(typed[0], np.where(np.arange(60) < 2, np.nan, types[:60]))
    with pytest.raises(ValueError, match="every training query. 2 of 60 have none, query 1 among"):
        known("kind").fit(holed)


def test_a_training_query_without_category_is_refused(typed, kinds):
    train, _, _ = typed
    some = {query: kind for query, kind in kinds.items() if query not in (7, 9)}
    with pytest.raises(ValueError, match="2 of 60 have none, query 7 among them"):
        known(some).fit(train)


def test_a_column_that_differs_within_a_query_is_refused(typed, kinds):
    train, test, types = typed
    with pytest.raises(ValueError, match="f1 cannot be the category of queries: query 1 has the"):
        known("f1").fit(train)
    local = known("kind").fit(with_column(train, types[:60]))
    features = with_column(test, types[60:]).features.copy()
    features[1, 6] += 1
    with pytest.raises(ValueError, match="kind cannot be the category of queries: query 61 has"):
        local.predict(test.with_features(features, [*train.feature_names, "kind"]))


@pytest.mark.parametrize("categories", ["colour", 6, -1])
def test_an_unknown_column_is_refused(typed, categories):
    with pytest.raises(ValueError, match="'categories' parameter of KnownGroups .* 0 to 5"):
        known(categories).fit(typed[0])


@pytest.mark.parametrize("categories", [None, {}, 1.5, True, dict.fromkeys(range(1001), "a")])
def test_wrong_categories_are_refused(typed, categories):
    for part in (KnownGroups, SameCategory):
        local = LocalRanker(Mean(), Agglomerative(2), RankSVM(), NearestQuery())
        name = "grouping" if part is KnownGroups else "selector"
        local.set_params(**{name: part(categories)})
        with pytest.raises(ValueError, match="'categories' parameter of .* must be a column of"):
            local.fit(typed[0])


def test_many_categories_by_text_are_taken(typed, kinds):
    many = {str(query): "rest" for query in range(91, 1500)}
    many |= {str(query): kind for query, kind in kinds.items()}
    assert known(many).fit(typed[0]).n_groups_ == 3


def test_a_small_category_is_merged_and_its_queries_follow(typed, kinds):
    train, test, _ = typed
    some = dict(kinds) | {1: "rare", 61: "rare"}
    local = known(some).set_params(min_queries=5).fit(train)
    assert (local.n_groups_, local.n_merged_groups_) == (3, 1)
    assert local.selector_.weights(test, [])[0].argmax() == local.groups_.home[0]


def test_other_groups_than_those_of_categories_are_refused(typed, kinds):
    local = LocalRanker(Mean(), Agglomerative(3), RankSVM(), SameCategory(kinds))
    with pytest.raises(ValueError, match="needs groups of whole categories"):
        local.fit(typed[0])


def test_categories_of_no_training_query_are_refused(typed):
    local = LocalRanker(Mean(), Agglomerative(3), RankSVM(), SameCategory({"x": "y"}))
    with pytest.raises(ValueError, match="needs the category of at least one training query"):
        local.fit(typed[0])


def test_other_selectors_serve_where_new_queries_have_no_category(typed, kinds):
    train, test, types = typed
    local = LocalRanker(Mean(), KnownGroups(kinds), RankSVM(), NearestCentroid()).fit(train)
    chosen = local.selector_.weights(test, []).argmax(axis=1)
    assert np.mean(np.argsort(NAMES)[chosen] == types[60:]) > 0.6


def test_descriptions_alone_have_no_categories(kinds):
    with pytest.raises(ValueError, match="must be the grouping of a LocalRanker itself"):
        KnownGroups(kinds).group(Mean(), np.ones((4, 2)))


def test_the_order_of_lines_does_not_matter(typed, kinds):
    train, test, _ = typed
    order = np.random.default_rng(0).permutation(60)
    mixed = train.select(order)
    other = known(kinds).fit(mixed)
    local = known(kinds).fit(train)
    assert_array_equal(other.groups_.home, local.groups_.home[order])
    np.testing.assert_allclose(other.predict(test), local.predict(test), rtol=1e-9)


def test_a_signed_zero_is_the_same_category():
    column = np.repeat([0.0, -0.0, 1.0], 2)
    features = np.column_stack([column, np.arange(6) % 2])
    dataset = RankingDataset.from_arrays(features, np.arange(6) % 2, np.repeat([1, 2, 3], 2))
    groups = known(0).set_params(representation=Mean()).fit(dataset).groups_
    assert_array_equal(groups.home, [0, 0, 1])
