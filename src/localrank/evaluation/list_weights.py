"""What a weight of each list for each query would gain, and how much of that is chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.printing import Printed, Table
from localrank._base.progress import progress
from localrank._kernels.sorting import argsort_descending
from localrank.data import RankingDataset
from localrank.evaluation.significance import PairedTest, p_text, paired_test
from localrank.fusion._list_columns import list_names, values_of_lists
from localrank.fusion.fusion import COLUMN_OF, Normalisation
from localrank.measures import Measure, parse_measure
from localrank.rankers._judged import Judged

# Weights are multiples of 1 / n, with n by the number of lists. More lists have the last one.
_N_STEPS = {2: 50, 3: 10}
_N_STEPS_OF_MORE = 5
# The control deals differences out among so many documents.
_N_SIDE_BY_SIDE = 10


@dataclass(frozen=True, eq=False, repr=False)
class PerQueryWeights(Printed):
    """Weights of lists for each query in hindsight, beside their control.

    Attributes
    ----------
    measure : Measure
    list_names : tuple of str
    weights : ndarray of shape (n_lists,)
        The one best choice for all queries, in hindsight too.
    one : ndarray of shape (n_queries,)
        The measure of each query with these weights.
    values : ndarray of shape (n_queries,)
        The measure with the best weights of each query, chosen by the query's labels.
    control : ndarray of shape (n_controls, n_queries)
        The same as `values`, with the difference of the lists dealt out at random among
        documents of similar fused scores. One row per draw.
    """

    measure: Measure
    list_names: tuple[str, ...]
    weights: Floats
    one: Floats
    values: Floats
    control: Floats

    @property
    def test(self) -> PairedTest:
        """Hindsight against its control."""
        return paired_test(self.values, self.control.mean(axis=0))

    @property
    def sentence(self) -> str:
        """The result in words."""
        one, best, control = (
            float(values.mean()) for values in (self.one, self.values, self.control)
        )
        return (
            f"Weights for each query, chosen in hindsight, gain {best - one:+.4f} {self.measure} "
            f"over the same weights for all. Where the difference of the lists is dealt out at "
            f"random, hindsight gains {control - one:+.4f}. The lists themselves account for "
            f"{best - control:+.4f} ({p_text(self.test.p)}). That is what is left to a method that "
            f"chooses weights for each query."
        )

    def _shown(self) -> list[str | Table]:
        given = ", ".join(
            f"{name} {weight:.2f}"
            for name, weight in zip(self.list_names, self.weights, strict=True)
        )
        draws = "1 draw" if len(self.control) == 1 else f"{len(self.control)} draws"
        rows = [
            [f"one for all queries: {given}", f"{self.one.mean():.4f}"],
            ["the best for each query, in hindsight (a bound)", f"{self.values.mean():.4f}"],
            [f"the same in random directions ({draws})", f"{self.control.mean():.4f}"],
        ]
        return [
            Table(f"{self.measure}, weights of lists", ["weights", "mean"], rows),
            self.sentence,
        ]


def per_query_weights(
    dataset: RankingDataset,
    measure: str | Measure = "ndcg@10",
    *,
    normalisation: Normalisation = "z",
    n_controls: int = 5,
    random_state: int | None = 0,
) -> PerQueryWeights:
    """Would a weight for each query help? The best weights in hindsight, with their control.

    The best of many weights gains by chance alone. With Z the scores of the lists, one column each,
    w weights with sum 1, and w0 the one best choice for all queries, the documents of a query are
    ranked by Z w0 + Z (w - w0), and the best w is chosen by the query's labels. The control ranks
    them by Z w0 + P Z (w - w0), where P deals the rows out at random among ten documents that stand
    side by side in the ranking by Z w0. What the control gains, hindsight gains by chance, without
    any knowledge of the lists.

    Parameters
    ----------
    dataset : RankingDataset
        Labelled queries of two lists or more, as from `lists_dataset`. In any other dataset each
        feature is a list.
    measure : str or Measure, default="ndcg@10"
    normalisation : {"z", "min-max"}, default="z"
        The scale of a list within a query, as for `Fusion`.
    n_controls : int, default=5
        Number of random draws.
    random_state : int or None, default=0

    Returns
    -------
    PerQueryWeights
        For the queries that the measure does not skip.

    Notes
    -----
    Rows are dealt out among neighbours in the ranking, not among all documents, because lists agree
    more at the top of the ranking. The larger differences from further down would do more harm at
    the top than the lists' own differences, and the control would gain too little.

    Weights are multiples of 1/50 for two lists, of 1/10 for three, and of 1/5 for more. If small
    values of the measure are good, 1 minus the measure is used instead.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> dataset, _ = make_queries(60, n_features=2, n_types=1)
    >>> found = per_query_weights(dataset, n_controls=2)
    >>> bool((found.values >= found.one).all()), found.control.shape
    (True, (2, 60))
    >>> print(found.sentence[:57])
    Weights for each query, chosen in hindsight, gain +0.0354
    """
    if n_controls < 1:
        raise ValueError(f"The 'n_controls' argument must be 1 or larger. Got {n_controls}.")
    judged = Judged.of(dataset, parse_measure(measure))
    values = values_of_lists(judged.dataset, COLUMN_OF[normalisation], dataset.feature_names)
    if values.shape[1] < 2:
        raise ValueError("Weights of lists need two lists or more. The dataset has one.")
    names = list_names(dataset.feature_names) or dataset.feature_names
    if names is None:
        names = tuple(f"f{number}" for number in range(1, values.shape[1] + 1))
    found = in_hindsight(judged.by_query, values, judged.dataset.offsets, n_controls, random_state)
    return PerQueryWeights(judged.measure, tuple(names), *found)


def in_hindsight(
    by_query: Callable[[Floats], Floats],
    values: Floats,
    offsets: Integers,
    n_controls: int,
    random_state: int | None,
) -> tuple[Floats, Floats, Floats, Floats]:
    """The best weights for all queries, and values: with them, with each query's best, control.

    Parameters
    ----------
    by_query : callable
        From the score of each row to the value of each query.
    values : ndarray of shape (n_documents, n_lists)
    offsets : ndarray of shape (n_queries + 1,)
    n_controls : int
    random_state : int or None
    """
    tried = _weights(values.shape[1])
    rng = np.random.default_rng(random_state)
    with progress("Weights for each query", n_controls + 1) as advance:
        found = np.array([by_query(values @ weights) for weights in tried])
        chosen = int(found.mean(axis=1).argmax())
        weights, one, best = tried[chosen], found[chosen], found.max(axis=0)
        advance()
        control = np.empty((n_controls, len(one)))
        fused = values @ weights
        order = argsort_descending(fused, offsets)
        queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        blocks = (np.arange(len(fused)) - offsets[queries]) // _N_SIDE_BY_SIDE
        for draw in range(n_controls):
            dealt = np.empty_like(values)
            dealt[order] = values[order[np.lexsort((rng.random(len(fused)), blocks, queries))]]
            control[draw] = one
            for other in tried:
                in_direction = by_query(fused + dealt @ (other - weights))
                np.maximum(control[draw], in_direction, out=control[draw])
            advance()
    return weights, one, best, control


def _weights(n_lists: int) -> Floats:
    """Weights with sum 1 in equal steps, the nearest to equal ones first.

    Examples
    --------
    >>> len(_weights(2)), _weights(3)[0].round(1)
    (51, array([0.3, 0.3, 0.4]))
    """
    n_steps = _N_STEPS.get(n_lists, _N_STEPS_OF_MORE)
    # Bars between stars: each choice of places for the bars is one way to share the steps.
    bars = np.array(list(combinations(range(n_steps + n_lists - 1), n_lists - 1)))
    edges = np.column_stack(
        [np.full(len(bars), -1), bars, np.full(len(bars), n_steps + n_lists - 1)]
    )
    weights = (np.diff(edges, axis=1) - 1) / n_steps
    distances = ((weights - 1 / n_lists) ** 2).sum(axis=1)
    return np.asarray(weights[np.argsort(distances.round(9), kind="stable")])
