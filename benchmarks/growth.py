"""How time and memory of every recipe grow with the number of training queries.

Run with `python benchmarks/growth.py --recipes local_rank fast --sizes 1000 10000`. Each cell is
a process of its own: it makes up that many queries of 8 documents with 10 float32 features,
of four types that spread along different features, fits the recipe, and scores as many other
queries: 50,000 where there are more, whose time is multiplied to stand for all. It first does the
same with 200 queries, so that code and compiled kernels do not count.

Times are seconds of one processor (the time that the process computes, not that it waits), so
that other work on the machine changes them less. Steps of local recipes: describe the training
queries, group them, fit the selector, train the models of groups, and predict; profiles of
adaptive training are part of grouping. The exponent of a step is the slope of the logarithm of
its time over that of the number of queries, by least squares over the cells of 10,000 queries or
more that take 0.05 s: 1 is linear, 2 quadratic. Memory is the peak less what was in use before
the call, in bytes for each query; the features of a query take 320. Linux only.

Models are small, since growth is what is measured: RankSVM in place of SVMMap and LambdaMART in
local recipes, 10 trees elsewhere, 1 net of 8 units. A cell that takes longer than `--limit`
seconds, or more than `--memory` GB, is ended and said to be so, and larger ones of its recipe are
not run. Cells are kept in the file of `--store`, and those found there are not run again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from measuring import options, sized
from memory import peaks

from localrank import recipes
from localrank.data import RankingDataset
from localrank.grouping._training import TrainingQueries
from localrank.rankers import Distilled, LambdaMART, ListwiseNet, Ranker, RankSVM
from localrank.selection.base import Selector

PER_QUERY, N_FEATURES, N_TYPES = 8, 10, 4
LEAST_QUERIES, LEAST_SECONDS = 10_000, 0.05
MOST_ASKED = 50_000
STEPS = ("describe", "group", "select", "train", "predict")
SMALL: dict[str, Callable[[], Ranker]] = {
    "local_rank": lambda: recipes.local_rank(ranker=RankSVM()),
    "adaptive_training": lambda: recipes.adaptive_training(ranker=RankSVM()),
    "pca_queries": lambda: recipes.pca_queries(),
    "query_neighbours": lambda: recipes.query_neighbours(),
    "query_blend": lambda: recipes.query_blend(),
    "shared_specific": lambda: recipes.shared_specific(),
    "query_coordinates": lambda: recipes.query_coordinates(LambdaMART(10)),
    "fast": lambda: recipes.fast(10),
    "best": lambda: small_nets(recipes.best(10)),
    "one": lambda: small_nets(recipes.one(10)),
    "global_ensemble": lambda: recipes.global_ensemble(ranker=LambdaMART(10)),
    "global_mixed": lambda: recipes.global_mixed(n_trees=10),
    "global_one": lambda: recipes.global_one(10),
    "quadratic": lambda: recipes.quadratic(RankSVM()),
}


def small_nets(ranker: Any) -> Any:
    """The same with one short net."""
    ensemble = ranker.ranker if isinstance(ranker, Distilled) else ranker
    first = ensemble.rankers[0]
    first.rankers = [
        ListwiseNet(1, n_units=8) if isinstance(one, ListwiseNet) else one for one in first.rankers
    ]
    return ranker


def made_up(n_queries: int, seed: int) -> RankingDataset:
    """Queries of four types, of which each spreads along two features of its own."""
    generator = np.random.default_rng(seed)
    types = generator.integers(N_TYPES, size=n_queries)
    spread = np.ones((N_TYPES, N_FEATURES), np.float32)
    weights = np.zeros((N_TYPES, N_FEATURES), np.float32)
    for kind in range(N_TYPES):
        spread[kind, 2 * kind : 2 * kind + 2] = 3.0, 2.0
        weights[kind, [2 * kind, 9]] = 0.5, 1.0
    query = np.repeat(np.arange(n_queries), PER_QUERY)
    shape = (len(query), N_FEATURES)
    features = generator.standard_normal(shape, dtype=np.float32) * spread[types[query]]
    utility = np.einsum("ij,ij->i", features, weights[types[query]])
    utility += generator.standard_normal(len(query), dtype=np.float32)
    labels = np.clip(np.rint(utility / 2 + 0.5), 0, 4)
    features += generator.standard_normal((n_queries, N_FEATURES), dtype=np.float32)[query]
    offsets = PER_QUERY * np.arange(n_queries + 1)
    return RankingDataset(features, labels.astype(np.float64), offsets, np.arange(n_queries))


class Stopwatch:
    """Seconds of one processor that named steps take; a step inside another one is its part."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(("group", "select", "train"), 0.0)
        self._busy = False

    def watch(self, cls: Any, method: str, step: str) -> None:
        original = getattr(cls, method)

        @wraps(original)
        def watched(*arguments: Any, **named: Any) -> Any:
            if self._busy:
                return original(*arguments, **named)
            self._busy, start = True, time.process_time()
            try:
                return original(*arguments, **named)
            finally:
                self._busy = False
                self.seconds[step] += time.process_time() - start

        setattr(cls, method, watched)


