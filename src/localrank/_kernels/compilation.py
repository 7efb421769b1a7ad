"""Compiling kernels, and keeping what was compiled.

Every kernel of the package is a function below `@kernel`. It is compiled when it is first called,
and kept in a file for later processes. Unlike numba's own cache this one

- knows a kernel by the sources of all modules it is made of, not by its own file alone;
- reads folders that it may not write to, as in a container whose image holds compiled kernels;
- works where no folder can be written to: what is compiled then lasts as long as the process.
"""

from __future__ import annotations

import linecache
import multiprocessing
import os
import re
import secrets
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, overload

import numba

from localrank._kernels.numba_internals import keep_compiled, pause_garbage_collection

# A type checker knows numba in part only.
_config: Any = numba.config

Function = TypeVar("Function", bound=Callable[..., Any])

# Names of what this process has compiled, each as often as it was.
compiled_kernels: list[str] = []

_IMPORT = re.compile(r"^\s*from (localrank[.\w]*) import", re.MULTILINE)
_DIGEST_SIZE = sha256().digest_size
_PACKAGE = Path(__file__).parents[1]


@overload
def kernel(function: Function, /) -> Function: ...


@overload
def kernel(**options: Any) -> Callable[[Function], Function]: ...


def kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a function at its first call, for each type of arguments, without the interpreter.

    Parameters
    ----------
    function : callable
    **options
        Further ones of `numba.njit`. With `inline="always"` a function is written into its
        callers, and takes no time to be compiled by itself.

    Examples
    --------
    >>> @kernel
    ... def double(number):
    ...     return 2 * number
    >>> double(21)
    42
    """
    if function is None:
        return lambda function: kernel(function, **options)
    compiled: Any = numba.njit(nogil=True, **options)(function)
    if not _config.DISABLE_JIT:  # else it is the function itself
        keep_compiled(compiled, _Files(function))
    return compiled


pause_garbage_collection()


class _Files:
    """The files of one kernel, one for each type of arguments and each processor."""

    def __init__(self, function: Any) -> None:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        self._name = f"{function.__module__}.{function.__name__}"
        # Read now: by the first call a file may be newer than the code that was imported.
        self._identity = (_sources(function.__module__), function.__qualname__, cells)

    @property
    def cache_path(self) -> str | None:
        folder = folder_to_write()
        return None if folder is None else str(folder)

    def read(self, key: str) -> bytes | None:
        for folder in _folders_to_read():
            content = _read(folder / self._file_name(key))
            if content is not None:
                return content
        _announce()
        return None

    def write(self, key: str, content: bytes) -> None:
        folder = folder_to_write()
        if folder is not None:
            # What cannot be kept, on a full disk, is compiled again next time.
            with suppress(OSError):
                _write(folder / self._file_name(key), content)

    def was_compiled(self) -> None:
        compiled_kernels.append(self._name)

    def _file_name(self, key: str) -> str:
        """One name for each content, so that files are never changed, and none is out of date."""
        made_of = (self._identity, key, _PYTHON)
        return f"{self._name}-{sha256(repr(made_of).encode()).hexdigest()[:32]}.nbc"


_PYTHON = (sys.implementation.cache_tag, getattr(sys, "abiflags", ""))


@cache
def _sources(module: str) -> str:
    """Digest of the sources of all modules that a module is made of."""
    return sha256(repr(_modules(module)).encode()).hexdigest()


def _modules(module: str) -> dict[str, str]:
    """A module, those it imports from, and so on, each with its source."""
    sources: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in sources:
            sources[name] = _source(name)
            waiting += _IMPORT.findall(sources[name])
    return sources


@cache
def _source(module: str) -> str:
    spec: Any = find_spec(module)
    # Not every loader has `get_source`, and that of pytest has not.
    names = {"__name__": module, "__loader__": spec.loader}
    return "".join(linecache.getlines(spec.origin, names))


@cache
def _folders_to_read() -> list[Path]:
    """Those up to the first that can be written to: an image may hold kernels, and be closed."""
    folders = list(_folders())
    last = folder_to_write()
    n = len(folders) if last is None else folders.index(last) + 1
    return list(filter(_is_trusted, folders[:n]))


def _folders() -> Iterator[Path]:
    """Where compiled kernels may be, the first choice first."""
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR, "localrank")
    yield _PACKAGE / "__pycache__"
    yield from _folders_of_user()


def _folders_of_user() -> Iterator[Path]:
    home = _cache_of_user()
    if home.is_absolute():  # not so for a user without a home
        yield home
    temporary = _temporary_folder()
    if temporary is not None:
        yield temporary


def _cache_of_user() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", os.path.expanduser(r"~\AppData\Local"))
        return Path(local, "localrank", "Cache")
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches"), "localrank")
    return Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "localrank")


def _temporary_folder() -> Path | None:
    user = os.getuid() if hasattr(os, "getuid") else "kernels"
    try:
        return Path(tempfile.gettempdir(), f"localrank-{user}")
    except FileNotFoundError:  # nothing at all can be written to
        return None


def _is_trusted(folder: Path) -> bool:
    """Whether files of a folder may be executed.

    One that anybody could have made must be this user's, and no other user may write to it.
    """
    if folder not in _folders_of_user():
        return True
    try:
        status = folder.stat()
    except OSError:
        return False
    # On Windows both are folders of the user's profile.
    return not hasattr(os, "getuid") or (
        status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


@cache
def folder_to_write() -> Path | None:
    """Where compiled kernels are kept: the first folder that can be written to, if there is one."""
    return next(filter(_is_writable, _folders()), None)


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700 if folder in _folders_of_user() else 0o777, parents=True)
    except FileExistsError:
        pass
    except OSError:
        return False
    try:
        with tempfile.TemporaryFile(dir=folder):
            return _is_trusted(folder)
    except OSError:
        return False


def _read(path: Path) -> bytes | None:
    """The content of a file, None where it is not there or not whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    content = data[_DIGEST_SIZE:]
    return content if sha256(content).digest() == data[:_DIGEST_SIZE] else None


def _write(path: Path, content: bytes) -> None:
    """Write a file whole: other processes may read or write the same."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        temporary.write_bytes(sha256(content).digest() + content)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


@cache
def _announce() -> None:
    """Say, once in a process, that compiling begins, or that it will be done again."""
    folder = folder_to_write()
    if folder in (None, _temporary_folder()):
        kept = "for this process only" if folder is None else f"in {folder} for now"
        warnings.warn(
            f"No folder for compiled kernels can be written to: they are kept {kept}. Set "
            "NUMBA_CACHE_DIR to a folder that lasts.",
            RuntimeWarning,
            stacklevel=2,
        )
    elif _is_wanted():
        print(
            "localrank: compiling kernels, once on this machine, up to twenty seconds; they are "
            f"kept in {folder}",
            file=sys.stderr,
        )


def announce_everywhere() -> None:
    """Say that compiling begins also where the error stream is not a terminal."""
    global _everywhere
    _everywhere = True


_everywhere = False


def _is_wanted() -> bool:
    """Whether a person reads the error stream: in a terminal or a notebook, not for each worker."""
    return multiprocessing.current_process().name == "MainProcess" and (
        _everywhere or "ipykernel" in sys.modules or sys.stderr.isatty()
    )
