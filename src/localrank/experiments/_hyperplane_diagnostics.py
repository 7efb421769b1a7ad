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
from localrank.experiments.published_numbers import published
from localrank.experiments.reproduction import Reproduction, Value
from localrank.rankers import MultipleHyperplaneRanker, RankSVM

PAPER = "multiple-hyperplanes"
DEFINITIONS = "definition search"
# Tables 5 and 6 come from a loss summed over the pairs, which hardly regularises.
LARGE_C = 1e4
CHOSEN, LARGE = "C as chosen", f"C = {LARGE_C:g}"
BASELINE, OWN = "RankSVM", "own plane"
# The paper counts ranks from the best, 1; labels count the other way.
RANK_PAIRS = ("(1,2)", "(1,3)", "(2,3)")

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
    """

    cosines: list[HyperplaneCosines]
    training: list[OrderErrorRates]
    test: OrderErrorRates

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
        scores: dict[str, Any] = {
            BASELINE: np.concatenate([single.predict(fold.test) for single, _, fold in models]),
            OWN: {
                pair: np.concatenate([fold_scores[pair] for fold_scores in planes])
                for pair in pairs
            },
        }
        return cls(
            [hyperplane_cosines(many, {BASELINE: single}) for single, many, _ in models],
            [
                order_error_rates(
                    fold.train,
                    {BASELINE: single.predict(fold.train), OWN: many.pair_scores(fold.train)},
                )
                for single, many, fold in models
            ],
            order_error_rates(test, scores),
        )


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
    printed = published(PAPER, "table-6", reproduction.data)
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
    lower = {
        setting: [
            ours[setting, "training", OWN, pair] < ours[setting, "training", BASELINE, pair]
            for pair in _pair_names(diagnostics[setting].training[0], levels)
            if not np.isnan(ours.get((setting, "training", OWN, pair), np.nan))
        ]
        for setting in diagnostics
    }
    reproduction.claim(
        "on training queries a rank pair's own hyperplane makes fewer order errors than RankSVM",
        all(lower[LARGE]),
        "; ".join(
            f"with {s} for {sum(fewer)} of {len(fewer)} rank pairs" for s, fewer in lower.items()
        ),
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
    rank = {float(level): place for place, level in enumerate(levels, start=1)}
    return [
        f"({rank.get(float(high), high)},{rank.get(float(low), low)})"
        for high, low in rates.label_pairs
    ]


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
    for setting, diagnosis in diagnostics.items():
        first = diagnosis.cosines[0]
        # A fold that lacks a level has fewer hyperplanes than the first.
        folds = [c.cosines for c in diagnosis.cosines if c.names == first.names]
        names = [BASELINE, *RANK_PAIRS] if len(first.names) == 4 else list(first.names)
        for i, j in combinations(range(len(names)), 2):
            pair = f"{names[i]}, {names[j]}"
            values = [float(cosines[i, j]) for cosines in folds]
            mean = means[setting, pair] = float(np.mean(values))
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
    chosen_means = [mean for (setting, _), mean in means.items() if setting == CHOSEN]
    reproduction.claim(
        "the hyperplanes of rank pairs point away from each other",
        min(chosen_means) < 0.5,
        f"mean cosines from {min(chosen_means):.2f} to {max(chosen_means):.2f}",
    )
    return {("cosine", pair): mean for (setting, pair), mean in means.items() if setting == LARGE}


def training_times(reproduction: Reproduction, times: Sequence[Mapping[str, float]]) -> None:
    """Table 7: training times of each hyperplane and of all, as shares of RankSVM's."""
    names = dict.fromkeys(name for fold_times in times for name in fold_times)
    ours = {
        name: float(np.mean([fold_times[name] for fold_times in times if name in fold_times]))
        for name in names
    }
    ours["MHR"] = float(
        np.mean([sum(fold_times.values()) - fold_times[BASELINE] for fold_times in times])
    )
    shares = {name: value / ours[BASELINE] for name, value in ours.items() if name != BASELINE}
    theirs = _shares(reproduction.data) if shares.keys() >= set(RANK_PAIRS) else {}
    reproduction.compare(
        "Table 7: ratio of training times to that of RankSVM",
        ["hyperplanes"],
        {(name,): share for name, share in shares.items()},
        {(name,): share for name, share in theirs.items()},
        f"CPU time, mean of the folds, C = 1. RankSVM takes {ours[BASELINE]:.0f} ms. MHR takes "
        f"{ours['MHR']:.0f} ms for all hyperplanes, one after another. The paper's program lists "
        f"the pairs of documents, ours does not, so fewer pairs save little. On the paper's "
        f"definition search the ratios are "
        f"{', '.join(f'{share:.2f} ({n})' for n, share in _shares(DEFINITIONS).items())}.",
    )
    ratio = shares["MHR"]
    reproduction.claim("MHR trains faster than RankSVM", ratio < 1, f"ratio {ratio:.2f}")


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
    shown = max(
        whole,
        key=lambda query: (dataset.query_ids[query] == EXAMPLE, len(labels_of(dataset, query))),
    )
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
        f"{len(whole):,} queries with documents of all three ranks. In each, RankSVM learns from "
        f"its documents alone, in two coordinates: from all pairs of documents, and from the pairs "
        f"of each two ranks.",
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
        lowest < 0.5,
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
