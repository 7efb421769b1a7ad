import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures.sample_lists import dataset_of, random_lists
from numba import njit
from numpy.testing import assert_allclose
from scipy.special import polygamma

from localrank.measures import INST
from localrank.measures.inst import _trigamma

LISTS = st.lists(st.sampled_from([0, 0, 1, 2]), min_size=1, max_size=12)


@settings(max_examples=40)
@given(LISTS, st.sampled_from([0.5, 1.0, 1.7, 4.0]))
def test_the_value_is_that_of_the_definition(labels, target):
    value = INST(target=target)(dataset_of(labels), -np.arange(len(labels)))
    assert_allclose(value, [oracles.inst(labels, labels, target)], rtol=2e-3)


@settings(max_examples=10)
@given(LISTS)
def test_the_definition_comes_nearer_with_more_ranks(labels):
    value = INST()(dataset_of(labels), -np.arange(len(labels)))[0]
    errors = [oracles.inst(labels, labels, n_ranks=n) - value for n in (10**3, 10**4, 10**6)]
    assert errors == sorted(errors, reverse=True)
    assert 0 <= errors[-1] + 1e-12 <= 1e-4


def test_the_sum_of_all_weights_is_that_of_scipy():
    places = np.array([0.5, 1.0, 1.5, 3.0, 7.25, 11.9, 12.0, 50.0, 1e4])
    compiled = njit(_trigamma)
    assert_allclose([compiled(x) for x in places], polygamma(1, places), rtol=1e-13)


@pytest.mark.parametrize("target", [1, 3])
def test_more_relevant_documents_are_worth_more(target):
    measure = INST(target=target)
    values = [
        measure(dataset_of([1] * n + [0] * (20 - n)), -np.arange(20))[0] for n in range(1, 21)
    ]
    assert values == sorted(values)
    assert values[-1] < 1


def test_a_reader_who_wants_half_a_document_stops_at_the_first_relevant_one():
    assert INST(target=0.5)(dataset_of([1, 0, 1]), [3, 2, 1]) == [1.0]


def test_a_reader_who_wants_more_goes_deeper():
    deep = dataset_of([0, 0, 0, 0, 1, 1, 1, 1])
    values = [INST(target=t)(deep, -np.arange(8))[0] for t in (1, 2, 4)]
    assert values == sorted(values)


def test_documents_not_retrieved_change_nothing():
    dataset, scores = random_lists(1, tied=False)
    gone = np.where(np.arange(len(scores)) % 3 == 0, -np.inf, scores)
    gone[dataset.offsets[:-1]] = scores[dataset.offsets[:-1]]
    kept = np.flatnonzero(gone > -np.inf)
    parts = np.split(dataset.labels[kept], np.searchsorted(kept, dataset.offsets[1:-1]))
    assert_allclose(INST()(dataset, gone), INST()(dataset_of(*parts), gone[kept]), rtol=1e-12)


@settings(max_examples=30)
@given(st.lists(st.sampled_from([0, 0, 1]), min_size=2, max_size=6), st.sampled_from([1.0, 2.0]))
def test_pessimistic_ties_are_the_worst_order(labels, target):
    scores = [0.0] * len(labels)
    values = oracles.over_ties(oracles.inst, labels, scores, target=target, n_ranks=3000)
    worst = INST(target=target)(dataset_of(labels), scores)
    assert_allclose(worst, [min(values)], rtol=1e-2)
