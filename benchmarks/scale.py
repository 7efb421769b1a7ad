"""A million queries in files, described, grouped, trained, scored and measured in bounded memory.

Run with `python benchmarks/scale.py` (about ten minutes on two cores, 4 GB of disk), or with
`--queries 20000` for a try. The queries are made up partition by partition, and written to a
folder that is removed at the end (`--folder` keeps it): 20 documents each, 46 features in
float32, of four types that rank by different features. Every step prints its time and the most
memory it took, of this process and of each worker; without a cluster, with one worker and with
two. `--in-memory` does the other half: 3.8 million documents with 136 features, as many as
MSLR-WEB30K has, are made up in memory; linear models and local_rank are trained on them, and they
are scored. Linux only: it reads and resets peaks in /proc.
"""

from __future__ import annotations

import gc
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from measuring import options, sized

from localrank.data import RankingDataset, SampleWarning, open_partitions
from localrank.grouping._training import TrainingQueries
from localrank.local_ranker import LocalRanker
from localrank.measures import NDCG
from localrank.rankers import LambdaMART, Ranker, RankSVM
from localrank.recipes import local_rank, pca_queries

N_TYPES, N_FACTORS = 4, 3
PER_QUERY, N_FEATURES = 20, 46
QUERIES_PER_FILE = 10_000
# Documents that a group's model is trained on at most.
MAX_DOCUMENTS = 500_000
# What a worker may hold.
WORKER_MEMORY = "3GiB"
# Queries, documents of each, and features: about as many as MSLR-WEB30K has.
MSLR = (31_531, 120, 136)

RECIPES: dict[str, Callable[[], LocalRanker]] = {
    "pca-queries": lambda: pca_queries(N_TYPES, ranker=RankSVM(), n_jobs=-1),
    "local-rank": lambda: local_rank(N_TYPES, ranker=RankSVM(), n_jobs=-1),
}

Result = TypeVar("Result")


def made_up(n_queries: int, n_documents: int, n_features: int, seed: int) -> RankingDataset:
    """Queries of four types: each varies along few directions, and ranks by its own weights."""
    rng, common = np.random.default_rng(seed), np.random.default_rng(0)
    types = rng.integers(N_TYPES, size=n_queries)
    directions = common.standard_normal((N_TYPES, N_FACTORS, n_features), dtype=np.float32)
    weights = common.standard_normal((N_TYPES, n_features), dtype=np.float32)
    features = np.empty((n_queries, n_documents, n_features), np.float32)
    utility = 0.5 * rng.standard_normal((n_queries, n_documents), dtype=np.float32)
    for kind in range(N_TYPES):
        members = types == kind
        shape = (int(members.sum()), n_documents)
        factors = rng.standard_normal((*shape, N_FACTORS), dtype=np.float32)
        details = rng.standard_normal((*shape, n_features), dtype=np.float32)
        features[members] = factors @ directions[kind] + 0.3 * details
        utility[members] += factors[..., 0] + details @ weights[kind] / np.float32(
            np.sqrt(n_features)
        )
    rows = n_queries * n_documents
    return RankingDataset(
        features.reshape(rows, n_features),
        np.digitize(utility.ravel(), [0.5, 1.0, 1.5, 2.0]).astype(float),
        np.arange(0, rows + 1, n_documents),
        np.arange(n_queries) + seed * n_queries,
    )


def reset_peak() -> None:
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """The most memory in use since the last reset, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


class Steps:
    """Prints the time and the most memory of each step, of this process and of the workers."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.start = time.perf_counter()
        self.inside = False

    def __call__(self, name: str, work: Callable[[], Result]) -> Result:
        reset_peak()
        if self.client is not None:
            self.client.run(reset_peak)
        start = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - start
        workers = [] if self.client is None else sorted(self.client.run(peak).values())
        at_work = ", ".join(f"{size / 1e9:.2f}" for size in workers)
        print(f"| {name} | {seconds:.1f} | {peak() / 1e9:.2f} | {at_work} |", flush=True)
        return result

    def within(self, kind: type, method: str, name: str) -> None:
        """Let each call of a method be a step, unless it is made in another step."""
        original = getattr(kind, method)

        # By its own name workers find the method as it was.
        @wraps(original)
        def measured(*arguments: Any, **named: Any) -> Any:
            if self.inside:
                return original(*arguments, **named)
            self.inside = True
            try:
                return self(name, lambda: original(*arguments, **named))
            finally:
                self.inside = False

        setattr(kind, method, measured)


