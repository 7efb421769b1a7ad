"""The lines of a text file one after another, so that a corpus need not fit into memory."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from localrank.data.compression import damage_named, open_binary

# The longest line in bytes: a document may be one.
MAX_LINE = 1 << 28

Lines = Iterator[tuple[int, str]]


def numbered_lines(path: str | PathLike[str], encoding: str = "utf-8") -> Lines:
    """The lines of a file with their numbers, from 1, without their ends.

    Files that end in `.gz`, `.bz2` or `.xz` are decompressed on the way.
    """
    path = Path(path)
    with open_binary(path) as raw, damage_named(path), io.BufferedReader(raw) as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if len(line) > MAX_LINE:
                raise ValueError(f"{path}:{number}: line longer than {MAX_LINE:,} bytes.")
            if b"\0" in line:
                raise ValueError(
                    f"{path}:{number}: NUL byte. Documents must be text; UTF-16 must be converted "
                    f"to UTF-8 before."
                )
            yield number, _decoded(line.rstrip(b"\r\n"), encoding, f"{path}:{number}")


def _decoded(line: bytes, encoding: str, where: str) -> str:
    try:
        return line.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where}: byte 0x{line[error.start]:02x} at {error.start + 1} is not {encoding}. Name "
            f"the file's encoding, such as encoding='latin-1'."
        ) from None
