"""Ranking with multiple hyperplanes: Figures 1 and 2, Tables 3, 5, 6 and 7, and BM25.

Qin, Liu, Lai, Zhang, Wang, Li. Ranking with Multiple Hyperplanes. SIGIR 2007. The paper has four
folds of OHSUMED with its own 30 features, and SVMlight with default parameters. The methods that
the paper names but does not try are added: weights set by hand or tuned on validation queries,
sampling of the documents, overlapping parts of the levels, RSVM-IR and the multiple nested ranker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from localrank._base.arrays import Floats
from localrank.aggregation import Aggregator, Borda, MarkovChain, MedianRank, WeightedBorda
from localrank.data import Fold, RankingDataset, concatenate
from localrank.evaluation import PairedTest, paired_test
from localrank.evaluation.significance import corrected
from localrank.experiments._hyperplane_diagnostics import (
    CHOSEN,
    LARGE,
    LARGE_C,
    N_RANKS,
    Diagnostics,
    Summary,
    cosines,
    definition_search,
    level_directions,
    order_errors,
    training_times,
)
from localrank.experiments._one_direction import (
    N_DRAWS,
    N_QUICK_DRAWS,
    compare_with_one_direction,
)
from localrank.experiments._processor_time import cpu_seconds
from localrank.experiments.reproduction import ClaimTest, Reproduction, Value, difference
from localrank.experiments.setting import Setting, chosen
from localrank.measures import NDCG, AveragePrecision, Measure
from localrank.rankers import MultipleHyperplaneRanker, NestedRanker, Ranker, RankSVM

PAPER = "multiple-hyperplanes"
SEEDS = (0, 1, 2, 3)
CS = [10.0**k for k in range(-4, 4)]
BASELINE, BM25, RSVM_IR, NESTED = "RankSVM", "BM25", "RSVM-IR", "Multiple Nested Ranker"
BORDA, WEIGHTED = "MHR, Borda", "MHR, weighted Borda"
BY_VALIDATION, BY_HAND = "MHR, Borda weighted by validation", "MHR, Borda weighted by hand"
ADJACENT, OVERLAPPING = "MHR, adjacent pairs, Borda", "MHR, overlapping parts, Borda"
SAMPLED, RATE = "MHR, half the documents, Borda", 0.5
# All pairs of levels. Their hyperplanes are trained once for each C.
AGGREGATORS: dict[str, Aggregator] = {
    BORDA: Borda(),
    WEIGHTED: WeightedBorda(),
    "MHR, median rank": MedianRank(),
    "MHR, Markov chain": MarkovChain(),
}
ORDER = [BM25, BASELINE, RSVM_IR, NESTED, *AGGREGATORS, BY_VALIDATION, BY_HAND]
ORDER += [SAMPLED, OVERLAPPING, ADJACENT]
NDCG_10: Measure = NDCG(10)
CUTS = range(1, 11)
# BM25 of the whole text: the number of the feature in the collection's documentation, from 1.
BM25_FEATURES = {"OHSUMED": 41, "MQ2007-85": 25, "MQ2007": 25, "MQ2008": 25, "MSLR-sample": 110}
# The documentation of these collections lists the features without their columns.
WITHOUT_COLUMNS = {"ClueWeb09"}

# Scores of the test documents of all folds, of shape (n_documents,), or with a row for each seed.
Scores = Mapping[str, Floats]


def methods(n_levels: int, seeds: Sequence[int] = (0,)) -> dict[str, Ranker]:
    """RankSVM, its kin, and hyperplanes of other parts of the data than all pairs of levels."""
    rankers: dict[str, Ranker] = {
        BASELINE: RankSVM(),
        RSVM_IR: RankSVM(pair_weight="ir"),
        NESTED: NestedRanker(RankSVM()),
    }
    for seed in seeds:
        rankers[f"{SAMPLED}, seed {seed}"] = MultipleHyperplaneRanker(
            RankSVM(), sampling_rate=RATE, random_state=seed
        )
    rankers[OVERLAPPING] = MultipleHyperplaneRanker(RankSVM(), pairs="overlapping")
    # With three levels, the adjacent pairs are all pairs but one.
    if n_levels > N_RANKS:
        rankers[ADJACENT] = MultipleHyperplaneRanker(RankSVM(), pairs="adjacent")
    return rankers


def best_by_aggregator(
    fold: Fold, cs: Sequence[float], n_jobs: int | None = None
) -> dict[str, MultipleHyperplaneRanker]:
    """For each aggregator, the hyperplanes of all pairs with the C that ranks best in validation.

    Weights are learned on the training queries, as in the paper. Of equal C, the first is taken.
    """
    assert fold.valid is not None
    best: dict[str, tuple[float, MultipleHyperplaneRanker]] = {}
    for C in cs:
        planes = MultipleHyperplaneRanker(RankSVM(C), n_jobs=n_jobs).fit(fold.train)
        for name, aggregator in AGGREGATORS.items():
            model = planes.with_aggregator(aggregator, fold.train)
            value = NDCG_10.mean(fold.valid, model.predict(fold.valid))
            if name not in best or value > best[name][0]:
                best[name] = value, model
    return {name: model for name, (_, model) in best.items()}


def reweighted(model: MultipleHyperplaneRanker, fold: Fold) -> dict[str, MultipleHyperplaneRanker]:
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
    Test parts are only scored. Only the sampling of documents is random: it has several seeds.
    """
    reproduction = Reproduction(PAPER, setting.data, quick=setting.quick)
    folds, quick = setting.validated_folds, setting.quick
    check_complete(folds)
    n_levels = min(len(np.unique(fold.train.labels)) for fold in folds)
    tuned = methods(n_levels, setting.seeds)
    cs = CS[2:6:2] if quick else CS
    grids = {
        name: {"C" if isinstance(ranker, RankSVM) else "ranker__C": cs}
        for name, ranker in tuned.items()
    }
    large: dict[str, Ranker] = {
        BASELINE: RankSVM(LARGE_C),
        BORDA: MultipleHyperplaneRanker(RankSVM(LARGE_C)),
    }
    # The models of each method, one per fold.
    models: dict[str, dict[str, list[Any]]] = {CHOSEN: {}, LARGE: {}}

    def keep(way: str, method: str, fold: Fold, model: Ranker) -> None:
        models[way].setdefault(method, []).append(model)

    # One thread, so that times can be compared.
    with threadpool_limits(1, user_api="blas"):
        results = setting.run(
            tuned, folds, grids=grids, measure=NDCG_10, inspect=partial(keep, CHOSEN)
        )
        setting.run(large, folds, inspect=partial(keep, LARGE))
        for fold in folds:
            best = best_by_aggregator(fold, cs, setting.n_jobs)
            for name, model in {**best, **reweighted(best[BORDA], fold)}.items():
                keep(CHOSEN, name, fold, model)
            setting.say(f"{fold.name}: hyperplanes of all pairs trained")
        test, whole = results[BASELINE].test, concatenate([fold.test for fold in folds])
        diagnostics = {
            name: Diagnostics.of(by_method[BASELINE], by_method[BORDA], folds, test)
            for name, by_method in models.items()
        }
        levels = np.unique(np.concatenate([fold.train.labels for fold in folds]))[::-1]
        times = [pair_times(fold.train, levels, 2 if quick else 5) for fold in folds]
        cs_of = {method: [chosen(result)] for method, result in results.items()}
        scores = {method: result.scores for method, result in results.items()}
        for method in (*AGGREGATORS, BY_VALIDATION, BY_HAND):
            scores[method] = scores_of(models[CHOSEN][method], folds)
            cs_of[method] = [[f"{model.rankers_[0].C:g}" for model in models[CHOSEN][method]]]
        seeded = [f"{SAMPLED}, seed {seed}" for seed in setting.seeds]
        scores[SAMPLED] = np.array([scores.pop(method) for method in seeded])
        cs_of[SAMPLED] = [texts for method in seeded for texts in cs_of.pop(method)]
        bm25, reason = bm25_scores(setting.data, folds)
        if bm25 is not None:
            scores[BM25] = bm25
        scores = {method: scores[method] for method in ORDER if method in scores}
        summary = compare_methods(reproduction, test, scores, cs_of, reason, setting.seeds)
        if n_levels == N_RANKS:
            level_directions(reproduction, whole)
        summary |= order_errors(reproduction, diagnostics, levels)
        summary |= cosines(reproduction, diagnostics)
        n_draws = N_QUICK_DRAWS if quick else N_DRAWS
        fewer = list(diagnostics[LARGE].fewer["test"].values())
        compare_with_one_direction(reproduction, whole, LARGE_C, n_draws, fewer)
    if len(levels) == N_RANKS:
        definition_search(reproduction, summary)
    training_times(reproduction, times)
    return reproduction


