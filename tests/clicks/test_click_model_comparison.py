"""Which click model predicts sessions that it has not seen."""

import numpy as np
import pytest
from naive_click_models import MODELS, drawn
from numpy.testing import assert_array_equal
from scipy import stats

from localrank.clicks import (
    CascadeModel,
    ClickLog,
    DependentClickModel,
    DynamicBayesianModel,
    PositionBasedModel,
    UserBrowsingModel,
    compare_click_models,
)
from localrank.clicks.click_model_comparison import _n_impossible


@pytest.fixture(scope="module")
def log():
    return drawn("dbn", 3000)


@pytest.fixture(scope="module")
def compared(log):
    return compare_click_models(log)


@pytest.mark.parametrize(
    ("people", "expected"),
    [
        ("ubm", "UserBrowsingModel"),
        ("dbn", "DynamicBayesianModel"),
        ("cascade", "CascadeModel"),
        ("trust", "TrustBiasModel"),
    ],
)
def test_people_are_predicted_best_by_their_own_model(people, expected):
    compared = compare_click_models(drawn(people, 20_000))
    assert compared.best == expected or expected in compared.undecided
    wrong = "PositionBasedModel" if people != "trust" else "CascadeModel"
    assert compared.intervals[wrong][1] < 0


def test_a_model_that_contains_the_true_one_cannot_be_told_from_it():
    compared = compare_click_models(
        drawn("pbm", 20_000), [PositionBasedModel(), UserBrowsingModel(), CascadeModel()]
    )
    assert {compared.best, *compared.undecided} >= {"PositionBasedModel", "UserBrowsingModel"}
    assert "CascadeModel" not in compared.undecided


def test_models_learn_from_the_others_sessions_alone(log):
    """Whatever people do in the sessions held out, the fitted models are the same."""
    held = np.zeros(log.n_sessions, bool)
    held[np.random.default_rng(7).permutation(log.n_sessions)[:600]] = True
    known, others = log.select(~held), log.select(held)
    compared = compare_click_models(log, [PositionBasedModel()], random_state=7)
    model = PositionBasedModel().fit(known)
    found = compared.models["PositionBasedModel"]
    assert (compared.n_fitted, compared.n_held_out) == (2400, 600)
    assert_array_equal(found.relevance_, model.relevance_)
    assert compared.log_likelihood["PositionBasedModel"] == model.log_likelihood(others).mean()
    assert compared.perplexity["PositionBasedModel"] == model.perplexity(others)
    assert_array_equal(
        compared.perplexity_by_position["PositionBasedModel"], model.perplexity_by_position(others)
    )


def test_equal_seeds_give_equal_results(log, compared):
    assert compare_click_models(log).log_likelihood == compared.log_likelihood
    assert compare_click_models(log, random_state=1).log_likelihood != compared.log_likelihood


def test_models_given_are_not_changed(log):
    model = PositionBasedModel()
    compare_click_models(log, [model])
    assert not hasattr(model, "relevance_")


def test_an_interval_over_sessions_is_that_of_the_paired_t_test(log):
    compared = compare_click_models(log, [PositionBasedModel(), DynamicBayesianModel()])
    assert (compared.unit, compared.n_units) == ("sessions", 600)
    held = np.zeros(log.n_sessions, bool)
    held[np.random.default_rng(0).permutation(log.n_sessions)[:600]] = True
    others = log.select(held)
    values = {name: model.log_likelihood(others) for name, model in compared.models.items()}
    test = stats.ttest_rel(values["PositionBasedModel"], values["DynamicBayesianModel"])
    expected = test.confidence_interval(0.95)
    assert compared.intervals["PositionBasedModel"] == pytest.approx(tuple(expected), rel=1e-9)
    assert compared.intervals["DynamicBayesianModel"] == (0, 0)


def test_with_several_models_intervals_are_wider(log, compared):
    alone = compare_click_models(log, [PositionBasedModel(), DynamicBayesianModel()])
    low, high = alone.intervals["PositionBasedModel"]
    wide_low, wide_high = compared.intervals["PositionBasedModel"]
    assert wide_low < low
    assert wide_high > high


def of_many_queries(n_queries=40, n_sessions=2000, seed=0):
    """Each query has a relevance of its own, so that its sessions go together."""
    rng = np.random.default_rng(seed)
    queries = rng.integers(n_queries, size=n_sessions)
    taste = rng.random((n_queries, 4))
    lists = [rng.permutation(4).tolist() for _ in range(n_sessions)]
    clicks = [
        np.flatnonzero(rng.random(4) < taste[query][shown] * [1, 0.5, 0.3, 0.2]).tolist()
        for query, shown in zip(queries, lists, strict=True)
    ]
    return ClickLog.from_sessions(queries, lists, clicks)


