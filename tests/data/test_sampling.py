import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chi2

from localrank.data import RankingDataset
from localrank.data.sampling import checked_limit, id_keys, sampled_queries


def queries_of(ids, sizes):
    rows = np.repeat(np.arange(len(ids)), sizes)
    return RankingDataset.from_arrays(np.zeros((len(rows), 1)), qid=np.asarray(ids)[rows])


def drawn_ids(dataset, max_documents, teaches=None):
    teaches = np.ones(dataset.n_queries, bool) if teaches is None else teaches
    drawn = sampled_queries(dataset, np.arange(dataset.n_queries), max_documents, teaches)
    return dataset.query_ids[drawn]


@pytest.fixture
def dataset():
    rng = np.random.default_rng(3)
    return queries_of(rng.permutation(5000)[:900], rng.integers(1, 30, 900))


@pytest.mark.parametrize("kind", [str, np.int32, np.dtypes.StringDType(), "S8"])
def test_an_id_hashes_alike_as_a_number_and_as_its_text(kind):
    ids = np.array([0, 7, 12, 70, 987654])
    assert_array_equal(id_keys(ids), id_keys(ids.astype(str).astype(kind)))


def test_a_wider_array_of_texts_hashes_its_ids_alike():
    assert_array_equal(id_keys(np.array(["a", "bc"])), id_keys(np.array(["a", "bc"], "U90")))


def test_an_id_hashes_alike_in_any_block():
    ids = np.arange(40_000)
    assert_array_equal(id_keys(ids)[::-1], id_keys(ids[::-1]))


def test_very_long_ids_are_told_apart_by_both_ends():
    long = "x" * 4000
    ids = np.array([f"a{long}", f"b{long}", f"{long}a", f"{long}b"])
    assert len(set(id_keys(ids).tolist())) == 4
    assert_array_equal(id_keys(ids), id_keys(ids.astype(np.dtypes.StringDType())))


@pytest.mark.parametrize(
    "ids",
    [np.arange(200_000), np.arange(200_000) * 1024, [f"q{i:07d}" for i in range(200_000)]],
    ids=["numbers", "multiples", "texts"],
)
def test_keys_of_similar_ids_are_uniform_and_neighbours_independent(ids):
    keys = id_keys(np.asarray(ids))
    high = (keys >> np.uint64(58)).astype(int)
    for cells, n in ((high, 64), (64 * high[:-1] + high[1:], 4096)):
        counts = np.bincount(cells, minlength=n)
        statistic = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
        assert chi2.ppf(1e-4, n - 1) < statistic < chi2.ppf(1 - 1e-4, n - 1)


def test_the_draw_does_not_depend_on_the_order_of_the_queries(dataset):
    mixed = dataset.select(np.random.default_rng(0).permutation(dataset.n_queries))
    assert set(drawn_ids(dataset, 3000)) == set(drawn_ids(mixed, 3000))


def test_the_draw_is_as_large_as_it_may_be(dataset):
    drawn = np.isin(dataset.query_ids, drawn_ids(dataset, 3000))
    assert 3000 - dataset.query_sizes.max() < dataset.query_sizes[drawn].sum() <= 3000


def test_a_limit_that_is_met_exactly_is_used_up():
    assert len(drawn_ids(queries_of(np.arange(10), np.full(10, 3)), 12)) == 4


def test_a_smaller_draw_is_a_part_of_a_larger_one(dataset):
    assert set(drawn_ids(dataset, 1000)) < set(drawn_ids(dataset, 2000))


def test_positions_come_in_ascending_order_and_only_of_those_asked(dataset):
    asked = np.arange(100, 700, 2)
    drawn = sampled_queries(dataset, asked, 1500, np.ones(dataset.n_queries, bool))
    assert (np.diff(drawn) > 0).all()
    assert np.isin(drawn, asked).all()


def test_large_and_small_queries_are_drawn_alike():
    sizes = np.tile([1, 19], 5000)
    dataset = queries_of(np.arange(10_000), sizes)
    drawn = np.isin(dataset.query_ids, drawn_ids(dataset, 50_000))
    counts = np.bincount(sizes[drawn])[[1, 19]]
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < chi2.ppf(0.999, 1)


def test_queries_that_teach_are_drawn_where_none_would_be():
    dataset = queries_of(np.arange(1000), np.full(1000, 2))
    teaches = ~np.isin(dataset.query_ids, drawn_ids(dataset, 1000))
    teaches &= np.cumsum(teaches) <= 3
    assert_array_equal(drawn_ids(dataset, 1000, teaches), dataset.query_ids[teaches])


@pytest.mark.parametrize("wrong", [2.5, True, "all"])
def test_a_limit_that_is_no_number_is_refused(dataset, wrong):
    with pytest.raises(ValueError, match="must be a whole number, None or 'auto'. Got"):
        checked_limit(wrong, dataset)


def test_a_limit_below_the_largest_query_is_refused(dataset):
    with pytest.raises(ValueError, match="must be at least 29, the size of the largest query"):
        checked_limit(28, dataset)
    assert checked_limit(29, dataset) == 29


def test_a_limit_that_nothing_exceeds_is_none(dataset):
    assert checked_limit(dataset.n_documents, dataset) is None
    assert checked_limit(dataset.n_documents - 1, dataset) == dataset.n_documents - 1
