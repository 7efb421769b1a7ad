import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rearranged import rearranged
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from localrank.data import RankingDataset, make_queries
from localrank.measures import NDCG, parse_measure
from localrank.rankers import ListwiseLinear
from localrank.rankers import listwise_linear as cross_entropy
from localrank.rankers._gains import targets
from localrank.rankers.listwise_linear import L2S


@pytest.fixture(scope="module")
def small():
    return make_queries(8, n_documents=(3, 7), n_features=3, n_types=2, random_state=3)[0]


def naive_objective_and_gradient(dataset, w, l2, query_weights=None):
    """The formula, one query after another."""
    values, gradients, weights = [], [], []
    for query in range(dataset.n_queries):
        rows = slice(dataset.offsets[query], dataset.offsets[query + 1])
        X, y = dataset.features[rows], dataset.labels[rows]
        if len(set(y)) == 1:
            continue
        t = (2**y - 1) / np.sum(2**y - 1)
        p = softmax(X @ w)
        values.append(-t @ np.log(p))
        gradients.append((p - t) @ X)
        weights.append(1.0 if query_weights is None else query_weights[query])
    value = np.average(values, weights=weights) + l2 / 2 * w @ w
    return value, np.average(gradients, axis=0, weights=weights) + l2 * w


def with_copies(dataset, copied):
    """The dataset followed by copies of some of its queries."""
    copies = dataset.select(copied)
    return RankingDataset.from_arrays(
        np.concatenate([dataset.features, copies.features]),
        np.concatenate([dataset.labels, copies.labels]),
        np.concatenate([dataset.query_index, 100 + copies.query_index]),
    )


def shuffled(dataset, rng):
    return rearranged(dataset, rng.permutation(dataset.n_documents))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("l2", [1e-4, 0.1, 10.0])
def test_it_finds_the_minimum_of_the_formula(queries, rng, l2, weighted):
    weights = rng.uniform(0, 3, queries.n_queries) if weighted else None
    ranker = ListwiseLinear(l2, scaling=None).fit(queries, query_weight=weights)
    value, gradient = naive_objective_and_gradient(queries, ranker.coef_, l2, weights)
    assert ranker.objective_ == pytest.approx(value, rel=1e-12)
    assert np.abs(gradient).max() < 1e-7
    assert ranker.l2_ == l2
    assert ranker.l2_path_ == []


@pytest.mark.parametrize("l2", [1e-3, 0.3])
def test_on_pairs_it_is_logistic_regression_on_differences(rng, l2):
    n = 60
    features = rng.normal(size=(2 * n, 4))
    better = rng.integers(0, 2, n)
    labels = np.column_stack([better, 1 - better]).ravel()
    differences = features[::2] - features[1::2]
    theirs = LogisticRegression(C=1 / (l2 * n), fit_intercept=False, tol=1e-12, max_iter=10_000)
    theirs.fit(differences, better)
    ours = ListwiseLinear(l2, scaling=None)
    ours.fit(features, labels, qid=np.repeat(np.arange(n), 2))
    assert_allclose(ours.coef_, theirs.coef_[0], rtol=1e-6)


def test_with_many_features_the_minimum_is_the_same(queries, monkeypatch):
    explicit = ListwiseLinear(0.01).fit(queries)
    monkeypatch.setattr(cross_entropy, "_EXPLICIT", 7)
    diagonal = ListwiseLinear(0.01).fit(queries)
    assert diagonal.n_iter_ > explicit.n_iter_
    assert_allclose(diagonal.coef_, explicit.coef_, rtol=1e-5)


def test_features_that_are_nearly_alike_take_few_steps(queries, rng):
    twins = queries.features + 0.01 * rng.normal(size=queries.features.shape)
    wide = queries.with_features(np.column_stack([queries.features, twins]))
    assert ListwiseLinear(1e-4).fit(wide).n_iter_ < 30


