from collections import Counter, defaultdict

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from localrank._kernels.sorting import read_only
from localrank.selection import _hash_search
from localrank.selection._hash_search import build_tables, neighbours_by_hashing

# They are compiled into kernels, and here by themselves.
_best_sketches, _collisions, _cut, _find_buckets, _most_similar, _n_bits_set = (
    numba.njit(getattr(_hash_search, name))
    for name in (
        "_best_sketches",
        "_collisions",
        "_cut",
        "_find_buckets",
        "_most_similar",
        "_n_bits_set",
    )
)


EVERYTHING = 1 << 40


def directions(rng, n, n_directions=3, n_features=6, dtype=np.float64):
    """Orthonormal directions, close to a few centres, some of them undetermined."""
    centres = rng.normal(size=(4, n_features, n_directions))
    clouds = centres[rng.integers(4, size=n)] + 0.3 * rng.normal(size=(n, n_features, n_directions))
    rows = np.linalg.qr(clouds)[0].transpose(0, 2, 1)
    rows *= rng.choice([-1, 1], size=(n, n_directions, 1))
    return (rows * (rng.random((n, n_directions, 1)) < 0.9)).astype(dtype)


def hash_of(u, hyperplanes):
    return tuple(bool(u @ hyperplane > 0) for hyperplane in hyperplanes)


class Figure3:
    """The paper's algorithm, line by line."""

    def __init__(self, training_queries, hyperplanes):
        _, _, m = hyperplanes.shape
        self.projections = [hyperplanes[:, :, j].T for j in range(m)]
        self.tables = defaultdict(lambda: defaultdict(list))
        for q, U in enumerate(training_queries):
            for p, u in enumerate(U):
                for j in range(m):
                    if u.any():
                        self.tables[p, j][hash_of(u, self.projections[j])].append(q)

    def scores(self, U):
        candidates, plus, minus = set(), defaultdict(Counter), defaultdict(Counter)
        for p, u in enumerate(U):
            for counts, probe in ((plus, u), (minus, -u)):
                for j, hyperplanes in enumerate(self.projections):
                    if u.any():
                        bucket = self.tables[p, j][hash_of(probe, hyperplanes)]
                        candidates |= set(bucket)
                        counts[p].update(bucket)
        return {q: sum(max(plus[p][q], minus[p][q]) for p in range(len(U))) for q in candidates}

    def nearest(self, U):
        scores = self.scores(U)
        return min(scores, key=lambda q: (-scores[q], q))


def kernel_scores(tables, U, n_read=EVERYTHING):
    shape = tables.entries.shape[:2]
    begins, sizes = np.empty(shape, np.int64), np.empty(shape, np.int64)
    complemented, sketch = np.empty(shape, np.uint64), np.empty(shape[0], np.uint64)
    tables, U = tables.read_only(), read_only(U, np.float64)
    total = _find_buckets(U, tables, begins, sizes, complemented, sketch)
    if total > n_read:
        total = _cut(sizes, n_read)
    candidates, scores = _collisions(tables.entries, begins, sizes, complemented, total)
    assert len(set(candidates.tolist())) == len(candidates)
    return dict(zip(candidates.tolist(), scores.tolist(), strict=True))


def nearest(queries, rows, tables, n_rescored, n_read=EVERYTHING):
    arrays = read_only(queries, np.float64), read_only(rows, rows.dtype), tables.read_only()
    return neighbours_by_hashing(*arrays, 1, n_rescored, n_read)[0][:, 0]


def neighbours(queries, rows, tables, k, n_rescored, n_read=EVERYTHING):
    arrays = read_only(queries, np.float64), read_only(rows, rows.dtype), tables.read_only()
    return neighbours_by_hashing(*arrays, k, n_rescored, n_read)


def most_similar(U, rows, candidates, k):
    positions, sums = np.empty(k, np.int64), np.empty(k)
    _most_similar(
        read_only(U, np.float64), read_only(rows, rows.dtype), candidates, positions, sums
    )
    return positions, sums


