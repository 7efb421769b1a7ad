"""The private parts of numba that localrank uses: this is the only module that knows them.

They save time, and nothing else. Without them kernels are compiled in every process, which one
warning says, and the results are the same:

- a compiled function asks its `_cache` before it is compiled, and tells it after;
- what was compiled becomes bytes by `_reduce` and `dumps`, and is rebuilt from them by `_rebuild`;
- a processor and its settings are known by `magic_tuple`;
- events tell when compiling begins and ends.
"""

from __future__ import annotations

import gc
import pickle
import warnings
from typing import Any, Protocol

import numba
from numba.core.errors import NumbaError

# What numba and LLVM raise where they cannot compile a function.
COMPILER_ERRORS: tuple[type[Exception], ...] = (NumbaError, RuntimeError)


class Store(Protocol):
    """Where compiled functions are kept. A key says for which arguments and which processor."""

    @property
    def cache_path(self) -> str | None: ...

    def read(self, key: str) -> bytes | None: ...

    def write(self, key: str, content: bytes) -> None: ...

    def was_compiled(self) -> None: ...


def keep_compiled(function: Any, store: Store) -> None:
    """Let a function of `numba.njit` ask a store before it is compiled, and tell it after."""
    if not hasattr(function, "_cache"):
        _warn("its compiled functions have no cache that can be replaced")
    function._cache = _Cache(store)


class _Cache:
    """What numba asks and tells. A failure here must never keep a kernel from being compiled."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def cache_path(self) -> str | None:
        return self._store.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            from numba.core.compiler import CompileResult

            target_context.refresh()
            content = self._store.read(_key(sig, target_context))
            if content is None:
                return None
            rebuild: Any = CompileResult._rebuild
            return rebuild(target_context, *pickle.loads(content))
        except Exception as error:
            _warn(f"what was kept cannot be read: {type(error).__name__}: {error}")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        self._store.was_compiled()
        try:
            from numba.core.serialize import dumps

            if not data.library.has_dynamic_globals:
                to_bytes: Any = dumps
                self._store.write(_key(sig, data.target_context), to_bytes(data._reduce()))
        except Exception as error:
            _warn(f"what was compiled cannot be kept: {type(error).__name__}: {error}")

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...


def _key(sig: Any, target_context: Any) -> str:
    config: Any = numba.config
    processor = target_context.codegen().magic_tuple()
    return repr((sig, processor, numba.__version__, config.BOUNDSCHECK))


def _warn(reason: str) -> None:
    global _warned
    if _warned:
        return
    _warned = True
    warnings.warn(
        f"localrank cannot keep compiled kernels with numba {numba.__version__}: {reason}. Every "
        f"process compiles them again. Scores do not change.",
        RuntimeWarning,
        stacklevel=2,
    )


_warned = False


def pause_garbage_collection() -> None:
    """Search for no garbage while something is compiled: it takes an eighth of the time."""
    try:
        from numba.core.event import Listener, register
    except ImportError:
        return

    class Pause(Listener):
        depth = 0
        was_enabled = True

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.was_enabled = gc.isenabled()
                gc.disable()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0 and self.was_enabled:
                gc.enable()

    listen: Any = register
    listen("numba:compile", Pause())
