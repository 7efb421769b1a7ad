"""Sizes of queries in a separate file: `.query` of LightGBM, `.group` of XGBoost."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np

from localrank._base.arrays import Integers
from localrank.data._compression import damage_named, open_binary, plain_name

# Other files that these tools find beside the data by name.
_UNUSED = (".weight", ".init", ".base_margin")


def sizes_beside(data: Path) -> Path | None:
    """The file with the sizes of a data file's queries; None if it does not exist."""
    return next((path for ending in (".query", ".group") for path in _beside(data, ending)), None)


def read_sizes(data: Path) -> Integers:
    """Read the number of lines of each query, one number per line."""
    path = sizes_beside(data)
    if path is None:
        raise FileNotFoundError(f"{data}: there is no file {data}.query or {data}.group.")
    sizes = []
    with damage_named(path), open_binary(path) as file:
        lines = file.read().decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            continue
        if not re.fullmatch("0*[1-9][0-9]{0,17}", text):
            raise ValueError(
                f"{path}:{number}: {text[:40]!r} is not the size of a query; each line must have "
                f"the number of documents of one query, 1 or larger"
            )
        sizes.append(int(text))
    return np.array(sizes, dtype=np.int64)


def check_sizes(data: Path, sizes: Integers, n_documents: int) -> None:
    """Refuse sizes whose sum is not the number of lines of the data."""
    if sizes.sum() != n_documents:
        raise ValueError(
            f"{sizes_beside(data)}: its {len(sizes):,} queries have {sizes.sum():,} documents, but "
            f"{data} has {n_documents:,}."
        )


def warn_of_unused(data: Path) -> None:
    """Say that weights and scores beside the data are not used."""
    for ending in _UNUSED:
        for path in _beside(data, ending):
            warnings.warn(f"{path} is not used; all documents have the same weight", stacklevel=5)


def _beside(data: Path, ending: str) -> list[Path]:
    """Files called like the data file, with or without its compression, and an ending."""
    names = dict.fromkeys([data.name, plain_name(data)])
    paths = (data.with_name(f"{name}{ending}") for name in names)
    return [path for path in paths if path.is_file()]
