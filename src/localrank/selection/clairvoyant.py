"""The best group in hindsight: a bound, not a method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NoReturn

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._base.rules import Rules
from localrank.data import RankingDataset
from localrank.grouping.base import Groups
from localrank.measures import Measure, parse_measure
from localrank.measures.parsing import a_measure
from localrank.rankers import Ranker
from localrank.rankers.base import lists_of
from localrank.registry import declare
from localrank.representations.base import Representation
from localrank.selection.base import Selector


@declare("clairvoyant", "the best group by the query's labels: an upper bound")
class Clairvoyant(Selector):
    """Chooses the group whose model ranks the query best, by the query's labels [1].

    It is an upper bound for every selector that chooses one group, not a method to deploy. The
    best of several models gains by chance alone, so `localrank.evaluation.clairvoyant_bound`
    shows the bound of random groups beside it. Clairvoyant refuses queries without labels, and
    cannot be saved.

    Parameters
    ----------
    measure : str or Measure, default="map"
        The measure that decides. Among equally good groups the first is chosen.
    representation : Representation, optional
        How explanations find the nearest training queries. None: use the grouping's
        representation.

    References
    ----------
    1. Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. 2009.

    Examples
    --------
    >>> from localrank import LocalRanker
    >>> from localrank.data import make_queries
    >>> from localrank.grouping import Agglomerative
    >>> from localrank.representations import PrincipalComponents
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(40)
    >>> bound = LocalRanker(PrincipalComponents(), Agglomerative(2), RankSVM(), Clairvoyant())
    >>> bound.fit(dataset).predict(dataset).shape == (dataset.n_documents,)
    True
    >>> bound.save("bound.localrank")
    Traceback (most recent call last):
    ...
    ValueError: A model with Clairvoyant cannot be saved: it chooses by labels, which new
    queries do not have.
    """

    needs_labels: ClassVar[bool] = True
    _parameters: ClassVar[Rules] = {"measure": a_measure}

    def __init__(
        self, measure: str | Measure = "map", *, representation: Representation | None = None
    ) -> None:
        self.measure = measure
        self.representation = representation

    def weights(self, dataset: RankingDataset, models: Sequence[Ranker]) -> Floats:
        if dataset.relevance is None:
            raise ValueError("Clairvoyant chooses by labels. The dataset has none.")
        return self._all_on(best_models(dataset, models, parse_measure(self.measure))[0])

    def router(self) -> NoReturn:
        from localrank.formulas import NotExportable

        raise NotExportable(
            "A model with Clairvoyant",
            "it chooses by the labels of the list that it ranks",
            "Use a selector that serves new queries, such as NearestCentroid or Classifier.",
        )

    def _fit(self, groups: Groups) -> None:
        """Nothing to learn: the labels of each query decide."""


def best_models(
    dataset: RankingDataset, models: Sequence[Ranker], measure: Measure
) -> tuple[Integers, Floats]:
    """The model that ranks each query best by its labels, and the value that it reaches.

    Queries that the measure skips have the value NaN and the first model.
    """
    values = np.array([measure.of_rows(dataset, scores) for scores in lists_of(models, dataset)])
    worth = np.nan_to_num(values if measure.higher_is_better else -values, nan=-np.inf)
    best = np.argmax(worth, axis=0)
    return best, values[best, np.arange(dataset.n_queries)]
