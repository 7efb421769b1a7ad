"""The papers' local methods beside the global models they are made of, parameters chosen.

Run with `python benchmarks/local.py [COLLECTION ...]`. Collections from the folder in
LOCALRANK_DATA or from `../shared/data` beside the project. Five folds each; parameters are chosen
by MAP on the fold's validation part, or where it has none by cross-validation over its training
queries. Test queries are only scored. P-values of paired t-tests over the queries of all folds are
corrected by Holm's rule.
"""

from __future__ import annotations

from pathlib import Path

from measuring import collections, sized

from localrank.data import folds
from localrank.evaluation.significance import corrected
from localrank.experiments import Setting, bound_means, chosen, difference
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import RankBoost, Ranker, RankSVM, SVMMap
from localrank.recipes import local_rank, pca_queries, query_neighbours

MAP: Measure = AveragePrecision()
MEASURES = [MAP, NDCG(1), NDCG(5), NDCG(10)]
CS = sized([0.01, 0.1, 1.0, 10.0, 100.0], [1.0])
CLUSTERS = {"grouping__n_clusters": sized([1, 2, 4, 8], [2]), "ranker__C": CS}
METHODS: dict[str, Ranker] = {
    "SVMMap": SVMMap(),
    "RankSVM": RankSVM(),
    "RankBoost": RankBoost(),
    "local_rank": local_rank(),
    "pca_queries": pca_queries(),
    "query_neighbours": query_neighbours(),
}
GRIDS = {
    "SVMMap": {"C": CS},
    "RankSVM": {"C": CS},
    "RankBoost": {"n_rounds": sized([30, 100, 300], [10])},
    "local_rank": CLUSTERS,
    "pca_queries": CLUSTERS,
    "query_neighbours": {
        "grouping__n_neighbours": sized([25, 100, 400], [5]),
        "ranker__C": sized(CS[1:4], CS),
    },
}
MADE_OF = {"local_rank": "SVMMap", "pca_queries": "RankSVM", "query_neighbours": "RankSVM"}


def report(folder: Path) -> None:
    setting = Setting(folder, say=lambda line: None)
    parts = list(folds(folder, validation=folder.name != "ClueWeb09"))
    results = setting.run(METHODS, parts, grids=GRIDS, measure=MAP)
    tests = corrected(
        {method: results[method].against(results[other], MAP) for method, other in MADE_OF.items()}
    )
    print(f"\n{folder.name}\n{'':18}" + "".join(f"{measure!s:>9}" for measure in MEASURES), end="")
    print(f"{'training':>11}{'ms/query':>10}  MAP against the global model; chosen in each fold")
    for method, result in results.items():
        means = "".join(f"{result.mean(measure):9.4f}" for measure in MEASURES)
        costs = f"{result.train_seconds / len(parts):9.2f} s{result.milliseconds_per_query:10.2f}"
        verdict = f"{difference(tests[method])}; " if method in tests else ""
        print(f"{method:18}{means}{costs}  {verdict}{', '.join(chosen(result))}")
    rankers = [SVMMap(**run.chosen) for run in results["SVMMap"].runs if run.chosen]
    four = setting.run_each(
        [{"4": local_rank(4, ranker=ranker)} for ranker in rankers],
        parts,
        measure=MAP,
        n_controls=5,
    )
    names = ("selected", "clairvoyant", "clairvoyant on random groups")
    bounds = [f"{n} {v:.4f}" for n, v in zip(names, bound_means(four["4"], MAP), strict=True)]
    print(f"4 clusters of SVMMap, MAP: {', '.join(bounds)}")


def main() -> None:
    for folder in collections("MQ2008", "OHSUMED", "MQ2007-85", "ClueWeb09"):
        report(folder)


if __name__ == "__main__":
    main()
