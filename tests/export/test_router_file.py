"""Routers from router.json alone against the selectors' own weights."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localrank import LocalRanker
from localrank.data import RankingDataset, make_queries
from localrank.export._routed_models import described_list, router_file, router_weights
from localrank.formulas import NotExportable
from localrank.grouping import KnownGroups
from localrank.rankers import BestFeature, TopicalRankSVM
from localrank.representations import (
    Gaussian,
    Mean,
    PrincipalComponents,
    Scaled,
    Skew,
    TopDocuments,
    TopScores,
    Variance,
)
from localrank.selection import (
    Clairvoyant,
    Classifier,
    NearestCentroid,
    NearestQueries,
    NearestQuery,
    SameCategory,
)
from localrank.serving._explaining import reasons

DESCRIBED = [
    Mean(),
    Variance(),
    Skew(),
    TopDocuments(3),
    TopDocuments(3, feature=1, columns=[4, 0]),
    TopScores(4),
    TopScores(4, n_components=3, scaling="standard"),
    Scaled(TopDocuments(4, columns=[2, 3])),
    Scaled(TopScores(5)),
    Scaled(Variance()),
]


@pytest.fixture(scope="module")
def lists():
    """Lists of three types, with ties at the cut of the first documents."""
    dataset, _ = make_queries(60, n_documents=(1, 15), n_features=6, n_types=3, random_state=2)
    return dataset.with_features(dataset.features.round(1), dataset.feature_names)


@pytest.fixture(scope="module")
def holed(lists):
    features = lists.features.copy()
    features[np.random.default_rng(1).random(lists.n_documents) < 0.3, 1] = np.nan
    features[lists.query_index % 4 == 0, 2] = np.nan
    return lists.with_features(features, lists.feature_names)


def content_of(ranker, n_features=6):
    """What a client reads."""
    routed = ranker.formula()
    models = [f"model_{number}" for number in range(len(routed.groups))]
    names = [f"f{number}" for number in range(1, n_features + 1)]
    return json.loads(json.dumps(router_file(routed, models, names)))


def local(selector, dataset, n_groups=3):
    """A ranker whose groups are of the queries' types, so that descriptions tell them apart."""
    _, types = make_queries(60, n_documents=(1, 15), n_features=6, n_types=3, random_state=2)
    kinds = dict(zip(dataset.query_ids.tolist(), types % n_groups, strict=True))
    return LocalRanker(PrincipalComponents(), KnownGroups(kinds), BestFeature(), selector).fit(
        dataset
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("representation", DESCRIBED, ids=repr)
def test_the_centre_of_a_group_is_found_from_the_file(representation, missing, lists, holed):
    dataset = holed if missing else lists
    ranker = local(NearestCentroid(representation=representation), dataset)
    content = content_of(ranker)
    assert content["router"] == "nearest-centre"
    assert content["weights"] == "one"
    expected = ranker.selector_.weights(dataset, [])
    assert expected.any(axis=0).sum() > 1
    assert_array_equal(router_weights(content, dataset), expected)


@pytest.mark.parametrize("representation", DESCRIBED, ids=repr)
def test_lists_are_described_as_the_representation_does(representation, holed):
    ranker = local(NearestCentroid(representation=representation), holed)
    content = content_of(ranker)
    expected = ranker.selector_.representation_.transform(holed)
    for query, vector in enumerate(expected):
        rows = holed.features[holed.offsets[query] : holed.offsets[query + 1]]
        described = described_list(content["description"], rows, content["features"])
        assert_allclose(described, vector, rtol=1e-9, atol=1e-9)


CLASSIFIERS = [
    None,
    LogisticRegression(max_iter=1000),
    make_pipeline(StandardScaler(with_mean=False), LogisticRegression(C=0.1, max_iter=1000)),
    make_pipeline(StandardScaler(with_std=False), LogisticRegression(max_iter=1000)),
]


@pytest.mark.parametrize("n_groups", [1, 2, 3])
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=range(4))
def test_logistic_regression_is_in_the_file(classifier, n_groups, lists, holed):
    for dataset, hard in ((lists, False), (holed, True), (holed, False)):
        selector = Classifier(classifier, hard=hard, representation=TopDocuments(5))
        ranker = local(selector, dataset, n_groups)
        content = content_of(ranker)
        assert content["router"] == ("linear" if hard else "softmax")
        assert content["weights"] == ("one" if hard else "several")
        expected = ranker.selector_.weights(dataset, [])
        assert_allclose(router_weights(content, dataset), expected, rtol=1e-9, atol=1e-12)