def test_a_search_that_starts_at_the_minimum_stays_there(queries):
    loss = cross_entropy.CrossEntropy.of(
        queries.features, queries.offsets, targets(queries), np.ones(queries.n_queries)
    )
    minimum = loss.minimum(1e-3, 1e-8, 100)
    again = loss.minimum(1e-3, 1e-6, 100, minimum.weights)
    assert minimum.n_steps > 3
    assert again.n_steps == 0
    assert_allclose(again.weights, minimum.weights, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*with the same documents")
def test_each_search_of_a_path_starts_where_the_last_ended(queries, monkeypatch):
    starts, ends = [], []
    search = cross_entropy.CrossEntropy.minimum

    def recorded(self, l2, tol, max_iter, start=None):
        minimum = search(self, l2, tol, max_iter, start)
        starts.append(start)
        ends.append(minimum.weights)
        return minimum

    monkeypatch.setattr(cross_entropy.CrossEntropy, "minimum", recorded)
    ListwiseLinear().fit(queries, valid=queries)
    assert_array_equal(starts[1 : len(L2S)], ends[: len(L2S) - 1])


def test_a_huge_l2_leaves_one_small_step_down_the_gradient(queries):
    ranker = ListwiseLinear(1e6, scaling=None).fit(queries)
    _, gradient = naive_objective_and_gradient(queries, np.zeros(8), 0.0)
    assert np.abs(ranker.coef_).max() < 1e-5
    assert_allclose(-1e6 * ranker.coef_, gradient, rtol=1e-4)


@pytest.mark.parametrize("measure", ["ndcg@5", "oer", "map(rel=4,empty=skip)"])
def test_the_l2_of_cross_validation_is_that_of_a_plain_loop(queries, measure):
    ranker = ListwiseLinear(scaling=None, n_folds=3, measure=measure).fit(queries)
    folds = ranker._folds(queries, np.ones(queries.n_queries))
    measure = parse_measure(measure)
    means = []
    for l2 in L2S:
        values = measure(queries, np.zeros(queries.n_documents))
        for fold in range(3):
            test = queries.select(folds == fold)
            model = ListwiseLinear(l2, scaling=None).fit(queries.select(folds != fold))
            values[folds == fold] = measure(test, model.predict(test))
        means.append(np.nanmean(values))
    assert len(set(means)) > 5
    assert_allclose(ranker.l2_path_, np.column_stack([L2S, means]), rtol=1e-12)
    best = np.argmax(means) if measure.higher_is_better else np.argmin(means)
    assert ranker.l2_ == L2S[best]


@pytest.mark.parametrize("measure", ["ndcg@3", "oer"])
def test_validation_queries_choose_l2_instead(queries, rng, measure):
    train, valid = queries.select(np.arange(20)), shuffled(queries.select(np.arange(20, 60)), rng)
    ranker = ListwiseLinear(measure=measure).fit(train, valid=valid)
    measure = parse_measure(measure)
    means = [measure.mean(valid, ListwiseLinear(l2).fit(train).predict(valid)) for l2 in L2S]
    assert len(set(means)) > 5
    assert_allclose(ranker.l2_path_, np.column_stack([L2S, means]), rtol=1e-12)
    assert ranker.l2_ == L2S[np.argmax(means) if measure.higher_is_better else np.argmin(means)]


def test_of_equally_good_values_the_strongest_is_taken(rng):
    features = rng.normal(size=(40, 1))
    dataset = RankingDataset.from_arrays(
        features, features.ravel() > 0, np.repeat(np.arange(4), 10)
    )
    assert ListwiseLinear().fit(dataset).l2_ == 100.0


def test_the_chosen_model_is_the_one_fitted_with_its_l2(queries):
    chosen = ListwiseLinear().fit(queries)
    assert_array_equal(chosen.coef_, ListwiseLinear(chosen.l2_).fit(queries).coef_)


def test_folds_have_the_teaching_queries_in_equal_numbers(queries):
    labels = queries.labels.copy()
    labels[queries.query_index < 10] = 1
    dataset = RankingDataset.from_arrays(queries.features, labels, queries.query_index)
    weights = np.ones(60)
    weights[55:] = 0
    teaches = np.array([len(set(labels[dataset.query_index == q])) > 1 for q in range(60)])
    folds = ListwiseLinear(n_folds=4)._folds(dataset, weights)
    assert_array_equal(folds >= 0, teaches & (weights > 0))
    assert np.ptp(np.bincount(folds[folds >= 0])) <= 1


def test_folds_depend_on_the_seed_and_not_on_the_order(queries, rng):
    ones = np.ones(60)
    mixed = shuffled(queries, rng)
    folds = ListwiseLinear()._folds(queries, ones)
    place = np.searchsorted(queries.query_ids, mixed.query_ids)
    assert_array_equal(ListwiseLinear()._folds(mixed, ones), folds[place])
    assert (ListwiseLinear(random_state=1)._folds(queries, ones) != folds).any()


def test_copies_of_a_query_are_in_one_fold(queries):
    copied = np.arange(0, 60, 2)
    folds = ListwiseLinear()._folds(with_copies(queries, copied), np.ones(90))
    assert_array_equal(folds[60:], folds[copied])


@pytest.mark.parametrize("l2", [None, 1e-3])
def test_neither_documents_nor_queries_have_an_order(queries, rng, l2):
    plain = ListwiseLinear(l2).fit(queries)
    mixed = ListwiseLinear(l2).fit(shuffled(queries, rng))
    assert_array_equal(mixed.coef_, plain.coef_)
    assert mixed.l2_path_ == plain.l2_path_


@pytest.mark.parametrize("l2", [None, 1e-3])
def test_a_query_of_weight_two_is_a_query_given_twice(queries, l2):
    weights = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    weights[30:40] = 0
    weighted = ListwiseLinear(l2, scaling=None).fit(queries, query_weight=weights)
    once = queries.select(weights > 0)
    repeated = with_copies(once, np.flatnonzero(weights[weights > 0] == 2))
    again = ListwiseLinear(l2, scaling=None).fit(repeated)
    assert_allclose(again.predict(queries), weighted.predict(queries), atol=1e-6)
    assert_allclose(again.l2_path_, weighted.l2_path_, rtol=1e-12)
    assert again.objective_ == pytest.approx(weighted.objective_, rel=1e-12)


@pytest.mark.parametrize("l2", [None, 1e-3])
def test_equal_weights_are_no_weights(queries, l2):
    plain = ListwiseLinear(l2).fit(queries)
    weighted = ListwiseLinear(l2).fit(queries, query_weight=np.full(60, 7.0))
    assert_allclose(weighted.predict(queries), plain.predict(queries), atol=1e-7)
    assert_allclose(weighted.l2_path_, plain.l2_path_, rtol=1e-12)


@pytest.mark.parametrize("scaling", ["standard", "query", None])
def test_a_shift_of_a_query_changes_nothing(queries, rng, scaling):
    shifts = 10 * rng.normal(size=(60, 8))
    moved = queries.with_features(queries.features + shifts[queries.query_index])
    plain, other = (ListwiseLinear(1e-3, scaling=scaling).fit(d) for d in (queries, moved))
    assert_allclose(other.predict(queries), plain.predict(queries), atol=1e-6)


@pytest.mark.parametrize("scaling", ["standard", "query"])
def test_units_of_the_features_change_nothing(queries, rng, scaling):
    units = 10 ** rng.uniform(-6, 6, 8)
    other = queries.with_features(queries.features * units)
    plain, scaled = (ListwiseLinear(1e-3, scaling=scaling).fit(d) for d in (queries, other))
    assert_allclose(scaled.predict(other), plain.predict(queries), atol=1e-6)


def test_tiny_unscaled_features_are_learned_from(queries):
    tiny = queries.with_features(1e-9 * queries.features)
    plain, other = (ListwiseLinear(10.0, scaling=None).fit(d) for d in (queries, tiny))
    assert plain.score(queries) - 0.05 < other.score(tiny)


def test_single_documents_teach_nothing(queries, rng):
    lone = RankingDataset.from_arrays(
        np.concatenate([queries.features, rng.normal(size=(5, 8))]),
        np.concatenate([queries.labels, [0, 1, 2, 3, 4]]),
        np.concatenate([queries.query_index, 100 + np.arange(5)]),
    )
    plain, other = (ListwiseLinear(1e-3, scaling=None).fit(d) for d in (queries, lone))
    assert_allclose(other.coef_, plain.coef_, rtol=1e-6)
    assert other.objective_ == pytest.approx(plain.objective_, rel=1e-12)


def test_a_constant_feature_has_no_weight(queries):
    constants = np.column_stack([np.full(queries.n_documents, 0.1), 1e9 + queries.query_index])
    wide = queries.with_features(np.column_stack([queries.features, constants]))
    ranker = ListwiseLinear(1e-3).fit(wide)
    assert_allclose(ranker.coef_[8:], 0.0, atol=1e-12)
    assert_allclose(ranker.coef_[:8], ListwiseLinear(1e-3).fit(queries).coef_, rtol=1e-6)


def test_single_precision_holds_the_same_numbers(queries):
    single = queries.with_features(queries.features.astype(np.float32))
    double = queries.with_features(single.features.astype(np.float64))
    one, two = (ListwiseLinear(1e-3).fit(d).coef_ for d in (single, double))
    assert_allclose(one, two, rtol=1e-6)
    assert len(ListwiseLinear().fit(single).l2_path_) == len(L2S)


@pytest.mark.parametrize("copies", [0, 3])
def test_with_a_single_query_there_is_nothing_to_choose_by(small, copies):
    one = small.select([0])
    ids = np.repeat(np.arange(copies + 1), one.n_documents)
    dataset = RankingDataset.from_arrays(
        np.tile(one.features, (copies + 1, 1)), np.tile(one.labels, copies + 1), ids
    )
    ranker = ListwiseLinear().fit(dataset)
    assert (ranker.l2_, ranker.l2_path_) == (1.0, [])


def test_two_queries_are_enough_to_choose(small):
    assert len(ListwiseLinear().fit(small.select([0, 1])).l2_path_) == len(L2S)


def test_targets_follow_real_and_tiny_labels():
    dataset = RankingDataset.from_arrays(
        np.zeros((6, 1)), [0.5, 1.5, 0.0, 1e-300, 3e-300, 0.0], [1, 1, 1, 2, 2, 2]
    )
    gains = 2 ** np.array([0.5, 1.5, 0.0]) - 1
    assert_allclose(targets(dataset), [*gains / gains.sum(), 0.25, 0.75, 0.0], rtol=1e-12)


def test_counts_are_targets_themselves():
    dataset = RankingDataset.from_arrays(np.zeros((4, 1)), [500, 300, 0, 7], [1, 1, 1, 2])
    assert_allclose(targets(dataset), [5 / 8, 3 / 8, 0.0, 1.0], rtol=1e-12)


def test_targets_are_counted_from_a_negative_label():
    dataset = RankingDataset.from_arrays(np.zeros((3, 1)), [-1, 0, 1], [1, 1, 1])
    assert_allclose(targets(dataset), [0.0, 1 / 4, 3 / 4], rtol=1e-12)


def test_huge_labels_can_be_learned(queries):
    huge = RankingDataset.from_arrays(queries.features, 500 * queries.labels, queries.query_index)
    ranker = ListwiseLinear(0.1).fit(huge)
    assert NDCG(10).mean(queries, ranker.predict(queries)) > 0.5


def test_too_few_steps_are_warned_of(queries):
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps"):
        ranker = ListwiseLinear(1e-4, max_iter=2).fit(queries)
    assert ranker.n_iter_ == 2


def test_a_loose_tolerance_takes_fewer_steps(queries):
    rough, fine = (ListwiseLinear(1e-3, tol=tol).fit(queries) for tol in (0.1, 1e-8))
    assert rough.n_iter_ < fine.n_iter_
    assert rough.objective_ > fine.objective_


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("l2", 0),
        ("l2", np.inf),
        ("l2", "strong"),
        ("scaling", "none"),
        ("n_folds", 1),
        ("tol", 0),
        ("max_iter", 0),
    ],
)
def test_impossible_parameters_are_refused_by_name(parameter, value, queries):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of ListwiseLinear.* Got"):
        ListwiseLinear(**{parameter: value}).fit(queries)


