"""The group of the nearest training query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from localrank.arrays import Array, Floats, Integers
from localrank.data import RankingDataset
from localrank.declaration import declare
from localrank.estimator import clone
from localrank.fitted import Kinds, check_together, integers, maybe, part
from localrank.grouping.base import Groups
from localrank.parameters import Rule, Rules
from localrank.rankers import Ranker
from localrank.representations.base import Representation
from localrank.selection.base import Selector
from localrank.selection.lsh.lsh import LSH


@declare("nearest-query", "the group of the most similar training query")
class NearestQuery(Selector):
    """Chooses the group of the most similar training query [1]_.

    Where groups overlap, that is the one built around this query. Among training queries at the
    same distance the first is taken.

    Parameters
    ----------
    index : {"exact", "lsh"} or LSH, default="exact"
        How the nearest query is found: by its distance to every training query, or by hashing,
        which may miss it and is faster from some thousand training queries on. "lsh" is
        `LSH()`, which needs queries described by `PrincipalComponents`.
    representation : Representation, optional
        How queries are described. None: use the grouping's representation.

    Attributes
    ----------
    home_ : ndarray of shape (n_queries,)
        The group of each training query.
    index_ : LSH or None
        Fitted; None for the exact search.

    References
    ----------
    .. [1] Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. 2009.

    Examples
    --------
    >>> from localrank.data import make_queries
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

    index_: LSH | None

    _parameters: ClassVar[Rules] = {
        "index": Rule(
            lambda index: isinstance(index, LSH) or index in ("exact", "lsh"),
            "'exact', 'lsh' or an LSH(...)",
        ),
    }

    _fitted: ClassVar[Kinds] = {
        "home_": integers("n_queries", below="n_groups"),
        "index_": maybe(part(LSH)),
    }

    def __init__(
        self,
        index: Literal["exact", "lsh"] | LSH = "exact",
        *,
        representation: Representation | None = None,
    ) -> None:
        self.index = index
        self.representation = representation

    def _check_fitted(self) -> None:
        known = self.index_ is None or self.index_.descriptions_.shape == self.descriptions_.shape
        check_together(self, holds=known and len(self.home_) == len(self.descriptions_))

    def nearest(self, descriptions: Array) -> Integers:
        """Positions of the nearest training queries, for queries with these descriptions."""
        if self.index_ is not None:
            return self.index_.nearest(descriptions)
        return self.representation_.nearest(descriptions, self.descriptions_)

    def _fit(self, groups: Groups) -> None:
        self.home_, self.index_ = groups.home, None
        if isinstance(self.index, LSH):
            self.index_ = clone(self.index)
        elif self.index == "lsh":
            self.index_ = LSH()
        if self.index_ is not None:
            self.index_.fit(self.descriptions_)

    def weights(self, dataset: RankingDataset, models: Sequence[Ranker]) -> Floats:
        return self._all_on(self.home_[self.nearest(self.representation_.transform_rows(dataset))])
