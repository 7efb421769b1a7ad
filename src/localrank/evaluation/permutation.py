"""Permutation importance: what a ranking loses when a feature is shuffled within each query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.estimator import drawn_seed
from localrank._base.parallel import in_parallel
from localrank._base.printing import Printed, Table
from localrank.data import RankingDataset
from localrank.data._content_order import content_order
from localrank.data._frames import FrameLibrary, frame_of
from localrank.evaluation.plots.chart import Chart, Plotted
from localrank.measures import Measure, parse_measure
from localrank.rankers import Ranker
from localrank.rankers._inputs import admitted_to

# At most this many features stand in a printed or drawn result.
N_SHOWN = 15


@dataclass(frozen=True, eq=False, repr=False)
class PermutationImportance(Printed, Plotted):
    """The loss without each feature. It prints the features that matter most.

    Attributes
    ----------
    measure : Measure
    value : float
        Mean of the measure with all features.
    means : ndarray of shape (n_features,)
        Mean loss over the queries. A positive loss means that the feature helps, even if smaller
        values of the measure are better.
    standard_errors : ndarray of shape (n_features,)
        Standard errors of the means over queries. NaN: only one query counts.
    losses : ndarray of shape (n_features, n_queries)
        The loss of each query, averaged over the repeats. NaN: the measure skips the query.
    feature_names : tuple of str
    frame_library : str or None
        The library of the DataFrame that the data came in.
    """

    measure: Measure
    value: float
    means: Floats
    standard_errors: Floats
    losses: Floats
    feature_names: tuple[str, ...]
    frame_library: str | None = None

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per feature, in the order of the columns.

        `library` is as in `RankingDataset.to_frame`.
        """
        columns = {
            "feature": np.array(self.feature_names),
            "mean": self.means,
            "standard_error": self.standard_errors,
        }
        return frame_of(columns, library, self.frame_library)

    def chart(self) -> Chart:
        """Bars of the features that matter most."""
        shown = self._order()[:N_SHOWN]
        title = f"Loss in {self.measure} without a feature"
        return Chart(
            "bars",
            panels={title: {"mean loss": self.means[shown]}},
            ticks=[self.feature_names[column] for column in shown],
            y_label=f"loss in {self.measure}",
            numbers="%.3f",
            rotation=60,
        )

    def _order(self) -> Integers:
        return np.argsort(-self.means, kind="stable")

    def _shown(self) -> list[str | Table]:
        order = self._order()
        rows = [
            [
                self.feature_names[column],
                f"{self.means[column]:+.4f}",
                f"{self.standard_errors[column]:.4f}",
            ]
            for column in order[:N_SHOWN]
        ]
        title = f"{self.measure} is {self.value:.4f}; its loss without a feature"
        n_more = len(order) - len(rows)
        table = Table(title, ["feature", "loss", "standard error"], rows)
        more = f"The loss without each of the other {n_more:,} features is smaller."
        return [table, more] if n_more else [table]


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

    The documents of a query swap the values of one feature at random. They keep all other values
    and their labels. This works for every ranker. Features that say the same replace each other, so
    none of them seems to matter. The result does not depend on the order of queries and documents.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker.
    dataset : RankingDataset
        Labelled queries, preferably others than those of the training.
    measure : str or Measure, default="ndcg@10"
    n_repeats : int, default=5
        Number of random exchanges. They are the same for every feature.
    n_jobs : int or None, default=None
        Number of features at the same time. -1: all cores. The result does not depend on it.
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
    dataset = admitted_to(ranker, dataset, None)
    ranker.predict(dataset)  # refuses scores that are not finite
    # The content decides the order, so that the same values are exchanged in any order.
    rows, queries = content_order(dataset)
    dataset = dataset.reordered(rows, queries)
    before = measure.of_rows(dataset, ranker.predict_rows(dataset))
    if np.isnan(before).all():
        raise ValueError(f"{measure} skips every query, so there is nothing to lose.")
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
        frame_library=dataset.frame_library,
    )


def _orders_within_queries(dataset: RankingDataset, n: int, seed: int) -> list[Integers]:
    """Rows in random order within each query, as often as wanted."""
    rng = np.random.default_rng(seed)
    return [np.lexsort((rng.random(dataset.n_documents), dataset.query_index)) for _ in range(n)]
