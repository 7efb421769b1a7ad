import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset
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
