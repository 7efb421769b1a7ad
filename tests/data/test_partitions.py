"""Datasets in files: the same as in memory, and refused by name where the files are not right."""

import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pyarrow import feather, parquet

from localrank._base.memory import available_memory
from localrank.data import RankingDataset, concatenate, folds, make_queries, open_partitions


def table_of(dataset, labels=True, documents=True):
    columns = {"qid": dataset.query_ids[dataset.query_index]}
    if labels:
        columns["label"] = dataset.relevance
    if documents and dataset.document_ids is not None:
        columns["document_id"] = dataset.document_ids
    names = dataset.feature_names or [str(i + 1) for i in range(dataset.n_features)]
    columns |= dict(zip(names, dataset.features.T, strict=True))
    return pa.table(columns)


def write_parts(dataset, folder, cuts, **options):
    """Queries between the cuts in a file each."""
    bounds = [0, *cuts, dataset.n_queries]
    for number, (begin, end) in enumerate(pairwise(bounds)):
        part = table_of(dataset.select(np.arange(begin, end)), **options)
        parquet.write_table(part, folder / f"part-{number:05d}.parquet", row_group_size=7)


def assert_same(one, other):
    for name in ("features", "relevance", "offsets", "query_ids", "document_ids"):
        expected, result = getattr(one, name), getattr(other, name)
        assert (expected is None) == (result is None), name
        if expected is not None:
            assert_array_equal(result, expected)
            assert result.dtype == expected.dtype
    assert one.feature_names == other.feature_names
    assert one.input_order is None
    assert other.input_order is None


@pytest.fixture
def dataset():
    made, _ = make_queries(12, random_state=0)
    made.features.flags.writeable = False
    ids = np.array([f"d{i}" for i in range(made.n_documents)])
    return made.replaced(document_ids=ids)


@pytest.fixture
def folder(dataset, tmp_path):
    write_parts(dataset, tmp_path, [3, 4, 9])
    return tmp_path


def test_the_files_together_are_the_dataset(dataset, folder):
    opened = open_partitions(folder)
    assert_same(dataset, opened)
    assert_same(dataset, opened.in_memory())
    assert type(opened.in_memory()) is RankingDataset


def test_each_partition_has_its_queries(dataset, folder):
    opened = open_partitions(folder)
    bounds = opened.partition_offsets
    assert_array_equal(bounds, [0, 3, 4, 9, 12])
    for partition, begin, end in zip(opened.partitions, bounds[:-1], bounds[1:], strict=True):
        assert_same(dataset.select(np.arange(begin, end)), partition.read())
        assert partition.n_queries == end - begin
        assert partition.n_documents == dataset.offsets[end] - dataset.offsets[begin]


def test_blocks_of_features_are_those_of_the_partitions(dataset, folder):
    blocks = list(open_partitions(folder).feature_blocks())
    assert len(blocks) == 4
    for rows, block in blocks:
        assert_array_equal(block, dataset.features[rows])
    assert_array_equal(np.concatenate([block for _, block in blocks]), dataset.features)


