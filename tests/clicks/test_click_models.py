"""What all click models promise, against their definitions spelt out case by case."""

from itertools import product

import naive_click_models as naive
import numpy as np
import pytest
from naive_click_models import LENGTH, MODELS, N_DOCUMENTS, drawn, log_of, world
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from localrank.clicks import (
    CascadeModel,
    ClickLog,
    DependentClickModel,
    DynamicBayesianModel,
    PositionBasedModel,
)

LEARNED = [name for name in MODELS if name not in ("cascade", "dcm-counts")]


@pytest.fixture(scope="module", params=MODELS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def log(name):
    return drawn(name, 1500)


@pytest.fixture(scope="module")
def model(name, log):
    return fresh(name).fit(log)


def fresh(name, **parameters):
    """An unfitted model, with those of the parameters that it has."""
    model = MODELS[name]
    known = model.get_params()
    given = {key: value for key, value in parameters.items() if key in known}
    return model.__class__(**known | given)


PATTERNS = list(product([0, 1], repeat=LENGTH))
DOCUMENTS = [4, 0, 2, 1]


def probabilities(model, log, **options):
    """A row for each session."""
    return model.click_probabilities(log, **options).reshape(-1, LENGTH)


def of_patterns(model, documents=DOCUMENTS):
    """The probability of each pattern of clicks, by the conditional probabilities."""
    log = log_of([documents] * len(PATTERNS), PATTERNS)
    clicked = probabilities(model, log, conditional=True)
    return np.where(np.array(PATTERNS), clicked, 1 - clicked).prod(axis=1)


def test_all_patterns_of_clicks_together_are_certain(model):
    assert_allclose(of_patterns(model).sum(), 1, rtol=1e-12)


def test_a_pattern_is_as_likely_as_all_that_leads_to_it(model):
    expected = [naive.pattern_probability(model, DOCUMENTS, pattern) for pattern in PATTERNS]
    assert_allclose(of_patterns(model), expected, atol=1e-12)


def test_a_click_is_as_likely_as_all_patterns_with_it(model):
    log = log_of([DOCUMENTS], [(0, 0, 0, 0)])
    expected = of_patterns(model) @ np.array(PATTERNS)
    assert_allclose(probabilities(model, log)[0], expected, atol=1e-12)


def test_unconditional_clicks_do_not_depend_on_what_was_clicked(model):
    clicked = probabilities(model, log_of([DOCUMENTS] * len(PATTERNS), PATTERNS))
    assert_array_equal(clicked, np.broadcast_to(clicked[0], clicked.shape))


def test_examination_is_that_of_the_definition_given_the_clicks_above(model):
    possible = [
        clicks for clicks in PATTERNS if naive.pattern_probability(model, DOCUMENTS, clicks)
    ]
    log = log_of([DOCUMENTS] * len(possible), possible)
    expected = [
        [naive.examination_given_above(model, DOCUMENTS, clicks, place) for place in range(LENGTH)]
        for clicks in possible
    ]
    assert_allclose(
        model.examination_of(log), np.maximum(np.ravel(expected), 1e-6), rtol=1e-9, atol=1e-12
    )


def test_examination_is_above_0_and_at_most_1(model, log):
    examination = model.examination_of(log)
    assert examination.min() > 0
    assert examination.max() <= 1
    assert_array_equal(examination[log.positions == 0], 1)


def test_the_log_likelihood_is_the_logarithm_of_the_sessions_probability(model, log):
    few = log.select(range(20))
    documents = few.document_ids[few.pairs].reshape(-1, LENGTH).tolist()
    expected = [
        naive.pattern_probability(model, shown, clicks)
        for shown, clicks in zip(documents, few.clicks.reshape(-1, LENGTH).tolist(), strict=True)
    ]
    assert_allclose(model.log_likelihood(few), np.log(expected), rtol=1e-9)


def test_what_cannot_happen_counts_as_one_in_a_million():
    model = CascadeModel().fit(log_of([[0, 1]] * 4, [(0, 1), (1, 0), (0, 0), (0, 1)]))
    twice = log_of([[0, 1]], [(1, 1)])
    assert_allclose(model.log_likelihood(twice), np.log([model.relevance_[0] * 1e-6]))


@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize("smoothing", [0, 2])
def test_no_pass_of_estimation_goes_downhill(name, smoothing):
    for seed in range(3):
        log = drawn(name, 150, seed)
        objectives = fresh(name, smoothing=smoothing).fit(log).objectives_
        assert len(objectives) > 3
        assert (np.diff(objectives) >= -1e-9 * abs(objectives[-1])).all()


@pytest.mark.parametrize("name", LEARNED)
def test_without_smoothing_the_objective_is_the_log_likelihood(name):
    log = drawn(name, 400)
    model = fresh(name, smoothing=0, tol=0, max_iter=3000).fit(log)
    assert_allclose(model.objectives_[-1], model.log_likelihood(log).sum(), rtol=1e-5)


# What each model may vary, other than relevance.
OTHERS = {
    "pbm": "examination_", "trust": "trust_", "ubm": "examination_", "dcm": "continuation_",
    "dbn": "satisfaction_", "sdbn": "satisfaction_",
}  # fmt: skip


@pytest.mark.parametrize("name", LEARNED)
def test_no_other_parameters_make_the_log_more_likely(name):
    log = drawn(name, 3000)
    model = fresh(name, smoothing=0, tol=0, max_iter=3000).fit(log)
    best = model.log_likelihood(log).sum()
    for attribute in ("relevance_", OTHERS[name]):
        values = getattr(model, attribute)
        free = np.argwhere(np.isfinite(values) & (values > 0) & (values < 1))
        for place in map(tuple, free):
            kept = values[place]
            for factor in (0.98, 1.02):
                values[place] = min(kept * factor, 1)
                assert model.log_likelihood(log).sum() <= best + 1e-3
            values[place] = kept


# But for the published estimate of DCM, which takes every last click for a satisfied one.
@pytest.mark.parametrize("name", [*LEARNED, "cascade"])
def test_parameters_are_recovered_from_logs_of_the_model_itself(name):
    true, log = world(name), drawn(name, 40_000)
    model = fresh(name, smoothing=0, tol=1e-9, max_iter=2000).fit(log)
    assert_allclose(model.relevance_, true.relevance_, atol=0.03)
    for attribute in ("examination_", "trust_", "satisfaction_", "continuation_"):
        if hasattr(true, attribute):
            expected, found = (
                np.array(getattr(true, attribute)),
                np.array(getattr(model, attribute)),
            )
            if attribute == "continuation_" and expected.ndim:
                expected, found = expected[:-1], found[:-1]  # nothing follows the last position
            assert_allclose(found, expected, atol=0.06)


def test_relevance_tells_the_order_of_documents(model):
    assert_array_equal(np.argsort(-model.relevance_), np.arange(N_DOCUMENTS))


def test_an_unknown_document_has_the_click_rate_of_the_first_position(name, log, model):
    firsts = log.clicks[log.positions == 0]
    # As if one more session had the click rate of the whole log.
    expected = (firsts.sum() + log.clicks.mean()) / (len(firsts) + 1)
    other = ClickLog.from_sessions(["q", "new"], [["x", "0"], ["0"]], [[0], []])
    assert_allclose(model.prior_, expected)
    assert_allclose(
        model.relevance_of(other), [expected, model.relevance_[0], expected], rtol=1e-12
    )
    if name != "trust":
        assert_allclose(model.click_probabilities(other)[[0, 2]], [expected, expected], rtol=1e-12)


def test_pairs_of_another_log_are_found_by_their_ids(model):
    """Numbers of queries and documents differ between logs; ids of text and number do not."""
    here = ClickLog.from_sessions(["q"], [[3, 1, 0]], [[1]])
    there = ClickLog.from_sessions(["a", "q"], [["z", "1"], ["3", "1", "0"]], [[], [1]])
    assert_array_equal(model.relevance_of(here), model.relevance_[[3, 1, 0]])
    assert_allclose(model.log_likelihood(there)[1:], model.log_likelihood(here))
    assert_allclose(
        model.click_probabilities(there)[2:], model.click_probabilities(here), rtol=1e-12
    )


def test_pairs_of_several_queries_are_found_whatever_their_order(name):
    lists = {"tea": ["b", "a", "c"], "cocoa": ["a", "d"], "milk": ["c", "b"]}
    rng = np.random.default_rng(0)
    queries = ["tea", "cocoa", "milk"] * 40
    shown = [lists[query] for query in queries]
    clicks = [np.flatnonzero(rng.random(len(one)) < 0.4) for one in shown]
    model = fresh(name).fit(ClickLog.from_sessions(queries, shown, clicks))
    other = ClickLog.from_sessions(queries[::-1][:3], shown[::-1][:3], clicks[::-1][:3])
    queries_of_pairs = np.repeat(model.query_ids_, np.diff(model.pair_offsets_))
    pairs = zip(queries_of_pairs, model.document_ids_, strict=True)
    of = dict(zip(pairs, model.relevance_, strict=True))
    expected = [of[query, document] for query in other.query_ids for document in lists[query]]
    assert_array_equal(model.relevance_of(other), expected)


@pytest.mark.parametrize("name", ["dbn", "sdbn"])
def test_an_unknown_document_satisfies_as_often_as_the_average_click(name):
    log = drawn(name, 1500)
    model = fresh(name).fit(log)
    other = ClickLog.from_sessions(["q"], [["x", "0"]], [[0]])
    last = np.array([row.any() and not row[place + 1 :].any() and row[place]
                     for row in log.clicks.reshape(-1, LENGTH)
                     for place in range(LENGTH - 1)])  # fmt: skip
    clicks = log.clicks.reshape(-1, LENGTH)[:, :-1].sum()
    # As if one more click had an even chance to be the last; clicks at the end tell nothing.
    average = (last.sum() + 0.5) / (clicks + 1)
    assert model.satisfaction_prior_ == pytest.approx(average)
    assert_allclose(model.examination_of(other), [1, model.continuation_ * (1 - average)])


def test_a_position_beyond_those_of_training_counts_as_the_last(name, model):
    longer = ClickLog.from_sessions(["q"], [[0, 1, 2, 3, 4, 5, 6]], [[1]])
    clicked = model.click_probabilities(longer, conditional=True)
    assert len(clicked) == 7
    assert ((clicked > 0) | (name == "cascade")).all()
    if name in ("pbm", "trust", "ubm"):
        assert_allclose(clicked[5], clicked[6])


def test_lists_of_any_length_are_learned_from(name):
    lists = [[0], [1, 0], [2, 0, 1], [0, 1, 2, 3]] * 30
    rng = np.random.default_rng(0)
    clicks = [rng.random(len(shown)) < 0.4 for shown in lists]
    log = log_of(lists, clicks)
    model = fresh(name).fit(log)
    together = [model.log_likelihood(log.select([i]))[0] for i in range(4)]
    assert_allclose(model.log_likelihood(log)[:4], together, rtol=1e-12)
    assert np.isfinite(together).all()


def test_the_order_of_sessions_does_not_matter(name, log, model):
    order = np.random.default_rng(1).permutation(log.n_sessions)
    shuffled = fresh(name).fit(log.select(order))
    assert_allclose(shuffled.relevance_, model.relevance_, atol=1e-6)


def test_queries_are_learned_apart(name):
    """The same document may be relevant for one query only."""
    n = 300
    log = ClickLog.from_sessions(
        ["tea"] * n + ["coffee"] * n,
        [["a", "b"]] * (2 * n),
        [[0]] * (n - 20) + [[]] * 20 + [[0]] * 20 + [[]] * (n - 20),
    )
    model = fresh(name).fit(log)
    assert model.relevance_[0] > 0.8
    assert model.relevance_[2] < 0.2


def test_more_smoothing_draws_relevance_to_the_prior(name, log):
    little, much = (fresh(name, smoothing=s).fit(log) for s in (0.1, 1e9))
    assert_allclose(much.relevance_, much.prior_, atol=1e-3)
    assert np.ptp(little.relevance_) > 0.3


def test_a_pair_without_impressions_has_the_prior(name):
    log = drawn(name, 400)
    rare = ClickLog.from_sessions(
        ["other"] + ["q"] * log.n_sessions,
        [[0], *log.document_ids[log.pairs].reshape(-1, LENGTH).tolist()],
        [[0], *(np.flatnonzero(row).tolist() for row in log.clicks.reshape(-1, LENGTH))],
    )
    for smoothing in (0, 2):
        model = fresh(name, smoothing=smoothing).fit(rare.select(range(1, rare.n_sessions)))
        assert model.relevance_[0] == pytest.approx(model.prior_)


def test_the_perplexity_of_a_coin_is_2():
    log = log_of([[0]] * 400, [(1,), (0,)] * 200)
    for name in MODELS:
        assert fresh(name).fit(log).perplexity(log) == pytest.approx(2, abs=1e-5)


def test_perplexity_is_the_mean_over_positions_of_two_to_the_entropy(model, log):
    clicked = probabilities(model, log)
    done = log.clicks.reshape(-1, LENGTH)
    expected = [
        2 ** -np.mean(np.log2([p if c else 1 - p for p, c in zip(*column, strict=True)]))
        for column in zip(clicked.T, done.T, strict=True)
    ]
    assert_allclose(model.perplexity_by_position(log), expected, rtol=1e-9)
    assert model.perplexity(log) == pytest.approx(np.mean(expected))


def test_a_position_counts_the_lists_that_have_it():
    log = ClickLog.from_sessions(["q"] * 3, [["a"], ["a", "b"], ["b", "a"]], [[0], [1], []])
    model = PositionBasedModel().fit(log)
    p = model.click_probabilities(log)
    expected = [1 / np.cbrt(p[0] * (1 - p[1]) * (1 - p[3])), 1 / np.sqrt(p[2] * (1 - p[4]))]
    assert_allclose(model.perplexity_by_position(log), expected)


def test_a_model_that_was_not_fitted_says_so(name, log):
    for ask in ("log_likelihood", "perplexity", "click_probabilities", "examination_of"):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            getattr(fresh(name), ask)(log)


def test_a_log_without_clicks_is_refused(name):
    silent = log_of([[0, 1]] * 3, [(0, 0)] * 3)
    with pytest.raises(ValueError, match="needs a log with a click. Got none"):
        fresh(name).fit(silent)
    with pytest.raises(ValueError, match="needs a log with a session. Got none"):
        fresh(name).fit(silent.select(np.zeros(3, bool)))


def test_clicks_below_the_first_position_alone_are_learned(name):
    log = log_of([[0, 1], [1, 0]] * 50, [(0, 1), (0, 0)] * 50)
    model = fresh(name).fit(log)
    assert model.relevance_.max() > 0
    assert np.isfinite(model.log_likelihood(log)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"smoothing": -1}, "'smoothing' parameter of .* must be a finite number, 0 or larger"),
        ({"max_iter": 1}, "'max_iter' parameter of .* must be a whole number, 2 or larger"),
        ({"tol": "low"}, "'tol' parameter of .* must be a finite number, 0 or larger"),
    ],
)
def test_parameters_are_checked(name, log, parameters, message):
    if set(parameters) <= set(MODELS[name].get_params()):
        with pytest.raises(ValueError, match=message):
            fresh(name, **parameters).fit(log)


