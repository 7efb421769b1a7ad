import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.text._index_folder import ArrayFacts, ArrayFile, mapped_array


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "table.npy"
    with ArrayFile(path, "<f8", (2,)) as file:
        file.append(np.array([[1.0, 2.0]]))
        file.append(np.empty((0, 2)))
        file.append(np.array([[3.0, np.nan], [5.0, 6.0]]))
    return path, file.facts


def test_numpy_reads_what_was_written_piece_by_piece(written):
    path, facts = written
    expected = [[1, 2], [3, np.nan], [5, 6]]
    assert_array_equal(np.load(path, allow_pickle=False), expected)
    assert_array_equal(mapped_array(path, "<f8", facts), expected)
    assert facts.shape == (3, 2)


def test_a_mapped_array_cannot_be_written_to(written):
    path, facts = written
    values = mapped_array(path, "<f8", facts)
    assert type(values) is np.ndarray
    with pytest.raises(ValueError, match="read-only"):
        values[0, 0] = 7


@pytest.mark.parametrize(("row", "n_rows"), [((), 0), ((0,), 4)])
def test_nothing_is_an_array_too(tmp_path, row, n_rows):
    path = tmp_path / "none.npy"
    with ArrayFile(path, "<i4", row) as file:
        file.append(np.empty((n_rows, *row), np.int32))
    assert mapped_array(path, "<i4", file.facts).shape == (n_rows, *row)
    assert np.load(path).shape == (n_rows, *row)


def test_a_file_that_an_error_interrupted_is_no_array(tmp_path):
    path = tmp_path / "half.npy"
    with pytest.raises(ValueError, match="invalid literal"), ArrayFile(path, "<i4") as file:
        file.append(["none"])
    with pytest.raises(ValueError, match=r"half.npy is damaged, or belongs to another index"):
        mapped_array(path, "<i4", file.facts)
    assert path.stat().st_size == 128


def test_a_file_that_exists_is_not_overwritten(written):
    with pytest.raises(FileExistsError):
        ArrayFile(written[0], "<f8")


@pytest.mark.parametrize("place", [0, 20, 127, 128, -1])
def test_one_wrong_byte_is_noticed_wherever_it_is(written, place):
    path, facts = written
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"table.npy is damaged, or belongs to another index"):
        mapped_array(path, "<f8", facts)


def test_a_file_cut_off_or_longer_is_refused(written):
    path, facts = written
    content = path.read_bytes()
    for wrong in (content[:-1], content[:100], b"", content + b"\0"):
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"table.npy has \d+ bytes and should have 176"):
            mapped_array(path, "<f8", facts)


def test_another_type_or_shape_than_the_facts_say_is_refused(written):
    path, facts = written
    for dtype, shape in (("<i8", (3, 2)), ("<f8", (2, 3)), ("<f8", (6,))):
        with pytest.raises(ValueError, match="is damaged, or belongs to another index"):
            mapped_array(path, dtype, ArrayFacts(shape, facts.digest))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"gone.npy is missing"):
        mapped_array(tmp_path / "gone.npy", "<i4", ArrayFacts((1,), ""))


@pytest.mark.parametrize(("row", "n_rows"), [((), 3), ((2,), 3), ((), 0), ((0,), 4)])
def test_a_file_that_is_still_open_can_be_mapped(tmp_path, row, n_rows):
    values = np.arange(n_rows * int(np.prod(row)), dtype=np.int32).reshape(n_rows, *row)
    path = tmp_path / "open.npy"
    with ArrayFile(path, "<i4", row) as file:
        file.append(values)
        mapped = file.mapped()
    assert_array_equal(mapped, values)
    assert_array_equal(mapped_array(path, "<i4", file.facts), values)
    assert not mapped.size or not mapped.flags.writeable