def similarities(queries, rows):
    return np.abs(np.einsum("apd,bpd->abp", queries, rows.astype(np.float64))).sum(axis=2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n_hyperplanes", "n_repeats"), [(1, 3), (2, 1), (6, 5), (9, 4), (63, 2)])
def test_scores_and_winner_are_those_of_the_paper(rng, n_hyperplanes, n_repeats, dtype):
    rows, queries = directions(rng, 200, dtype=dtype), directions(rng, 25)
    queries[:12] = rows[:12] + 0.01  # some that share long codes
    hyperplanes = rng.normal(size=(6, n_hyperplanes, n_repeats))
    tables, paper = build_tables(rows, hyperplanes), Figure3(rows, hyperplanes)
    winners = nearest(queries, rows, tables, 0)
    n_found = 0
    for U, winner in zip(queries, winners, strict=True):
        scores = paper.scores(U)
        assert kernel_scores(tables, U) == scores
        if scores:
            assert winner == paper.nearest(U)
        n_found += bool(scores)
    assert n_found >= 9


@settings(max_examples=30)
@given(
    n=st.integers(1, 40),
    n_hyperplanes=st.integers(1, 20),
    n_repeats=st.integers(1, 4),
    n_features=st.integers(1, 9),
    seed=st.integers(0, 1000),
)
def test_tables_of_any_shape_give_the_scores_of_the_paper(
    n, n_hyperplanes, n_repeats, n_features, seed
):
    rng = np.random.default_rng(seed)
    rows = directions(rng, n, min(2, n_features), n_features)
    hyperplanes = rng.normal(size=(n_features, n_hyperplanes, n_repeats))
    tables, paper = build_tables(rows, hyperplanes), Figure3(rows, hyperplanes)
    assert [kernel_scores(tables, U) for U in rows[:5]] == [paper.scores(U) for U in rows[:5]]


@pytest.mark.parametrize("n_hyperplanes", [4, 30])
def test_signs_of_directions_change_no_score(rng, n_hyperplanes):
    rows, queries = directions(rng, 100), directions(rng, 10)
    queries[:5] = rows[:5]
    hyperplanes = rng.normal(size=(6, n_hyperplanes, 5))
    flipped = rows * rng.choice([-1, 1], size=(100, 3, 1))
    tables, others = build_tables(rows, hyperplanes), build_tables(flipped, hyperplanes)
    for U in queries:
        scores = kernel_scores(tables, U)
        for signs in ([1, 1, 1], [-1, 1, 1], [1, -1, -1], [-1, -1, -1]):
            assert kernel_scores(others, U * np.array(signs)[:, None]) == scores


def test_a_direction_that_is_zero_is_neither_entered_nor_looked_up(rng):
    rows = directions(rng, 50)
    rows[:, 1] = 0
    tables = build_tables(rows, rng.normal(size=(6, 1, 4)))
    assert_array_equal(tables.starts[1], 0)
    assert kernel_scores(tables, np.stack([0 * rows[0, 0], rows[0, 0], 0 * rows[0, 0]])) == {}


def test_a_query_that_meets_none_is_compared_with_all(rng):
    rows, queries = directions(rng, 300), directions(rng, 20)
    tables = build_tables(rows, rng.normal(size=(6, 63, 1)))
    strangers = queries[[not kernel_scores(tables, U) for U in queries]]
    assert len(strangers) > 5
    expected = similarities(strangers, rows).argmax(axis=1)
    for n_rescored in (0, 10):
        assert_array_equal(nearest(strangers, rows, tables, n_rescored), expected)


def test_similarity_decides_among_all_that_were_met(rng):
    rows, queries = directions(rng, 150), directions(rng, 40)
    tables = build_tables(rows, rng.normal(size=(6, 3, 2)))
    values = similarities(queries, rows)
    for U, nearest_one, of_query in zip(
        queries, nearest(queries, rows, tables, 150), values, strict=True
    ):
        met = kernel_scores(tables, U) or range(150)
        assert nearest_one == max(met, key=lambda q, of_query=of_query: of_query[q])


@pytest.mark.parametrize("n_rescored", [1, 5, 40])
def test_what_similarity_chooses_is_never_worse_than_the_highest_score(rng, n_rescored):
    rows, queries = directions(rng, 300), directions(rng, 60)
    tables = build_tables(rows, rng.normal(size=(6, 3, 4)))
    values, every = similarities(queries, rows), np.arange(60)
    by_score = values[every, nearest(queries, rows, tables, 0)]
    by_similarity = values[every, nearest(queries, rows, tables, n_rescored)]
    assert np.all(by_similarity >= by_score)
    assert np.any(by_similarity > by_score)


def test_the_best_sketches_are_those_with_the_best_estimated_similarity(rng):
    rows = directions(rng, 400, n_features=8)
    rows[::3, 1] = 0
    rows[7, 2] = 0
    hyperplanes = rng.normal(size=(8, 5, 20))
    tables = build_tables(rows, hyperplanes)
    bits = np.einsum("npd,dhm->nphm", rows, hyperplanes).reshape(400, 3, 100)[:, :, :63] > 0
    cosines = np.abs(np.cos(np.pi * (bits != bits[7]).mean(axis=2)))
    cosines *= rows.any(axis=2) & rows[7].any(axis=1)
    estimates = np.round(200 * cosines).sum(axis=1)
    candidates = rng.permutation(400)[:300]
    for n_best in (1, 20, 150, 299):
        chosen = _best_sketches(candidates, tables.read_only(), tables.sketches[7], n_best)
        assert len(set(chosen.tolist())) == n_best
        assert set(chosen) <= set(candidates)
        expected = np.sort(estimates[candidates])[::-1][:n_best]
        assert_array_equal(np.sort(estimates[chosen])[::-1], expected)
    assert_array_equal(
        _best_sketches(candidates, tables.read_only(), tables.sketches[7], 300), candidates
    )


def test_equal_sketches_do_not_crowd_out_better_ones(rng):
    rows = np.repeat(directions(rng, 1, n_features=8), 100, axis=0)
    rows[90] = np.linalg.qr(rows[0].T + 0.05 * rng.normal(size=(8, 3)))[0].T
    tables = build_tables(rows, rng.normal(size=(8, 5, 20)))
    best = _best_sketches(np.arange(100), tables.read_only(), tables.sketches[90], 3)
    assert 90 in best


@given(st.integers(0, 2**64 - 1))
def test_set_bits_are_counted(word):
    assert _n_bits_set(np.uint64(word)) == word.bit_count()


@given(
    sizes=st.lists(st.integers(0, 50), min_size=6, max_size=6),
    n_read=st.integers(1, 300),
)
def test_full_buckets_are_cut_to_the_same_length_and_no_shorter_than_needed(sizes, n_read):
    cut = np.reshape(sizes, (2, 3))
    assert _cut(cut, n_read) == cut.sum() <= n_read
    length = cut.max()
    assert_array_equal(cut.ravel(), np.minimum(sizes, length))
    if sum(sizes) > n_read:
        assert np.minimum(sizes, length + 1).sum() > n_read


def test_full_buckets_are_read_in_part_where_similarity_decides_and_wholly_elsewhere(rng):
    rows, queries = directions(rng, 300), directions(rng, 60)
    hyperplanes = rng.normal(size=(6, 3, 4))
    tables, paper = build_tables(rows, hyperplanes), Figure3(rows, hyperplanes)
    by_score = nearest(queries, rows, tables, 0, n_read=50)
    by_similarity = nearest(queries, rows, tables, 300, n_read=50)
    values, n_missed = similarities(queries, rows), 0
    for U, first, second, of_query in zip(queries, by_score, by_similarity, values, strict=True):
        assert first == paper.nearest(U)
        read = kernel_scores(tables, U, n_read=50)
        assert 10 < len(read) <= 50
        assert second == max(read, key=lambda q, of_query=of_query: of_query[q])
        n_missed += second != of_query.argmax()
    assert n_missed > 10


def test_sketches_of_one_query_say_nothing_about_the_next(rng):
    rows, queries = directions(rng, 300), directions(rng, 80)
    queries[::2, 0] = 0
    tables = build_tables(rows, rng.normal(size=(6, 2, 8)))
    together = nearest(queries, rows, tables, 4)
    alone = [nearest(np.stack([0 * U, U]), rows, tables, 4)[1] for U in queries]
    assert_array_equal(together, alone)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_most_similar_is_found_wherever_it_stands(rng, dtype):
    rows = directions(rng, 500, dtype=dtype)
    queries = directions(rng, 50)
    values = similarities(queries, rows)
    for U, of_query in zip(queries, values, strict=True):
        candidates = rng.permutation(500)[:200]
        (position,), (total,) = most_similar(U, rows, candidates, 1)
        assert position == candidates[of_query[candidates].argmax()]
        assert total == pytest.approx(of_query[position])


def test_among_equals_the_lowest_position_is_taken(rng):
    rows = directions(rng, 30)
    rows[:, :, :] = rows[3] * rng.choice([-1, 1], size=(30, 3, 1))
    (U,) = directions(rng, 1)
    for k in (1, 4, 25):
        positions, _ = most_similar(U, rows, rng.permutation(np.arange(5, 30)), k)
        assert_array_equal(positions, np.arange(5, 5 + k))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [2, 7, 60])
