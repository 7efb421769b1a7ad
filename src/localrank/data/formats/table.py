"""Tables in files: Parquet, CSV and Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from localrank.data.dataset import RankingDataset
from localrank.data.errors import AdvisedError
from localrank.data.formats.base import Format, Wanted
from localrank.registry import declare

if TYPE_CHECKING:
    from localrank.data._row_batches import TableBatches

# At most this many columns are named in a line.
_MAX_NAMED = 5


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

        options = like_training(wanted, options)
        optional = [*wanted.categories]
        if wanted.labels != "needed":
            optional.append(options.get("label", "label"))
        if wanted.labels == "ignored":
            options = without_labels(options)
        tables = [read_table(path, **options, optional=optional) for path in paths]
        for path, table in zip(paths, tables, strict=True):
            tell_left_out(path, table, wanted, options)
        return concatenate(tables)

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


def like_training(wanted: Wanted, options: dict[str, Any]) -> dict[str, Any]:
    """Options that choose the features of a model by their names, unless the caller chose some.

    Its categories are read as such, whatever the columns hold.
    """
    ordinal = wanted.columns is not None and wanted.columns.ordinal
    if wanted.feature_names is not None and not options.keys() & {"features", "ignore"}:
        options = options | {"features": list(wanted.feature_names)}
    if "categories" not in options and (ordinal or wanted.categories):
        options = options | {"categories": "ordinal" if ordinal else wanted.categories}
    return options


def tell_left_out(
    path: Path, table: RankingDataset, wanted: Wanted, options: Mapping[str, Any]
) -> None:
    """Say which columns are neither features of the model nor left out by somebody's choice."""
    if wanted.feature_names is None or table.column_record is None:
        return
    chosen = {*options.get("ignore", ()), *(wanted.columns.left_out if wanted.columns else ())}
    new = [repr(name) for name in table.column_record.left_out if name not in chosen]
    if new:
        more = f", and {len(new) - _MAX_NAMED:,} more" if len(new) > _MAX_NAMED else ""
        wanted.say(
            f"{path}: columns that are not features of the training data are left out: "
            f"{', '.join(new[:_MAX_NAMED])}{more}"
        )


def without_labels(options: dict[str, Any]) -> dict[str, Any]:
    """Options that leave out the column of labels."""
    label = options.get("label", "label")
    ignore = [*options.get("ignore", ()), *([] if label is None else [label])]
    return options | {"label": None, "ignore": ignore}
