"""How hyperplanes of different label pairs differ: in their directions, and in their errors.

The diagnostics of Qin, Liu, Lai, Zhang, Wang, Li. Ranking with Multiple Hyperplanes. SIGIR 2007.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from localrank._base.arrays import Floats, Integers
from localrank._base.estimator import check_is_fitted
from localrank._base.printing import Printed, Table
from localrank.data import RankingDataset
from localrank.data._frames import FrameLibrary, frame_of
from localrank.evaluation.plots.chart import Chart, Plotted
from localrank.measures import OrderErrorRate, evaluate
from localrank.rankers import MultipleHyperplaneRanker
from localrank.rankers._linear import LinearRanker

# Errors are counted for at most this many different labels: 190 pairs.
MAX_LEVELS = 20

Pair = tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class HyperplaneCosines(Printed, Plotted):
    """Cosines between the directions of hyperplanes.

    Attributes
    ----------
    names : tuple of str
        Names of the hyperplanes. "2 > 1" is the hyperplane of labels 2 and 1.
    cosines : ndarray of shape (n_hyperplanes, n_hyperplanes)
        NaN: all weights of a hyperplane are 0, so it has no direction.
    """

    names: tuple[str, ...]
    cosines: Floats

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per pair of hyperplanes, with their cosine.

        `library` is as in `RankingDataset.to_frame`.
        """
        columns = {
            "hyperplane": np.repeat(self.names, len(self.names)),
            "other": np.tile(self.names, len(self.names)),
            "cosine": self.cosines.ravel(),
        }
        return frame_of(columns, library)

    def _shown(self) -> list[str | Table]:
        rows = [
            [name, *[""] * row, *(f"{cosine:.2f}" for cosine in self.cosines[row, row:])]
            for row, name in enumerate(self.names)
        ]
        return [Table("Cosine between hyperplanes", ["", *self.names], rows)]

    def chart(self) -> Chart:
        """A heat map."""
        return Chart(
            "cosines",
            names=self.names,
            cosines=self.cosines,
            title="Cosine between hyperplanes",
        )


