import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import RankingDataset
from localrank.evaluation._known_bounds import hole_bounds
from localrank.evaluation._places import places_of
from localrank.measures import parse_measure

GAINS = (
    "ndcg@3",
    "ndcg",
    "ndcg(gain=linear)@2",
    "ndcg(discount=letor)@4",
    "ndcg(ties=input)@3",
    "ndcg(short=zero)@5",
    "p@3",
    "p(rel=2)@2",
    "p(short=shrink)@5",
    "f1@3",
    "f1(rel=2)@2",
    "f1(ties=input)@4",
)
PRECISIONS = ("map", "map@3", "map(denominator=reachable)@2", "map(rel=2)", "map(ties=document_id)")
RANKS = (
    "mrr",
    "mrr@2",
    "mrr(rel=2)@3",
    "mrr(ties=input)",
    "success@1",
    "success@3",
    "success(rel=2)@2",
    "success(ties=document_id)@2",
    "success",
)


def small_lists(seed, *, tied):
    """Three queries of up to six documents, at most four of them unjudged, and two runs."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 7, size=3)
    n = int(sizes.sum())
    labels = rng.choice([-1, -1, 0, 1, 2], size=n).astype(float)
    query = np.repeat(np.arange(3), sizes)
    for q in range(3):
        holes = np.flatnonzero((query == q) & (labels < 0))
        labels[holes[4:]] = 0
    names = [f"d{i}" for i in rng.permutation(n)]
    dataset = RankingDataset.from_arrays(np.empty((n, 0)), labels, query, document_ids=names)

    def run():
        scores = rng.integers(0, 4, size=n) if tied else rng.permutation(n)
        return np.where(rng.random(n) < 0.2, -np.inf, scores)

    return dataset, run(), run()


def by_brute_force(dataset, scores, measure, grades):
    """The values of a query's assignments, one after another, for each query."""
    for q in range(dataset.n_queries):
        rows = np.flatnonzero(dataset.query_index == q)
        query, holes = dataset.select([q]), np.flatnonzero(dataset.labels[rows] < 0)
        values = []
        for given in itertools.product([0, *grades], repeat=len(holes)):
            labels = dataset.labels[rows].copy()
            labels[holes] = given
            values.append(measure.of_rows(query.replaced(relevance=labels), scores[rows])[0])
        yield np.array(values)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", GAINS + PRECISIONS + RANKS)
def test_bounds_of_a_run_are_its_extremes_over_all_assignments(name, tied):
    measure = parse_measure(name)
    for seed in range(12):
        dataset, scores, _ = small_lists(seed, tied=tied)
        bounds = hole_bounds(dataset, measure)
        low, high = bounds.of_run(places_of(dataset, scores, measure.ties))
        values = list(by_brute_force(dataset, scores, measure, bounds.grades))
        assert_allclose(low, [v.min() for v in values], atol=1e-12)
        assert_allclose(high, [v.max() for v in values], atol=1e-12)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", GAINS + PRECISIONS + RANKS)
def test_no_assignment_leaves_the_bounds_of_a_difference(name, tied):
    measure = parse_measure(name)
    for seed in range(20):
        dataset, *runs = small_lists(seed, tied=tied)
        bounds = hole_bounds(dataset, measure)
        places = [places_of(dataset, scores, measure.ties) for scores in runs]
        low, high = bounds.of_difference(*places)
        first, second = (by_brute_force(dataset, s, measure, bounds.grades) for s in runs)
        differences = [a - b for a, b in zip(first, second, strict=True)]
        lowest, highest = [d.min() for d in differences], [d.max() for d in differences]
        assert (low <= np.array(lowest) + 1e-12).all()
        assert (high >= np.array(highest) - 1e-12).all()
        if bounds.is_exact(*places):
            assert_allclose(low, lowest, atol=1e-12)
            assert_allclose(high, highest, atol=1e-12)


def test_which_bounds_are_exact():
    for tied in (False, True):
        dataset, *runs = small_lists(3, tied=tied)
        places = [places_of(dataset, scores) for scores in runs]
        exact = [
            hole_bounds(dataset, parse_measure(name)).is_exact(*places)
            for name in ("ndcg@3", "p@3", "mrr", "map")
        ]
        assert exact == [True, True, not tied, False]


