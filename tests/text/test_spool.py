import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.text import _index_folder as spools
from localrank.text._index_folder import Spool, merged_blocks
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
        blocks = [postings for [postings] in merged_blocks([spool], 15)]
    expected = chained(parts, 15)
    sizes = np.concatenate([np.diff(postings.begins) for postings in blocks])
    assert_array_equal(sizes, np.diff(expected.begins))
    for name in ("documents", "counts"):
        values = np.concatenate([getattr(postings, name) for postings in blocks])
        assert_array_equal(values, getattr(expected, name))
    assert max(len(postings.documents) for postings in blocks) <= max(block, sizes.max())


@pytest.mark.parametrize("block", [1, 10, 2**22])
def test_blocks_of_several_spools_have_the_same_terms(tmp_path, monkeypatch, block):
    monkeypatch.setattr(spools, "BLOCK_POSTINGS", block)
    all_parts = [list(random_parts(seed, 5, 12)) for seed in (5, 6)]
    with Spool(tmp_path) as one, Spool(tmp_path) as other:
        for spool, parts in zip((one, other), all_parts, strict=True):
            for part in parts:
                spool.add(part)
        blocks = list(merged_blocks([one, other], 15))
    expected = [chained(parts, 15) for parts in all_parts]
    assert all(len(left.begins) == len(right.begins) for left, right in blocks)
    for stream in range(2):
        documents = np.concatenate([postings[stream].documents for postings in blocks])
        assert_array_equal(documents, expected[stream].documents)
    largest = np.sum([np.diff(postings.begins) for postings in expected], axis=0).max()
    sizes = [sum(len(postings.documents) for postings in both) for both in blocks]
    assert max(sizes) <= max(block, largest)


def test_parts_without_a_word_have_no_postings(tmp_path):
    with Spool(tmp_path) as spool:
        spool.add(inverted(np.empty(0, np.int32), np.array([0, 0]), 0))
        assert spool.begins(0).tolist() == [0]
        assert list(merged_blocks([spool], 0)) == []


def test_nothing_is_left_on_disk(tmp_path):
    with Spool(tmp_path) as spool:
        spool.add(inverted(np.zeros(1, np.int32), np.array([0, 1]), 1))
    assert list(tmp_path.iterdir()) == []
