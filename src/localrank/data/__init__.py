"""Datasets: documents grouped by query, from arrays, tables and files."""

from localrank.data.dataset import RankingDataset, concatenate

__all__ = ["RankingDataset", "concatenate"]
