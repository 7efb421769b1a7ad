"""Whole lines of a text file, a block at a time, for kernels that read them by address."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localrank._kernels.parsing import MARGIN
from localrank.data._compression import damage_named, open_binary
from localrank.data._letor_messages import LONE_RETURN, NUL

_BLOCK = 1 << 20


def line_blocks(
    path: Path, max_line: int, line: Callable[[], int]
) -> Iterator[tuple[NDArray[np.uint8], int, int]]:
    """A file's whole lines, block by block: a buffer, and where in it they begin and end.

    The last line ends with a newline, even if it has none in the file. A mark of the byte order is
    left out. A line that does not end within `max_line` bytes is refused; `line` gives its number.
    """
    buffer = bytearray(_BLOCK + 2 * MARGIN)
    begin = stop = MARGIN
    at_start = True
    with open_binary(path) as file:
        while True:
            with damage_named(path), memoryview(buffer) as free:
                n_read = file.readinto(free[stop:-MARGIN])
            stop += n_read
            if n_read == 0:
                buffer[stop] = ord("\n")
                end = stop = stop + 1
            else:
                end = buffer.rfind(b"\n", begin, stop) + 1
            if end:
                if at_start and buffer.startswith(codecs.BOM_UTF8, begin):
                    begin += len(codecs.BOM_UTF8)
                at_start = False
                yield np.frombuffer(buffer, dtype=np.uint8), begin, end
                if n_read == 0:
                    return
                rest = buffer[end:stop]
                begin, stop = MARGIN, MARGIN + len(rest)
                buffer[begin:stop] = rest
            elif stop - begin > max_line:
                text = buffer[begin:stop]
                raise ValueError(f"{path}:{line()}: {unreadable(text) or too_long(max_line)}")
            elif stop == len(buffer) - MARGIN:
                # A line longer than the buffer.
                buffer = buffer + bytes(len(buffer))


def unreadable(text: bytes | bytearray) -> str | None:
    """What is wrong with bytes that may be no line of text; None: nothing."""
    if b"\0" in text:
        return NUL
    return LONE_RETURN if b"\r" in text.rstrip(b"\r\n") else None


def too_long(max_line: int) -> str:
    """What to say of a line of more bytes."""
    return f"the line is longer than {max_line:,} bytes"
