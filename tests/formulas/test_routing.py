import numpy as np
from numpy.testing import assert_allclose

from localrank.data import RankingDataset
from localrank.formulas import Linear, Routed, ServiceRouter

LISTS = RankingDataset.from_arrays(
    [[1.0, 5.0], [2.0, 3.0], [9.0, 4.0], [7.0, 7.0]], qid=["a", "a", "b", "b"]
)
GROUPS = (Linear(np.array([1.0, 0.0])), Linear(np.array([0.0, 1.0])))


def router(*weights):
    return ServiceRouter(lambda dataset: np.array(weights), "none", True)


def test_each_list_has_its_group():
    formula = Routed(router([0.0, 1.0], [1.0, 0.0]), GROUPS)
    assert_allclose(formula.score(LISTS), [5.0, 3.0, 9.0, 7.0])
    assert formula.looks_at_list
    assert formula.members == GROUPS


def test_groups_weigh():
    formula = Routed(router([0.25, 0.75], [1.0, 0.5]), GROUPS)
    assert_allclose(formula.score(LISTS), [4.0, 2.75, 11.0, 10.5])


def test_scores_of_lists_with_several_groups_are_standardised_where_asked():
    formula = Routed(router([0.25, 0.75], [1.0, 0.0]), GROUPS, standardises=True)
    assert_allclose(formula.score(LISTS), [-0.25 + 0.75, 0.25 - 0.75, 9.0, 7.0])


def test_a_group_without_lists_is_not_asked():
    class Silent(Linear):
        def score(self, dataset):
            raise AssertionError("it has no list")

    formula = Routed(router([1.0, 0.0], [1.0, 0.0]), (GROUPS[0], Silent(np.ones(2))))
    assert_allclose(formula.score(LISTS), [1.0, 2.0, 9.0, 7.0])
