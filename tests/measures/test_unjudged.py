"""A label below 0: nobody judged the document."""

from dataclasses import replace

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures.sample_lists import dataset_of, random_lists
from numpy.testing import assert_allclose, assert_array_equal

from localrank.measures import Bpref, Judged, RankBiasedPrecision, evaluate
from localrank.measures.parsing import measures_of

LISTS = st.lists(
    st.tuples(st.sampled_from([-1, -1, -3, 0, 0, 1, 2]), st.sampled_from([0.0, 1.0, -np.inf])),
    min_size=1,
    max_size=6,
)
SEE_IT = (Bpref, Judged)
PAIRS = [
    (Bpref(), oracles.bpref, {}),
    (Bpref(relevance_level=2), oracles.bpref, {"level": 2}),
    (Judged(), oracles.judged, {}),
    (Judged(2), oracles.judged, {"k": 2}),
    (RankBiasedPrecision(), oracles.rank_biased_precision, {}),
]


@pytest.mark.parametrize(
    "measure", [m() for m in measures_of("default") if m not in SEE_IT], ids=str
)
@pytest.mark.parametrize("tied", [True, False])
def test_other_measures_count_it_as_not_relevant(measure, tied):
    dataset, scores = random_lists(1, levels=(-2, -1, 0, 1, 2), tied=tied)
    plain = dataset.replaced(relevance=np.maximum(dataset.labels, 0))
    for rule in measure.tie_rules:
        if rule not in ("pessimistic", "threshold"):
            ours = replace(measure, ties=rule)
            assert_array_equal(ours(dataset, scores), ours(plain, scores))


@pytest.mark.parametrize(("measure", "oracle", "parameters"), PAIRS)
@settings(max_examples=60)
@given(documents=LISTS)
def test_values_are_the_mean_over_all_orders(measure, oracle, parameters, documents):
    labels, scores = zip(*documents, strict=True)
    expected = oracles.expected(oracle, labels, scores, **parameters)
    assert_allclose(measure(dataset_of(labels), scores), [expected], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("measure", "oracle", "parameters"), PAIRS)
@settings(max_examples=30)
@given(documents=LISTS)
def test_pessimistic_ties_are_the_worst_order(measure, oracle, parameters, documents):
    labels, scores = zip(*documents, strict=True)
    worst = min(oracles.over_ties(oracle, labels, scores, **parameters))
    pessimistic = replace(measure, ties="pessimistic")
    assert_allclose(pessimistic(dataset_of(labels), scores), [worst], rtol=1e-12, atol=1e-14)


@settings(max_examples=60)
@given(LISTS, st.sampled_from([None, 1, 3]), st.sampled_from([0.3, 0.8, 0.95]))
def test_the_residual_is_all_weight_that_no_judged_document_has(documents, cutoff, p):
    labels, scores = zip(*documents, strict=True)
    residual = RankBiasedPrecision(cutoff, p=p).residual(dataset_of(labels), scores)
    expected = oracles.expected(oracles.rank_biased_residual, labels, scores, k=cutoff, p=p)
    assert_allclose(residual, [expected], rtol=1e-12)


@pytest.mark.parametrize("ties", ["averaged", "input", "pessimistic", "document_id"])
def test_the_residual_bounds_what_judging_everything_can_change(ties):
    dataset, scores = random_lists(2, levels=(-1, -1, 0, 1), tied=ties == "averaged")
    measure = RankBiasedPrecision(p=0.9, ties=ties)
    value, residual = measure(dataset, scores), measure.residual(dataset, scores)
    assert ((residual > 0) & (value + residual <= 1 + 1e-12)).all()
    all_relevant = dataset.replaced(relevance=np.where(dataset.labels < 0, 1.0, dataset.labels))
    all_judged = measure(all_relevant, scores)
    assert (all_judged >= value).all()
    beyond = 0.9**dataset.query_sizes
    assert_allclose(all_judged + beyond, value + residual, rtol=1e-12)


@pytest.mark.parametrize("by_this_run", [True, False])
def test_bpref_does_not_see_documents_that_nobody_judged(by_this_run):
    dataset, scores = random_lists(3, tied=False)
    judged = Bpref()(dataset, scores)
    more = dataset_of(
        *[[*part, -1, -1] for part in np.split(dataset.labels, dataset.offsets[1:-1])]
    )
    places = np.setdiff1d(np.arange(more.n_documents), np.flatnonzero(more.labels < 0))
    among = np.full(more.n_documents, -np.inf)
    if by_this_run:
        among = np.random.default_rng(0).choice(scores, more.n_documents) + 0.5
    among[places] = scores
    assert_array_equal(Bpref()(more, among), judged)


def test_a_query_that_nobody_judged_is_empty_for_judged():
    dataset = dataset_of([-1, -1], [0, -1])
    scores = [1.0, 2.0, 2.0, 1.0]
    assert Judged()(dataset, scores).tolist() == [0.0, 0.5]
    assert Judged(empty="skip").mean(dataset, scores) == 0.5


def test_everything_is_judged_without_negative_labels():
    dataset, scores = random_lists(4)
    assert (Judged(3)(dataset, scores) == 1.0).all()


def test_measures_asked_for_after_one_another_do_not_mix_up_datasets_and_scores():
    """The last ranking is kept: it must be that of these labels and these scores."""
    dataset, scores = random_lists(5, levels=(-1, 0, 1))
    other = dataset.replaced(relevance=dataset.labels + 1.0)
    changed = scores.copy()
    first = Judged(2)(dataset, changed)
    assert not np.array_equal(Judged(2)(other, changed), first)
    changed *= -1  # in place: the same array with other scores
    assert not np.array_equal(Judged(2)(dataset, changed), first)
    changed *= -1
    assert_array_equal(evaluate(dataset, changed, [Judged(2)])[Judged(2)], first)
