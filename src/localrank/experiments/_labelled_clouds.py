"""Clouds with labels: future work in Section 5 of LocalRank's paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from localrank.data import Fold
from localrank.evaluation.significance import corrected
from localrank.experiments._base import Reproduction, Value, counts
from localrank.experiments._results import chosen
from localrank.experiments._setting import Setting
from localrank.grouping import Agglomerative
from localrank.local_ranker import LocalRanker
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import Ranker, SVMMap
from localrank.representations import (
    PrincipalComponents,
    RelevantContrast,
    Representation,
    TopContrast,
)
from localrank.selection import NearestQuery

MAP: Measure = AveragePrecision()
MEASURES: list[Measure] = [MAP, NDCG(5), NDCG(10)]
CLUSTERS, FIXED = [1, 2, 4, 8], 4
OURS = "components"
# The descriptions that group training queries, and those that find the nearest one.
DESCRIPTIONS: dict[str, tuple[Representation, Representation]] = {
    OURS: (PrincipalComponents(), PrincipalComponents()),
    "labels, then components": (RelevantContrast(), PrincipalComponents()),
    "labels, then top 5": (RelevantContrast(), TopContrast(n=5)),
    "labels, then top 10": (RelevantContrast(), TopContrast(n=10)),
    "top 5": (TopContrast(n=5), TopContrast(n=5)),
    "top 10": (TopContrast(n=10), TopContrast(n=10)),
}


def labelled_clouds(
    reproduction: Reproduction, setting: Setting, folds: Sequence[Fold], cs: Sequence[float]
) -> None:
    """Add a table of descriptions with and without labels."""
    grid = {"grouping__n_clusters": CLUSTERS[:2] if setting.quick else CLUSTERS}
    grids = {_tuned(name): grid for name in DESCRIPTIONS}
    results = setting.run_each([_methods(C) for C in cs], folds, grids=grids, measure=MAP)
    rows: list[list[Value]] = []
    for named in (_tuned, _fixed):
        tests = corrected(
            {
                name: results[named(name)].against(results[named(OURS)], MAP)
                for name in DESCRIPTIONS
                if name != OURS
            }
        )
        for name in DESCRIPTIONS:
            result, test = results[named(name)], tests.get(name)
            numbers = ", ".join(chosen(result)) if named is _tuned else str(FIXED)
            means = [result.mean(measure) for measure in MEASURES]
            compared = [test.mean_difference, test.p, counts(test)] if test else [None, None, ""]
            rows.append([name, numbers, *means, *compared])
    reproduction.table(
        "Clouds with labels: how training queries are grouped, and how new ones are compared",
        ["description", "clusters", *map(str, MEASURES), "difference", "p (Holm)", "won/tied/lost"],
        rows,
        "'labels' are the directions in which relevant documents differ from the others. 'top' "
        "takes the first documents by the best feature for the relevant ones, so new queries have "
        "it too. The number of clusters is chosen on validation queries, or fixed. Differences are "
        "of MAP, against 'components'. Not in the paper, which leaves labels to future work.",
    )


def _methods(C: float) -> Mapping[str, Ranker]:
    return {
        named(name): LocalRanker(
            grouped, Agglomerative(FIXED), SVMMap(C), NearestQuery(representation=compared)
        )
        for name, (grouped, compared) in DESCRIPTIONS.items()
        for named in (_tuned, _fixed)
    }


def _tuned(name: str) -> str:
    return f"{name}, tuned"


def _fixed(name: str) -> str:
    return f"{name}, fixed"
