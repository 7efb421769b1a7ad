from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sample_lists import by_query, dataset_of, random_lists

from localrank.data import RankingDataset
from localrank.measures import (
    average_precision,
    evaluate,
    expected_reciprocal_rank,
    ndcg,
    order_error_rate,
    parse_measure,
    precision,
    reciprocal_rank,
    ties,
)

NAMES = ["ndcg", "ndcg@3", "map", "map@4", "mrr", "mrr@2", "p@5", "err", "err@3", "oer"]
MEASURES = [parse_measure(name) for name in NAMES]


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_documents_within_queries_is_irrelevant(seed):
    dataset, scores = random_lists(seed, n_queries=12)
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(scores)), dataset.query_index))
    shuffled = dataset_of(*by_query(dataset, dataset.labels[order]))
    before, after = (
        evaluate(dataset, scores, MEASURES),
        evaluate(shuffled, scores[order], MEASURES),
    )
    for measure in MEASURES:
        assert_allclose(after[measure], before[measure], rtol=1e-12)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_rows_scattered_over_the_input_give_the_same_values(seed):
    dataset, scores = random_lists(seed, n_queries=12)
    order = np.random.default_rng(seed).permutation(len(scores))
    scattered = RankingDataset.from_arrays(
        np.zeros((len(scores), 1)), dataset.labels[order], dataset.query_index[order]
    )
    before, after = (
        evaluate(dataset, scores, MEASURES),
        evaluate(scattered, scores[order], MEASURES),
    )
    for measure in MEASURES:
        assert_allclose(after[measure], before[measure][scattered.query_ids], rtol=1e-12)


@pytest.mark.parametrize("transform", [np.exp, np.arctan, lambda s: 3 * s - 7, lambda s: s**3])
def test_strictly_increasing_transformations_of_scores_change_nothing(transform):
    dataset, scores = random_lists(1)
    before, after = (evaluate(dataset, s, MEASURES) for s in (scores, transform(scores)))
    for measure in MEASURES:
        assert_array_equal(after[measure], before[measure])


def test_the_ideal_ranking_is_worth_1():
    dataset, _ = random_lists(2)
    relevant = np.array([max(labels) > 0 for labels in by_query(dataset, dataset.labels)])
    for name in ("ndcg", "ndcg@5", "map", "mrr"):
        assert_allclose(parse_measure(name)(dataset, dataset.labels)[relevant], 1.0, rtol=1e-12)


def test_the_order_error_rate_of_the_reversed_scores_is_the_rest_to_1():
    dataset, scores = random_lists(3)
    measure = parse_measure("oer")
    assert_allclose(
        measure(dataset, scores) + measure(dataset, -scores), 1.0 + 0 * measure(dataset, scores)
    )


def test_measures_evaluated_together_have_the_values_of_each_alone():
    dataset, scores = random_lists(4)
    measures = [
        *MEASURES,
        parse_measure("ndcg(ties=input)@3"),
        parse_measure("map(ties=pessimistic)"),
    ]
    for measure, values in evaluate(dataset, scores, measures).items():
        assert_array_equal(values, measure(dataset, scores))


def test_inputs_stay_as_they_are():
    dataset, scores = random_lists(5)
    kept = scores.copy()
    evaluate(dataset, scores, [*MEASURES, parse_measure("ndcg(ties=document_id)")])
    assert_array_equal(scores, kept)
    assert scores.flags.writeable


def test_each_kernel_is_compiled_once_whatever_the_input():
    dataset, scores = random_lists(6)
    fixed = scores.copy()
    fixed.flags.writeable = False
    rules = ("averaged", "input", "pessimistic", "document_id")
    for values in (scores, fixed, scores.astype(np.float32), np.repeat(scores, 2)[::2]):
        evaluate(dataset, values, [replace(m, ties=rule) for m in MEASURES for rule in rules])
        evaluate(dataset, values, [parse_measure("map(rel=2,denominator=reachable)@3")])
        evaluate(dataset, values, [parse_measure("oer(high=2,low=1)")])
    for kernel in (
        ndcg._ndcg,
        average_precision._average_precision,
        reciprocal_rank._reciprocal_rank,
        precision._hits,
        expected_reciprocal_rank._expected_reciprocal_rank,
        order_error_rate._order_error_rate,
        ties._arrange,
    ):
        assert len(kernel.signatures) == 1, kernel
