"""Labels from clicks: unbiased without a prior, shrunk by what the log says, joined by ids."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.clicks import (
    CascadeModel,
    ClickLog,
    PositionBehaviour,
    PositionBias,
    TrustBiasModel,
    relevance_dataset,
    simulate_clicks,
)
from localrank.clicks.relevance import (
    ClickedRelevance,
    examination,
    pairs_of_rows,
    reliability,
    told_by_features,
)
from localrank.data import RankingDataset, make_queries
from localrank.rankers import GBRT, LGMML, LambdaMART, ListwiseLinear, RankSVM, SVMMap
from localrank.recipes import local_rank

SEEN = np.array([1.0, 0.5, 0.2])


@pytest.fixture(scope="module")
def dataset():
    return make_queries(60, n_documents=(8, 14), random_state=1)[0]


@pytest.fixture(scope="module")
def log(dataset):
    by_hand = dataset.features[:, -1]
    people = PositionBehaviour(eta=1, noise=0.05)
    return simulate_clicks(dataset, by_hand, people, n_sessions=6000, depth=6, shuffle=1.5)


CURVE = 1 / np.arange(1, 7)


def outcomes(lists, chance):
    """All logs of some lists, and their probabilities, by the chance of a click on each place."""
    sizes = [len(one) for one in lists]
    for flags in product([0, 1], repeat=sum(sizes)):
        parts = np.split(np.array(flags), np.cumsum(sizes)[:-1])
        weight = np.prod(
            [
                chance(k, d) if c else 1 - chance(k, d)
                for one, part in zip(lists, parts, strict=True)
                for k, (d, c) in enumerate(zip(one, part, strict=True))
            ]
        )
        clicks = [np.flatnonzero(part).tolist() for part in parts]
        yield ClickLog.from_sessions(["q"] * len(lists), lists, clicks), weight


LISTS = [["a", "b", "c"], ["b", "a"], ["c", "a", "b"]]
TRUE = {"a": 0.9, "b": 0.3, "c": 0.6}


def test_without_a_prior_the_estimate_is_unbiased():
    """By adding up all outcomes of people who see positions by chance."""
    known = list(outcomes(LISTS, lambda k, d: SEEN[k] * TRUE[d]))
    assert_allclose(sum(weight for _, weight in known), 1)
    mean = sum(weight * ClickedRelevance.of(one, SEEN).relevance() for one, weight in known)
    assert_allclose(mean, [TRUE[d] for d in "abc"])


class Trusting:
    """People who trust positions: what they see they click without relevance, too."""

    trust_ = np.array([0.5, 0.2, 0.0])

    def examination_of(self, log):
        return SEEN[log.positions]


def test_clicks_by_trust_are_taken_off_without_bias():
    trust = Trusting.trust_
    chance = lambda k, d: SEEN[k] * (TRUE[d] + trust[k] * (1 - TRUE[d]))  # noqa: E731
    mean, square = np.zeros(3), np.zeros(3)
    for one, weight in outcomes(LISTS, chance):
        counts = ClickedRelevance.of(one, Trusting())
        estimate = counts.clicks / counts.exposure
        mean += weight * estimate
        square += weight * estimate**2
    relevance = np.array([TRUE[d] for d in "abc"])
    assert_allclose(mean, relevance)
    # Clicks vary less than Poisson's law has it, mistaken ones included.
    assert (
        (square - mean**2) * counts.exposure < relevance + counts.mistaken / counts.exposure
    ).all()


def test_clicks_vary_as_the_strength_of_a_prior_has_it():
    """Without mistakes, the variance of clicks is E r - r² Σ e²."""
    first = second = np.zeros(3)
    for one, weight in outcomes(LISTS, lambda k, d: SEEN[k] * TRUE[d]):
        counts = ClickedRelevance.of(one, SEEN)
        first = first + weight * counts.clicks
        second = second + weight * counts.clicks**2
    relevance = np.array([TRUE[d] for d in "abc"])
    expected = counts.exposure * relevance - relevance**2 * counts.squares
    assert_allclose(second - first**2, expected)


def test_the_strength_of_a_prior_is_found():
    """Relevance drawn from a gamma distribution of mean m and variance m / k."""
    rng = np.random.default_rng(0)
    n, mean, strength = 200_000, 0.2, 5.0
    relevance = rng.gamma(mean * strength, 1 / strength, n)
    exposure = rng.uniform(1, 40, n)
    clicks = rng.poisson(relevance * exposure).astype(float)
    counts = ClickedRelevance(clicks, exposure, np.zeros(n), np.zeros(n))
    assert_allclose(counts.strength(mean), strength, rtol=0.05)
    # The posterior has the least squared error of all strengths, and its variance is that error.
    errors = {
        k: np.mean((counts.relevance(mean, k) - relevance) ** 2) for k in (0, 2.5, 5.0, 10, 1000)
    }
    assert min(errors, key=errors.get) == 5.0
    assert_allclose(counts.variances(mean, 5.0).mean(), errors[5.0], rtol=0.02)


def test_clicks_on_what_everybody_sees_vary_less_than_poisson_has_it():
    """At the first position clicks are coins. Their variance is m (1 - m), not m."""
    rng = np.random.default_rng(0)
    n, looks, mean, variance = 50_000, 30, 0.6, 0.01
    size = mean * (1 - mean) / variance - 1
    relevance = rng.beta(mean * size, (1 - mean) * size, n)
    clicks = rng.binomial(looks, relevance).astype(float)
    exposure = np.full(n, float(looks))
    counts = ClickedRelevance(clicks, exposure, np.zeros(n), exposure)
    assert_allclose(counts.strength(mean), mean / variance, rtol=0.1)


def test_fewer_clicks_than_mistakes_are_no_relevance():
    log = ClickLog.from_sessions(["q", "q"], [["a", "b"], ["a", "b"]], [[1], []])
    counts = ClickedRelevance.of(log, Trusting())
    assert_allclose(counts.clicks, [-2 * 0.5, 1 - 2 * 0.5 * 0.2])
    assert_allclose(counts.relevance(), [0, 0.8 / (2 * 0.5 * 0.8)])


def test_an_estimate_varies_by_all_clicks_also_by_mistaken_ones():
    """Clicks are a Poisson number around r E + B. The estimate of r takes B off."""
    r, exposure, mistaken = 0.3, 20.0, 4.0
    clicks = np.random.default_rng(0).poisson(r * exposure + mistaken, 100_000) - mistaken
    each = [np.full(len(clicks), of) for of in (exposure, mistaken, exposure)]
    counts = ClickedRelevance(clicks, each[0], each[1], each[2])
    for strength in (0.0, 10.0):
        estimates = (clicks + strength * r) / (exposure + strength)
        told = counts.variances(r, strength)
        # The part of the prior is certain; the rest varies as clicks do.
        of_prior = strength * r / (exposure + strength) ** 2
        assert_allclose(told.mean() - of_prior, estimates.var(), rtol=0.02)


def test_chance_alone_makes_a_prior_certain():
    rng = np.random.default_rng(0)
    exposure = rng.uniform(5, 40, 1000)
    counts = ClickedRelevance(0.2 * exposure, exposure, np.zeros(1000), np.zeros(1000))
    assert counts.strength(0.2) > 1e6
    assert_allclose(counts.relevance(0.2, counts.strength(0.2)), 0.2)


def test_labels_are_those_of_a_loop(dataset, log):
    rates = {}
    for session in range(log.n_sessions):
        query = log.query_ids[log.session_queries[session]]
        for place, row in enumerate(range(*log.offsets[session : session + 2])):
            key = query, log.document_ids[log.pairs[row]]
            clicks, seen = rates.get(key, (0, 0))
            rates[key] = clicks + log.clicks[row], seen + CURVE[place]
    ours = relevance_dataset(log, dataset, CURVE, prior=None)
    numbers = np.arange(dataset.n_documents).astype(str)
    expected = {}
    for row, query in enumerate(dataset.query_ids[dataset.query_index].tolist()):
        if (query, numbers[row]) in rates:
            clicks, seen = rates[query, numbers[row]]
            expected[tuple(dataset.features[row])] = clicks / seen
    assert len(expected) == ours.n_documents < dataset.n_documents
    for features, label in zip(ours.features, ours.labels, strict=True):
        assert_allclose(label, expected[tuple(features)])


def with_ids(dataset, ids=None, order=None):
    names = np.arange(dataset.n_documents) if ids is None else ids
    order = np.arange(dataset.n_documents) if order is None else order
    queries = dataset.query_ids[dataset.query_index]
    return RankingDataset.from_arrays(
        dataset.features[order], dataset.labels[order], queries[order], document_ids=names[order]
    )


def test_the_order_of_sessions_queries_and_documents_does_not_matter(dataset, log):
    rng = np.random.default_rng(3)
    mixed = with_ids(dataset, order=rng.permutation(dataset.n_documents))
    ours = relevance_dataset(log, with_ids(dataset), CURVE)
    theirs = relevance_dataset(log.select(rng.permutation(log.n_sessions)), mixed, CURVE)
    for name in ("labels", "document_weights"):
        known = dict(zip(ours.document_ids.tolist(), getattr(ours, name), strict=True))
        expected = [known[document] for document in theirs.document_ids.tolist()]
        assert_array_equal(getattr(theirs, name), expected)
    first, second = (LambdaMART(10).fit(one).predict(dataset) for one in (ours, theirs))
    assert_array_equal(first, second)


def test_numbers_and_texts_are_the_same_ids(dataset, log):
    numbers, texts = (
        with_ids(dataset),
        with_ids(dataset, np.arange(dataset.n_documents).astype(str)),
    )
    assert_array_equal(pairs_of_rows(log, numbers), pairs_of_rows(log, texts))
    assert (log.document_ids[pairs_of_rows(log, texts)] == texts.document_ids).mean() > 0.5


def test_a_document_of_another_query_is_not_taken_for_one_of_this():
    log = ClickLog.from_sessions(["p", "q"], [["a"], ["b"]], [[0], []])
    rows = RankingDataset.from_arrays(np.zeros((2, 1)), qid=["p", "q"], document_ids=["b", "a"])
    assert_array_equal(pairs_of_rows(log, rows), [-1, -1])
    with pytest.raises(
        ValueError, match="no document in common. The log has document a of query p"
    ):
        relevance_dataset(log, rows)


def test_what_is_left_out_is_counted():
    log = ClickLog.from_sessions(
        ["p", "p", "x"], [["a", "b", "other"], ["b", "a"], ["a"]], [[0], [], [0]]
    )
    rows = RankingDataset.from_arrays(
        np.arange(4)[:, None], qid=["p", "p", "p", "q"], document_ids=["a", "b", "c", "a"]
    )
    lines = []
    ours = relevance_dataset(log, rows, prior="mean", unseen="leave out", say=lines.append)
    assert ours.document_ids.tolist() == ["a", "b"]
    assert lines == [
        "1 of 2 queries have no session: left out",
        "1 of 3 documents were not shown: left out",
        "2 of 6 impressions are of documents without features: left out",
    ]
    kept = relevance_dataset(log, rows, prior="mean", say=lines.append)
    assert kept.document_ids.tolist() == ["a", "b", "c"]
    assert lines[4] == "1 of 3 documents were not shown: labelled by what features tell"


def test_unseen_documents_are_at_most_average(dataset, log):
    ours = relevance_dataset(log, dataset, CURVE)
    only = relevance_dataset(log, dataset, CURVE, unseen="leave out")
    assert ours.n_documents == dataset.n_documents > only.n_documents
    shown = pairs_of_rows(log, dataset) >= 0
    assert_allclose(ours.labels[shown], only.labels, rtol=0.2, atol=0.02)
    means = np.array(
        [
            ours.labels[begin:end][shown[begin:end]].mean()
            for begin, end in zip(ours.offsets[:-1], ours.offsets[1:], strict=True)
        ]
    )
    assert (ours.labels[~shown] <= means[ours.query_index[~shown]] + 1e-9).all()
    assert (ours.labels[shown] > means[ours.query_index[shown]]).any()


def test_features_tell_of_a_query_what_others_taught(dataset, log):
    """Other clicks of a query change its labels, not what features tell of it."""
    pairs = pairs_of_rows(log, dataset)
    counts = ClickedRelevance.of(log, CURVE).taken(pairs)
    told = told_by_features(dataset, counts)
    first = dataset.query_index == 0
    other = ClickedRelevance(
        np.where(first, 9.0, counts.clicks), counts.exposure, counts.mistaken, counts.squares
    )
    again = told_by_features(dataset, other)
    assert_allclose(again[first], told[first])
    assert not np.allclose(again[~first], told[~first])


def test_features_tell_by_what_was_seen(dataset):
    """A document that nobody saw teaches nothing, however lucky its click."""
    n = dataset.n_documents
    hardly = np.arange(n) % 2 == 1
    exposure = np.where(hardly, 1e-6, 10.0)
    clicks = np.where(hardly, 1e-3, 2.0 + dataset.labels)
    told = told_by_features(dataset, ClickedRelevance(clicks, exposure, np.zeros(n), np.zeros(n)))
    assert 0.1 < told.min() < told.max() < 0.7


def test_what_features_tell_is_never_below_zero(dataset, log, monkeypatch):
    counts = ClickedRelevance.of(log, CURVE).taken(pairs_of_rows(log, dataset))
    monkeypatch.setattr(GBRT, "predict", lambda self, data: -np.ones(data.n_documents))
    assert_allclose(told_by_features(dataset, counts), 0.01 * counts.mean)


def test_the_log_decides_how_far_labels_are_shrunk(dataset, log):
    counts = ClickedRelevance.of(log, CURVE).taken(pairs_of_rows(log, dataset))
    shown = counts.exposure > 0
    told = told_by_features(dataset, counts)
    k = counts.strength(told)
    assert 1.5 < k < 100
    ours = relevance_dataset(log, dataset, CURVE).labels[shown]
    expected = (counts.clicks + k * told) / (counts.exposure + k)
    assert_allclose(ours, expected[shown], rtol=1e-6)


def test_labels_are_nearer_to_relevance_than_click_rates(dataset, log):
    def agreement(**options):
        learned = relevance_dataset(log, with_ids(dataset), **options)
        true = dict(zip(range(dataset.n_documents), dataset.labels, strict=True))
        labels = np.array([true[d] for d in learned.document_ids.tolist()])
        same = [
            np.corrcoef(labels[b:e], learned.labels[b:e])[0, 1]
            for b, e in zip(learned.offsets[:-1], learned.offsets[1:], strict=True)
            if np.ptp(labels[b:e]) > 0 and np.ptp(learned.labels[b:e]) > 0
        ]
        return np.mean(same)

    rates = agreement(prior=None)
    inverse = agreement(bias=CURVE, prior=None)
    shrunk = agreement(bias=CURVE, unseen="leave out")
    assert rates < inverse < shrunk


def test_every_ranker_takes_the_weights_of_queries(dataset, log):
    learned = relevance_dataset(log, dataset, CURVE)
    weights = learned.document_weights[learned.offsets[:-1]]
    assert_array_equal(weights[learned.query_index], learned.document_weights)
    assert np.ptp(weights) > 0.1
    plain = learned.replaced(document_weights=None)
    for ranker in (RankSVM(), LambdaMART(10, min_leaf_documents=5), ListwiseLinear()):
        ours = ranker.fit(learned).predict(dataset)
        assert_array_equal(ours, ranker.fit(plain, query_weight=weights).predict(dataset))
        assert not np.allclose(ours, ranker.fit(plain).predict(dataset))


def test_weights_that_are_given_stand_for_those_of_the_data(dataset, log):
    learned = relevance_dataset(log, dataset, CURVE)
    ones = np.ones(learned.n_queries)
    ours = RankSVM().fit(learned, query_weight=ones).predict(dataset)
    assert_allclose(ours, RankSVM().fit(learned.replaced(document_weights=None)).predict(dataset))


def test_weights_that_differ_within_a_query_are_for_rankers_that_weigh_documents(dataset):
    rng = np.random.default_rng(0)
    weighted = dataset.replaced(document_weights=rng.uniform(1, 2, dataset.n_documents))
    with pytest.raises(ValueError, match="SVMMap weighs queries"):
        SVMMap().fit(weighted)
    ours = LambdaMART(5).fit(weighted).predict(dataset)
    given = LambdaMART(5).fit(dataset, sample_weight=weighted.document_weights)
    assert_array_equal(ours, given.predict(dataset))


def test_weights_of_the_data_stand_by_its_rows(dataset):
    """The rows are not in the order in which they came."""
    rng = np.random.default_rng(0)
    order = rng.permutation(dataset.n_documents)
    X, y = dataset.features[order], dataset.labels[order]
    mixed = RankingDataset.from_arrays(X, y, dataset.query_index[order])
    weights = rng.uniform(1, 2, dataset.n_documents)
    weighted = mixed.replaced(document_weights=mixed.in_query_order(weights))
    ours, given = LambdaMART(5).fit(weighted), LambdaMART(5).fit(mixed, sample_weight=weights)
    assert_array_equal(ours.predict(mixed), given.predict(mixed))


def test_a_query_weighs_what_its_labels_tell():
    rows = RankingDataset.from_arrays(np.zeros((6, 1)), [0, 2, 0, 2, 1, 1], [1, 1, 2, 2, 3, 3])
    # Spread 2, 2 and 0; errors 0, 2 and 1.
    weights = reliability(rows, np.array([0, 0, 1, 1, 0.5, 0.5]))
    assert_allclose(weights / weights[0], [1, 1, 0.5, 0.5, 0, 0])
    assert_allclose(weights.mean(), 1)


def test_small_examination_is_clipped():
    log = ClickLog.from_sessions(["q", "q"], [["a", "b"], ["a", "b"]], [[1], [0]])
    rows = RankingDataset.from_arrays([[0], [1]], qid=["q"] * 2, document_ids=["a", "b"])
    ours = relevance_dataset(log, rows, [1, 0.001], prior=None)
    assert_allclose(ours.labels, [0.5, 50])
    assert_allclose(
        relevance_dataset(log, rows, [1, 0.001], prior=None, least_examination=0.1).labels, [0.5, 5]
    )


def test_a_click_model_tells_what_was_seen(dataset, log):
    model = CascadeModel().fit(log)
    assert_array_equal(examination(log, model), model.examination_of(log))
    ours = relevance_dataset(log, dataset, model, prior=None)
    assert ours.labels.max() > 0
    trusting = relevance_dataset(log, dataset, TrustBiasModel().fit(log))
    assert (trusting.labels >= 0).all()


def test_few_documents_have_the_mean_as_prior():
    log = ClickLog.from_sessions(["p", "q"], [["a", "b"], ["b", "c"]], [[0], [1]])
    rows = RankingDataset.from_arrays(
        np.arange(4)[:, None], qid=["p", "p", "q", "q"], document_ids=["a", "b", "b", "c"]
    )
    by_features = relevance_dataset(log, rows, [1, 0.5])
    assert_allclose(by_features.labels, relevance_dataset(log, rows, [1, 0.5], prior="mean").labels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bias": [1, 0.5]}, "the examination of each position: 6. Got shape"),
        ({"bias": [1, 0.5, 0.5, 0.2, 0, 0.1]}, "must have numbers above 0 and at most 1"),
        ({"prior": "clicks"}, "'prior' argument of relevance_dataset must be 'features', 'mean'"),
        ({"unseen": "drop"}, "'unseen' argument of relevance_dataset must be 'prior' or 'leave"),
        ({"least_examination": 0}, "'least_examination' argument of relevance_dataset must be"),
    ],
)
def test_wrong_arguments_are_refused(dataset, log, options, message):
    with pytest.raises(ValueError, match=message):
        relevance_dataset(log, dataset, **options)


def test_features_without_ids_are_for_made_up_logs_alone(dataset, log):
    assert (pairs_of_rows(log, dataset) >= 0).sum() == log.n_pairs
    with pytest.raises(ValueError, match="have no document ids to join them with the log"):
        relevance_dataset(log, dataset.select(range(1, 60)), CURVE)


def test_repeated_documents_and_logs_without_clicks_are_refused():
    log = ClickLog.from_sessions(["q"], [["a", "b"]], [[]])
    twice = RankingDataset.from_arrays([[0], [1]], qid=["q"] * 2, document_ids=["a", "a"])
    with pytest.raises(ValueError, match="have document a of query q twice"):
        relevance_dataset(log, twice)
    once = RankingDataset.from_arrays([[0], [1]], qid=["q"] * 2, document_ids=["a", "b"])
    with pytest.raises(ValueError, match="nothing to learn: no document with features was clicked"):
        relevance_dataset(log, once)


def test_rates_make_grades_of_relevance(dataset, log):
    bias = PositionBias().fit(log)
    plain = relevance_dataset(log, dataset, bias)
    graded = relevance_dataset(log, dataset, bias, rates=[0.1, 0.3])
    expected = (plain.labels >= 0.1).astype(int) + (plain.labels >= 0.3)
    assert set(expected) == {0, 1, 2}
    assert_array_equal(graded.labels, expected)
    # A query teaches as much as its relevance tells, however it is graded.
    assert len(set(plain.document_weights)) > 1
    assert_array_equal(graded.document_weights, plain.document_weights)


@pytest.mark.parametrize("rates", [[], [0.3, 0.1], [0.1, 0.1], [0, 0.5], [-1], [np.inf]])
def test_rates_must_rise(dataset, log, rates):
    with pytest.raises(ValueError, match=r"must be rising numbers above 0, such as \[0.1, 0.3\]"):
        relevance_dataset(log, dataset, rates=rates)


def test_rates_that_make_one_grade_are_refused(dataset, log):
    with pytest.raises(ValueError, match=r"All documents reach 0 of the rates \[50\]"):
        relevance_dataset(log, dataset, rates=[50])


def test_methods_of_relevant_documents_need_grades_and_say_so(dataset, log):
    with pytest.raises(ValueError, match=r"All labels are above 0. Set 'relevance_level', or"):
        SVMMap().fit(relevance_dataset(log, dataset))
    for ranker in (SVMMap(), LGMML(2), local_rank(n_clusters=2)):
        ranker.fit(relevance_dataset(log, dataset, rates=[0.1]))
