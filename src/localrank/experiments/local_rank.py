"""LocalRank: Figures 1 and 4 to 15 as far as the data allows, and two of its open questions.

Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for Ranking. 2009.
Queries are cleaned as in the paper. The trade-off of the SVMs and the numbers of clusters,
neighbours and rounds are chosen by MAP on the fold's validation part. Test parts are only scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from localrank._base.arrays import Flags, Floats
from localrank._base.parallel import in_parallel
from localrank.data import Fold, clean
from localrank.evaluation import MethodResult, paired_test
from localrank.evaluation.plots import Chart
from localrank.experiments._base import Reproduction, decided, difference
from localrank.experiments._labelled_clouds import labelled_clouds
from localrank.experiments._local_rank_methods import GLOBAL, all_methods, figure_11, figure_15
from localrank.experiments._nearest_search import figure_14
from localrank.experiments._point_clouds import figure_1
from localrank.experiments._published import published, published_cells
from localrank.experiments._query_clusters import MAP, MEASURES, clusters
from localrank.experiments._setting import Setting
from localrank.experiments._training_shares import times
from localrank.measures import Measure, evaluate
from localrank.rankers import SVMMap
from localrank.representations import PrincipalComponents

PAPER = "local-rank"


def reproduce(setting: Setting) -> Reproduction:
    """Compare local models with one for all queries, and similarities of queries, on all folds."""
    reproduction = Reproduction(PAPER, setting.data)
    folds = _cleaned(reproduction, setting.validated_folds)
    figure_1(reproduction, setting.random_state)
    results, lazy = all_methods(setting, folds)
    cs = [run.chosen["C"] for run in results[GLOBAL].runs if run.chosen]
    single_queries(reproduction, folds, results[GLOBAL], cs, setting.n_jobs)
    clusters(reproduction, setting, folds, cs)
    labelled_clouds(reproduction, setting, folds, cs)
    figure_11(reproduction, results, lazy)
    figure_15(reproduction, results)
    times(reproduction, folds[0], cs[0], setting.quick, setting.n_jobs)
    figure_14(reproduction, setting.quick, setting.random_state)
    return reproduction


def _cleaned(reproduction: Reproduction, parts: Sequence[Fold]) -> list[Fold]:
    folds = []
    n_documents = n_queries = 0
    for fold in parts:
        train, _ = clean(fold.train)
        test, report = clean(fold.test)
        valid = None if fold.valid is None else clean(fold.valid)[0]
        folds.append(replace(fold, train=train, valid=valid, test=test))
        n_documents += report.n_documents
        n_queries += report.n_queries
    reproduction.table(
        "Section 4.1.1: cleaning of the test parts",
        ["", "removed", "left"],
        [
            ["documents", n_documents, sum(fold.test.n_documents for fold in folds)],
            ["queries", n_queries, sum(fold.test.n_queries for fold in folds)],
        ],
        "Documents are removed if the same features occur in their query with another label, then "
        "queries without a relevant document.",
    )
    return folds


def single_queries(
    reproduction: Reproduction,
    folds: Sequence[Fold],
    together: MethodResult,
    cs: Sequence[float],
    n_jobs: int | None,
) -> None:
    """Figures 4 and 5: one model per training query, beside one for all together."""
    values: dict[str, dict[Measure, list[Floats]]] = {}
    ranks, chances = [], []
    for fold, C in zip(folds, cs, strict=True):
        train, test = fold.train, fold.test
        teaching = np.flatnonzero(SVMMap(C).learns_from(train))

        models = in_parallel(
            lambda query, train, C: SVMMap(C).fit(train.select([query])),
            teaching.tolist(),
            shared=(train, C),
            n_jobs=n_jobs,
            description="Query models",
        )
        components = PrincipalComponents().fit(train)
        distances = components.distances(
            components.transform(test), components.transform(train)[teaching]
        )
        order = np.argsort(distances, axis=1, kind="stable")
        scored = [evaluate(test, model.predict(test), MEASURES) for model in models]
        for measure in MEASURES:
            single = np.array([means_of[measure] for means_of in scored]).T
            for name, by_query in {
                "most similar": single[np.arange(len(single)), order[:, 0]],
                "any": single.mean(axis=1),
                "clairvoyant": single.max(axis=1),
            }.items():
                values.setdefault(name, {}).setdefault(measure, []).append(by_query)
            if measure is MAP:
                best = single >= single.max(axis=1, keepdims=True) - 1e-12
                # Among equally good queries, the most similar one.
                ranks.append(np.argmax(np.take_along_axis(best, order, axis=1), axis=1) + 1)
                chances.append(best.mean(axis=1))
    whole = {"global": {measure: together.values(measure) for measure in MEASURES}}
    whole |= {
        name: {m: np.concatenate(v) for m, v in by_measure.items()}
        for name, by_measure in values.items()
    }
    means = {
        name: [float(by_measure[m].mean()) for m in MEASURES] for name, by_measure in whole.items()
    }
    reproduction.table(
        "Figure 4: one model per training query",
        ["model", *map(str, MEASURES)],
        [[name, *row] for name, row in means.items()],
        "The model of all queries, of the most similar query, of any query on average, and of "
        "the query whose model ranks the test query best by its labels. The best of many "
        "models gains by chance alone.",
    )
    first, chance = np.concatenate(ranks), np.concatenate(chances)
    share = float(np.mean(first == 1))
    reproduction.compare(
        "Figure 5: where the clairvoyant query stands in the order of similarity",
        ["share of the test queries"],
        {
            ("at rank 1",): share,
            ("at rank 1 in a random order",): float(chance.mean()),
            ("among the first 5",): float(np.mean(first <= 5)),
            ("among the first 10",): float(np.mean(first <= 10)),
        },
        published_cells(PAPER, "figure-5", "LETOR"),
        "Among equally good queries the most similar one counts.",
    )
    similar, all_, any_ = (whole[name][MAP] for name in ("most similar", "global", "any"))
    clairvoyant = paired_test(whole["clairvoyant"][MAP], all_)
    against = paired_test(similar, all_)
    control = paired_test(similar, any_)
    reproduction.claim_better(
        "the clairvoyant query's model ranks substantially better than the global one",
        "MAP",
        clairvoyant,
    )
    better = decided(against)
    reproduction.claim(
        "the most similar query's model is not better than the global one",
        None if better is None else not better,
        f"MAP {difference(against)}; against any query's model {difference(control)}",
    )
    stated = published(PAPER, "figure-5", "LETOR")["at rank 1"]
    low, high = share_interval(first == 1)
    reproduction.claim(
        f"the most similar query is the clairvoyant one in only about {stated:.0%} of the test "
        f"queries",
        low <= stated <= high,
        f"{share:.1%}, 95 % interval {low:.1%} to {high:.1%}; by chance {chance.mean():.1%}",
    )
    n_ranks = int(min(30, first.max()))
    heights = [float(np.mean(first == rank)) for rank in range(1, n_ranks + 1)]
    ticks = [str(rank) if rank % 5 == 0 or rank == 1 else "" for rank in range(1, n_ranks + 1)]
    reproduction.figure(
        "figure-4",
        "Figure 4: one model per training query.",
        Chart(
            "bars",
            panels={reproduction.data: means},
            ticks=[str(m) for m in MEASURES],
            y_label="mean over the test queries",
        ),
    )
    reproduction.figure(
        "figure-5",
        f"Figure 5: similarity rank of the clairvoyant query, the first {n_ranks}.",
        Chart(
            "bars",
            panels={reproduction.data: {"clairvoyant query": heights}},
            ticks=ticks,
            y_label="share of the test queries",
        ),
    )


def share_interval(hits: Flags) -> tuple[float, float]:
    """The 95 % confidence interval of a share, by Clopper and Pearson.

    Examples
    --------
    >>> low, high = share_interval(np.arange(100) < 11)
    >>> round(low, 3), round(high, 3)
    (0.056, 0.188)
    """
    from scipy.stats import binomtest

    interval = binomtest(int(hits.sum()), len(hits)).proportion_ci(0.95, "exact")
    return float(interval.low), float(interval.high)
