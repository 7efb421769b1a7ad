import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from localrank.data import make_queries
from localrank.grouping.base import Groups
from localrank.persistence.encoding import Reader, Writer
from localrank.recipes import local_rank, query_neighbours
from localrank.representations import Gaussian, Mean, PrincipalComponents
from localrank.selection import LSH, Cells, NearestQueries, NearestQuery, cells
from localrank.selection import _query_search as query_search
from localrank.selection.cells import some_by_content


@pytest.fixture
def points(rng):
    return rng.normal(size=(300, 3))


@pytest.fixture
def asked(rng):
    return rng.normal(size=(40, 3))


def distances(a, b):
    return np.sqrt(((a[:, None] - b) ** 2).sum(axis=2))


def naive_neighbours(index, points, one, k):
    """The k nearest of the training queries whose centres are among the nearest, or of all."""
    centres = points[index.centres_]
    home = distances(points, centres).argmin(axis=1)
    probed = np.argsort(distances(one[None], centres)[0])[: index.n_probes]
    candidates = np.flatnonzero(np.isin(home, probed))
    if len(candidates) < k:
        candidates = np.arange(len(points))
    nearest = candidates[np.argsort(distances(one[None], points[candidates])[0])[:k]]
    return np.sort(nearest)


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize(("n_cells", "n_probes"), [(None, 4), (30, 2), (12, 12)])
def test_neighbours_are_the_nearest_in_the_nearest_cells(points, asked, k, n_cells, n_probes):
    index = Cells(n_cells, n_probes).fit(Mean(), points)
    positions, apart = index.neighbours(Mean(), points, asked, k)
    for one, neighbours, far in zip(asked, positions, apart, strict=True):
        assert_array_equal(neighbours, naive_neighbours(index, points, one, k))
        assert_allclose(far, distances(one[None], points[neighbours])[0], atol=1e-12)


def test_with_every_cell_probed_the_search_is_exact(points, asked):
    index = Cells(20, 20).fit(Mean(), points)
    for k in (1, 7):
        for ours, exact in zip(
            index.neighbours(Mean(), points, asked, k),
            Mean().neighbours(asked, points, k),
            strict=True,
        ):
            assert_array_equal(ours, exact)


def test_cells_are_as_many_as_take_the_fewest_distances(points):
    assert len(Cells(n_probes=3).fit(Mean(), points).centres_) == 30
    # No more than there are queries.
    assert len(Cells(n_probes=900).fit(Mean(), points).centres_) == 300


def test_every_centre_lies_in_its_own_cell_where_queries_are_equal():
    index = Cells(7, 2).fit(Mean(), np.zeros((20, 2)))
    assert_array_equal(index.cells_[index.centres_], np.arange(7))
    positions, apart = index.neighbours(Mean(), np.zeros((20, 2)), np.zeros((3, 2)), 20)
    assert_array_equal(positions, np.tile(np.arange(20), (3, 1)))
    assert_array_equal(apart, 0.0)


def test_where_cells_hold_too_few_all_queries_are_compared(points, asked):
    index = Cells(100, 1).fit(Mean(), points)
    ours = index.neighbours(Mean(), points, asked, 50)
    exact = Mean().neighbours(asked, points, 50)
    assert_array_equal(ours[0], exact[0])
    assert_array_equal(ours[1], exact[1])
    assert index.neighbours(Mean(), points, asked, 1000)[0].shape == (40, 300)


def test_directions_found_in_cells_do_not_depend_on_queries_asked_together():
    dataset, _ = make_queries(200, n_documents=(5, 8), n_features=6)
    components = PrincipalComponents(2).fit(dataset)
    described = components.transform(dataset)
    index = Cells(20, 3).fit(components, described)
    whole = index.neighbours(components, described, described, 2)[0]
    alone = [index.neighbours(components, described, one[None], 2)[0][0] for one in described]
    assert_array_equal(alone, whole)


@pytest.mark.parametrize("size", [1, 16 * 3 * 7])
def test_an_answer_depends_neither_on_blocks_nor_on_queries_asked_together(
    points, asked, monkeypatch, size
):
    index = Cells().fit(Mean(), points)
    whole = index.neighbours(Mean(), points, asked, 3)
    alone = [index.neighbours(Mean(), points, one[None], 3)[0][0] for one in asked]
    assert_array_equal(alone, whole[0])
    monkeypatch.setattr(cells, "_BLOCK", size)
    assert_array_equal(index.neighbours(Mean(), points, asked, 3)[0], whole[0])


def test_cells_do_not_depend_on_the_order_of_the_training_queries(points, asked, rng):
    order = rng.permutation(300)
    one, two = Cells(30, 2).fit(Mean(), points), Cells(30, 2).fit(Mean(), points[order])
    assert_array_equal(one.cells_[order], two.cells_)
    first, _ = one.neighbours(Mean(), points, asked, 1)
    second, _ = two.neighbours(Mean(), points[order], asked, 1)
    assert_array_equal(first, order[second])


