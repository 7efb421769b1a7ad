"""What scoring by boosted trees costs, beside LightGBM and compilers of its models, one thread.

Run with `python benchmarks/scoring.py`, or with fewer cells: `--leaves 7 31 --trees 300`. Peers
(tl2cgen, onnxruntime with onnxmltools, lleaves) take part where they are installed; compiling
large models takes them minutes, which `--no-peers` saves. Documents are those of fold 1 of MQ2007
(see measuring.py). Every run scores other documents than the last, all scorers in turn. The clock
is the processor time of the process, so that other programs disturb less.

Under each model stand the two parts of our time, and a limit of the second: the vector instructions
that a block of 64 documents needs at least, two per cycle.

`--best` times the recipe `best`: training beside one LambdaMART of LightGBM, then whole lists,
coordinates and all, beside LightGBM's scores of one such model. Under each list stand the parts of
its time. Each is timed alone, so they need not add up. Nets have a limit, too: two fused additions
of eight numbers per cycle, which is what a processor with AVX2 can do, and most with AVX-512.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import lightgbm
import numpy as np
from measuring import SMALL, mq2007_fold, options, row, sized
from numba import njit
from threadpoolctl import threadpool_limits

from localrank._base.arrays import Array
from localrank.data import RankingDataset, make_queries
from localrank.data.errors import ColumnWarning
from localrank.rankers import Ensemble, LambdaMART
from localrank.recipes import best
from localrank.trees import Trees, read_lightgbm_text

Scorer = Callable[[Array], Any]

DOCUMENTS = sized((20, 66, 100, 1_000, 10_000), (20,))
LEAVES, TREES = sized((7, 15, 31, 64), (7,)), sized((300, 1_000), (10,))
REPEATS = sized(15, 2)
# Documents of one timed run at least, in several lists where lists are short.
RUN = sized(2_000, 100)
MARKS = {7: 10, 31: 6}
# Trees of `best` and of LightGBM beside it.
BEST_TREES = sized(300, 10)
# Milliseconds for one list through `best`, by documents and features.
BEST_AIMS = {(66, 46): 0.25, (1_000, 64): 2.5}

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
    parser = options(__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=DOCUMENTS)
    parser.add_argument("--leaves", type=int, nargs="+", default=LEAVES)
    parser.add_argument("--trees", type=int, nargs="+", default=TREES)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--best", action="store_true", help="time `best` only")
    given = parser.parse_args()
    if given.best or SMALL:
        with threadpool_limits(1):
            recipe_best()
        if given.best:
            return
    train, _, source = mq2007_fold()
    features = train.features.astype(given.dtype)
    print(f"{source}, {given.dtype}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print("ns per tree and document, processor time; in brackets how often ours fits into it")
    for n_leaves in given.leaves:
        model = LambdaMART(max(given.trees), n_leaves=n_leaves, min_leaf_documents=20).fit(train)
        first = in_a_fresh_process(model.trees_, features[:66])
        print(f"{n_leaves} leaves: first scores of a fresh process {first:.2f} s")
        for n_trees in given.trees:
            text = model.booster.model_to_string(num_iteration=n_trees)
            with tempfile.TemporaryDirectory() as folder:
                scorers = dict(scorers_of(text, Path(folder), peers=not (given.no_peers or SMALL)))
                for n_documents in given.documents:
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


def recipe_best() -> None:
    """Time one list at a time through `best` of 300 trees."""
    train, _, source = mq2007_fold()
    synthetic, _ = make_queries(
        sized(500, 60), n_documents=sized((30, 60), (5, 10)), n_features=64, random_state=0
    )
    models = {}
    for n, dataset in ((66, train), (1_000, synthetic)):
        models[n] = trained(dataset)
    for n, dataset, name in ((66, train, source), (1_000, synthetic, "synthetic queries")):
        one_list(*models[n], dataset.features, n, name)


def trained(dataset: RankingDataset) -> tuple[Ensemble, lightgbm.Booster]:
    """`best`, and one LambdaMART of LightGBM."""
    parameters = {"objective": "lambdarank", "num_leaves": 7, "min_data_in_leaf": 50}
    parameters |= {"num_threads": 1, "verbose": -1, "deterministic": True}
    data = lightgbm.Dataset(dataset.features, dataset.labels, group=dataset.query_sizes)
    return best(BEST_TREES).fit(dataset), lightgbm.train(parameters, data, BEST_TREES)


def one_list(
    model: Ensemble, booster: lightgbm.Booster, features: Array, n: int, name: str
) -> None:
    """Time a list of n documents: of a dataset, of arrays, and by the parts of `best`."""
    rng, qid = np.random.default_rng(0), np.zeros(n, int)
    tables = [features[rng.choice(len(features), n)] for _ in range(sized(10, 1))]
    names = getattr(model, "feature_names_in_", None)
    lists = [RankingDataset.from_arrays(t, qid=qid, feature_names=names) for t in tables]
    first, second = model.rankers_
    nets = first.rankers_[-1]
    expanded = [second.expanded(each) for each in lists]
    inputs = [nets._inputs(each) for each in lists]
    calls: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
        "best": (model.predict, lists),
        "LightGBM": (lambda rows: booster.predict(rows, num_threads=1), tables),
        "arrays": (lambda rows: model.predict(rows, qid=qid), tables),
        "coordinates": (second.expanded, lists),
        "nets": (nets._scores, inputs),
    }
    for each in first.rankers_[:-1]:
        calls[type(each).__name__] = (each.score_block, lists)
    for each in second.ranker_.rankers_:
        calls[f"{type(each).__name__} in coordinates"] = (each.score_block, expanded)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)  # arrays have no names
        times = in_turn(calls)
    width = features.shape[1]
    n_products = nets.hidden_.size * len(inputs[0])
    told = {part: f"{time:.3f}" for part, time in times.items() if part != "best"}
    told["nets"] += f" (at least {1e-6 * n_products / 16 / gigahertz():.3f})"
    peer, *parts = (f"{part} {time}" for part, time in told.items())
    shown = f"One model of {peer} ms. Milliseconds of the parts: {', '.join(parts[1:])}."
    row(
        f"best: one list of {n:,} × {width} documents, {name}, {BEST_TREES} trees",
        times["best"],
        "ms",
        aim=BEST_AIMS.get((n, width)),
        why=shown,
    )
    print(f"  {shown} Of arrays: {times['arrays']:.3f}.", flush=True)


def in_turn(calls: dict[str, tuple[Callable[[Any], Any], list[Any]]]) -> dict[str, float]:
    """Milliseconds of each call for one of its arguments: the least of many, all calls in turn."""
    times = dict.fromkeys(calls, np.inf)
    for _ in range(sized(60, 2)):
        for name, (call, arguments) in calls.items():
            start = process_time()
            for argument in arguments:
                call(argument)
            times[name] = min(times[name], 1e3 * (process_time() - start) / len(arguments))
    return times


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
    session_options = runtime.SessionOptions()
    session_options.intra_op_num_threads = session_options.inter_op_num_threads = 1
    session = runtime.InferenceSession(
        model.SerializeToString(), session_options, providers=["CPUExecutionProvider"]
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
