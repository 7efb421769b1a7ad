import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import rankdata

from localrank.aggregation import Borda
from localrank.data import RankingDataset


def test_the_example_of_a_count_by_hand():
    # Two lists: a over b over c and d tied; c over a and b tied, d not held.
    lists = [[9, 1], [8, 1], [3, 7], [3, np.nan]]
    dataset = RankingDataset.from_arrays(np.zeros((4, 1)), qid=[1, 1, 1, 1])
    assert_array_equal(Borda().aggregate(dataset, lists), [3 + 1.5, 2 + 1.5, 0.5 + 3, 0.5 + 0])


@pytest.mark.parametrize("seed", range(10))
def test_it_equals_a_direct_count_with_ties(seed):
    rng = np.random.default_rng(seed)
    qid = rng.integers(0, 4, 60)
    lists = rng.integers(0, 6, (60, 3)).astype(float)
    dataset = RankingDataset.from_arrays(np.zeros((60, 1)), qid=qid)
    expected = [
        sum(
            (lists[x, k] > lists[y, k]) + (lists[x, k] == lists[y, k]) / 2
            for k in range(3)
            for y in range(60)
            if y != x and qid[x] == qid[y]
        )
        for x in range(60)
    ]
    assert_array_equal(Borda().aggregate(dataset, lists), expected)


@pytest.mark.parametrize("n", [1, 2, 127, 128, 129, 1000])
def test_one_list_gives_average_ranks(n):
    scores = np.random.default_rng(n).integers(0, n, n).astype(float)
    dataset = RankingDataset.from_arrays(np.zeros((n, 1)), qid=np.zeros(n))
    assert_array_equal(Borda().aggregate(dataset, scores[:, None]), n - rankdata(-scores))
