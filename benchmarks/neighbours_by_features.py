"""Neighbours by the features of documents, where there are no vectors: whether they gain.

Run with `python benchmarks/neighbours_by_features.py [COLLECTION ...]`. LambdaMART and `fast`, each
alone and with columns of neighbours that are found by the features, on the folds of LETOR
collections. Differences are tested by a paired t-test over the queries, corrected by Holm's rule
for all tests of a collection. Test queries are scored, and choose nothing.
"""

from __future__ import annotations

from measuring import collections, sized

from localrank.data import folds
from localrank.evaluation import paired_test, run
from localrank.evaluation.significance import corrected, p_text
from localrank.fusion import NeighbourColumns
from localrank.measures import parse_measure
from localrank.rankers import LambdaMART, Ranker
from localrank.recipes import fast

MEASURES = [parse_measure(name) for name in ("ndcg@10", "map")]
N_TREES = sized(300, 5)
ALONE: dict[str, Ranker] = {
    "LambdaMART": LambdaMART(n_trees=N_TREES),
    "fast": fast(n_trees=N_TREES),
}
WITH = {name: NeighbourColumns(ranker, neighbours="features") for name, ranker in ALONE.items()}


def main() -> None:
    for folder in collections("MQ2008", "OHSUMED", "ClueWeb09", "MQ2007-85"):
        methods = ALONE | {f"{name} with neighbours": ranker for name, ranker in WITH.items()}
        results = run(methods, folds(folder))
        values = {
            (name, measure): measure(result.test, result.scores)
            for name, result in results.items()
            for measure in MEASURES
        }
        tests = corrected(
            {
                (name, measure): paired_test(
                    values[f"{name} with neighbours", measure], values[name, measure]
                )
                for name in ALONE
                for measure in MEASURES
            }
        )
        print(folder.name)
        for (name, measure), test in tests.items():
            mean = values[name, measure].mean()
            print(
                f"  {name}, {measure}: {mean:.4f}, with neighbours {test.mean_difference:+.4f} "
                f"({p_text(test.p)})",
                flush=True,
            )


if __name__ == "__main__":
    main()
