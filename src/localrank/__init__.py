"""Query-adaptive learning to rank.

`localrank.recipes` has the papers' local methods, `LocalRanker` what they are made of, from the
parts in `localrank.representations`, `localrank.grouping`, `localrank.rankers` and
`localrank.selection`. `localrank.data` and `localrank.measures` hold what they learn from and are
measured by. `localrank.load` reads a saved model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localrank.local_ranker import LocalRanker
    from localrank.persistence import load

__version__ = "0.1.0.dev0"
__all__ = ["LocalRanker", "load"]


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that `import localrank` stays cheap.
    if name == "load":
        from localrank.persistence import load

        return load
    if name == "LocalRanker":
        from localrank.local_ranker import LocalRanker

        return LocalRanker
    raise AttributeError(f"module 'localrank' has no attribute {name!r}")
