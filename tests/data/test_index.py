"""Series of pandas beside a DataFrame."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from localrank.data import RankingDataset
from localrank.rankers import LambdaMART

FRAME = pd.DataFrame(
    {"bm25": [7.5, 2.0, 4.0, 1.0], "label": [1, 0, 1, 0], "qid": list("aabb"), "id": list("wxyz")},
    index=[10, 11, 12, 13],
)
X = FRAME[["bm25"]]


@pytest.mark.parametrize("name", ["y", "qid", "document_ids"])
@pytest.mark.parametrize(
    ("change", "there"),
    [
        (lambda column: column.iloc[::-1], "13"),
        (lambda column: column.reset_index(drop=True), "0"),
        (lambda column: column.set_axis([10, 11, 13, 12]), "13"),
    ],
)
def test_a_series_with_another_index_is_refused(name, change, there):
    columns = {"y": FRAME["label"], "qid": FRAME["qid"], "document_ids": FRAME["id"]}
    columns[name] = change(columns[name])
    message = rf"index of {name} must be that of X\. Row \d has 1\d in X and {there} in {name}"
    with pytest.raises(ValueError, match=message):
        RankingDataset.from_arrays(X, **columns)


def test_both_remedies_of_the_message_work():
    shuffled = FRAME["label"].iloc[[2, 0, 3, 1]]
    aligned = RankingDataset.from_arrays(X, shuffled.loc[X.index], FRAME["qid"])
    assert_array_equal(aligned.labels, [1, 0, 1, 0])
    by_position = RankingDataset.from_arrays(X, shuffled.to_numpy(), FRAME["qid"])
    assert_array_equal(by_position.labels, [1, 1, 0, 0])


def test_weights_are_refused_likewise():
    weights = pd.Series(1.0, index=range(4))
    model = LambdaMART(2, min_leaf_documents=1)
    arguments = {"y": FRAME["label"], "qid": FRAME["qid"], "sample_weight": weights}
    with pytest.raises(ValueError, match="index of sample_weight must be that of X"):
        model.fit(X, **arguments)
    model.fit(X, FRAME["label"], qid=FRAME["qid"])
    with pytest.raises(ValueError, match="index of sample_weight must be that of X"):
        model.score(X, **arguments)
    with pytest.raises(ValueError, match="index of qid must be that of X"):
        model.predict(X, qid=FRAME["qid"].iloc[::-1])


def test_an_equal_index_or_none_is_fine():
    same = pd.Series([1.0, 0.0, 1.0, 0.0], index=[10.0, 11.0, 12.0, 13.0])
    for y in (FRAME["label"], same, [1, 0, 1, 0], np.array([1, 0, 1, 0])):
        dataset = RankingDataset.from_arrays(X, y, FRAME["qid"])
        assert_array_equal(dataset.labels, [1, 0, 1, 0])
    # Beside an array there is no index to compare with.
    dataset = RankingDataset.from_arrays(X.to_numpy(), FRAME["label"], list("aabb"))
    assert_array_equal(dataset.labels, [1, 0, 1, 0])
    with pytest.raises(ValueError, match="one entry per row of X|one entry per document"):
        RankingDataset.from_arrays(X, FRAME["label"].iloc[:3], FRAME["qid"])
