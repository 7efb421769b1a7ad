"""Validation queries that are training queries are told, by id and content."""

import warnings

import numpy as np
import pytest

from localrank.data import RankingDataset, convert, make_queries, open_partitions, write_letor
from localrank.evaluation import tune
from localrank.rankers import BestFeature


@pytest.fixture(scope="module")
def queries():
    return make_queries(30, n_documents=(3, 6), random_state=0)[0]


def test_queries_with_the_same_documents_are_told_in_any_order(queries, rng):
    rows = rng.permutation(queries.n_documents)
    shuffled = RankingDataset.from_arrays(
        queries.features[rows],
        queries.relevance[rows],
        queries.query_ids[queries.query_index[rows]],
    )
    train = shuffled.select(np.arange(0, 20))
    valid = queries.select(np.arange(30))
    with pytest.warns(UserWarning, match=r"^20 validation queries are also in the training data"):
        BestFeature().fit(train, valid=valid)
    with pytest.warns(UserWarning, match=r"^20 validation queries are also in the training data"):
        tune(BestFeature(), {"both_directions": [True, False]}, train, valid=valid)


def test_the_same_ids_alone_are_no_fault(queries):
    other = make_queries(30, n_documents=(3, 6), random_state=1)[0]
    relabelled = queries.replaced(relevance=queries.relevance[::-1].copy())
    apart = queries.replaced(query_ids=queries.query_ids + 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for valid in (other, relabelled.select([3]), apart):
            BestFeature().fit(queries, valid=valid)


def test_queries_in_files_are_compared_too(queries, tmp_path):
    write_letor(queries, tmp_path / "train.txt")
    convert(tmp_path / "train.txt", tmp_path / "parts", partition_size=40, dtype=np.float64)
    parts = open_partitions(tmp_path / "parts")
    plain = queries.with_features(queries.features)
    with pytest.warns(UserWarning, match="^1 validation query is also in the .* such as 8"):
        BestFeature().fit(parts, valid=plain.select([7]))
