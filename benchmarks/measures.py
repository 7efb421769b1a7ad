"""NDCG@10 and MAP of the 1,017 training queries of an MQ2007 fold, next to other tools.

Run with `python benchmarks/measures.py`. It asks for both measures in one call, and for one after
the other. The processor's clock counts. Data from the folder in LOCALRANK_DATA, or from
`../shared/data` beside the project; synthetic lists of the same sizes where neither is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pytrec_eval
import ranx
from measuring import SMALL, mq2007_fold, options, row, sized

from localrank.measures import NDCG, AveragePrecision, evaluate

REPEATS = sized(41, 3)
MARK = 10.0


def milliseconds(run: Callable[[], Any]) -> float:
    """Time of the processor that a call takes."""
    start = time.process_time()
    run()
    return 1e3 * (time.process_time() - start)


def main() -> None:
    options(__doc__).parse_args()
    data, _, source = mq2007_fold()
    print(f"{data.n_queries:,} queries, {data.n_documents:,} documents: {source}")
    rng = np.random.default_rng(1)
    rows = [(f"{query:04}", f"d{row}") for row, query in enumerate(data.query_index.tolist())]
    judged: dict[str, dict[str, int]] = {}
    for (query, document), label in zip(rows, data.labels.tolist(), strict=True):
        judged.setdefault(query, {})[document] = int(label)
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10", "map"})
    single = [pytrec_eval.RelevanceEvaluator(judged, {name}) for name in ("ndcg_cut.10", "map")]
    qrels = ranx.Qrels(judged)
    measures = [NDCG(10), AveragePrecision()]

    start = partial(evaluate, data, rng.normal(size=data.n_documents), measures)
    print(f"first call ever, compiling or loading kernels: {milliseconds(start):.0f} ms")
    times: dict[str, list[float]] = {}
    for repeat in range(REPEATS + 1):
        # New scores each time: the ranking of the last ones is kept.
        scores, others, unmeasured = rng.normal(size=(3, data.n_documents))
        run: dict[str, dict[str, float]] = {}
        for (query, document), score in zip(rows, scores.tolist(), strict=True):
            run.setdefault(query, {})[document] = score
        fresh = data.with_features(data.features)  # without the ideal ranking of `data`
        calls: dict[str, Callable[[], Any]] = {
            "localrank": partial(evaluate, data, scores, measures),
            "localrank, new dataset": partial(evaluate, fresh, scores, measures),
            "localrank, one by one": partial(_each, [partial(m, data, others) for m in measures]),
            "pytrec_eval": partial(evaluator.evaluate, run),
            "pytrec_eval, one by one": partial(
                _each, [partial(one.evaluate, run) for one in single]
            ),
        }
        if not SMALL:  # ranx compiles for a minute
            ranked = ranx.Run(run)
            names = ["ndcg_burges@10", "map"]
            calls["ranx"] = partial(ranx.evaluate, qrels, ranked, names, return_mean=False)
            calls["ranx, one by one"] = partial(
                _each,
                [partial(ranx.evaluate, qrels, ranked, [n], return_mean=False) for n in names],
            )
        evaluator.evaluate(run)  # the run has just been made: its memory, then ours, is warm
        evaluate(data, unmeasured, measures)
        taken = {name: milliseconds(call) for name, call in calls.items()}
        if repeat == 0:
            average = [answer["map"] for answer in evaluator.evaluate(run).values()]
            np.testing.assert_allclose(evaluate(data, scores, measures)[measures[1]], average)
            continue
        for name, value in taken.items():
            times.setdefault(name, []).append(value)
    best = median(times["localrank"])
    for name, values in times.items():
        print(f"{name:24} {median(values):8.3f} ms   {median(values) / best:6.1f} x")
    what = f"measures: NDCG@10 and MAP of {data.n_queries:,} queries"
    for how, suffix in (("one call", ""), ("one by one", ", one by one")):
        ours = median(times[f"localrank{suffix}"])
        theirs = median(times[f"pytrec_eval{suffix}"])
        row(f"{what}, {how}", ours, "ms", peer="pytrec_eval", theirs=theirs, aim=MARK)


def _each(calls: list[Callable[[], Any]]) -> None:
    for call in calls:
        call()


if __name__ == "__main__":
    main()