def measure(recipe: str, n_queries: int) -> None:
    """Print the figures of one cell as JSON."""
    warnings.simplefilter("ignore")
    ranker, small = SMALL[recipe](), made_up(200, 0)
    ranker.fit(small).predict(small)
    watch = Stopwatch()
    watch.watch(TrainingQueries, "grouped", "group")
    watch.watch(Selector, "fit", "select")
    watch.watch(TrainingQueries, "models", "train")
    n_asked = min(n_queries, MOST_ASKED)
    train, asked = made_up(n_queries, 1), made_up(n_asked, 2)
    start = time.process_time()
    fit_bytes, _, _ = peaks(lambda: ranker.fit(train))
    whole = time.process_time() - start
    seconds = watch.seconds
    rest = whole - sum(seconds.values())
    if not hasattr(ranker, "groups_"):
        seconds, rest = {"train": whole}, 0.0
    else:
        seconds["describe"] = rest
    start = time.process_time()
    predict_bytes, _, _ = peaks(lambda: ranker.predict(asked))
    seconds["predict"] = (time.process_time() - start) * n_queries / n_asked
    print(
        json.dumps(
            {
                "seconds": seconds,
                "fit bytes": fit_bytes / n_queries,
                "predict bytes": predict_bytes / n_asked,
            }
        )
    )


def run_cell(recipe: str, n_queries: int, limit: float, gigabytes: float) -> dict[str, Any]:
    """The figures of a cell, or why there are none."""
    code = f"import resource as r; r.setrlimit(r.RLIMIT_DATA, ({int(gigabytes * 1e9)},) * 2)"
    code += f"; import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import growth"
    code += f"; growth.measure({recipe!r}, {n_queries})"
    command = [sys.executable, "-c", code]
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
            env=os.environ | one,
        )
    except subprocess.TimeoutExpired:
        return {"why": f"over {limit:,.0f} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["ended by a signal"])[-1]
        return {"why": f"over {gigabytes:g} GB" if "Memory" in last or "alloc" in last else last}
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def exponent(cells: dict[int, dict[str, Any]], step: str) -> str:
    """The slope of time over the number of queries, in logarithms."""
    points = [
        (n, cell["seconds"][step])
        for n, cell in cells.items()
        if n >= LEAST_QUERIES and cell.get("seconds", {}).get(step, 0.0) >= LEAST_SECONDS
    ]
    if len(points) < 2:
        return ""
    x, y = np.log(np.array(points)).T
    return f"{np.cov(x, y)[0, 1] / np.var(x, ddof=1):.2f}"


def show(recipe: str, cells: dict[int, dict[str, Any]]) -> None:
    for n, cell in cells.items():
        if "why" in cell:
            print(f"| `{recipe}` | {n:,} | {cell['why']} |" + " |" * 6)
            continue
        seconds = [f"{cell['seconds'][s]:.2f}" if s in cell["seconds"] else "" for s in STEPS]
        memory = [f"{cell['fit bytes']:,.0f}", f"{cell['predict bytes']:,.0f}"]
        print(f"| `{recipe}` | {n:,} | {' | '.join([*seconds, *memory])} |")
    slopes = [exponent(cells, step) for step in STEPS]
    print(f"| `{recipe}` | exponent | {' | '.join(slopes)} | | |", flush=True)


def main() -> None:
    parser = options(__doc__)
    names = list(SMALL)
    parser.add_argument("--recipes", nargs="+", default=sized(names, names[:1]), choices=names)
    sizes = sized([10**k for k in (3, 4, 5, 6)], [300])
    parser.add_argument("--sizes", type=int, nargs="+", default=sizes)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a cell")
    parser.add_argument("--memory", type=float, default=5.0, help="GB of a cell")
    parser.add_argument("--store", type=Path, help="a file of cells, read and written")
    given = parser.parse_args()
    kept: dict[str, Any] = {}
    if given.store and given.store.exists():
        kept = json.loads(given.store.read_text())
    print(f"| recipe | queries | {' | '.join(STEPS)} | fit, bytes/query | predict, bytes/query |")
    print("|---" * 9 + "|")
    for recipe in given.recipes:
        cells: dict[int, dict[str, Any]] = {}
        for n in sorted(given.sizes):
            key = f"{recipe} {n}"
            if key not in kept and any("why" in cell for cell in cells.values()):
                cells[n] = {"why": "not run"}
                continue
            if key not in kept:
                kept[key] = run_cell(recipe, n, given.limit, given.memory)
                if given.store:
                    given.store.write_text(json.dumps(kept, indent=1))
            cells[n] = kept[key]
        show(recipe, cells)


if __name__ == "__main__":
    main()