def out_of_core(folder: Path, n_workers: int, recipe: str) -> None:
    """Every step of a local model, from files to measures."""
    with cluster(n_workers) as client:
        step = Steps(client)
        print(f"\n{n_workers or 'no'} worker{'' if n_workers == 1 else 's'}\n")
        print("| step | s | peak of this process, GB | peak of each worker, GB |")
        print("|---|---|---|---|", flush=True)
        dataset = step("open and check the files", lambda: open_partitions(folder))
        ranker = RECIPES[recipe]()
        with parts_of_fit(step, ranker):
            ranker.fit(dataset, max_documents=MAX_DOCUMENTS)
        scores = step("score", lambda: ranker.predict(dataset))
        values = step("measure", lambda: NDCG(10)(dataset, scores))
        print(f"\nNDCG@10 {values.mean():.6f}; {time.perf_counter() - step.start:.0f} s in all")


@contextmanager
def parts_of_fit(step: Steps, ranker: LocalRanker) -> Iterator[None]:
    """Measure the steps inside of a LocalRanker's fit."""
    parts: list[tuple[type, str, str]] = [
        (type(ranker.representation), "fit_rows", "fit the representation"),
        (type(ranker.representation), "transform_rows", "describe"),
        (TrainingQueries, "grouped", "group"),
        (type(ranker.selector), "fit", "prepare the choice of a group"),
        (TrainingQueries, "models", "train the groups' models"),
    ]
    kept = [(kind, method, getattr(kind, method)) for kind, method, _ in parts]
    for kind, method, name in parts:
        step.within(kind, method, name)
    try:
        yield
    finally:
        for kind, method, original in kept:
            setattr(kind, method, original)


@contextmanager
def cluster(n_workers: int) -> Iterator[Any]:
    """A client of so many processes with one thread each; None for none."""
    if not n_workers:
        yield None
        return
    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"memory_limit": WORKER_MEMORY, "dashboard_address": None}
    workers: Any = LocalCluster
    connect: Any = Client
    with (
        workers(n_workers=n_workers, threads_per_worker=1, **options) as running,
        connect(running) as client,
    ):
        yield client


def in_memory() -> None:
    """Train and score as many documents as MSLR-WEB30K has."""
    _, n_documents, n_features = MSLR
    small, data = made_up(50, n_documents, n_features, 0), made_up(*MSLR, 0)
    size = data.features.nbytes
    print(f"\n{data.n_documents:,} documents, {n_features} features: {size / 1e9:.2f} GB\n")
    print("| method | fit, s | peak / data | predict, s | peak / data |")
    print("|---|---|---|---|---|", flush=True)
    methods: dict[str, Ranker] = {
        "RankSVM": RankSVM(),
        "local_rank(4, RankSVM)": local_rank(N_TYPES, ranker=RankSVM(), n_jobs=1),
        "LambdaMART, 10 trees": LambdaMART(10, n_jobs=-1),
    }
    for name, ranker in methods.items():
        ranker.fit(small).predict(small)
        row = [name]
        for work in (lambda: ranker.fit(data), lambda: ranker.predict(data)):  # noqa: B023
            reset_peak()
            start = time.perf_counter()
            work()
            row += [f"{time.perf_counter() - start:.1f}", f"{peak() / size:.2f}"]
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--queries", type=int, default=sized(1_000_000, 200))
    parser.add_argument("--workers", type=int, nargs="+", default=sized([0, 1, 2], [0]))
    parser.add_argument("--recipe", choices=list(RECIPES), default="pca-queries")
    parser.add_argument("--folder", type=Path, help="keep the files here, or take those there")
    parser.add_argument("--in-memory", action="store_true", help="the other half instead")
    given = parser.parse_args()
    # That models learn from a part of the queries is what is measured.
    warnings.simplefilter("ignore", SampleWarning)
    if given.in_memory:
        in_memory()
        return
    folder = given.folder or Path(tempfile.mkdtemp(prefix="localrank-scale-"))
    try:
        write(folder, given.queries)
        for n_workers in given.workers:
            out_of_core(folder, n_workers, given.recipe)
    finally:
        if given.folder is None:
            shutil.rmtree(folder)


def write(folder: Path, n_queries: int) -> None:
    """Make up the queries, one file at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    if any(folder.iterdir()):
        return
    start, per_file = time.perf_counter(), min(QUERIES_PER_FILE, n_queries)
    for number in range(n_queries // per_file):
        part = made_up(per_file, PER_QUERY, N_FEATURES, number)
        columns = {"qid": part.query_ids[part.query_index], "label": part.labels}
        columns |= {str(column + 1): part.features[:, column] for column in range(N_FEATURES)}
        # Random numbers do not get smaller by compression.
        path = folder / f"part-{number:05}.parquet"
        pq.write_table(pa.table(columns), path, compression="none", use_dictionary=["qid", "label"])
    files = list(folder.iterdir())
    size = sum(file.stat().st_size for file in files)
    seconds = time.perf_counter() - start
    print(f"{n_queries:,} queries in {len(files)} files, {size / 1e9:.2f} GB, in {seconds:.0f} s")


if __name__ == "__main__":
    main()
