"""What the benchmarks share: where collections lie, the fold they time, the clock."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from localrank.data import RankingDataset, folds, make_queries

# The folder of public collections; scripts skip, or make up, what is not there.
DATA = Path(os.environ.get("LOCALRANK_DATA", Path(__file__).parents[1].parent / "shared" / "data"))


def mq2007_fold() -> tuple[RankingDataset, RankingDataset, str]:
    """Training and validation queries of fold 1 of MQ2007, or made-up ones, and which of them."""
    if (DATA / "MQ2007-85").is_dir():
        fold = next(iter(folds(DATA / "MQ2007-85")))
        assert fold.valid is not None
        return fold.train, fold.valid, "MQ2007 (85 %), fold 1"
    dataset, _ = make_queries(1356, n_documents=(20, 50), n_features=46)
    labels = np.maximum(dataset.labels - 2, 0)  # three levels, most documents not relevant
    dataset = RankingDataset.from_arrays(dataset.features, labels, dataset.query_index)
    train, valid = dataset.select(range(1017)), dataset.select(range(1017, 1356))
    return train, valid, "synthetic queries, MQ2007 not found"


def collections(*default: str) -> Iterator[Path]:
    """Folders of the collections named on the command line, or else the default ones.

    Says which are not there, and how long the work with each took.
    """
    for name in sys.argv[1:] or default:
        if not (DATA / name).is_dir():
            print(f"{name}: skipped, there is no {DATA / name} (set LOCALRANK_DATA)")
            continue
        start = time.perf_counter()
        yield DATA / name
        print(f"{name}: {time.perf_counter() - start:.0f} s in all")


def seconds(run: Callable[[], Any]) -> float:
    """Time on the wall that a call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def gflops() -> float:
    """Speed of numpy's float64 matrix product now, to compare machines by."""
    n = 1024
    matrix = np.random.default_rng(0).normal(size=(n, n))
    return 2e-9 * n**3 / min(seconds(lambda: matrix @ matrix) for _ in range(7))


def memory(field: str) -> int:
    """Bytes that this process has, by a field of its status (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"This system does not tell its {field}.")
