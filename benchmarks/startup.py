"""What a fresh process costs: to load a model, to score, and to compile on a new machine.

Run with `python benchmarks/startup.py`. Each line is a process of its own, several times, the
least counting: processor time less that of a bare interpreter. Bytecode and compiled kernels are
there already from a first run that does not count. Models are trained on fold 1 of MQ2007 (see
measuring.py); `--neighbours` adds a model for the neighbourhood of each query. On a new machine no
kernel is compiled: what `best` compiles to train and rank, and the README's first example.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from measuring import SMALL, mq2007_fold, options, row, sized

import localrank
from localrank.data import make_queries, write_letor
from localrank.rankers import LambdaMART, Ranker, RankSVM
from localrank.recipes import (
    adaptive_training,
    best,
    local_rank,
    pca_queries,
    query_neighbours,
)

LOAD = "import sys, localrank; model = localrank.load(sys.argv[1])"
SCORE = f"""{LOAD}
import time
import numpy
rows = numpy.ones((11, model.n_features_in_))
begin = time.process_time()
model.predict(rows, qid=numpy.ones(11))
print(time.process_time() - begin)
"""
FIRST = """
from localrank.data import make_queries
from localrank.recipes import best
queries, _ = make_queries(60)
best(n_trees=20).fit(queries).predict(queries)
"""
README = Path(__file__).parents[1] / "README.md"
# Processor seconds that loading, and the first scores after it, may take.
MARK = 0.5
# Processor seconds that compiling for `best`, and the README's first example, may take.
MARK_COMPILING, MARK_EXAMPLE = 6, 15


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--repeats", type=int, default=sized(10, 1))
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--neighbours", action="store_true")
    given = parser.parse_args()
    train, _, source = mq2007_fold()
    print(f"{source}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    models: dict[str, Ranker] = {"RankSVM": RankSVM().fit(train)}
    if not SMALL:
        models["LambdaMART"] = LambdaMART(given.trees).fit(train)
        models["best"] = best(given.trees).fit(train)
        models["local_rank"] = local_rank(ranker=RankSVM()).fit(train)
        models["adaptive_training"] = adaptive_training(ranker=RankSVM()).fit(train)
        models["pca_queries"] = pca_queries().fit(train)
    if given.neighbours:
        models["query_neighbours"] = query_neighbours(ranker=RankSVM()).fit(train)
    fresh_processes(models, given.repeats)
    if not SMALL:
        new_machine()


def fresh_processes(models: dict[str, Ranker], repeats: int) -> None:
    """Print what each process costs."""
    bare = cost("pass", repeats=repeats)
    print(f"processor seconds beyond a bare interpreter ({bare:.3f})")
    for code in ("import numpy", "import numpy, numba", "import localrank"):
        print(f"  {code:20} {cost(code, repeats=repeats) - bare:6.3f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models.items():
            path = Path(folder) / name
            model.save(path)
            loading = cost(LOAD, path, repeats=repeats)
            scoring = min(float(run(SCORE, path)) for _ in range(repeats))
            size = f"{path.stat().st_size / 2**20:.1f} MB, {model.n_models_:,} models"
            row(f"load of a model, new process: {name} ({size})", loading - bare, "s", aim=MARK)
            row(f"first scores of a new process: {name}", scoring, "s", aim=MARK)


def new_machine() -> None:
    """Print what the first calls cost where no kernel is compiled."""
    with tempfile.TemporaryDirectory() as folder:
        cold = processor_time(FIRST, folder=folder)
        compiling = cold - processor_time(FIRST, folder=folder)
    row(
        "first fit and predict of best on a new machine: compiling",
        compiling,
        "s",
        aim=MARK_COMPILING,
        why="`localrank warmup --methods best --times` lists the kernels. The coordinates take "
        "almost half. LLVM takes most of the time, spread over all code.",
    )
    example = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    made, _ = make_queries(200, n_types=4, separation=0.5)
    with tempfile.TemporaryDirectory() as folder:
        write_letor(made, Path(folder) / "train.txt")
        cold = processor_time(example[1], folder=folder)
        warm = processor_time(example[1], folder=folder)
    what = "the README's first example"
    row(
        f"{what}, new machine",
        cold,
        "s",
        aim=MARK_EXAMPLE,
        why=f"Compiling takes {cold - warm:.0f} s of it, mostly coordinates and RankSVM.",
    )
    row(f"{what}, kernels compiled", warm, "s")


def cost(code: str, *arguments: object, repeats: int) -> float:
    """The least processor time of a process that runs some code."""
    return min([processor_time(code, *arguments) for _ in range(repeats + 1)][1:])


def processor_time(code: str, *arguments: object, folder: str | None = None) -> float:
    """Processor time of a process that runs some code, with a folder of compiled kernels."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(code, *arguments, folder=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(code: str, *arguments: object, folder: str | None = None) -> str:
    """What a process prints that runs some code, with a folder of compiled kernels."""
    environment = {**os.environ, "PYTHONPATH": str(Path(localrank.__file__).parents[1])}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if folder is not None:
        environment["NUMBA_CACHE_DIR"] = folder
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(
        command, check=True, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


if __name__ == "__main__":
    main()
