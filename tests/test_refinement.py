import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localrank import LocalRanker
from localrank.data import make_queries
from localrank.grouping import Groups
from localrank.measures import parse_measure
from localrank.queries import Mean, RelevantMean
from localrank.rankers import LambdaMART, Ranker, RankSVM
from localrank.rankers.content_order import content_order
from localrank.recipes import adaptive_training
from localrank.refinement import PerformanceProfile, Refinement, count_changed
from localrank.selection import Clairvoyant, Classifier, NearestCentroid

PROFILE = ("ndcg@3", "ndcg@5", "ndcg@10", "map@100", "mrr@100", "p@3", "p@5", "p@10")


class MeanOfRelevant(Ranker):
    """Ranks by the inner product with the mean of the relevant documents less that of the rest."""

    def _fit(self, dataset, query_weights, valid):
        relevant = dataset.labels > 0
        self.direction_ = dataset.features[relevant].mean(0) - dataset.features[~relevant].mean(0)

    def _predict(self, dataset):
        return dataset.features @ self.direction_


@pytest.fixture(scope="module")
def typed():
    dataset, types = make_queries(
        150, n_types=3, n_features=10, n_documents=(12, 20), separation=1.0, random_state=4
    )
    return dataset.select(range(100)), dataset.select(range(100, 150)), types


def rows_of(dataset, query):
    return slice(dataset.offsets[query], dataset.offsets[query + 1])


def direction(dataset, queries):
    """What MeanOfRelevant learns from some queries, by hand."""
    rows = np.isin(dataset.query_index, queries)
    features, labels = dataset.features[rows], dataset.labels[rows]
    return features[labels > 0].mean(axis=0) - features[labels == 0].mean(axis=0)


def transcription(train, test, k, rounds):
    """The paper's steps one after another, a loop over queries each."""
    vectors = np.array(
        [
            train.features[rows_of(train, q)][train.labels[rows_of(train, q)] > 0].mean(axis=0)
            if (train.labels[rows_of(train, q)] > 0).any()
            else np.zeros(train.n_features)
            for q in range(train.n_queries)
        ]
    )
    _, order = content_order(train, 0)
    for _ in range(rounds):
        clusters = np.empty(train.n_queries, int)
        clusters[order] = KMeans(k, n_init=10, random_state=0).fit_predict(vectors[order])
        models = [direction(train, np.flatnonzero(clusters == c)) for c in range(k)]
        vectors = np.zeros((train.n_queries, k * len(PROFILE)))
        for q in range(train.n_queries):
            one = train.select([q])
            vectors[q] = [
                parse_measure(name)(one, one.features @ model)[0]
                for model in models
                for name in PROFILE
            ]
    values = [parse_measure("ndcg@5").mean(train, column) for column in train.features.T]
    best = int(np.argmax(values))

    def top(dataset):
        means = []
        for q in range(dataset.n_queries):
            features = dataset.features[rows_of(dataset, q)]
            means.append(features[np.argsort(-features[:, best])[:10]].mean(axis=0))
        return np.array(means)

    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    probabilities = logistic.fit(top(train), clusters).predict_proba(top(test))
    selective = np.empty(test.n_documents)
    fusion = np.zeros(test.n_documents)
    for q in range(test.n_queries):
        documents = test.features[rows_of(test, q)]
        selective[rows_of(test, q)] = documents @ models[np.argmax(probabilities[q])]
        for c in range(k):
            fusion[rows_of(test, q)] += probabilities[q, c] * (documents @ models[c])
    return clusters, vectors, selective, fusion


@pytest.mark.parametrize("rounds", [1, 3])
def test_adaptive_training_is_the_papers_steps(typed, rounds):
    train, test, _ = typed
    clusters, profiles, selective, fusion = transcription(train, test, 3, rounds)
    ours = adaptive_training(3, ranker=MeanOfRelevant(), rounds=rounds).fit(train)
    assert_array_equal(ours.groups_.home, clusters)
    found = PerformanceProfile(ours.models_).fit(train).transform(train)
    assert_allclose(found, profiles, atol=1e-12)
    assert_allclose(ours.predict(test), selective, rtol=1e-9)
    soft = adaptive_training(3, ranker=MeanOfRelevant(), rounds=rounds, select="fusion")
    assert_allclose(soft.fit(train).predict(test), fusion, rtol=1e-9)