@dataclass(frozen=True, eq=False, repr=False)
class OrderErrorRates(Printed, Plotted):
    """Shares of document pairs that are in the wrong order, for each pair of labels.

    Attributes
    ----------
    label_pairs : ndarray of shape (n_label_pairs, 2)
        High and low label, from the highest down.
    n_pairs : ndarray of shape (n_label_pairs,)
        Number of document pairs with these labels in the same query.
    rates : dict from name to ndarray of shape (n_label_pairs,)
        NaN: there are no scores for this pair of labels.
    frame_library : str or None
        The library of the DataFrame that the data came in.
    """

    label_pairs: Floats
    n_pairs: Integers
    rates: dict[str, Floats]
    frame_library: str | None = None

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per pair of labels: high, low, n_pairs and the rates.

        `library` is as in `RankingDataset.to_frame`.
        """
        high, low = self.label_pairs.T
        columns = {"high": high, "low": low, "n_pairs": self.n_pairs, **self.rates}
        return frame_of(columns, library, self.frame_library)

    def _shown(self) -> list[str | Table]:
        rows = [
            [name, f"{self.n_pairs[row]:,}", *(_rate(rates[row]) for rates in self.rates.values())]
            for row, name in enumerate(_pair_names(self.label_pairs))
        ]
        return [Table("Document pairs in the wrong order", ["labels", "pairs", *self.rates], rows)]

    def chart(self) -> Chart:
        """Bars for each pair of labels."""
        names = _pair_names(self.label_pairs)
        return Chart(
            "bars",
            panels={"Document pairs in the wrong order": self.rates},
            ticks=[f"{name}\n{n:,} pairs" for name, n in zip(names, self.n_pairs, strict=True)],
            y_label="order error rate",
            numbers="%.3f",
        )


def hyperplane_cosines(
    ranker: MultipleHyperplaneRanker, others: Mapping[str, LinearRanker] | None = None
) -> HyperplaneCosines:
    """Cosines between the hyperplanes of a fitted ranker, and of other rankers.

    Angles are between weights of scaled features. With `scaling="standard"` all weights are
    brought to the scale of the first hyperplane.

    Parameters
    ----------
    ranker : MultipleHyperplaneRanker
        A fitted ranker of linear rankers.
    others : dict from name to LinearRanker, optional
        Rankers fitted with the same kind of scaling. They come first.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(50, random_state=0)
    >>> ranker = MultipleHyperplaneRanker(pairs="adjacent").fit(dataset)
    >>> hyperplane_cosines(ranker, {"RankSVM": RankSVM().fit(dataset)})
    Cosine between hyperplanes
    <BLANKLINE>
              RankSVM  4 > 3  3 > 2  2 > 1  1 > 0
     ────────────────────────────────────────────
     RankSVM     1.00   0.39   0.80   0.80   0.97
     4 > 3              1.00   0.01   0.35   0.32
     3 > 2                     1.00   0.53   0.78
     2 > 1                            1.00   0.69
     1 > 0                                   1.00
    """
    check_is_fitted(ranker, "rankers_")
    hyperplanes = dict(others or {})
    hyperplanes |= dict(zip(_pair_names(ranker.level_pairs_), ranker.rankers_, strict=True))
    first = ranker.rankers_[0]
    weights = []
    for name, plane in hyperplanes.items():
        if not isinstance(plane, LinearRanker):
            raise ValueError(f"{name} has no hyperplane. It must be a linear ranker. Got {plane}.")
        if plane.scaling != first.scaling:
            raise ValueError(
                f"Hyperplanes need the same kind of scaling. {name} has {plane.scaling!r}, "
                f"{type(ranker).__name__} {first.scaling!r}."
            )
        check_is_fitted(plane, "coef_")
        # Without the indicators of missing values: hyperplanes may differ in them.
        columns = slice(first.n_features_in_)
        if plane.scaling == "standard":
            weights.append(plane.coef_[columns] / plane.scale_[columns] * first.scale_[columns])
        else:
            weights.append(plane.coef_[columns])
    matrix = np.array(weights)
    norms = np.sqrt(np.sum(matrix**2, axis=1))
    matrix = matrix / np.where(norms > 0, norms, np.nan)[:, None]
    return HyperplaneCosines(tuple(hyperplanes), np.clip(matrix @ matrix.T, -1, 1))


def order_error_rates(
    dataset: RankingDataset, scores: Mapping[str, ArrayLike | Mapping[Pair, ArrayLike]]
) -> OrderErrorRates:
    """For each pair of labels, the share of document pairs that scores put in the wrong order.

    Both documents of a pair are in the same query. All pairs count alike. A tie is half an error.

    Parameters
    ----------
    dataset : RankingDataset
        With at most 20 different labels.
    scores : dict from name to array-like of shape (n_documents,)
        Scores in the order of the input. Where every pair of labels has its own scores, a dict
        from (high, low) to array, as `MultipleHyperplaneRanker.pair_scores` returns.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(50, random_state=0)
    >>> one = RankSVM().fit(dataset)
    >>> many = MultipleHyperplaneRanker(pairs="adjacent").fit(dataset)
    >>> order_error_rates(
    ...     dataset, {"RankSVM": one.predict(dataset), "own plane": many.pair_scores(dataset)}
    ... )
    Document pairs in the wrong order
    <BLANKLINE>
     labels  pairs  RankSVM  own plane
     ─────────────────────────────────
     4 > 3     304   0.3257     0.1316
     4 > 2     421   0.2090
     4 > 1     634   0.0978
     4 > 0   1,041   0.0336
     3 > 2     977   0.3091     0.2467
     3 > 1   1,580   0.1880
     3 > 0   3,020   0.0858
     2 > 1   2,370   0.3574     0.3346
     2 > 0   5,416   0.1706
     1 > 0   9,726   0.2497     0.2430
    """
    levels, place = np.unique(dataset.labels, return_inverse=True)
    if len(levels) > MAX_LEVELS:
        raise ValueError(
            f"Order error rates of label pairs need at most {MAX_LEVELS} different labels. The "
            f"dataset has {len(levels):,}; the measure OrderErrorRate takes any number."
        )
    cells = np.bincount(
        dataset.query_index * len(levels) + place, minlength=dataset.n_queries * len(levels)
    )
    documents = cells.reshape(dataset.n_queries, len(levels))
    n_pairs = {
        (float(levels[high]), float(levels[low])): documents[:, high] * documents[:, low]
        for high, low in combinations(range(len(levels))[::-1], 2)
    }
    n_pairs = {pair: numbers for pair, numbers in n_pairs.items() if numbers.any()}
    if not n_pairs:
        raise ValueError("Order error rates need a query with two different labels.")
    measures = {pair: OrderErrorRate(high=pair[0], low=pair[1]) for pair in n_pairs}
    rates = {}
    for name, given in scores.items():
        if isinstance(given, Mapping):
            errors = {p: measures[p](dataset, given[p]) for p in n_pairs if p in given}
        else:
            values = evaluate(dataset, given, measures.values())
            errors = {pair: values[measure] for pair, measure in measures.items()}
        rates[name] = np.array(
            [
                np.nansum(errors[pair] * numbers) / numbers.sum() if pair in errors else np.nan
                for pair, numbers in n_pairs.items()
            ]
        )
    return OrderErrorRates(
        np.array(list(n_pairs)),
        np.array([numbers.sum() for numbers in n_pairs.values()]),
        rates,
        dataset.frame_library,
    )


def _rate(rate: float) -> str:
    return "" if np.isnan(rate) else f"{rate:.4f}"


def _pair_names(pairs: Floats) -> list[str]:
    return [f"{high:g} > {low:g}" for high, low in pairs]
