from itertools import pairwise
from math import floor, log2

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from localrank.rankers.lgmml._training import draw, find_violator, warp_weights

MASK = 2**64 - 1


def queries(seed=0, sizes=(6, 30, 1, 12), n_metrics=5):
    """Values, offsets, ascending labels, and the number of documents with lower labels."""
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, *sizes])
    labels = np.concatenate([np.sort(rng.integers(0, 3, size)) for size in sizes])
    values = -rng.uniform(size=(offsets[-1], n_metrics))
    n_lower = np.concatenate(
        [[sum(labels[b:e] < label) for label in labels[b:e]] for b, e in pairwise(offsets)]
    )
    return values, offsets, labels, n_lower.astype(np.int64)


def numbers(state):
    """Splitmix64 with Python's integers."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        word = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
        yield word ^ (word >> 31)


def plain_warp(values, labels, seed, margin, step, n_iterations, start=1.0):
    """Algorithm 2's last loop for one query."""
    random = numbers(seed)

    def choose(rows):
        return rows[(next(random) >> 32) * len(rows) >> 32]

    weights = np.full(values.shape[1], start)
    better = [i for i, label in enumerate(labels) if label > min(labels)]
    for _ in range(n_iterations if better else 0):
        i = choose(better)
        lower = [j for j, label in enumerate(labels) if label < labels[i]]
        for n_draws in range(1, len(lower) + 1):
            j = choose(lower)
            if margin + values[j] @ weights > values[i] @ weights:
                rank = floor(len(lower) / n_draws)
                loss = sum(1 / log2(k + 1) for k in range(1, rank + 1))
                weights = np.maximum(weights - step * loss * (values[j] - values[i]), 0)
                break
    return weights


def warp_loss(values, labels, weights, margin):
    """The loss of one query: eqs. 14 to 17 of the paper."""
    scores = values @ weights
    losses = []
    for label, score in zip(labels, scores, strict=True):
        excess = margin - score + scores[labels < label]
        violations = excess[excess > 0]
        rank_loss = sum(1 / log2(k + 1) for k in range(1, len(violations) + 1))
        if label > labels.min():
            losses.append(rank_loss * violations.mean() if len(violations) else 0.0)
    return np.mean(losses) if losses else 0.0


