"""Speed and memory of `read_letor` beside the text loaders of XGBoost and scikit-learn.

    python benchmarks/parsing.py

One process, one thread, everything warm, the readers in turn. The clock on the wall counts; the
processor's own is beside it because other work on the machine disturbs it less. The marks: 3
times as fast as XGBoost, 40 times as fast as scikit-learn, and a peak of memory below 2.2 times
the arrays.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xgboost
from measuring import DATA, SMALL, memory, options, row, sized
from sklearn.datasets import load_svmlight_file

from localrank.data.letor import read_letor


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    if given := parser.parse_args().memory:
        measure_memory(Path(given[0]), given[1])
        return
    warnings.simplefilter("ignore")  # XGBoost's: reading text is to be removed
    xgboost.set_config(verbosity=0)
    with tempfile.TemporaryDirectory() as folder:
        parts = [DATA / "MQ2007-85" / f"S{part}.txt.gz" for part in range(1, 6)]
        if SMALL:
            print("MQ2007-85 is skipped.")
        elif all(part.is_file() for part in parts):
            path = Path(folder, "mq2007.txt")
            path.write_bytes(b"".join(gzip.decompress(part.read_bytes()) for part in parts))
            compare("MQ2007 (85 %)", path, n_repeats=9, n_slow_repeats=3)
        else:
            print(f"MQ2007-85 is skipped: not in {DATA}; LOCALRANK_DATA can name the folder.")
        path = Path(folder, "mslr.txt")
        write_mslr_like(path, n_bytes=sized(200_000_000, 1))
        compare("like MSLR", path, n_repeats=sized(7, 1), n_slow_repeats=sized(2, 1))


def compare(name: str, path: Path, n_repeats: int, n_slow_repeats: int) -> None:
    """Print the speed of each reader and its ratio to ours, then our peak memory."""
    readers: dict[str, tuple[int, Callable[[], Any]]] = {
        "localrank": (n_repeats, lambda: read_letor(path)),
        "localrank, float32": (n_repeats, lambda: read_letor(path, dtype=np.float32)),
        "XGBoost": (n_repeats, lambda: xgboost.DMatrix(f"{path}?format=libsvm", nthread=1)),
        "scikit-learn": (n_slow_repeats, lambda: load_svmlight_file(str(path), query_id=True)),
    }
    times: dict[str, list[tuple[float, float]]] = {reader: [] for reader in readers}
    for repeat in range(n_repeats + 1):
        for reader, (n, read) in readers.items():
            if repeat <= n:
                begin, begin_processor = time.perf_counter(), time.process_time()
                result = read()
                end, end_processor = time.perf_counter(), time.process_time()
                times[reader].append((end - begin, end_processor - begin_processor))
                del result
    megabytes = path.stat().st_size / 1e6
    print(f"\n{name}, {megabytes:.0f} MB")
    print(f"{'MB/s (time / ours)':20}{'best':>16}{'median':>16}{'CPU, best':>16}{'median':>16}")
    ours = summary(times["localrank"])
    for reader, all_times in times.items():
        pairs = zip(summary(all_times), ours, strict=True)
        cells = [
            f"{megabytes / seconds:.0f} ({seconds / our_seconds:.2f})"
            for seconds, our_seconds in pairs
        ]
        print(f"{reader:20}" + "".join(f"{cell:>16}" for cell in cells))
    speeds = {reader: megabytes / summary(all_times)[2] for reader, all_times in times.items()}
    for peer, aim in (("XGBoost", 3), ("scikit-learn", 40)):
        what = f"parsing: LETOR text, {name}, {megabytes:.0f} MB"
        row(what, speeds["localrank"], "MB/s", peer=peer, theirs=speeds[peer], aim=aim)
    for dtype in ("float64", "float32"):
        command = [sys.executable, __file__, "--memory", str(path), dtype]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        print(f"peak memory, {dtype}: {output.strip()}")


def summary(times: list[tuple[float, float]]) -> list[float]:
    """Best and median time on the wall, best and median of the processor; the first is warm-up."""
    wall, processor = zip(*times[1:], strict=True)
    return [min(wall), statistics.median(wall), min(processor), statistics.median(processor)]


def measure_memory(path: Path, dtype: str) -> None:
    """Print how far reading the file raises this process's peak memory (Linux)."""
    with tempfile.TemporaryDirectory() as folder:
        tiny = Path(folder, "tiny.txt")
        tiny.write_text("0 qid:1 1:0.5 2:0.5 #docid = a\n" * 3)
        read_letor(tiny, dtype=dtype)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew at what is used now
    before = memory("VmRSS")
    dataset = read_letor(path, dtype=dtype)
    peak = memory("VmHWM") - before
    arrays = [dataset.features, dataset.relevance, dataset.offsets, dataset.query_ids]
    arrays += [dataset.document_ids, dataset.input_order]
    size = sum(array.nbytes for array in arrays if array is not None)
    print(f"{peak / 1e6:.0f} MB for arrays of {size / 1e6:.0f} MB: {peak / size:.2f} times")


def write_mslr_like(path: Path, n_bytes: int) -> None:
    """Write a file like MSLR-WEB: 136 raw features, counts and decimals, over a third of them 0.

    Features come in fives, one for each field of a page (body, anchor, title, URL, all); where
    the query's words are not in a field, all its features are 0. There are 5,000 different
    lines, which come again and again with new queries.
    """
    rng = np.random.default_rng(0)
    n_lines = sized(5000, 500)
    absent = rng.random((n_lines, 5)) < [0.11, 0.86, 0.28, 0.66, 0.09]
    columns = []
    for feature in range(136):
        values = rng.lognormal(rng.normal(1.5, 2.0), 1.0, size=n_lines)
        if 110 <= feature < 125:  # logarithms of probabilities
            texts = [f"{-(value % 40):.6f}" for value in values]
        elif feature >= 125 or feature // 5 in (0, 2, 4, 5, 6, 19):
            texts = [str(int(value)) for value in values]
        else:
            texts = [f"{value:.6f}" for value in values]
        if feature < 110:
            texts = np.where(absent[:, feature % 5], "0", texts).tolist()
        columns.append([f"{feature + 1}:{text}" for text in texts])
    labels = rng.choice(5, size=n_lines, p=[0.52, 0.32, 0.13, 0.02, 0.01])
    bodies = [" ".join(row) for row in zip(*columns, strict=True)]
    n_written = n_rows = 0
    with path.open("w", encoding="ascii") as file:
        while n_written < n_bytes:
            for label, body in zip(labels, bodies, strict=True):
                n_written += file.write(f"{label} qid:{n_rows // 120} {body} \n")
                n_rows += 1


if __name__ == "__main__":
    main()
