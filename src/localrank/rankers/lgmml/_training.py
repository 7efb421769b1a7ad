"""What `LGMML` learns from training queries: metrics, the scale of distances, weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.parallel import in_parallel
from localrank._kernels.compilation import kernel
from localrank._kernels.sorting import read_only
from localrank.data import RankingDataset
from localrank.data._content_order import hash_factors, order_by_keys
from localrank.measures import NDCG
from localrank.rankers._gains import HIGHEST_GRADE
from localrank.rankers.lgmml._gmml import GMML
from localrank.rankers.lgmml._local_metrics import LocalMetrics

# Features are rounded to multiples of this before rows are ordered. The order then does not depend
# on the unit of a feature.
_GRID = 2.0**-20
# Largest number of documents for the median distance.
_SAMPLE = 10_000
# Number of documents whose distances to all anchors each job holds at a time.
_BLOCK = 4096
# Number of entries, over all lists sorted from an anchor, in memory at a time.
_LISTS = 1 << 20
# A ridge below this share of the matrix would be lost in rounding.
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Training:
    """Training queries in an order that does not depend on the units of features.

    Random draws then do not depend on the units either. Rows of a query ascend by label.

    Parameters
    ----------
    dataset : RankingDataset
    scale : ndarray of shape (n_features,)
        The root of the mean square of each feature.
    shares : ndarray of shape (n_queries,)
        The weights of the queries, with sum 1.
    """

    dataset: RankingDataset
    scale: Floats
    shares: Floats

    @classmethod
    def prepare(cls, dataset: RankingDataset, shares: Floats) -> Self:
        """Bring queries and rows into order, and find the scale of the features."""
        largest = np.abs(dataset.features).max(axis=0).astype(np.float64)
        largest[largest == 0] = 1.0
        scale = largest * np.sqrt(np.mean((dataset.features / largest) ** 2, axis=0))
        scale[scale == 0] = 1.0
        factors = hash_factors(dataset.n_features + 1, seed=0)
        cells = np.rint(dataset.features / scale / _GRID).astype(np.int64).view(np.uint64)
        keys = cells @ factors[1:] + dataset.labels.view(np.uint64) * factors[0]
        rows, queries = order_by_keys(dataset, keys)
        ordered = dataset.reordered(rows, queries)
        by_label = np.lexsort((ordered.labels, ordered.query_index))
        ordered = ordered.reordered(by_label, np.arange(ordered.n_queries))
        return cls(ordered, scale, shares[queries])

    def learn_metrics(
        self,
        n_metrics: int,
        *,
        relevance_level: float | None,
        sampling_rate: float,
        t: float,
        ridge: float,
        at_query: bool,
        rng: np.random.Generator,
        n_jobs: int | None,
    ) -> LocalMetrics:
        """A metric and an anchor from each of the queries drawn."""

        def learn(
            item: tuple[int, np.random.Generator], dataset: RankingDataset, scale: Floats
        ) -> tuple[Array, Array]:
            query, query_rng = item
            rows = slice(dataset.offsets[query], dataset.offsets[query + 1])
            documents, labels = dataset.features[rows] / scale, dataset.labels[rows]
            # Labels ascend. Documents between the irrelevant and the relevant are in neither.
            n_irrelevant = n_lower = int(np.searchsorted(labels, 0, side="right"))
            if relevance_level is not None:
                n_lower = int(np.searchsorted(labels, relevance_level))
            N = _sample(query_rng, documents[:n_irrelevant], sampling_rate)
            P = _sample(query_rng, documents[n_lower:], sampling_rate)
            gmml = GMML(t, ridge=max(ridge, _least_ridge(P, N))).fit(P, N)
            if at_query:
                return np.zeros(len(scale)), gmml.factor_
            return _best_anchor(gmml, P, documents, labels, measure), gmml.factor_

        # The same gains as in `gains`.
        grades = self.dataset.labels.max() <= HIGHEST_GRADE
        measure = NDCG(gain="exponential" if grades else "linear")

        queries = self._draw_queries(n_metrics, rng)
        items = list(zip(queries.tolist(), rng.spawn(n_metrics), strict=True))
        learned = in_parallel(
            learn,
            items,
            shared=(self.dataset, self.scale),
            n_jobs=n_jobs,
            description="Learning metrics",
        )
        anchors, factors = zip(*learned, strict=True)
        return LocalMetrics.stack(self.scale, np.array(anchors), factors)

    def scale_distances(
        self, metrics: LocalMetrics, scale: Literal["median", "monotone"], n_jobs: int | None
    ) -> LocalMetrics:
        """Scale the metrics: the median or largest distance of training documents becomes 1."""
        features = self.dataset.features
        if scale == "median":
            features = features[:: -(-len(features) // _SAMPLE)]
        blocks = [features[first : first + _BLOCK] for first in range(0, len(features), _BLOCK)]
        if scale == "monotone":
            parts = in_parallel(
                lambda block: metrics.distances(block).max(),
                blocks,
                n_jobs=n_jobs,
                description="Largest distance",
                here=True,
            )
            size = float(np.max(parts))
        else:
            distances = in_parallel(
                metrics.distances, blocks, n_jobs=n_jobs, description="Median distance", here=True
            )
            size = float(np.median(np.concatenate(distances)))
        return metrics.scaled(1 / size) if size > 0 else metrics

    def learn_weights(
        self,
        metrics: LocalMetrics,
        margins_and_steps: Sequence[tuple[float, float]],
        *,
        n_iterations: int,
        rng: np.random.Generator,
        n_jobs: int | None,
    ) -> Iterator[Floats]:
        """Learn the weights of the metrics for each query, with each pair of margin and step."""
        n_lower = _n_lower(self.dataset)
        seeds = rng.integers(2**64, size=self.dataset.n_queries, dtype=np.uint64)

        def learn(
            queries: slice,
            dataset: RankingDataset,
            metrics: LocalMetrics,
            n_lower: Integers,
            seeds: Array,
        ) -> list[Floats]:
            offsets = dataset.offsets[queries.start : queries.stop + 1]
            rows = slice(offsets[0], offsets[-1])
            distances = metrics.distances(dataset.features[rows])
            values = -distances * np.exp(-distances)
            return [
                warp_weights(
                    values,
                    offsets - offsets[0],
                    n_lower[rows],
                    seeds[queries],
                    margin=margin,
                    step=step,
                    n_iterations=n_iterations,
                )
                for margin, step in margins_and_steps
            ]

        parts = in_parallel(
            learn,
            list(_blocks_of_queries(self.dataset.offsets)),
            shared=(self.dataset, metrics, n_lower, seeds),
            n_jobs=n_jobs,
            description="Learning weights",
        )
        return map(np.concatenate, zip(*parts, strict=True))

    def _draw_queries(self, n: int, rng: np.random.Generator) -> Integers:
        """Draw queries in proportion to their shares, at equal steps through all shares."""
        order = rng.permutation(len(self.shares))
        ends = np.cumsum(self.shares[order])
        places = (np.arange(n) + rng.random()) / n * ends[-1]
        drawn: Integers = order[np.searchsorted(ends[:-1], places, side="right")]
        return drawn


def _sample(rng: np.random.Generator, documents: Floats, rate: float) -> Floats:
    n = int(np.ceil(rate * len(documents)))
    return documents[np.sort(rng.permutation(len(documents))[:n])]


def _least_ridge(P: Floats, N: Floats) -> float:
    """The smallest ridge that is not lost in the rounding of sums over pairs."""
    documents = np.vstack([P, N])
    size = np.square(documents - documents.mean(axis=0)).sum(axis=1).max()
    return float(_ROUNDING * len(documents) ** 2 * size)


def _best_anchor(
    gmml: GMML, candidates: Floats, documents: Floats, labels: Floats, measure: NDCG
) -> Floats:
    """The candidate from which sorting the documents by distance gives the best NDCG."""
    n_rows = max(_LISTS // len(documents), 1)
    values = [
        _ndcg(labels, gmml.distances(candidates[first : first + n_rows], documents), measure)
        for first in range(0, len(candidates), n_rows)
    ]
    best: Floats = candidates[np.argmax(np.concatenate(values))]
    return best


def _ndcg(labels: Floats, distances: Floats, measure: NDCG) -> Floats:
    """NDCG of a query's documents sorted by each row of distances, nearest first."""
    n_lists, n_documents = distances.shape
    lists = RankingDataset(
        np.empty((distances.size, 0)),
        np.tile(labels, n_lists),
        n_documents * np.arange(n_lists + 1),
        np.arange(n_lists),
    )
    return measure.of_rows(lists, -distances.ravel())


