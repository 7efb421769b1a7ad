"""Packages that import their exports on first use.

A package lists its exports below `if TYPE_CHECKING:`, one line per name, where readers and type
checkers look. Loading a model then imports only the classes that it is made of.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any


def on_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package that imports its exports on first use.

    Parameters
    ----------
    package : str
        The `__name__` of the package.

    Examples
    --------
    >>> from localrank import aggregation
    >>> dir(aggregation)[:3], aggregation.Borda()
    (['Aggregator', 'Borda', 'FixedScale'], Borda())
    """
    module = sys.modules[package]
    origins = dict(_exports(module))
    vars(module).setdefault("__all__", sorted(origins))

    def imported(name: str) -> Any:
        if name not in origins:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if origins[name] == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(origins[name]), name)
        setattr(module, name, value)
        return value

    return imported, lambda: sorted(origins)


def _exports(module: Any) -> Iterator[tuple[str, str]]:
    """The names that a package exports, with their modules."""
    # Not every loader has `get_source`, and that of pytest has not.
    source = "".join(linecache.getlines(module.__file__, vars(module)))
    for block in ast.parse(source).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom) and line.module is not None:
                    yield from ((name.name, line.module) for name in line.names)
