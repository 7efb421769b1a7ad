"""The group of the nearest training query."""

from __future__ import annotations

from collections.abc import Sequence

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.rankers import Ranker
from localrank.registry import declare
from localrank.representations.base import Representation
from localrank.selection._query_search import Index, QuerySearch


@declare("nearest-query", "the group of the most similar training query")
class NearestQuery(QuerySearch):
    """Chooses the group of the most similar training query [1].

    If groups overlap, it chooses the group built around that query. Ties go to the first training
    query.

    Parameters
    ----------
    index : {"auto", "exact", "lsh", "cells"}, LSH or Cells, default="auto"
        How to find the nearest training query. "exact": compare with all of them. "lsh" and
        "cells" are faster among many, and may miss it. "lsh": `LSH()`, hashing, only for queries
        described by `PrincipalComponents`. "cells": `Cells()`, for any representation. "auto":
        "exact" up to 20,000 training queries, otherwise "cells".
    representation : Representation, optional
        How queries are described. None: use the grouping's representation.

    Attributes
    ----------
    home_ : ndarray of shape (n_queries,)
        The group of each training query.
    index_ : LSH, Cells or None
        The fitted index. None: exact search.

    References
    ----------
    1. Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. 2009.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.grouping import Groups
    >>> from localrank.representations import PrincipalComponents
    >>> dataset, types = make_queries(100, n_types=3)
    >>> representation = PrincipalComponents().fit(dataset)
    >>> components = representation.transform(dataset)
    >>> selector = NearestQuery("lsh")
    >>> selector = selector.fit(dataset, Groups.from_labels(types), representation, components)
    >>> selector.nearest(components[[7, 50]])
    array([ 7, 50])
    >>> bool(selector.weights(dataset, [])[7, types[7]] == 1)
    True
    """

    def __init__(
        self, index: Index = "auto", *, representation: Representation | None = None
    ) -> None:
        self.index = index
        self.representation = representation

    def weights(self, dataset: RankingDataset, models: Sequence[Ranker]) -> Floats:
        return self._all_on(self.home_[self.nearest(self.representation_.transform_rows(dataset))])
