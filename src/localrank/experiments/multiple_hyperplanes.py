"""Ranking with multiple hyperplanes: Figures 1 and 2, Tables 3, 5, 6 and 7, and BM25.

Qin, Liu, Lai, Zhang, Wang, Li. Ranking with Multiple Hyperplanes. SIGIR 2007. The paper has four
folds of OHSUMED with its own 30 features, and SVMlight with default parameters. The methods that
the paper names but does not try are added: weights set by hand or tuned on validation queries, and
sampling of the documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from localrank._base.arrays import Floats
from localrank.aggregation import Aggregator, Borda, MarkovChain, MedianRank, WeightedBorda
from localrank.data import Fold, RankingDataset, concatenate
from localrank.evaluation import MethodResult, PairedTest, paired_test
from localrank.evaluation.significance import corrected
from localrank.experiments._hyperplane_diagnostics import (
    CHOSEN,
    LARGE,
    LARGE_C,
    Diagnostics,
    Summary,
    cosines,
    definition_search,
    level_directions,
    order_errors,
    training_times,
)
from localrank.experiments._processor_time import cpu_seconds
from localrank.experiments.reproduction import Reproduction, Value, decided, difference
from localrank.experiments.setting import Setting, chosen
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import MultipleHyperplaneRanker, Ranker, RankSVM

PAPER = "multiple-hyperplanes"
CS = [10.0**k for k in range(-4, 4)]
BASELINE, BM25 = "RankSVM", "BM25"
BORDA, WEIGHTED = "MHR, Borda", "MHR, weighted Borda"
BY_VALIDATION, BY_HAND = "MHR, Borda weighted by validation", "MHR, Borda weighted by hand"
SAMPLED, RATE = "MHR, half the documents, Borda", 0.5
AGGREGATORS: dict[str, Aggregator] = {
    "Borda": Borda(),
    "weighted Borda": WeightedBorda(),
    "median rank": MedianRank(),
    "Markov chain": MarkovChain(),
}
NDCG_10: Measure = NDCG(10)
# BM25 of the whole text: the number of the feature in the collection's documentation, from 1. That
# of ClueWeb09 lists the features without their columns.
BM25_FEATURES = {"OHSUMED": 41, "MQ2007-85": 25, "MQ2007": 25, "MQ2008": 25, "MSLR-sample": 110}
NO_BM25 = (
    " There is no row for BM25: the collection's documentation does not say which column it is."
)

Scores = Mapping[str, Floats]


def methods(n_levels: int, random_state: int = 0) -> dict[str, Ranker]:
    """RankSVM, and its hyperplanes for pairs of label levels with each aggregator."""
    rankers: dict[str, Ranker] = {BASELINE: RankSVM()}
    for name, aggregator in AGGREGATORS.items():
        rankers[f"MHR, {name}"] = MultipleHyperplaneRanker(RankSVM(), aggregator=aggregator)
    rankers[SAMPLED] = MultipleHyperplaneRanker(
        RankSVM(), sampling_rate=RATE, random_state=random_state
    )
    # With three levels, the adjacent pairs are all pairs but one.
    if n_levels > 3:
        adjacent = MultipleHyperplaneRanker(RankSVM(), pairs="adjacent")
        rankers["MHR, adjacent pairs, Borda"] = adjacent
    return rankers


def reweighted(model: MultipleHyperplaneRanker, fold: Fold) -> dict[str, Ranker]:
    """The same hyperplanes with other weights.

    By hand, a pair of levels weighs as much as exchanging two such documents changes NDCG's gain:
    2^s - 2^t. By validation, the weights are learned from the validation queries.
    """
    assert fold.valid is not None
    by_hand = 2.0 ** model.level_pairs_[:, 0] - 2.0 ** model.level_pairs_[:, 1]
    return {
        BY_VALIDATION: model.with_aggregator(WeightedBorda(), fold.valid),
        BY_HAND: model.with_aggregator(WeightedBorda(weights=by_hand.tolist()), fold.train),
    }


def reproduce(setting: Setting) -> Reproduction:
    """Compare hyperplanes for pairs of label levels with one for all, on all folds.

    C is chosen on the validation part by NDCG@10 and is the same for all hyperplanes of a model.
    Test parts are only scored. Only the sampling of documents is random.
    """
    reproduction = Reproduction(PAPER, setting.data)
    folds, quick = setting.validated_folds, setting.quick
    n_levels = min(len(np.unique(fold.train.labels)) for fold in folds)
    tuned = methods(n_levels, setting.random_state)
    cs = CS[2:6:2] if quick else CS
    grids = {name: {"C" if name == BASELINE else "ranker__C": cs} for name in tuned}
    large: dict[str, Ranker] = {
        BASELINE: RankSVM(LARGE_C),
        BORDA: MultipleHyperplaneRanker(RankSVM(LARGE_C)),
    }
    # The models of each method, one per fold, and scores with other weights.
    models: dict[str, dict[str, list[Any]]] = {CHOSEN: {}, LARGE: {}}
    others: dict[str, list[Floats]] = {}

    def keep(way: str, method: str, fold: Fold, model: Ranker) -> None:
        models[way].setdefault(method, []).append(model)
        if way == CHOSEN and method == BORDA:
            assert isinstance(model, MultipleHyperplaneRanker)
            for name, reweighted_model in reweighted(model, fold).items():
                others.setdefault(name, []).append(reweighted_model.predict(fold.test))

    # One thread, so that times can be compared. Hyperplanes train in parallel.
    with threadpool_limits(1, user_api="blas"):
        results = setting.run(
            tuned, folds, grids=grids, measure=NDCG_10, inspect=partial(keep, CHOSEN)
        )
        setting.run(large, folds, inspect=partial(keep, LARGE))
        test = results[BASELINE].test
        diagnostics = {
            name: Diagnostics.of(by_method[BASELINE], by_method[BORDA], folds, test)
            for name, by_method in models.items()
        }
        levels = np.unique(np.concatenate([fold.train.labels for fold in folds]))[::-1]
        times = [pair_times(fold.train, levels, 2 if quick else 5) for fold in folds]
    scores = {method: result.scores for method, result in results.items()}
    scores |= {method: np.concatenate(values) for method, values in others.items()}
    summary = compare_methods(reproduction, test, scores, results)
    if n_levels == 3:
        level_directions(reproduction, concatenate([fold.test for fold in folds]))
    summary |= order_errors(reproduction, diagnostics, levels)
    summary |= cosines(reproduction, diagnostics)
    definition_search(reproduction, summary)
    training_times(reproduction, times)
    return reproduction


def pair_times(train: RankingDataset, levels: Floats, n: int) -> dict[str, float]:
    """CPU milliseconds of RankSVM for all pairs, and for each pair of ranks.

    The best of several runs. Rank 1 is the best level.
    """

    def milliseconds(ranker: RankSVM) -> float:
        return 1000 * min(cpu_seconds(partial(ranker.fit, train)) for _ in range(n))

    rank = {float(level): place for place, level in enumerate(levels, start=1)}
    times = {BASELINE: milliseconds(RankSVM())}
    for high, low in MultipleHyperplaneRanker().fit(train).level_pairs_.tolist():
        ranker = RankSVM(label_pairs=[(high, low)])
        times[f"({rank[high]},{rank[low]})"] = milliseconds(ranker)
    return times


def measures_of(test: RankingDataset) -> dict[str, Measure]:
    """The paper's measures. For MAP only the highest level is relevant."""
    level = float(test.labels.max())
    return {"ndcg@1": NDCG(1), "ndcg@10": NDCG_10, "map": AveragePrecision(relevance_level=level)}


