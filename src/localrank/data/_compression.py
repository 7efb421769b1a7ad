"""Compressed files, by the suffixes `.gz`, `.bz2` and `.xz`."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def open_binary(path: Path) -> Any:
    """A file to read bytes from, decompressed where its suffix says that it is compressed."""
    opener = _OPENERS.get(path.suffix.lower())
    return open(path, "rb", buffering=0) if opener is None else opener(path, "rb")


def compressed(file: BinaryIO, suffix: str) -> Any:
    """A file to write bytes into, compressed on the way where the suffix asks for it."""
    if suffix.lower() == ".gz":
        # No name or time in the header: the same content gives the same bytes.
        return gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)
    if suffix.lower() in _OPENERS:
        return _OPENERS[suffix.lower()](file, "wb")
    return nullcontext(file)


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turn the decompressors' various errors into one that names the file."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path}: the compressed file is truncated or damaged: {error}") from None
    except OSError as error:
        # The system's errors have a number; those of gzip and bz2 for damaged files have none.
        if error.errno is not None:
            raise
        raise ValueError(f"{path}: the compressed file is truncated or damaged: {error}") from None


def plain_name(path: Path) -> str:
    """The name of a file without the suffix of its compression."""
    return path.stem if path.suffix.lower() in _OPENERS else path.name
