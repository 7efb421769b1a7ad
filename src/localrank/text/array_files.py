"""Arrays in files of numpy's format, written piece by piece and used without being read whole."""

from __future__ import annotations

import hashlib
import os
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np

from localrank.arrays import Array

# Bytes before an array, so that it begins where pages of memory and processors like it to.
_HEADER = 128
_MAGIC = b"\x93NUMPY\x01\x00"


class ArrayFacts(NamedTuple):
    """What an array's file must hold: its shape, and the SHA-256 digest of its content."""

    shape: tuple[int, ...]
    digest: str


class ArrayFile:
    """An array that grows by rows at its end, in a `.npy` file that does not exist yet.

    The file is one of numpy's, which `numpy.load` reads, when it was closed without an error.

    Parameters
    ----------
    path : path
    dtype : str
        As numpy writes it, little-endian: "<i4".
    row : tuple of int
        Shape of a row.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "counts.npy")
    ...     with ArrayFile(path, "<i4") as file:
    ...         file.append(np.array([3, 1]))
    ...         file.append(np.array([2]))
    ...     mapped_array(path, "<i4", file.facts).tolist()
    [3, 1, 2]
    """

    def __init__(self, path: Path, dtype: str, row: tuple[int, ...] = ()) -> None:
        self._dtype = np.dtype(dtype)
        self._row = row
        self._n_rows = 0
        self._digest = hashlib.sha256()
        self._file: BinaryIO = path.open("xb")
        self._file.write(bytes(_HEADER))

    def append(self, rows: Any) -> None:
        """Write rows behind those that were written."""
        values = np.ascontiguousarray(rows, self._dtype)
        self._n_rows += len(values)
        content = values.tobytes() if not values.size else values.reshape(-1).view(np.uint8).data
        self._file.write(content)
        self._digest.update(content)

    @property
    def facts(self) -> ArrayFacts:
        """What the file holds by now."""
        return ArrayFacts((self._n_rows, *self._row), self._digest.hexdigest())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._file.seek(0)
            self._file.write(_header(self._dtype, self.facts.shape))
        self._file.close()


def mapped_array(path: Path, dtype: str, facts: ArrayFacts) -> Array:
    """The array of a file, which stays there: the system reads what is used.

    The whole file is read once to compare it with the facts. Nothing in it is executed or
    believed: its first bytes must be those that the facts ask for.
    """
    kind, shape = np.dtype(dtype), facts.shape
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise ValueError(f"{path}: is missing.") from None
    with file:
        size = os.fstat(file.fileno()).st_size
        wanted = _HEADER + prod(shape) * kind.itemsize
        if size != wanted:
            raise ValueError(f"{path}: has {size:,} bytes and should have {wanted:,}.")
        if (
            file.read(_HEADER) != _header(kind, shape)
            or hashlib.file_digest(file, "sha256").hexdigest() != facts.digest
        ):
            raise ValueError(f"{path}: damaged, or of another index.")
        if not prod(shape):
            return np.empty(shape, kind)
        return np.asarray(np.memmap(file, kind, "r", _HEADER, shape))


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    facts = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    length = _HEADER - len(_MAGIC) - 2
    return _MAGIC + length.to_bytes(2, "little") + f"{facts}".ljust(length - 1).encode() + b"\n"
