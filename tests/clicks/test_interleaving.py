"""Live tests of two rankings: whose document is whose, and who wins."""

import json
import random
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, binomtest, ttest_1samp

from localrank.clicks import (
    InterleavedClicks,
    interleaving_result,
    read_interleaved,
    team_draft,
)
from localrank.data.click_lines import read_click_log


def lists_of(first, second, n=4000, **options):
    rng = random.Random(0)
    drawn = (team_draft(first, second, rng=rng, **options) for _ in range(n))
    return Counter((tuple(documents), tuple(teams)) for documents, teams in drawn)


def test_a_list_has_every_document_once():
    rng = random.Random(0)
    for first in permutations("abcd"):
        documents, teams = team_draft(first, "dcbe", rng=rng)
        assert sorted(documents) == list("abcde")
        assert len(teams) == 5


def test_each_ranking_picks_its_best_document_that_is_left():
    """The example of the paper's figure, where the coin falls both ways in both rounds."""
    assert set(lists_of("abcd", "bdca")) == {
        # The coin of the first round; of the second, where the rankings have left c and d.
        (("a", "b", "c", "d"), (0, 1, 0, 1)),
        (("a", "b", "d", "c"), (0, 1, 1, 0)),
        (("b", "a", "c", "d"), (1, 0, 0, 1)),
        (("b", "a", "d", "c"), (1, 0, 1, 0)),
    }


def test_coins_are_fair():
    counts = lists_of("abcd", "bdca")
    for count in counts.values():
        assert binomtest(count, 4000, 0.25).pvalue > 0.001


def test_what_both_would_show_is_nobodys():
    assert set(lists_of("abc", "abc")) == {(("a", "b", "c"), (-1, -1, -1))}
    # After a round, too; but not within a round, where the second pick is the answer to the first.
    assert set(lists_of("abc", "bac")) == {
        (("a", "b", "c"), (0, 1, -1)),
        (("b", "a", "c"), (1, 0, -1)),
    }


def test_documents_that_one_ranking_alone_has_left_are_nobodys():
    assert set(lists_of("abc", "a")) == {(("a", "b", "c"), (-1, -1, -1))}
    assert set(lists_of("", "ab")) == {(("a", "b"), (-1, -1))}


def test_depth_cuts_the_list():
    for documents, teams in lists_of("abcd", "bdca", depth=3):
        assert (len(documents), len(teams)) == (3, 3)


def test_swapped_rankings_swap_teams():
    mirrored = Counter(
        {
            (documents, tuple(-1 if team < 0 else 1 - team for team in teams)): count
            for (documents, teams), count in lists_of("bdca", "abcd").items()
        }
    )
    there = lists_of("abcd", "bdca")
    assert set(there) == set(mirrored)


def test_without_a_generator_lists_cannot_be_foreseen():
    random.seed(0)
    first = [team_draft("abcdefgh", "hgfedcba")[0] for _ in range(20)]
    random.seed(0)
    assert first != [team_draft("abcdefgh", "hgfedcba")[0] for _ in range(20)]


def test_the_sign_test_is_that_of_scipy():
    told = interleaving_result([[2, 1]] * 31 + [[0, 1]] * 18 + [[1, 1]] * 5 + [[0, 0]] * 46)
    assert (told.wins, told.ties, told.n_lists) == ((31, 18), 51, 100)
    test = binomtest(31, 49)
    assert_allclose(told.p_value, test.pvalue)
    interval = test.proportion_ci(method="wilson")
    assert_allclose(told.interval, [interval.low, interval.high])
    assert told.share == 31 / 49


def test_of_many_lists_half_of_those_as_rare_count():
    told = interleaving_result([[1, 0]] * 60 + [[0, 1]] * 40)
    assert_allclose(told.p_value, binomtest(60, 100).pvalue - binom.pmf(60, 100, 0.5))
    assert interleaving_result([[1, 0]] * 50 + [[0, 1]] * 50).p_value == 1


def test_the_test_by_queries_is_the_t_test_of_their_surplus():
    rng = np.random.default_rng(0)
    queries = rng.integers(12, size=300)
    counts = rng.integers(3, size=(300, 2))
    told = interleaving_result(InterleavedClicks(("a", "b"), counts, queries), unit="query")
    surplus = np.bincount(queries, np.sign(counts[:, 0] - counts[:, 1]))
    assert_allclose(told.p_value, ttest_1samp(surplus, 0).pvalue)


def test_a_winner_is_named_only_if_it_is_established():
    assert interleaving_result([[1, 0]] * 59 + [[0, 1]] * 41).winner is None
    told = interleaving_result([[1, 0]] * 40 + [[0, 1]] * 70)
    assert (told.winner, told.n_more) == ("second", 0)
    assert "second is better." in repr(told)
    assert interleaving_result([[1, 0]] * 70 + [[0, 1]] * 40).winner == "first"


def test_ties_alone_say_nothing():
    for unit in ("session", "query"):
        told = interleaving_result([[0, 0]] * 5, unit=unit)
        assert (told.p_value, told.p_value_any_time, told.winner) == (1, 1, None)
        assert (told.n_more, np.isnan(told.share)) == (None, True)
        assert "No difference is in sight" in repr(told)