@pytest.mark.parametrize("name", GAINS + PRECISIONS + RANKS)
def test_one_relevant_hole_gives_what_the_measure_gives(name):
    measure = parse_measure(name)
    for seed in range(12):
        dataset, scores, _ = small_lists(seed, tied=seed % 2 == 0)
        bounds = hole_bounds(dataset, measure)
        values = bounds.if_relevant(places_of(dataset, scores, measure.ties))
        for row in np.flatnonzero(dataset.labels < 0):
            labels = np.maximum(dataset.labels, 0)
            labels[row] = bounds.grades[-1]
            expected = measure.of_rows(dataset.replaced(relevance=labels), scores)
            assert_allclose(values[row], expected[dataset.query_index[row]], atol=1e-12)


def test_a_middle_grade_can_be_the_best():
    # Grades 1, unjudged, 1 in this order. Grade 1 makes it perfect, grade 2 puts it too low.
    labels = [1, -1, 1, 2]
    dataset = RankingDataset.from_arrays(np.empty((4, 0)), labels, list("aaab"))
    bounds = hole_bounds(dataset, parse_measure("ndcg"))
    low, high = bounds.of_run(places_of(dataset, np.array([3.0, 2, 1, 0])))
    assert_allclose(high[0], 1)
    discounts = 1 / np.log2([2, 3, 4])
    assert_allclose(low[0], discounts @ [1, 3, 1] / (discounts @ [3, 1, 1]))


def test_the_same_ranking_twice_never_differs():
    dataset, scores, _ = small_lists(5, tied=True)
    for name in ("ndcg@3", "map", "p@3"):
        bounds = hole_bounds(dataset, parse_measure(name))
        places = places_of(dataset, scores)
        assert_allclose(bounds.of_difference(places, places), 0, atol=1e-12)


@pytest.mark.parametrize("name", ["ndcg@5", "map", "mrr", "p@5"])
def test_exchanging_the_runs_mirrors_the_bounds(name):
    rng = np.random.default_rng(1)
    labels = rng.choice([-1, -1, 0, 1, 3], size=400).astype(float)
    dataset = RankingDataset.from_arrays(np.empty((400, 0)), labels, np.repeat(np.arange(8), 50))
    a, b = (places_of(dataset, rng.normal(size=400).round(1)) for _ in range(2))
    bounds = hole_bounds(dataset, parse_measure(name))
    low, high = bounds.of_difference(a, b)
    assert_allclose(bounds.of_difference(b, a), (-high, -low), atol=1e-12)
    as_judged = [parse_measure(name).of_rows(dataset, -p.ranks()) for p in (a, b)]
    assert (low <= as_judged[0] - as_judged[1] + 1e-12).all()
    assert (high >= as_judged[0] - as_judged[1] - 1e-12).all()


def test_a_hole_may_be_relevant_where_nothing_is():
    dataset = RankingDataset.from_arrays(np.empty((2, 0)), [-1, 1], ["a", "b"])
    bounds = hole_bounds(dataset, parse_measure("p(rel=2)@1"))
    assert_array_equal(bounds.grades, [1, 2])
    assert_array_equal(bounds.of_run(places_of(dataset, np.ones(2)))[1], [1, 0])


@pytest.mark.parametrize(
    "name",
    [
        "err", "oer", "rprec", "bpref", "inst", "ndcg(ties=pessimistic)", "map(ties=threshold)",
        "f1", "f1(short=shrink)@3", "mrr(target=highest)",
    ],
)  # fmt: skip
def test_other_measures_have_no_bounds(name):
    dataset, _, _ = small_lists(0, tied=True)
    assert hole_bounds(dataset, parse_measure(name)) is None


def test_ranks_of_ties_are_their_means():
    dataset = RankingDataset.from_arrays(np.empty((5, 0)), np.zeros(5), list("aaaab"))
    places = places_of(dataset, np.array([1.0, 2, 1, -np.inf, 7]))
    assert_array_equal(places.ranks(), [2.5, 1, 2.5, np.nan, 1])
    assert_array_equal(places.mean_weights(np.ones(2)), [0.5, 1, 0.5, 0, 1])
