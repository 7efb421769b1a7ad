"""The private parts of numba that localrank uses: this is the only module that knows them.

They save time, and nothing else. Without them kernels are compiled in every process, which one
warning says, and the results are the same:

- a compiled function asks its `_cache` before it is compiled, and tells it after;
- what was compiled becomes bytes by `_reduce` and `dumps`, and is rebuilt from them by `_rebuild`,
  after `rtsys.initialize`;
- a processor and its settings are known by `magic_tuple`;
- events tell when compiling begins and ends;
- a pipeline is given the library that it fills, and a library of LLVM code is made ready by
  `finalize`.
"""

from __future__ import annotations

import gc
import pickle
import time
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

    def was_compiled(self, seconds: float) -> None: ...


def keep_compiled(function: Any, store: Store) -> None:
    """Let a function of `numba.njit` ask a store before it is compiled, and tell it after."""
    if not hasattr(function, "_cache"):
        _warn("its compiled functions have no cache that can be replaced")
    function._cache = _Cache(store)


class _Cache:
    """What numba asks and tells. A failure here must never keep a kernel from being compiled."""

    # Processor seconds of all that was compiled.
    _spent = 0.0

    def __init__(self, store: Store) -> None:
        self._store = store
        # What was spent, and the clock, when numba last asked for what was not there.
        self._missed = 0.0, time.process_time()

    @property
    def cache_path(self) -> str | None:
        return self._store.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            from numba.core.compiler import CompileResult
            from numba.core.runtime.nrt import rtsys

            # All of the `refresh` that compiled code needs: the rest, a quarter of a second of
            # imports, is for compiling.
            initialise: Any = rtsys.initialize
            initialise(target_context)
            content = self._store.read(_key(sig, target_context))
            self._missed = _Cache._spent, time.process_time()
            if content is None:
                return None
            rebuild: Any = CompileResult._rebuild
            return rebuild(target_context, *pickle.loads(content))
        except Exception as error:
            _warn(f"what was kept cannot be read: {type(error).__name__}: {error}")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        spent, begin = self._missed
        total = time.process_time() - begin
        # Less what was compiled on the way, and told for itself.
        self._store.was_compiled(total - (_Cache._spent - spent))
        _Cache._spent = spent + total
        try:
            from numba.core.serialize import dumps

            if not data.library.has_dynamic_globals:
                to_bytes: Any = dumps
                content = to_bytes(_without_empty_environments(data._reduce()))
                self._store.write(_key(sig, data.target_context), content)
        except Exception as error:
            _warn(f"what was compiled cannot be kept: {type(error).__name__}: {error}")

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...


def _without_empty_environments(parts: Any) -> Any:
    """What is kept of a compiled function, less the functions in it that have no constants.

    For each function that was compiled into it, numba keeps where its Python constants are, and
    imports its module when it is read again: `np.empty` in a kernel imports most of numba, and
    `a @ b` imports SciPy. The function's own constants are kept elsewhere.
    """
    *rest, environments = parts
    if isinstance(environments, tuple):
        environments = tuple(one for one in environments if getattr(one, "consts", True))
    return (*rest, environments)


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


def options_of_inner_kernels() -> dict[str, Any]:
    """Options of functions that kernels alone call: LLVM optimises them with their callers.

    By itself numba has LLVM optimise a function, and make machine code of it, before it is linked
    into its caller, which LLVM optimises as a whole once more: five levels of calls take five
    times as long.
    """
    try:
        from numba.core import codegen, compiler

        library_class: Any = codegen.JITCodeLibrary
        passes: Any = compiler.DefaultPassBuilder
        compiler_class: Any = compiler.CompilerBase
    except (ImportError, AttributeError):
        return {}

    class NoEnvironment:
        """Stands in for the owner of environments: code that Python cannot call needs none."""

        @staticmethod
        def set_env(name: str, env: Any) -> None: ...

    class Linked(library_class):
        """Code that is linked with what it calls, and nothing else."""

        codegen = NoEnvironment

        def finalize(self) -> None:
            for library in dict.fromkeys(self._linking_libraries):
                self._reload_init.update(library._reload_init)
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._finalize_dynamic_globals()
            self._finalized = True

    class Pipeline(compiler_class):
        """Compiles a function as numba does, into a library that is linked only."""

        def define_pipelines(self) -> list[Any]:
            state = self.state
            state.library = Linked(state.targetctx.codegen(), state.func_id.func_qualname)
            return [passes.define_nopython_pipeline(state)]

    # A version that does it in another way does it by itself.
    used = library_class.finalize.__code__.co_names
    if not {"_linking_libraries", "_reload_init", "_get_module_for_linking"} <= set(used):
        return {}
    return {"pipeline_class": Pipeline}


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