def test_binary_logistic_regression_by_liblinear_is_in_the_file(lists):
    classifier = LogisticRegression(solver="liblinear")
    ranker = local(Classifier(classifier, hard=False, representation=Mean()), lists, 2)
    expected = ranker.selector_.weights(lists, [])
    assert_allclose(router_weights(content_of(ranker), lists), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_used", [None, 1, 2])
def test_shares_of_topics_are_in_the_file(n_used, lists):
    ranker = TopicalRankSVM(4, n_used=n_used, representation=Scaled(TopDocuments(5))).fit(lists)
    content = content_of(ranker)
    assert content["router"] == "near-centres"
    assert content["weights"] == ("one" if n_used == 1 else "several")
    weights = router_weights(content, lists)
    assert_allclose(weights, ranker.formula().router.weights(lists), rtol=1e-9, atol=1e-12)
    assert ((weights > 0).sum(axis=1) <= (n_used or 4)).all()


def with_category(dataset, values):
    features = np.column_stack([dataset.features, values[dataset.query_index]])
    return dataset.with_features(features)


@pytest.mark.parametrize("single", [False, True])
def test_a_category_in_a_feature_is_in_the_file(single, lists):
    kinds = np.array([0.1, 2.0, -3.0])[np.arange(lists.n_queries) % 3]
    dataset = with_category(lists, kinds)
    if single:
        dataset = dataset.with_features(dataset.features.astype(np.float32))
    selector = SameCategory(6, unseen="refuse")
    ranker = LocalRanker(Mean(), KnownGroups(6), BestFeature(), selector).fit(dataset)
    content = content_of(ranker, 7)
    assert content["by"] == {"feature": "f7"}
    assert content["others"] == "refuse"
    assert "service" not in content
    weights = router_weights(content, dataset)
    assert_array_equal(weights, ranker.selector_.weights(dataset, []))
    assert_array_equal(weights.sum(axis=0), np.bincount(np.arange(60) % 3))
    unseen = with_category(lists, np.full(lists.n_queries, 5.0))
    with pytest.raises(ValueError, match="category 5.0, for which there is no model"):
        router_weights(content, unseen)


def test_a_category_by_query_id_is_in_the_file_and_others_ask_a_service(lists):
    known = {query: f"kind {query % 2}" for query in lists.query_ids.tolist()}
    ranker = LocalRanker(Mean(), KnownGroups(known), BestFeature(), SameCategory(known))
    ranker.fit(lists)
    content = content_of(ranker)
    assert content["by"] == {"query": True}
    assert content["others"] == "service"
    assert "explain=true" in content["service"]["request"]
    new = RankingDataset.from_arrays(np.zeros((2, 6)), qid=[lists.query_ids[3], 10**9])
    weights = router_weights(content, new)
    assert_array_equal(weights[:1], ranker.selector_.weights(new.select([0]), []))
    assert np.isnan(weights[1]).all()


@pytest.mark.parametrize(
    ("selector", "reason", "weights"),
    [
        (NearestQuery(), "NearestQuery compares a list with 60 training queries", "one"),
        (NearestQueries(3), "NearestQueries compares a list with 60 training queries", "several"),
        (NearestCentroid(), "PrincipalComponents describes a list by more than sums", "one"),
        (Classifier(GaussianNB(), representation=Mean()), "not a logistic regression", "one"),
        (
            Classifier(GaussianNB(), hard=False, representation=Mean()),
            "not a logistic regression",
            "several",
        ),
        (
            Classifier(make_pipeline(GaussianNB()), representation=Mean()),
            "not a logistic regression",
            "one",
        ),
    ],
    ids=str,
)
def test_what_takes_the_whole_model_asks_a_service(selector, reason, weights, lists):
    ranker = local(selector, lists)
    content = content_of(ranker)
    assert content["router"] == "service"
    assert reason in content["reason"]
    assert content["weights"] == weights
    assert content["standardised"] == isinstance(selector, NearestQueries)
    assert "POST /v1/rank" in content["service"]["request"]
    assert np.isnan(router_weights(content, lists)).all()


@pytest.mark.parametrize("selector", [NearestQuery(), NearestQueries(3)], ids=repr)
def test_the_service_answers_with_the_weights_of_the_groups(selector, lists):
    ranker = local(selector, lists)
    expected = ranker.formula().router.weights(lists)
    weights = np.zeros_like(expected)
    for row, why in zip(weights, reasons(ranker, lists), strict=True):
        for group in why.groups:
            row[group.group] = group.weight
    assert_allclose(weights, expected, rtol=1e-9)


def test_clouds_ask_a_service(lists):
    ranker = local(NearestQuery(representation=Gaussian()), lists)
    assert content_of(ranker)["router"] == "service"


def test_a_choice_by_labels_cannot_be_exported(lists):
    with pytest.raises(NotExportable, match="by the labels of the list that it ranks"):
        local(Clairvoyant(), lists).formula()
