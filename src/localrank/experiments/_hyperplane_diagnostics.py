"""How the hyperplanes of label pairs differ: Tables 5, 6 and 7 of multiple hyperplanes.

The paper uses SVMlight, which lists the pairs of documents, so fewer pairs take less time. RankSVM
here lists no pairs. A hyperplane of two labels takes nearly as long as one for all pairs, so the
saving of Table 7 is not expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from localrank._base.arrays import Floats
from localrank.data import Fold, RankingDataset
from localrank.evaluation.hyperplanes import (
    HyperplaneCosines,
    OrderErrorRates,
    hyperplane_cosines,
    order_error_rates,
)
from localrank.evaluation.significance import PairedTest, corrected, p_text, paired_test
from localrank.experiments.published_numbers import published
from localrank.experiments.reproduction import (
    Reproduction,
    Value,
    difference,
    difference_cells,
)
from localrank.measures import OrderErrorRate
from localrank.rankers import MultipleHyperplaneRanker, RankSVM

PAPER = "multiple-hyperplanes"
DEFINITIONS = "definition search"
# Tables 5 and 6 come from a loss summed over the pairs, which hardly regularises.
LARGE_C = 1e4
CHOSEN, LARGE = "C as chosen", f"C = {LARGE_C:g}"
BASELINE, OWN = "RankSVM", "own plane"
# The paper counts ranks from the best, 1; labels count the other way.
N_RANKS, RANK_PAIRS = 3, ("(1,2)", "(1,3)", "(2,3)")

# Numbers by kind and name, as far as the paper has them.
Summary = dict[tuple[str, str], float]


@dataclass(frozen=True)
class Diagnostics:
    """Cosines and order error rates of one way to choose C.

    Attributes
    ----------
    cosines : list of HyperplaneCosines
        One for each fold.
    training : list of OrderErrorRates
        Rates on the training documents of each fold.
    test : OrderErrorRates
        Rates on the test documents of all folds. Label pairs without a hyperplane in some fold
        have none.
    fewer : dict from "training" or "test" to dict from label pair to PairedTest
        Whether a label pair's own plane makes fewer order errors than RankSVM, over queries. A
        training query has the mean over the folds that it trains in. The pairs of labels are
        corrected together. Pairs of labels that fewer than two queries have are left out.
    """

    cosines: list[HyperplaneCosines]
    training: list[OrderErrorRates]
    test: OrderErrorRates
    fewer: dict[str, dict[tuple[float, float], PairedTest]]

    @classmethod
    def of(
        cls,
        singles: Sequence[RankSVM],
        several: Sequence[MultipleHyperplaneRanker],
        folds: Sequence[Fold],
        test: RankingDataset,
    ) -> Diagnostics:
        """Compute them from the fitted models of each fold."""
        models = list(zip(singles, several, folds, strict=True))
        planes = [many.pair_scores(fold.test) for _, many, fold in models]
        pairs = set.intersection(*map(set, planes))
        # The test queries of all folds have their rows query by query.
        scores: dict[str, Any] = {
            BASELINE: np.concatenate(
                [fold.test.in_query_order(single.predict(fold.test)) for single, _, fold in models]
            ),
            OWN: {
                pair: np.concatenate(
                    [
                        fold.test.in_query_order(fold_scores[pair])
                        for fold_scores, fold in zip(planes, folds, strict=True)
                    ]
                )
                for pair in pairs
            },
        }
        trained = [
            (fold.train, single.predict(fold.train), many.pair_scores(fold.train))
            for single, many, fold in models
        ]
        return cls(
            [hyperplane_cosines(many, {BASELINE: single}) for single, many, _ in models],
            [
                order_error_rates(train, {BASELINE: single, OWN: own})
                for train, single, own in trained
            ],
            order_error_rates(test, scores),
            {
                "training": _fewer_errors(trained),
                "test": _fewer_errors([(test, scores[BASELINE], scores[OWN])]),
            },
        )


Pair = tuple[float, float]


def _fewer_errors(
    parts: Sequence[tuple[RankingDataset, Floats, Mapping[Pair, Floats]]],
) -> dict[Pair, PairedTest]:
    """Tests of RankSVM's order errors against those of the pair's own plane, over queries.

    Parts are queries, their scores by RankSVM and by the own plane of each pair of labels. Errors
    are numbers of document pairs, divided by the mean number of pairs in a query: the mean over
    queries is then the error rate of all pairs.
    """
    # Numbers of wrong pairs by both, and of all pairs, for each query of each part.
    found: dict[Pair, dict[Any, list[Floats]]] = {}
    for dataset, single, own in parts:
        for pair, scores in own.items():
            rate = OrderErrorRate(high=pair[0], low=pair[1])
            n_pairs = np.prod([dataset.count(dataset.labels == label) for label in pair], axis=0)
            rates = [rate(dataset, single), rate(dataset, scores), np.ones(len(n_pairs))]
            for query in np.flatnonzero(n_pairs):
                by_query = found.setdefault(pair, {}).setdefault(dataset.query_ids[query], [])
                by_query.append(n_pairs[query] * np.array([values[query] for values in rates]))
    tests = {}
    for pair in sorted(found, reverse=True):
        numbers = np.array([np.mean(of_parts, axis=0) for of_parts in found[pair].values()])
        if len(numbers) > 1:
            tests[pair] = paired_test(*(numbers[:, :2] / numbers[:, 2].mean()).T)
    return corrected(tests)


def order_errors(
    reproduction: Reproduction, diagnostics: Mapping[str, Diagnostics], levels: Floats
) -> Summary:
    """Table 6."""
    rates: dict[tuple[str, ...], list[float]] = {}
    for setting, diagnosis in diagnostics.items():
        for queries, several in (("training", diagnosis.training), ("test", [diagnosis.test])):
            for errors in several:
                for method, values in errors.rates.items():
                    for pair, rate in zip(_pair_names(errors, levels), values, strict=True):
                        rates.setdefault((setting, queries, method, pair), []).append(float(rate))
    ours = {key: float(np.mean(values)) for key, values in rates.items()}
    # The paper has three ranks. Of other data, "(1,2)" would be other documents.
    printed = published(PAPER, "table-6", reproduction.data) if len(levels) == N_RANKS else {}
    average, trials = _by_plane(printed.get("average", {})), _by_plane(printed)
    reproduction.compare(
        "Table 6: order error rates",
        ["setting", "queries", "hyperplane", "rank pair"],
        ours,
        {
            (setting, "training", *names): rate
            for setting in diagnostics
            for names, rate in average.items()
        },
        "Share of the document pairs with these two ranks (1 is the best) that are in the wrong "
        "order. Rates on training queries are means over the folds. The paper's rates are of "
        "training queries, with SVMlight's default parameters. Rates on test queries and with C as "
        "chosen are ours alone.",
    )
    if trials:
        reproduction.table(
            "Table 6: lowest and highest order error rate on training queries",
            ["hyperplane", "rank pair", "our folds", "published trials"],
            [
                [*names, _range(rates[LARGE, "training", *names]), _range(trial_rates)]
                for names, trial_rates in trials.items()
            ],
            f"Ours with {LARGE}.",
        )
    reproduction.figure(
        "table-6",
        "Order error rates as in Table 6, but on the test queries, C as chosen.",
        diagnostics[CHOSEN].test.chart(),
    )
    names = {pair: _pair_name(pair, levels) for pair in combinations(levels.tolist(), 2)}
    reproduction.table(
        "Table 6: order error rate of RankSVM, less that of the rank pair's own plane",
        ["setting", "queries", "rank pair", "less", "p", "won/tied/lost"],
        [
            [setting, queries, names[pair], *difference_cells(test)]
            for setting, diagnosis in diagnostics.items()
            for queries, tests in diagnosis.fewer.items()
            for pair, test in tests.items()
        ],
        "Rates of all document pairs. P-values are of paired t-tests over the queries with both "
        "ranks, each with its number of wrong pairs; of a training query, the mean over the folds. "
        "They are corrected by Holm's rule for the rank pairs of one setting and kind of queries. "
        "Training queries favour the own plane, which is fitted to these pairs alone: see the "
        "control.",
    )
    tests = diagnostics[LARGE].fewer["training"]
    reproduction.claim(
        "on training queries RankSVM makes more errors in ranking the pairs of two ranks than "
        "their own hyperplane",
        f"order error rate, {LARGE}: "
        + "; ".join(f"{names[pair]} {difference(test)}" for pair, test in tests.items()),
        *tests.values(),
    )
    return {
        ("order error rate", f"{method}, {pair}"): rate
        for (setting, queries, method, pair), rate in ours.items()
        if (setting, queries) == (LARGE, "training")
    }


def _by_plane(numbers: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """Numbers of Table 6 by hyperplane and rank pair; what the paper calls MHR is `OWN`."""
    return {
        (OWN if method == "MHR" else method, pair): value
        for method, pairs in numbers.items()
        if method != "average"
        for pair, value in pairs.items()
    }


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.4f} to {max(values):.4f}"


def _pair_names(rates: OrderErrorRates, levels: Floats) -> list[str]:
    """Label pairs as the paper writes them. The best rank is 1."""
    return [_pair_name(pair, levels) for pair in rates.label_pairs.tolist()]


def _pair_name(pair: Sequence[float], levels: Floats) -> str:
    rank = {float(level): place for place, level in enumerate(levels, start=1)}
    return f"({rank.get(pair[0], pair[0])},{rank.get(pair[1], pair[1])})"


def cosines(reproduction: Reproduction, diagnostics: Mapping[str, Diagnostics]) -> Summary:
    """Table 5."""
    numbers = published(PAPER, "table-5", reproduction.data)
    # The paper has three ranks.
    if len(diagnostics[CHOSEN].cosines[0].names) != 1 + len(RANK_PAIRS):
        numbers = {}
    columns = ["setting", "hyperplanes", "ours", "lowest", "highest"]
    if numbers:
        columns += ["published", "lowest", "highest", "difference"]
    rows: list[list[Value]] = []
    means: dict[tuple[str, str], float] = {}
    ranges: dict[tuple[str, str], float] = {}
    n_folds = len(diagnostics[CHOSEN].cosines)
    for setting, diagnosis in diagnostics.items():
        first = diagnosis.cosines[0]
        # A fold that lacks a level has fewer hyperplanes than the first.
        folds = [c.cosines for c in diagnosis.cosines if c.names == first.names]
        names = [BASELINE, *RANK_PAIRS] if len(first.names) == 4 else list(first.names)
        for i, j in combinations(range(len(names)), 2):
            pair = f"{names[i]}, {names[j]}"
            values = [float(cosines[i, j]) for cosines in folds]
            mean = means[setting, pair] = float(np.mean(values))
            ranges[setting, pair] = max(values) - min(values)
            row: list[Value] = [setting, pair, mean, min(values), max(values)]
            if numbers:
                trials = numbers[pair]
                average = float(np.mean(trials))
                row += [average, min(trials), max(trials), mean - average]
            rows.append(row)
    note = "Mean and range over the folds."
    reproduction.table("Table 5: cosines between hyperplanes", columns, rows, note)
    reproduction.figure(
        "table-5",
        "Table 5: cosines of the first fold, C as chosen.",
        diagnostics[CHOSEN].cosines[0].chart(),
    )
    if n_folds > 1:
        measured = []
        for setting in diagnostics:
            widest = max((key for key in ranges if key[0] == setting), key=lambda k: ranges[k])
            measured.append(f"{setting} by up to {ranges[widest]:.2f} ({widest[1]})")
        if numbers:
            pair = max(numbers, key=lambda name: max(numbers[name]) - min(numbers[name]))
            apart = max(numbers[pair]) - min(numbers[pair])
            measured.append(f"in the paper's own trials by up to {apart:.2f} ({pair})")
        reproduction.claim(
            "the cosines of the same hyperplanes do not change largely across trials",
            f"they change over {n_folds} folds: {'; '.join(measured)}",
        )
    return {("cosine", pair): mean for (setting, pair), mean in means.items() if setting == LARGE}


def training_times(
    reproduction: Reproduction, times: Sequence[Mapping[str, Sequence[float]]]
) -> None:
    """Table 7: training times of each hyperplane and of all, as shares of RankSVM's.

    Times are milliseconds of each fold, by the name of the hyperplane, one for each repeat.
    """
    names = dict.fromkeys(name for fold_times in times for name in fold_times)
    ours = {
        name: float(np.mean([np.mean(fold[name]) for fold in times if name in fold]))
        for name in names
    }
    # Of each repeat, all folds together.
    single = np.sum([fold[BASELINE] for fold in times], axis=0)
    several = np.sum([fold[name] for fold in times for name in fold if name != BASELINE], axis=0)
    ours["MHR"] = float(several.mean()) / len(times)
    shares = {name: value / ours[BASELINE] for name, value in ours.items() if name != BASELINE}
    theirs = _shares(reproduction.data) if shares.keys() >= set(RANK_PAIRS) else {}
    reproduction.compare(
        "Table 7: ratio of training times to that of RankSVM",
        ["hyperplanes"],
        {(name,): share for name, share in shares.items()},
        {(name,): share for name, share in theirs.items()},
        f"CPU time, mean of the folds and of {len(single)} repeats, C = 1; in each repeat all are "
        f"timed in turn. RankSVM takes {ours[BASELINE]:.0f} ms. MHR takes "
        f"{ours['MHR']:.0f} ms for all hyperplanes, one after another. The paper's program lists "
        f"the pairs of documents, ours does not, so fewer pairs save little. On the paper's "
        f"definition search the ratios are "
        f"{', '.join(f'{share:.2f} ({n})' for n, share in _shares(DEFINITIONS).items())}.",
    )
    test = paired_test(np.log(single), np.log(several))
    low, high = np.exp(-np.array(test.interval))[::-1]
    reproduction.claim(
        "MHR takes less time to train than RankSVM",
        f"ratio {np.exp(-test.mean_difference):.2f} ({low:.2f} to {high:.2f}), {p_text(test.p)}",
        test,
    )


def _shares(data: str) -> dict[str, float]:
    """The paper's times divided by RankSVM's, means of the trials. Other collections: empty."""
    means = {name: float(np.mean(v)) for name, v in published(PAPER, "table-7", data).items()}
    return {
        name.removeprefix("MHR, "): mean / means[BASELINE]
        for name, mean in means.items()
        if name != BASELINE
    }


def definition_search(reproduction: Reproduction, ours: Summary) -> None:
    """Tables 4, 5a and 6a: a collection that is not available, beside OHSUMED."""
    theirs = {data: _summary(data) for data in (DEFINITIONS, reproduction.data)}
    if not theirs[reproduction.data]:
        return
    reproduction.table(
        "Tables 4, 5a and 6a: the paper's definition search",
        [
            "quantity",
            "of",
            "definition search",
            f"{reproduction.data}, published",
            f"{reproduction.data}, ours",
        ],
        [
            [*key, value, theirs[reproduction.data].get(key), ours.get(key)]
            for key, value in theirs[DEFINITIONS].items()
        ],
        f"The data of definition search is not available, so we have no numbers for it. Published "
        f"numbers are means of the paper's four trials. Ours are those above, cosines and errors "
        f"with {LARGE}.",
    )


def _summary(data: str) -> Summary:
    """The paper's numbers for a collection."""
    gains = published(PAPER, "table-4", data) or published(PAPER, "table-3", data)
    summary: Summary = {
        ("improvement, per cent", f"{method}, {name}"): gain
        for method, by_measure in gains.items()
        for name, gain in by_measure.items()
    }
    for pair, trials in published(PAPER, "table-5", data).items():
        summary["cosine", pair] = float(np.mean(trials))
    errors = published(PAPER, "table-6", data).get("average", {})
    for (method, pair), rate in _by_plane(errors).items():
        summary["order error rate", f"{method}, {pair}"] = rate
    return summary