@settings(max_examples=30)
@given(chosen=st.sets(st.integers(0, 11), min_size=1), again=st.randoms(use_true_random=False))
def test_a_view_of_a_view_is_that_of_the_dataset(chosen, again, tmp_path_factory):
    made, _ = make_queries(12, random_state=1)
    folder = tmp_path_factory.mktemp("parts")
    write_parts(made, folder, [1, 5, 8])
    opened = open_partitions(folder)
    positions = np.array(sorted(chosen))
    view = opened.select(positions)
    assert view.partitions
    assert_same(made.select(positions), view)
    inner = np.array(sorted(again.sample(range(len(positions)), (len(positions) + 1) // 2)))
    assert_same(made.select(positions).select(inner), view.select(inner))
    assert sum(part.n_documents for part in view.partitions) == view.n_documents


def test_queries_in_another_order_are_gathered(dataset, folder):
    view = open_partitions(folder).select([10, 0, 5])
    assert type(view) is RankingDataset
    assert_same(dataset.select([10, 0, 5]), view)


def test_a_view_reads_the_files_it_needs(folder):
    view = open_partitions(folder).select([3, 9])
    assert [partition.path.name for partition in view.partitions] == [
        "part-00001.parquet",
        "part-00003.parquet",
    ]


def test_handles_are_small_however_large_the_data(folder):
    opened = open_partitions(folder)
    for partition in opened.partitions:
        assert len(pickle.dumps(partition)) < 2000
    copy = pickle.loads(pickle.dumps(opened.select([1, 4])))
    assert_same(opened.select([1, 4]).in_memory(), copy.in_memory())


def test_rows_in_another_order_are_gathered(dataset, folder):
    rows = np.concatenate([np.arange(begin, end)[::-1] for begin, end in pairwise(dataset.offsets)])
    opened = open_partitions(folder)
    result = opened.reordered(rows, np.arange(12))
    expected = dataset.reordered(rows, np.arange(12))
    assert_array_equal(result.features, expected.features)
    assert_array_equal(result.input_order, expected.input_order)


def test_labels_may_be_replaced_and_stay_with_the_view(dataset, folder):
    changed = open_partitions(folder).replaced(relevance=dataset.relevance + 1)
    assert changed.partitions
    view = changed.select([2, 7])
    assert_array_equal(view.relevance, dataset.select([2, 7]).relevance + 1)
    assert_array_equal(view.in_memory().relevance, view.relevance)


def test_other_features_are_in_memory(dataset, folder):
    other = open_partitions(folder).with_features(-dataset.features)
    assert type(other) is RankingDataset
    assert_array_equal(other.features, -dataset.features)
    assert_array_equal(other.document_ids, dataset.document_ids)


def test_without_labels(dataset, tmp_path):
    write_parts(dataset, tmp_path, [5], labels=False)
    opened = open_partitions(tmp_path, label=None)
    assert opened.relevance is None
    assert opened.partitions[1].read().relevance is None
    assert opened.select([1, 7]).in_memory().relevance is None
    with pytest.raises(ValueError, match=r"part-0000[01].parquet: there is no column 'label'"):
        open_partitions(tmp_path)


def test_columns_called_by_number_have_no_names(dataset, tmp_path):
    plain = dataset.replaced(feature_names=None)
    write_parts(plain, tmp_path, [5])
    opened = open_partitions(tmp_path)
    assert opened.feature_names is None
    assert_same(plain, opened)


def test_features_may_be_chosen_and_columns_ignored(dataset, folder):
    names = dataset.feature_names
    opened = open_partitions(folder, features=[names[3], names[1]])
    assert opened.feature_names == (names[3], names[1])
    assert_array_equal(opened.features, dataset.features[:, [3, 1]])
    opened = open_partitions(folder, ignore=[names[0]])
    assert opened.feature_names == names[1:]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (pa.array(["7", "7", "12"]), np.array([7, 12])),
        (pa.array(["7", "7", "012"]), np.array(["7", "012"])),
        (pa.array(["é", "é", "q x"]).dictionary_encode(), np.array(["é", "q x"])),
        (pa.array(["a", "a", "b"]).cast(pa.large_string()), np.array(["a", "b"])),
        (pa.array([7, 7, -1], pa.int16()), np.array([7, -1])),
        (pa.array([2**64 - 1] * 2 + [1], pa.uint64()), np.array([2**64 - 1, 1], np.uint64)),
    ],
)
def test_query_ids_of_all_kinds(ids, expected, tmp_path):
    table = pa.table({"qid": ids, "label": [1, 0, 0], "f": [1.0, 2.0, 3.0]})
    parquet.write_table(table.slice(0, 2), tmp_path / "a.parquet")
    parquet.write_table(table.slice(2), tmp_path / "b.parquet")
    opened = open_partitions(tmp_path)
    assert_array_equal(opened.query_ids, expected)
    assert opened.query_ids.dtype.kind == expected.dtype.kind
    read = [partition.read().query_ids for partition in opened.partitions]
    assert_array_equal(np.concatenate(read), expected)
    assert {part.dtype.kind for part in read} == {expected.dtype.kind}


def test_arrow_files_beside_parquet(dataset, tmp_path):
    feather.write_feather(table_of(dataset.select([0, 1])), tmp_path / "a.feather")
    with pa.ipc.new_file(tmp_path / "b.arrow", table_of(dataset).schema) as file:
        file.write_table(table_of(dataset.select([2])))
    parquet.write_table(table_of(dataset.select(np.arange(3, 12))), tmp_path / "c.parquet")
    assert_same(dataset, open_partitions(tmp_path))


def test_the_order_of_files_given_is_kept(dataset, folder):
    paths = [folder / "part-00003.parquet", str(folder / "part-00000.parquet")]
    opened = open_partitions(paths)
    assert_array_equal(opened.query_ids, dataset.query_ids[[9, 10, 11, 0, 1, 2]])


def test_other_tools_leave_empty_and_hidden_files(dataset, folder):
    empty = parquet.read_table(folder / "part-00000.parquet").slice(0, 0)
    parquet.write_table(empty, folder / "part-00009.parquet")
    (folder / "_SUCCESS").touch()
    (folder / "_metadata.parquet").write_text("no table")
    (folder / ".part-00000.parquet.crc").touch()
    assert_same(dataset, open_partitions(folder))


def test_integers_flags_and_missing_values_are_numbers(tmp_path):
    table = pa.table(
        {
            "qid": [1, 1],
            "label": [1, 0],
            "count": pa.array([3, None], pa.int64()),
            "flag": pa.array([True, None]),
            "none": pa.nulls(2),
            "single": pa.array([0.1, None], pa.float32()),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    opened = open_partitions(tmp_path)
    assert opened.dtype == np.float64
    assert_array_equal(
        opened.features, [[3, 1, np.nan, np.float32(0.1)], [np.nan, np.nan, np.nan, np.nan]]
    )
    assert opened.has_missing


def test_single_precision_stays(dataset, tmp_path):
    single = dataset.with_features(dataset.features.astype(np.float32))
    write_parts(single, tmp_path, [5])
    opened = open_partitions(tmp_path)
    assert opened.dtype == np.float32
    assert not opened.has_missing
    assert_same(single.replaced(feature_names=None), opened)


def test_partitioned_datasets_together_are_one(dataset, folder, tmp_path_factory):
    opened = open_partitions(folder)
    together = concatenate([opened.select([6, 7]), opened.select([0, 1, 2, 3])])
    assert together.partitions
    assert_same(dataset.select([6, 7, 0, 1, 2, 3]), together)
    with pytest.raises(ValueError, match="is in two of the datasets"):
        concatenate([opened, opened.select([3])])


def test_ids_and_precision_are_those_that_all_parts_have(dataset, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    single = dataset.with_features(
        dataset.features.astype(np.float32).astype(np.float64), dataset.feature_names
    )
    narrow = single.replaced(features=single.features.astype(np.float32))
    write_parts(narrow.select([0, 1, 2]), tmp_path / "one", [1], documents=False)
    write_parts(single.select([5, 6]), tmp_path / "two", [])
    together = concatenate([open_partitions(tmp_path / name) for name in ("one", "two")])
    assert_same(single.select([0, 1, 2, 5, 6]).replaced(document_ids=None), together)


def test_what_does_not_fit_is_not_gathered(dataset, folder, monkeypatch):
    opened = open_partitions(folder)
    monkeypatch.setattr("localrank._base.memory.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="Use a part of the queries with select"):
        opened.in_memory()
    assert available_memory() != 1000
    # A pass needs no more than a partition.
    assert_array_equal(opened.partitions[0].read().features, dataset.select([0, 1, 2]).features)


def test_nothing_to_open(tmp_path):
    with pytest.raises(ValueError, match="the folder has no partitions, which end in .parquet"):
        open_partitions(tmp_path)
    with pytest.raises(ValueError, match="list of files is empty"):
        open_partitions([])
    with pytest.raises(FileNotFoundError, match=r"a.parquet: no such file"):
        open_partitions(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"train.txt: a partition must end in .parquet"):
        open_partitions(tmp_path / "train.txt")
    (tmp_path / ".unfinished").mkdir()
    with pytest.raises(ValueError, match="the partitions are not complete. `localrank convert`"):
        open_partitions(tmp_path)


def change(path, function):
    parquet.write_table(function(parquet.read_table(path)), path)


def twice_named(table):
    return table.rename_columns(
        ["qid", "label", "document_id", "f1", "f1", *table.column_names[5:]]
    )


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: t.drop(["qid"]), "there is no column 'qid'. Its columns are 'label'"),
        (lambda t: t.drop(["label"]), "there is no column 'label'"),
        (
            lambda t: t.drop(["document_id"]),
            "no column 'document_id', which part-00000",
        ),
        (lambda t: t.drop([t.column_names[-1]]), "there is no column '.*', which part-00000"),
        (lambda t: t.append_column("new", t["label"]), "has a column 'new', which part-00000"),
        (
            lambda t: t.set_column(3, t.column_names[3], t.column(3).cast(pa.float32())),
            "column '.*' has the type float, but double in part-00000.parquet",
        ),
        (
            lambda t: t.select([*t.column_names[:3], *t.column_names[:2:-1]]),
            "column '.*' is at the place of column '.*' in part-00000.parquet. .* same order",
        ),
        (
            lambda t: t.set_column(0, "qid", pa.array(["x"] * len(t))),
            "column 'qid' has the type string, but int64",
        ),
        (
            lambda t: t.set_column(1, "label", pa.array([np.nan] * len(t))),
            "Relevance labels must not be missing",
        ),
        (
            lambda t: t.set_column(1, "label", pa.array([np.inf] * len(t))),
            "Relevance labels must lie between",
        ),
        (
            lambda t: t.set_column(0, "qid", pa.array([None] * len(t), pa.int64())),
            "query ids must not be missing. Row 1 has none",
        ),
        (
            lambda t: t.take([*range(1, len(t)), 0]),
            "the rows of query .* are not next to each other. `localrank convert`",
        ),
        (lambda t: t.append_column("title", pa.array(["x"] * len(t))), "'title' holds text"),
        (twice_named, "'f1' occurs twice"),
    ],
)
def test_a_file_that_is_not_right_is_refused_by_name(function, message, folder):
    change(folder / "part-00002.parquet", function)
    with pytest.raises(ValueError, match=rf"part-00002.parquet: .*{message}"):
        open_partitions(folder)


def test_a_query_in_two_files_is_refused(dataset, folder):
    part = table_of(dataset.select([9, 0, 11]))
    parquet.write_table(part, folder / "part-00003.parquet")
    with pytest.raises(
        ValueError,
        match=r"part-00003.parquet: query 1 is also in part-00000.parquet. All documents of a "
        r"query must be in one partition. `localrank convert` repartitions.",
    ):
        open_partitions(folder)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_truncated_file_is_refused_by_name(suffix, dataset, tmp_path):
    path = tmp_path / f"part{suffix}"
    if suffix == ".parquet":
        parquet.write_table(table_of(dataset), path)
    else:
        feather.write_feather(table_of(dataset), path)
    content = path.read_bytes()
    for n_bytes in (0, 3, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:n_bytes])
        with pytest.raises(ValueError, match=rf"part{suffix}: the file is damaged or incomplete"):
            open_partitions(path)


def test_a_page_that_is_damaged_is_noticed(dataset, tmp_path):
    path = tmp_path / "part.parquet"
    parquet.write_table(table_of(dataset), path, write_page_checksum=True, compression="none")
    content = bytearray(path.read_bytes())
    opened = open_partitions(path)
    place = content.rfind(dataset.features[5, 19].tobytes())
    assert place > 0
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"part.parquet: the file is damaged.*checksum"):
        opened.partitions[0].read()


