"""Score a Spark DataFrame with a saved model. Each query is scored as a whole. Needs Java."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import SparkFiles
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DoubleType, StructField, StructType

import localrank
from localrank.data import make_queries
from localrank.recipes import local_rank


def whole_queries(batches: Iterator[pa.RecordBatch], qid: str) -> Iterator[pa.Table]:
    """Cut batches that are sorted by query anew, so that none ends inside a query."""
    rest = None
    for batch in batches:
        if batch[qid].null_count:
            raise ValueError(f"{batch[qid].null_count} rows have no {qid}.")
        rows = pa.Table.from_batches([batch])
        if rest is not None:
            rows = pa.concat_tables([rest, rows])
        if rows.num_rows:
            # The last query may continue in the next batch.
            last = pc.index(rows[qid], rows[qid][-1]).as_py()
            if last:
                yield rows.slice(0, last)
            rest = rows.slice(last)
    if rest is not None:
        yield rest


def scored(
    frame: DataFrame,
    model: Path,
    *,
    qid: str = "qid",
    document: str = "document_id",
    n_partitions: int = 200,
) -> DataFrame:
    """The query, document and score of each row. All other columns are the model's features."""
    frame.sparkSession.sparkContext.addFile(str(model))
    name = model.name
    features = [column for column in frame.columns if column not in (qid, document)]

    def score(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ranker = localrank.load(SparkFiles.get(name))
        for rows in whole_queries(batches, qid):
            scores = ranker.predict(rows.select(features), qid=rows[qid])
            result = rows.select([qid, document]).append_column("score", pa.array(scores))
            yield from result.to_batches()

    columns = frame.select(qid, document).schema.fields
    schema = StructType([*columns, StructField("score", DoubleType(), nullable=False)])
    whole = frame.repartition(n_partitions, qid).sortWithinPartitions(qid)
    return whole.mapInArrow(score, schema)


def main() -> None:
    """Train on made-up queries, save the model, and score others with two Python workers."""
    queries, _ = make_queries(200, n_features=8, random_state=0)
    train, test = queries.select(np.arange(100)), queries.select(np.arange(100, 200))
    columns = dict(zip(test.feature_names or (), test.features.T, strict=True))
    columns["qid"] = test.query_ids[test.query_index]
    columns["document_id"] = np.arange(test.n_documents)
    # The workers use this Python, which has localrank.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.localrank"
        local_rank(2).fit(train).save(model)
        frame = spark.createDataFrame(pa.table(columns))
        result = scored(frame, model, n_partitions=4)
        result.orderBy("qid", result.score.desc()).show(5)
    spark.stop()


if __name__ == "__main__":
    main()
