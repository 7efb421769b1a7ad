"""What every measure promises, checked for every exported one."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures.sample_lists import by_query, dataset_of, random_lists
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import RankingDataset
from localrank.measures import (
    NDCG,
    _cascade,
    _hits,
    _ties,
    average_precision,
    bpref,
    evaluate,
    inst,
    judged,
    ndcg,
    order_error_rate,
    parse_measure,
    rank_biased_precision,
    reciprocal_rank,
    success,
)
from localrank.measures._ties import TIE_RULES
from localrank.measures.base import CutMeasure
from localrank.measures.parsing import measures_of

ALL = list(measures_of("default"))
MEASURES = [measure() for measure in ALL]
MEASURES += [measure(3) for measure in ALL if issubclass(measure, CutMeasure)]
each = pytest.mark.parametrize("measure", MEASURES, ids=str)


@each
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_the_order_of_documents_within_queries_is_irrelevant(measure, seed):
    dataset, scores = random_lists(seed, n_queries=12)
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(scores)), dataset.query_index))
    shuffled = dataset_of(*by_query(dataset, dataset.labels[order]))
    assert_allclose(measure(shuffled, scores[order]), measure(dataset, scores), rtol=1e-12)


@each
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_rows_scattered_over_the_input_give_the_same_values(measure, seed):
    dataset, scores = random_lists(seed, n_queries=12)
    order = np.random.default_rng(seed).permutation(len(scores))
    scattered = RankingDataset.from_arrays(
        np.zeros((len(scores), 1)), dataset.labels[order], dataset.query_index[order]
    )
    values = measure(dataset, scores)[scattered.query_ids]
    assert_allclose(measure(scattered, scores[order]), values, rtol=1e-12)


@each
@pytest.mark.parametrize("transform", [np.exp, np.arctan, lambda s: 3 * s - 7, lambda s: s**3])
def test_strictly_increasing_transformations_of_scores_change_nothing(measure, transform):
    dataset, scores = random_lists(1)
    assert_array_equal(measure(dataset, transform(scores)), measure(dataset, scores))


@each
def test_the_best_order_is_by_the_labels(measure):
    dataset, scores = random_lists(8)
    best, worst, other = (
        measure.mean(dataset, values) for values in (dataset.labels, -dataset.labels, scores)
    )
    sign = 1 if measure.higher_is_better else -1
    assert sign * best >= sign * other >= sign * worst


@each
def test_values_are_one_per_query_from_0_to_1_or_skipped(measure):
    dataset, scores = random_lists(9)
    values = measure(dataset, scores)
    assert values.shape == (dataset.n_queries,)
    counted = values[~np.isnan(values)]
    assert ((counted >= 0) & (counted <= 1 + 1e-12)).all()
    assert measure.empty == "skip" or len(counted) == len(values)


@each
def test_a_measure_is_a_value_with_a_name_that_is_read_back(measure):
    assert parse_measure(str(measure)) == measure
    assert hash(parse_measure(str(measure).upper())) == hash(measure)
    assert all(parse_measure(alias) == type(measure)() for alias in measure.aliases)
    assert measure.explain().startswith(f"{measure}: ")


@each
def test_a_tool_that_has_the_measure_is_a_known_one(measure):
    for tool in (*measure.conventions, *measure.uncut):
        assert type(parse_measure(measure.name, convention=tool)) is type(measure)


@each
def test_wrong_parameters_are_refused_in_one_form(measure):
    for field in fields(measure):
        with pytest.raises(ValueError, match=rf"' parameter of {type(measure).__name__} must be "):
            replace(measure, **{field.name: object()})


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
    every = [replace(m, ties=rule) for m in MEASURES for rule in m.tie_rules if rule in TIE_RULES]
    unjudged = dataset.replaced(relevance=dataset.labels - (np.arange(len(scores)) % 2))
    for values in (scores, fixed, scores.astype(np.float32), np.repeat(scores, 2)[::2]):
        evaluate(dataset, values, every)
        evaluate(unjudged, values, every)
        evaluate(dataset.replaced(relevance=1000 * dataset.labels), values, [NDCG()])
        evaluate(dataset, values, [parse_measure("map(rel=2,denominator=reachable)@3")])
        evaluate(dataset, values, [parse_measure("oer(high=2,low=1)")])
    for kernel in (
        ndcg._ndcg,
        average_precision._average_precision,
        reciprocal_rank._reciprocal_rank,
        _hits.hits,
        _cascade.cascade,
        success._success,
        judged._judged,
        bpref._bpref,
        inst._inst,
        rank_biased_precision._rank_biased,
        order_error_rate._order_error_rate,
        _ties._arrange,
    ):
        assert len(kernel.signatures) == 1, kernel
