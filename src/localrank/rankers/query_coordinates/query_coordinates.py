"""Any ranker on features relative to the other documents of the query."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.rules import Rule, Rules, check_parameters
from localrank.data import RankingDataset
from localrank.data._sources import InMemory
from localrank.rankers._expanded import Expanded
from localrank.rankers.base import Ranker
from localrank.rankers.best_feature import BestFeature
from localrank.rankers.query_coordinates._coordinates import (
    N_AGGREGATES,
    SHARED_PARTS,
    coordinates,
    shared_coordinates,
)
from localrank.rankers.query_coordinates._missing_values import coordinates_of_present
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.formulas import Column
    from localrank.formulas.steps import Kind

# Values that differ by no more than this count as equal: the quotient would overflow.
_LEAST_RANGE = 1e-300


def min_max(features: Array, offsets: Integers) -> Array:
    """Each value scaled to [0, 1] within its query: 0 for the smallest, 1 for the largest.

    If all values are equal, each becomes 1/2. Missing values stay NaN and do not count. The steps
    and their rounding are the same as in Vespa's `normalize_linear`:
    1/2 + (x - midpoint) · (1 / range).

    Examples
    --------
    >>> features = np.array([[1.0, 7.0], [np.nan, 7.0], [2.0, 7.0], [5.0, 7.0]])
    >>> min_max(features, np.array([0, 4]))
    array([[0.  , 0.5 ],
           [ nan, 0.5 ],
           [0.25, 0.5 ],
           [1.  , 0.5 ]])
    """
    begins, sizes = offsets[:-1], np.diff(offsets)
    # Sums and differences of halves do not overflow.
    halves = 0.5 * features.astype(np.float64)
    low, high = np.fmin.reduceat(halves, begins), np.fmax.reduceat(halves, begins)
    ranges, midpoints = high - low, 0.5 * (low + high)
    varies = ranges > _LEAST_RANGE
    factors = np.where(varies, 1 / np.where(varies, ranges, 1.0), 0.0)
    halves -= np.repeat(midpoints, sizes, axis=0)
    halves *= np.repeat(factors, sizes, axis=0)
    halves += 0.5
    return halves.astype(features.dtype, copy=False)


def rank_differences(features: Array, offsets: Integers) -> Array:
    """Number of documents of the query with a smaller value, minus the number with a larger one.

    Equal values have the same difference. Missing values stay NaN and do not count. Vespa's global
    phase has no ranks with ties: `reciprocal_rank` puts equal values in the order in which hits
    arrive. It does so for both x and -x, so the difference of the two ranks does not depend on the
    order: 1 / reciprocal_rank(-x, k) - 1 / reciprocal_rank(x, k), rounded to a whole number.

    Examples
    --------
    >>> features = np.array([[1.0], [np.nan], [2.0], [2.0]])
    >>> rank_differences(features, np.array([0, 4]))
    array([[-2.],
           [nan],
           [ 1.],
           [ 1.]])
    """
    width = features.shape[1]
    percentiles = coordinates_of_present(features.astype(np.float64), offsets, "p")[:, width:]
    counts = np.add.reduceat(~np.isnan(features), offsets[:-1], dtype=np.int64)
    counts = np.repeat(counts, np.diff(offsets), axis=0)
    # Twice the rank is a whole number up to rounding.
    differences: Array = np.rint(2 * counts * percentiles) - counts - 1
    return differences.astype(features.dtype, copy=False)


# All parts, in the order of the columns, and the default ones.
PARTS, DEFAULT_PARTS = "zpabmd", SHARED_PARTS
# Share of the columns that suits boosted trees: there are four times as many columns as features.
COORDINATES_FRACTION = 0.18
AGGREGATES = (
    "mean percentile",
    "mean percentile (p)",
    "reciprocal rank fusion",
    "reciprocal rank fusion (p)",
    "component of percentiles",
    "component of percentiles (p)",
    "component of deviations",
    "component of deviations (p)",
    "spread of percentiles",
)
# Names in exports of the parts with one column per feature.
_KINDS: dict[str, Kind] = {
    "z": "deviation",
    "p": "percentile",
    "b": "robust-deviation",
    "m": "min-max",
    "d": "rank-difference",
}
_ENGINE_PARTS = {"m": min_max, "d": rank_differences}
some_parts = Rule(
    lambda parts, _: (
        isinstance(parts, str) and 0 < len(set(parts)) == len(parts) and set(parts) <= set(PARTS)
    ),
    f"one or more of the letters of {PARTS!r}, each at most once",
)


@declare(
    "query-coordinates",
    "a ranker on features relative to the query's documents",
    kind="local",
    sample={"ranker": "lambdamart"},
)
class QueryCoordinates(Expanded):
    """Trains a ranker on the features, and on each value relative to the query's other documents.

    Whether a value is high or low depends on the query: BM25, for example, grows with the number
    of terms. Coordinates say where a document lies among the documents of its query. They use no
    labels, so new queries have them too. They do not change if a feature is shifted, or scaled by
    a positive factor, within a query.

    With n documents in the query, the parts are

    - z: (x - mean) / standard deviation of each feature;
    - p: the percentile of each feature: rank from below / n, with the mean rank for equal values;
    - a: nine aggregates of the features that vary in the query. Four are the mean of a document's
      percentiles p; the mean of 10 / (10 + n (1 - p)), reciprocal rank fusion; the first principal
      component of the percentiles; and that of the deviations z. Loadings have a positive sum.
      Each of the four is followed by its own p. The ninth is the standard deviation of the
      document's percentiles. If the two largest variances differ by less than 1e-5, the component
      is a mixture of both directions, by the rule in the documentation of query coordinates; it is
      the same for any order of documents;
    - b: (x - median) / (1.4826 median absolute deviation + 0.1 standard deviation) of each
      feature, cut at ±20;
    - m: (x - smallest) / (largest - smallest) of each feature;
    - d: the number of documents with a smaller value minus the number with a larger one, for each
      feature.

    The parts m and d are not among the defaults. Vespa computes them over the hits of a query. The
    ranker gets the features, then the parts in this order: 46 features become 193 columns. With
    this many columns, boosted trees do better if each tree sees fewer of them: give them a smaller
    `feature_fraction`, such as 0.18.

    A feature that is constant in a query is 0 in z, b and d, (n + 1) / 2n in p and 1/2 in m, and is
    left out of a. The same holds, except in m, if it varies by no more than four roundings of its
    largest value.

    If a feature is missing in some documents of a query, z, p, b, m and d are computed from the
    other documents, and n is their number. The coordinates of a missing value are NaN. Boosted
    trees handle NaN; other rankers fill it. Aggregates use the features that the document has, and
    are neutral if it has none. In the principal components, a missing value counts as the mean.

    Parameters
    ----------
    ranker : Ranker
        The ranker to train. It stays unchanged: a clone is trained.
    parts : str, default="zpab"
        Letters of the parts to add. Their order does not matter.

    Attributes
    ----------
    ranker_ : Ranker
        The trained clone.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80, n_features=5, random_state=0)
    >>> ranker = QueryCoordinates(LambdaMART(n_trees=20), parts="zp").fit(dataset)
    >>> ranker.ranker_.n_features_in_
    15
    >>> ranker.ranker_.feature_names_in_[4:11].tolist()
    ['f5', 'f1 (z)', 'f2 (z)', 'f3 (z)', 'f4 (z)', 'f5 (z)', 'f1 (p)']
    """

    needs = replace(Expanded.needs, lists=True)

    _parameters: ClassVar[Rules] = {"parts": some_parts}

    def __init__(self, ranker: Ranker, *, parts: str = DEFAULT_PARTS) -> None:
        self.ranker = ranker
        self.parts = parts

    def n_expanded(self, n_features: int) -> int:
        n_columns = 1 + sum(part != "a" for part in self.parts)
        return n_columns * n_features + N_AGGREGATES * ("a" in self.parts)

    def expanded(self, dataset: RankingDataset) -> RankingDataset:
        parts, names = _in_order(self.parts), dataset.feature_names
        # Of numbers alone, numbers are made: there is no need to look for missing values again.
        return dataset.replaced(
            features=InMemory(_table(dataset, parts), complete=not dataset.has_missing),
            feature_names=None if names is None else _names(names, parts),
        )

    def columns(self, n_features: int) -> tuple[Column, ...]:
        from localrank.formulas import Column

        columns = [Column("feature", i) for i in range(n_features)]
        for part in _in_order(self.parts):
            if part == "a":
                columns += [Column("aggregate", i) for i in range(N_AGGREGATES)]
            else:
                columns += [Column(_KINDS[part], i) for i in range(n_features)]
        return tuple(columns)

    def folded(self, values: Floats, n_features: int) -> Floats:
        """Values of columns, added up by feature. The last entry is for the aggregates."""
        d = n_features
        result = np.zeros((*values.shape[:-1], d + 1))
        result[..., :d] = values[..., :d]
        begin = d
        for part in _in_order(self.parts):
            if part == "a":
                result[..., d] = values[..., begin : begin + N_AGGREGATES].sum(axis=-1)
                begin += N_AGGREGATES
            else:
                result[..., :d] += values[..., begin : begin + d]
                begin += d
        return result


def query_coordinates(dataset: RankingDataset, parts: str = DEFAULT_PARTS) -> RankingDataset:
    """The same documents with their features followed by the coordinates of `QueryCoordinates`.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[2.0], [6.0], [4.0], [4.0]], qid=[1, 1, 1, 1])
    >>> query_coordinates(dataset, "zp").features.round(3)
    array([[ 2.   , -1.414,  0.25 ],
           [ 6.   ,  1.414,  1.   ],
           [ 4.   ,  0.   ,  0.625],
           [ 4.   ,  0.   ,  0.625]])
    """
    ranker = QueryCoordinates(BestFeature(), parts=parts)
    check_parameters(ranker)
    return ranker.expanded(dataset)


def _table(dataset: RankingDataset, parts: str) -> Array:
    """The features and their coordinates. `parts` are in the order of the columns."""
    features, offsets = dataset.features, dataset.offsets
    within = parts.rstrip("".join(_ENGINE_PARTS))
    tables = [features]
    if within and dataset.has_missing:
        tables = [coordinates_of_present(features, offsets, within)]
    elif within:
        make = shared_coordinates if within == SHARED_PARTS else coordinates
        tables = [make(features, offsets, within)]
    for part in parts[len(within) :]:
        tables.append(_ENGINE_PARTS[part](features, offsets))
    return tables[0] if len(tables) == 1 else np.concatenate(tables, axis=1)


# A server needs the same order and the same names for every list.
@lru_cache(maxsize=64)
def _in_order(parts: str) -> str:
    """Letters of parts in the order of the columns."""
    return "".join(part for part in PARTS if part in parts)


@lru_cache(maxsize=8)
def _names(names: tuple[str, ...], parts: str) -> tuple[str, ...]:
    result = dict.fromkeys(names)
    for part in parts:
        for name in AGGREGATES if part == "a" else [f"{name} ({part})" for name in names]:
            # A feature may already have the name of a coordinate.
            while name in result:
                name += "'"
            result[name] = None
    return tuple(result)
