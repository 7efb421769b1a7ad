"""The clicks that came back, in files that several workers append to."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localrank.serving._list_ids import Shown, line_of
from localrank.serving._messages import Refused

log = logging.getLogger("localrank.serving")
# The log is spread over this many files. The oldest goes when a new one begins.
N_FILES = 8
_NAME = re.compile(r"clicks-(\d{6,})\.jsonl")
# How each line begins: the number of its list, and when that was shown.
_BEGIN = re.compile(rb'\{"list":"([0-9a-f]{16})","time":(\d+),')


class ClicksLog:
    """Appends a line for each list whose clicks came back.

    A lock on the folder lets one worker write at a time. Under it, a worker reads what others have
    written since, so that each knows the lists of all: the log itself is the memory of what came
    back. A line is written by one call, and is on the disk before its clicks are acknowledged. A
    line that a killed worker left unfinished was not acknowledged: the next one who writes cuts it
    off.

    Parameters
    ----------
    folder : Path
    max_bytes : int
        At most this many bytes in all files together.
    within : float
        Clicks on a list are accepted for this many seconds after it was shown.
    """

    def __init__(self, folder: Path, max_bytes: int, within: float) -> None:
        try:
            import fcntl
        except ImportError:
            raise ValueError(
                "A log of clicks needs locks that Windows does not have. "
                "Run the live test on Linux or macOS."
            ) from None
        self.folder = folder
        self.within = within
        self._lock, self._unlock = fcntl.LOCK_EX, fcntl.LOCK_UN
        self._flock = fcntl.flock
        self._most = max(max_bytes // N_FILES, 1)
        # The time of each list that came back, in the order of the log.
        self._back: dict[bytes, int] = {}
        self._number = 0
        self._file = -1
        self._read = 0
        with self._locked():
            numbers = self._numbers()
            for number in numbers[:-1]:
                path = self._path(number)
                if path.stat().st_mtime > time.time() - within:
                    self._remember(path.read_bytes())
            self._open(numbers[-1] if numbers else 1)
            self._catch_up()

    def append(self, shown: Shown, clicks: list[int]) -> None:
        """Put clicks on the disk. Raises `Refused` if those of the list are there already."""
        try:
            file = self._write(shown, line_of(shown, clicks))
            # Others may write while this waits for the disk.
            try:
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            log.error("Clicks cannot be written: %s.", error)
            raise Refused(
                503, "The log of clicks cannot be written. Try again later.", Retry_After="10"
            ) from None

    def _write(self, shown: Shown, line: bytes) -> int:
        """Write a line, whole or not at all. Returns a copy of the file's descriptor."""
        with self._locked():
            self._catch_up()
            if shown.number.encode() in self._back:
                raise Refused(409, "The clicks on this list are in the log already.")
            if self._read and self._read + len(line) > self._most:
                self._rotate()
            try:
                if os.write(self._file, line) < len(line):
                    raise OSError("the disk is full")
            except OSError:
                os.ftruncate(self._file, self._read)
                raise
            self._remember(line)
            self._read += len(line)
            return os.dup(self._file)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # The system takes the lock from a worker that dies.
        lock = os.open(self.folder / "lock", os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        try:
            self._flock(lock, self._lock)
            yield
        finally:
            os.close(lock)

    def _numbers(self) -> list[int]:
        found = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def _path(self, number: int) -> Path:
        return self.folder / f"clicks-{number:06}.jsonl"

    def _open(self, number: int) -> None:
        # A link could make a file of somebody else the log, which would then be cut.
        flags = os.O_CREAT | os.O_APPEND | os.O_RDWR | os.O_NOFOLLOW
        file = os.open(self._path(number), flags, 0o600)
        # Only now: if the new one cannot be opened, the old one is still the log.
        if self._file >= 0:
            os.close(self._file)
        self._file, self._number, self._read = file, number, 0

    def _catch_up(self) -> None:
        """Read what others have written, in this file and in those after it."""
        numbers = self._numbers()
        unfinished = self._read_on()
        for number in numbers:
            if number > self._number:
                self._open(number)
                unfinished = self._read_on()
        if self._number not in numbers:
            # Somebody has taken the file away.
            self._open(self._number + 1)
        elif unfinished:
            log.warning("A line that was not finished is cut off from the log of clicks.")
            os.ftruncate(self._file, self._read)
        before = time.time() - self.within
        while self._back and next(iter(self._back.values())) < before:
            del self._back[next(iter(self._back))]

    def _read_on(self) -> bool:
        """Read the lines that are new in this file. Whether there is one without an end."""
        new = os.pread(self._file, os.fstat(self._file).st_size - self._read, self._read)
        end = new.rfind(b"\n") + 1
        self._remember(new[:end])
        self._read += end
        return end < len(new)

    def _remember(self, lines: bytes) -> None:
        before = time.time() - self.within
        for line in lines.splitlines():
            if (begin := _BEGIN.match(line)) and int(begin[2]) >= before:
                self._back[begin[1]] = int(begin[2])

    def _rotate(self) -> None:
        """Begin a new file, and delete the oldest if there are too many."""
        self._open(self._number + 1)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        for number in self._numbers()[:-N_FILES]:
            log.warning("The log of clicks is full: %s is deleted.", self._path(number).name)
            self._path(number).unlink()