# The query of OHSUMED that the paper shows.
EXAMPLE = 5
# Directions are learned in at most this many queries, and in the one that is shown.
MAX_SHOWN = 200
RANKS = ("rank 1, the best", "rank 2", "rank 3")


def level_directions(reproduction: Reproduction, dataset: RankingDataset) -> None:
    """Draw a query in its two principal coordinates, and compare the directions in all queries.

    RankSVM learns the directions in these coordinates, from the documents of the query alone. They
    describe the labels and predict nothing.
    """
    levels = np.unique(dataset.labels)[::-1]
    whole = [
        query
        for query in range(dataset.n_queries)
        if len(np.unique(labels_of(dataset, query))) == len(levels)
    ]
    if not whole:
        return
    n_whole = len(whole)
    shown = max(
        whole,
        key=lambda query: (dataset.query_ids[query] == EXAMPLE, len(labels_of(dataset, query))),
    )
    whole = sorted({*whole[:MAX_SHOWN], shown})
    directions = {query: _directions(dataset, query, levels) for query in whole}
    names = (BASELINE, *RANK_PAIRS)
    cosines = {
        (first, second): np.array(
            [normals[first] @ normals[second] for normals in directions.values()]
        )
        for first, second in combinations(names, 2)
    }
    shown_normals = directions[shown]
    rows: list[list[Value]] = [
        [
            f"{first}, {second}",
            float(shown_normals[first] @ shown_normals[second]),
            float(values.mean()),
            float((values < 0).mean()),
        ]
        for (first, second), values in cosines.items()
    ]
    name = dataset.query_ids[shown]
    reproduction.table(
        "Figure 1: cosines between directions in a query's two principal coordinates",
        ["directions", f"query {name}", "mean of queries", "share of queries below 0"],
        rows,
        f"{len(whole):,} of the {n_whole:,} queries with documents of all three ranks. In each, "
        f"RankSVM learns from its documents alone, in two coordinates: from all pairs of "
        f"documents, and from the pairs of each two ranks.",
    )
    coordinates, labels = principal_coordinates(dataset, shown), labels_of(dataset, shown)
    reproduction.figure(
        "figure-1",
        f"Figure 1: the documents of query {name} in their two principal coordinates, and the "
        f"directions in which hyperplanes separate two ranks.",
        "directions",
        points={
            rank: coordinates[labels == level] for rank, level in zip(RANKS, levels, strict=True)
        },
        directions=shown_normals,
        title=f"{reproduction.data}, query {name}",
    )
    lowest = float(
        np.median(
            [
                min(normals[a] @ normals[b] for a, b in combinations(RANK_PAIRS, 2))
                for normals in directions.values()
            ]
        )
    )
    reproduction.claim(
        "in two principal coordinates of a query the directions between ranks are very different",
        f"query {name}: cosines "
        + ", ".join(
            f"{shown_normals[a] @ shown_normals[b]:.2f}" for a, b in combinations(RANK_PAIRS, 2)
        )
        + f"; median of the queries' lowest {lowest:.2f}",
    )


