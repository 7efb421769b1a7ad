import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.aggregation import MarkovChain
from localrank.data import RankingDataset


def one_query(lists):
    return RankingDataset.from_arrays(np.zeros((len(lists), 1)), qid=np.zeros(len(lists)))


def transitions(lists):
    """MC4's chain, pair by pair."""
    n = len(lists)
    P = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            better = sum(lists[j] > lists[i])
            worse = sum(lists[j] < lists[i])
            if better > worse:
                P[i, j] = 1 / n
        P[i, i] = 1 - P[i].sum()
    return P


def stationary(P):
    """The eigenvector of the eigenvalue 1."""
    values, vectors = np.linalg.eig(P.T)
    vector = np.real(vectors[:, np.argmin(np.abs(values - 1))])
    return vector / vector.sum()


@pytest.mark.parametrize("restart", [0.01, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("n_lists", [1, 2, 3, 8])
@pytest.mark.parametrize("seed", range(4))
def test_scores_are_the_dense_chains_eigenvector(restart, n_lists, seed):
    rng = np.random.default_rng(seed)
    lists = rng.integers(0, 12, (25, n_lists)).astype(float)
    expected = stationary((1 - restart) * transitions(lists) + restart / 25)
    scores = MarkovChain(restart).aggregate(one_query(lists), lists)
    assert_allclose(scores / 25, expected, rtol=1e-9)


def test_scores_of_a_query_average_one():
    lists = np.random.default_rng(0).normal(size=(60, 5))
    dataset = RankingDataset.from_arrays(np.zeros((60, 1)), qid=np.repeat([1, 2], [20, 40]))
    scores = MarkovChain().aggregate(dataset, lists)
    assert_allclose([scores[:20].mean(), scores[20:].mean()], 1, rtol=1e-9)


def test_a_document_that_beats_every_other_is_first():
    # Each list has another favourite, and all of them put the last document second.
    n = 9
    lists = np.full((n, n - 1), 0.0)
    lists[np.arange(n - 1), np.arange(n - 1)] = 2
    lists[n - 1] = 1
    scores = MarkovChain().aggregate(one_query(lists), lists)
    assert scores.argmax() == n - 1
    assert (scores[:-1] == scores[0]).all()


def test_a_circle_of_majorities_is_a_tie():
    # a over b over c, b over c over a, c over a over b; d last in all, in another row each time.
    votes = np.array([[3, 1, 2], [2, 3, 1], [1, 2, 3], [0, 0, 0]], dtype=float)
    for order in np.array([[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]]):
        scores = MarkovChain().aggregate(one_query(votes), votes[order])[np.argsort(order)]
        assert (scores[:3] == scores[0]).all()
        assert scores[3] < scores[0]


def test_opposite_lists_say_nothing():
    order = np.random.default_rng(0).permutation(50)
    lists = np.column_stack([order, -order])
    assert_array_equal(MarkovChain().aggregate(one_query(lists), lists), np.ones(50))


def test_a_chain_that_is_slow_to_forget_is_solved_as_well():
    # Lists that begin elsewhere in a circle, and noise: majorities in circles of all lengths.
    n, restart = 301, 0.002
    rng = np.random.default_rng(0)
    lists = -((np.arange(n)[:, None] - rng.integers(0, n, 41)) % n).astype(float)
    lists += rng.normal(scale=n / 9, size=lists.shape)
    P = (lists[None] > lists[:, None]).sum(axis=2) > (lists[None] < lists[:, None]).sum(axis=2)
    P = P / n + np.diag(1 - P.sum(axis=1) / n)
    expected = np.linalg.solve(np.eye(n) - (1 - restart) * P.T, np.full(n, restart))
    scores = MarkovChain(restart).aggregate(one_query(lists), lists)
    assert_allclose(scores, expected, rtol=1e-9)


@pytest.mark.parametrize("restart", [0, 1, -0.1, float("nan"), "much"])
def test_a_restart_outside_0_and_1_is_refused(restart):
    lists = np.zeros((3, 2))
    message = rf"'restart' parameter of MarkovChain must be .* Got {restart!r} instead"
    with pytest.raises(ValueError, match=message):
        MarkovChain(restart).aggregate(one_query(lists), lists)
    with pytest.raises(ValueError, match=message):
        MarkovChain(restart).fit(one_query(lists), lists)