def compare_methods(
    reproduction: Reproduction,
    test: RankingDataset,
    scores: Scores,
    results: Mapping[str, MethodResult],
) -> Summary:
    """Table 3, BM25 and Figure 2."""
    column = BM25_FEATURES.get(reproduction.data)
    if column is not None and column <= test.n_features:
        scores = {BM25: test.in_input_order(test.features[:, column - 1]), **scores}
    measures = measures_of(test)
    values = {
        (method, name): measure(test, method_scores)
        for method, method_scores in scores.items()
        for name, measure in measures.items()
    }
    means = {key: float(by_query.mean()) for key, by_query in values.items()}
    tests = {
        name: corrected(
            {
                method: paired_test(values[method, name], values[BASELINE, name])
                for method in scores
                if method != BASELINE
            }
        )
        for name in measures
    }
    gains = {
        (method, name): 100 * (mean / means[BASELINE, name] - 1)
        for (method, name), mean in means.items()
        if method not in (BASELINE, BM25)
    }
    reproduction.compare(
        "Table 3: improvement over RankSVM, per cent",
        ["method", "measure"],
        gains,
        reproduction.published("table-3"),
        "Here C is chosen on validation queries. The paper leaves SVMlight's parameters as they "
        "are, tunes the weights on the training queries, and tries the first two methods only.",
    )
    if BM25 in scores:
        reproduction.compare(
            "BM25",
            ["method", "measure"],
            {(BM25, name): means[BM25, name] for name in measures},
            reproduction.published("bm25"),
            f"Feature {column} of the collection, BM25 of the whole text. The paper computed BM25 "
            f"itself.",
        )
    rows: list[list[Value]] = []
    for method in scores:
        row: list[Value] = [method]
        for name in measures:
            comparison = tests[name].get(method)
            row += [means[method, name], None if comparison is None else comparison.p]
        result = results.get(BORDA if method in (BY_HAND, BY_VALIDATION) else method)
        rows.append([*row, "" if result is None else ", ".join(chosen(result))])
    top = test.label_bounds[1] == test.labels.max()
    reproduction.table(
        "The values behind Table 3",
        ["method", *(c for name in measures for c in (name, "p")), "C in each fold"],
        rows,
        f"{len(top):,} test queries; {np.sum(top):,} of them have a document of the highest level, "
        f"the only level that MAP counts as relevant. P-values are of paired t-tests against "
        f"RankSVM, corrected by Holm's rule. Weights by validation and by hand are given to "
        f"Borda's hyperplanes. By hand, a pair of levels s > t weighs 2^s - 2^t. With half the "
        f"documents, each hyperplane draws its own half." + ("" if BM25 in scores else NO_BM25),
    )
    _claims(reproduction, values, gains)
    cuts = list(range(1, 11))
    shown = (BASELINE, BORDA, WEIGHTED)
    curves = {m: (cuts, [NDCG(k).mean(test, scores[m]) for k in cuts]) for m in shown}
    reproduction.figure(
        "figure-2",
        "Figure 2: NDCG at each cut.",
        "curves",
        panels={reproduction.data: curves},
        x_label="cut",
        y_label="NDCG",
    )
    return {("improvement, per cent", f"{m}, {name}"): gain for (m, name), gain in gains.items()}


