"""What scoring by boosted trees costs, beside LightGBM and compilers of its models, one thread.

Run with `python benchmarks/scoring.py`, or with fewer cells: `--leaves 7 31 --trees 300`. Peers
(tl2cgen, onnxruntime with onnxmltools, lleaves) take part where they are installed; compiling
large models takes them minutes, which `--no-peers` saves. Documents are those of fold 1 of MQ2007
(see measuring.py). Every run scores other documents than the last, all scorers in turn. The clock
is the processor time of the process, so that other programs disturb less.

Under each model stand the two parts of our time, and a limit of the second: the vector instructions
that a block of 64 documents needs at least, two per cycle. `--best` times whole lists through the
recipe `best`, coordinates and all; training takes it a minute.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import lightgbm
import numpy as np
from measuring import mq2007_fold
from numba import njit
from threadpoolctl import threadpool_limits

from localrank._base.arrays import Array
from localrank.data import RankingDataset, make_queries
from localrank.rankers import LambdaMART, Ranker
from localrank.recipes import best
from localrank.trees import Trees, read_lightgbm_text

Scorer = Callable[[Array], Any]

DOCUMENTS, LEAVES, TREES = (20, 66, 100, 1_000, 10_000), (7, 15, 31, 64), (300, 1_000)
REPEATS = 15
# Documents of one timed run at least, in several lists where lists are short.
RUN = 2_000
MARKS = {7: 10, 31: 6}
# Milliseconds for one list through `best`, by documents and features.
BEST_MARKS = {(66, 46): 0.6, (1_000, 64): 5.0}

FRESH = """
import sys, time
import numpy as np
import localrank.rankers
from localrank.trees import Trees
arrays = dict(np.load(sys.argv[1]))
rows, n_features = arrays.pop("rows"), int(arrays.pop("n_features"))
start = time.process_time()
Trees(n_features=n_features, **arrays).score(rows)
print(time.process_time() - start)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=DOCUMENTS)
    parser.add_argument("--leaves", type=int, nargs="+", default=LEAVES)
    parser.add_argument("--trees", type=int, nargs="+", default=TREES)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--best", action="store_true", help="time lists through `best` only")
    options = parser.parse_args()
    if options.best:
        with threadpool_limits(1):
            lists_through_best()
        return
    train, _, source = mq2007_fold()
    features = train.features.astype(options.dtype)
    print(f"{source}, {options.dtype}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print("ns per tree and document, processor time; in brackets how often ours fits into it")
    for n_leaves in options.leaves:
        model = LambdaMART(max(options.trees), n_leaves=n_leaves, min_leaf_documents=20).fit(train)
        first = in_a_fresh_process(model.trees_, features[:66])
        print(f"{n_leaves} leaves: first scores of a fresh process {first:.2f} s")
        for n_trees in options.trees:
            text = model.booster.model_to_string(num_iteration=n_trees)
            with tempfile.TemporaryDirectory() as folder:
                scorers = dict(scorers_of(text, Path(folder), peers=not options.no_peers))
                for n_documents in options.documents:
                    cell(scorers, features, n_documents, n_leaves, n_trees)
                parts(read_lightgbm_text(text), features[:1024])


def cell(
    scorers: dict[str, Scorer],
    features: Array,
    n_documents: int,
    n_leaves: int,
    n_trees: int,
) -> None:
    """Time one combination and print its line."""
    rows = features[:n_documents]
    expected = scorers["LightGBM"](rows)
    np.testing.assert_array_equal(scorers["ours"](rows), expected)
    times: dict[str, list[float]] = {name: [] for name in scorers}
    n_lists = max(1, RUN // n_documents)
    for repeat in range(REPEATS):
        lists = [
            features[first : first + n_documents]
            for first in (repeat * RUN + np.arange(n_lists) * n_documents)
            % (len(features) - n_documents)
        ]
        for name, scorer in scorers.items():
            start = process_time()
            for rows in lists:
                scorer(rows)
            times[name].append(process_time() - start)
    unit = 1e9 / (n_lists * n_documents * n_trees)
    shown = [f"ours {median(times['ours']) * unit:5.2f}"]
    for name in list(times)[1:]:
        ratio = median(a / b for a, b in zip(times[name], times["ours"], strict=True))
        shown.append(f"{name} {median(times[name]) * unit:6.2f} ({ratio:.1f}×)")
    mark = f"  mark {MARKS[n_leaves]}×" if n_leaves in MARKS and n_documents >= 66 else ""
    print(
        f"  {n_leaves:2} leaves {n_trees:5,} trees {n_documents:6,} documents  "
        f"{'  '.join(shown)}{mark}",
        flush=True,
    )


def parts(trees: Trees, rows: Array) -> None:
    """Print what ranking values and summing leaves cost, and the least that summing may."""
    trees.score(rows)
    scorer = trees._scorers[rows.dtype]
    ranks, scores = np.empty(len(rows) * scorer._n_columns, np.uint8), np.zeros(len(rows))
    calls = {
        "ranks of values": lambda: scorer._rank_values(rows, *scorer._columns, ranks),
        "leaves": lambda: scorer._add_scores(
            ranks, len(rows), scorer._n_columns, *scorer._trees, scores
        ),
    }
    unit = 1e9 / (len(rows) * trees.n_trees)
    shown = [f"{name} {least(call) * unit:.2f}" for name, call in calls.items()]
    # Of 64 documents, for each entry a comparison and a masked "and"; for each row of leaves six to
    # find the first; to look up and add, in eights, four and one more for each table of leaves.
    n_entries, n_rows = len(scorer._trees[0]), scorer._trees[5][-1]
    instructions = 2 * n_entries + 6 * n_rows + 8 * (4 * trees.n_trees + n_rows)
    limit = instructions / 64 / trees.n_trees / 2 / gigahertz()
    print(f"     of it, 1,024 documents: {', '.join(shown)}; at least {limit:.2f} for the leaves")


def least(call: Callable[[], Any], repeats: int = 50) -> float:
    """Processor time of the fastest run, what a call takes undisturbed."""
    times = []
    for _ in range(repeats):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times)


def gigahertz() -> float:
    """The clock of the processor, by a chain of multiplications and additions: 3 + 1 cycles."""
    n = 1_000_000
    _chain(n, 3)
    return 4e-9 * n / least(lambda: _chain(n, 3))


@njit(nogil=True)
def _chain(n: int, factor: int) -> int:
    value = 1
    for _ in range(n):
        value = value * factor + n
    return value


def lists_through_best() -> None:
    """Time `best` of 300 trees on one list at a time."""
    train, _, source = mq2007_fold()
    synthetic, _ = make_queries(500, n_documents=(30, 60), n_features=64, random_state=0)
    for n, dataset, name in ((66, train, source), (1_000, synthetic, "synthetic queries")):
        ready, raw = milliseconds(best(300).fit(dataset), dataset.features, n)
        width = dataset.n_features
        mark = f", mark {BEST_MARKS[n, width]} ms" if (n, width) in BEST_MARKS else ""
        print(f"best, {n:,} × {width}, {name}: {ready:.2f} ms, from arrays {raw:.2f} ms{mark}")


def milliseconds(model: Ranker, features: Array, n: int) -> tuple[float, float]:
    """What `predict` takes for a list of n documents: of a dataset, and of arrays."""
    rng, qid = np.random.default_rng(0), np.zeros(n, int)
    tables = [features[rng.choice(len(features), n)] for _ in range(10)]
    lists = [RankingDataset.from_arrays(table, qid=qid) for table in tables]
    ready = least(lambda: [model.predict(each) for each in lists])
    raw = least(lambda: [model.predict(each, qid=qid) for each in tables])
    return 1e3 * ready / len(lists), 1e3 * raw / len(lists)


def scorers_of(text: str, folder: Path, *, peers: bool) -> Iterator[tuple[str, Scorer]]:
    """Ours, LightGBM's, and those of the peers that are installed."""
    trees: Trees = read_lightgbm_text(text)
    booster = lightgbm.Booster(model_str=text)
    yield "ours", trees.score
    yield "LightGBM", lambda rows: booster.predict(rows, num_threads=1)
    path = folder / "model.txt"
    path.write_text(text)
    for name, make in {"tl2cgen": by_tl2cgen, "onnx": by_onnx, "lleaves": by_lleaves}.items():
        if not peers:
            return
        try:
            yield name, make(path)
        except Exception as error:  # of any kind: a peer that fails here is skipped, and said
            print(f"  {name} skipped: {type(error).__name__}: {str(error).partition(chr(10))[0]}")


def by_tl2cgen(path: Path) -> Scorer:
    tl2cgen, treelite = import_module("tl2cgen"), import_module("treelite")
    library = path.with_suffix(".so")
    model = treelite.frontend.load_lightgbm_model(str(path))
    tl2cgen.export_lib(model, toolchain="gcc", libpath=str(library), params={"parallel_comp": 8})
    predictor = tl2cgen.Predictor(str(library), nthread=1)
    return lambda rows: predictor.predict(tl2cgen.DMatrix(rows))


def by_onnx(path: Path) -> Scorer:
    runtime, tools = import_module("onnxruntime"), import_module("onnxmltools")
    kinds = import_module("onnxmltools.convert.common.data_types")
    booster = lightgbm.Booster(model_file=path)
    shape = [("rows", kinds.FloatTensorType([None, booster.num_feature()]))]
    model = tools.convert_lightgbm(booster, initial_types=shape, zipmap=False)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda rows: session.run(None, {"rows": rows.astype(np.float32, copy=False)})


def by_lleaves(path: Path) -> Scorer:
    model = import_module("lleaves").Model(model_file=path)
    model.compile()
    return lambda rows: model.predict(rows, n_jobs=1)


def in_a_fresh_process(trees: Trees, rows: Array) -> float:
    """Processor time of the first scores, with kernels that an earlier process compiled."""
    trees.score(rows)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/trees.npz", rows=rows, **trees.__getstate__())
        result = subprocess.run(
            [sys.executable, "-c", FRESH, f"{folder}/trees.npz"],
            capture_output=True,
            text=True,
            check=True,
        )
    return float(result.stdout)


if __name__ == "__main__":
    main()
