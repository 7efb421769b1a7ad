"""NDCG@10 and MAP of the 1,017 training queries of an MQ2007 fold, next to other tools.

Run with `python benchmarks/measures.py`. Data from the folder in LOCALRANK_DATA, or from
`../shared/data` beside the project; synthetic lists of the same sizes where neither is there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pytrec_eval
import ranx
from measuring import mq2007_fold, seconds

from localrank.measures import NDCG, AveragePrecision, evaluate

REPEATS = 41
MARK = 10.0


def milliseconds(run: Callable[[], Any]) -> float:
    return 1e3 * seconds(run)


def main() -> None:
    data, _, source = mq2007_fold()
    print(f"{data.n_queries:,} queries, {data.n_documents:,} documents: {source}")
    scores = np.random.default_rng(1).normal(size=data.n_documents)
    judged: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for row, query in enumerate(data.query_index):
        judged.setdefault(f"{query:04}", {})[f"d{row}"] = int(data.labels[row])
        run.setdefault(f"{query:04}", {})[f"d{row}"] = float(scores[row])
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10", "map"})
    qrels, ranked = ranx.Qrels(judged), ranx.Run(run)
    measures = [NDCG(10), AveragePrecision()]

    def ours() -> Any:
        return evaluate(data, scores, measures)

    def theirs() -> Any:
        return evaluator.evaluate(run)

    def ranx_once() -> Any:
        return ranx.evaluate(qrels, ranked, ["ndcg_burges@10", "map"], return_mean=False)

    print(f"first call ever, compiling or loading kernels: {milliseconds(ours):.0f} ms")
    average = [answer["map"] for answer in theirs().values()]
    np.testing.assert_allclose(evaluate(data, scores, measures)[measures[1]], average)
    ranx_once()

    times: dict[str, list[float]] = {}
    for _ in range(REPEATS):
        fresh = data.with_features(data.features)  # without the ideal ranking of `data`
        calls: dict[str, Callable[[], Any]] = {
            "localrank": ours,
            "localrank, new dataset": partial(evaluate, fresh, scores, measures),
            "pytrec_eval": theirs,
            "ranx": ranx_once,
        }
        for name, call in calls.items():
            times.setdefault(name, []).append(milliseconds(call))
    best = median(times["localrank"])
    for name, values in times.items():
        print(f"{name:24} {median(values):8.3f} ms   {median(values) / best:6.1f} x")
    ratio = median(times["pytrec_eval"]) / best
    verdict = "ok" if ratio >= MARK else "MISSED"
    print(f"pytrec_eval / localrank = {ratio:.1f}, to reach: {MARK:.0f}, {verdict}")


if __name__ == "__main__":
    main()
