import numpy as np
import pytest
from onnx_exports import files_of, in_every_runtime, lists, scores_in

from localrank.data import make_queries
from localrank.export import NotExportable
from localrank.formulas import CategoryRouter, Linear, Routed, ServiceRouter
from localrank.grouping import bisecting_kmeans
from localrank.local_ranker import LocalRanker
from localrank.rankers import RankSVM, TopicalRankSVM
from localrank.representations import Mean, Scaled, Skew, TopDocuments, TopScores, Variance
from localrank.selection import Classifier, NearestCentroid, NearestQuery

DESCRIPTIONS = {
    "mean": Mean(),
    "scaled mean": Scaled(Mean()),
    "variance": Variance(),
    "skew": Skew(),
    "top documents": TopDocuments(4, feature=2),
    "top documents, some features": TopDocuments(50, feature=1, columns=[3, 0]),
    "top values": TopScores(3, n_components=2),
}
SELECTORS = {
    "centre": NearestCentroid(),
    "classifier": Classifier(),
    "probabilities": Classifier(hard=False),
}


@pytest.fixture(scope="module")
def some_lists():
    dataset, _ = make_queries(60, n_documents=(3, 12), n_features=5, n_types=3, random_state=4)
    # Equal values at the cut of the top documents.
    features = dataset.features.copy()
    features[:, 2] = np.round(features[:, 2])
    return dataset.with_features(features)


def with_holes(dataset, rng):
    features = dataset.features.copy()
    features[rng.random(features.shape) < 0.3] = np.nan
    return dataset.with_features(features)


def local(representation, selector):
    return LocalRanker(representation, bisecting_kmeans(3), RankSVM(), selector)


@in_every_runtime
@pytest.mark.parametrize("representation", DESCRIPTIONS.values(), ids=DESCRIPTIONS.keys())
def test_lists_are_routed_by_their_description(runtime, representation, some_lists):
    formula = local(representation, NearestCentroid()).fit(some_lists).formula()
    dataset = some_lists.taken(np.arange(0, 60, 3))
    assert len(np.unique(formula.router.weights(dataset).argmax(axis=1))) > 1
    scores = scores_in(runtime, formula, dataset)
    np.testing.assert_allclose(scores, formula.score(dataset), rtol=0, atol=1e-12)


@in_every_runtime
@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS.keys())
def test_lists_with_missing_values_are_routed_by_every_selector(runtime, selector, some_lists, rng):
    dataset = with_holes(some_lists, rng)
    formula = local(Scaled(Mean()), selector).fit(dataset).formula()
    dataset = dataset.taken(np.arange(20))
    scores = scores_in(runtime, formula, dataset)
    np.testing.assert_allclose(scores, formula.score(dataset), rtol=0, atol=1e-12)


@in_every_runtime
@pytest.mark.parametrize("n_used", [None, 2])
def test_topics_weigh_by_their_nearness(runtime, n_used, some_lists):
    ranker = TopicalRankSVM(3, representation=Mean(), n_used=n_used).fit(some_lists)
    formula = ranker.formula()
    scores = scores_in(runtime, formula, some_lists)
    np.testing.assert_allclose(scores, formula.score(some_lists), rtol=0, atol=1e-12)


def categories(groups, *, feature=0, refuses=True):
    router = CategoryRouter(lambda dataset: None, feature, groups, refuses)
    return Routed(router, (Linear(np.array([0.0, 1.0])), Linear(np.array([0.0, -10.0]))))


@in_every_runtime
def test_a_category_has_its_model_and_an_unknown_one_has_no_scores(runtime):
    formula = categories({3.0: 1, 5.0: 0, 7.0: 1})
    dataset = lists(*(np.array([[c, 2.0], [c, 4.0]]) for c in (3.0, 5.0, 7.0, 8.0)))
    scores = scores_in(runtime, formula, dataset)
    assert scores[:6].tolist() == [-20.0, -40.0, 2.0, 4.0, -20.0, -40.0]
    assert np.isnan(scores[6:]).all()


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        (categories({"q1": 0}, feature=None), "by the ids of queries"),
        (categories({3.0: 0}, refuses=False), "a category that was not in training"),
        (Routed(ServiceRouter(lambda dataset: None, "it must", True), ()), "exported: it must"),
    ],
)
def test_choices_that_take_more_than_the_list_are_refused(formula, reason):
    with pytest.raises(NotExportable, match=reason):
        files_of(formula, 2)


def test_the_nearest_training_query_is_refused_with_what_can_be_taken(some_lists):
    formula = local(Mean(), NearestQuery()).fit(some_lists).formula()
    with pytest.raises(NotExportable, match=r"60 training queries. Use a selector .* Nearest"):
        files_of(formula, 5)