def test_a_constructor_stores_what_fit_checks(log):
    with pytest.raises(ValueError, match="'method' .* must be 'em' or 'counts'. Got 'mle' instead"):
        DependentClickModel("mle").fit(log)
    with pytest.raises(ValueError, match="'continuation' .* from 0 to 1. Got 2 instead"):
        DynamicBayesianModel(2).fit(log)


def test_inputs_are_unchanged(name, log):
    before = log.pairs.copy(), log.clicks.copy()
    model = fresh(name).fit(log)
    model.log_likelihood(log), model.perplexity(log), model.examination_of(log)
    assert_array_equal(log.pairs, before[0])
    assert_array_equal(log.clicks, before[1])


def test_trust_is_0_at_the_last_position_and_examination_1_at_the_first():
    model = fresh("trust", smoothing=0).fit(drawn("pbm", 1500))
    assert model.examination_[0] == 1
    assert model.trust_[-1] == 0
    assert model.trust_.max() > 0  # by chance


# Estimates by counting.


def sessions_of(log):
    documents = log.document_ids[log.pairs]
    return [
        (log.query_ids[query], documents[begin:end].tolist(), log.clicks[begin:end].tolist())
        for query, begin, end in zip(
            log.session_queries, log.offsets[:-1], log.offsets[1:], strict=True
        )
    ]