def test_several_are_the_most_similar_of_the_candidates(rng, dtype, k):
    rows, queries = directions(rng, 300, dtype=dtype), directions(rng, 30)
    values = similarities(queries, rows)
    for U, of_query in zip(queries, values, strict=True):
        candidates = rng.permutation(300)[:100]
        positions, sums = most_similar(U, rows, candidates, k)
        expected = sorted(candidates, key=lambda q, of_query=of_query: -of_query[q])[:k]
        assert_array_equal(positions, np.sort(expected))
        assert_allclose(sums, of_query[positions])


@pytest.mark.parametrize("k", [2, 5])
def test_several_have_the_highest_scores_of_the_paper(rng, k):
    rows, queries = directions(rng, 200), directions(rng, 25)
    hyperplanes = rng.normal(size=(6, 3, 4))
    tables, paper = build_tables(rows, hyperplanes), Figure3(rows, hyperplanes)
    positions, _ = neighbours(queries, rows, tables, k, 0)
    for U, nearest_ones in zip(queries, positions, strict=True):
        scores = paper.scores(U)
        assert len(scores) > k
        assert_array_equal(nearest_ones, np.sort(sorted(scores, key=lambda q: (-scores[q], q))[:k]))


def test_a_query_that_meets_too_few_is_compared_with_all(rng):
    rows, queries = directions(rng, 300), directions(rng, 20)
    tables = build_tables(rows, rng.normal(size=(6, 12, 1)))
    n_met = np.array([len(kernel_scores(tables, U)) for U in queries])
    k = 30
    assert np.sum((n_met > 0) & (n_met < k)) > 0
    expected = np.sort(np.argsort(-similarities(queries, rows), axis=1)[:, :k], axis=1)
    for n_rescored in (0, k):
        positions, _ = neighbours(queries, rows, tables, k, n_rescored)
        assert_array_equal(positions[n_met < k], expected[n_met < k])


def test_there_is_one_compiled_kernel_for_each_type_of_description(rng):
    for dtype in (np.float32, np.float64):
        rows = directions(rng, 20, dtype=dtype)
        tables = build_tables(rows, rng.normal(size=(6, 2, 2)))
        for queries in (rows, rows.astype(np.float64), np.asfortranarray(rows), rows[::2]):
            nearest(queries, rows, tables, 5)
    assert len(neighbours_by_hashing.signatures) == 2  # type: ignore[attr-defined]
