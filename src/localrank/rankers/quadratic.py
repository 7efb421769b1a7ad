"""Any ranker on quadratic features."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.memory import check_memory
from localrank._base.rules import Rules, one_of
from localrank.data import RankingDataset
from localrank.rankers._expanded import Expanded
from localrank.rankers.base import HeldOut, Ranker, Weights
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.formulas import Column

# An expansion for training that would take more bytes in double precision is made in single.
DOUBLE_PRECISION_BYTES = 2**30


@declare("quadratic", "a ranker on features and their products", sample={"ranker": "lambdamart"})
class Quadratic(Expanded):
    """Trains a ranker on the features, their squares and their products in pairs.

    From d features it makes d (d + 3) / 2: the originals, then x_i^2, then x_i x_j for i < j in
    the order (1, 2), (1, 3), ..., (2, 3), ... A linear ranker on them is the global quadratic
    model that local models are compared with [1].

    The whole expansion is in memory during training. 136 features become 9,452, and 100,000
    documents take 7.5 GB in double or 3.8 GB in single precision. Scoring expands a few queries at
    a time: about 16 MiB, or one query if that is larger.

    Parameters
    ----------
    ranker : Ranker
        The ranker to train. It stays unchanged: a clone is trained.
    dtype : {"float64", "float32"} or None, default=None
        Precision of the expansion. None: the precision of the training features, or single
        precision if their expansion would take more than 1 GiB. Rankers that work in double
        precision, such as linear ones, make a larger copy.

    Attributes
    ----------
    ranker_ : Ranker
        The trained clone.
    dtype_ : str
        Precision of the expansion in training and scoring.

    References
    ----------
    1. Banerjee, Dubey, Machchhar, Chakrabarti. Efficient and Accurate Local Learning for
       Ranking. 2009.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80, n_features=5, random_state=0)
    >>> ranker = Quadratic(LambdaMART(n_trees=20)).fit(dataset)
    >>> ranker.ranker_.n_features_in_
    20
    >>> ranker.ranker_.feature_names_in_[4:12].tolist()
    ['f5', 'f1^2', 'f2^2', 'f3^2', 'f4^2', 'f5^2', 'f1*f2', 'f1*f3']
    """

    _parameters: ClassVar[Rules] = {"dtype": one_of("float64", "float32", None)}

    _fitted: ClassVar[Rules] = {"dtype_": one_of("float64", "float32")}

    def __init__(
        self, ranker: Ranker, *, dtype: Literal["float64", "float32"] | None = None
    ) -> None:
        self.ranker = ranker
        self.dtype = dtype

    def _fit(self, dataset: RankingDataset, query_weights: Weights, valid: HeldOut) -> None:
        self.dtype_ = self.dtype or _dtype_within_limit(dataset)
        n, n_columns = dataset.n_documents, n_quadratic(dataset.n_features)
        check_memory(
            n * n_columns * np.dtype(self.dtype_).itemsize,
            f"Quadratic on {n:,} documents, with {n_columns:,} columns of "
            f"{dataset.n_features:,} features,",
            "Select some of the features first, or use boosted trees, which find products by "
            "themselves.",
        )
        super()._fit(dataset, query_weights, valid)

    def expanded(self, dataset: RankingDataset) -> RankingDataset:
        return quadratic_features(dataset, self.dtype_)

    def n_expanded(self, n_features: int) -> int:
        return n_quadratic(n_features)

    def columns(self, n_features: int) -> tuple[Column, ...]:
        from localrank.formulas import Column

        every = range(n_features)
        return (
            *(Column("feature", i) for i in every),
            *(Column("product", i, i) for i in every),
            *(Column("product", i, j) for i, j in combinations(every, 2)),
        )

    def folded(self, values: Floats, n_features: int) -> Floats:
        """Values of columns, added up by feature: half of a product's value to either feature."""
        d = n_features
        first, second = np.triu_indices(d, 1)
        result = np.zeros((*values.shape[:-1], d + 1))
        result[..., :d] = values[..., :d] + values[..., d : 2 * d]
        halves = 0.5 * values[..., 2 * d :]
        for i in range(d):
            result[..., i] += halves[..., (first == i) | (second == i)].sum(axis=-1)
        return result


def quadratic_features(dataset: RankingDataset, dtype: str) -> RankingDataset:
    """The same documents with their features, the squares, and the products in pairs.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[2.0, 3.0, 5.0]], qid=[1])
    >>> quadratic_features(dataset, "float64").features
    array([[ 2.,  3.,  5.,  4.,  9., 25.,  6., 10., 15.]])
    """
    d = dataset.n_features
    features = dataset.features.astype(dtype, copy=False)
    expanded = np.empty((len(features), n_quadratic(d)), dtype=dtype)
    expanded[:, :d] = features
    # A product too large for the type becomes infinite. The dataset then refuses it.
    with np.errstate(over="ignore", under="ignore"):
        np.square(features, out=expanded[:, d : 2 * d])
        begin = 2 * d
        for i in range(d - 1):
            end = begin + d - 1 - i
            np.multiply(features[:, i, None], features[:, i + 1 :], out=expanded[:, begin:end])
            begin = end
    names = dataset.feature_names
    if names is not None:
        squares = (f"{name}^2" for name in names)
        names = (*names, *squares, *(f"{a}*{b}" for a, b in combinations(names, 2)))
    return dataset.with_features(expanded, names)


def n_quadratic(n_features: int) -> int:
    """Number of features, squares and products.

    Examples
    --------
    >>> n_quadratic(136)
    9452
    """
    return n_features * (n_features + 3) // 2


def _dtype_within_limit(dataset: RankingDataset) -> str:
    size = 8 * dataset.n_documents * n_quadratic(dataset.n_features)
    return "float32" if size > DOUBLE_PRECISION_BYTES else str(dataset.features.dtype)