def check_complete(folds: Sequence[Fold]) -> None:
    """Refuse missing values before anything is trained: Figure 1 has no coordinates for them."""
    for fold in folds:
        for part in (fold.train, fold.valid, fold.test):
            if part is not None and part.has_missing:
                raise ValueError(
                    f"multiple-hyperplanes needs data without missing values. {fold.name} has some."
                )


def scores_of(models: Sequence[Ranker], folds: Sequence[Fold]) -> Floats:
    """Scores of each fold's test documents by its model, query by query."""
    return np.concatenate(
        [
            fold.test.in_query_order(model.predict(fold.test))
            for model, fold in zip(models, folds, strict=True)
        ]
    )


def bm25_scores(data: str, folds: Sequence[Fold]) -> tuple[Floats | None, str]:
    """The column of BM25 of the test documents, query by query; or None, and the reason why."""
    column = BM25_FEATURES.get(data)
    if column is None:
        known = "its documentation lists the features without their columns"
        reason = known if data in WITHOUT_COLUMNS else "which column it is is not known"
        return None, f" There is no row for BM25: {reason}."
    n_features = min(fold.test.n_features for fold in folds)
    if column > n_features:
        reason = f"it is feature {column}, and the data has {n_features} features"
        return None, f" There is no row for BM25: {reason}."
    return np.concatenate([fold.test.features[:, column - 1] for fold in folds]), ""


