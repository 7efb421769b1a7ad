"""Reads the files of an export."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from localrank.data import RankingDataset
from localrank.export.base import Files


@contextmanager
def reading(files: Files, ending: str) -> Iterator[bytes]:
    """The content of a file. Errors within the block name the file.

    Parameters
    ----------
    files : mapping
    ending : str
        End of the file's name. Exactly one name may end so.

    Examples
    --------
    >>> import json
    >>> with reading({"model.json": '{"trees": '}, "model.json") as text:
    ...     json.loads(text)
    Traceback (most recent call last):
    ValueError: model.json: is not as it was exported (JSONDecodeError: Expecting value: line 1
    column 11 (char 10)). Export the model again.
    """
    names = [name for name in files if name.endswith(ending)]
    if len(names) != 1:
        raise ValueError(
            f"{ending}: the export must have one file with this name. It has "
            f"{len(names) or 'none'}. Export the model again."
        )
    content = files[names[0]]
    try:
        yield content if isinstance(content, bytes) else content.encode()
    except Exception as error:
        raise ValueError(
            f"{names[0]}: is not as it was exported ({type(error).__name__}: {error}). "
            "Export the model again."
        ) from error


def numbered_names(n_features: int) -> tuple[str, ...]:
    """Names for features without names: f1, f2 and so on, by their numbers in LETOR files."""
    return tuple(f"f{number}" for number in range(1, n_features + 1))


def columns_by_name(dataset: RankingDataset) -> dict[str, int]:
    """The column of each feature of a dataset, by name.

    Examples
    --------
    >>> columns_by_name(RankingDataset.from_arrays([[0.5, 2.0]], qid=["a"]))
    {'f1': 0, 'f2': 1}
    """
    names = dataset.feature_names or numbered_names(dataset.n_features)
    return {name: column for column, name in enumerate(names)}
