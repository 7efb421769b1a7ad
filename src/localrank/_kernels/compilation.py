"""Compiling kernels, and keeping what was compiled.

Every kernel of the package is a function below `@kernel`. It is compiled when it is first called,
and kept in a file for later processes. What kernels alone call is below `@inner_kernel`. Unlike
numba's own cache this one

- knows a kernel by the sources of all modules it is made of, not by its own file alone;
- reads folders that it may not write to, as in a container whose image holds compiled kernels;
- executes no file that another user could have put there (`trusted_folders`);
- works where no folder can be used: what is compiled then lasts as long as the process.
"""

from __future__ import annotations

import linecache
import multiprocessing
import os
import re
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
from numba.extending import register_jitable

from localrank._kernels.numba_internals import (
    keep_compiled,
    options_of_inner_kernels,
    pause_garbage_collection,
)
from localrank._kernels.trusted_folders import UntrustedError, open_folder

# A type checker knows numba in part only.
_config: Any = numba.config

Function = TypeVar("Function", bound=Callable[..., Any])

# Names of what this process has compiled, each as often as it was.
compiled_kernels: list[str] = []
# Processor seconds that each of them took, without the other kernels that it calls.
compile_seconds: dict[str, float] = {}

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
        Further ones of `numba.njit`.

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
    # Without an entry for callbacks of C code, which nothing here uses.
    options = {"nogil": True, "no_cfunc_wrapper": True, **options}
    compiled: Any = numba.njit(**options)(function)
    if not _config.DISABLE_JIT:  # else it is the function itself
        keep_compiled(compiled, _Files(function))
    return compiled


@overload
def inner_kernel(function: Function, /) -> Function: ...


@overload
def inner_kernel(**options: Any) -> Callable[[Function], Function]: ...


def inner_kernel(function: Any = None, /, **options: Any) -> Any:
    """Compile a function as a part of the kernels that call it, which takes half the time.

    Where Python calls it, as tests do, it runs as it is written. A function with `fastmath` that
    changes the order of a sum stays a kernel: what is optimised with each caller could give each
    other bits.

    Examples
    --------
    >>> @inner_kernel
    ... def double(number):
    ...     return 2 * number
    >>> @kernel
    ... def double_twice(number):
    ...     return double(double(number))
    >>> double_twice(21)
    84
    """
    if function is None:
        return lambda function: inner_kernel(function, **options)
    compile_with: Any = register_jitable(no_cfunc_wrapper=True, **_INNER, **options)
    return compile_with(function)


_INNER = options_of_inner_kernels()
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
            content = _read(folder, self._file_name(key))
            if content is not None:
                return content
        _announce()
        return None

    def write(self, key: str, content: bytes) -> None:
        folder = folder_to_write()
        if folder is not None:
            # What cannot be kept, on a full disk, is compiled again next time.
            with suppress(OSError, UntrustedError), open_folder(folder) as opened:
                opened.write(self._file_name(key), sha256(content).digest() + content)

    def was_compiled(self, seconds: float) -> None:
        compiled_kernels.append(self._name)
        compile_seconds[self._name] = compile_seconds.get(self._name, 0.0) + seconds

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
    return folders if last is None else folders[: folders.index(last) + 1]


def _folders() -> Iterator[Path]:
    """Where compiled kernels may be, the first choice first."""
    if _config.CACHE_DIR:
        yield _chosen_folder()
    yield _PACKAGE / "__pycache__"
    home = _cache_of_user()
    if home.is_absolute():  # not so for a user without a home
        yield home
    temporary = _temporary_folder()
    if temporary is not None:
        yield temporary


def _chosen_folder() -> Path:
    return Path(_config.CACHE_DIR, "localrank").absolute()


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


@cache
def folder_to_write() -> Path | None:
    """Where compiled kernels are kept: the first folder that can be used, if there is one."""
    return next(filter(_is_usable, _folders()), None)


def _is_usable(folder: Path) -> bool:
    try:
        with open_folder(folder, make=True) as opened:
            opened.try_to_write()
    except (OSError, UntrustedError) as error:
        _refused[folder] = error
        return False
    return True


def _read(folder: Path, name: str) -> bytes | None:
    """The content of a file, None where it is absent, not to be trusted or not whole."""
    try:
        with open_folder(folder) as opened:
            data = opened.read(name)
    except FileNotFoundError:
        return None
    except (OSError, UntrustedError) as error:
        _refused[folder] = error
        return None
    content = data[_DIGEST_SIZE:]
    return content if sha256(content).digest() == data[:_DIGEST_SIZE] else None


# Folders that cannot be used, or hold a file that cannot, each with the reason.
_refused: dict[Path, OSError | UntrustedError] = {}


@cache
def _announce() -> None:
    """Say, once in a process, that compiling begins, or that it will be done again."""
    folder = folder_to_write()
    if folder in (None, _temporary_folder()) or _chosen_is_untrusted(folder):
        kept = "for this process only" if folder is None else f"in {folder} for now"
        warnings.warn(
            f"Compiled kernels are kept {kept}, because these folders cannot be used: "
            f"{'; '.join(map(_reason, _refused, _refused.values()))}. Set NUMBA_CACHE_DIR to a "
            "folder that lasts, and that you alone can write to.",
            RuntimeWarning,
            stacklevel=2,
        )
    elif _is_wanted():
        print(
            "localrank: compiling kernels, once on this machine, up to twenty seconds; they are "
            f"kept in {folder}",
            file=sys.stderr,
        )


def _chosen_is_untrusted(folder: Path | None) -> bool:
    """Whether the user named a folder that another one stands in for."""
    if not _config.CACHE_DIR or folder == _chosen_folder():
        return False
    return isinstance(_refused.get(_chosen_folder()), UntrustedError)


def _reason(folder: Path, error: OSError | UntrustedError) -> str:
    return str(error) if isinstance(error, UntrustedError) else f"{folder}: {error.strerror}"


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
