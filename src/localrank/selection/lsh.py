"""The nearest queries by locality sensitive hashing."""

from __future__ import annotations

from math import log2
from typing import Any, ClassVar, Self

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.estimator import Estimator, check_is_fitted
from localrank._base.rules import (
    Rules,
    check_parameters,
    check_together,
    flag,
    floats,
    optional,
    whole,
)
from localrank._kernels.sorting import read_only
from localrank.selection._hash_search import (
    LENGTH_ERROR,
    HashTables,
    build_tables,
    neighbours_by_hashing,
)

_DTYPES = (np.float32, np.float64)


# Codes are machine words.
_MAX_HYPERPLANES = 63


# Fewest queries whose similarity is computed, such queries per neighbour that is asked for, and
# most entries of buckets that are read for them.
_N_RESCORED, _MORE_RESCORED, _N_READ = 256, 4, 1 << 15


class LSH(Estimator):
    r"""Fast search for the nearest training query, by hashing principal components.

    Component p of a training query is entered into m hash tables. Its bucket is given by the
    signs of its products with h random hyperplanes, different ones in each table [1]. A query
    looks into the same tables with its components u_p and with -u_p, because both describe its
    documents equally well. A training query that it meets there has the score

        sum over p of max(number of tables where it meets u_p, number where it meets -u_p).

    Two directions at an angle a share a bucket with probability (1 - a / pi)^h. So the score is
    high if the similarity, the sum over p of \|u_p · u'_p\| / P, is high.

    In the paper the highest score wins. Here, by default, the similarity decides among a few
    candidates: the training query with the highest score, and the 256 whose signs agree best with
    the query's. At most 32,768 entries are read for that; the fullest buckets are then not read
    to the end. A query that meets no training query is compared with all of them. Ties go to the
    first. A search for k neighbours has at least 4 k candidates, and a query that meets fewer
    than k training queries is compared with all of them.

    Parameters
    ----------
    n_hyperplanes : int, optional
        The number h of hyperplanes per table, up to 63. More hyperplanes make smaller buckets:
        the search is faster, and misses the nearest query more often. None: 1.3 log2(n) - 6 for n
        training queries.
    n_repeats : int, default=16
        The number m of tables per component. More tables find the nearest query more often. Time
        and memory grow in proportion: 4 to 8 bytes per query, component and table, and 8 more if
        codes have more bits than log2(n) + 1.
    rescore : bool, default=True
        Whether similarities decide. False: scores decide, as in the paper.
    random_state : int or None, default=0
        Seed of the hyperplanes.

    Attributes
    ----------
    n_hyperplanes_ : int
        The number of hyperplanes per table.
    hyperplanes_ : ndarray of shape (n_features, n_hyperplanes_, n_repeats)
        Normal vectors of the hyperplanes, the same for all components.
    descriptions_ : ndarray of shape (n_queries, n_components, n_features)
        The components of the training queries.
    starts_, entries_, codes_, sketches_ : ndarray
        The tables, see `localrank.selection.lsh.HashTables`.

    References
    ----------
    1. Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. 2009.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.representations import PrincipalComponents
    >>> dataset, _ = make_queries(100)
    >>> components = PrincipalComponents().fit(dataset).transform(dataset)
    >>> lsh = LSH().fit(components)
    >>> lsh.n_hyperplanes_
    3
    >>> lsh.nearest(-components[[7, 5, 40]])
    array([ 7,  5, 40])
    """

    _parameters: ClassVar[Rules] = {
        "n_hyperplanes": optional(whole(1, _MAX_HYPERPLANES)),
        "n_repeats": whole(1, 1_024),
        "rescore": flag,
    }

    _fitted: ClassVar[Rules] = {
        "n_hyperplanes_": whole(1, name="n_hyperplanes"),
        "descriptions_": floats("n_queries", "n_components", "n_features"),
        "hyperplanes_": floats("n_features", "n_hyperplanes", None),
    }

    def __init__(
        self,
        n_hyperplanes: int | None = None,
        n_repeats: int = 16,
        *,
        rescore: bool = True,
        random_state: int | None = 0,
    ) -> None:
        self.n_hyperplanes = n_hyperplanes
        self.n_repeats = n_repeats
        self.rescore = rescore
        self.random_state = random_state

    def fit(self, descriptions: Array) -> Self:
        """Enter the training queries into the tables.

        Parameters
        ----------
        descriptions : ndarray of shape (n_queries, n_components, n_features)
            Principal components of length 1, or zero vectors for missing components. float32
            stays float32.
        """
        check_parameters(self)
        descriptions = np.ascontiguousarray(descriptions)
        _check_directions(descriptions)
        n_queries, _, n_features = descriptions.shape
        self.n_hyperplanes_ = self.n_hyperplanes or _suitable_number(n_queries)
        rng = np.random.default_rng(self.random_state)
        hyperplanes = rng.standard_normal((n_features, self.n_hyperplanes_, self.n_repeats))
        self.descriptions_, self.hyperplanes_ = descriptions, hyperplanes
        self._restored()
        return self

    def _saved(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name in self._fitted}

    def _check_fitted(self) -> None:
        _check_directions(self.descriptions_)
        n_repeats = self.hyperplanes_.shape[2]
        check_together(self, holds=self.n_hyperplanes_ <= 63 and n_repeats == self.n_repeats)

    def _restored(self) -> None:
        """Build the tables. Files do not hold them."""
        tables = build_tables(self.descriptions_, self.hyperplanes_)
        self.hyperplanes_, self.starts_, self.entries_, self.codes_, self.sketches_ = tables

    def nearest(self, descriptions: Array) -> Integers:
        """Positions of the nearest training queries."""
        positions, _ = self.neighbours(descriptions, 1)
        return positions[:, 0]

    def neighbours(self, descriptions: Array, k: int) -> tuple[Integers, Floats]:
        """The k nearest training queries; if hashing finds fewer, all are compared.

        Parameters
        ----------
        descriptions : ndarray of shape (n, n_components, n_features)
            The components of the queries to search for.
        k : int
            Number of neighbours.

        Returns
        -------
        positions : ndarray of shape (n, k)
            Ascending. All positions if k is at least their number.
        distances : ndarray of shape (n, k)
            1 minus the similarity.
        """
        check_is_fitted(self, "descriptions_")
        n_queries, n_components, n_features = self.descriptions_.shape
        if descriptions.ndim != 3 or descriptions.shape[1:] != (n_components, n_features):
            raise ValueError(
                f"LSH was fitted on queries of {n_components} components in {n_features} features. "
                f"Got descriptions of shape {descriptions.shape} instead."
            )
        tables = HashTables(
            self.hyperplanes_, self.starts_, self.entries_, self.codes_, self.sketches_
        )
        positions, sums = neighbours_by_hashing(
            read_only(descriptions, np.float64),
            read_only(self.descriptions_, self.descriptions_.dtype),
            tables.read_only(),
            min(k, n_queries),
            max(_N_RESCORED, _MORE_RESCORED * k) if self.rescore else 0,
            _N_READ,
        )
        return positions, np.clip(1.0 - sums / n_components, 0.0, 1.0)


def _check_directions(descriptions: Array) -> None:
    needs = (
        "LSH needs queries described by PrincipalComponents: an array of floats of shape "
        "(n_queries, n_components, n_features), each component of length 1 or 0. For other "
        "descriptions use index='exact' or 'cells'."
    )
    if descriptions.ndim != 3 or not descriptions.size or descriptions.dtype not in _DTYPES:
        raise ValueError(f"{needs} Got {descriptions.dtype} of shape {descriptions.shape} instead.")
    squares = np.einsum("qpd,qpd->qp", descriptions, descriptions)
    wrong = ~((np.abs(squares - 1) < LENGTH_ERROR) | (squares == 0))
    if wrong.any():
        raise ValueError(f"{needs} Got length {np.sqrt(squares[wrong][0]):.6g} instead.")


def _suitable_number(n_queries: int) -> int:
    """A number of hyperplanes that keeps buckets small and near queries in the same ones.

    Most pairs of directions are nearly at right angles, some at smaller angles. The more bits a
    code has, the larger the share of the latter in a bucket. So the number grows faster than
    log2(n), and starts lower.
    """
    return min(max(round(1.3 * log2(n_queries)) - 6, 1), _MAX_HYPERPLANES)
