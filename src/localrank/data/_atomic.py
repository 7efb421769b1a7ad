"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO

_DESCRIPTORS = Path("/proc/self/fd")
# Windows writes other line ends without it.
_BINARY: int = getattr(os, "O_BINARY", 0)


@contextmanager
def atomic_write(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` that replaces it when the block ends without error.

    On Linux and most file systems the temporary file has no name until it is complete, so a
    killed process leaves nothing behind. A path that is not a regular file, such as a pipe, is
    written to directly.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "file")
    ...     with atomic_write(path) as file:
    ...         _ = file.write(b"whole")
    ...     path.read_bytes()
    b'whole'
    """
    target = Path(path).resolve()  # a link stays, and what it points to is replaced
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {target.parent} does not exist.")
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file.")
    if target.exists() and not target.is_file():
        # A pipe or /dev/stdout has nothing to replace.
        with naming(path), target.open("wb") as device:
            yield device
        return
    descriptor, temporary = _open_temporary(target)
    try:
        with naming(path), os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if temporary is None:
                temporary = _named(descriptor, target)
        os.replace(temporary, target)
    except BaseException:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def naming(path: str | PathLike[str]) -> Iterator[None]:
    """Let errors of the system name the file, which those of a full disk do not."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def _open_temporary(target: Path) -> tuple[int, Path | None]:
    """A new file in the folder of the target, without a name if the system can do that.

    Such a file is gone when the process is killed. A file with a name would be left behind.
    """
    if hasattr(os, "O_TMPFILE") and _DESCRIPTORS.is_dir():
        with suppress(OSError):  # not every file system can
            return os.open(target.parent, os.O_TMPFILE | os.O_WRONLY, 0o666), None
    temporary = _unused_name(target)
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY
    return os.open(temporary, flags, 0o666), temporary


def _named(descriptor: int, target: Path) -> Path:
    """Give an open file without a name one beside the target."""
    temporary = _unused_name(target)
    folder = os.open(_DESCRIPTORS, os.O_RDONLY)
    try:
        # Python calls linkat, which follows the link, only if a folder is given.
        os.link(str(descriptor), temporary, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)
    return temporary


def _unused_name(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}")
