"""Partitions: files of whole queries, for data larger than memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from localrank.data.dataset import RankingDataset
from localrank.data.formats.base import Wanted
from localrank.data.formats.table import TableFiles, like_training, tell_left_out, without_labels
from localrank.registry import declare


@declare("partitions", "folders of Parquet or Arrow files with whole queries, read when needed")
class PartitionFiles(TableFiles):
    """A folder of partitions, or files that `convert` wrote. To convert them, they are tables."""

    said, files = "is a folder of partitions", "partitions"
    suffixes, first_bytes = (), ()
    options = ("qid", "label", "document_id", "features", "ignore")
    goes_first = True

    def recognises(self, path: Path, options: Mapping[str, Any]) -> bool:
        from localrank.data.partitions import UNFINISHED, is_partition

        if path.is_dir():
            return any(file.name == UNFINISHED or is_partition(file) for file in path.iterdir())
        if not is_partition(path):
            return False
        from localrank.data.conversion import made_here

        return made_here(path)

    def read(self, paths: Sequence[Path], wanted: Wanted, **options: Any) -> RankingDataset:
        from localrank.data.partition_files import damage_named, open_table
        from localrank.data.partitions import open_partitions, partition_paths

        options = like_training(wanted, options)
        files = [file for path in paths for file in partition_paths(path)]
        if wanted.labels == "optional":
            label = options.get("label", "label")
            with damage_named(files[0]):
                options["label"] = label if label in open_table(files[0]).schema.names else None
        elif wanted.labels == "ignored":
            options = without_labels(options)
        dataset = open_partitions(files, **options)
        tell_left_out(paths[0], dataset, wanted, options)
        return dataset

    def sample(self) -> tuple[str, bytes]:
        import pyarrow
        from pyarrow import parquet

        columns = {"qid": [7, 7, 8], "label": [1, 0, 2], "bm25": [0.5, 2, 0], "clicks": [3.0, 0, 1]}
        table = pyarrow.table(columns).replace_schema_metadata({"localrank": '{"n_features": 2}'})
        buffer = pyarrow.BufferOutputStream()
        parquet.write_table(table, buffer)
        return "part-00000.parquet", buffer.getvalue().to_pybytes()
