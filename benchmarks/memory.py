"""Memory that reading, training and scoring take, beside the data and in all.

Run with `python benchmarks/memory.py --documents 250000 1000000 --methods lambdamart fast`; the
method `read` writes a file of so many documents and reads it. Each is a process of its own on
made-up queries of 100 documents, which first does the same with few, so that compiling does not
count. The extra peak is the most memory in use less that before the call; the total is the most
in use at all, with data, Python and libraries. Both are in units of the features, which are
float32. The mark: local-rank takes at most 3 times the data of 1,000,000 documents. Linux only: it
reads and resets the peak in /proc. Trees are few (`--trees`), since their number changes the time
only.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import memory, options, row, sized

from localrank.data import RankingDataset, read_letor
from localrank.registry import METHODS, make_ranker, parameters

METHODS_MEASURED = sized(
    [
        "read",
        "lambdamart",
        "rank-svm",
        "svm-map",
        "listwise-linear",
        "local-rank",
        "fast",
        "best",
    ],
    ["read", "local-rank"],
)
PER_QUERY = 100


def made_up(n_documents: int, n_features: int) -> RankingDataset:
    generator = np.random.default_rng(0)
    features = generator.standard_normal((n_documents, n_features), dtype=np.float32)
    labels = np.clip(np.rint(features[:, :8].sum(axis=1) / 3 + 1), 0, 4)
    return RankingDataset.from_arrays(features, labels, np.arange(n_documents) // PER_QUERY)


def peaks(call: Callable[[], Any]) -> tuple[int, int, float]:
    """Bytes at the peak of a call less those before, bytes at the peak, and seconds."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before, start = memory("VmRSS"), time.perf_counter()
    call()
    peak = memory("VmHWM")
    return peak - before, peak, time.perf_counter() - start


def measure(method: str, n_documents: int, n_features: int, n_jobs: int, n_trees: int) -> None:
    """Print the figures of one method as JSON."""
    warnings.simplefilter("ignore")
    has_trees = "n_trees" in parameters(METHODS[method])
    ranker = make_ranker(method, [f"n_trees={n_trees}"] if has_trees else [], n_jobs, 0)
    small, data = made_up(3000, n_features), made_up(n_documents, n_features)
    ranker.fit(small).predict(small)
    size = data.features.nbytes
    fit = peaks(lambda: ranker.fit(data))
    predict = peaks(lambda: ranker.predict(data))
    print(json.dumps([size, *_in_units(fit, size), *_in_units(predict, size)]))


def measure_reading(n_documents: int, n_features: int) -> None:
    """Print the figures of reading a file as JSON, those of training as none."""
    rng = np.random.default_rng(0)
    rows = [
        "".join(f" {column}:{value:.6g}" for column, value in enumerate(row, start=1))
        for row in rng.random((1000, n_features)).tolist()
    ]
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder, "data.txt"), Path(folder, "small.txt")
        for file, n in ((path, n_documents), (small, 1000)):
            with file.open("w") as lines:
                for i in range(n):
                    lines.write(f"{i % 5} qid:{i // PER_QUERY}{rows[i % 1000]}\n")
        read_letor(small, dtype=np.float32)
        size = 4 * n_documents * n_features
        figures = peaks(lambda: read_letor(path, dtype=np.float32))
    print(json.dumps([size, *_in_units(figures, size), 0, 0, 0]))


def _in_units(figures: tuple[int, int, float], size: int) -> list[float]:
    return [figures[0] / size, figures[1] / size, figures[2]]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=sized([250_000], [3_000]))
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--methods", nargs="+", default=METHODS_MEASURED)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one == "read":
        measure_reading(given.documents[0], given.features)
        return
    if given.one:
        measure(given.one, given.documents[0], given.features, given.jobs, given.trees)
        return
    print("| method | documents | data, GB | fit, extra | total | s | predict, extra | total | s |")
    print("|---|---|---|---|---|---|---|---|---|")
    totals: list[tuple[str, float, float | None]] = []
    n_failed = 0
    for n in given.documents:
        for method in given.methods:
            chosen = f"--one {method} --documents {n} --features {given.features}"
            chosen += f" --jobs {given.jobs} --trees {given.trees}"
            command = [sys.executable, __file__, *chosen.split()]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"| {method} | {n:,} | failed: {done.stderr.strip().splitlines()[-1:]} |")
                n_failed += 1
                continue
            size, *figures = json.loads(done.stdout)
            cells = "{:.2f} | {:.2f} | {:.0f} | {:.2f} | {:.2f} | {:.1f}".format(*figures)
            print(f"| {method} | {n:,} | {size / 1e9:.2f} | {cells} |", flush=True)
            what = f"memory of {method}: {n:,} × {given.features} float32, all included"
            totals.append((what, figures[1], 3 if (method, n) == ("local-rank", 10**6) else None))
    for what, total, aim in totals:
        row(what, total, "× the data", aim=aim)
    sys.exit(n_failed)


if __name__ == "__main__":
    main()