def test_an_interval_over_queries_takes_their_sessions_together():
    log = of_many_queries()
    compared = compare_click_models(
        log, [PositionBasedModel(), CascadeModel()], held_out=0.5, random_state=3
    )
    assert (compared.unit, compared.n_units) == ("queries", 40)
    held = np.zeros(log.n_sessions, bool)
    held[np.random.default_rng(3).permutation(log.n_sessions)[:1000]] = True
    others = log.select(held)
    differences = compared.models["CascadeModel"].log_likelihood(others) - compared.models[
        "PositionBasedModel"
    ].log_likelihood(others)
    # Queries drawn with replacement, all of their sessions together.
    rng = np.random.default_rng(0)
    of_query = [np.flatnonzero(others.session_queries == query) for query in range(40)]
    means = [
        differences[np.concatenate([of_query[q] for q in rng.integers(40, size=40)])].mean()
        for _ in range(2000)
    ]
    low, high = compared.intervals["CascadeModel"]
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.975, 39) * np.std(means), rel=0.15)
    assert (low + high) / 2 == pytest.approx(differences.mean())


def test_what_was_not_seen_before_is_counted():
    lists = [[f"d{i}"] for i in range(100)]
    log = ClickLog.from_sessions(["q"] * 100, lists, [[0], []] * 50)
    assert compare_click_models(log, [PositionBasedModel()]).unseen == 1
    assert compare_click_models(drawn("pbm", 500), [PositionBasedModel()]).unseen == 0


def test_impossible_clicks_are_counted():
    log = drawn("dbn", 1000)
    compared = compare_click_models(log, [CascadeModel(), DependentClickModel()])
    held = np.zeros(1000, bool)
    held[np.random.default_rng(0).permutation(1000)[:200]] = True
    clicks = log.select(held).clicks.reshape(200, -1).sum(axis=1)
    assert compared.impossible["CascadeModel"] == np.maximum(clicks - 1, 0).sum() > 0
    assert compared.impossible["DependentClickModel"] == 0


def test_it_prints_every_model_and_a_sentence(compared):
    text = str(compared)
    for name in compared.models:
        assert name in text
        assert f"{compared.perplexity[name]:.4f}" in text
    assert "Perplexity by position" in text
    assert "DynamicBayesianModel predicts the clicks best" in " ".join(text.split())
    assert "<table>" in compared._repr_html_()
    order = [text.index(f" {name} ") for name in sorted(
        compared.models, key=lambda name: -compared.log_likelihood[name])]  # fmt: skip
    assert order == sorted(order)


def test_the_sentence_names_those_that_cannot_be_told_apart(log):
    same = {"first": PositionBasedModel(), "second": PositionBasedModel()}
    compared = compare_click_models(log, same)
    assert compared.undecided == ["second"]
    assert "These cannot be told from it: second." in compared.sentence
    worse = compare_click_models(log, [DynamicBayesianModel(), CascadeModel()])
    assert "All others are significantly worse." in worse.sentence
    alone = compare_click_models(log, [CascadeModel()])
    assert "others" not in alone.sentence


def test_models_have_the_names_given_or_that_they_print(log):
    named = compare_click_models(log, {"mine": PositionBasedModel(smoothing=1)})
    assert list(named.models) == ["mine"]
    listed = compare_click_models(log, [PositionBasedModel(), PositionBasedModel(smoothing=1)])
    assert list(listed.models) == ["PositionBasedModel", "PositionBasedModel(smoothing=1)"]


@pytest.mark.parametrize("models", [[], {}, [PositionBasedModel(), PositionBasedModel()]])
def test_there_must_be_different_models(log, models):
    with pytest.raises(ValueError, match="needs different models. Got"):
        compare_click_models(log, models)


def test_only_click_models_are_compared(log):
    with pytest.raises(TypeError, match="compares click models. Got 'pbm' instead"):
        compare_click_models(log, ["pbm"])  # type: ignore[list-item]


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.1, float("nan")])
def test_a_share_lies_between_0_and_1(log, share):
    with pytest.raises(ValueError, match=f"must lie between 0 and 1. Got {share!r} instead"):
        compare_click_models(log, held_out=share)


def test_some_sessions_must_remain():
    log = drawn("pbm", 3)
    with pytest.raises(ValueError, match="A share of 0.1 of 3 sessions is 0"):
        compare_click_models(log, held_out=0.1)


def test_all_models_are_compared_by_default(compared):
    assert {type(model) for model in compared.models.values()} == {
        type(model) for model in MODELS.values()
    }


def test_what_is_rare_is_not_impossible():
    log = ClickLog.from_sessions(["q"] * 5000, [["a"]] * 5000, [[0], *[[]] * 4999])
    model = PositionBasedModel().fit(log)
    assert 0 < model.click_probabilities(log).max() < 1e-3
    assert _n_impossible(model, log) == 0
