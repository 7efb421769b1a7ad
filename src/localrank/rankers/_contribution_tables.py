"""Tables of contributions that rankers pass to each other, and the importance of features.

A table has a row for each document and a column for each feature. Two more columns hold the
contribution of all features together, and the base. A row sums to the document's score.
"""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Array, Floats, Integers

# Number of columns after those of the features.
N_MORE = 2


def table_of(values: Floats, base: float = 0.0) -> Floats:
    """A table of contributions without a joint contribution of features.

    Examples
    --------
    >>> table_of(np.array([[1.0, 2.0]]), 5.0)
    array([[1., 2., 0., 5.]])
    """
    table = np.zeros((len(values), values.shape[1] + N_MORE))
    table[:, :-N_MORE] = values
    table[:, -1] = base
    return table


def query_means(values: Array, offsets: Integers) -> Floats:
    """The mean over the query, for each row.

    Examples
    --------
    >>> query_means(np.array([1.0, 3.0, 5.0]), np.array([0, 2, 3]))
    array([2., 2., 5.])
    """
    sizes = np.diff(offsets)
    counts = sizes.reshape(-1, *[1] * (values.ndim - 1))
    return np.repeat(np.add.reduceat(values, offsets[:-1]) / counts, sizes, axis=0)


def centred_rows(table: Floats, offsets: Integers) -> Floats:
    """Rows minus the mean of their query."""
    centred: Floats = table - query_means(table, offsets)
    return centred


def shares(importances: Array) -> Floats:
    """Importances scaled to sum 1; zeros if all are 0.

    Examples
    --------
    >>> shares(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    values = np.asarray(importances, dtype=np.float64)
    total = values.sum()
    return values / total if total > 0 else np.zeros(len(values))


def no_contributions(name: str, reason: str) -> ValueError:
    """The error of a ranker whose score is not a sum over features."""
    return ValueError(
        f"{name} has no exact contributions of features: {reason}. "
        f"localrank.evaluation.permutation_importance works for any ranker."
    )


def no_importances(name: str, reason: str) -> AttributeError:
    """The error of a ranker for which the importance of features has no meaning."""
    return AttributeError(
        f"{name} has no feature_importances_: {reason}. "
        f"localrank.evaluation.permutation_importance works for any ranker."
    )
