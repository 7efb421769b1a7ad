import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from localrank import LocalRanker
from localrank.data import RankingDataset, make_queries
from localrank.data._content_order import content_order
from localrank.grouping import Groups, Refined
from localrank.grouping._training import TrainingQueries
from localrank.grouping.refined import PerformanceProfile, count_changed
from localrank.measures import parse_measure
from localrank.rankers import BestFeature, LambdaMART, Ranker, RankSVM
from localrank.recipes import adaptive_training
from localrank.representations import Mean, RelevantMean
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

    unit = np.abs(top(train)).max()
    logistic = LogisticRegression(max_iter=1000).fit(top(train) / unit, clusters)
    probabilities = logistic.predict_proba(top(test) / unit)
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
    transformed = PerformanceProfile(ours.models_).fit(train).transform(train)
    assert_allclose(transformed, profiles, atol=1e-12)
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
    assert once.groups_.n_changed == ()


def test_changes_are_told_from_each_clustering_to_the_next(typed):
    train, _, _ = typed
    once, twice, thrice = (
        adaptive_training(3, ranker=MeanOfRelevant(), rounds=rounds).fit(train)
        for rounds in (1, 2, 3)
    )
    first = count_changed(once.groups_.home, twice.groups_.home)
    second = count_changed(twice.groups_.home, thrice.groups_.home)
    assert thrice.groups_.n_changed == (first, second)
    assert first > 0


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


class Watched(TrainingQueries):
    """Keeps which queries models were trained on."""

    seen: list

    def models(self, groups, *, kept=None, held_out=None):
        vars(self).setdefault("seen", []).append(kept)
        return super().models(groups, kept=kept, held_out=held_out)


def test_cross_fitted_profiles_are_by_models_that_have_not_seen_the_query(typed):
    train, _, _ = typed
    groups = Groups.from_labels(np.arange(100) % 2)
    training = Watched(train, MeanOfRelevant())
    _, profiles = Refined(KMeans(2), rounds=2, n_folds=4)._profiles(training, groups)
    assert_array_equal(np.sum([~kept for kept in training.seen], axis=0), 1)
    query = 17
    kept = next(kept for kept in training.seen if not kept[query])
    one = train.select([query])
    for group in range(2):
        model = direction(train, [q for q in groups[group] if kept[q]])
        value = parse_measure("ndcg@3")(one, one.features @ model)[0]
        assert profiles[query, group * len(PROFILE)] == pytest.approx(value)


def test_a_group_that_teaches_nothing_without_a_fold_learns_from_all_it_has():
    # Of the two queries far off only one has something to order.
    features = np.append(np.arange(12.0), [100.0, 101.0, 102.0, 103.0])[:, None]
    labels = np.append(np.tile([0, 1], 7), [1, 1])
    dataset = RankingDataset.from_arrays(features, labels, np.repeat(np.arange(8), 2))
    one_at_a_time = Refined(KMeans(2, n_init=5, random_state=0), rounds=2, n_folds=8)
    local = LocalRanker(Mean(), one_at_a_time, RankSVM(), NearestCentroid())
    assert len(local.fit(dataset).groups_.n_changed) == 1


def test_folds_are_drawn_by_the_seed(typed):
    train, _, _ = typed

    def first_fold(seed):
        training = Watched(train, MeanOfRelevant())
        groups = Groups.from_labels(np.arange(100) % 2)
        Refined(KMeans(2), n_folds=4, random_state=seed)._profiles(training, groups)
        return training.seen[0].tolist()

    assert first_fold(1) == first_fold(1) != first_fold(2)


def test_folds_do_not_depend_on_the_order_of_the_queries(typed):
    train, test, _ = typed
    turned = train.select(np.arange(train.n_queries)[::-1])
    one, other = (
        adaptive_training(3, ranker=RankSVM(), n_folds=3).fit(data) for data in (train, turned)
    )
    assert_array_equal(one.groups_.home, other.groups_.home[::-1])
    assert_allclose(one.predict(test), other.predict(test), rtol=1e-9)


def test_a_profile_looks_at_the_first_hundred_documents():
    labels = np.zeros(150)
    labels[120] = 1
    dataset = RankingDataset.from_arrays(-np.arange(150.0)[:, None], labels, np.zeros(150))
    by_value = BestFeature().fit(dataset)
    profile = PerformanceProfile([by_value]).fit(dataset).transform(dataset)
    assert_array_equal(profile, np.zeros((1, 8)))


def test_a_profile_needs_labels(typed):
    train, _, _ = typed
    bare = RankingDataset.from_arrays(train.features, qid=train.query_index)
    with pytest.raises(ValueError, match="PerformanceProfile describes queries by their labels"):
        PerformanceProfile([RankSVM().fit(train)]).fit(bare)


def test_without_training_queries_only_the_first_round_is_grouped(rng):
    points = rng.normal(size=(30, 2))
    kmeans = KMeans(3, n_init=5, random_state=0)
    refined = Refined(kmeans, rounds=3).group(Mean(), points)
    assert_array_equal(refined.home, Groups.from_labels(kmeans.fit_predict(points)).home)
    assert refined.n_changed == ()


