"""Search by vectors: exact, and approximate for more vectors than exact search can read in time."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank._kernels.vectors import Singles
from localrank.data import Run, Vectors
from localrank.text._nearest import nearest_rows
from localrank.text._queries import checked_count

Metric = Literal["cosine", "product"]


class VectorIndex:
    """Finds the documents whose vectors are nearest to those of queries.

    Exact search reads every vector, in blocks: memory holds one block of products, and the
    vectors may stay in their file. Approximate search follows a graph (HNSW [1]_) that is built
    in memory once. It reads a small part of the vectors, and misses some documents.

    A document or query with a vector of zeros has no direction: with the cosine, such a document
    is never found, and such a query finds none.

    Parameters
    ----------
    vectors : Vectors, mapping of id to vector, or pair of ids and array
        Vectors of the documents.
    metric : "cosine" or "product", default="cosine"
        The score of a document: the cosine with the query's vector, or the inner product.
    approximate : bool, default=False
        Whether to search by a graph. It needs the extra `localrank[ann]`.
    expansion : int, default=512
        How many documents approximate search keeps in view: at least as many as it returns. With a
        larger number it misses fewer documents and needs more time.

    References
    ----------
    .. [1] Malkov, Yashunin. Efficient and Robust Approximate Nearest Neighbor Search Using
       Hierarchical Navigable Small World Graphs. TPAMI 2020.

    Examples
    --------
    >>> index = VectorIndex({"a": [1.0, 0.0], "b": [3.0, 4.0], "c": [0.0, 1.0]})
    >>> run = index.search({"q": [0.0, 2.0]}, k=2)
    >>> run.document_ids.tolist(), run.scores.round(2).tolist()
    (['c', 'b'], [1.0, 0.8])
    """

    def __init__(
        self,
        vectors: Any,
        *,
        metric: Metric = "cosine",
        approximate: bool = False,
        expansion: int = 512,
    ) -> None:
        if metric not in ("cosine", "product"):
            raise ValueError(
                f"The 'metric' parameter of VectorIndex must be 'cosine' or 'product'. "
                f"Got {metric!r} instead."
            )
        self.vectors = Vectors.of(vectors)
        self.metric = metric
        self.expansion = checked_count(expansion, "expansion")
        self._graph = self._built() if approximate else None

    def search(self, queries: Any, k: int = 100) -> Run:
        """The k nearest documents of each query, as a run.

        Parameters
        ----------
        queries : Vectors, mapping of id to vector, or pair of ids and array
            Vectors of the queries.
        k : int, default=100
            At most this many documents for each query.
        """
        asked = Vectors.of(queries)
        rows, scores, offsets = self.rows(asked.values, k)
        query_ids = np.repeat(asked.ids, np.diff(offsets))
        return Run(query_ids, self.vectors.ids[rows], scores, "vectors")

    def rows(self, queries: Singles, k: int) -> tuple[Integers, Floats, Integers]:
        """The positions of the k nearest vectors of each query, their scores, and offsets.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_dimensions)
            Finite numbers.
        k : int
        """
        k = checked_count(k, "k")
        given = np.asarray(queries, np.float32)
        if given.ndim != 2 or given.shape[1] != self.vectors.n_dimensions:
            raise ValueError(
                f"The vectors of queries must have {self.vectors.n_dimensions} numbers, as those "
                f"of the documents. Got shape {given.shape} instead."
            )
        if self.metric == "product":
            return self._found(given, k)
        lengths = np.linalg.norm(given.astype(np.float64), axis=1)
        asked = np.flatnonzero(lengths)
        unit = (given[asked] / lengths[asked, None]).astype(np.float32)
        sizes = np.zeros(len(given), np.int64)
        if not len(asked):
            return np.empty(0, np.int64), np.empty(0), np.append(0, sizes)
        rows, scores, offsets = self._found(unit, k)
        sizes[asked] = np.diff(offsets)
        return rows, scores, np.append(0, np.cumsum(sizes))

    def _found(self, queries: Singles, k: int) -> tuple[Integers, Floats, Integers]:
        lengths = self.vectors.norms if self.metric == "cosine" else None
        if self._graph is None:
            return nearest_rows(self.vectors.values, lengths, queries, k)
        self._graph.expansion_search = max(self.expansion, k)
        matches = self._graph.search(queries, min(k, len(self._graph)))
        keys = np.atleast_2d(matches.keys).astype(np.int64)
        counts = np.atleast_1d(matches.counts) if len(queries) > 1 else np.array([keys.shape[1]])
        # Scores of the graph are rounded. Those of the documents found are computed again.
        parts = []
        for query, found, count in zip(queries, keys, counts, strict=True):
            rows = np.sort(found[:count])
            of_rows = None if lengths is None else lengths[rows]
            places, scores, _ = nearest_rows(self.vectors.values[rows], of_rows, query[None], k)
            parts.append((rows[places], scores))
        rows, scores = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        return rows, scores, np.append(0, np.cumsum([len(part[0]) for part in parts]))

    def _built(self) -> Any:
        try:
            from usearch.index import Index
        except ImportError:
            raise ImportError(
                "Approximate search needs usearch. Install it with pip install 'localrank[ann]'."
            ) from None
        metric = {"cosine": "cos", "product": "ip"}[self.metric]
        graph = Index(ndim=self.vectors.n_dimensions, metric=metric, dtype="f32")
        rows = np.arange(len(self.vectors))
        if self.metric == "cosine":
            rows = rows[self.vectors.norms > 0]
        # The same vectors give the same graph, with one thread alone.
        graph.add(rows.astype(np.uint64), self.vectors.values[rows], threads=1)
        return graph
