import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from partitioned import written

from localrank.data import RankingDataset
from localrank.data._parts import over_parts, passes_with


@pytest.fixture(scope="module")
def partitioned(queries, tmp_path_factory):
    return written(queries, tmp_path_factory.mktemp("parts"), 4)


def doubled(part: RankingDataset) -> RankingDataset:
    columns = np.hstack([2 * part.features, part.features[:, :1]])
    return part.with_features(columns, [f"column {i}" for i in range(columns.shape[1])])


def test_a_dataset_in_memory_is_one_part(queries):
    assert over_parts(lambda part: part is queries, queries, description="") == [True]


@pytest.mark.parametrize("n_jobs", [None, 1, 3])
def test_results_come_in_the_order_of_the_queries(partitioned, n_jobs):
    with passes_with(n_jobs):
        parts = over_parts(lambda part: part.query_ids, partitioned, description="")
    assert len(parts) == 4
    assert_array_equal(np.concatenate(parts), partitioned.query_ids)


def test_each_part_has_its_entries_of_what_belongs_to_queries(partitioned):
    ids = partitioned.query_ids
    same = over_parts(
        lambda part, ids, nothing, more: (part.query_ids == ids).all() and nothing is None and more,
        partitioned,
        by_query=(ids, None),
        shared=(True,),
        description="",
    )
    assert same == [True] * 4


def test_each_part_has_the_weights_of_its_documents(partitioned):
    weights = np.arange(partitioned.n_documents, dtype=float)
    weighed = partitioned.replaced(document_weights=weights)
    parts = over_parts(lambda part: part.document_weights, weighed, description="")
    assert_array_equal(np.concatenate(parts), weights)


def test_a_mapped_dataset_is_the_map_of_the_gathered_one(partitioned):
    mapped, expected = partitioned.derived(doubled), doubled(partitioned.in_memory())
    assert len(mapped.partitions) == 4
    assert (mapped.n_features, mapped.dtype) == (expected.n_features, expected.dtype)
    assert mapped.feature_names == expected.feature_names
    assert_array_equal(mapped.in_memory().features, expected.features)
    assert_array_equal(np.vstack([rows for _, rows in mapped.feature_blocks()]), expected.features)
    parts = over_parts(lambda part: part.features, mapped, description="")
    assert_array_equal(np.concatenate(parts), expected.features)


def test_some_queries_of_a_mapped_dataset_stay_mapped(partitioned):
    mapped = partitioned.derived(doubled)
    some = np.arange(3, 50, 4)
    assert mapped.taken(some).partitions
    expected = doubled(partitioned.in_memory().taken(some)).features
    assert_array_equal(mapped.taken(some).in_memory().features, expected)
    back = some[::-1]
    assert_array_equal(
        mapped.select(back).features, doubled(partitioned.in_memory().taken(back)).features
    )


def test_maps_go_one_after_another(partitioned):
    twice = partitioned.derived(doubled).derived(doubled)
    assert_array_equal(
        twice.in_memory().features, doubled(doubled(partitioned.in_memory())).features
    )


def test_handles_of_mapped_partitions_are_small_and_travel(partitioned):
    handles = pickle.dumps(partitioned.derived(doubled).partitions)
    assert len(handles) < 10_000
    read = [handle.read().query_ids for handle in pickle.loads(handles)]
    assert_array_equal(np.concatenate(read), partitioned.query_ids)