def _n_lower(dataset: RankingDataset) -> Integers:
    """Number of documents of the query with a lower label, for each row. Labels ascend."""
    rows = np.arange(dataset.n_documents)
    begins = dataset.offsets[:-1][dataset.query_index]
    first = np.append(True, dataset.labels[1:] != dataset.labels[:-1]) | (rows == begins)
    level_begins: Integers = np.maximum.accumulate(np.where(first, rows, 0))
    return level_begins - begins


def _blocks_of_queries(offsets: Integers) -> Iterator[slice]:
    """Blocks of consecutive queries with about the same number of documents."""
    begin = 0
    while begin < len(offsets) - 1:
        end = int(np.searchsorted(offsets, offsets[begin] + _BLOCK, side="right")) - 1
        end = max(end, begin + 1)
        yield slice(begin, end)
        begin = end


# The state of a query's random numbers: one word.
State = NDArray[np.uint64]


def warp_weights(
    values: Floats,
    offsets: Integers,
    n_lower: Integers,
    seeds: NDArray[np.uint64],
    *,
    margin: float,
    step: float,
    n_iterations: int,
) -> Floats:
    """Weights φ >= 0 for each query under which f = values @ φ ranks its documents.

    All weights begin at 1. A step draws a document p among those with a lower one in the query,
    then documents n among the lower ones, with replacement, until margin + f(n) > f(p); it gives
    up after as many draws as there are lower documents. At the N-th draw it moves

        φ <- [φ - step L(⌊n_lower / N⌋) (values(n) - values(p))]_+,    L(k) = sum 1 / log2(i + 1)

    over i = 1 to k.

    Parameters
    ----------
    values : ndarray of shape (n_documents, n_metrics)
        The derivative of each document's score by each weight.
    offsets : ndarray of shape (n_queries + 1,)
    n_lower : ndarray of shape (n_documents,)
        How many documents of the query have a lower label. They are the first ones: rows of a
        query are in ascending order of their labels.
    seeds : ndarray of shape (n_queries,)
        Of the random numbers of each query.
    margin, step : float
    n_iterations : int
        Steps for each query.

    Returns
    -------
    ndarray of shape (n_queries, n_metrics)

    Examples
    --------
    The second metric puts the better document ahead, the first one behind.

    >>> values = np.array([[0.0, -1.0], [-1.0, 0.0]])
    >>> warp_weights(
    ...     values, np.array([0, 2]), np.array([0, 1]), np.array([7], np.uint64),
    ...     margin=0.1, step=0.25, n_iterations=10,
    ... )
    array([[0.75, 1.25]])
    """
    weights: Floats = _warp_weights(
        read_only(values, np.float64),
        read_only(offsets, np.int64),
        read_only(n_lower, np.int64),
        read_only(seeds, np.uint64),
        float(margin),
        float(step),
        int(n_iterations),
    )
    return weights


