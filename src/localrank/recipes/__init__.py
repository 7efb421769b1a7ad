"""Combinations of parts, each as a function: the papers' own, and the strongest found beyond."""

from localrank.recipes.papers import (
    adaptive_training,
    local_rank,
    pca_queries,
    query_neighbours,
)
from localrank.recipes.two_views import best, fast

__all__ = ["adaptive_training", "best", "fast", "local_rank", "pca_queries", "query_neighbours"]
