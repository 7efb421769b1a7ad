import numpy as np
import pytest
from scipy.stats import spearmanr

from localrank.serving._ranking import agreement


@pytest.mark.parametrize("n", [2, 3, 11, 50])
def test_correlation_is_spearmans(n, rng):
    first, second = rng.random((2, n))
    correlation, _ = agreement(first, second)
    assert correlation == pytest.approx(spearmanr(first, second).statistic)


def test_overlap_counts_the_first_ten():
    scores = np.arange(30.0, 0, -1)
    moved = scores.copy()
    moved[[2, 5, 7]] = 0
    assert agreement(scores, moved)[1] == 0.7


def test_a_list_of_one_agrees():
    assert agreement(np.array([1.0]), np.array([7.0])) == (1.0, 1.0)
