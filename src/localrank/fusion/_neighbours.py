"""Neighbours in a query's own list, by the cosine of vectors. No labels are used."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Floats, Integers
from localrank._base.memory import check_memory
from localrank._kernels.compilation import inner_kernel, kernel
from localrank._kernels.rows import longest_query
from localrank._kernels.sorting import read_only
from localrank._kernels.sums import order_free_sum
from localrank._kernels.vectors import Singles, norms
from localrank.data import RankingDataset
from localrank.data._row_vectors import RowVectors
from localrank.fusion._list_columns import list_columns

# The first documents of a list to which likeness is measured: of each list, and of the fusion.
N_FIRST, N_FIRST_FUSED = 3, 10
# Dimensions whose products are added up at a time.
BLOCK = 8
# Added to a cosine and taken away again, it leaves a multiple of 2 to the minus 24. So many of
# these have an exact sum that no list is long enough to round it.
GRID = 1.5 * 2.0**28

Similarities = NDArray[np.float32]


def neighbour_columns(
    vectors: RowVectors, values: Floats, offsets: Integers, n_neighbours: int
) -> Floats:
    """The columns of the neighbours of each document, of shape (n_documents, 2 n_lists + 5).

    With c the cosine of two documents' vectors, N(i) the `n_neighbours` other documents of the
    query nearest to document i, and w = max(c, 0), the columns are

    - for each list, and for the mean of all: the mean of the values of N(i), weighted by w. It is
      the document's own value if all weights are 0;
    - for each list, and for the mean of all: the mean of c to the first 3 documents. For the mean
      of all, also the mean of c to the first 10. A document does not count itself. The mean is 0
      if there is no other document;
    - the mean of w over N(i), and the mean of c over all other documents; 0 if there is none.

    Documents that tie with the last one of N(i), or with the last of the first ones, count as well.
    So the order of documents does not matter. The cosine with a vector of zeros is 0.

    Parameters
    ----------
    vectors : RowVectors
    values : ndarray of shape (n_documents, n_lists)
        Values that are comparable between lists, such as z.
    offsets : ndarray of shape (n_queries + 1,)
    n_neighbours : int

    Examples
    --------
    >>> vectors = RowVectors(np.array([[1, 0], [1, 0], [0, 1]], np.float32))
    >>> values = np.array([[2.0], [1.0], [-3.0]])
    >>> neighbour_columns(vectors, values, np.array([0, 3]), 1)[:, :2]
    array([[ 1.,  1.],
           [ 2.,  2.],
           [-3., -3.]])
    """
    _check_memory(int(np.diff(offsets).max(initial=0)), vectors.width)
    with_mean = np.column_stack([values, values.mean(axis=1)])
    columns = np.empty((len(values), 2 * with_mean.shape[1] + 3))
    _fill(
        read_only(vectors.table, np.float32),
        read_only(_places(vectors), np.int64),
        read_only(with_mean, np.float64),
        read_only(offsets, np.int64),
        n_neighbours,
        columns,
    )
    return columns


def nearest_documents(
    vectors: RowVectors, offsets: Integers, n_neighbours: int
) -> tuple[Integers, Floats]:
    """The rows nearest to each row within its query, and their cosines, nearest first.

    -1: there is no other with a positive cosine.

    Examples
    --------
    >>> vectors = RowVectors(np.array([[1, 0], [3, 4], [0, 1]], np.float32))
    >>> rows, cosines = nearest_documents(vectors, np.array([0, 3]), 2)
    >>> rows, cosines[0]
    (array([[ 1, -1],
           [ 2,  0],
           [ 1, -1]]), array([0.60000002, 0.        ]))
    """
    n = int(offsets[-1])
    rows, cosines = np.full((n, n_neighbours), -1), np.zeros((n, n_neighbours))
    places, table = _places(vectors), read_only(vectors.table, np.float32)
    for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        found = np.empty((end - begin, end - begin), np.float32)
        room = np.empty((-(-vectors.width // BLOCK) * BLOCK, end - begin), np.float32)
        cosines_of_rows(table, read_only(places[begin:end], np.int64), room, found)
        np.fill_diagonal(found, 0.0)
        order = np.argsort(-found, axis=1, kind="stable")[:, :n_neighbours]
        nearest = np.take_along_axis(found, order, axis=1).astype(np.float64)
        kept = slice(0, order.shape[1])
        rows[begin:end, kept] = np.where(nearest > 0, order + begin, -1)
        cosines[begin:end, kept] = np.maximum(nearest, 0.0)
    return rows, cosines


def near_documents(
    vectors: RowVectors, values: Floats, n_neighbours: int
) -> tuple[Integers, Floats, Floats, Floats]:
    """How far the neighbours of each document of one query move its value.

    The mean over the neighbours, weighted by w, is the document's own value plus the moves of its
    neighbours. Neighbour j moves it by w_j / sum(w) times (value of j - own value).

    Parameters
    ----------
    vectors : RowVectors
        Of the documents of one query.
    values : ndarray of shape (n_documents,)
    n_neighbours : int

    Returns
    -------
    rows, cosines, moves : ndarray of shape (n_documents, n_neighbours)
        The nearest documents, nearest first. -1: there is no other.
    others : ndarray of shape (n_documents,)
        The sum of the moves of documents that tie with the last one and are not listed.

    Examples
    --------
    >>> vectors = RowVectors(np.array([[1, 0], [3, 4], [0, 1]], np.float32))
    >>> rows, _, moves, _ = near_documents(vectors, np.array([0.0, 1.0, 3.0]), 1)
    >>> rows.ravel(), moves.ravel()
    (array([1, 2, 1]), array([ 1.,  2., -2.]))
    """
    n = len(vectors)
    _check_memory(n, vectors.width)
    similarities = np.empty((n, n), np.float32)
    room = np.empty((-(-vectors.width // BLOCK) * BLOCK, n), np.float32)
    table, places = read_only(vectors.table, np.float32), read_only(_places(vectors), np.int64)
    cosines_of_rows(table, places, room, similarities)
    np.fill_diagonal(similarities, 0.0)
    rows, cosines = np.full((n, n_neighbours), -1), np.zeros((n, n_neighbours))
    moves, others = np.zeros((n, n_neighbours)), np.zeros(n)
    k = min(n_neighbours, n - 1)
    for row, likeness in enumerate(similarities):
        near = np.flatnonzero(likeness > 0)
        if len(near) > k:
            least = np.partition(likeness[near], len(near) - k)[len(near) - k]
            near = near[likeness[near] >= least]
        near = near[np.argsort(-likeness[near], kind="stable")]
        weights = likeness[near].astype(np.float64)
        pulls = weights * (values[near] - values[row]) / weights.sum() if len(near) else weights
        shown = slice(0, min(k, len(near)))
        rows[row, shown], cosines[row, shown] = near[shown], weights[shown]
        moves[row, shown], others[row] = pulls[shown], pulls[k:].sum()
    return rows, cosines, moves, others


def feature_vectors(dataset: RankingDataset) -> RowVectors:
    """The features of each document as a vector: z within the query, a missing value as 0.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[3.0, 1.0], [5.0, np.nan]], qid=["q", "q"])
    >>> feature_vectors(dataset).array()
    array([[-1.,  0.],
           [ 1.,  0.]], dtype=float32)
    """
    vectors = np.empty((dataset.n_documents, dataset.n_features), np.float32)
    for feature in range(dataset.n_features):
        values = dataset.features[:, feature].astype(np.float64)
        columns = list_columns(values, dataset.offsets)
        vectors[:, feature] = np.where(np.isnan(values), 0.0, columns[:, 1])
    return RowVectors(vectors)


def _check_memory(n_documents: int, width: int) -> None:
    """Refuse a query so long that the cosines of its documents do not fit into memory."""
    # Shorter ones take less than 40 MB, and asking the system takes a while.
    if n_documents > 3000:
        check_memory(
            4.0 * n_documents * (n_documents + width),
            f"The cosines of a query of {n_documents:,} documents",
            "Give the first documents of each list, such as 1,000.",
        )


def _places(vectors: RowVectors) -> Integers:
    return np.arange(len(vectors)) if vectors.places is None else vectors.places


@kernel(error_model="numpy")
def _fill(
    table: Singles,
    places: Integers,
    values: Floats,
    offsets: Integers,
    n_neighbours: int,
    columns: Floats,
) -> None:
    n_values = values.shape[1]
    longest = longest_query(offsets)
    room = np.empty((-(-table.shape[1] // BLOCK) * BLOCK, longest), np.float32)
    similarities = np.empty((longest, longest), np.float32)
    highest = np.empty(max(n_neighbours, N_FIRST_FUSED), np.float64)
    near, terms, products = np.empty(longest, np.int64), np.empty(longest), np.empty(longest)
    first = np.empty((n_values + 1, longest), np.int64)
    n_first = np.empty(n_values + 1, np.int64)
    for query in range(len(offsets) - 1):
        begin, end = offsets[query], offsets[query + 1]
        n = end - begin
        cosines_of_rows(table, places[begin:end], room, similarities)
        for column in range(n_values + 1):
            fused = column == n_values
            value, most = (n_values - 1, N_FIRST_FUSED) if fused else (column, N_FIRST)
            for i in range(n):
                terms[i] = values[begin + i, value]
            least = _nth_largest(terms, n, most, highest)
            n_first[column] = 0
            for i in range(n):
                if terms[i] >= least:
                    first[column, n_first[column]] = i
                    n_first[column] += 1
        for i in range(n):
            row = begin + i
            # Sums of cosines are exact, because cosines lie on a grid.
            total = 0.0
            for j in range(n):
                terms[j] = similarities[i, j]
                total += terms[j]
            columns[row, 2 * n_values + 2] = (total - terms[i]) / (n - 1) if n > 1 else 0.0
            for column in range(n_values + 1):
                total, count = 0.0, 0
                for place in range(n_first[column]):
                    j = first[column, place]
                    if j != i:
                        total += terms[j]
                        count += 1
                columns[row, n_values + column] = total / count if count else 0.0
            # Nobody is a neighbour of itself.
            terms[i] = -np.inf
            least = _nth_largest(terms, n, min(n_neighbours, n - 1), highest)
            total, n_near, n_counted = 0.0, 0, 0
            for j in range(n):
                if j != i and terms[j] >= least:
                    n_counted += 1
                    if terms[j] > 0:
                        near[n_near] = j
                        n_near += 1
                        total += terms[j]
            columns[row, 2 * n_values + 1] = total / n_counted if n_counted else 0.0
            for column in range(n_values):
                columns[row, column] = values[row, column]
                if n_near:
                    for place in range(n_near):
                        j = near[place]
                        products[place] = similarities[i, j] * values[begin + j, column]
                    columns[row, column] = order_free_sum(products, n_near) / total


@inner_kernel
def _nth_largest(values: Floats, n: int, nth: int, highest: Floats) -> float:
    """The nth largest of the first n values; minus infinity if there are fewer, or nth is 0."""
    if n < nth or nth < 1:
        return -np.inf
    filled = 0
    for i in range(n):
        value = values[i]
        if filled == nth and value <= highest[nth - 1]:
            continue
        place = filled if filled < nth else nth - 1
        while place > 0 and highest[place - 1] < value:
            highest[place] = highest[place - 1]
            place -= 1
        highest[place] = value
        if filled < nth:
            filled += 1
    return float(highest[nth - 1])


@kernel(error_model="numpy")
def cosines_of_rows(
    table: Singles, places: Integers, room: Singles, similarities: Similarities
) -> None:
    """The cosines of all pairs of some rows of a table: the same bits in any order of the rows.

    Parameters
    ----------
    table : ndarray of shape (n_vectors, n_dimensions)
    places : ndarray of shape (n,)
        Rows of the table. -1: no row, which counts as a row of zeros.
    room : ndarray of shape (n_dimensions, at least n)
        Rounded up to whole blocks of dimensions. It is overwritten.
    similarities : ndarray of shape (at least n, at least n)
        The result.
    """
    n, n_dimensions = len(places), table.shape[1]
    norm_of_row = np.empty(1)
    for i in range(n):
        norm, place = 0.0, places[i]
        if 0 <= place < len(table):
            norms(table[place : place + 1], norm_of_row)
            norm = norm_of_row[0]
        if norm > 0:
            inverse = 1.0 / norm
            for dimension in range(n_dimensions):
                room[dimension, i] = np.float32(table[place, dimension] * inverse)
        for dimension in range(n_dimensions if norm > 0 else 0, len(room)):
            room[dimension, i] = 0.0
    _products(room, n, similarities)


# Eight terms are added between reading and writing a sum. All sums run over the dimensions in
# their order, side by side: no bit depends on the place of a row, or on which of two comes first.
@kernel(fastmath={"contract"})
def _products(units: Singles, n: int, products: Similarities) -> None:
    """The products of the first n columns of `units`, which has whole blocks of dimensions."""
    for i in range(n):
        for j in range(n):
            products[i, j] = 0.0
    for k in range(0, len(units), BLOCK):
        for i in range(n):
            a, b, c, d = units[k, i], units[k + 1, i], units[k + 2, i], units[k + 3, i]
            e, f, g, h = units[k + 4, i], units[k + 5, i], units[k + 6, i], units[k + 7, i]
            for j in range(i):
                total = products[i, j] + a * units[k, j]
                total += b * units[k + 1, j]
                total += c * units[k + 2, j]
                total += d * units[k + 3, j]
                total += e * units[k + 4, j]
                total += f * units[k + 5, j]
                total += g * units[k + 6, j]
                total += h * units[k + 7, j]
                products[i, j] = total
    for i in range(n):
        products[i, i] = 1.0
        for j in range(i):
            on_grid = (np.float64(products[i, j]) + GRID) - GRID
            products[i, j] = products[j, i] = on_grid
