"""What a fresh process costs: to load a model and to score, and a short list in each kind of table.

Run with `python benchmarks/startup.py`. Each line is a process of its own, several times, the
least counting: processor time less that of a bare interpreter. Bytecode and compiled kernels are
there already from a first run that does not count. Then come lists of 11 documents that one
process scores as an array and as DataFrames. Models are trained on fold 1 of MQ2007 (see
measuring.py); `--neighbours` adds a model for the neighbourhood of each query.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from measuring import mq2007_fold

import localrank
from localrank.data import RankingDataset
from localrank.rankers import LambdaMART, Ranker, RankSVM
from localrank.recipes import best, local_rank, query_neighbours

LOAD = "import sys, localrank; model = localrank.load(sys.argv[1])"
SCORE = f"""{LOAD}
import numpy
rows = numpy.ones((11, model.n_features_in_))
model.predict(rows, qid=numpy.ones(11))
"""
# Processor seconds that loading, and the first scores after it, may take.
MARK = 0.5
LIST = 11


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--neighbours", action="store_true")
    options = parser.parse_args()
    train, _, source = mq2007_fold()
    train = train.with_features(
        train.features, train.feature_names or [f"f{i + 1}" for i in range(train.n_features)]
    )
    print(f"{source}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    linear = RankSVM().fit(train)
    models: dict[str, Ranker] = {
        "linear": linear,
        "LambdaMART": LambdaMART(options.trees).fit(train),
        "best": best(options.trees).fit(train),
        "local_rank": local_rank(ranker=RankSVM()).fit(train),
    }
    if options.neighbours:
        models["query_neighbours"] = query_neighbours(ranker=RankSVM()).fit(train)
    fresh_processes(models, options.repeats)
    short_lists(linear, train)


def fresh_processes(models: dict[str, Ranker], repeats: int) -> None:
    """Print what each process costs."""
    bare = cost("pass", repeats=repeats)
    print(f"processor seconds beyond a bare interpreter ({bare:.3f}); mark {MARK} for each column")
    for code in ("import numpy", "import numpy, numba", "import localrank"):
        print(f"  {code:20} {cost(code, repeats=repeats) - bare:6.3f}")
    print(f"  {'':20} {'load':>6}  first scores after it")
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models.items():
            path = Path(folder) / name
            model.save(path)
            loading = cost(LOAD, path, repeats=repeats)
            scoring = cost(SCORE, path, repeats=repeats) - loading
            size = f"{path.stat().st_size / 2**20:.1f} MB, {model.n_models_:,} models"
            print(f"  {name:20} {loading - bare:6.3f}  {scoring:6.3f}  ({size})", flush=True)


def cost(code: str, *arguments: object, repeats: int) -> float:
    """The least processor time of a process that runs some code."""
    environment = {**os.environ, "PYTHONPATH": str(Path(localrank.__file__).parents[1])}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    times = []
    for _ in range(repeats + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", code, *map(str, arguments)]
        subprocess.run(command, check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times[1:])


def short_lists(ranker: Ranker, dataset: RankingDataset) -> None:
    """Print what `predict` of one list takes, as an array and as DataFrames."""
    rows, names = dataset.features[:LIST].copy(), list(dataset.feature_names or [])
    columns = {name: np.ascontiguousarray(rows[:, i]) for i, name in enumerate(names)}
    tables: dict[str, Any] = {"array": rows}
    for library, make in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        try:
            module: Any = __import__(library)
        except ImportError:
            continue
        tables[library] = getattr(module, make)(columns)
    print(f"ms of processor time for predict of {LIST} documents, {rows.shape[1]} features")
    for name, table in tables.items():
        times = []
        for _ in range(500):
            start = process_time()
            ranker.predict(table, qid=np.ones(LIST))
            times.append(process_time() - start)
        print(f"  {name:20} {1e3 * min(times):6.3f}")


if __name__ == "__main__":
    main()
