"""Made-up queries whose hidden types rank by different features."""

from __future__ import annotations

import numpy as np

from localrank._base.arrays import Integers
from localrank.data.dataset import RankingDataset

# Share of documents with each label in make_queries, from not relevant to perfect.
LABEL_SHARES = (0.55, 0.22, 0.13, 0.07, 0.03)


def make_queries(
    n_queries: int = 300,
    *,
    n_documents: tuple[int, int] = (20, 60),
    n_features: int = 20,
    n_types: int = 4,
    noise: float = 0.5,
    separation: float = 0.0,
    random_state: int | None = 0,
) -> tuple[RankingDataset, Integers]:
    """Make queries of several hidden types.

    The features fall into `n_types + 1` blocks. Documents of a query of type t spread most
    along the features of block t. Their utility is a weighted sum of these features, minus half
    as much of the features of the next type. So what helps one type harms another. The first
    feature of the last block helps every type, and the rest of that block helps a little. Each
    query shifts and scales its features in its own way. Utility plus Gaussian noise, cut at
    fixed levels, gives the labels 0 to 4. Some queries have few relevant documents, some many.

    Parameters
    ----------
    n_queries : int, default=300
        Number of queries.
    n_documents : (int, int), default=(20, 60)
        Smallest and largest number of documents of a query.
    n_features : int, default=20
        Number of features, at least `n_types + 1`.
    n_types : int, default=4
        Number of hidden types.
    noise : float, default=0.5
        Standard deviation of the noise. That of the signal is 1.
    separation : float, default=0.0
        Distance between types along the type's features, in standard deviations. The documents
        of a type also spread more along these features. A larger number makes it easier to tell
        the types apart without labels. 0: documents only spread half as much
        again along the features of their type.
    random_state : int or None, default=0
        Seed. None: new queries at each call.

    Returns
    -------
    dataset : RankingDataset
        The queries.
    types : ndarray of shape (n_queries,)
        The hidden type of each query.

    Examples
    --------
    >>> dataset, types = make_queries(10, n_types=2, random_state=0)
    >>> dataset.n_queries, sorted(set(types.tolist()))
    (10, [0, 1])
    """
    low, high = n_documents
    if not 1 <= low <= high:
        raise ValueError(f"The 'n_documents' argument must be 1 <= low <= high. Got {n_documents}.")
    if not 0 <= separation < np.inf:
        raise ValueError(f"The 'separation' argument must be 0 or larger. Got {separation}.")
    if n_types < 1 or n_queries < n_types or n_features < n_types + 1:
        raise ValueError(
            f"Need n_types >= 1, n_queries >= n_types and n_features >= n_types + 1. "
            f"Got n_types={n_types}, n_queries={n_queries}, n_features={n_features}."
        )
    # Imported by those who need it: to load a model takes less.
    from scipy import stats

    rng = np.random.default_rng(random_state)
    block = np.arange(n_features) * (n_types + 1) // n_features
    # Every type gets its turn, so that none is missing however few the queries.
    types = rng.permutation(np.arange(n_queries) % n_types)
    sizes = rng.integers(low, high, endpoint=True, size=n_queries)
    query = np.repeat(np.arange(n_queries), sizes)

    of_type = block == np.arange(n_types)[:, None]
    opposed = np.roll(of_type, -1, axis=0) & ~of_type
    weights = rng.uniform(0.5, 1.5, (n_types, n_features)) * (of_type - 0.5 * opposed)
    shared = np.flatnonzero(block == n_types)
    weights[:, shared] = 0.2
    weights[:, shared[0]] = 1.8
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)

    standard = rng.normal(size=(len(query), n_features))
    utility = np.einsum("ij,ij->i", standard, weights[types[query]])
    utility += (
        rng.normal(scale=noise, size=len(query)) + rng.normal(scale=0.4, size=n_queries)[query]
    )
    levels = stats.norm.ppf(np.cumsum(LABEL_SHARES[:-1]), scale=np.sqrt(1 + noise**2 + 0.4**2))
    relevance = np.searchsorted(levels, utility).astype(np.float64)

    # A type spreads unevenly along its features, so that its directions are determined.
    uneven = 1.0 - 0.5 * (np.cumsum(of_type, axis=1) - 1) / of_type.sum(axis=1, keepdims=True)
    extent = np.where(of_type, 1.5 + separation * uneven, 1.0)[types]
    spread = extent * rng.lognormal(sigma=0.2, size=(n_queries, 1))
    shift = rng.normal(scale=0.5, size=(n_queries, n_features)) + separation * of_type[types]
    dataset = RankingDataset.from_arrays(
        standard * spread[query] + shift[query],
        relevance,
        query + 1,
        feature_names=[f"f{i + 1}" for i in range(n_features)],
    )
    return dataset, types
