"""Datasets: documents grouped by query, from arrays, tables and files."""

from typing import TYPE_CHECKING

from localrank._base.lazy import on_use

if TYPE_CHECKING:
    from localrank.data.cleaning import CleaningReport as CleaningReport
    from localrank.data.cleaning import clean as clean
    from localrank.data.click_lines import read_click_log as read_click_log
    from localrank.data.click_lines import write_click_log as write_click_log
    from localrank.data.click_tables import read_click_table as read_click_table
    from localrank.data.concatenation import concatenate as concatenate
    from localrank.data.conversion import convert as convert
    from localrank.data.dataset import RankingDataset as RankingDataset
    from localrank.data.errors import ColumnWarning as ColumnWarning
    from localrank.data.feature_logs.reading import read_feature_log as read_feature_log
    from localrank.data.fold import Fold as Fold
    from localrank.data.fold import folds as folds
    from localrank.data.letor import read_letor as read_letor
    from localrank.data.letor import write_letor as write_letor
    from localrank.data.partition_files import Partition as Partition
    from localrank.data.partitions import open_partitions as open_partitions
    from localrank.data.pooling import PooledRuns as PooledRuns
    from localrank.data.pooling import RunCounts as RunCounts
    from localrank.data.pooling import align as align
    from localrank.data.pooling import judged as judged
    from localrank.data.pooling import pooled as pooled
    from localrank.data.reading import read as read
    from localrank.data.run_sources import as_qrels as as_qrels
    from localrank.data.run_sources import as_run as as_run
    from localrank.data.run_sources import as_runs as as_runs
    from localrank.data.sampling import SampleWarning as SampleWarning
    from localrank.data.synthetic import make_queries as make_queries
    from localrank.data.tables import read_table as read_table
    from localrank.data.tables import write_table as write_table
    from localrank.data.trec import Qrels as Qrels
    from localrank.data.trec import Run as Run
    from localrank.data.trec import read_qrels as read_qrels
    from localrank.data.trec import read_run as read_run
    from localrank.data.trec import write_run as write_run
    from localrank.data.ubi import read_ubi as read_ubi
    from localrank.data.vector_files import read_vectors as read_vectors
    from localrank.data.vectors import Vectors as Vectors
else:
    __getattr__, __dir__ = on_use(__name__)
