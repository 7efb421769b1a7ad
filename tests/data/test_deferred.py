import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import deferred, make_queries
from localrank.data.content_order import content_order
from localrank.data.deferred import DeferredDataset, feature_blocks, gathered


@pytest.fixture
def dataset():
    return make_queries(30, n_documents=(1, 9), n_features=5, random_state=0)[0]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(deferred, "BLOCK_BYTES", 700)


def with_sums(part):
    sums = np.add.reduceat(part.features, part.offsets[:-1])[part.query_index]
    return np.hstack([part.features, sums])


def test_blocks_are_the_features_whole_queries_at_a_time(dataset):
    blocks = list(feature_blocks(dataset))
    assert len(blocks) > 3
    assert_array_equal(np.vstack([block for _, block in blocks]), dataset.features)
    assert {rows.start for rows, _ in blocks} <= set(dataset.offsets.tolist())


def test_features_are_made_in_any_order_as_they_would_be_at_once(dataset):
    made = dataset.with_features(with_sums(dataset))
    later = DeferredDataset.of(dataset, with_sums, made)
    assert (later.n_documents, later.n_features) == made.features.shape
    rows, queries = content_order(later)
    assert_array_equal(rows, content_order(made)[0])
    now, then = made.reordered(rows, queries), later.reordered(rows, queries)
    assert isinstance(then, DeferredDataset)
    for one, other in ((now, then), (now.taken(queries[:7]), then.taken(queries[:7]))):
        assert_array_equal(one.features, gathered(other).features)
        for name in ("labels", "offsets", "query_ids"):
            assert_array_equal(getattr(one, name), getattr(other, name))
    assert_array_equal(now.input_order, then.input_order)