def pair_times(train: RankingDataset, levels: Floats, n: int) -> dict[str, list[float]]:
    """CPU milliseconds of RankSVM for all pairs, and for each pair of ranks, `n` times in turn.

    Rank 1 is the best level.
    """
    rank = {float(level): place for place, level in enumerate(levels, start=1)}
    rankers = {BASELINE: RankSVM()}
    # Training also loads what the timed runs need.
    for high, low in MultipleHyperplaneRanker().fit(train).level_pairs_.tolist():
        rankers[f"({rank[high]},{rank[low]})"] = RankSVM(label_pairs=[(high, low)])
    times: dict[str, list[float]] = {name: [] for name in rankers}
    for _ in range(n):
        for name, ranker in rankers.items():
            times[name].append(1000 * cpu_seconds(partial(ranker.fit, train)))
    return times


def measures_of(test: RankingDataset) -> dict[str, Measure]:
    """The paper's measures. For MAP only the highest level is relevant."""
    level = float(test.labels.max())
    return {"ndcg@1": NDCG(1), "ndcg@10": NDCG_10, "map": AveragePrecision(relevance_level=level)}


def values_of(measure: Measure, test: RankingDataset, scores: Floats) -> Floats:
    """The values of each query; with a row for each seed if the scores have one."""
    if scores.ndim == 1:
        return measure(test, scores)
    return np.array([measure(test, row) for row in scores])