@pytest.mark.parametrize("grouping", ["kmeans", "ward"])
def test_one_cluster_gives_the_global_models_scores(typed, grouping):
    train, test, _ = typed
    trees = LambdaMART(20, min_leaf_documents=5)
    expected = LambdaMART(20, min_leaf_documents=5).fit(train).predict(test)
    for select in ("selective", "fusion"):
        local = adaptive_training(1, ranker=trees, grouping=grouping, select=select)
        assert_array_equal(local.fit(train).predict(test), expected)


def test_one_round_is_plain_clustering(typed):
    train, test, _ = typed
    once = adaptive_training(3, ranker=RankSVM(), rounds=1).fit(train)
    plain = LocalRanker(
        RelevantMean(), KMeans(3, n_init=10, random_state=0), RankSVM(), once.selector
    ).fit(train)
    assert_array_equal(once.predict(test), plain.predict(test))
    assert once.n_changed_ == []


def test_fusion_weights_sum_to_one_and_selective_takes_the_largest(typed):
    train, test, _ = typed
    soft = adaptive_training(3, ranker=RankSVM(), select="fusion").fit(train)
    weights = soft.selector_.weights(test, soft.models_)
    assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)
    assert ((weights > 0) & (weights < 1)).all()
    hard = adaptive_training(3, ranker=RankSVM()).fit(train)
    chosen = hard.selector_.weights(test, hard.models_)
    assert_array_equal(chosen.argmax(axis=1), weights.argmax(axis=1))
    assert_array_equal(np.sort(np.unique(chosen)), [0, 1])


@pytest.mark.parametrize("name", ["ndcg@5", "mrr@100", "map"])
def test_the_oracle_is_never_below_the_selective_model(typed, name):
    train, test, _ = typed
    selective = adaptive_training(3, ranker=RankSVM()).fit(train)
    measure = parse_measure(name)
    chosen = measure(test, selective.predict(test))
    oracle = adaptive_training(3, ranker=RankSVM()).set_params(selector=Clairvoyant(name))
    best = measure(test, oracle.fit(train).predict(test))
    assert (best >= chosen).all()
    for model in selective.models_:
        assert (best >= measure(test, model.predict(test))).all()


def test_the_number_of_jobs_does_not_matter(typed):
    train, test, _ = typed
    trees = LambdaMART(15, min_leaf_documents=5)
    one, two = (
        adaptive_training(3, ranker=trees, n_jobs=jobs).fit(train).predict(test) for jobs in (1, 2)
    )
    assert_array_equal(one, two)


def test_cross_fitted_profiles_are_by_models_that_have_not_seen_the_query(typed):
    train, _, _ = typed
    groups = Groups.from_labels(np.arange(100) % 2)
    seen = []

    def remember(groups, kept):
        seen.append(kept)
        return [MeanOfRelevant().fit(train.select(own[kept[own]])) for own in groups]

    _, profiles = Refinement(2, n_folds=4)._profiles(train, groups, remember)
    assert_array_equal(np.sum([~kept for kept in seen], axis=0), 1)
    query = 17
    kept = next(kept for kept in seen if not kept[query])
    one = train.select([query])
    for group in range(2):
        model = direction(train, [q for q in groups[group] if kept[q]])
        value = parse_measure("ndcg@3")(one, one.features @ model)[0]
        assert profiles[query, group * len(PROFILE)] == pytest.approx(value)


def test_cross_fitting_changes_the_groups(typed):
    train, test, _ = typed
    trees = LambdaMART(15, min_leaf_documents=5)
    own = adaptive_training(3, ranker=trees).fit(train)
    crossed = adaptive_training(3, ranker=trees, n_folds=3).fit(train)
    assert count_changed(own.groups_.home, crossed.groups_.home) > 0
    assert np.isfinite(crossed.predict(test)).all()


