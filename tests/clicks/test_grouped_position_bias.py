"""Groups keep their own curves as far as they differ, and share one where they do not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans

from localrank.clicks import (
    ClickLog,
    GroupedPositionBias,
    PositionBehaviour,
    PositionBias,
    simulate_clicks,
)
from localrank.clicks.grouped_position_bias import _likeliest_spread
from localrank.data import RankingDataset, make_queries
from localrank.representations import Mean

K = np.arange(1, 6.0)
SAME = {"desk": PositionBehaviour(eta=1), "phone": PositionBehaviour(eta=1)}
DIFFERENT = {"desk": PositionBehaviour(eta=0.5), "phone": PositionBehaviour(eta=1.5)}


@pytest.fixture(scope="module")
def dataset():
    return make_queries(150, n_documents=(8, 15))[0]


def drawn(dataset, behaviours, seed=0, n_sessions=30_000, groups=None):
    scores = dataset.labels + np.random.default_rng(0).normal(size=dataset.n_documents)
    return simulate_clicks(
        dataset, scores, behaviours, n_sessions=n_sessions, depth=5, shuffle=1, groups=groups,
        random_state=seed,
    )  # fmt: skip


def error(curves, truth):
    return np.sqrt(np.mean(np.log(curves / truth)[..., 1:] ** 2))


def test_groups_of_sessions_that_differ_have_their_own_curves(dataset):
    log = drawn(dataset, DIFFERENT)
    bias = GroupedPositionBias().fit(log)
    assert bias.group_names_.tolist() == ["desk", "phone"]
    truth = np.stack([K**-0.5, K**-1.5])
    assert_allclose(bias.examination_, truth, rtol=0.12)
    assert bias.p_value_ <= 0.01
    assert error(bias.examination_, truth) < 0.3 * error(bias.common_.examination_, truth)
    low, high = bias.intervals_[:, 1:, 0], bias.intervals_[:, 1:, 1]
    assert (low < bias.examination_[:, 1:]).all()
    assert (bias.examination_[:, 1:] < high).all()
    assert ((low < truth[:, 1:]) & (truth[:, 1:] < high)).mean() > 0.7
    # The exponents are 0.5 and 1.5.
    assert 0.3 < bias.spread_[0] < 0.8


def test_groups_of_queries_are_given_by_their_ids(dataset):
    names = np.where(np.arange(dataset.n_queries) % 3 == 0, "desk", "phone")
    log = drawn(dataset, DIFFERENT, groups=names)
    by_query = dict(zip(dataset.query_ids.tolist(), names.tolist(), strict=True))
    bias = GroupedPositionBias(by_query).fit(log)
    assert_allclose(bias.examination_, np.stack([K**-0.5, K**-1.5]), rtol=0.12)
    # The groups of the log are the same ones.
    same = GroupedPositionBias().fit(log)
    assert_allclose(bias.examination_, same.examination_)


def test_the_adaptive_curves_win_where_groups_differ_and_lose_little_elsewhere(dataset):
    gains, losses = [], []
    for seed in range(4):
        bias = GroupedPositionBias(n_permutations=1).fit(drawn(dataset, DIFFERENT, seed))
        truth = np.stack([K**-0.5, K**-1.5])
        gains.append(error(bias.examination_, truth) / error(bias.common_.examination_, truth))
        bias = GroupedPositionBias(n_permutations=1).fit(drawn(dataset, SAME, seed))
        truth = np.stack([K**-1.0] * 2)
        losses.append(error(bias.examination_, truth) - error(bias.common_.examination_, truth))
        assert error(bias.examination_, truth) < error(bias.separate_, truth)
    assert max(gains) < 0.3
    assert np.mean(losses) < 0.01


def test_a_group_with_few_sessions_has_nearly_the_common_curve(dataset):
    behaviours = {f"group {place}": PositionBehaviour(eta=0.8 + 0.2 * place) for place in range(3)}
    log = drawn(dataset, behaviours)
    few = np.flatnonzero(log.groups == 2)[150:]
    log = log.select(np.setdiff1d(np.arange(log.n_sessions), few))
    bias = GroupedPositionBias().fit(log)
    moved = np.abs(np.log(bias.examination_ / bias.common_.examination_))[:, 1:].mean(axis=1)
    own = np.abs(np.log(bias.separate_ / bias.common_.examination_))[:, 1:].mean(axis=1)
    assert moved[0] > 0.7 * own[0]
    assert moved[2] < 0.7 * own[2]


def test_the_common_curve_is_that_of_duels_within_groups(dataset):
    log = drawn(dataset, SAME)
    names = dict.fromkeys(dataset.query_ids.tolist(), "a") | {dataset.query_ids[0].item(): "b"}
    bias = GroupedPositionBias(names).fit(log)
    assert_allclose(bias.common_.examination_, PositionBias().fit(log).examination_)


def test_queries_are_grouped_by_their_descriptions():
    dataset, types = make_queries(150, n_types=2, separation=6, n_documents=(8, 15))
    log = drawn(dataset, DIFFERENT, groups=np.where(types == 0, "desk", "phone"))
    features = RankingDataset(dataset.features, None, dataset.offsets, dataset.query_ids)
    bias = GroupedPositionBias(KMeans(2, random_state=0), representation=Mean()).fit(log, features)
    assert bias.p_value_ <= 0.01
    curves = bias.examination_[np.argsort(bias.examination_[:, 1])]
    assert_allclose(curves, np.stack([K**-1.5, K**-0.5]), rtol=0.2)
    examination = bias.examination_of(log)
    expected = np.where(log.groups == 0, 0.5, 1.5)[log.session_index]
    right = np.abs(np.log(examination * (log.positions + 1.0) ** expected)) < 0.2
    assert right.mean() > 0.9


def test_examination_of_a_log_is_that_of_its_groups_and_common_elsewhere(dataset):
    log = drawn(dataset, DIFFERENT)
    bias = GroupedPositionBias().fit(log)
    assert_allclose(
        bias.examination_of(log), bias.examination_[log.groups[log.session_index], log.positions]
    )
    other = ClickLog.from_sessions(
        ["q", "q"], [["a", "b"]] * 2, [[0], []], groups=["phone", "watch"]
    )
    expected = [*bias.examination_[1, :2], *bias.common_.examination_[:2]]
    assert_allclose(bias.examination_of(other), expected)
    without = ClickLog.from_sessions(["q"], [["a", "b"]], [[0]])
    assert_allclose(bias.examination_of(without), bias.common_.examination_[:2])


def test_sessions_without_a_known_group_are_left_out_and_counted(dataset):
    log = drawn(dataset, SAME)
    names = {query: str(query % 2) for query in dataset.query_ids[10:].tolist()}
    bias = GroupedPositionBias(names).fit(log)
    n_left = np.isin(log.query_ids[log.session_queries], dataset.query_ids[:10]).sum()
    assert bias.notes_ == (f"{n_left:,} sessions have no known group: left out.",)


def test_the_order_of_sessions_does_not_matter(dataset):
    log = drawn(dataset, DIFFERENT, n_sessions=5000)
    bias = GroupedPositionBias(n_permutations=1).fit(log)
    order = np.random.default_rng(0).permutation(log.n_sessions)
    again = GroupedPositionBias(n_permutations=1).fit(log.select(order))
    assert_allclose(again.examination_, bias.examination_, rtol=1e-6)


def test_logs_without_groups_are_refused(dataset):
    log = drawn(dataset, PositionBehaviour())
    with pytest.raises(ValueError, match="The log has no groups of sessions"):
        GroupedPositionBias().fit(log)
    with pytest.raises(ValueError, match="needs sessions of two groups. The log has those of 1"):
        GroupedPositionBias(dict.fromkeys(dataset.query_ids.tolist(), "a")).fit(log)
    with pytest.raises(ValueError, match="give GroupedPositionBias a 'representation', and 'fit'"):
        GroupedPositionBias(KMeans(2, random_state=0)).fit(log, dataset)
    with pytest.raises(ValueError, match="'groups' parameter of GroupedPositionBias must be None"):
        GroupedPositionBias("device").fit(log)


def test_logs_too_small_for_groups_are_refused():
    lists = [["a", "b"], ["b", "a"]] * 8
    clicks = [[0], [0, 1], [1], [0]] * 4
    log = ClickLog.from_sessions(["q"] * 16, lists, clicks, groups=["x", "x", "y", "y"] * 4)
    bias = GroupedPositionBias(n_permutations=5).fit(log)
    assert np.isfinite(bias.examination_).all()
    alone = ClickLog.from_sessions(
        ["q"] * 4, [["a"]] * 4, [[0], [], [0], []], groups=["x", "x", "y", "y"]
    )
    lists = [["a", "b"], ["b", "a"]] * 2 + [["a", "b"]] * 4
    one = ClickLog.from_sessions(
        ["q"] * 8, lists, [[0], [0, 1], [1], [0]] * 2, groups=["x"] * 4 + ["y"] * 4
    )
    with pytest.raises(ValueError, match="only one query has clicks that compare positions"):
        GroupedPositionBias().fit(one)
    with pytest.raises(ValueError, match="The log has only one position"):
        GroupedPositionBias().fit(alone)


def test_a_spread_must_gain_what_akaike_asks():
    """Two groups at -d and d with errors of variance 1: the likelihood gains d² - log d² - 1."""
    one, shapes = np.eye(1)[None], np.stack([np.eye(1), np.zeros((1, 1))])

    def spread(square):
        distances = np.sqrt(square) * np.array([[-1.0], [1.0]])
        return _likeliest_spread(distances, np.concatenate([one, one]), shapes)

    assert spread(4.2) == (0.0, 0.0)  # a gain of 1.77
    first, _ = spread(5.0)  # a gain of 2.39, with a variance of d² - 1
    assert_allclose(first, 2.0, rtol=0.15)


def test_random_groups_differ_no_more_than_by_chance(dataset):
    log = drawn(dataset, PositionBehaviour(), n_sessions=10_000)
    values = []
    for seed in range(60):
        codes = np.random.default_rng(seed).integers(2, size=dataset.n_queries).astype(str)
        groups = dict(zip(dataset.query_ids.tolist(), codes.tolist(), strict=True))
        values.append(GroupedPositionBias(groups, n_permutations=39).fit(log).p_value_)
    # Uniform from 0.025 to 1, with a standard error of 0.037.
    assert 0.38 < np.mean(values) < 0.64
    assert np.sum(np.array(values) <= 0.05) <= 9
