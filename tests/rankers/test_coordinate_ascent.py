from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import RankingDataset, make_queries
from localrank.measures import NDCG, parse_measure
from localrank.rankers import CoordinateAscent, coordinate_ascent
from localrank.rankers._judged import Judged
from localrank.rankers.coordinate_ascent import best_step, sampled_pairs, steps_between


@pytest.fixture(scope="module")
def queries():
    return make_queries(40, n_documents=(4, 12), n_features=6, n_types=1, random_state=2)[0]


@pytest.fixture(scope="module")
def few(queries):
    return queries.select(range(4))


def every_pair(dataset):
    return {
        (i, j)
        for begin, end in pairwise(dataset.offsets)
        for i, j in combinations(range(begin, end), 2)
        if dataset.labels[i] != dataset.labels[j]
    }


@pytest.mark.parametrize("measure", ["ndcg@5", "map", "oer"])
@pytest.mark.parametrize("seed", range(5))
def test_the_search_along_a_line_is_exact(few, measure, seed):
    rng = np.random.default_rng(seed)
    judged = Judged.of(few, parse_measure(measure))
    scores, column = rng.normal(size=(2, judged.dataset.n_documents))
    pairs = sampled_pairs(judged.dataset, rng)
    steps = steps_between(scores[pairs], column[pairs], 10_000)
    step, reached = best_step(judged, scores, column, steps, -1.0)
    # Brute force: enough points, near and far, to meet every order of the documents.
    grid = np.concatenate([np.linspace(-20, 20, 3001), np.geomspace(20, 1e6, 100)])
    expected = max(judged.mean(scores + t * column) for t in np.concatenate([grid, -grid]))
    assert reached >= expected - 1e-12
    assert judged.mean(scores + step * column) == reached


def test_a_line_that_leads_nowhere_higher_is_not_followed(few, rng):
    judged = Judged.of(few, NDCG(10))
    scores, column = judged.dataset.labels.copy(), rng.normal(size=judged.dataset.n_documents)
    assert best_step(judged, scores, column, np.array([1.0, -3.0, 50.0]), 1.0) == (0.0, 1.0)


def test_between_steps_nothing_changes_places(few, rng):
    scores, column = rng.normal(size=(2, few.n_documents))
    pairs = sampled_pairs(few, rng)
    steps = np.sort(steps_between(scores[pairs], column[pairs], 10_000))
    signs = [np.sign(np.diff((scores + t * column)[pairs], axis=0)) for t in steps]
    changes = [int((one != other).sum()) for one, other in pairwise(signs)]
    assert changes == [1] * (pairs.shape[1])


def test_of_many_steps_some_are_taken_evenly_and_the_nearest_first(rng):
    scores, values = rng.normal(size=(2, 2, 500))
    every, some = (steps_between(scores, values, most) for most in (10_000, 11))
    assert len(some) == 11
    assert (np.diff(np.abs(some)) >= 0).all()
    places = np.searchsorted(np.sort(every), np.sort(some))
    assert_array_equal(places, np.linspace(0, 500, 11).round())


def test_documents_of_one_value_have_no_steps():
    assert not len(steps_between(np.array([[1.0], [2.0]]), np.array([[3.0], [3.0]]), 5))


def test_pairs_are_all_those_of_different_labels(queries, rng):
    pairs = sampled_pairs(queries, rng)
    assert {tuple(sorted(pair)) for pair in pairs.T.tolist()} == every_pair(queries)
    assert pairs.shape[1] == len(every_pair(queries))


@pytest.mark.parametrize("limit", ["MAX_PAIRS", "MAX_NUMBERS"])
def test_of_many_pairs_a_sample_is_taken(queries, rng, monkeypatch, limit):
    monkeypatch.setattr(coordinate_ascent, limit, 100)
    pairs = sampled_pairs(queries, rng)
    assert 50 < pairs.shape[1] <= 100
    assert {tuple(sorted(pair)) for pair in pairs.T.tolist()} <= every_pair(queries)


@pytest.mark.parametrize("measure", ["ndcg@10", "map", "oer"])
def test_the_measure_rises_from_pass_to_pass_to_that_of_the_model(queries, measure):
    ranker = CoordinateAscent(2, measure=measure, tol=0.0).fit(queries)
    assert len(ranker.performances_) > 3
    assert (np.diff(ranker.performances_) >= 0).all()
    taught = queries.select(ranker.learns_from(queries))
    value = parse_measure(measure).mean(taught, ranker.predict(taught))
    expected = ranker.performances_[-1] if measure != "oer" else 1 - ranker.performances_[-1]
    assert value == pytest.approx(expected, abs=1e-9)
    assert np.abs(ranker.coef_).sum() == pytest.approx(1)


def test_a_climb_begins_with_equal_weights(queries):
    ranker = CoordinateAscent(1, scaling=None).fit(queries)
    taught = queries.select(ranker.learns_from(queries))
    expected = NDCG(10).mean(taught, taught.features.mean(axis=1))
    assert ranker.performances_[0] == pytest.approx(expected)


def test_passes_end_when_one_gains_less_than_tol(queries):
    ranker = CoordinateAscent(1, tol=0.01).fit(queries)
    gains = np.diff(ranker.performances_)
    assert (gains[:-1] >= 0.01).all()
    assert gains[-1] < 0.01
    assert len(CoordinateAscent(1, tol=0.0, max_iter=2).fit(queries).performances_) == 3


def test_more_climbs_never_end_lower(queries):
    starts = range(6)
    one, four = (
        [CoordinateAscent(n, random_state=seed).fit(queries).performances_[-1] for seed in starts]
        for n in (1, 4)
    )
    assert np.less_equal(one, four).all()
    assert np.less(one, four).any()


def test_validation_queries_choose_the_climb(queries):
    train, valid = queries.select(range(20)), queries.select(range(20, 40))
    climbs = (CoordinateAscent(n, n_steps=8, random_state=3) for n in (1, 2, 12))
    values = [climb.fit(train, valid=valid).score(valid) for climb in climbs]
    assert values == sorted(values)
    assert values[0] < values[-1]


def test_a_weight_of_two_is_a_query_given_twice(queries):
    weights = np.ones(40)
    weights[:10] = 2
    copies = queries.select(range(10))
    twice = RankingDataset.from_arrays(
        np.concatenate([queries.features, copies.features]),
        np.concatenate([queries.labels, copies.labels]),
        np.concatenate([queries.query_index, 100 + copies.query_index]),
    )
    by_weight = Judged.of(queries, NDCG(10), weights)
    by_copies = Judged.of(twice, NDCG(10))
    scores = queries.features[:, 0]
    doubled = np.concatenate([scores, copies.features[:, 0]])
    assert_allclose(by_weight.mean(scores), by_copies.mean(doubled), rtol=1e-12)
    left_out = np.where(np.arange(40) < 10, 0.0, 1.0)
    rest = CoordinateAscent(1, scaling=None).fit(queries.select(range(10, 40)))
    weighted = CoordinateAscent(1, scaling=None).fit(queries, query_weight=left_out)
    assert weighted.performances_[0] == pytest.approx(rest.performances_[0])