def test_changes_are_counted_whatever_the_groups_are_called(rng):
    before = rng.integers(4, size=200)
    names = rng.permutation(4)
    assert count_changed(before, names[before]) == 0
    after = names[before]
    after[:7] = (after[:7] + 1) % 4
    assert count_changed(before, after) == 7
    assert count_changed(before, np.zeros(200, int)) == 200 - np.bincount(before).max()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"refinement__rounds": 0}, "'rounds' parameter of Refinement must be a whole number, 1"),
        ({"refinement__n_folds": 1}, "'n_folds' parameter of Refinement must be a whole number, 2"),
        ({"refinement__n_folds": 101}, r"must be at most the number of queries \(100\). Got 101"),
        ({"refinement": "twice"}, "'refinement' parameter of LocalRanker must be None or a Refine"),
        ({"selector__classifier": KMeans(2)}, "'classifier' parameter of Classifier must be a cl"),
    ],
)
def test_wrong_parameters_are_refused(typed, parameters, message):
    with pytest.raises(ValueError, match=message):
        adaptive_training(3, ranker=RankSVM()).set_params(**parameters).fit(typed[0])


@pytest.mark.parametrize("argument", ["grouping", "select", "scaling"])
def test_wrong_arguments_of_the_recipe_are_refused(argument):
    with pytest.raises(ValueError, match=f"The '{argument}' argument of a recipe must be"):
        adaptive_training(**{argument: "median"})


class TestClassifier:
    def fitted(self, dataset, labels, **parameters):
        mean = Mean().fit(dataset)
        groups = Groups.from_labels(labels)
        return Classifier(**parameters).fit(dataset, groups, mean, mean.transform(dataset))

    def test_it_predicts_the_groups_of_separated_types(self, typed):
        train, test, types = typed
        selector = self.fitted(train, types[:100])
        predicted = selector.weights(test, []).argmax(axis=1)
        assert np.mean(predicted == types[100:]) > 0.9
        assert selector.accuracy_ > 0.9

    def test_groups_that_nothing_predicts_show_in_the_accuracy(self, typed):
        train, _, _ = typed
        labels = np.random.default_rng(0).permutation(np.arange(100) % 4)
        selector = self.fitted(train, labels)
        assert selector.majority_ == 0.25
        assert selector.accuracy_ < 0.45

    def test_confidence_in_chance_is_a_large_calibration_error(self, typed):
        train, _, types = typed
        labels = np.random.default_rng(0).permutation(np.arange(100) % 4)
        loose = make_pipeline(StandardScaler(), LogisticRegression(C=1e4, max_iter=10000))
        sure = self.fitted(train, labels, classifier=loose)
        modest = self.fitted(train, labels, classifier=LogisticRegression(C=1e-6))
        assert sure.calibration_error_ > modest.calibration_error_ + 0.1
        assert self.fitted(train, types[:100]).calibration_error_ < 0.2

    def test_one_group_needs_no_classifier(self, typed):
        train, test, _ = typed
        selector = self.fitted(train, np.zeros(100, int), hard=False)
        assert_array_equal(selector.weights(test, []), np.ones((50, 1)))

    def test_a_group_that_is_missing_in_a_fold_does_no_harm(self, typed):
        train, test, _ = typed
        labels = np.zeros(100, int)
        labels[3] = 1
        selector = self.fitted(train, labels, hard=False)
        assert_allclose(selector.weights(test, []).sum(axis=1), 1)
        assert 0.9 < selector.accuracy_ <= 1

    def test_it_needs_points(self, typed):
        train, _, _ = typed
        from localrank.grouping import Agglomerative
        from localrank.queries import PrincipalComponents

        local = LocalRanker(PrincipalComponents(2), Agglomerative(2), RankSVM(), Classifier())
        with pytest.raises(ValueError, match="Classifier needs queries that are points"):
            local.fit(train)


def test_clusters_of_profiles_may_be_chosen_by_nearest_centroid_too(typed):
    train, test, _ = typed
    local = LocalRanker(
        Mean(), KMeans(3, random_state=0), RankSVM(), NearestCentroid(), refinement=Refinement(2)
    ).fit(train)
    assert len(local.n_changed_) == 1
    assert np.isfinite(local.predict(test)).all()
