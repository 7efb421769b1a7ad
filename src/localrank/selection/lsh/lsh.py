"""The nearest queries by locality sensitive hashing."""

from __future__ import annotations

from math import log2
from typing import Any, ClassVar, Self

import numpy as np

from localrank.arrays import Array, Floats, Integers
from localrank.estimator import Estimator, check_is_fitted
from localrank.fitted import Kinds, check_together, count, floats
from localrank.kernels.sorting import read_only
from localrank.parameters import Rules, check_parameters, flag, optional, whole
from localrank.selection.lsh.hash_search import LENGTH_ERROR, neighbours_by_hashing
from localrank.selection.lsh.hashing import HashTables, build_tables

_DTYPES = (np.float32, np.float64)
# Codes are machine words.
_MOST_HYPERPLANES = 63
# Queries whose similarity is computed, so many for each that is asked for if these are more, and
# entries of buckets that are read for them.
_N_RESCORED, _MORE_RESCORED, _N_READ = 256, 4, 1 << 15


class LSH(Estimator):
    r"""Finds the nearest query among many by hashing its principal components.

    Component p of a training query is entered into m hash tables, by the signs of its products
    with h random hyperplanes, different ones in each table [1]_. A query looks into the same
    tables with its components u_p and with -u_p, since both are components of its documents. A
    training query that it meets there has the score

        sum over p of max(number of tables where it meets u_p, number where it meets -u_p).

    Two directions at an angle a share a bucket with probability (1 - a / pi)^h: the score is
    high where the similarity sum over p of \|u_p · u'_p\| / P is.

    In the paper the highest score wins. By default here the similarity itself decides, among the
    one with the highest score and the 256 whose signs agree best with the query's, or all if the
    query meets fewer. Then at most 32,768 entries are read: where buckets hold more, not all of
    the fullest. A query that meets none is compared with all training queries. Among equals the
    first is taken. Where several neighbours are asked for, four times as many are compared if
    that is more than 256, and a query that meets fewer than it asks for is compared with all.

    Parameters
    ----------
    n_hyperplanes : int, optional
        The number h of a table's hyperplanes, up to 63. More mean smaller buckets: faster, and
        the nearest query is missed more often. By None it grows with the number n of training
        queries, as 1.3 log2(n) - 6.
    n_repeats : int, default=16
        The number m of tables for each component. More find the nearest query more often, and
        take time and memory in proportion: 4 to 8 bytes per query, component and table, and 8
        more where codes have more bits than log2(n) + 1.
    rescore : bool, default=True
        Whether similarities decide; False for the algorithm of the paper.
    random_state : int or None, default=0

    Attributes
    ----------
    n_hyperplanes_ : int
    hyperplanes_ : ndarray of shape (n_features, n_hyperplanes_, n_repeats)
        Normal vectors, the same for all components.
    descriptions_ : ndarray of shape (n_queries, n_components, n_features)
        The training queries.
    starts_, entries_, codes_, sketches_ : ndarray
        The tables, see `localrank.selection.lsh.hashing.HashTables`.

    References
    ----------
    .. [1] Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
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
        "n_hyperplanes": optional(whole(1, _MOST_HYPERPLANES)),
        "n_repeats": whole(1, 1_024),
        "rescore": flag,
    }

    _fitted: ClassVar[Kinds] = {
        "n_hyperplanes_": count(1, name="n_hyperplanes"),
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
            Principal components: of length 1, or zero where a query's documents do not determine
            them. float32 is kept as it is.
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
        """Build the tables, which are not kept in files."""
        tables = build_tables(self.descriptions_, self.hyperplanes_)
        self.hyperplanes_, self.starts_, self.entries_, self.codes_, self.sketches_ = tables

    def nearest(self, descriptions: Array) -> Integers:
        """Positions of the nearest training queries."""
        positions, _ = self.neighbours(descriptions, 1)
        return positions[:, 0]

    def neighbours(self, descriptions: Array, k: int) -> tuple[Integers, Floats]:
        """The k nearest training queries; where hashing finds fewer, all are compared.

        Parameters
        ----------
        descriptions : ndarray of shape (n, n_components, n_features)
        k : int

        Returns
        -------
        positions : ndarray of shape (n, k)
            Ascending; all where k is not less than their number.
        distances : ndarray of shape (n, k)
            1 less the similarity.
        """
        check_is_fitted(self, "descriptions_")
        n_queries, *own = self.descriptions_.shape
        if descriptions.ndim != 3 or [*descriptions.shape[1:]] != own:
            raise ValueError(
                f"LSH was fitted on queries of {own[0]} components in {own[1]} features. "
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
        return positions, np.clip(1.0 - sums / own[0], 0.0, 1.0)


def _check_directions(descriptions: Array) -> None:
    needs = (
        "LSH needs queries described by PrincipalComponents: an array of floats of shape "
        "(n_queries, n_components, n_features), each component of length 1 or 0. For other "
        "descriptions there is the exact search."
    )
    if descriptions.ndim != 3 or not descriptions.size or descriptions.dtype not in _DTYPES:
        raise ValueError(f"{needs} Got {descriptions.dtype} of shape {descriptions.shape} instead.")
    squares = np.einsum("qpd,qpd->qp", descriptions, descriptions)
    wrong = ~((np.abs(squares - 1) < LENGTH_ERROR) | (squares == 0))
    if wrong.any():
        raise ValueError(f"{needs} Got length {np.sqrt(squares[wrong][0]):.6g} instead.")


def _suitable_number(n_queries: int) -> int:
    """Hyperplanes with which buckets hold few queries, and near queries still share some.

    Directions are spread around the right angle, and those inside it fill the buckets all the
    more, the more bits these have: the number grows faster than log2(n), from fewer.
    """
    return min(max(round(1.3 * log2(n_queries)) - 6, 1), _MOST_HYPERPLANES)
