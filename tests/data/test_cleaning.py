import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset, clean


def naive_clean(X, y, qid):
    """The paper's two rules, row by row."""
    kept = [
        i
        for i in range(len(X))
        if not any(
            qid[i] == qid[j] and y[i] != y[j] and np.array_equal(X[i], X[j], equal_nan=True)
            for j in range(len(X))
        )
    ]
    relevant = {qid[i] for i in kept if y[i] > 0}
    return [i for i in kept if qid[i] in relevant], len(X) - len(kept)


rows = st.tuples(st.integers(0, 3), st.sampled_from([0.0, -0.0, 1.0, np.nan]), st.integers(0, 2))


@given(st.lists(rows, min_size=1, max_size=25))
def test_cleaning_equals_a_double_loop(lines):
    qid, values, y = zip(*sorted(lines, key=lambda line: line[0]), strict=True)
    X = np.array(values)[:, None]
    kept, n_conflicting = naive_clean(X, y, qid)
    dataset = RankingDataset.from_arrays(X, y, qid)
    if not kept:
        with pytest.raises(ValueError, match="leaves nothing"):
            clean(dataset)
        return
    cleaned, report = clean(dataset)
    assert_array_equal(cleaned.features, X[kept])
    assert_array_equal(cleaned.relevance, np.array(y)[kept])
    assert report.n_documents == n_conflicting
    assert report.n_queries == len(set(qid)) - len({qid[i] for i in kept})


def test_a_query_that_loses_its_only_relevant_document_goes():
    dataset = RankingDataset.from_arrays(
        [[1.0], [1.0], [2.0], [3.0]],
        [0, 1, 0, 1],
        ["lost", "lost", "lost", "kept"],
        document_ids=["a", "b", "c", "d"],
    )
    cleaned, report = clean(dataset)
    assert_array_equal(cleaned.document_ids, ["d"])
    assert_array_equal(cleaned.query_ids, ["kept"])
    assert_array_equal(report.query_ids, ["lost"])


def test_equal_documents_with_equal_labels_stay():
    dataset = RankingDataset.from_arrays([[1.0], [1.0]], [1, 1], [1, 1])
    assert clean(dataset)[0].n_documents == 2
