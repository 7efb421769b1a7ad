"""What several rankers make of the same training queries, made once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Made = TypeVar("Made")

# By kind: what the last one is made of, how, and what it is.
_made: ContextVar[dict[str, tuple[Any, Hashable, Any]] | None] = ContextVar("made", default=None)


@contextmanager
def shared_rows() -> Iterator[None]:
    """Let rankers that learn inside the block, one after the other, share their orders and bins.

    Models are the same as without it. Of each kind, the last one is held until the block ends.
    """
    token = _made.set({})
    try:
        yield
    finally:
        _made.reset(token)


def made_once(
    kind: str, of: Any, how: Hashable, make: Callable[[], Made], *, keep: bool = True
) -> Made:
    """What `make` makes; inside `shared_rows`, the last one if it is of the same object.

    Parameters
    ----------
    kind : str
        Name of what is made.
    of : object
        What it is made of.
    how : hashable
        All else that decides what is made.
    make : callable
    keep : bool, default=True
        Whether what is made may be held. False: it takes too much memory.

    Examples
    --------
    >>> words = ["a", "b"]
    >>> with shared_rows():
    ...     one, other, third = (made_once("set", words, i, lambda: set(words)) for i in (0, 0, 1))
    >>> one is other, one is third
    (True, False)
    """
    known = _made.get()
    if known is not None and kind in known:
        last_of, last_how, made = known[kind]
        if last_of is of and last_how == how:
            return made  # type: ignore[no-any-return]
        # Gone before the next is made, so that there are not two.
        del known[kind], last_of, made
    result = make()
    if known is not None and keep:
        known[kind] = (of, how, result)
    return result
