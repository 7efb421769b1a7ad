import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset, read_table, write_table


def test_a_dataset_comes_back_as_it_was(tmp_path):
    dataset = RankingDataset.from_arrays(
        [[1.5, np.nan], [0.1, 2.0], [3.0, -1e-300]],
        [1, 0, 2],
        ["b", "a", "b"],
        document_ids=["x", "é 1", "z"],
        feature_names=["title.bm25", "age"],
    )
    write_table(dataset, tmp_path / "data.parquet")
    again = read_table(tmp_path / "data.parquet", document_id="document_id")
    assert again.feature_names == dataset.feature_names
    assert again.query_ids.tolist() == dataset.query_ids.tolist()
    for name in ("features", "labels", "document_ids", "offsets"):
        assert_array_equal(getattr(again, name), getattr(dataset, name))
    rows = np.arange(3)
    assert again.in_input_order(rows).tolist() == dataset.in_input_order(rows).tolist()


def test_what_a_dataset_has_not_is_no_column(tmp_path):
    dataset = RankingDataset.from_arrays(np.eye(2, dtype=np.float32), qid=[7, 8])
    write_table(dataset, tmp_path / "data.parquet")
    again = read_table(tmp_path / "data.parquet", label=None)
    assert again.relevance is None
    assert again.document_ids is None
    assert again.feature_names == ("feature_1", "feature_2")
    assert again.query_ids.tolist() == [7, 8]
    assert again.features.dtype == np.float32


def test_a_feature_may_not_have_the_name_of_another_column(tmp_path):
    dataset = RankingDataset.from_arrays([[1.0]], qid=[1], feature_names=["label"])
    with pytest.raises(ValueError, match="The feature 'label' has the name of another column"):
        write_table(dataset, tmp_path / "data.parquet")
    assert not (tmp_path / "data.parquet").exists()
