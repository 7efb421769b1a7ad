"""Slots by position and last click."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.clicks import ClickLog, UserBrowsingModel


@pytest.fixture
def log():
    rng = np.random.default_rng(0)
    lists = [rng.permutation(7)[: rng.integers(1, 7)].tolist() for _ in range(200)]
    clicks = [np.flatnonzero(rng.random(len(one)) < 0.4).tolist() for one in lists]
    return ClickLog.from_sessions(["q"] * 200, lists, clicks)


def test_each_place_and_last_click_has_an_examination_of_its_own(log):
    model = UserBrowsingModel().fit(log)
    n = log.n_positions
    # A value that tells the place and the last click.
    places, lasts = np.indices((n, n))
    model.examination_ = np.where(lasts <= places, (1 + places + 10 * lasts) / 100, np.nan)
    expected = []
    for begin, end in zip(log.offsets[:-1], log.offsets[1:], strict=True):
        last = 0
        for row in range(begin, end):
            expected.append((1 + row - begin + 10 * last) / 100)
            last = row - begin + 1 if log.clicks[row] else last
    assert_allclose(model.examination_of(log), expected)


def test_only_possible_places_have_an_examination(log):
    examination = UserBrowsingModel().fit(log).examination_
    places, lasts = np.indices(examination.shape)
    assert_array_equal(np.isnan(examination), lasts > places)
    assert examination[0, 0] == 1


def test_lists_longer_than_those_of_training_have_probabilities(log):
    model = UserBrowsingModel().fit(log)
    longer = ClickLog.from_sessions(["q"] * 2, [list(range(12))] * 2, [[0, 10], []])
    for conditional in (True, False):
        clicked = model.click_probabilities(longer, conditional=conditional)
        assert ((clicked > 0) & (clicked < 1)).all()
    known = model.relevance_of(longer)[6:12]
    # Beyond the sixth position, after a click at the first.
    assert_allclose(
        model.click_probabilities(longer, conditional=True)[6:11],
        known[:5] * model.examination_[5, 1],
    )
