"""People who read from the top, over everything that they may have done."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from localrank.clicks._chain_em import chain_examination, chain_expectations

ATTRACTION = np.array([0.7, 0.2, 0.4, 0.1])
SATISFACTION = np.array([0.6, 0.3, 0.8, 0.5])


def paths(pairs, goes_on, reads=True, place=0):
    """(probability, examined, clicks, [(clicked and satisfied, could go on, went on)])"""
    if place == len(pairs):
        yield 1.0, [], [], []
        return
    pair = pairs[place]
    a, s = ATTRACTION[pair], SATISFACTION[pair]
    if not reads:
        turns = [(1.0, 0, (0, 0, 0), False)]
    else:
        turns = [
            (a * s, 1, (1, 0, 0), False),
            (a * (1 - s) * goes_on, 1, (0, 1, 1), True),
            (a * (1 - s) * (1 - goes_on), 1, (0, 1, 0), False),
            ((1 - a) * goes_on, 0, (0, 1, 1), True),
            ((1 - a) * (1 - goes_on), 0, (0, 1, 0), False),
        ]
    for p, click, turn, then in turns:
        for rest, examined, clicks, turned in paths(pairs, goes_on, then, place + 1):
            yield p * rest, [int(reads), *examined], [click, *clicks], [turn, *turned]


def by_cases(sessions, goes_on):
    examined, satisfied, continued = np.zeros(4), np.zeros(4), np.zeros(2)
    total = 0.0
    for pairs, clicks in sessions:
        ways = [way for way in paths(pairs, goes_on) if way[2] == list(clicks)]
        chance = sum(way[0] for way in ways)
        total += np.log(chance)
        for p, seen, _, turned in ways:
            for place, pair in enumerate(pairs):
                share = p / chance
                examined[pair] += share * seen[place]
                if place + 1 < len(pairs):  # after the last, there is nothing to see
                    stopped, could, went = turned[place]
                    satisfied[pair] += share * stopped
                    continued += share * np.array([could, went])
    return total, examined, satisfied, continued


def arrays(sessions):
    offsets = np.cumsum([0, *(len(pairs) for pairs, _ in sessions)])
    pairs = np.concatenate([pairs for pairs, _ in sessions])
    return offsets, pairs, np.concatenate([clicks for _, clicks in sessions]).astype(bool)


SESSIONS = {
    "no click": ([2, 0, 1], [0, 0, 0]),
    "first": ([2, 0, 1], [1, 0, 0]),
    "last": ([3, 0, 1], [0, 0, 1]),
    "between": ([1, 2, 0, 3], [0, 1, 0, 0]),
    "several": ([3, 2, 0, 1], [1, 0, 1, 0]),
    "all": ([0, 1, 2, 3], [1, 1, 1, 1]),
    "one shown": ([2], [0]),
    "one clicked": ([2], [1]),
}


@pytest.mark.parametrize("goes_on", [0.75, 1.0])
@pytest.mark.parametrize("names", [*((name,) for name in SESSIONS), tuple(SESSIONS)], ids=len)
def test_expectations_are_those_over_all_that_may_have_happened(names, goes_on):
    sessions = [SESSIONS[name] for name in names]
    offsets, pairs, clicks = arrays(sessions)
    found = np.full(4, 9.0), np.full(4, 9.0), np.full(2, 9.0)
    total = chain_expectations(
        offsets, pairs, pairs, clicks, ATTRACTION, SATISFACTION, goes_on, *found
    )
    expected = by_cases(sessions, goes_on)
    assert total == pytest.approx(expected[0], rel=1e-12)
    for ours, theirs in zip(found, expected[1:], strict=True):
        assert_allclose(ours, theirs, atol=1e-12)


def test_stops_may_be_positions():
    offsets, pairs, clicks = arrays([SESSIONS["several"], SESSIONS["between"]])
    stops = np.tile(np.arange(4), 2)
    satisfaction = np.array([0.6, 0.3, 0.8, 0.5])
    found = np.empty(4), np.empty(4), np.empty(2)
    chain_expectations(offsets, pairs, stops, clicks, ATTRACTION, satisfaction, 1.0, *found)
    # The last clicks: at the third position, and at the second.
    silent = {2: 1 - ATTRACTION[1], 1: (1 - ATTRACTION[0]) * (1 - ATTRACTION[3])}
    expected = [
        0 if place not in silent
        else satisfaction[place] / (satisfaction[place] + (1 - satisfaction[place]) * silent[place])
        for place in range(4)
    ]  # fmt: skip
    assert_allclose(found[1], expected)


def test_a_very_long_list_has_a_finite_likelihood():
    n = 3000
    offsets, pairs = np.array([0, n]), np.arange(n)
    clicks = np.arange(n) % 2 == 0
    found = np.empty(n), np.empty(n), np.empty(2)
    total = chain_expectations(
        offsets, pairs, pairs, clicks, np.full(n, 0.5), np.full(n, 0.5), 1.0, *found
    )
    # Below the last click is one document: it was seen and did not attract, or was not seen.
    clicked, unsatisfied = n * np.log(0.5), (n // 2 - 1) * np.log(0.5)
    last = np.log(0.5 + 0.5 * 0.5) - np.log(0.5)
    assert total == pytest.approx(clicked + unsatisfied + last, rel=1e-12)


def test_examination_given_no_clicks_falls_with_what_attracts():
    offsets, pairs = np.array([0, 3]), np.array([0, 1, 2])
    clicks = np.zeros(3, bool)
    seen = chain_examination(offsets, pairs, pairs, clicks, ATTRACTION, SATISFACTION, 0.5, True)
    second = 0.5 * 0.3 / 0.3
    third = 0.5 * second * 0.8 / (1 - second * 0.2)
    assert_allclose(seen, [1, second, third])
    seen = chain_examination(offsets, pairs, pairs, clicks, ATTRACTION, SATISFACTION, 0.5, False)
    assert_allclose(seen, [1, 0.5 * (1 - 0.42), 0.25 * (1 - 0.42) * (1 - 0.06)])