def test_as_many_lists_as_it_says_are_needed_for_a_power_of_80_percent():
    told = interleaving_result([[1, 0]] * 56 + [[0, 1]] * 44 + [[0, 0]] * 100)
    n = told.n_lists + told.n_more
    rng = np.random.default_rng(0)
    won, lost, _ = rng.multinomial(n, [0.28, 0.22, 0.5], size=2000).T
    found = [binomtest(a, a + b).pvalue < 0.05 for a, b in zip(won, lost, strict=True)]
    assert 0.77 < np.mean(found) < 0.83


def test_false_alarms_are_as_rare_as_they_say():
    rng = np.random.default_rng(0)
    alarms = {"session": [], "query": []}
    for _ in range(1000):
        counts = rng.poisson(0.3, size=(600, 2))
        clicks = InterleavedClicks(("a", "b"), counts, rng.integers(80, size=600))
        for unit, alarmed in alarms.items():
            alarmed.append(interleaving_result(clicks, unit=unit).winner is not None)
    for unit, alarmed in alarms.items():
        assert 0.035 < np.mean(alarmed) < 0.065, unit


def test_queries_of_their_own_taste_need_the_test_by_queries():
    """Each query prefers one ranking, half of them each: over other queries, they are equal."""
    rng = np.random.default_rng(0)
    alarms = {"session": [], "query": []}
    for _ in range(400):
        queries = rng.integers(40, size=1000)
        wins = rng.random(1000) < rng.choice([0.3, 0.7], 40)[queries]
        clicks = InterleavedClicks(("a", "b"), np.stack([wins, ~wins], 1).astype(int), queries)
        for unit, alarmed in alarms.items():
            alarmed.append(interleaving_result(clicks, unit=unit).winner is not None)
    assert np.mean(alarms["query"]) < 0.075
    assert np.mean(alarms["session"]) > 0.2


@pytest.mark.slow
def test_the_p_value_of_any_time_holds_however_often_one_looks():
    rng = np.random.default_rng(0)
    ever = {"p_value": 0, "p_value_any_time": 0}
    for _ in range(200):
        wins = rng.random(2000) < 0.5
        counts = np.stack([wins, ~wins], 1).astype(int)
        looks = [interleaving_result(counts[:n]) for n in range(100, 2001, 100)]
        for name in ever:
            ever[name] += any(getattr(told, name) < 0.05 for told in looks)
    assert ever["p_value_any_time"] / 200 <= 0.06
    assert ever["p_value"] / 200 >= 0.15


LINE = {
    "query": "tea",
    "documents": ["a", "b", "c"],
    "clicks": [0, 2, 2],
    "ranker": "old:new",
    "teams": [0, 1, 1],
    "list": "x1",
    "time": 1.5,
}


def written(folder, *lines):
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_log_of_a_live_test_is_read(tmp_path):
    other = LINE | {"query": 7, "clicks": [1], "teams": [0, -1, 1], "list": "x2"}
    path = written(tmp_path, LINE, other, LINE)
    log = read_interleaved(path)
    assert (log.names, log.clicks.tolist(), log.n_repeated) == (
        ("old", "new"), [[1, 1], [0, 0]], 1,
    )  # fmt: skip
    assert log.queries.tolist() == [0, 1]


def test_the_log_is_a_log_of_clicks_for_everything_else(tmp_path):
    log = read_click_log(written(tmp_path, LINE, LINE | {"list": "x2"}))
    assert (log.n_sessions, log.ranker_names, log.n_clicks) == (2, ("old:new",), 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranker": "old"}, "'ranker' must name two rankings, such as old:new. Got 'old'"),
        ({"ranker": None}, "'ranker' must name two rankings"),
        ({"ranker": "new:old"}, "the rankings are new:old, and before they were old:new"),
        ({"teams": [0, 1]}, "'teams' must have 0, 1 or -1 for each document"),
        ({"teams": [0, 1, 2]}, "'teams' must have 0, 1 or -1 for each document"),
        ({"teams": [0, 1, True]}, "'teams' must have 0, 1 or -1 for each document"),
        ({"clicks": [3]}, "'clicks' must be positions from 0 to 2"),
        ({"clicks": [-1]}, "'clicks' must be positions from 0 to 2"),
        ({"clicks": None}, "'clicks' must be positions from 0 to 2"),
    ],
)
def test_a_wrong_line_is_named_or_left_out(tmp_path, change, message):
    path = written(tmp_path, LINE, LINE | {"list": "x2"} | change)
    with pytest.raises(ValueError, match=rf"log\.jsonl:2: {message}"):
        read_interleaved(path)
    assert len(read_interleaved(path, bad="drop").clicks) == 1


def test_a_log_without_a_live_test_is_refused(tmp_path):
    (tmp_path / "log.jsonl").write_text("")
    with pytest.raises(ValueError, match="has no lists of a live test"):
        read_interleaved(tmp_path / "log.jsonl")


def test_wrong_arguments_are_refused():
    for wrong in ([[1, 0, 0]], [1, 0], [[0.5, 1.0]]):
        with pytest.raises(ValueError, match="two whole numbers for each list"):
            interleaving_result(wrong)
    with pytest.raises(ValueError, match="'unit' argument must be 'session' or 'query'"):
        interleaving_result([[1, 0]], unit="user")
    with pytest.raises(ValueError, match=r"must lie in \(0, 1\). Got 95"):
        interleaving_result([[1, 0]], confidence=95)
