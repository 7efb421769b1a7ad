"""Folders and files that nobody but this user and root can have changed.

A compiled kernel is executed: whoever can put a file in its place runs code as this user. So a
file is read only if this user or root own it and everything on its path, and no others may write
to any of it. The path is walked anew each time, from the root folder down. Every step is opened
from the descriptor of the step before it, and what is checked is what was opened: nothing that is
renamed or replaced meanwhile is followed.

- A folder that all may write to, such as `/tmp`, may stand on the path if it is sticky: nobody
  but its owner can then rename or remove what this user or root put into it. It may not hold
  files of ours itself.
- A link is followed if this user or root own it and its folder is not of that kind: others could
  have given an old link of this user a new name there.
- Write access by group counts as access by others, even if nobody else is in the group now. It
  also stands for access lists, whose rights the group's bits bound on Linux.

Windows knows no such owners and modes. There, folders are those of the user's profile, or chosen
by the user, and nothing is checked.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# To reach what is in a folder needs no right to list it.
_REACH = getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))
_FOLDER = _REACH | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
# A pipe that nobody writes to must not hold up its reader.
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_MAX_LINKS = 40


class UntrustedError(Exception):
    """Another user could have changed a folder or a file. The message says which, and why."""


class TrustedFolder:
    """An open folder. Its files are opened from its descriptor."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self._path = path
        self._descriptor = descriptor

    def read(self, name: str) -> bytes:
        """The content of a file that others cannot have changed."""
        descriptor = self._open(name, os.O_RDONLY | _FILE)
        with open(descriptor, "rb") as file:
            if self._descriptor is not None:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise UntrustedError(f"{self._path / name} is not a regular file")
                _check_owner(status, self._path / name)
                _check_closed(status, self._path / name)
            return file.read()

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole: other processes may read or write the same."""
        temporary = f"{name}.{secrets.token_hex(8)}"
        descriptor = self._open(temporary, _NEW_FILE)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
            at = self._descriptor
            os.replace(self._name(temporary), self._name(name), src_dir_fd=at, dst_dir_fd=at)
        except OSError:
            self._remove(temporary)
            raise

    def try_to_write(self) -> None:
        """Raise OSError where no file can be made: modes do not tell all, as of a closed disk."""
        name = secrets.token_hex(8)
        os.close(self._open(name, _NEW_FILE))
        self._remove(name)

    def _open(self, name: str, flags: int) -> int:
        return os.open(self._name(name), flags, 0o644, dir_fd=self._descriptor)

    def _remove(self, name: str) -> None:
        os.unlink(self._name(name), dir_fd=self._descriptor)

    def _name(self, name: str) -> str:
        return str(self._path / name) if self._descriptor is None else name


@contextmanager
def open_folder(path: Path, *, make: bool = False) -> Iterator[TrustedFolder]:
    """Open a folder that others can neither write to nor replace.

    Parameters
    ----------
    path : Path
    make : bool
        Make what is absent of it, for this user alone.

    Raises
    ------
    UntrustedError
        If others can.
    OSError
        If it is absent, or cannot be opened.
    """
    if not hasattr(os, "geteuid"):
        if make:
            path.mkdir(parents=True, exist_ok=True)
        yield TrustedFolder(path, None)
        return
    descriptor = _walk(path.absolute(), make)
    try:
        yield TrustedFolder(path, descriptor)
    finally:
        os.close(descriptor)


def _walk(path: Path, make: bool) -> int:
    """The descriptor of a folder, reached by checked steps."""
    steps = list(reversed(path.parts))
    place = Path(steps.pop())
    here = os.open(place, _FOLDER)
    n_links = 0
    try:
        is_shared = _check_folder(os.fstat(here), place, is_last=not steps)
        while steps:
            step = steps.pop()
            target = _target_of_link(step, here, place, is_shared=is_shared)
            if target is not None:
                n_links += 1
                if n_links > _MAX_LINKS:
                    raise UntrustedError(f"{path} leads through more than {_MAX_LINKS} links")
                steps += reversed(target.parts)
                continue
            below = _enter(step, here, make=make)
            os.close(here)
            here = below
            place /= step
            is_shared = _check_folder(os.fstat(here), place, is_last=not steps)
    except BaseException:
        os.close(here)
        raise
    return here


def _enter(step: str, here: int, *, make: bool) -> int:
    try:
        return os.open(step, _FOLDER, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
    try:
        os.mkdir(step, 0o700, dir_fd=here)
        os.chmod(step, 0o700, dir_fd=here)  # whatever the umask took away
    except FileExistsError:  # another process made it
        pass
    return os.open(step, _FOLDER, dir_fd=here)


def _target_of_link(step: str, here: int, place: Path, *, is_shared: bool) -> Path | None:
    """Where a step leads, if it is a link."""
    try:
        status = os.lstat(step, dir_fd=here)
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(status.st_mode):
        return None
    if is_shared:
        raise UntrustedError(f"{place / step} is a link in a folder that other users may write to")
    _check_owner(status, place / step)
    return Path(os.readlink(step, dir_fd=here))


def _check_folder(status: os.stat_result, path: Path, *, is_last: bool) -> bool:
    """Whether a folder on the path may be written to by others, and is sticky."""
    _check_owner(status, path)
    if status.st_mode & stat.S_ISVTX and not is_last:
        return bool(status.st_mode & _WRITABLE_BY_OTHERS)
    _check_closed(status, path)
    return False


def _check_owner(status: os.stat_result, path: Path) -> None:
    if status.st_uid not in (0, os.geteuid()):
        raise UntrustedError(f"{path} belongs to another user (number {status.st_uid})")


def _check_closed(status: os.stat_result, path: Path) -> None:
    if status.st_mode & _WRITABLE_BY_OTHERS:
        who = "every user" if status.st_mode & stat.S_IWOTH else f"group {status.st_gid}"
        raise UntrustedError(f"{path} may be written to by {who} (close it with chmod go-w)")
