from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import rankdata

from localrank.aggregation import MedianRank
from localrank.data import RankingDataset


@pytest.mark.parametrize("n_lists", [1, 2, 3, 4, 7, 20])
def test_it_is_the_median_of_average_ranks(n_lists):
    rng = np.random.default_rng(n_lists)
    offsets = np.array([0, 1, 9, 40])
    dataset = RankingDataset.from_arrays(
        np.zeros((40, 1)), qid=np.repeat([5, 1, 3], np.diff(offsets))
    )
    lists = rng.integers(0, 9, (40, n_lists)).astype(float)
    scores = MedianRank().aggregate(dataset, lists)
    for begin, end in pairwise(offsets):
        ranks = rankdata(-lists[begin:end], axis=0)
        assert_array_equal(end - begin - scores[begin:end], np.median(ranks, axis=1))


def test_one_list_far_off_changes_nothing():
    order = np.arange(9.0)
    dataset = RankingDataset.from_arrays(np.zeros((9, 1)), qid=np.zeros(9))
    lists = np.column_stack([order, order, order, -order, order])
    assert_array_equal(MedianRank().aggregate(dataset, lists), order)