@pytest.mark.filterwarnings("ignore:.*with the same documents")
@pytest.mark.parametrize("given", [False, True])
def test_a_measure_that_skips_every_query_is_refused(queries, given):
    ranker = ListwiseLinear(measure="map(rel=9,empty=skip)")
    with pytest.raises(ValueError, match="nothing to choose l2 by: map.* skips every query"):
        ranker.fit(queries, valid=queries if given else None)
    assert ranker.set_params(l2=1.0).fit(queries).l2_ == 1.0


@pytest.mark.filterwarnings("ignore:.*with the same documents")
def test_a_measure_that_skips_every_query_that_counts_is_refused(queries):
    lacks_the_best_label = np.maximum.reduceat(queries.labels, queries.offsets[:-1]) < 4
    ranker = ListwiseLinear(measure="map(rel=4,empty=skip)").fit(queries)
    with pytest.raises(ValueError, match="nothing to choose l2 by"):
        ranker.fit(queries, query_weight=lacks_the_best_label)
    with pytest.raises(ValueError, match="nothing to choose l2 by"):
        ranker.fit(queries, valid=queries.select(lacks_the_best_label))


def test_a_fit_with_a_given_l2_forgets_the_path(queries):
    ranker = ListwiseLinear().fit(queries)
    assert ranker.set_params(l2=0.5).fit(queries).l2_path_ == []
    assert ranker.l2_ == 0.5


