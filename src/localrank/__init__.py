"""Query-adaptive learning to rank.

The parts live in `localrank.data`, `localrank.measures` and `localrank.rankers`;
`localrank.load` reads a saved model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localrank.persistence import load

__version__ = "0.1.0.dev0"
__all__ = ["load"]


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that `import localrank` stays cheap.
    if name == "load":
        from localrank.persistence import load

        return load
    raise AttributeError(f"module 'localrank' has no attribute {name!r}")
