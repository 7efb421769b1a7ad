"""Equations and bounds that tie measures to each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measures.sample_lists import by_query, dataset_of, random_lists
from numpy.testing import assert_allclose

from localrank.measures import (
    F1,
    Bpref,
    PFound,
    Precision,
    RankBiasedPrecision,
    Recall,
    RPrecision,
    Success,
    parse_measure,
)

SEEDS = st.integers(0, 10_000)
RULES = pytest.mark.parametrize("ties", ["averaged", "input", "pessimistic", "document_id"])


def lists_with_gaps(seed):
    """Queries with ties, unjudged documents, and documents that were not retrieved."""
    dataset, scores = random_lists(seed, levels=(-1, 0, 0, 1, 2), n_queries=20)
    gone = np.random.default_rng(seed).random(len(scores)) < 0.2
    return dataset, np.where(gone, -np.inf, scores)


@RULES
@given(SEEDS)
def test_r_precision_is_precision_and_recall_at_the_number_of_relevant_documents(ties, seed):
    dataset, scores = lists_with_gaps(seed)
    values = RPrecision(ties=ties)(dataset, scores)
    for query, labels in enumerate(by_query(dataset, dataset.labels)):
        n_relevant = sum(label > 0 for label in labels)
        if n_relevant == 0:
            assert values[query] == 0
            continue
        for measure in (Precision(n_relevant, ties=ties), Recall(n_relevant, ties=ties)):
            assert_allclose(measure(dataset, scores)[query], values[query], rtol=1e-12)


@pytest.mark.parametrize("short", ["pad", "shrink"])
@pytest.mark.parametrize("ties", ["input", "pessimistic", "document_id"])
@pytest.mark.parametrize("cutoff", [None, 1, 5, 50])
def test_f1_is_the_harmonic_mean_of_precision_and_recall(cutoff, ties, short):
    dataset, scores = lists_with_gaps(1)
    p = Precision(cutoff, ties=ties, short=short)(dataset, scores)
    r = Recall(cutoff, ties=ties)(dataset, scores)
    harmonic = np.where(p + r > 0, 2 * p * r / np.where(p + r > 0, p + r, 1), 0.0)
    assert_allclose(F1(cutoff, ties=ties, short=short)(dataset, scores), harmonic, rtol=1e-12)


@RULES
@pytest.mark.parametrize("measure", [Recall, Success, RankBiasedPrecision, PFound])
def test_more_documents_cannot_lower_what_they_add_up(measure, ties):
    dataset, scores = lists_with_gaps(2)
    values = [measure(cutoff, ties=ties)(dataset, scores) for cutoff in (1, 2, 3, 5, 10, None)]
    assert (np.diff(values, axis=0) >= -1e-12).all()


@RULES
def test_success_is_1_where_the_reciprocal_rank_is_not_0(ties):
    dataset, scores = random_lists(3)
    first = parse_measure(f"mrr(ties={ties})@3")(dataset, scores)
    success = Success(3, ties=ties)(dataset, scores)
    assert ((first > 0) == (success > 0)).all()
    assert (success >= first - 1e-12).all()


def test_success_at_1_is_precision_at_1():
    dataset, scores = lists_with_gaps(4)
    assert_allclose(Success(1)(dataset, scores), Precision(1)(dataset, scores), rtol=1e-12)


def test_bpref_is_1_where_no_irrelevant_document_is_above_a_relevant_one():
    dataset, _ = random_lists(5, levels=(-1, 0, 1, 2))
    relevant = np.array([max(labels) > 0 for labels in by_query(dataset, dataset.labels)])
    assert_allclose(Bpref()(dataset, dataset.labels)[relevant], 1.0)
    lists = [[0] * 3 + [1] * 2, [0] * 2 + [1] * 3]
    assert_allclose(Bpref()(dataset_of(*lists), -np.arange(10.0)), 0.0, atol=1e-15)


@pytest.mark.parametrize("p", [0.2, 0.8, 0.99])
def test_all_weights_of_rank_biased_precision_add_up_to_1(p):
    dataset, scores = random_lists(6, levels=(1,))
    judged = dataset.replaced(relevance=np.ones(dataset.n_documents))
    measure = RankBiasedPrecision(p=p)
    assert_allclose(measure(judged, scores) + measure.residual(judged, scores), 1.0, rtol=1e-12)
    assert_allclose(measure.residual(judged, scores), p**judged.query_sizes, rtol=1e-12)


def test_rank_biased_precision_tends_to_precision_at_1():
    dataset, scores = random_lists(7)
    values = RankBiasedPrecision(p=1e-9)(dataset, scores)
    assert_allclose(values, Precision(1)(dataset, scores), atol=1e-8)


def test_nothing_retrieved_is_worth_nothing():
    dataset = dataset_of([1, -1, 0])
    for name in ("recall", "rprec", "rbp", "bpref", "success", "f1", "inst", "judged", "p"):
        assert parse_measure(name)(dataset, [-np.inf] * 3) == [0.0]
    assert RankBiasedPrecision().residual(dataset, [-np.inf] * 3) == [1.0]


def test_a_short_list_divides_by_the_documents_that_were_retrieved():
    dataset, scores = dataset_of([1, 1, 0, 1]), [3.0, 2.0, 1.0, -np.inf]
    assert Precision()(dataset, scores) == [2 / 3]
    assert Precision(10, short="shrink")(dataset, scores) == [2 / 3]
    assert F1(10, short="shrink")(dataset, scores) == [2 / 3]
    assert F1(10)(dataset, scores) == pytest.approx([4 / 13])