def test_gains_given_are_shares_of_the_targets():
    lists = RankingDataset.from_arrays(np.zeros((5, 1)), [0, 1, 2, 0, 2], ["a", "a", "a", "b", "b"])
    assert_allclose(targets(lists, [1, 2, 5]), [1 / 8, 2 / 8, 5 / 8, 1 / 6, 5 / 6])
    assert_allclose(targets(lists, "linear"), [0, 1 / 3, 2 / 3, 0, 1])
    assert_array_equal(targets(lists, "exponential"), targets(lists))
    spam = lists.replaced(relevance=lists.labels - 1)
    assert_allclose(targets(spam, "linear"), targets(lists, "linear"))


def test_gains_of_two_to_the_label_give_the_same_model(queries):
    graded = queries.replaced(relevance=np.minimum(queries.labels, 2))
    usual = ListwiseLinear(0.1).fit(graded)
    for gain in ([0, 1, 3], [0, 5, 15], "exponential"):
        assert_allclose(ListwiseLinear(0.1, gain=gain).fit(graded).coef_, usual.coef_, rtol=1e-6)
    other = ListwiseLinear(0.1, gain=[0, 1, 1]).fit(graded)
    assert not np.allclose(other.coef_, usual.coef_, rtol=1e-2)


def test_a_query_of_equal_gains_teaches_nothing(queries):
    """Labels 0, 1 and 2 with gains 0, 0 and 1 are the same as labels 0, 0 and 1."""
    graded = queries.replaced(relevance=np.minimum(queries.labels, 2))
    merged = graded.replaced(relevance=np.maximum(graded.labels - 1, 0))
    low, high = graded.label_bounds
    assert ((low < high) & (high < 2)).any()
    by_gain = ListwiseLinear(0.1, gain=[0, 0, 1]).fit(graded)
    assert_allclose(by_gain.coef_, ListwiseLinear(0.1).fit(merged).coef_, rtol=1e-6)
