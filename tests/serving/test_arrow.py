"""Tables as requests."""

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from serving.service import ARROW, as_stream

import localrank


def table_of(dataset, dtype=np.float64, **columns):
    names = dataset.feature_names
    values = dataset.features.astype(dtype).T
    return pa.table(dict(zip(names, values, strict=True)) | columns)


def post(client, body, path="/v1/rank"):
    return client.post(path, content=body, headers={"content-type": ARROW})


def told(answer) -> dict:
    return pa.ipc.open_stream(answer.content).read_all().to_pydict()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_may_stand_in_any_order_and_have_ids(client, named, files, dtype):
    one = named.select([3])
    ids = [f"d{number}" for number in range(one.n_documents)]
    table = table_of(one, dtype, id=pa.array(ids))
    table = table.select(list(reversed(table.column_names)))
    answer = told(post(client, as_stream(table)))
    expected = localrank.load(files["linear"]).predict(
        one.with_features(one.features.astype(dtype), one.feature_names)
    )
    scores = np.empty(one.n_documents)
    scores[answer["index"]] = answer["score"]
    assert_array_equal(scores, expected)
    assert answer["id"] == [ids[index] for index in answer["index"]]


def test_a_stream_of_several_batches_is_one_table(client, named):
    table = table_of(named.select([3]))
    pieces = as_stream(pa.Table.from_batches(table.to_batches(max_chunksize=2)))
    assert told(post(client, pieces)) == told(post(client, as_stream(table)))


def test_integers_and_truths_are_numbers(client, named):
    one = named.select([3])
    rounded = one.with_features(np.round(one.features), one.feature_names)
    table = table_of(rounded)
    whole = table.set_column(0, "feature_0", table.column(0).cast(pa.int64()))
    assert told(post(client, as_stream(whole))) == told(post(client, as_stream(table)))


@pytest.mark.parametrize("n", [1, 7])
def test_lists_must_not_be_scattered(client, named, n):
    part = named.select([3, 4])
    qid = pa.array(np.arange(part.n_documents) % 2)
    answer = post(client, as_stream(table_of(part, qid=qid)), "/v1/batch")
    assert (answer.status_code, "follow one another" in answer.text) == (422, True)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("feature_0", ["a"], "must hold numbers. Its type is string"),
        ("feature_0", [[1.0]], "must hold numbers"),
        ("feature_0", pa.nulls(1), "must hold numbers. Its type is null"),
        ("feature_0", [1e300], "1e+100"),
        ("feature_0", [None], "must hold numbers"),
        ("feature_9", [1.0], "no feature 'feature_9'"),
        ("id", [1.5], "must hold integers or strings"),
        ("id", pa.array([None], pa.string()), "must not be missing"),
        ("id", pa.array(["a"]).dictionary_encode(), "must hold integers or strings"),
        ("id", pa.array(["a"], pa.string_view()), "must hold integers or strings"),
        ("qid", [1], "holds several lists"),
    ],
)
def test_a_column_of_another_kind_is_refused(client, named, column, values, message):
    table = table_of(named.select([3])).slice(0, 1)
    names = table.column_names
    if column in names:
        table = table.set_column(names.index(column), column, pa.chunked_array([values]))
    else:
        table = table.append_column(column, pa.chunked_array([values]))
    answer = post(client, as_stream(table))
    assert (answer.status_code, message in answer.json()["error"]) == (422, True), answer.text


def test_other_tables_are_refused(client, named):
    table = table_of(named.select([3]))
    for body, status, message in (
        (as_stream(table.drop_columns(["feature_1"])), 422, "lacks 'feature_1'"),
        (as_stream(table.slice(0, 0)), 422, "has no rows"),
        (as_stream(pa.table([[1.0], [1.0]], names=["a", "a"])), 422, "must be unique"),
        (as_stream(table)[:-300], 400, "not an Arrow stream"),
        (b"", 400, "not an Arrow stream"),
        (b"{}", 400, "not an Arrow stream"),
    ):
        answer = post(client, body)
        assert (answer.status_code, message in answer.json()["error"]) == (status, True)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_buffers_are_refused(client, named, codec):
    options = pa.ipc.IpcWriteOptions(compression=codec)
    answer = post(client, as_stream(table_of(named.select([3])), options=options))
    assert (answer.status_code, "Compressed" in answer.json()["error"]) == (415, True)


def test_compressed_dictionaries_are_refused(client):
    table = pa.table({"id": pa.array(["a" * 999, "b" * 999]).dictionary_encode()})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    assert post(client, as_stream(table, options=options)).status_code == 415


def test_a_stream_cut_between_batches_is_refused(client, named):
    table = table_of(named.select([3]))
    whole = as_stream(pa.Table.from_batches(table.to_batches(max_chunksize=2)))
    cut = as_stream(pa.Table.from_batches(table.to_batches(max_chunksize=2)[:2]))
    assert whole.startswith(cut[:-8])
    answer = post(client, cut[:-8])
    assert (answer.status_code, "cut off" in answer.json()["error"]) == (400, True)
