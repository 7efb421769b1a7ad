"""Models that share, beside the clusters and the global models they are made of.

Run with `python benchmarks/blends.py [COLLECTION ...]`. Collections from the folder in
LOCALRANK_DATA or from `../shared/data` beside the project. Five folds each; parameters are chosen
by MAP on the fold's validation part, or on every third training query where it has none. Test
queries are only scored. P-values of paired t-tests over the queries of all folds, against the
global model of the same kind, are corrected by Holm's rule.
"""

from __future__ import annotations

from pathlib import Path

from measuring import collections, sized

from localrank.evaluation.significance import corrected
from localrank.experiments import Setting, chosen, difference
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import Ranker, RankSVM, SVMMap, TopicalRankSVM
from localrank.recipes import local_rank, pca_queries, query_blend, shared_specific
from localrank.selection import NearestQueries

MAP: Measure = AveragePrecision()
MEASURES: list[Measure] = [NDCG(10), MAP]
CS = sized([0.01, 0.1, 1.0, 10.0, 100.0], [1.0])
FEW_CS = sized(CS[1:4], CS)
N_CLUSTERS = sized([1, 2, 4, 8], [2])
CLUSTERS = {"grouping__n_clusters": N_CLUSTERS, "ranker__C": CS}
SOME = {"grouping__n_clusters": sized([4, 8], [2]), "ranker__C": FEW_CS}
METHODS: dict[str, Ranker] = {
    "SVMMap": SVMMap(),
    "local_rank": local_rank(),
    "local_rank, blended": local_rank().set_params(selector=NearestQueries()),
    "RankSVM": RankSVM(),
    "pca_queries": pca_queries(),
    "shared_specific": shared_specific(),
    "TopicalRankSVM": TopicalRankSVM(),
    "query_blend": query_blend(),
}
GRIDS = {
    "SVMMap": {"C": CS},
    "local_rank": CLUSTERS,
    "local_rank, blended": {"selector__k": sized([10, 50], [5]), **SOME},
    "RankSVM": {"C": CS},
    "pca_queries": CLUSTERS,
    "shared_specific": {"ranker__shrinkage": sized([0.1, 1.0, 10.0, 100.0], [1.0]), **SOME},
    "TopicalRankSVM": {"n_topics": N_CLUSTERS, "C": CS},
    "query_blend": {
        "selector__k": sized([10, 50], [5]),
        "grouping__n_neighbours": sized([0, 25], [5]),
        "ranker__C": FEW_CS,
    },
}


def report(folder: Path) -> None:
    setting = Setting(folder, say=lambda line: None)
    parts = setting.validated_folds
    results = setting.run(METHODS, parts, grids=GRIDS, measure=MAP)
    made_of = {name: "SVMMap" if "local" in name else "RankSVM" for name in METHODS}
    pairs = {name: other for name, other in made_of.items() if name not in ("SVMMap", "RankSVM")}
    tests = {
        measure: corrected(
            {name: results[name].against(results[other], measure) for name, other in pairs.items()}
        )
        for measure in MEASURES
    }
    print(f"\n{folder.name}\n{'':20}" + "".join(f"{measure!s:>9}" for measure in MEASURES), end="")
    print(f"{'training':>11}{'ms/query':>10}  against the global model; chosen in each fold")
    for name, result in results.items():
        means = "".join(f"{result.mean(measure):9.4f}" for measure in MEASURES)
        costs = f"{result.train_seconds / len(parts):9.2f} s{result.milliseconds_per_query:10.2f}"
        verdict = ""
        if name in pairs:
            gains = [f"{measure!s} {difference(tests[measure][name])}" for measure in MEASURES]
            verdict = f"{', '.join(gains)}; "
        print(f"{name:20}{means}{costs}  {verdict}{', '.join(chosen(result))}", flush=True)


def main() -> None:
    for folder in collections("OHSUMED", "MQ2008", "ClueWeb09", "MQ2007-85"):
        report(folder)


if __name__ == "__main__":
    main()