def test_cross_fitting_changes_the_groups(typed):
    train, test, _ = typed
    trees = LambdaMART(15, min_leaf_documents=5)
    without_folds = adaptive_training(3, ranker=trees).fit(train)
    crossed = adaptive_training(3, ranker=trees, n_folds=3).fit(train)
    assert count_changed(without_folds.groups_.home, crossed.groups_.home) > 0
    assert np.isfinite(crossed.predict(test)).all()


def test_changes_are_counted_whatever_the_groups_are_called(rng):
    before = rng.integers(4, size=200)
    names = rng.permutation(4)
    assert count_changed(before, names[before]) == 0
    after = names[before]
    after[:7] = (after[:7] + 1) % 4
    assert count_changed(before, after) == 7
    for one, other in ((before, np.zeros(200, int)), (np.zeros(200, int), before)):
        assert count_changed(one, other) == 200 - np.bincount(before).max()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"grouping__rounds": 0}, "'rounds' parameter of Refined must be a whole number, 1"),
        ({"grouping__n_folds": 1}, "'n_folds' parameter of Refined must be a whole number, 2"),
        ({"grouping__n_folds": 101}, r"must be at most the number of queries \(100\). Got 101"),
        (
            {"grouping__grouping": "twice"},
            "of Refined must be one of localrank.grouping or",
        ),
        ({"selector__classifier": KMeans(2)}, "'classifier' parameter of Classifier must be 'on"),
    ],
)
def test_wrong_parameters_are_refused(typed, parameters, message):
    with pytest.raises(ValueError, match=message):
        adaptive_training(3, ranker=RankSVM()).set_params(**parameters).fit(typed[0])


@pytest.mark.parametrize("argument", ["grouping", "select", "scaling"])
def test_wrong_arguments_of_the_recipe_are_refused(argument):
    with pytest.raises(ValueError, match=f"The '{argument}' argument of a recipe must be"):
        adaptive_training(**{argument: "median"})


class AsTold(ClassifierMixin, BaseEstimator):
    """The first feature is the probability of the second group."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


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
        # Of 80 queries and with other folds it lies between 0.86 and 0.92; chance is a third.
        assert selector.accuracy_ > 0.8

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
        assert self.fitted(train, types[:100]).calibration_error_ < sure.calibration_error_

    def test_one_group_needs_no_classifier(self, typed):
        train, test, _ = typed
        selector = self.fitted(train, np.zeros(100, int), hard=False)
        assert_array_equal(selector.weights(test, []), np.ones((50, 1)))

    def test_a_group_that_is_missing_in_a_fold_does_no_harm(self, typed):
        train, test, _ = typed
        labels = np.ones(100, int)
        labels[3] = 0
        selector = self.fitted(train, labels, hard=False)
        assert_allclose(selector.weights(test, []).sum(axis=1), 1)
        assert 0.9 < selector.accuracy_ <= 1
        assert selector.majority_ == 0.99

    def test_a_group_that_is_missing_in_a_fold_leaves_the_others_theirs(self, typed):
        train, _, types = typed
        labels = np.where(types[:100] == 0, 0, 2)
        labels[3] = 1
        assert self.fitted(train, labels).accuracy_ > 0.9

    @pytest.mark.parametrize("n_queries", [1, 2, 3])
    def test_few_queries_do_no_harm(self, typed, n_queries):
        few = typed[0].select(range(n_queries))
        selector = self.fitted(few, np.arange(n_queries))
        assert_array_equal(selector.weights(few, []), np.eye(n_queries))
        # Of each group only one query, which is unseen.
        assert_array_equal(selector.accuracy_, np.nan if n_queries == 1 else 0.0)

    def test_the_order_of_the_queries_does_not_make_folds_one_sided(self):
        places = np.repeat(np.arange(5.0), 8)
        dataset = RankingDataset.from_arrays(places[:, None], qid=np.arange(40))
        nearest = KNeighborsClassifier(1)
        assert self.fitted(dataset, places, classifier=nearest).accuracy_ == 1
        assert not hasattr(nearest, "classes_")

    def test_accuracy_and_calibration_are_as_defined(self):
        # Twelve queries are given 0.95 for group 1 and half are of it, eight 0.65 and all are,
        # five 1 and none is.
        sure = np.repeat([0.95, 0.65, 1.0], [12, 8, 5])
        labels = np.repeat([0, 1, 1, 0], [6, 6, 8, 5])
        dataset = RankingDataset.from_arrays(sure[:, None], qid=np.arange(25))
        selector = self.fitted(dataset, labels, classifier=AsTold())
        assert selector.accuracy_ == pytest.approx(14 / 25)
        last_bin, other = abs(12 * 0.95 - 6 + 5), abs(8 * 0.65 - 8)
        assert selector.calibration_error_ == pytest.approx((last_bin + other) / 25)

    def test_it_needs_points(self, typed):
        train, _, _ = typed
        from localrank.grouping import Agglomerative
        from localrank.representations import PrincipalComponents

        local = LocalRanker(PrincipalComponents(2), Agglomerative(2), RankSVM(), Classifier())
        with pytest.raises(ValueError, match="Classifier needs queries that are points"):
            local.fit(train)


def test_clusters_of_profiles_may_be_chosen_by_nearest_centroid_too(typed):
    train, test, _ = typed
    local = LocalRanker(
        Mean(), Refined(KMeans(3, random_state=0)), RankSVM(), NearestCentroid()
    ).fit(train)
    assert len(local.groups_.n_changed) == 2
    assert np.isfinite(local.predict(test)).all()
