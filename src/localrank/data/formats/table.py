"""Tables in files: Parquet, CSV and Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from localrank.data._errors import AdvisedError
from localrank.data.dataset import RankingDataset
from localrank.data.formats.base import Format, Wanted
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.data._row_batches import TableBatches


@declare("table", "tables with one row for each document: Parquet, CSV, Arrow")
class TableFiles(Format):
    """Tables, read as `read_table` does. Document ids are in the column `document_id`, if any."""

    said, files = "is a table", "tables"
    suffixes: ClassVar[tuple[str, ...]] = (
        ".parquet",
        ".csv",
        ".csv.gz",
        ".tsv",
        ".tsv.gz",
        ".arrow",
        ".feather",
    )
    first_bytes: ClassVar[tuple[bytes, ...]] = (b"PAR1", b"ARROW1")
    options: ClassVar[tuple[str, ...]] = (
        "qid",
        "label",
        "document_id",
        "features",
        "ignore",
        "categories",
        "column_description",
    )

    def recognises(self, path: Path, options: Mapping[str, Any]) -> bool:
        return "column_description" in options or super().recognises(path, options)

    def read(self, paths: Sequence[Path], wanted: Wanted, **options: Any) -> RankingDataset:
        from localrank.data.concatenation import concatenate
        from localrank.data.tables import read_table

        optional = [options.get("label", "label")] if wanted.labels != "needed" else []
        if wanted.labels == "ignored":
            options = without_labels(options)
        return concatenate([read_table(path, **options, optional=optional) for path in paths])

    def batches(
        self, dtype: np.dtype[Any], batch_bytes: int, advance: Callable[[], None], **options: Any
    ) -> TableBatches:
        from localrank.data._row_batches import TableBatches

        if "categories" in options:
            raise AdvisedError(
                "`convert` does not take",
                "categories: write the categories as numbers first.",
                "--categories: write the categories as numbers first.",
            )
        return TableBatches(batch_bytes, advance, **options)

    def sample(self) -> tuple[str, bytes]:
        return "sample.csv", b"qid,label,bm25,clicks\n7,1,0.5,3\n7,0,2,0\n8,2,0,1\n"


def without_labels(options: dict[str, Any]) -> dict[str, Any]:
    """Options that leave out the column of labels."""
    label = options.get("label", "label")
    ignore = [*options.get("ignore", ()), *([] if label is None else [label])]
    return options | {"label": None, "ignore": ignore}
