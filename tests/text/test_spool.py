import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.text import _index_folder as spools
from localrank.text._index_folder import Spool
from localrank.text._postings import chained, inverted


def random_parts(seed, n_parts, most_terms):
    """Postings of some documents each; later parts know more terms."""
    rng = np.random.default_rng(seed)
    first = 0
    for n_terms in np.sort(rng.integers(1, most_terms + 1, size=n_parts)):
        sizes = rng.integers(0, 6, size=rng.integers(1, 5))
        bounds = np.append(0, np.cumsum(sizes))
        terms = rng.integers(0, n_terms, size=bounds[-1]).astype(np.int32)
        yield inverted(terms, bounds, int(n_terms), first)
        first += len(sizes)


@pytest.mark.parametrize("block", [1, 3, 10, 2**22])
@pytest.mark.parametrize("seed", range(4))
def test_blocks_are_what_all_parts_in_memory_are(tmp_path, monkeypatch, seed, block):
    monkeypatch.setattr(spools, "BLOCK_POSTINGS", block)
    parts = list(random_parts(seed, 7, 12))
    with Spool(tmp_path) as spool:
        for part in parts:
            spool.add(part)
        begins = spool.begins(15)
        blocks = list(spool.blocks())
    expected = chained(parts, 15)
    assert_array_equal(begins, expected.begins)
    assert_array_equal(np.concatenate([documents for documents, _ in blocks]), expected.documents)
    assert_array_equal(np.concatenate([counts for _, counts in blocks]), expected.counts)
    largest = np.diff(expected.begins).max()
    assert max(len(documents) for documents, _ in blocks) <= max(block, largest)


def test_parts_without_a_word_have_no_postings(tmp_path):
    with Spool(tmp_path) as spool:
        spool.add(inverted(np.empty(0, np.int32), np.array([0, 0]), 0))
        assert spool.begins(0).tolist() == [0]
        assert list(spool.blocks()) == []


def test_nothing_is_left_on_disk(tmp_path):
    with Spool(tmp_path) as spool:
        spool.add(inverted(np.zeros(1, np.int32), np.array([0, 1]), 1))
    assert list(tmp_path.iterdir()) == []