@pytest.mark.parametrize(("margin", "step"), [(0.1, 0.05), (0.0, 1.0), (5.0, 0.01)])
def test_weights_are_those_of_the_algorithm(margin, step):
    values, offsets, labels, n_lower = queries()
    seeds = np.array([3, 2**63 + 5, 0, 7], np.uint64)
    result = warp_weights(
        values, offsets, n_lower, seeds, margin=margin, step=step, n_iterations=60
    )
    for query, (begin, end) in enumerate(pairwise(offsets)):
        rows = slice(begin, end)
        expected = plain_warp(values[rows], labels[rows], int(seeds[query]), margin, step, 60)
        assert_allclose(result[query], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("start", [0.1, 0.5, 10.0])
@pytest.mark.parametrize(("margin", "step"), [(0.1, 0.05), (2.0, 0.3)])
def test_to_begin_at_other_weights_is_to_divide_margin_and_step_by_them(start, margin, step):
    values, offsets, labels, n_lower = queries()
    seeds = np.arange(4, dtype=np.uint64)
    result = start * warp_weights(
        values, offsets, n_lower, seeds, margin=margin / start, step=step / start, n_iterations=60
    )
    for query, (begin, end) in enumerate(pairwise(offsets)):
        query_data = values[begin:end], labels[begin:end], int(seeds[query])
        expected = plain_warp(*query_data, margin, step, 60, start)
        assert_allclose(result[query], expected, rtol=1e-9, atol=1e-12)
    assert (result > start).any()


def test_a_query_has_the_same_weights_alone_and_among_others():
    values, offsets, _, n_lower = queries()
    seeds = np.arange(4, dtype=np.uint64)
    choices = {"margin": 0.1, "step": 0.1, "n_iterations": 200}
    result = warp_weights(values, offsets, n_lower, seeds, **choices)
    for query, (begin, end) in enumerate(pairwise(offsets)):
        alone = warp_weights(
            values[begin:end], [0, end - begin], n_lower[begin:end], seeds[[query]], **choices
        )
        assert_array_equal(alone[0], result[query])


def test_training_lowers_the_loss():
    # Documents with higher labels are nearer in the first metrics, the others are noise.
    rng = np.random.default_rng(1)
    labels = np.sort(rng.integers(0, 3, 60))
    values = -rng.uniform(size=(60, 8))
    values[:, :3] += 0.3 * labels[:, None]
    n_lower = np.searchsorted(labels, labels)
    weights = warp_weights(values, [0, 60], n_lower, [5], margin=0.5, step=0.01, n_iterations=2000)[
        0
    ]
    before = warp_loss(values, labels, np.ones(8), 0.5)
    assert warp_loss(values, labels, weights, 0.5) < 0.5 * before
    assert weights[:3].min() > weights[3:].max()


def test_weights_stay_where_no_document_violates():
    labels = np.repeat([0, 1], 10)
    values = np.where(labels == 1, -0.1, -0.9)[:, None] * np.ones(4)
    choices = {"step": 1.0, "n_iterations": 50}
    n_lower = 10 * labels
    apart = warp_weights(values, [0, 20], n_lower, [1], margin=3.1, **choices)
    assert_array_equal(apart, np.ones((1, 4)))
    near = warp_weights(values, [0, 20], n_lower, [1], margin=3.3, **choices)
    assert (near > 1).all()


def test_weights_are_never_negative():
    values, offsets, _, n_lower = queries(2)
    result = warp_weights(
        values, offsets, n_lower, np.arange(4), margin=1.0, step=10.0, n_iterations=100
    )
    assert (result >= 0).all()
    assert (result == 0).any()


def test_documents_of_one_label_teach_nothing():
    result = warp_weights(
        -np.ones((3, 2)), [0, 3], [0, 0, 0], [1], margin=1.0, step=1.0, n_iterations=10
    )
    assert_array_equal(result, np.ones((1, 2)))


N_LOWER, N_TRIALS = 60, 20_000


def draws(n_violators):
    """Number of draws and row of each of many searches. Rows that violate come first."""
    lower = np.where(np.arange(N_LOWER) < n_violators, 1.0, -1.0)[:, None]
    state = np.array([11], np.uint64)
    searches = [find_violator(lower, np.ones(1), 0.0, state) for _ in range(N_TRIALS)]
    return np.array(searches).T


@pytest.mark.parametrize("n_violators", [3, 10, 30, 60])
def test_the_number_of_draws_estimates_the_rank(n_violators):
    rows, n_draws = draws(n_violators)
    share = n_violators / N_LOWER
    assert ((rows < n_violators) & (rows >= 0)).mean() == pytest.approx(
        1 - (1 - share) ** N_LOWER, abs=0.01
    )
    # A search gives up after as many draws as there are documents.
    n = np.arange(1, N_LOWER + 1)
    chances = share * (1 - share) ** (n - 1)
    chances[-1] += (1 - share) ** N_LOWER
    error = 5 * np.sqrt(chances @ n**2 - (chances @ n) ** 2) / np.sqrt(N_TRIALS)
    assert N_LOWER / n_draws.mean() == pytest.approx(N_LOWER / (chances @ n), rel=error + 1e-12)
    if n_violators >= 10:
        assert N_LOWER / n_draws.mean() == pytest.approx(n_violators, rel=error + 1e-3)
    # The length of a step is looked up by this.
    estimates = N_LOWER // n
    spread = np.sqrt(chances @ estimates**2 - (chances @ estimates) ** 2)
    assert np.mean(N_LOWER // n_draws) == pytest.approx(
        chances @ estimates, abs=5 * spread / np.sqrt(N_TRIALS) + 1e-9
    )


def test_every_violator_is_found_as_often():
    rows, _ = draws(30)
    assert stats.chisquare(np.bincount(rows, minlength=30)).pvalue > 1e-3


def test_no_violator_is_no_row():
    assert find_violator(-np.ones((4, 1)), np.ones(1), 0.0, np.array([1], np.uint64)) == (-1, 4)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_numbers_are_drawn_evenly(n):
    state = np.array([42], np.uint64)
    drawn = np.array([draw(state, n) for _ in range(5000)])
    counts = np.bincount(drawn, minlength=n)
    assert len(counts) == n
    assert n == 1 or stats.chisquare(counts).pvalue > 1e-3


def test_numbers_are_those_of_splitmix64():
    # The first outputs of the published generator for seed 1234567, cut to 32 bits.
    state = np.array([1234567], np.uint64)
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [draw(state, 2**32) for _ in range(3)] == [word >> 32 for word in expected]
