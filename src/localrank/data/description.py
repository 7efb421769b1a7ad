"""A dataset in a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from localrank.data.dataset import RankingDataset


def described(dataset: RankingDataset) -> str:
    """Numbers of queries, documents and features, and how labels are spread."""
    sizes = dataset.query_sizes
    lines = [
        f"{type(dataset).__name__}: {_count(dataset.n_queries, 'query', 'queries')}, "
        f"{_count(dataset.n_documents, 'document')}, {_count(dataset.n_features, 'feature')} "
        f"({dataset.dtype})",
        f"documents per query: {sizes.min():,} to {sizes.max():,}, median {np.median(sizes):g}",
    ]
    if dataset.relevance is None:
        lines.append("relevance: none")
    else:
        grades, counts = np.unique(dataset.relevance, return_counts=True)
        if len(grades) <= 8:
            shares = (
                f"{grade:g} × {count:,} ({100 * count / dataset.n_documents:.1f} %)"
                for grade, count in zip(grades, counts, strict=True)
            )
            lines.append("relevance: " + ", ".join(shares))
        else:
            lines.append(f"relevance: {len(grades):,} values from {grades[0]:g} to {grades[-1]:g}")
        _, best = dataset.label_bounds
        lines.append(f"queries without a relevant document: {np.sum(best <= 0):,}")
    return "\n  ".join(lines)


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
