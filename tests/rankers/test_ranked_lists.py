import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset
from localrank.rankers import BestFeature, LambdaMART
from localrank.rankers._ranked_lists import ranked_lists


@pytest.mark.parametrize("n", [3, 40, 300])
def test_equal_scores_keep_the_order_of_the_input(n, rng):
    qid = rng.integers(0, 3, n)
    scores = rng.integers(0, 2, n).astype(float)
    dataset = RankingDataset.from_arrays(np.zeros((n, 1)), qid=qid)
    table = ranked_lists(dataset, scores)
    for query in dataset.query_ids:
        documents = table["document"][table["query"] == query]
        # Python's own sort is stable.
        rows = np.flatnonzero(qid == query)
        assert_array_equal(documents, sorted(rows, key=lambda row: -scores[row]))
        assert_array_equal(table["rank"][table["query"] == query], np.arange(1, len(rows) + 1))


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_without_query_ids_is_one_list_whatever_its_columns(made):
    columns = {"bm25": [2.0, 7.5, 4.0, 1.0] * 4, "colour": ["red", "blue", "red", "red"] * 4}
    frame = made(columns)
    ranker = LambdaMART(3, min_leaf_documents=1).fit(frame, [0, 2, 1, 0] * 4, qid=[1] * 16)
    table = ranker.rank(frame, library="dict")
    assert_array_equal(table["rank"], np.arange(1, 17))
    assert_array_equal(np.sort(table["document"][:4]), [1, 5, 9, 13])


def test_lists_of_lists_and_lazy_frames_without_query_ids():
    ranker = BestFeature().fit([[2.0], [7.5]], [0, 1], qid=[1, 1])
    assert ranker.rank([[2.0], [7.5]], library="dict")["document"].tolist() == [1, 0]
    with pytest.raises(ValueError, match="collect"):
        ranker.rank(pl.LazyFrame({"bm25": [2.0, 7.5]}))
