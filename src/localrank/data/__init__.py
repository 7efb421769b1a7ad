"""Datasets: documents grouped by query, from arrays, tables and files."""

from localrank.data.cleaning import CleaningReport, clean
from localrank.data.dataset import RankingDataset, concatenate
from localrank.data.folds import Fold, folds
from localrank.data.letor import read_letor, write_letor
from localrank.data.synthetic import make_queries
from localrank.data.tables import read_table
from localrank.data.trec import Qrels, Run, align, judged, read_qrels, read_run, write_run

__all__ = [
    "CleaningReport",
    "Fold",
    "Qrels",
    "RankingDataset",
    "Run",
    "align",
    "clean",
    "concatenate",
    "folds",
    "judged",
    "make_queries",
    "read_letor",
    "read_qrels",
    "read_run",
    "read_table",
    "write_letor",
    "write_run",
]