def labels_of(dataset: RankingDataset, query: int) -> Floats:
    """The labels of a query's documents."""
    labels: Floats = dataset.labels[dataset.offsets[query] : dataset.offsets[query + 1]]
    return labels


def principal_coordinates(dataset: RankingDataset, query: int) -> Floats:
    """A query's documents in two principal components. The loadings of each have a sum above 0."""
    X = dataset.features[dataset.offsets[query] : dataset.offsets[query + 1]]
    centred = X - X.mean(axis=0)
    _, _, components = np.linalg.svd(centred, full_matrices=False)
    axes = components[:2] * np.where(components[:2].sum(axis=1) < 0, -1, 1)[:, None]
    coordinates: Floats = centred @ axes.T
    return coordinates


def _directions(dataset: RankingDataset, query: int, levels: Floats) -> dict[str, Floats]:
    """Unit normals of RankSVM's hyperplanes: one for all pairs, and one per pair of ranks."""
    coordinates, labels = principal_coordinates(dataset, query), labels_of(dataset, query)
    plane = RankingDataset.from_arrays(coordinates, labels, np.zeros(len(labels)))
    pairs = [None, *([(float(a), float(b))] for a, b in combinations(levels, 2))]
    normals = {}
    for name, pair in zip((BASELINE, *RANK_PAIRS), pairs, strict=True):
        normal = RankSVM(LARGE_C, scaling=None, label_pairs=pair).fit(plane).coef_
        length = float(np.linalg.norm(normal))
        normals[name] = normal / length if length else normal
    return normals
