"""Lists of documents to measure."""

import numpy as np

from localrank.data import RankingDataset


def dataset_of(*lists, document_ids=None):
    """A dataset with one query for each list of labels."""
    labels = np.concatenate([np.asarray(labels, dtype=float) for labels in lists])
    queries = np.repeat(np.arange(len(lists)), [len(labels) for labels in lists])
    return RankingDataset.from_arrays(
        np.zeros((len(labels), 1)), labels, queries, document_ids=document_ids
    )


def random_lists(seed=0, *, levels=(0, 0, 0, 1, 2), tied=True, n_queries=80, largest=15):
    """Queries of 1 to `largest` documents, some without a relevant one, and scores for them."""
    rng = np.random.default_rng(seed)
    lists = [rng.choice(levels, size=rng.integers(1, largest + 1)) for _ in range(n_queries)]
    lists[3] = np.zeros(5)
    lists[4] = np.zeros(1)
    n_documents = sum(map(len, lists))
    names = [f"d{number}" for number in rng.permutation(n_documents)]
    scores = rng.permutation(n_documents).astype(float)
    if tied:
        scores = rng.integers(0, 5, n_documents) / 4
    return dataset_of(*lists, document_ids=names), scores


def by_query(dataset, values):
    """A list of each query's values."""
    return [part.tolist() for part in np.split(values, dataset.offsets[1:-1])]


def in_order(dataset, scores):
    """Each query's labels by descending score, tied documents in the order of the input."""
    return [
        [label for _, label in sorted(zip(query_scores, labels, strict=True), key=lambda x: -x[0])]
        for query_scores, labels in zip(
            by_query(dataset, scores), by_query(dataset, dataset.labels), strict=True
        )
    ]