def test_infinite_features_are_refused_when_they_are_read(dataset, tmp_path):
    table = table_of(dataset)
    wrong = pa.array([1.0, np.inf, *[0.0] * (len(table) - 2)])
    table = table.set_column(5, table.column_names[5], wrong)
    parquet.write_table(table, tmp_path / "part.parquet")
    opened = open_partitions(tmp_path)
    with pytest.raises(ValueError, match=r"part.parquet: Features must be finite.*Row 1, column 2"):
        opened.partitions[0].read()


def test_another_file_in_the_place_of_the_opened_one_is_noticed(dataset, folder):
    opened = open_partitions(folder)
    path = opened.partitions[1].path
    change(path, lambda t: t.set_column(1, "label", pa.array(t["label"].to_numpy() + 1)))
    with pytest.raises(
        ValueError, match=r"part-00001.parquet: the file has changed since it was opened"
    ):
        opened.partitions[1].read()
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"part-00001.parquet: no such file"):
        opened.in_memory()


def test_the_features_are_not_read_when_the_dataset_is_opened(folder, monkeypatch):
    asked = []
    read = parquet.ParquetFile.read

    def watched(self, columns=None, **options):
        asked.append(columns)
        return read(self, columns, **options)

    monkeypatch.setattr(parquet.ParquetFile, "read", watched)
    open_partitions(folder)
    assert asked == [["qid", "label"]] * 4


def test_folds_of_files_are_views_of_them_with_the_queries_of_folds_in_memory(dataset, folder):
    for one, other in zip(folds(dataset, 4), folds(open_partitions(folder), 4), strict=True):
        assert other.train.partitions
        assert sorted(one.train.query_ids) == other.train.query_ids.tolist()
        assert_same(one.valid, other.valid.in_memory())
        assert_same(one.test, other.test.in_memory())
