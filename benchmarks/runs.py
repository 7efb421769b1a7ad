"""From files of runs to NDCG@10 and MAP, next to pytrec_eval, ir_measures and ranx.

Run with `python benchmarks/runs.py`. Two TREC runs and their judgments are read, put together and
measured, by each tool in turn, in one process and one thread. The first size has 1,000 queries
with 1,000 documents each, the second 10,000 queries; there the others would take minutes, and
only we are timed, stage by stage, with the peak of memory. Everything is warm: kernels, and the
files in the system's cache. The processor's clock counts; that on the wall is beside it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import ir_measures
import numpy as np
import pytrec_eval
import ranx
from measuring import SMALL, memory, options, row, sized

from localrank.data import pooled, read_qrels, read_run
from localrank.measures import NDCG, AveragePrecision, evaluate

# Without types.
IR_MEASURES: Any = ir_measures
REPEATS = sized(3, 1)
N_JUDGED = 20
MEASURES = [NDCG(10, gain="linear"), AveragePrecision()]


def write_files(folder: Path, n_queries: int, n_documents: int) -> list[Path]:
    """Two runs and judgments of made-up documents, with ids as in MS MARCO."""
    rng = np.random.default_rng(0)
    paths = [folder / name for name in ("one.trec", "two.trec", "qrels.txt")]
    files = [path.open("w", encoding="utf-8") for path in paths]
    for query in range(1_000_000, 1_000_000 + n_queries):
        pool = rng.choice(8_841_823, 2 * n_documents, replace=False)
        for run in range(2):
            documents = rng.permutation(pool)[:n_documents].tolist()
            scores = np.sort(rng.normal(20, 5, n_documents))[::-1].tolist()
            files[run].writelines(
                f"{query} Q0 {document} {rank} {score:.6f} run{run}\n"
                for rank, (document, score) in enumerate(zip(documents, scores, strict=True), 1)
            )
        grades = rng.integers(0, 4, N_JUDGED).tolist()
        judged = zip(pool[:N_JUDGED].tolist(), grades, strict=True)
        files[2].writelines(f"{query} 0 {document} {grade}\n" for document, grade in judged)
    for file in files:
        file.close()
    return paths


def ours(one: Path, two: Path, qrels: Path) -> list[float]:
    both = pooled({"one": read_run(one), "two": read_run(two)}, read_qrels(qrels))
    means = []
    for scores in both.scores.values():
        values = evaluate(both.dataset, scores, MEASURES)
        means += [float(np.mean(values[measure])) for measure in MEASURES]
    return means


def by_pytrec_eval(one: Path, two: Path, qrels: Path) -> list[float]:
    with qrels.open() as file:
        evaluator = pytrec_eval.RelevanceEvaluator(
            pytrec_eval.parse_qrel(file), {"ndcg_cut.10", "map"}
        )
    means = []
    for path in (one, two):
        with path.open() as file:
            values = evaluator.evaluate(pytrec_eval.parse_run(file)).values()
        means += [float(np.mean([v[name] for v in values])) for name in ("ndcg_cut_10", "map")]
    return means


def by_ir_measures(one: Path, two: Path, qrels: Path) -> list[float]:
    asked = [IR_MEASURES.nDCG @ 10, IR_MEASURES.AP]
    evaluator = IR_MEASURES.evaluator(asked, IR_MEASURES.read_trec_qrels(str(qrels)))
    means = []
    for path in (one, two):
        values = evaluator.calc_aggregate(IR_MEASURES.read_trec_run(str(path)))
        means += [float(values[measure]) for measure in asked]
    return means


def by_ranx(one: Path, two: Path, qrels: Path) -> list[float]:
    judged = ranx.Qrels.from_file(str(qrels), kind="trec")
    means = []
    for path in (one, two):
        run = ranx.Run.from_file(str(path), kind="trec")
        values = ranx.evaluate(judged, run, ["ndcg@10", "map"], make_comparable=True)
        means += [float(values["ndcg@10"]), float(values["map"])]
    return means


def compare(n_queries: int, n_documents: int) -> None:
    """Time every tool, and check that all have the same means."""
    tools: dict[str, Callable[..., list[float]]] = {
        "localrank": ours,
        "pytrec_eval": by_pytrec_eval,
        "ir_measures": by_ir_measures,
    }
    if not SMALL:  # it compiles for a minute
        tools["ranx"] = by_ranx
    times: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(Path(folder), n_queries, n_documents)
        size = sum(path.stat().st_size for path in paths) / 1e6
        print(f"{n_queries:,} queries of {n_documents:,} documents, two runs, {size:.0f} MB")
        expected = ours(*paths)
        for name, tool in tools.items():
            np.testing.assert_allclose(tool(*paths), expected, rtol=1e-6, err_msg=name)
        for _ in range(REPEATS):
            for name, tool in tools.items():
                begin, processor = time.perf_counter(), time.process_time()
                tool(*paths)
                times.setdefault(name, []).append(
                    (time.perf_counter() - begin, time.process_time() - processor)
                )
    best = {name: [median(column) for column in zip(*v, strict=True)] for name, v in times.items()}
    for name, (wall, processor) in best.items():
        ratio = processor / best["localrank"][1]
        print(f"{name:12} {processor:8.3f} s {ratio:6.1f} x   ({wall:.3f} s on the wall)")
    what = f"runs: two files of {n_queries:,} × {n_documents:,} to NDCG@10 and MAP"
    for name in tools:
        if name != "localrank":
            row(what, best["localrank"][1], "s", peer=name, theirs=best[name][1])


def by_stages(n_queries: int, n_documents: int) -> None:
    """Our own time for a large pair of runs, stage by stage, and the peak of memory."""
    with tempfile.TemporaryDirectory() as folder:
        one, two, qrels = write_files(Path(folder), n_queries, n_documents)
        sizes = [path.stat().st_size / 1e6 for path in (one, two)]
        print(f"{n_queries:,} queries of {n_documents:,} documents, two runs, {sum(sizes):.0f} MB")
        runs: dict[str, Any] = {}
        judged = read_qrels(qrels)
        reading = timed(lambda: runs.update(one=read_run(one), two=read_run(two)))
    results: list[Any] = []
    pooling = timed(lambda: results.append(pooled(runs, judged)))
    both = results[0]
    measuring = timed(
        lambda: [evaluate(both.dataset, scores, MEASURES) for scores in both.scores.values()]
    )
    what = f"runs: two of {n_queries:,} × {n_documents:,},"
    row(f"{what} reading", sum(sizes) / reading, "MB/s", aim=sized(50, None))
    row(f"{what} pooling", pooling, "s", aim=sized(10, None))
    row(f"{what} NDCG@10 and MAP of both", measuring, "s")
    print(f"peak of memory: {memory('VmHWM') / 1e9:.1f} GB")


def timed(call: Callable[[], Any]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def main() -> None:
    options(__doc__).parse_args()
    compare(*sized((1000, 1000), (5, 20)))
    by_stages(*sized((10_000, 1000), (5, 20)))


if __name__ == "__main__":
    main()
