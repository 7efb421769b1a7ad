from itertools import pairwise
from math import isnan
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from rearranged import rearranged

from localrank.data import RankingDataset, make_queries
from localrank.data import _filling as filling
from localrank.data import _sources as sources
from localrank.data._filling import Filling, query_medians
from localrank.data._sources import Made


def with_holes(dataset, seed=0):
    """Feature 1 is missing at random, 2 where 1 is, 3 in whole queries, 4 always; 0 never."""
    rng = np.random.default_rng(seed)
    features = dataset.features.copy()
    features[rng.random(dataset.n_documents) < 0.4, 1] = np.nan
    features[np.isnan(features[:, 1]), 2] = np.nan
    features[(dataset.query_index % 3 == 0), 3] = np.nan
    features[:, 4] = np.nan
    return dataset.with_features(features, dataset.feature_names)


@pytest.fixture
def dataset():
    made, _ = make_queries(30, n_documents=(1, 9), n_features=6, random_state=0)
    return with_holes(made)


def naive_fill_value(dataset, column):
    medians = []
    for begin, end in pairwise(dataset.offsets):
        present = [v for v in dataset.features[begin:end, column].tolist() if not isnan(v)]
        if present:
            medians.append(median(present))
    return median(medians) if medians else 0.0


def naive_filled(dataset, fill_values, indicators):
    rows = []
    for begin, end in pairwise(dataset.offsets):
        documents = dataset.features[begin:end].tolist()
        for document in documents:
            row = []
            for column, value in enumerate(document):
                present = [d[column] for d in documents if not isnan(d[column])]
                filled = median(present) if present else fill_values[column]
                row.append(filled if isnan(value) else value)
            rows.append(row + [float(isnan(document[column])) for column in indicators])
    return rows


def test_fill_values_are_the_medians_of_the_queries_medians(dataset):
    values = Filling.learned(dataset).values
    missing = np.isnan(dataset.features).any(axis=0)
    for column in range(dataset.n_features):
        expected = naive_fill_value(dataset, column) if missing[column] else 0.0
        assert values[column] == expected
    assert values[3] != 0


def test_a_missing_value_becomes_the_median_of_its_query(dataset):
    learned = Filling.learned(dataset)
    filled = learned.filled(dataset)
    assert_array_equal(filled.features, naive_filled(dataset, learned.values, [1, 3]))
    assert filled.feature_names[-2:] == ("f2 (missing)", "f4 (missing)")


def test_features_missing_together_share_an_indicator_and_those_always_missing_have_none(dataset):
    assert_array_equal(Filling.learned(dataset).indicators, [1, 3])
    assert len(Filling.learned(dataset, indicators=False).indicators) == 0


def test_indicators_are_there_for_complete_queries_too(dataset):
    learned = Filling.learned(dataset)
    complete = dataset.with_features(np.ones(dataset.features.shape), dataset.feature_names)
    filled = learned.filled(complete)
    assert_array_equal(filled.features[:, :6], complete.features)
    assert_array_equal(filled.features[:, 6:], 0)


def test_complete_training_data_teaches_no_filling():
    dataset, _ = make_queries(10, n_features=6, random_state=0)
    assert Filling.learned(dataset) is None
    assert Filling.unlearned(6).filled(dataset) is dataset


def test_without_a_lesson_a_feature_missing_in_a_whole_query_is_0():
    X = [[1.0, np.nan], [np.nan, np.nan], [7.0, np.nan]]
    dataset = RankingDataset.from_arrays(X, qid=[1, 1, 1])
    filled = Filling.unlearned(2).filled(dataset)
    assert_array_equal(filled.features, [[1.0, 0.0], [4.0, 0.0], [7.0, 0.0]])


@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_rows_and_queries_does_not_matter(seed):
    dataset = with_holes(make_queries(12, n_documents=(1, 6), n_features=5, random_state=1)[0])
    order = np.random.default_rng(seed).permutation(dataset.n_documents)
    mixed = rearranged(dataset, order)
    one, other = Filling.learned(dataset), Filling.learned(mixed)
    assert_array_equal(one.values, other.values)
    assert_array_equal(one.indicators, other.indicators)
    expected = one.filled(dataset).features[order]
    filled = other.filled(mixed)
    assert_array_equal(expected[filled.input_order], filled.features)


def test_features_that_are_made_block_by_block_are_filled_alike(dataset, monkeypatch):
    doubled = dataset.with_features(np.hstack([dataset.features, 2 * dataset.features]))
    at_once = Filling.learned(doubled)
    expected = at_once.filled(doubled).features
    monkeypatch.setattr(sources, "BLOCK_BYTES", 700)
    monkeypatch.setattr(filling, "SMALL_BYTES", 0)
    monkeypatch.setattr(sources, "SMALL_BYTES", 0)
    later = dataset.view().derived(
        lambda part: part.with_features(np.hstack([part.features, 2 * part.features]))
    )
    learned = Filling.learned(later)
    assert_array_equal(learned.values, at_once.values)
    assert_array_equal(learned.indicators, at_once.indicators)
    filled = learned.filled(later)
    assert isinstance(filled._source, Made)
    assert_array_equal(filled.features, expected)
    rows = np.argsort(-dataset.query_index, kind="stable")
    reordered = filled.reordered(rows, np.arange(dataset.n_queries)[::-1])
    assert_array_equal(reordered.features, expected[rows])


def test_whether_values_are_missing_is_asked_of_the_source(dataset, monkeypatch):
    monkeypatch.setattr(sources, "SMALL_BYTES", 0)

    def refuse(part):
        raise AssertionError("features were made")

    complete = dataset.with_features(np.ones(dataset.features.shape))
    assert Filling.learned(complete.view().derived(refuse, complete)) is None


def test_single_precision_stays(dataset):
    single = dataset.with_features(dataset.features.astype(np.float32))
    filled = Filling.learned(single).filled(single).features
    assert filled.dtype == np.float32
    assert np.isfinite(filled).all()


def test_names_that_are_taken_get_a_mark():
    X = [[np.nan, 1.0], [2.0, 1.0]]
    dataset = RankingDataset.from_arrays(X, qid=[1, 1], feature_names=["a", "a (missing)"])
    filled = Filling.learned(dataset).filled(dataset)
    assert filled.feature_names == ("a", "a (missing)", "a (missing)'")


@given(
    lists=st.lists(
        st.lists(st.sampled_from([np.nan, 0.0, -1.0, 3.0, 1e100, 5e-324]), min_size=1, max_size=9),
        min_size=1,
        max_size=6,
    )
)
def test_medians_are_those_of_plain_python(lists):
    values = np.concatenate(lists)[None]
    offsets = np.append(0, np.cumsum([len(values) for values in lists]))
    for values_of_query, result in zip(lists, query_medians(values, offsets)[0], strict=True):
        present = [value for value in values_of_query if not isnan(value)]
        assert result == median(present) if present else isnan(result)
