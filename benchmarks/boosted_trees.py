"""Training of boosted trees beside LightGBM called directly with the same parameters, one thread.

Run with `python benchmarks/boosted_trees.py`. Fold 1 of MQ2007, OHSUMED and ClueWeb09, from the
folder in LOCALRANK_DATA or from `../shared/data` beside the project; made-up queries where neither
is. LambdaMART's `fit` counts whole: order of rows, bins, gradient, trees, reading them back.
LightGBM gets its rows in order. "Trees alone" are LightGBM's regression trees, whose gradient takes
no time. Seconds are processor time, the median of interleaved runs; NDCG@10 is that of the test
queries, with the p-value of a paired t-test. `--best` times the tree models of the recipe `best` by
stage, beside LightGBM's LambdaMART of as many trees.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any
from unittest.mock import patch

import lightgbm
import numpy as np
from measuring import DATA, SMALL, mq2007_fold, options, row, sized
from scipy.stats import ttest_rel

from localrank.data import RankingDataset, folds
from localrank.data._content_order import content_order
from localrank.measures import parse_measure
from localrank.rankers import Ensemble, LambdaMART, QueryCoordinates
from localrank.rankers.boosted_trees import _binned, _boosted_trees
from localrank.rankers.boosted_trees._boosted_trees import boosting_parameters
from localrank.recipes import best
from localrank.trees import read_lightgbm_text

N_TREES, REPEATS = sized((100, 5), (5, 1))
# Least ratio by collection, for trees of 7 and of 31 leaves.
AIMS = {"MQ2007-85": (1.6, 1.35), "OHSUMED": (2.0, None), "ClueWeb09": (2.0, None)}
ROWS_OF_BEST = "best: training, MQ2007 fold 1, beside one LambdaMART of 300 trees"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--best", action="store_true", help="time the tree models of best only")
    if parser.parse_args().best:
        stages_of_best()
        return
    for name, train, test in parts():
        for leaves, aim in zip((7, 31), AIMS.get(name, (None, None)), strict=True):
            compare(name, train, test, leaves, aim)
    if SMALL:
        stages_of_best()


def parts() -> Iterator[tuple[str, RankingDataset, RankingDataset]]:
    """Name, training and test queries of each collection."""
    there = [name for name in AIMS if not SMALL and (DATA / name).is_dir()]
    for name in there:
        fold = next(iter(folds(DATA / name)))
        yield name, fold.train, fold.test
    if not there:
        train, test, source = mq2007_fold()
        yield source, train, test


def compare(
    name: str, train: RankingDataset, test: RankingDataset, leaves: int, aim: float | None
) -> None:
    ranker = LambdaMART(N_TREES, n_leaves=leaves)
    runs: dict[str, Callable[[], Any]] = {
        "ours": lambda: ranker.fit(train),
        "theirs": directly(ranker, train, "lambdarank"),
        "trees": directly(ranker, train, "regression"),
    }
    for run in runs.values():
        run()
    times: dict[str, list[float]] = {key: [] for key in runs}
    for _ in range(REPEATS):
        for key, run in runs.items():
            times[key].append(processor_seconds(run))
    ours, theirs, trees = (median(times[key]) for key in runs)
    what = f"LambdaMART: training, {name}, {N_TREES} trees of {leaves} leaves"
    why = f"LightGBM's trees alone, with their bins, take {trees:.3g} s."
    row(what, ours, "s", peer="LightGBM", theirs=theirs, aim=aim, why=why)
    measure = parse_measure("ndcg@10")
    values = [
        measure.of_rows(test, scores)
        for scores in (ranker.predict_rows(test), runs["theirs"]().predict(test.features))
    ]
    p = ttest_rel(*values).pvalue if (values[0] != values[1]).any() else 1.0
    print(
        f"  LightGBM's trees alone {trees:.3f} s; NDCG@10 {values[0].mean():.4f}, "
        f"LightGBM's {values[1].mean():.4f}, p = {p:.2f} ({test.n_queries} queries)"
    )


def directly(ranker: LambdaMART, train: RankingDataset, objective: str) -> Callable[[], Any]:
    """LightGBM's training on the same rows, which are ordered outside the clock."""
    parameters = boosting_parameters(ranker, objective)
    if objective == "lambdarank":
        parameters["lambdarank_truncation_level"] = ranker.truncation_level
    rows, order = content_order(train, parameters["seed"])
    features, labels, sizes = train.features[rows], train.labels[rows], train.query_sizes[order]
    return lambda: lightgbm.train(
        parameters, lightgbm.Dataset(features, labels, group=sizes), ranker.n_trees
    )


def processor_seconds(run: Callable[[], Any]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def stages_of_best() -> None:
    """Print the seconds of each model of `best`, and of the stages of its trees."""
    train, _, source = mq2007_fold()
    n_trees = sized(300, 5)
    recipe = best(n_trees)
    recipe.fit(train)
    spent: dict[str, float] = {}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            begin = time.process_time()
            result = function(*arguments, **named)
            spent[name] = spent.get(name, 0.0) + time.process_time() - begin
            return result

        return call

    on_features, in_coordinates = recipe.rankers
    print(f"{source}, {n_trees} trees, each model alone:")
    members = []
    with (
        patch.object(_binned, "_made_bins", timed("bins", _binned._made_bins)),
        patch.object(lightgbm, "train", timed("gradient and trees", lightgbm.train)),
        patch.object(_boosted_trees, "read_lightgbm_text", timed("reading", read_lightgbm_text)),
    ):
        for view, rankers in (("features", on_features), ("coordinates", in_coordinates.ranker)):
            assert isinstance(rankers, Ensemble)
            for ranker in rankers.rankers:
                spent.clear()
                model = ranker if view == "features" else QueryCoordinates(ranker)
                taken = processor_seconds(partial(model.fit, train))
                told = ", ".join(f"{stage} {seconds:.3f}" for stage, seconds in spent.items())
                print(f"  {view:12} {type(ranker).__name__:17} {taken:.3f} s  {told}")
                members.append(f"{type(ranker).__name__} {taken:.2f}")
    alone = directly(LambdaMART(n_trees), train, "lambdarank")
    pairs = np.array(
        [
            (processor_seconds(lambda: recipe.fit(train)), processor_seconds(alone))
            for _ in range(sized(3, 1))
        ]
    )
    ours, theirs = np.median(pairs, axis=0).tolist()
    why = f"Seconds of each model alone, bins included: {', '.join(members)}; the last three see "
    why += "coordinates. LightGBM grows four of them, which alone takes almost twice its own time."
    row(ROWS_OF_BEST, ours, "s", peer="LightGBM", theirs=theirs, aim=0.5, why=why)


if __name__ == "__main__":
    main()
