"""Counts by pair and slot, and what they tell of relevance."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.clicks._slot_em import Cells, cells_of, expectations, slot_estimates

N_PAIRS, N_SLOTS = 6, 5


@pytest.fixture
def impressions():
    rng = np.random.default_rng(0)
    n = 400
    pairs = rng.choice([0, 1, 3, 4, 5], n)  # nobody saw pair 2
    return pairs, rng.integers(N_SLOTS, size=n), rng.random(n) < 0.3


def test_cells_count_every_impression_once(impressions):
    cells = cells_of(*impressions, n_pairs=N_PAIRS, n_slots=N_SLOTS)
    shown = Counter(zip(*(values.tolist() for values in impressions[:2]), strict=True))
    clicked = Counter((pair, slot) for pair, slot, click in zip(*impressions, strict=True) if click)
    pairs = np.repeat(np.arange(N_PAIRS), np.diff(cells.offsets))
    found = list(zip(pairs.tolist(), cells.slots.tolist(), strict=True))
    assert found == sorted(shown)
    assert_array_equal(cells.shown, [shown[cell] for cell in found])
    assert_array_equal(cells.clicked, [clicked[cell] for cell in found])
    assert cells.offsets[2] == cells.offsets[3]


def test_cells_do_not_depend_on_the_order_of_impressions(impressions):
    order = np.random.default_rng(1).permutation(len(impressions[0]))
    one = cells_of(*impressions, n_pairs=N_PAIRS, n_slots=N_SLOTS)
    other = cells_of(*(values[order] for values in impressions), n_pairs=N_PAIRS, n_slots=N_SLOTS)
    for name in ("offsets", "slots", "shown", "clicked"):
        assert_array_equal(getattr(one, name), getattr(other, name))


def expected_by_cases(cells, relevance, hit, miss):
    """Relevant impressions by pair and by slot, over relevant and not, impression by impression."""
    relevant = np.zeros(len(relevance))
    shown, clicked = np.zeros(len(hit)), np.zeros(len(hit))
    total = 0.0
    pairs = np.repeat(np.arange(len(relevance)), np.diff(cells.offsets))
    for pair, slot, n, c in zip(pairs, cells.slots, cells.shown, cells.clicked, strict=True):
        for click in [True] * int(c) + [False] * int(n - c):
            chances = {}
            for is_relevant, clicks in product([True, False], repeat=2):
                p = hit[slot] if is_relevant else miss[slot]
                prior = relevance[pair] if is_relevant else 1 - relevance[pair]
                chances[is_relevant, clicks] = prior * (p if clicks else 1 - p)
            certain = chances[True, click] + chances[False, click]
            share = chances[True, click] / certain
            total += np.log(certain)
            relevant[pair] += share
            shown[slot] += share
            clicked[slot] += share * click
    return total, relevant, shown, clicked


def test_expectations_are_those_over_all_cases(impressions):
    rng = np.random.default_rng(2)
    cells = cells_of(*impressions, n_pairs=N_PAIRS, n_slots=N_SLOTS)
    relevance, hit = rng.random(N_PAIRS), rng.random(N_SLOTS)
    for miss in (np.zeros(N_SLOTS), hit * rng.random(N_SLOTS)):
        found = np.full(N_PAIRS, 9.0), np.full(N_SLOTS, 9.0), np.full(N_SLOTS, 9.0)
        total = expectations(
            cells.offsets, cells.slots, cells.shown, cells.clicked, relevance, hit, miss, *found
        )
        expected = expected_by_cases(cells, relevance, hit, miss)
        assert total == pytest.approx(expected[0])
        for ours, theirs in zip(found, expected[1:], strict=True):
            assert_allclose(ours, theirs, rtol=1e-12)


def estimates(cells, **options):
    first = np.arange(cells.n_slots) == 0
    given = {"certain": first, "clean": None, "prior": 0.3, "smoothing": 0, "max_iter": 1000,
             "tol": 0} | options  # fmt: skip
    return slot_estimates(cells, **given)


def exact_cells(relevance, hit, n=1e6):
    """As many clicks as expected, of each pair in each slot."""
    relevance, hit = np.array(relevance), np.array(hit)
    slots = np.tile(np.arange(len(hit)), len(relevance))
    return Cells(
        np.arange(0, len(slots) + 1, len(hit)),
        slots,
        np.full(len(slots), n),
        n * np.outer(relevance, hit).ravel(),
        len(hit),
    )


def test_exact_click_rates_give_their_probabilities():
    found = estimates(exact_cells([0.8, 0.5, 0.1], [1.0, 0.6, 0.3]))
    assert_allclose(found.relevance, [0.8, 0.5, 0.1], rtol=1e-4)
    assert_allclose(found.hit, [1.0, 0.6, 0.3], rtol=1e-4)
    assert_array_equal(found.miss, 0)


def test_certain_slots_keep_a_hit_of_1_and_clean_ones_a_miss_of_0():
    cells = exact_cells([0.8, 0.5, 0.1], [0.9, 0.6, 0.8, 0.3])
    certain, clean = np.array([1, 0, 1, 0], bool), np.array([0, 1, 0, 1], bool)
    found = estimates(cells, certain=certain, clean=clean)
    assert_array_equal(found.hit[certain], 1)
    assert_array_equal(found.miss[clean], 0)
    assert (found.hit[~certain] < 1).all()


def test_a_slot_that_was_never_shown_is_average():
    cells = exact_cells([0.8, 0.5, 0.1], [1.0, 0.6])
    more = Cells(cells.offsets, cells.slots, cells.shown, cells.clicked, 3)
    found = estimates(more, smoothing=1, prior=0.5)
    rate = cells.clicked.sum() / cells.shown.sum()
    assert found.hit[2] == pytest.approx(rate / 0.5)


def test_without_clicks_in_a_slot_and_smoothing_nobody_looks_there():
    found = estimates(exact_cells([0.8, 0.5], [1.0, 0.0]))
    assert found.hit[1] < 1e-3


def test_exact_click_rates_tell_trust_as_well():
    relevance, hit, miss = [0.9, 0.5, 0.1], np.array([1.0, 0.6, 0.3]), np.array([0.4, 0.1, 0.0])
    cells = exact_cells(relevance, hit)
    more = np.outer(1 - np.array(relevance), miss).ravel()
    clicked = cells.clicked + 1e6 * more
    trusted = Cells(cells.offsets, cells.slots, cells.shown, clicked, cells.n_slots)
    found = estimates(trusted, clean=np.arange(3) == 2, max_iter=5000)
    assert_allclose(found.relevance, relevance, atol=2e-3)
    assert_allclose(found.hit, hit, atol=2e-3)
    assert_allclose(found.miss, miss, atol=2e-3)


@pytest.mark.parametrize("clean", [None, np.arange(N_SLOTS) == 4])
def test_with_smoothing_the_likelihood_of_all_trials_is_largest(impressions, clean):
    """Those added have the average result: that of the prior, and for slots of all impressions."""
    cells = cells_of(*impressions, n_pairs=N_PAIRS, n_slots=N_SLOTS)
    smoothing, prior = 3.0, 0.5
    average = cells.clicked.sum() / cells.shown.sum() / prior

    def objective(relevance, hit, miss):
        total = expected_by_cases(cells, relevance, hit, miss)[0]
        for shares, mean in ((relevance, prior), (hit[1:], average), (miss[:-1], 0.0)):
            if clean is not None or shares is not miss[:-1]:
                total += smoothing * (mean * np.log(shares + 1e-300)).sum()
                total += smoothing * ((1 - mean) * np.log(1 - shares)).sum()
        return total

    found = estimates(cells, clean=clean, smoothing=smoothing, prior=prior, tol=1e-12)
    assert (np.diff(found.objectives) >= -1e-9).all()
    best = objective(found.relevance, found.hit, found.miss)
    assert found.objectives[-1] == pytest.approx(best, rel=1e-6)
    for name, free in (("relevance", slice(None)), ("hit", slice(1, None))):
        for place in range(len(getattr(found, name)))[free]:
            for factor in (0.97, 1.03):
                changed = {"relevance": found.relevance, "hit": found.hit, "miss": found.miss}
                changed[name] = changed[name].copy()
                changed[name][place] *= factor
                assert objective(**changed) < best
