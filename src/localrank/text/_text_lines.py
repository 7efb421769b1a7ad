"""Reads a text file line by line, so that a corpus need not fit into memory."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from localrank.data._compression import damage_named, open_binary
from localrank.data._errors import AdvisedError

# The longest line, in bytes. A whole document may be one line.
MAX_LINE = 1 << 28

Lines = Iterator[tuple[int, str]]


def numbered_lines(path: str | PathLike[str], encoding: str = "utf-8") -> Lines:
    """The lines of a file without line ends, with their numbers from 1.

    Files whose names end in `.gz`, `.bz2` or `.xz` are decompressed.
    """
    path = Path(path)
    with open_binary(path) as raw, damage_named(path), io.BufferedReader(raw) as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if len(line) > MAX_LINE:
                raise ValueError(f"{path}:{number}: the line is longer than {MAX_LINE:,} bytes.")
            if b"\0" in line:
                raise ValueError(
                    f"{path}:{number}: the line has a NUL byte. The file must be text; convert "
                    f"UTF-16 to UTF-8 first."
                )
            yield number, _decoded(line.rstrip(b"\r\n"), encoding, f"{path}:{number}")


def _decoded(line: bytes, encoding: str, where: str) -> str:
    try:
        return line.decode(encoding)
    except UnicodeDecodeError as error:
        raise AdvisedError(
            f"{where}: byte {error.start + 1} of the line, 0x{line[error.start]:02x}, is not "
            f"{encoding}.",
            "Give the file's encoding, such as encoding='latin-1'.",
            "Convert the file to UTF-8.",
        ) from None
