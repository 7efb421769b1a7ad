"""Facts about the data that methods are compared on."""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from localrank.data import Fold
from localrank.evaluation.store import fingerprint


def tested_facts(folds: Sequence[Fold]) -> dict[str, Any]:
    """Facts about the data, for the page. Warns of queries that are in both training and test."""
    labels: Counter[float] = Counter()
    n_queries = n_documents = n_features = 0
    digest = hashlib.sha256()
    for fold in folds:
        _warn_of_shared_queries(fold)
        values, counts = np.unique(fold.test.labels, return_counts=True)
        labels.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        n_queries += fold.test.n_queries
        n_documents += fold.test.n_documents
        n_features = fold.test.n_features
        digest.update(fingerprint(fold).encode())
        # Release the fold before the next one is read.
        del fold
    return {
        "n_queries": n_queries,
        "n_documents": n_documents,
        "n_features": n_features,
        "labels": {f"{label:g}": labels[label] for label in sorted(labels)},
        "folds": len(folds),
        "sha256": digest.hexdigest(),
    }


def _warn_of_shared_queries(fold: Fold) -> None:
    shared = np.intersect1d(fold.train.query_ids, fold.test.query_ids)
    if shared.size:
        warnings.warn(
            f"{fold.name}: {shared.size:,} query ids, such as {shared[0]}, are in both the "
            f"training and the test part. If they are the same queries, the results are too "
            f"good.",
            stacklevel=4,
        )
