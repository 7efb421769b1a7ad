import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank._base.rules import check_fitted
from localrank.text import _stream as streams
from localrank.text._postings import inverted
from localrank.text._stream import Stream

TEXTS = [[0, 1, 1], [], [2, 0, 3, 4], [4, 4], [1, 2, 3, 0, 4]]


@pytest.fixture
def stream():
    lengths = np.array([len(text) for text in TEXTS])
    terms = np.concatenate(TEXTS).astype(np.int32)
    return Stream(*inverted(terms, np.append(0, np.cumsum(lengths)), 5), lengths)


@pytest.mark.parametrize("block", [1, 6, 100])
def test_different_terms_are_counted_block_by_block(stream, monkeypatch, block):
    monkeypatch.setattr(streams, "_COUNTED", block)
    assert stream.distinct.tolist() == [len(set(text)) for text in TEXTS]


def test_taken_terms_have_their_postings_in_the_order_asked_for(stream):
    taken = stream.taken(np.array([4, 1]))
    assert taken.begins.tolist() == [0, 3, 5]
    assert taken.documents.tolist() == [2, 3, 4, 0, 4]
    assert taken.counts.tolist() == [1, 2, 1, 2, 1]
    assert_array_equal(taken.lengths, stream.lengths)
    assert stream.taken(np.empty(0, np.int64)).begins.tolist() == [0]


@pytest.mark.parametrize(
    ("documents", "counts", "lengths"),
    [
        ([0, 0, 1], [1, 1, 1], [2, 1]),  # a document twice
        ([1, 0, 1], [1, 1, 1], [1, 2]),  # not ascending
        ([0, 1, 1], [0, 1, 1], [0, 2]),  # a count of 0
        ([0, 1, 1], [1, 1, 1], [1, 1]),  # another length
    ],
)
def test_postings_that_do_not_fit_lengths_are_refused(documents, counts, lengths):
    def stream(documents, counts, lengths):
        return Stream(
            np.array([0, 2, 3]),
            np.array(documents, np.int32),
            np.array(counts, np.int32),
            np.array(lengths),
        )

    check_fitted(stream([0, 1, 1], [1, 1, 1], [1, 2]))
    with pytest.raises(ValueError, match="Stream"):
        check_fitted(stream(documents, counts, lengths))
