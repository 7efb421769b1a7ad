"""Localized geometric mean metrics: time to score and to learn, unseen queries, what is at fault.

Run with `python benchmarks/lgmml.py [PART ...]`, parts being scoring, unseen and fault; the paper's
figures and tables are in `localrank reproduce lgmml`. Collections from the folder in LOCALRANK_DATA
or from `../shared/data` beside the project: OHSUMED and MQ2008 in five folds, MSLR-sample as it is
split. Choices of `unseen`, and what is at fault, are looked at on validation parts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from measuring import (
    DATA,
    SMALL,
    mq2007_fold,
    options,
    row,
    seconds,
    sized,
    small_collection,
)
from numpy.typing import NDArray
from scipy.linalg import sqrtm
from threadpoolctl import threadpool_limits

from localrank._kernels.linalg import geometric_mean
from localrank.data import Fold, RankingDataset, folds, read_letor
from localrank.evaluation import run
from localrank.experiments import mean_of_folds, published
from localrank.measures import NDCG
from localrank.rankers import LGMML, LambdaMART, Ranker, RankSVM
from localrank.rankers.lgmml._anchors import local_scores
from localrank.rankers.lgmml._gmml import GMML, pair_scatters
from localrank.rankers.lgmml._local_metrics import LocalMetrics
from localrank.rankers.lgmml._training import Training

# Collections with published times.
PUBLISHED = ("Yahoo! Set I", "Yahoo! Set II", "MSLR-WEB10K")
# How much longer than a LambdaMART of 500 trees scoring may take, and milliseconds for a metric.
SCORING_MARK, METRIC_MARK = 3.0, 2.0

Scale = Literal["median", "monotone"]
Unseen = Literal["mean", "uniform", "nearest"]

COLLECTIONS = sized(("OHSUMED", "MQ2008"), ("made-up",))
NDCG_10 = NDCG(10)
SCALES: tuple[Scale, ...] = ("median", "monotone")
N_TREES, N_METRICS, N_SEEDS, REPEATS = sized((500, (50, 500), 3, 7), (5, (5, 10), 1, 1))
lgmml = partial(LGMML, n_metrics=sized(50, 5), n_jobs=-1)


def parts(name: str) -> Iterator[Fold]:
    """The folds of a collection, tested on their validation parts; none where it is not there."""
    with tempfile.TemporaryDirectory() as made_up:
        folder = small_collection(Path(made_up) / name) if SMALL else DATA / name
        if not folder.is_dir():
            print(f"{name}: skipped, there is no {folder} (set LOCALRANK_DATA)")
            return
        for fold in folds(folder):
            assert fold.valid is not None
            yield Fold(fold.name, fold.train, None, fold.valid)


def heading(text: str) -> None:
    print(f"\n== {text}")


def scoring() -> None:
    """Interleaved, one thread, the best of several rounds each."""
    heading("Table 5: microseconds to score a document, one thread")
    if SMALL:
        train, test, _ = mq2007_fold()
    elif (folder := DATA / "MSLR-sample").is_dir():
        train, test = (read_letor(folder / f"{part}.txt.gz") for part in ("train", "test"))
    else:
        print(f"skipped, there is no {folder} (set LOCALRANK_DATA)")
        return
    with threadpool_limits(1):
        models: dict[str, Ranker] = {
            f"LambdaMART, {N_TREES} trees of {leaves} leaves": LambdaMART(N_TREES, n_leaves=leaves)
            for leaves in (7, 31)
        }
        models |= {f"L-GMML, {m} metrics": LGMML(m) for m in N_METRICS}
        times: dict[str, list[float]] = {name: [] for name in models}
        for model in models.values():
            model.fit(train).predict(test)
        for _ in range(REPEATS):
            for name, model in models.items():
                taken = seconds(lambda: model.predict(test))  # noqa: B023
                times[name].append(1e6 * taken / test.n_documents)
        best = {name: min(values) for name, values in times.items()}
        for name, value in best.items():
            print(f"  {name:38}{value:9.1f}")
        trees, metrics = (best[name] for name in list(best)[:3:2])
        mark = "within" if metrics <= SCORING_MARK * trees else "OUTSIDE"
        print(
            f"  {N_METRICS[0]} metrics take {metrics / trees:.2f} of 7-leaf trees' time: {mark} 3"
        )
        metric_time(train)
    for name in PUBLISHED:
        numbers = published("lgmml", "table-5", name)
        listed = ", ".join(f"{method} {value}" for method, value in numbers.items())
        print(f"published, {name}: {listed} ms")


def metric_time(train: RankingDataset) -> None:
    """Milliseconds to learn the metric of one query, and to solve the equation by square roots."""
    scaled = train.features / np.sqrt(np.mean(train.features**2, axis=0) + 1e-300)
    by_gmml, by_roots, errors = [], [], []
    for begin, end in zip(train.offsets, train.offsets[1:], strict=False):
        labels = train.labels[begin:end]
        P, N = (
            documents[: int(np.ceil(0.8 * len(documents)))]
            for documents in (scaled[begin:end][labels > 0], scaled[begin:end][labels == 0])
        )
        if not (len(P) and len(N)):
            continue
        gmml = GMML(ridge=0.01)
        by_gmml.append(min(seconds(lambda: gmml.fit(P, N)) for _ in range(5)))  # noqa: B023
        S, D = (scatter + 0.01 * np.eye(len(scatter)) for scatter in pair_scatters(P, N))

        def roots(S: NDArray[np.float64] = S, D: NDArray[np.float64] = D) -> None:
            root = sqrtm(S)
            inverse = np.linalg.inv(root)
            inverse @ sqrtm(root @ D @ root) @ inverse

        by_roots.append(min(seconds(roots) for _ in range(2)))
        M = gmml.metric_
        errors.append(np.abs(M @ S @ M - D).max() / np.abs(D).max())
        np.testing.assert_allclose(M, geometric_mean(S, D), rtol=0, atol=1e-6 * np.abs(M).max())
    mean, most = 1e3 * float(np.mean(by_gmml)), 1e3 * float(np.max(by_gmml))
    mark = "within" if mean <= METRIC_MARK else "OUTSIDE"
    print(f"  at most {most:.2f} ms; the mean is {mark} {METRIC_MARK:g} ms")
    row(
        f"GMML: a metric of 80 % of a query, {train.n_features} features",
        mean,
        "ms",
        peer="scipy's sqrtm",
        theirs=1e3 * float(np.mean(by_roots)),
        aim=3,
    )
    print(f"  largest error of M S M = D: {max(errors):.1e} of the largest entry of D")


def unseen() -> None:
    heading("Weights of unseen queries: NDCG@10 of validation parts, mean of seeds")
    options: tuple[Unseen, ...] = ("mean", "uniform", "nearest")
    print(f"{'':24}" + "".join(f"{option:>9}" for option in options))
    for name in COLLECTIONS:
        valid_folds = list(parts(name))
        for scale in SCALES if valid_folds else ():
            methods = {
                f"{option}, {seed}": lgmml(scale=scale, unseen=option, random_state=seed)
                for option in options
                for seed in range(N_SEEDS)
            }
            results = run(methods, valid_folds, n_jobs=-1)
            line = f"{name}, {scale:10}".ljust(24)
            for option in options:
                means = [
                    mean_of_folds(results[f"{option}, {seed}"], NDCG_10) for seed in range(N_SEEDS)
                ]
                line += f"{np.mean(means):9.4f}"
            print(line)


def fault() -> None:
    """Anchors moved out of the documents, along the difference of relevant and irrelevant means.

    The metric of an anchor is that of its query, or of ten queries with it among them.
    """
    heading("What is at fault: NDCG@10 of validation parts with anchors moved out, monotone")
    steps = (0, 2, 8, 32)
    print(f"{'':32}" + "".join(f"{step:8}" for step in steps) + f"{'RankSVM':>9}")
    for name in COLLECTIONS:
        valid_folds = list(parts(name))
        for n_pooled in (1, 10) if valid_folds else ():
            rows = [moved_out(fold, steps, n_pooled) for fold in valid_folds]
            values = "".join(f"{value:8.4f}" for value in np.mean(rows, axis=0))
            linear = mean_of_folds(run({"RankSVM": RankSVM()}, valid_folds)["RankSVM"], NDCG_10)
            print(f"{name}, metrics of {n_pooled}".ljust(32) + values + f"{linear:9.4f}")
    print("Mean place, from 0 (last) to 1 (first), of relevant validation documents by L-GMML,")
    print("in four groups by ascending score of RankSVM within all relevant ones:")
    for name in COLLECTIONS:
        for scale in SCALES:
            groups = [places(fold, scale) for fold in parts(name)]
            if groups:
                values = "".join(f"{value:8.3f}" for value in np.mean(groups, axis=0))
                print(f"{name}, {scale:10}".ljust(32) + values)


def moved_out(fold: Fold, steps: tuple[int, ...], n_pooled: int) -> list[float]:
    """NDCG@10 of the validation part, anchors moved by so many differences of means."""
    used = fold.train.select(LGMML().learns_from(fold.train))
    training = Training.prepare(used, np.full(used.n_queries, 1 / used.n_queries))
    dataset, rng = training.dataset, np.random.default_rng(0)
    documents = dataset.features / training.scale
    learned = training.learn_metrics(
        sized(50, 5),
        relevance_level=None,
        sampling_rate=0.8,
        t=0.5,
        ridge=0.01,
        at_query=False,
        rng=rng,
        n_jobs=-1,
    )
    apart, factors = np.zeros_like(learned.anchors), []
    for r, anchor in enumerate(learned.anchors):
        home = dataset.query_index[np.argmin(np.abs(documents - anchor).max(axis=1))]
        others = np.delete(np.arange(dataset.n_queries), home)
        S, D = 0.01 * np.eye(dataset.n_features), 0.01 * np.eye(dataset.n_features)
        for query in [home, *rng.choice(others, n_pooled - 1, replace=False)]:
            rows = slice(dataset.offsets[query], dataset.offsets[query + 1])
            relevant = dataset.labels[rows] > 0
            P, N = documents[rows][relevant], documents[rows][~relevant]
            apart[r] += (P.mean(axis=0) - N.mean(axis=0)) / n_pooled
            for total, scatter in zip((S, D), pair_scatters(P, N), strict=True):
                total += scatter
        factors.append(np.linalg.cholesky(geometric_mean(S, D)).T)
    values = []
    for step in steps:
        metrics = LocalMetrics.stack(training.scale, learned.anchors + step * apart, factors)
        metrics = training.scale_distances(metrics, "monotone", n_jobs=-1)
        (weights,) = training.learn_weights(
            metrics, [(5.0, 0.1)], n_iterations=sized(1000, 10), rng=rng, n_jobs=-1
        )
        scores = local_scores(
            metrics.distances(fold.test.features),
            weights.mean(axis=0, keepdims=True),
            np.zeros(fold.test.n_documents, np.int64),
        )
        values.append(NDCG_10.mean(fold.test, scores))
    return values


def places(fold: Fold, scale: Scale) -> list[float]:
    """Mean places of relevant documents, in quarters by their score of a linear model."""
    scores = lgmml(scale=scale).fit(fold.train).predict(fold.test)
    linear = RankSVM().fit(fold.train).predict(fold.test)
    place = np.empty(len(scores))
    for begin, end in zip(fold.test.offsets, fold.test.offsets[1:], strict=False):
        order = np.argsort(np.argsort(scores[begin:end], kind="stable"), kind="stable")
        place[begin:end] = order / max(end - begin - 1, 1)
    relevant = np.flatnonzero(fold.test.labels > 0)
    by_linear = relevant[np.argsort(linear[relevant], kind="stable")]
    return [float(place[group].mean()) for group in np.array_split(by_linear, 4)]


PARTS = {"scoring": scoring, "unseen": unseen, "fault": fault}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART")
    given = parser.parse_args()
    # Jobs have the cores; threads of matrix products would wait for each other.
    with threadpool_limits(1, user_api="blas"):
        for name in given.parts:
            print(f"{name}: {seconds(PARTS[name]):.0f} s")


if __name__ == "__main__":
    main()
