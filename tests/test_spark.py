"""Scoring with Spark as docs/cluster.md shows it, on a JVM of this machine."""

import os
import re
import runpy
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from localrank.data import make_queries
from localrank.rankers import LambdaMART, QueryCoordinates, RankSVM
from localrank.recipes import local_rank

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark", reason="Spark's tests need pyspark: pip install 'localrank[spark]'")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark's tests need Java", allow_module_level=True)

# pyspark 4.0 leaves sockets to the garbage collector.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*<socket:pytest.PytestUnraisableExceptionWarning"),
]
ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "spark_scoring.py"
BATCH_ROWS = 7


@pytest.fixture(scope="module")
def example():
    """The functions of the example, sent to the workers by value, as those of a script are."""
    return runpy.run_path(str(EXAMPLE))


@pytest.fixture(scope="module")
def spark():
    """Two Python workers, which get batches of a few rows."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", str(BATCH_ROWS))
            .getOrCreate()
        )
        yield session
        session.stop()
        # The JVM would live as long as the test process, and its pipe be left open.
        gateway = SparkContext._gateway
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=60)
        SparkContext._gateway = SparkContext._jvm = None


@pytest.fixture(scope="module")
def lists():
    """Queries of 1 to 40 documents with missing values, and some of two batches and more."""
    made, _ = make_queries(60, n_documents=(1, 40), n_features=6, n_types=2, random_state=3)
    features = made.features.copy()
    features[np.random.default_rng(4).random(features.shape) < 0.05] = np.nan
    lists = made.with_features(features)
    assert lists.query_sizes.max() > 2 * BATCH_ROWS
    return lists


@pytest.fixture(scope="module")
def table(lists):
    """Rows of the last 40 queries, scattered over the table; missing values are nulls."""
    test = lists.select(np.arange(20, 60))
    columns = {f"f{i}": pa.array(x, from_pandas=True) for i, x in enumerate(test.features.T)}
    ids = [f"query {qid}" for qid in test.query_ids[test.query_index]]
    whole = pa.table({"document_id": np.arange(test.n_documents), "qid": ids, **columns})
    return whole.take(np.random.default_rng(5).permutation(test.n_documents))


MODELS = {
    "local": local_rank(2, ranker=RankSVM(), scaling="standard"),
    "coordinates": QueryCoordinates(LambdaMART(20, min_leaf_documents=5)),
    "lambdamart": LambdaMART(20, min_leaf_documents=5),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request, lists, tmp_path_factory):
    """A fitted ranker, and the file it was saved to."""
    ranker = MODELS[request.param].fit(lists.select(np.arange(20)))
    path = tmp_path_factory.mktemp("models") / f"{request.param}.localrank"
    ranker.save(path)
    return ranker, path


def by_document(result):
    """Scores in the order of document ids, each document once."""
    order = np.argsort(result["document_id"].to_numpy())
    assert_array_equal(result["document_id"].to_numpy()[order], np.arange(result.num_rows))
    return result["score"].to_numpy()[order]


def expected(ranker, table):
    """What `predict` gives all rows at once, in the order of document ids."""
    rows = table.sort_by("document_id")
    return ranker.predict(rows.drop_columns(["document_id", "qid"]), qid=rows["qid"])


def test_scores_are_those_of_predict_to_the_last_bit(example, spark, table, model):
    ranker, path = model
    frame = spark.createDataFrame(table).repartition(5)
    result = example["scored"](frame, path, n_partitions=3).toArrow()
    assert result.column_names == ["qid", "document_id", "score"]
    assert result.num_rows == table.num_rows
    assert_array_equal(by_document(result), expected(ranker, table))
    both = ["document_id", "qid"]
    assert result.select(both).sort_by("document_id") == table.select(both).sort_by("document_id")


@pytest.mark.parametrize("step", ["repartition", "sortWithinPartitions"])
def test_rows_that_are_not_brought_together_are_scored_wrong(
    example, spark, table, lists, tmp_path, monkeypatch, step
):
    from pyspark.sql.classic.dataframe import DataFrame

    ranker, path = MODELS["coordinates"].fit(lists.select(np.arange(20))), tmp_path / step
    ranker.save(path)
    frame = spark.createDataFrame(table).repartition(5)
    monkeypatch.setattr(DataFrame, step, lambda frame, *_: frame)
    result = example["scored"](frame, path, n_partitions=3).toArrow()
    assert (by_document(result) != expected(ranker, table)).mean() > 0.1


def cut(table, sizes):
    """Batches of the sizes, again and again."""
    ends = np.cumsum(np.resize(sizes, table.num_rows))
    starts = [0, *ends[ends < table.num_rows]]
    lengths = np.diff([*starts, table.num_rows])
    return [
        batch
        for start, length in zip(starts, lengths, strict=True)
        for batch in table.slice(start, length).combine_chunks().to_batches()
    ]


@pytest.mark.parametrize("sizes", [[1], [2], [7], [3, 1, 30], [1000]], ids=str)
def test_no_table_ends_inside_a_query(example, table, sizes):
    ordered = table.sort_by("qid")
    tables = list(example["whole_queries"](iter(cut(ordered, sizes)), "qid"))
    assert pa.concat_tables(tables).equals(ordered)
    seen = [set(part["qid"].to_pylist()) for part in tables]
    assert sum(map(len, seen)) == len(set.union(*seen))
    # What could be handed on was not kept.
    assert len(tables) >= min(len(cut(ordered, sizes)), 40) / 3


def test_partitions_without_rows_have_no_queries(example, table):
    whole_queries = example["whole_queries"]
    assert list(whole_queries(iter([]), "qid")) == []
    empty = table.slice(0, 0).combine_chunks().to_batches() or [
        pa.RecordBatch.from_pylist([], schema=table.schema)
    ]
    assert list(whole_queries(iter(empty), "qid")) == []
    one = table.slice(0, 1).combine_chunks().to_batches()
    assert [t.num_rows for t in whole_queries(iter([*empty, *one, *empty]), "qid")] == [1]


def test_rows_without_a_query_id_are_refused(example):
    batch = pa.record_batch({"qid": [None, "a"]})
    with pytest.raises(ValueError, match="1 rows have no qid"):
        list(example["whole_queries"](iter([batch]), "qid"))


def test_the_example_runs_and_prints(spark, capsys, monkeypatch):
    # It takes the session that there is, which the other tests go on with.
    monkeypatch.setattr(type(spark), "stop", lambda session: None)
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert re.search(r"qid\|document_id\| +score", capsys.readouterr().out)


def test_the_page_shows_the_code_of_the_example():
    page = (ROOT / "docs" / "cluster.md").read_text()
    quoted = r"<!-- not run: [^\n]*examples/spark_scoring.py[^\n]* -->\n+```python\n(.*?)```"
    shown = re.findall(quoted, page, re.DOTALL)
    code = EXAMPLE.read_text()
    assert len(shown) == 2
    for block in shown:
        assert block in code
