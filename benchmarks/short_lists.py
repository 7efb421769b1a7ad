"""What `predict` of one short list takes: as an array, beside LightGBM, and as DataFrames.

Run with `python benchmarks/short_lists.py`: half a minute, most of it training. Times are of the
processor, one thread, the median of many calls; all that is compared takes turns. "The kernel
alone" is `Trees.score`, which checks nothing but the shape. Models are trained on fold 1 of MQ2007
(see measuring.py).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from time import process_time_ns
from typing import Any

import lightgbm
import numpy as np
from measuring import mq2007_fold, options, row, sized

from localrank.rankers import LambdaMART, RankSVM
from localrank.recipes import best, local_rank
from localrank.trees import write_lightgbm_text

N_TREES, N_ROUNDS = sized((300, 100), (5, 2))
# Documents of a list that is scored beside LightGBM, and of one in a DataFrame.
N_DOCUMENTS, N_ROWS = 66, 11
MAKERS = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}

Call = Callable[[], Any]


def main() -> None:
    options(__doc__).parse_args()
    train, _, source = mq2007_fold()
    train = train.with_features(train.features)
    print(f"{source}; medians of processor time")
    rows = train.features[:N_DOCUMENTS].copy()
    arrays(train, rows)
    frames(train, rows[:N_ROWS].copy())


def arrays(train: Any, rows: Any) -> None:
    """Lists as arrays, by several models."""
    qid = np.ones(len(rows), np.int64)
    trees = LambdaMART(N_TREES, n_leaves=7).fit(train)
    booster = lightgbm.Booster(model_str=write_lightgbm_text(trees.trees_))
    assert np.array_equal(trees.predict(rows, qid=qid), booster.predict(rows, num_threads=1))
    others = {
        "RankSVM": RankSVM().fit(train),
        "local_rank of RankSVM": local_rank(ranker=RankSVM()).fit(train),
        "best": best(N_TREES).fit(train),
    }
    ms = medians(
        {
            "predict": lambda: trees.predict(rows, qid=qid),
            "kernel": lambda: trees.trees_.score(rows),
            "LightGBM": lambda: booster.predict(rows, num_threads=1),
        }
        | {name: predicting(model, rows, qid) for name, model in others.items()}
    )
    what = f"LambdaMART, {N_TREES} trees of 7 leaves, {len(rows)} documents"
    peer, theirs = "LightGBM's Booster.predict", ms["LightGBM"]
    row(f"predict of arrays: {what}", ms["predict"], "ms", peer=peer, theirs=theirs, aim=8)
    row(f"the kernel alone: {what}", ms["kernel"], "ms", peer=peer, theirs=theirs)
    row(
        "predict of arrays less the kernel",
        ms["predict"] - ms["kernel"],
        "ms",
        aim=0.01,
        why="Of it, checks of features and ids take a third, and making the dataset another.",
    )
    for name in others:
        row(f"predict of arrays: {name}, {len(rows)} documents", ms[name], "ms")


def frames(train: Any, rows: Any) -> None:
    """A list as an array and as DataFrames, by a linear model that knows the names."""
    names = [f"f{number}" for number in range(1, rows.shape[1] + 1)]
    model = RankSVM().fit(train.with_features(train.features, names))
    nameless = RankSVM().fit(train)
    qid = np.ones(len(rows), np.int64)
    columns = {name: np.ascontiguousarray(rows[:, i]) for i, name in enumerate(names)}
    calls = {"array": predicting(nameless, rows, qid)}
    for library, maker in MAKERS.items():
        try:
            frame = getattr(import_module(library), maker)(columns)
        except ImportError:
            print(f"{library}: skipped, it is not installed")
            continue
        calls[library] = predicting(model, frame, qid)
    size = f"{len(rows)} documents of {rows.shape[1]} features"
    for name, value in medians(calls).items():
        what = "an array" if name == "array" else f"a DataFrame of {name}"
        row(f"predict of {what}: RankSVM, {size}", value, "ms", aim=0.1)


def predicting(model: Any, table: Any, qid: Any) -> Call:
    return lambda: model.predict(table, qid=qid)


def medians(calls: dict[str, Call]) -> dict[str, float]:
    """The median of each call's processor time in ms; calls take turns."""
    times: dict[str, list[int]] = {name: [] for name in calls}
    for _ in range(N_ROUNDS):
        for name, call in calls.items():
            call()
            for _ in range(20):
                start = process_time_ns()
                call()
                times[name].append(process_time_ns() - start)
    return {name: 1e-6 * float(np.median(taken)) for name, taken in times.items()}


if __name__ == "__main__":
    main()