def _claims(
    reproduction: Reproduction,
    values: Mapping[tuple[str, str], Floats],
    gains: Mapping[tuple[str, str], float],
) -> None:
    def tests(methods: Sequence[str], other: str) -> dict[str, PairedTest]:
        against = values[other, "ndcg@10"]
        return corrected({m: paired_test(values[m, "ndcg@10"], against) for m in methods})

    for method, comparison in tests((BORDA, WEIGHTED), BASELINE).items():
        words = method.removeprefix("MHR, ")
        reproduction.claim_better(
            f"MHR with {words} counts ranks better than RankSVM", "NDCG@10", comparison
        )
    names = [name for method, name in gains if method == BORDA]
    n_better = sum(gains[WEIGHTED, name] > gains[BORDA, name] for name in names)
    reproduction.claim_better(
        "weighted Borda is better than Borda",
        "NDCG@10",
        tests((WEIGHTED,), BORDA)[WEIGHTED],
        f"; better by {n_better} of 3 measures",
    )
    if (BM25, "ndcg@10") in values:
        above = tests((BASELINE, BORDA), BM25)
        reproduction.claim(
            "RankSVM and MHR are much better than BM25",
            decided(*above.values()),
            "NDCG@10 "
            + "; ".join(f"{m} {difference(comparison)}" for m, comparison in above.items()),
        )
