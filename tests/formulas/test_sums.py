import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from localrank.aggregation import ZScore
from localrank.data import RankingDataset
from localrank.formulas import Linear, Standardised, WeightedSum

LISTS = RankingDataset.from_arrays(
    [[1.0, 0.0], [2.0, 5.0], [6.0, 1.0], [4.0, 4.0], [4.0, 4.0]], qid=["a", "a", "a", "b", "b"]
)
FIRST, SECOND = Linear(np.array([1.0, 0.0])), Linear(np.array([0.0, 1.0]))


def test_a_sum_weighs_its_terms():
    formula = WeightedSum((FIRST, SECOND), np.array([2.0, -1.0]), 10.0)
    assert_allclose(formula.score(LISTS), [12.0, 9.0, 21.0, 14.0, 14.0])
    assert formula.members == (FIRST, SECOND)


def test_standardised_scores_have_mean_0_and_deviation_1_in_each_list():
    scores = Standardised(FIRST).score(LISTS)
    assert_allclose(scores[:3], (np.array([1, 2, 6]) - 3) / np.std([1, 2, 6]))
    assert_array_equal(scores[3:], [0.0, 0.0])
    assert Standardised(FIRST).looks_at_list


def test_standardised_terms_add_up_to_what_the_aggregator_makes():
    lists = np.array([FIRST.score(LISTS), SECOND.score(LISTS)])
    formula = WeightedSum((Standardised(FIRST), Standardised(SECOND)), np.array([0.5, 0.5]))
    assert_allclose(formula.score(LISTS), ZScore().aggregate_rows(LISTS, lists))
    assert formula.looks_at_list
    assert len(list(formula.walk())) == 5
