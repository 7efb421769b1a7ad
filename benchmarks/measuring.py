"""What the benchmarks share: options, collections, the fold they time, the clock, rows of a table.

Every script has an option `--small`. It works on a few made-up queries then, for seconds: it shows
that it runs, and measures nothing (`tests/test_benchmarks.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from localrank.data import RankingDataset, folds, make_queries, write_letor

T = TypeVar("T")

# The folder of public collections; scripts skip, or make up, what is not there.
DATA = Path(os.environ.get("LOCALRANK_DATA", Path(__file__).parents[1].parent / "shared" / "data"))

SMALL = "--small" in sys.argv
# A file to which scripts add the rows of docs/speed.md, one JSON object a line.
ROWS = "LOCALRANK_ROWS"


def options(description: str | None) -> argparse.ArgumentParser:
    """A parser of the command line that knows `--small`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--small", action="store_true", help="seconds only, measuring nothing")
    return parser


def sized(full: T, small: T) -> T:
    """The first, or the second with `--small`."""
    return small if SMALL else full


def row(
    what: str,
    ours: float,
    unit: str,
    *,
    peer: str | None = None,
    theirs: float | None = None,
    aim: float | None = None,
    why: str | None = None,
) -> None:
    """Print a row of the table of speed claims, and add it to the file in LOCALRANK_ROWS.

    More is better in a unit that ends in "/s", less in any other one. With a peer, the aim is how
    many times as good as the peer we are at least; without one it is the bound of our own number.
    `why` says what the time is spent on, for the page, if the aim is missed.
    """
    # Numbers of numpy are no numbers to JSON.
    ours, theirs = float(ours), None if theirs is None else float(theirs)
    rate = unit.endswith("/s")
    ratio = None if theirs is None else ours / theirs if rate else theirs / ours
    if aim is None:
        met = True
    elif ratio is not None:
        met = ratio >= aim
    else:
        met = ours >= aim if rate else ours <= aim
    told = f"{what}: {short(ours)} {unit}"
    if theirs is not None and ratio is not None:
        told += f", {peer} {short(theirs)}: {ratio:.2f} ×"
    if aim is not None:
        told += f" (aim {aim:g}{' ×' if peer else ''}, {'met' if met else 'MISSED'})"
    print(told, flush=True)
    if ROWS in os.environ:
        with Path(os.environ[ROWS]).open("a", encoding="utf-8") as file:
            known = {"what": what, "ours": ours, "unit": unit, "peer": peer, "theirs": theirs}
            print(
                json.dumps(known | {"ratio": ratio, "aim": aim, "met": met, "why": why}), file=file
            )


def short(value: float) -> str:
    """A number with three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def mq2007_fold() -> tuple[RankingDataset, RankingDataset, str]:
    """Training and validation queries of fold 1 of MQ2007, or made-up ones, and which of them."""
    if not SMALL and (DATA / "MQ2007-85").is_dir():
        fold = next(iter(folds(DATA / "MQ2007-85")))
        assert fold.valid is not None
        return fold.train, fold.valid, "MQ2007 (85 %), fold 1"
    n_train, n_valid = sized((1017, 339), (45, 15))
    dataset = _made_up(n_train + n_valid)
    train, valid = dataset.select(range(n_train)), dataset.select(range(n_train, n_train + n_valid))
    return train, valid, sized("synthetic queries, MQ2007 not found", "a few synthetic queries")


def _made_up(n_queries: int) -> RankingDataset:
    """Queries of MQ2007's kind: three levels, most documents not relevant."""
    dataset, _ = make_queries(n_queries, n_documents=(20, 50), n_features=46)
    labels = np.maximum(dataset.labels - 2, 0)
    return RankingDataset.from_arrays(dataset.features, labels, dataset.query_index)


def collections(*default: str) -> Iterator[Path]:
    """Folders of the collections named on the command line, or else the default ones.

    Says which are not there, and how long the work with each took. With `--small` it is one
    made-up collection of three folds.
    """
    if SMALL:
        with tempfile.TemporaryDirectory() as folder:
            yield small_collection(Path(folder) / "made-up")
        return
    for name in sys.argv[1:] or default:
        if not (DATA / name).is_dir():
            print(f"{name}: skipped, there is no {DATA / name} (set LOCALRANK_DATA)")
            continue
        start = time.perf_counter()
        yield DATA / name
        print(f"{name}: {time.perf_counter() - start:.0f} s in all")


def small_collection(folder: Path) -> Path:
    """Write 45 made-up queries as the files of three folds, each part 15 queries."""
    dataset = _made_up(45)
    parts = [dataset.select(range(15 * part, 15 * part + 15)) for part in range(3)]
    for fold in range(3):
        path = folder / f"Fold{fold + 1}"
        path.mkdir(parents=True)
        for turn, name in enumerate(("train", "vali", "test")):
            write_letor(parts[(fold + turn) % 3], path / f"{name}.txt")
    return folder


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
