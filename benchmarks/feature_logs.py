"""Speed and memory of `read_feature_log`, beside `json.loads` of each line and nothing more.

    python benchmarks/feature_logs.py

Made-up logs of about 100 MB: 46 features, 50 documents in each response. One process, the readers
in turn, the best of three, by the processor's clock.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import SMALL, options, row, sized

from localrank.data import read_feature_log

N_FEATURES, N_DOCUMENTS, N_BYTES = 46, 50, sized(100_000_000, 300_000)
NAMES = [f"feature_{number}" for number in range(N_FEATURES)]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("log", nargs="?", help="read this file alone, and tell the peak of memory")
    parser.add_argument("form", nargs="?", help="its format")
    given = parser.parse_args()
    form: Any
    if given.log:
        dataset = read_feature_log(given.log, format=given.form)
        # Of this process alone, which `resource` does not tell.
        status = Path("/proc/self/status").read_text()
        peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
        print(f"{peak / 1e6:.0f} MB for {dataset.features.nbytes / 1e6:.0f} MB of features")
        return
    with tempfile.TemporaryDirectory() as folder:
        for form, make in {
            "elasticsearch": elasticsearch,
            "solr": solr,
            "solr-sparse": solr_sparse,
            "vespa": vespa,
        }.items():
            path = Path(folder, f"{form}.jsonl")
            write_log(path, make)
            compare(form, path)
            path.unlink()


def compare(form: Any, path: Path) -> None:
    """Print the speed of both readers, and the peak of memory."""
    readers: dict[str, Callable[[], Any]] = {
        "json.loads": lambda: parse_only(path),
        "read_feature_log": lambda: read_feature_log(path, format=form, features=NAMES),
    }
    best = dict.fromkeys(readers, np.inf)
    for _ in range(3):
        for reader, read in readers.items():
            begin = time.process_time()
            read()
            best[reader] = min(best[reader], time.process_time() - begin)
    megabytes = path.stat().st_size / 1e6
    theirs, ours = (megabytes / seconds for seconds in best.values())
    row(f"feature logs: {form}", ours, "MB/s", peer="json.loads alone", theirs=theirs)
    command = [sys.executable, __file__, str(path), form, *(["--small"] if SMALL else [])]
    peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    print(f"  {megabytes:.0f} MB, peak memory {peak}")


def parse_only(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def write_log(path: Path, make: Callable[[str, np.ndarray], dict[str, Any]]) -> None:
    rng = np.random.default_rng(0)
    n_queries = 0
    with path.open("w") as file:
        while file.tell() < N_BYTES:
            values = rng.gamma(1, 5, (N_DOCUMENTS, N_FEATURES)).astype(np.float32)
            values *= rng.random(values.shape) < 0.7
            response = make(f"d{n_queries}", values)
            file.write(json.dumps({"qid": n_queries, "response": response}) + "\n")
            n_queries += 1


def elasticsearch(prefix: str, values: np.ndarray) -> dict[str, Any]:
    hits = [
        {
            "_index": "shop",
            "_id": f"{prefix}-{number}",
            "_score": 1.0,
            "fields": {
                "_ltrlog": [
                    {
                        "log": [
                            {"name": name, "value": shown(value)} if value else {"name": name}
                            for name, value in zip(NAMES, row, strict=True)
                        ]
                    }
                ]
            },
        }
        for number, row in enumerate(values)
    ]
    return {"took": 3, "hits": {"total": {"value": len(hits)}, "hits": hits}}


def solr(prefix: str, values: np.ndarray, sparse: bool = False) -> dict[str, Any]:
    docs = [
        {
            "id": f"{prefix}-{number}",
            "[features]": ",".join(
                f"{name}={shown(value)}"
                for name, value in zip(NAMES, row, strict=True)
                if value or not sparse
            ),
        }
        for number, row in enumerate(values)
    ]
    return {"responseHeader": {"status": 0}, "response": {"numFound": len(docs), "docs": docs}}


def solr_sparse(prefix: str, values: np.ndarray) -> dict[str, Any]:
    return solr(prefix, values, sparse=True)


def vespa(prefix: str, values: np.ndarray) -> dict[str, Any]:
    children = [
        {
            "id": f"id:shop:item::{prefix}-{number}",
            "relevance": 1.0,
            "fields": {"matchfeatures": dict(zip(NAMES, map(float, row), strict=True))},
        }
        for number, row in enumerate(values)
    ]
    return {"root": {"id": "toplevel", "children": children}}


def shown(value: np.float32) -> float:
    """A float as the engines print it: as short as tells it from other floats."""
    return max(float(f"{value:.7g}"), 0.001) if value else 0.0


if __name__ == "__main__":
    main()