@kernel
def _warp_weights(
    values: Floats,
    offsets: Integers,
    n_lower: Integers,
    seeds: NDArray[np.uint64],
    margin: float,
    step: float,
    n_iterations: int,
) -> Floats:
    n_metrics = values.shape[1]
    weights = np.ones((len(offsets) - 1, n_metrics))
    losses = np.zeros(max(n_lower.max(), 0) + 1)
    for k in range(1, len(losses)):
        losses[k] = losses[k - 1] + 1 / np.log2(k + 1)
    state = np.empty(1, np.uint64)
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        above = begin
        while above < end and n_lower[above] == 0:
            above += 1
        if above == end:
            continue
        state[0] = seeds[query]
        own = weights[query]
        for _ in range(n_iterations):
            positive = above + draw(state, end - above)
            threshold = dot(values[positive], own) - margin
            lower = values[begin : begin + n_lower[positive]]
            violator, n_draws = find_violator(lower, own, threshold, state)
            if violator < 0:
                continue
            length = step * losses[len(lower) // n_draws]
            for r in range(n_metrics):
                change = length * (lower[violator, r] - values[positive, r])
                own[r] = max(own[r] - change, 0.0)
    return weights


@kernel
def find_violator(
    lower: Floats, weights: Floats, threshold: float, state: State
) -> tuple[np.int64, np.int64]:
    """A random row that scores above the threshold, -1 where none was drawn, and the draws."""
    for n_draws in range(1, len(lower) + 1):
        row = draw(state, len(lower))
        if dot(lower[row], weights) > threshold:
            return row, np.int64(n_draws)
    return np.int64(-1), np.int64(len(lower))


@kernel
def draw(state: State, n: int) -> np.int64:
    """A random number from 0 to n - 1, by splitmix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return np.int64(((word >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
def dot(a: Floats, b: Floats) -> float:
    """Four sums, because each addition waits for the one before it."""
    s, t, u, v = 0.0, 0.0, 0.0, 0.0
    even = len(a) // 4 * 4
    for k in range(0, even, 4):
        s += a[k] * b[k]
        t += a[k + 1] * b[k + 1]
        u += a[k + 2] * b[k + 2]
        v += a[k + 3] * b[k + 3]
    for k in range(even, len(a)):
        s += a[k] * b[k]
    return (s + t) + (u + v)
