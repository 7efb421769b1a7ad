"""What a ranking loses when a feature tells documents of a query no longer apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localrank.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.data.content_order import content_order
from localrank.estimator import drawn_seed
from localrank.measures import Measure, parse_measure
from localrank.parallel import in_parallel
from localrank.rankers import Ranker

# Features of a printed result at most.
N_LINES = 15


@dataclass(frozen=True, eq=False, repr=False)
class PermutationImportance:
    """What is lost without each feature; prints the features that matter most.

    Attributes
    ----------
    measure : Measure
    value : float
        Mean of the measure with all features.
    means : ndarray of shape (n_features,)
        Mean loss over the queries: positive where the feature helps, whether larger values of
        the measure are better or smaller ones.
    standard_errors : ndarray of shape (n_features,)
        Of the means, over queries; NaN where only one query counts.
    losses : ndarray of shape (n_features, n_queries)
        The loss of each query, the mean of the repeats; NaN where the measure skips a query.
    feature_names : tuple of str
    """

    measure: Measure
    value: float
    means: Floats
    standard_errors: Floats
    losses: Floats
    feature_names: tuple[str, ...]

    def __repr__(self) -> str:
        order = np.argsort(-self.means, kind="stable")
        shown = order[:N_LINES]
        width = max(len(self.feature_names[column]) for column in shown)
        lines = [f"{self.measure} is {self.value:.4f}. It loses without"]
        lines += [
            f"  {self.feature_names[column]:<{width}}  {self.means[column]:+.4f} "
            f"± {self.standard_errors[column]:.4f}"
            for column in shown
        ]
        if len(order) > len(shown):
            lines.append(f"  and less without the {len(order) - len(shown):,} others")
        return "\n".join(lines)


def permutation_importance(
    ranker: Ranker,
    dataset: RankingDataset,
    measure: str | Measure = "ndcg@10",
    *,
    n_repeats: int = 5,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> PermutationImportance:
    """What a fitted ranker loses when a feature's values are exchanged within each query.

    The documents of a query keep all other values and labels, and swap the values of one feature
    at random. It works for every ranker. Features that say the same stand in for each other, and
    then none of them seems to matter. The result does not depend on the order of queries and
    documents.

    Parameters
    ----------
    ranker : Ranker
        Fitted.
    dataset : RankingDataset
        Labelled queries, better not those of the training.
    measure : str or Measure, default="ndcg@10"
    n_repeats : int, default=5
        Random exchanges, the same for every feature.
    n_jobs : int or None, default=None
        Features at the same time; -1 for all cores. The result does not depend on it.
    random_state : int or None, default=0

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import BestFeature
    >>> dataset, _ = make_queries(50, n_features=5, random_state=0)
    >>> ranker = BestFeature().fit(dataset)
    >>> importance = permutation_importance(ranker, dataset)
    >>> np.flatnonzero(importance.means).tolist() == [ranker.feature_]
    True
    """
    if not isinstance(n_repeats, int) or n_repeats < 1:
        raise ValueError(
            f"The 'n_repeats' argument must be a whole number, 1 or larger. Got {n_repeats!r} "
            f"instead."
        )
    measure = parse_measure(measure)
    sign = 1.0 if measure.higher_is_better else -1.0
    ranker.predict(dataset)  # refuses what the ranker cannot rank
    # In an order that the content decides, so that the same values are exchanged in any order.
    rows, queries = content_order(dataset)
    dataset = dataset.reordered(rows, queries)
    before = measure.of_rows(dataset, ranker.predict_rows(dataset))
    if np.isnan(before).all():
        raise ValueError(f"{measure} skips every query: there is nothing to lose.")
    orders = _orders_within_queries(dataset, n_repeats, drawn_seed(random_state))

    def losses_without(
        column: int, ranker: Ranker, dataset: RankingDataset, orders: list[Integers], before: Floats
    ) -> Floats:
        features = dataset.features.copy()
        total = np.zeros(dataset.n_queries)
        for order in orders:
            features[:, column] = dataset.features[order, column]
            scores = ranker.predict_rows(dataset.replaced(features=features))
            total += sign * (before - measure.of_rows(dataset, scores))
        return total / n_repeats

    columns = range(dataset.n_features)
    losses = np.empty((dataset.n_features, dataset.n_queries))
    losses[:, queries] = in_parallel(
        losses_without,
        columns,
        shared=(ranker, dataset, orders, before),
        n_jobs=n_jobs,
        description="Features",
    )
    # Summed in the order of the content: sums round the same in any order of the queries.
    counted = losses[:, queries][:, ~np.isnan(before)]
    n = counted.shape[1]
    deviations = counted.std(axis=1, ddof=1) if n > 1 else np.full(len(counted), np.nan)
    return PermutationImportance(
        measure=measure,
        value=float(np.nanmean(before)),
        means=counted.mean(axis=1),
        standard_errors=deviations / np.sqrt(n),
        losses=losses,
        feature_names=tuple(dataset.feature_label(column) for column in columns),
    )


def _orders_within_queries(dataset: RankingDataset, n: int, seed: int) -> list[Integers]:
    """Rows in random order within each query, as often as wanted."""
    rng = np.random.default_rng(seed)
    return [np.lexsort((rng.random(dataset.n_documents), dataset.query_index)) for _ in range(n)]
