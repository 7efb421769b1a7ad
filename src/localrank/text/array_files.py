"""Arrays in files of NumPy's format. They are written in pieces and used without loading all."""

from __future__ import annotations

import hashlib
import os
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np

from localrank.arrays import Array

# Bytes before an array. They align its begin, for memory pages and processors.
_HEADER = 128
_MAGIC = b"\x93NUMPY\x01\x00"


class ArrayFacts(NamedTuple):
    """The shape of an array and the SHA-256 digest of its content, to check its file."""

    shape: tuple[int, ...]
    digest: str


class ArrayFile:
    """An array in a new `.npy` file, to which rows are appended.

    After it is closed without an error, `numpy.load` reads the file.

    Parameters
    ----------
    path : path
        A file that does not exist yet.
    dtype : str
        Type in NumPy's notation, little-endian, such as "<i4".
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
        """Write rows at the end."""
        values = np.ascontiguousarray(rows, self._dtype)
        self._n_rows += len(values)
        content = values.tobytes() if not values.size else values.reshape(-1).view(np.uint8).data
        self._file.write(content)
        self._digest.update(content)

    @property
    def facts(self) -> ArrayFacts:
        """The shape and digest of the rows written so far."""
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
    """The array in a file, mapped into memory: the system reads only the parts that are used.

    The whole file is read once to compare it with the facts. Nothing in it is executed, and its
    header is not trusted: it must equal the header that the facts require.
    """
    kind, shape = np.dtype(dtype), facts.shape
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise ValueError(f"{path}: the file is missing. Build the index again.") from None
    with file:
        size = os.fstat(file.fileno()).st_size
        wanted = _HEADER + prod(shape) * kind.itemsize
        if size != wanted:
            raise ValueError(
                f"{path}: has {size:,} bytes and should have {wanted:,}. Build the index again."
            )
        if (
            file.read(_HEADER) != _header(kind, shape)
            or hashlib.file_digest(file, "sha256").hexdigest() != facts.digest
        ):
            raise ValueError(
                f"{path}: is damaged, or belongs to another index. Build the index again."
            )
        if not prod(shape):
            return np.empty(shape, kind)
        return np.asarray(np.memmap(file, kind, "r", _HEADER, shape))


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    facts = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    length = _HEADER - len(_MAGIC) - 2
    return _MAGIC + length.to_bytes(2, "little") + f"{facts}".ljust(length - 1).encode() + b"\n"