def compare_methods(
    reproduction: Reproduction,
    test: RankingDataset,
    scores: Scores,
    cs_of: Mapping[str, Sequence[Sequence[str]]],
    no_bm25: str,
    seeds: Sequence[int],
) -> Summary:
    """Table 3, BM25 and Figure 2."""
    measures = measures_of(test)
    values = {
        (method, name): values_of(measure, test, method_scores)
        for method, method_scores in scores.items()
        for name, measure in measures.items()
    }
    means = {key: float(by_query.mean()) for key, by_query in values.items()}
    # Each comparison is made once, and all by one measure are corrected together.
    compared = [(method, BASELINE) for method in scores if method not in (BASELINE, BM25)]
    compared.append((WEIGHTED, BORDA))
    if BM25 in scores:
        compared += [(BASELINE, BM25), (BORDA, BM25), (WEIGHTED, BM25)]
    tests = {
        name: corrected(
            {pair: paired_test(values[pair[0], name], values[pair[1], name]) for pair in compared}
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
        "are, tunes the weights on the training queries, and tries Borda and weighted Borda only.",
    )
    if BM25 in scores:
        column = BM25_FEATURES[reproduction.data]
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
        against = (BASELINE, BM25) if method == BM25 else (method, BASELINE)
        for name in measures:
            comparison = tests[name].get(against)
            row += [means[method, name], None if comparison is None else comparison.p]
        texts = [", ".join(of_run) for of_run in cs_of.get(method, ())]
        rows.append([*row, "; ".join(texts)])
    top = test.label_bounds[1] == test.labels.max()
    reproduction.table(
        "The values behind Table 3",
        ["method", *(c for name in measures for c in (name, "p")), "C in each fold"],
        rows,
        f"{len(top):,} test queries; {np.sum(top):,} of them have a document of the highest level, "
        f"the only level that MAP counts as relevant. P-values are of paired t-tests against "
        f"RankSVM. All tests by one measure, with those of the claims, are corrected together by "
        f"Holm's rule. Weights by validation and by hand are given to Borda's hyperplanes. By "
        f"hand, a pair of levels s > t weighs 2^s - 2^t. With half the documents, each hyperplane "
        f"draws its own half; values are means of {len(seeds)} seeds, and p covers the chance of "
        f"the draw. Overlapping parts: a hyperplane for each cut of the levels into upper and "
        f"lower ones. RSVM-IR is RankSVM with pairs weighed by query and labels. The nested ranker "
        f"has three stages of RankSVM, which each keep half of a list." + no_bm25,
    )
    reproduction.table(
        "Half the documents: the values of each seed",
        ["seed", *measures],
        [
            [str(seed), *(float(values[SAMPLED, name][run].mean()) for name in measures)]
            for run, seed in enumerate(seeds)
        ],
    )
    for method in (BORDA, WEIGHTED):
        words = method.removeprefix("MHR, ")
        reproduction.claim_better(
            f"MHR with {words} counts can outperform RankSVM",
            "NDCG@10",
            tests["ndcg@10"][method, BASELINE],
        )
    reproduction.claim_better(
        "weighted Borda counts are better than Borda counts",
        "NDCG@10",
        tests["ndcg@10"][WEIGHTED, BORDA],
    )
    if BM25 in scores:
        above = {m: tests["ndcg@10"][m, BM25] for m in (BASELINE, BORDA, WEIGHTED)}
        reproduction.claim(
            "both RankSVM and MHR are much better than BM25",
            "NDCG@10 "
            + "; ".join(f"{m} {difference(comparison)}" for m, comparison in above.items()),
            *above.values(),
        )
    compare_cuts(reproduction, test, scores)
    return {("improvement, per cent", f"{m}, {name}"): gain for (m, name), gain in gains.items()}


# What the paper says Borda counts improve most NDCG values by.
IMPROVEMENT = 0.02


@dataclass(frozen=True)
class Most:
    """Whether more than half of several tests say the same."""

    tests: Sequence[ClaimTest]

    @property
    def sign(self) -> int:
        """1: more than half are 1. -1: so many are -1 that this cannot be. 0: neither."""
        signs: list[int] = sorted((test.sign for test in self.tests), reverse=True)
        return signs[len(signs) // 2]


def compare_cuts(reproduction: Reproduction, test: RankingDataset, scores: Scores) -> None:
    """Figure 2, and whether most NDCG values improve by more than 2 per cent."""
    shown = (BASELINE, BORDA, WEIGHTED)
    values = {(m, k): NDCG(k)(test, scores[m]) for m in shown for k in CUTS}
    means = {key: float(by_query.mean()) for key, by_query in values.items()}
    tests: dict[int, PairedTest] = corrected(
        {k: paired_test(values[BORDA, k], (1 + IMPROVEMENT) * values[BASELINE, k]) for k in CUTS}
    )
    gains = {k: 100 * (means[BORDA, k] / means[BASELINE, k] - 1) for k in CUTS}
    reproduction.table(
        "Figure 2: NDCG at each cut",
        ["cut", *shown, "Borda's improvement, per cent", "p"],
        [[k, *(means[m, k] for m in shown), gains[k], tests[k].p] for k in CUTS],
        f"p is of a paired t-test of Borda against {1 + IMPROVEMENT:g} times RankSVM's value, "
        f"corrected by Holm's rule for the {len(CUTS)} cuts.",
    )
    reproduction.figure(
        "figure-2",
        "Figure 2: NDCG at each cut.",
        "curves",
        panels={reproduction.data: {m: (list(CUTS), [means[m, k] for k in CUTS]) for m in shown}},
        x_label="cut",
        y_label="NDCG",
    )
    above = sum(gain > 100 * IMPROVEMENT for gain in gains.values())
    significant = [sum(test.sign == sign for test in tests.values()) for sign in (1, -1)]
    reproduction.claim(
        "MHR with Borda counts improves most NDCG values by more than 2 per cent",
        f"{above} of {len(CUTS)} cuts improve by more than 2 per cent: {significant[0]} "
        f"significantly more, {significant[1]} significantly less",
        Most(list(tests.values())),
    )
