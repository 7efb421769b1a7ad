"""What the best choice of group would gain, and how much of that is chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.estimator import clone
from localrank._base.printing import Printed, Table
from localrank._base.progress import progress
from localrank.data import RankingDataset
from localrank.data.sampling import checked_limit
from localrank.grouping._training import TrainingQueries
from localrank.local_ranker import LocalRanker
from localrank.measures import Measure, parse_measure
from localrank.measures.base import mean_of_queries
from localrank.selection.clairvoyant import best_models


@dataclass(frozen=True, eq=False, repr=False)
class ClairvoyantBound(Printed):
    """The clairvoyant bound of a local ranker beside its control.

    Attributes
    ----------
    measure : Measure
    n_groups : int
    selected : ndarray of shape (n_queries,)
        The measure of each test query with the ranker's selection of groups.
    values : ndarray of shape (n_queries,)
        The measure of each query with its best group, chosen by the query's labels.
    control : ndarray of shape (n_controls, n_queries)
        The same as `values` for models of random groups, one row per draw.
    """

    measure: Measure
    n_groups: int
    selected: Floats
    values: Floats
    control: Floats

    @property
    def control_means(self) -> Floats:
        """Mean over the queries for each draw of random groups."""
        return np.array([mean_of_queries(row) for row in self.control])

    def _shown(self) -> list[str | Table]:
        controls = self.control_means
        spread = f" ± {controls.std(ddof=1):.4f}" if len(controls) > 1 else ""
        draws = "1 draw" if len(controls) == 1 else f"{len(controls)} draws"
        rows = [
            ["selected", f"{mean_of_queries(self.selected):.4f}"],
            ["clairvoyant (a bound)", f"{mean_of_queries(self.values):.4f}"],
            [f"clairvoyant on random groups ({draws})", f"{controls.mean():.4f}{spread}"],
        ]
        return [Table(f"{self.measure} of {self.n_groups} groups", ["choice", "mean"], rows)]


def clairvoyant_bound(
    ranker: LocalRanker,
    train: RankingDataset,
    test: RankingDataset,
    measure: str | Measure = "map",
    *,
    n_controls: int = 5,
    random_state: int | None = 0,
) -> ClairvoyantBound:
    """The best that any choice of one group per query can reach, with its random control.

    The best of several models gains by chance alone. The control is the same bound over random
    groups: each draw exchanges the training queries among the groups. Group sizes and overlaps
    stay as they are, and so does the number of queries with something to learn from. Only the
    part of the bound beyond the control is due to the grouping.

    Parameters
    ----------
    ranker : LocalRanker
        Fitted to `train`, or not fitted; then a clone is fitted.
    train, test : RankingDataset
        Labelled queries. The labels of `test` choose the group.
    measure : str or Measure, default="map"
    n_controls : int, default=5
        Number of draws of random groups. Each draw trains all models anew.
    random_state : int or None, default=0

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import local_rank
    >>> dataset, _ = make_queries(90)
    >>> train, test = dataset.select(range(60)), dataset.select(range(60, 90))
    >>> bound = clairvoyant_bound(local_rank(3), train, test, "ndcg@10", n_controls=2)
    >>> bool((bound.values >= bound.selected).all()), bound.control.shape
    (True, (2, 30))
    """
    bounds = clairvoyant_bounds(
        ranker, train, test, [measure], n_controls=n_controls, random_state=random_state
    )
    return bounds[0]


def clairvoyant_bounds(
    ranker: LocalRanker,
    train: RankingDataset,
    test: RankingDataset,
    measures: Sequence[str | Measure],
    *,
    n_controls: int = 5,
    random_state: int | None = 0,
) -> list[ClairvoyantBound]:
    """The bounds by several measures. The models of random groups are trained once for all.

    The best group for a query may differ between measures.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.recipes import local_rank
    >>> dataset, _ = make_queries(90)
    >>> train, test = dataset.select(range(60)), dataset.select(range(60, 90))
    >>> for bound in clairvoyant_bounds(local_rank(3), train, test, ["map", "p@5"], n_controls=2):
    ...     print(bound.measure, bound.control.shape)
    map (2, 30)
    p@5 (2, 30)
    """
    if n_controls < 1:
        raise ValueError(f"The 'n_controls' argument must be 1 or larger. Got {n_controls}.")
    parsed = [parse_measure(measure) for measure in measures]
    fitted = ranker if hasattr(ranker, "models_") else clone(ranker).fit(train)
    if not np.array_equal(fitted.training_query_ids_, train.query_ids):
        raise ValueError("The ranker was fitted to other queries than those in 'train'.")
    groups = fitted.groups_
    drawn: Any = fitted.training_data_.get("drawn")
    limit = checked_limit("auto", train) if drawn is None else drawn["max_documents"]
    training = TrainingQueries(train, fitted.ranker, n_jobs=fitted.n_jobs, max_documents=limit)
    rng = np.random.default_rng(random_state)
    control = np.empty((len(parsed), n_controls, test.n_queries))
    with progress("Random groups", n_controls) as advance:
        for draw in range(n_controls):
            exchanged = np.arange(train.n_queries)
            for kind in (np.flatnonzero(training.teaches), np.flatnonzero(~training.teaches)):
                exchanged[kind] = rng.permutation(kind)
            drawn = groups.renumbered(exchanged)
            models = training.models(drawn)
            control[:, draw] = [best_models(test, models, measure)[1] for measure in parsed]
            advance()
    selected = fitted.predict(test)
    return [
        ClairvoyantBound(
            measure,
            len(groups),
            measure(test, selected),
            best_models(test, fitted.models_, measure)[1],
            drawn,
        )
        for measure, drawn in zip(parsed, control, strict=True)
    ]
