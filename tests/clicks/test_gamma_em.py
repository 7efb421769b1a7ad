"""The curve and the means make clicks most likely, and relevance is what is then expected."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

from localrank.clicks._gamma_em import estimated, relevance_given
from localrank.clicks._slot_em import cells_of


@pytest.fixture(scope="module")
def log():
    """Documents of two kinds at four positions: counts, their cells, and the kinds."""
    rng = np.random.default_rng(5)
    p = np.array([1.0, 0.6, 0.4, 0.3])
    kinds = np.arange(80) % 2
    relevance = rng.gamma(2.0, np.where(kinds, 0.2, 0.1))
    shown = rng.integers(1, 12, (80, 4))
    clicked = rng.binomial(shown, np.minimum(relevance[:, None] * p, 1))
    pairs, slots = np.nonzero(shown)
    times = shown[pairs, slots]
    clicks = np.concatenate(
        [np.arange(n) < c for n, c in zip(times, clicked[pairs, slots], strict=True)]
    )
    cells = cells_of(np.repeat(pairs, times), np.repeat(slots, times), clicks, 80, 4)
    return shown, clicked, cells, kinds


def likelihood(shown, clicked, kinds, shape, parameters):
    """Of Poisson clicks whose rates are drawn from Gamma distributions, by the textbook."""
    p, means = np.exp(np.append(0, parameters[:3])), np.exp(parameters[3:])
    total = 0.0
    for document in range(len(kinds)):
        rate, clicks = shape / means[kinds[document]], clicked[document].sum()
        seen = (shown[document] * p).sum()
        total += shape * np.log(rate) - gammaln(shape) + gammaln(shape + clicks)
        total -= (shape + clicks) * np.log(rate + seen)
        total += (clicked[document] * np.log(shown[document] * p)).sum()
    return total


def fitted(cells, kinds):
    return estimated(cells, kinds, np.arange(80), 80, start=np.ones(4))


def test_no_other_curve_makes_the_clicks_more_likely(log):
    shown, clicked, cells, kinds = log
    estimate = fitted(cells, kinds)
    means = [estimate.relevance[kinds == kind].mean() for kind in (0, 1)]
    best = np.log([*estimate.examination[1:], *means])
    value = likelihood(shown, clicked, kinds, estimate.shape, best)
    for step in np.concatenate([1e-4 * np.eye(5), -1e-4 * np.eye(5)]):
        moved = likelihood(shown, clicked, kinds, estimate.shape, best + step)
        assert moved < value


def test_relevance_is_the_mean_of_the_posterior(log):
    shown, clicked, cells, kinds = log
    estimate = fitted(cells, kinds)
    means = np.array([estimate.relevance[kinds == kind].mean() for kind in (0, 1)])[kinds]
    seen = (shown * estimate.examination).sum(axis=1)
    expected = (estimate.shape + clicked.sum(axis=1)) / (estimate.shape / means + seen)
    assert_allclose(estimate.relevance, expected, rtol=1e-7)


def test_changes_say_how_the_estimate_moves_when_a_unit_counts_more(log):
    shown, clicked, _, kinds = log
    few = np.arange(80)

    def curve(times):
        pairs, slots = np.nonzero(shown)
        n, c = shown[pairs, slots] * times[pairs], clicked[pairs, slots] * times[pairs]
        clicks = np.concatenate([np.arange(a) < b for a, b in zip(n, c, strict=True)])
        # The same document several times is several documents: a query that was drawn again.
        copies = np.concatenate(
            [np.arange(a) // b for a, b in zip(n, n // times[pairs], strict=True)]
        )
        rows = np.repeat(pairs, n) + 80 * copies
        cells = cells_of(rows, np.repeat(slots, n), clicks, 80 * times.max(), 4)
        used = np.diff(cells.offsets) > 0
        of_rows = np.tile(few, times.max())[used]
        cells = cells_of(
            (np.cumsum(used) - 1)[rows], np.repeat(slots, n), clicks, int(used.sum()), 4
        )
        return estimated(cells, kinds[of_rows], of_rows, 80, start=np.ones(4))

    base = curve(np.ones(80, np.int64))
    assert_allclose(base.changes.sum(axis=0), 0, atol=1e-7)
    moved, told = [], []
    for unit in np.argsort(-np.abs(base.changes).sum(axis=1))[:25]:
        times = np.ones(80, np.int64)
        times[unit] = 2
        moved.append(np.log(curve(times).examination / base.examination)[1:])
        told.append(base.changes[unit, 1:])
    # To the first order, where the shape stays as it is.
    slope = np.sum(np.multiply(moved, told)) / np.sum(np.square(told))
    assert 0.92 < slope < 1.08
    assert np.corrcoef(np.ravel(moved), np.ravel(told))[0, 1] > 0.97


def test_documents_with_few_impressions_do_not_flatten_the_curve():
    rng = np.random.default_rng(0)
    p = np.array([1.0, 0.3])
    relevance = rng.gamma(1.0, 0.1, 60_000)
    clicks = rng.random((60_000, 2)) < relevance[:, None] * p
    pairs = np.repeat(np.arange(60_000), 2)
    cells = cells_of(pairs, np.tile([0, 1], 60_000), clicks.ravel(), 60_000, 2)
    kinds = np.zeros(60_000, np.int64)
    estimate = estimated(cells, kinds, pairs[::2] % 100, 100, start=np.ones(2))
    assert_allclose(estimate.examination, p, rtol=0.06)


def test_equal_relevances_have_a_large_shape_and_different_ones_a_small_one():
    rng = np.random.default_rng(0)
    pairs, slots = np.repeat(np.arange(2000), 40), np.tile([0, 1], 40_000)
    kinds = np.zeros(2000, np.int64)
    shapes = []
    for relevance in (np.full(2000, 0.1), rng.choice([0.02, 0.6], 2000)):
        clicks = rng.random(80_000) < relevance[pairs] * np.array([1.0, 0.5])[slots]
        cells = cells_of(pairs, slots, clicks, 2000, 2)
        shapes.append(estimated(cells, kinds, kinds, 1, start=np.ones(2)).shape)
    assert shapes[0] > 50
    assert shapes[1] < 2


def test_relevance_is_known_for_documents_at_one_position_and_not_for_those_never_shown():
    pairs, slots = np.array([0] * 10 + [1] * 10), np.array([0] * 10 + [1] * 10)
    cells = cells_of(pairs, slots, np.arange(20) % 5 == 0, 3, 2)
    relevance = relevance_given(cells, np.zeros(3, np.int64), np.array([1.0, 0.5]))
    assert relevance[1] > relevance[0] > 0
    assert np.isnan(relevance[2])


def test_means_from_elsewhere_are_asked_for_with_rates_and_weights(log):
    shown, clicked, cells, kinds = log
    asked = []

    def means(rates, weights):
        asked.append((rates, weights))
        return np.where(kinds, 0.4, 0.2)

    estimate = estimated(
        cells, np.zeros(80, np.int64), np.arange(80), 80, start=np.ones(4), means=means
    )
    rates, weights = asked[0]
    assert_allclose(rates, clicked.sum(axis=1) / shown.sum(axis=1))
    # A rate varies by chance, mean / seen, and as relevance does, mean² / shape.
    seen, told = shown.sum(axis=1), 1 / weights
    slope = (told - 1 / seen).mean()
    assert slope > 0
    assert_allclose(told, 1 / seen + slope)
    assert len(asked) > 1
    by_kinds = fitted(cells, kinds)
    assert_allclose(estimate.examination, by_kinds.examination, rtol=0.02)
