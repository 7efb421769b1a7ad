"""Features are found by their names, and data without names is mentioned."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from localrank.aggregation import WeightedBorda
from localrank.data import (
    ColumnWarning,
    RankingDataset,
    convert,
    make_queries,
    open_partitions,
    write_table,
)
from localrank.evaluation import permutation_importance
from localrank.export import export, verify
from localrank.rankers import LambdaMART, MultipleHyperplaneRanker, RankSVM, TopicalRankSVM
from localrank.recipes import local_rank

NAMES = ["price", "bm25", "clicks", "age", "stars"]
ORDER = [3, 0, 4, 1, 2]


@pytest.fixture(scope="module")
def named():
    dataset, _ = make_queries(40, n_features=5, random_state=0)
    return dataset.with_features(dataset.features, NAMES)


@pytest.fixture(scope="module")
def moved(named):
    """The same documents, columns in another order."""
    return named.with_features(named.features[:, ORDER], [NAMES[place] for place in ORDER])


@pytest.fixture(scope="module")
def ranker(named):
    return RankSVM().fit(named)


def frame_of(dataset, library=pd.DataFrame):
    return library(dict(zip(dataset.feature_names, dataset.features.T, strict=True)))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame_are_found_by_name(ranker, named, moved, library):
    expected = ranker.predict(named)
    frame, qid = frame_of(moved, library), named.query_ids[named.query_index]
    assert_array_equal(ranker.predict(frame, qid=qid), expected)
    assert ranker.score(frame, named.labels, qid=qid) == ranker.score(named)
    ranked = ranker.rank(frame, named.labels, qid=qid, library="dict")
    for name, values in ranker.rank(named, library="dict").items():
        assert_array_equal(ranked[name], values)


def test_contributions_stand_below_the_names_of_the_model(ranker, named, moved):
    one, other = ranker.contributions(named), ranker.contributions(moved)
    assert one.names == other.names
    assert_array_equal(one.values, other.values)


def test_all_that_a_model_does_with_data_finds_columns_by_name(ranker, named, moved, tmp_path):
    one, other = (permutation_importance(ranker, data, n_jobs=1) for data in (named, moved))
    assert one.feature_names == other.feature_names
    assert_array_equal(one.means, other.means)
    export(ranker, "sql", tmp_path)
    assert verify(ranker, "sql", tmp_path, moved).same_order
    local = local_rank(2).fit(named)
    assert_array_equal(
        local.explain(moved, named.query_ids[3]).scores,
        local.explain(named, named.query_ids[3]).scores,
    )
    selected = (local.with_selector(local.selector, data) for data in (named, moved))
    assert_array_equal(*(model.predict(named) for model in selected))
    pairs = MultipleHyperplaneRanker().fit(named)
    aggregated = (pairs.with_aggregator(WeightedBorda(), data) for data in (named, moved))
    assert_array_equal(*(model.predict(named) for model in aggregated))
    topics = TopicalRankSVM(2).fit(named)
    assert_array_equal(topics.memberships(moved), topics.memberships(named))


def test_validation_queries_are_found_by_name(named, moved):
    train, held_out = named.select(range(30)), range(30, 40)
    models = [
        LambdaMART(20, min_leaf_documents=5, n_jobs=1).fit(train, valid=valid.select(held_out))
        for valid in (named, moved)
    ]
    assert models[0].n_trees_ == models[1].n_trees_
    assert_array_equal(models[0].predict(named), models[1].predict(named))


def test_columns_of_partitions_and_views_are_found_by_name(ranker, named, moved, tmp_path):
    write_table(moved, tmp_path / "moved.parquet")
    convert(tmp_path / "moved.parquet", tmp_path / "parts", partition_size=300, dtype=np.float64)
    parts = open_partitions(tmp_path / "parts")
    assert parts.feature_names == moved.feature_names
    by_query = dict(zip(parts.query_ids.tolist(), range(parts.n_queries), strict=True))
    there = parts.select([by_query[query] for query in named.query_ids.tolist()])
    assert_array_equal(ranker.predict(there), ranker.predict(named))
    expected = ranker.predict(named.select([4, 2]))
    assert_array_equal(ranker.predict(moved.view().select([4, 2])), expected)


def test_other_columns_are_refused(ranker, named):
    frame = frame_of(named).rename(columns={"age": "years"})
    with pytest.raises(ValueError, match="comes without 'age' and with a new 'years'"):
        ranker.predict(frame, qid=named.query_index)


def test_features_without_names_are_mentioned_where_the_model_knows_names(ranker, named):
    message = (
        r"RankSVM was fitted on features with names \(price, bm25, clicks, \.\.\.\), and these "
        r"have none"
    )
    X, qid = named.features, named.query_index
    bare = RankingDataset.from_arrays(X, named.labels, qid)
    for call in (
        lambda: ranker.predict(X, qid=qid),
        lambda: ranker.rank(X, qid=qid, library="dict"),
        lambda: ranker.score(bare),
        lambda: ranker.contributions(bare),
        lambda: RankSVM().fit(named, valid=bare),
    ):
        with pytest.warns(ColumnWarning, match=message) as caught:
            call()
        assert {warning.filename for warning in caught} == {__file__}


def test_nothing_is_said_of_names_that_nobody_gave(named):
    X, y, qid = named.features, named.labels, named.query_index
    # pandas numbers the columns of an array.
    for training in (X, pd.DataFrame(X)):
        ranker = RankSVM().fit(training, y, qid=qid)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ranker.predict(X, qid=qid)
