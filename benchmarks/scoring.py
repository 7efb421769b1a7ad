"""What scoring by boosted trees costs, beside LightGBM and compilers of its models, one thread.

Run with `python benchmarks/scoring.py`, or with fewer cells: `--leaves 7 31 --trees 300`. Peers
(tl2cgen, onnxruntime with onnxmltools, lleaves) take part where they are installed; compiling
large models takes them minutes, which `--no-peers` saves. Documents are those of fold 1 of MQ2007
(see measuring.py). Every run scores other documents than the last, all scorers in turn. The clock
is the processor time of the process, so that other programs disturb less.
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

from localrank.arrays import Array
from localrank.rankers import LambdaMART
from localrank.trees import Trees, read_lightgbm_text

Scorer = Callable[[Array], Any]

DOCUMENTS, LEAVES, TREES = (20, 66, 100, 1_000, 10_000), (7, 15, 31, 64), (300, 1_000)
REPEATS = 15
# Documents of one timed run at least, in several lists where lists are short.
RUN = 2_000
MARKS = {7: 10, 31: 6}

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
    options = parser.parse_args()
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
