import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import _sources as sources
from localrank.data import make_queries
from localrank.data._content_order import content_order
from localrank.data._sources import Made


@pytest.fixture
def dataset():
    return make_queries(30, n_documents=(1, 9), n_features=5, random_state=0)[0]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_BYTES", 700)
    monkeypatch.setattr(sources, "SMALL_BYTES", 0)


def with_sums(part):
    sums = np.add.reduceat(part.features, part.offsets[:-1])[part.query_index]
    return part.with_features(np.hstack([part.features, sums]))


def test_blocks_are_the_features_whole_queries_at_a_time(dataset):
    blocks = list(dataset.feature_blocks())
    assert len(blocks) > 3
    assert_array_equal(np.vstack([block for _, block in blocks]), dataset.features)
    assert {rows.start for rows, _ in blocks} <= set(dataset.offsets.tolist())


def test_features_are_made_in_any_order_as_they_would_be_at_once(dataset):
    made, later = with_sums(dataset), dataset.view().derived(with_sums)
    assert (later.n_documents, later.n_features) == made.features.shape
    rows, queries = content_order(later)
    assert_array_equal(rows, content_order(made)[0])
    now, then = made.reordered(rows, queries), later.reordered(rows, queries)
    assert isinstance(then._source, Made)
    for one, other in ((now, then), (now.taken(queries[:7]), then.taken(queries[:7]))):
        assert_array_equal(one.features, other.in_memory().features)
        for name in ("labels", "offsets", "query_ids"):
            assert_array_equal(getattr(one, name), getattr(other, name))
    assert_array_equal(now.input_order, then.input_order)


def test_a_part_of_a_view_misses_values_only_where_its_own_rows_do(dataset):
    features = dataset.features.copy()
    features[dataset.offsets[4]] = np.nan
    holed = dataset.with_features(features).view()
    assert holed.has_missing
    assert holed.select([0, 4]).has_missing
    assert not holed.select([0, 5]).has_missing


def test_a_view_travels_as_its_own_rows(dataset):
    part = dataset.view().select([3, 1])
    sent = pickle.dumps(part)
    assert len(sent) < len(pickle.dumps(dataset)) / 2
    received = pickle.loads(sent)
    for name in ("features", "labels", "offsets", "query_ids"):
        assert_array_equal(getattr(received, name), getattr(part, name))


def test_a_view_of_a_view_is_the_view_itself(dataset):
    part = dataset.view().select([3, 1])
    assert part.view() is part


def test_blocks_of_queries_show_the_table_and_copy_no_row(dataset, monkeypatch):
    monkeypatch.setattr("localrank.data.dataset.SCORED_BYTES", 700)
    blocks = list(dataset.query_blocks(40))
    assert len(blocks) > 3
    for name in ("features", "labels", "query_ids", "query_sizes"):
        together = np.concatenate([getattr(block, name) for block in blocks])
        assert_array_equal(together, getattr(dataset, name))
    assert all(np.shares_memory(block.features, dataset.features) for block in blocks)
    gathered_blocks = list(dataset.view().query_blocks(40))
    for one, other in zip(blocks, gathered_blocks, strict=True):
        assert_array_equal(one.features, other.features)
        assert_array_equal(one.offsets, other.offsets)
