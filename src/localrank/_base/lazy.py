"""Packages that import their exports on first use.

A package lists its exports below `if TYPE_CHECKING:`, one line per name, where readers and type
checkers look. Loading a model then imports only the classes that it is made of.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import CodeType
from typing import Any


def on_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package that imports its exports on first use.

    Parameters
    ----------
    package : str
        The `__name__` of the package, whose code calls this function.

    Examples
    --------
    >>> from localrank import aggregation
    >>> dir(aggregation)[:3], aggregation.Borda()
    (['Aggregator', 'Borda', 'FixedScale'], Borda())
    """
    module = sys.modules[package]
    # What the package imports at once, such as this function, is not an export.
    imports = _imports(sys._getframe(1).f_code)
    origins = {name: origin for name, origin in imports if name not in vars(module)}
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


def _imports(code: CodeType) -> Iterator[tuple[str, str]]:
    """The names that compiled code imports from modules of localrank, with their modules.

    They are not read from the source, which a frozen application does not have.
    """
    origin = ""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            origin = step.argval
        elif step.opname == "IMPORT_FROM" and origin.split(".")[0] == "localrank":
            yield step.argval, origin
