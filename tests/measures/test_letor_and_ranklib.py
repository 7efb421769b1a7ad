"""Conventions of tools that are not Python packages, against a plain transcription."""

import numpy as np
import oracles
import pytest
from measures.sample_lists import dataset_of, in_order, random_lists
from numpy.testing import assert_allclose

from localrank.data.letor import read_letor
from localrank.measures import parse_measure

LISTS = [random_lists(1), random_lists(2, tied=False), random_lists(3, levels=(0, 1, 2, 3, 4))]


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("cutoff", [1, 2, 3, 5, 10])
@pytest.mark.parametrize(("dataset", "scores"), LISTS, ids=["tied", "untied", "graded"])
def test_ndcg_is_that_of_the_letor_scripts(dataset, scores, cutoff, version):
    values = parse_measure(f"ndcg@{cutoff}", convention=f"letor{version}")(dataset, scores)
    expected = [oracles.letor_ndcg(r, cutoff, version) for r in in_order(dataset, scores)]
    assert_allclose(values, expected, rtol=1e-12)


@pytest.mark.parametrize("convention", ["letor3", "letor4", "ranklib"])
@pytest.mark.parametrize(("dataset", "scores"), LISTS, ids=["tied", "untied", "graded"])
def test_average_precision_takes_ties_in_line_order(dataset, scores, convention):
    values = parse_measure("map", convention=convention)(dataset, scores)
    expected = [oracles.average_precision(r, r) for r in in_order(dataset, scores)]
    assert_allclose(values, expected, rtol=1e-12)


@pytest.mark.parametrize("convention", ["letor3", "letor4"])
def test_letor_divides_the_precision_of_a_short_list_by_the_cutoff(convention):
    assert parse_measure("p@5", convention=convention)(dataset_of([1, 1]), [2.0, 1.0]) == [0.4]


def test_letor_4_counts_a_query_with_fewer_documents_than_the_cutoff_as_0():
    dataset = dataset_of([1, 1], [1, 1, 0])
    scores = [2.0, 1.0, 3.0, 2.0, 1.0]
    assert parse_measure("ndcg@3", convention="letor4")(dataset, scores).tolist() == [0.0, 1.0]


def test_letor_does_not_discount_the_second_rank():
    dataset = dataset_of([0, 1, 1])
    value = parse_measure("ndcg@2", convention="letor3")(dataset, [3.0, 2.0, 1.0])
    assert value == [0.5]


@pytest.mark.parametrize("cutoff", [1, 3, 10])
@pytest.mark.parametrize(("dataset", "scores"), LISTS, ids=["tied", "untied", "graded"])
def test_ranklib_has_the_same_values(dataset, scores, cutoff):
    ranked = in_order(dataset, scores)
    oracle = {
        "ndcg": lambda r: oracles.ndcg(r, r, cutoff),
        "rr": lambda r: oracles.reciprocal_rank(r, r, cutoff),
        "p": lambda r: oracles.ranklib_precision(r, cutoff),
        "err": lambda r: oracles.expected_reciprocal_rank(r, r, cutoff),
    }
    for name, value in oracle.items():
        measure = parse_measure(f"{name}@{cutoff}", convention="ranklib")
        assert_allclose(measure(dataset, scores), [value(r) for r in ranked], rtol=1e-12)


@pytest.mark.parametrize("cutoff", [1, 3, 10])
@pytest.mark.parametrize(("dataset", "scores"), LISTS, ids=["tied", "untied", "graded"])
def test_allrank_has_the_same_values(dataset, scores, cutoff):
    ranked = in_order(dataset, scores)
    for name, oracle in {
        "ndcg": oracles.allrank_ndcg,
        "mrr": oracles.allrank_reciprocal_rank,
    }.items():
        measure = parse_measure(f"{name}@{cutoff}", convention="allrank")
        expected = [oracle(labels, cutoff) for labels in ranked]
        assert_allclose(measure(dataset, scores), expected, rtol=1e-12)


def test_allrank_looks_for_the_best_document_not_for_a_relevant_one():
    measure = parse_measure("mrr", convention="allrank")
    assert measure(dataset_of([1, 0, 2]), [3.0, 2.0, 1.0]) == [1 / 3]


@pytest.fixture(scope="module")
def ohsumed(benchmark_data):
    return read_letor([benchmark_data / "OHSUMED" / f"S{part}.txt.gz" for part in range(1, 6)])


def test_line_order_gives_a_constant_score_on_ohsumed_the_map_of_its_sorted_lines(ohsumed):
    constant = np.zeros(ohsumed.n_documents)
    in_line_order = parse_measure("map", convention="letor3").mean(ohsumed, constant)
    assert in_line_order == pytest.approx(0.426, abs=5e-4)


def test_averaged_ties_give_a_constant_score_on_ohsumed_the_map_of_shuffled_lines(ohsumed):
    rng = np.random.default_rng(0)
    untied = [rng.random(ohsumed.n_documents) for _ in range(40)]
    shuffled = np.mean([parse_measure("map").mean(ohsumed, scores) for scores in untied])
    averaged = parse_measure("map").mean(ohsumed, np.zeros(ohsumed.n_documents))
    assert averaged == pytest.approx(shuffled, abs=2e-3)
    assert averaged == pytest.approx(0.306, abs=5e-4)


def test_ranklib_cuts_at_10_unless_told():
    assert parse_measure("NDCG", convention="ranklib").cutoff == 10  # type: ignore[attr-defined]
