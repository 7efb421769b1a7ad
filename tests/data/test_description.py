import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset, folds, make_queries, open_partitions, write_table
from localrank.data._description import label_counts
from localrank.data.partition_files import Partition

dataset = RankingDataset.from_arrays(
    [[1.0, np.nan], [2.5, np.nan], [3.0, 0.0], [4.0, 1.0]],
    [0, 0, 3, 0],
    ["a", "a", "<b>", "<b>"],
    document_ids=["d1", "d2", "d&3", "d4"],
    feature_names=["bm25", "<i>"],
)


def cells(shown):
    return re.findall(r"<td[^>]*>([^<]*)</td>", shown)


def test_a_notebook_shows_numbers_and_a_bar_for_each_label():
    shown = dataset._repr_html_()
    assert "RankingDataset: 2 queries, 4 documents, 2 features (float64)" in shown
    assert "documents per query: 2 to 2, median 2" in shown
    assert "queries without a relevant document: 1" in shown
    assert cells(shown)[:6] == ["0", "3", "75.0 %", "3", "1", "25.0 %"]
    assert re.findall(r"width:([\d.]+)%", shown) == ["75.0", "25.0"]


def test_a_notebook_shows_what_is_missing():
    assert "missing values: 2 (25.0 %), in 1 feature<" in dataset._repr_html_()
    complete = dataset.with_features(np.ones((4, 1)))
    assert "missing values: none" in complete._repr_html_()


def test_missing_values_of_a_large_table_are_counted_in_its_first_documents(monkeypatch):
    monkeypatch.setattr("localrank.data._description.COUNTED_BYTES", 2 * 16)
    shown = dataset._repr_html_()
    assert "missing values in the first 2 documents: 2 (50.0 %), in 1 feature" in shown


def test_a_notebook_shows_the_first_documents_escaped():
    shown = dataset._repr_html_()
    assert "<b>" not in shown
    assert "<i>" not in shown
    rows = cells(shown)[6:]
    assert rows[:5] == ["a", "d1", "0", "1", "nan"]
    assert rows[10:15] == ["&lt;b&gt;", "d&amp;3", "3", "3", "0"]
    wide, _ = make_queries(5, n_features=30)
    assert ">22 more</th>" in wide._repr_html_()


def test_colours_are_left_to_the_theme():
    assert not re.search(r"(color|background):(?!currentColor|inherit)", dataset._repr_html_())


def test_many_labels_and_none_have_no_bars():
    unlabelled = dataset.replaced(relevance=None)
    assert "relevance: none" in unlabelled._repr_html_()
    graded = RankingDataset.from_arrays(np.ones((20, 1)), np.arange(20) / 7, np.zeros(20))
    assert "relevance: 20 values from 0 to 2.71429" in graded._repr_html_()
    for shown in (unlabelled._repr_html_(), graded._repr_html_()):
        assert "width:" not in shown


def test_no_file_of_a_partitioned_dataset_is_read_to_show_it(monkeypatch, tmp_path):
    write_table(dataset, tmp_path / "part-0.parquet")
    opened = open_partitions(tmp_path)

    def refuse(*_):
        raise AssertionError("A file was read.")

    monkeypatch.setattr(Partition, "read", refuse)
    monkeypatch.setattr(Partition, "without_features", refuse)
    shown = opened._repr_html_()
    assert "RankingDataset: 2 queries" in shown
    assert "<li>files: 1</li>" in shown
    assert "missing values" not in shown


def test_no_features_of_a_view_are_gathered_to_show_it(monkeypatch):
    part = folds(make_queries(10)[0], 3)[0].train
    monkeypatch.setattr("localrank.data._sources.Rows.table", None)
    assert "documents per query" in part._repr_html_()


@pytest.mark.parametrize(
    "relevance", [[0, 2, 2, 255], [-1, 0, 3], [0.5, 0.5, 1], [300, 300, 2], [1e100, 0]]
)
def test_labels_are_counted_as_by_sorting(relevance):
    relevance = np.array(relevance, dtype=np.float64)
    labels, counts = label_counts(relevance)
    expected = np.unique(relevance, return_counts=True)
    assert_array_equal(labels, expected[0])
    assert_array_equal(counts, expected[1])