def some_log(n_sessions=300, seed=0):
    """Lists of several queries and lengths with clicks at random."""
    rng = np.random.default_rng(seed)
    queries = rng.integers(4, size=n_sessions)
    lists = [rng.permutation(6)[: rng.integers(1, 6)].tolist() for _ in range(n_sessions)]
    return ClickLog.from_sessions(
        queries, lists, [np.flatnonzero(rng.random(len(one)) < 0.3).tolist() for one in lists]
    )


def of_pairs(log, table):
    pairs = zip(log.query_ids[log.pair_queries], log.document_ids, strict=True)
    return np.array([float(table.get(pair, 0)) for pair in pairs])


@pytest.mark.parametrize("smoothing", [0, 1.5])
def test_the_cascade_counts_clicks_down_to_the_first(smoothing):
    log = some_log()
    model = CascadeModel(smoothing=smoothing).fit(log)
    clicked, examined = (of_pairs(log, table) for table in naive.cascade_counts(sessions_of(log)))
    assert_allclose(
        model.relevance_, (clicked + smoothing * model.prior_) / (examined + smoothing), rtol=1e-12
    )


@pytest.mark.parametrize("smoothing", [0, 1.5])
def test_the_dependent_model_counts_down_to_the_last_click(smoothing):
    log = some_log()
    model = DependentClickModel("counts", smoothing=smoothing).fit(log)
    clicked, examined, tried, last = naive.dependent_counts(sessions_of(log))
    clicked, examined = of_pairs(log, clicked), of_pairs(log, examined)
    assert_allclose(
        model.relevance_, (clicked + smoothing * model.prior_) / (examined + smoothing), rtol=1e-12
    )
    mean = 1 - sum(last.values()) / sum(tried.values())
    expected = [
        (tried[place] - last[place] + smoothing * mean) / (tried[place] + smoothing)
        for place in sorted(tried)
    ]
    assert_allclose(model.continuation_, expected, rtol=1e-12)


def test_maximum_likelihood_predicts_better_than_counting():
    log = drawn("dcm", 2000)
    counted, learned = DependentClickModel("counts").fit(log), DependentClickModel().fit(log)
    assert learned.log_likelihood(log).sum() > counted.log_likelihood(log).sum() + 10


# The published expectation-maximisation, in dictionaries.


@pytest.mark.parametrize("kind", ["pbm", "ubm", "dbn"])
def test_a_log_is_as_likely_as_by_the_published_estimates(kind):
    log = drawn(kind, 400)
    sessions = sessions_of(log)
    published = naive.PublishedEM(kind, n_iter=60).fit(sessions)
    total = sum(
        np.log(p if click else 1 - p)
        for session in sessions
        for p, click in zip(published.click_probabilities(session), session[2], strict=True)
    )
    model = fresh(kind, smoothing=0, tol=1e-9).fit(log)
    assert model.log_likelihood(log).sum() >= total - 1e-6
    assert total > model.log_likelihood(log).sum() - 3  # its priors cost little
    pairs = [("q", document) for document in log.document_ids.tolist()]
    assert_allclose(model.relevance_, [published.attraction[pair] for pair in pairs], atol=0.12)
