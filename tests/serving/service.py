"""What tests of the service send and wait for."""

import time

import numpy as np
import pyarrow

from localrank.data import RankingDataset

ARROW = "application/vnd.apache.arrow.stream"


def wait_for(fact, seconds: float = 60) -> None:
    """Until something is so."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it does not become so"
        time.sleep(0.02)


def as_rows(dataset: RankingDataset) -> dict:
    """The documents of one query as a request."""
    return {"documents": [{"features": row} for row in dataset.features.tolist()]}


def as_stream(table, **options) -> bytes:
    """A table of Arrow as the body of a request."""
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema, **options) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def scores_of(ranking: dict) -> np.ndarray:
    """The scores of an answer, in the order of the request."""
    scores = np.full(ranking["n_documents"], np.nan)
    for place in ranking["ranking"]:
        scores[place["index"]] = place["score"]
    return scores
