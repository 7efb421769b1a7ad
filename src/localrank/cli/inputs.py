"""What commands read and write: data files, measures, outputs."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from localrank.data import RankingDataset
    from localrank.measures import Measure

TABLE_SUFFIXES = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".arrow", ".feather")


Labels = Literal["needed", "optional", "ignored"]


def read_data(
    paths: Sequence[Path], *, labels: Labels = "needed", n_features: int | None = None
) -> RankingDataset:
    """LETOR files, or tables with the columns `qid`, `label` and optionally `document_id`.

    With `n_features`, LETOR files may lack the last features.
    """
    from localrank.cli.tables import say_if_compiling
    from localrank.data import concatenate, read_letor

    say_if_compiling()
    for path in paths:
        if path.is_dir():
            raise ValueError(f"{path}: is a folder. Name the files in it.")
    tables = [path for path in paths if path.name.lower().endswith(TABLE_SUFFIXES)]
    if not tables:
        return read_letor(paths, n_features=n_features)
    if len(tables) < len(paths):
        raise ValueError("Give LETOR files or tables, not both.")
    return concatenate([_read_table(path, labels) for path in tables])


def _read_table(path: Path, labels: Labels) -> RankingDataset:
    from localrank.data import read_table
    from localrank.data.tables import as_frame, read_file

    columns = as_frame(read_file(path), f"{path}: ").columns
    has_label = labels == "needed" or (labels == "optional" and "label" in columns)
    return read_table(
        path,
        label="label" if has_label else None,
        document_id="document_id" if "document_id" in columns else None,
        features=[name for name in columns if name not in ("qid", "label", "document_id")],
    )


def parse_measures(text: str, convention: str = "default") -> list[Measure]:
    """Measures by name, separated by commas that are not inside parentheses."""
    from localrank.measures import parse_measure

    names = [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]
    if not names:
        raise ValueError("Name at least one measure, such as ndcg@10.")
    return [parse_measure(name, convention=convention) for name in names]


def check_output(path: Path) -> None:
    """Refuse an output that could not be written, before the work for it is done."""
    folder = path.absolute().parent
    if path.is_dir():
        raise ValueError(f"{path}: is a folder. Name a file in it.")
    if not folder.is_dir():
        raise ValueError(f"{path}: the folder {folder} does not exist.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: the folder {folder} is not writable.")


def check_folder(path: Path) -> None:
    """Refuse a file in the place of an output folder, before the work for it is done."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path}: is a file. Name a folder for the report.")