def test_some_queries_are_chosen_by_their_descriptions(points, rng):
    order = rng.permutation(300)
    some = points[some_by_content(points, 20)]
    assert_array_equal(points[order][some_by_content(points[order], 20)], some)
    assert len(np.unique(some, axis=0)) == 20
    assert (points[some_by_content(points, 20, seed=1)] != some).any()
    # Not by size or position: as good as at random.
    many = rng.normal(size=(20_000, 2))
    few = some_by_content(many, 2_000)
    assert abs(many[few].mean(axis=0)).max() < 0.1
    assert abs(few.mean() - 10_000) < 600


@pytest.mark.parametrize("representation", [Mean(), Gaussian(), PrincipalComponents(2)], ids=repr)
def test_cells_serve_every_representation(representation):
    dataset, types = make_queries(90, n_documents=(8, 20), n_features=8, n_types=2)
    fitted = representation.fit(dataset)
    described = fitted.transform(dataset)
    selector = NearestQuery(Cells(9, 9))
    selector.fit(dataset, Groups.from_labels(types), fitted, described)
    assert_array_equal(selector.nearest(described), fitted.nearest(described, described))


def search(selector, n_queries=60, representation=None):
    dataset, types = make_queries(n_queries, n_documents=(8, 20), n_features=8, n_types=2)
    fitted = (representation or Mean()).fit(dataset)
    return selector.fit(dataset, Groups.from_labels(types), fitted, fitted.transform(dataset))


@pytest.mark.parametrize("selector", [NearestQuery(), NearestQueries(3)], ids=repr)
def test_of_few_training_queries_all_are_compared(selector, monkeypatch):
    monkeypatch.setattr(query_search, "MAX_EXACT", 60)
    assert search(selector).index_ is None
    assert isinstance(search(selector, 61).index_, Cells)
    assert isinstance(search(selector, 61, PrincipalComponents()).index_, Cells)


def test_an_index_that_is_asked_for_is_taken():
    assert isinstance(search(NearestQuery("cells")).index_, Cells)
    assert search(NearestQuery("exact")).index_ is None
    index = Cells(5, 2)
    selector = search(NearestQuery(index))
    assert selector.index_.get_params() == index.get_params()
    assert not hasattr(index, "cells_")


def test_exact_stays_exact_of_many(monkeypatch):
    monkeypatch.setattr(query_search, "MAX_EXACT", 10)
    assert search(NearestQuery("exact")).index_ is None


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (Cells(0), "'n_cells' parameter of Cells must be"),
        (Cells(61), r"at most the number of training queries \(60\). Got 61"),
        (Cells(n_probes=0), "'n_probes' parameter of Cells must be"),
    ],
)
def test_wrong_parameters_are_refused(index, message):
    with pytest.raises(ValueError, match=message):
        search(NearestQuery(index))


def encoded(selector):
    writer = Writer()
    state = writer.encoded(selector)
    return state, memoryview(writer.arrays())


def test_saved_and_loaded_it_finds_the_same(rng):
    selector = search(NearestQuery(Cells(9, 2)))
    state, arrays = encoded(selector)
    loaded = Reader(arrays, []).decoded(state)
    asked = rng.normal(size=(30, 8))
    assert_array_equal(loaded.nearest(asked), selector.nearest(asked))


@pytest.mark.parametrize("damage", ["too few queries", "an empty cell", "no such query"])
def test_cells_that_do_not_fit_are_refused_when_loaded(damage):
    selector = search(NearestQuery(Cells(9, 2)))
    index = selector.index_
    if damage == "too few queries":
        index.cells_ = index.cells_[:-1]
    elif damage == "an empty cell":
        index.cells_[index.cells_ == 3] = 4
    else:
        index.centres_[0] = 60
    state, arrays = encoded(selector)
    with pytest.raises(ValueError, match=r"Cells|NearestQuery"):
        Reader(arrays, []).decoded(state)


def test_recipes_choose_by_the_number_of_training_queries(monkeypatch):
    monkeypatch.setattr(query_search, "MAX_EXACT", 50)
    dataset, _ = make_queries(60, n_documents=(8, 20), n_features=8)
    assert isinstance(local_rank(2).fit(dataset).selector_.index_, Cells)
    assert isinstance(local_rank(2, index="lsh").fit(dataset).selector_.index_, LSH)
    assert isinstance(query_neighbours(5).fit(dataset).selector_.index_, Cells)
    few = dataset.select(range(50))
    assert local_rank(2).fit(few).selector_.index_ is None
