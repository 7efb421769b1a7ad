"""Memory that methods take beside the data, in fit and in predict.

Run with `python benchmarks/memory.py --documents 250000 1000000 --methods lambdamart fast`.
Each fit is a process of its own on made-up queries of 100 documents, which first fits a small
part, so that code and compiled kernels do not count. The extra peak is the most memory in use
less that before the call, in units of the features, which are float32. Linux only: it reads and
resets the peak in /proc. Trees are few (`--trees`), since their number changes the time only.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from localrank.data import RankingDataset
from localrank.methods import METHODS, make_ranker
from localrank.parts import parameters

METHODS_MEASURED = [
    "lambdamart",
    "rank-svm",
    "svm-map",
    "listwise-linear",
    "local-rank",
    "fast",
    "best",
]
PER_QUERY = 100


def made_up(n_documents: int, n_features: int) -> RankingDataset:
    generator = np.random.default_rng(0)
    features = generator.standard_normal((n_documents, n_features), dtype=np.float32)
    labels = np.clip(np.rint(features[:, :8].sum(axis=1) / 3 + 1), 0, 4)
    return RankingDataset.from_arrays(features, labels, np.arange(n_documents) // PER_QUERY)


def status(name: str) -> int:
    """A figure of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def extra_peak(call: Callable[[], Any]) -> tuple[int, float]:
    """Bytes at the peak of a call, less those before, and its seconds."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before, start = status("VmRSS"), time.perf_counter()
    call()
    return status("VmHWM") - before, time.perf_counter() - start


def measure(method: str, n_documents: int, n_features: int, n_jobs: int, n_trees: int) -> None:
    """Print the figures of one method as JSON."""
    warnings.simplefilter("ignore")
    has_trees = "n_trees" in parameters(METHODS[method])
    ranker = make_ranker(method, [f"n_trees={n_trees}"] if has_trees else [], n_jobs, 0)
    small, data = made_up(3000, n_features), made_up(n_documents, n_features)
    ranker.fit(small).predict(small)
    fit, fit_seconds = extra_peak(lambda: ranker.fit(data))
    predict, predict_seconds = extra_peak(lambda: ranker.predict(data))
    size = data.features.nbytes
    print(json.dumps([size, fit / size, fit_seconds, predict / size, predict_seconds]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[250_000])
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--methods", nargs="+", default=METHODS_MEASURED)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        measure(given.one, given.documents[0], given.features, given.jobs, given.trees)
        return
    print("| method | documents | data, GB | fit, extra / data | s | predict, extra / data | s |")
    print("|---|---|---|---|---|---|---|")
    for n in given.documents:
        for method in given.methods:
            options = ["--one", method, "--documents", str(n), "--features", str(given.features)]
            options += ["--jobs", str(given.jobs), "--trees", str(given.trees)]
            command = [sys.executable, __file__, *options]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"| {method} | {n:,} | failed: {done.stderr.strip().splitlines()[-1:]} |")
                continue
            size, fit, s, predict, predict_s = json.loads(done.stdout)
            print(
                f"| {method} | {n:,} | {size / 1e9:.2f} | {fit:.1f} | {s:.0f} | {predict:.1f} "
                f"| {predict_s:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
