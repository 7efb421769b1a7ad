"""How hyperplanes of different label pairs differ: their directions, and the pairs they get wrong.

The diagnostics of Qin, Liu, Lai, Zhang, Wang, Li. Ranking with Multiple Hyperplanes. SIGIR 2007.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from localrank.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.estimator import check_is_fitted
from localrank.measures import OrderErrorRate, evaluate
from localrank.plots import Chart, save_figure
from localrank.rankers import MultipleHyperplaneRanker
from localrank.rankers.linear import LinearRanker

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Most label levels that errors are counted for: 190 pairs.
MAX_LEVELS = 20

Pair = tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class HyperplaneCosines:
    """Cosines between the directions of hyperplanes.

    Attributes
    ----------
    names : tuple of str
        Of the hyperplanes; "2 > 1" is the one of labels 2 and 1.
    cosines : ndarray of shape (n_hyperplanes, n_hyperplanes)
        NaN where a hyperplane has no direction, all its weights being 0.
    """

    names: tuple[str, ...]
    cosines: Floats

    def text(self) -> str:
        """The upper triangle as a table."""
        width = max(7, 2 + max(map(len, self.names)))
        lines = [" " * width + "".join(f"{name:>{width}}" for name in self.names)]
        for row, name in enumerate(self.names):
            cells = "".join(f"{cosine:>{width}.2f}" for cosine in self.cosines[row, row:])
            lines.append(f"{name:<{width}}" + " " * (width * row) + cells)
        return "\n".join(lines)

    __repr__ = text

    def plot(self) -> Figure:
        """A heat map, as a matplotlib figure. Needs the extra `localrank[plots]`."""
        return self.chart().draw()

    def chart(self) -> Chart:
        """What the plot shows, as data."""
        return Chart(
            "cosines",
            names=self.names,
            cosines=self.cosines,
            title="Cosine between hyperplanes",
        )

    def save_plot(self, path: str | PathLike[str]) -> None:
        """Write the plot as .svg, .png or .pdf. Needs the extra `localrank[plots]`."""
        save_figure(self.plot(), path)


@dataclass(frozen=True, eq=False, repr=False)
class OrderErrorRates:
    """Shares of document pairs that are in the wrong order, for each pair of labels.

    Attributes
    ----------
    label_pairs : ndarray of shape (n_label_pairs, 2)
        High and low label, from the highest down.
    n_pairs : ndarray of shape (n_label_pairs,)
        Number of document pairs with these labels in the same query.
    rates : dict from name to ndarray of shape (n_label_pairs,)
        NaN where there are no scores for a pair of labels.
    """

    label_pairs: Floats
    n_pairs: Integers
    rates: dict[str, Floats]

    def text(self) -> str:
        """A table with a row for each pair of labels."""
        widths = [max(len(name), 6) for name in self.rates]
        header = "".join(f"  {name:>{w}}" for name, w in zip(self.rates, widths, strict=True))
        lines = [f"{'labels':<10}{'pairs':>12}{header}"]
        for row, name in enumerate(_pair_names(self.label_pairs)):
            cells = "".join(
                f"  {rates[row]:>{width}.4f}"
                for rates, width in zip(self.rates.values(), widths, strict=True)
            )
            lines.append(f"{name:<10}{self.n_pairs[row]:>12,}{cells}")
        return "\n".join(lines)

    __repr__ = text

    def plot(self) -> Figure:
        """Bars, as a matplotlib figure. Needs the extra `localrank[plots]`."""
        return self.chart().draw()

    def chart(self) -> Chart:
        """What the plot shows, as data."""
        names = _pair_names(self.label_pairs)
        return Chart(
            "bars",
            panels={"Document pairs in the wrong order": self.rates},
            ticks=[f"{name}\n{n:,} pairs" for name, n in zip(names, self.n_pairs, strict=True)],
            y_label="order error rate",
            numbers="%.3f",
        )

    def save_plot(self, path: str | PathLike[str]) -> None:
        """Write the plot as .svg, .png or .pdf. Needs the extra `localrank[plots]`."""
        save_figure(self.plot(), path)


def hyperplane_cosines(
    ranker: MultipleHyperplaneRanker, others: Mapping[str, LinearRanker] | None = None
) -> HyperplaneCosines:
    """Cosines between the hyperplanes of a fitted ranker, and others beside them.

    Angles are those between weights of scaled features: with `scaling="standard"` all weights
    are brought to the scale of the first hyperplane.

    Parameters
    ----------
    ranker : MultipleHyperplaneRanker
        Fitted, of linear rankers.
    others : dict from name to LinearRanker, optional
        Fitted with the same kind of scaling; they come first.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(50, random_state=0)
    >>> ranker = MultipleHyperplaneRanker(pairs="adjacent").fit(dataset)
    >>> hyperplane_cosines(ranker, {"RankSVM": RankSVM().fit(dataset)})
               RankSVM    4 > 3    3 > 2    2 > 1    1 > 0
    RankSVM       1.00     0.39     0.80     0.80     0.97
    4 > 3                  1.00     0.01     0.35     0.32
    3 > 2                           1.00     0.53     0.78
    2 > 1                                    1.00     0.69
    1 > 0                                             1.00
    """
    check_is_fitted(ranker, "rankers_")
    hyperplanes = dict(others or {})
    hyperplanes |= dict(zip(_pair_names(ranker.level_pairs_), ranker.rankers_, strict=True))
    first = ranker.rankers_[0]
    weights = []
    for name, one in hyperplanes.items():
        if not isinstance(one, LinearRanker):
            raise ValueError(f"{name} has no hyperplane: it is no linear ranker but {one}.")
        if one.scaling != first.scaling:
            raise ValueError(
                f"Hyperplanes need the same kind of scaling. {name} has {one.scaling!r}, "
                f"{type(ranker).__name__} {first.scaling!r}."
            )
        check_is_fitted(one, "coef_")
        # Without the indicators of missing values, in which hyperplanes may differ.
        own = slice(first.n_features_in_)
        if one.scaling == "standard":
            weights.append(one.coef_[own] / one.scale_[own] * first.scale_[own])
        else:
            weights.append(one.coef_[own])
    matrix = np.array(weights)
    norms = np.sqrt(np.sum(matrix**2, axis=1))
    matrix = matrix / np.where(norms > 0, norms, np.nan)[:, None]
    return HyperplaneCosines(tuple(hyperplanes), np.clip(matrix @ matrix.T, -1, 1))


def order_error_rates(
    dataset: RankingDataset, scores: Mapping[str, ArrayLike | Mapping[Pair, ArrayLike]]
) -> OrderErrorRates:
    """Share of the document pairs with two labels that scores put in the wrong order.

    Pairs are of documents in the same query; all of the dataset count alike, and tied documents
    are half an error.

    Parameters
    ----------
    dataset : RankingDataset
        With at most 20 different labels.
    scores : dict from name to array-like of shape (n_documents,)
        In the order of the input. Instead of an array, a dict from (high, low) to array where
        every pair of labels has scores of its own, as `MultipleHyperplaneRanker.pair_scores`
        gives.

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
    labels           pairs  RankSVM  own plane
    4 > 3              304   0.3257     0.1316
    4 > 2              421   0.2090        nan
    4 > 1              634   0.0978        nan
    4 > 0            1,041   0.0336        nan
    3 > 2              977   0.3091     0.2467
    3 > 1            1,580   0.1880        nan
    3 > 0            3,020   0.0858        nan
    2 > 1            2,370   0.3574     0.3346
    2 > 0            5,416   0.1706        nan
    1 > 0            9,726   0.2497     0.2430
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
        raise ValueError("There is no order to get wrong: no query has two different labels.")
    measures = {pair: OrderErrorRate(high=pair[0], low=pair[1]) for pair in n_pairs}
    rates = {}
    for name, given in scores.items():
        if isinstance(given, Mapping):
            own = {pair: measures[pair](dataset, given[pair]) for pair in n_pairs if pair in given}
        else:
            found = evaluate(dataset, given, measures.values())
            own = {pair: found[measure] for pair, measure in measures.items()}
        rates[name] = np.array(
            [
                np.nansum(own[pair] * numbers) / numbers.sum() if pair in own else np.nan
                for pair, numbers in n_pairs.items()
            ]
        )
    return OrderErrorRates(
        np.array(list(n_pairs)), np.array([numbers.sum() for numbers in n_pairs.values()]), rates
    )


def _pair_names(pairs: Floats) -> list[str]:
    return [f"{high:g} > {low:g}" for high, low in pairs]
