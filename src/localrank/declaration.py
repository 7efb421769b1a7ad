"""What the command line and the contract tests know about a part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import ModuleType
from typing import Any, Literal, TypeVar, cast

Part = TypeVar("Part", bound=Callable[..., Any])


@dataclass(frozen=True)
class Declaration:
    """What the command line and the contract tests know about a part.

    It decorates a class, or a function that makes a part. The class or function then has it as
    its attribute `declaration`.

    Parameters
    ----------
    name : str
        Name on the command line.
    summary : str
        One line that `localrank methods` shows.
    kind : {"global", "local"}
        For a ranker: "local" if it adapts to the query, "global" if it does not.
    grid : mapping
        For a ranker: parameters to tune, with the values to try.
    sample : mapping
        Parameters that make the part small and quick, for contract tests. Inner parts are given
        by name, as on the command line.

    Examples
    --------
    >>> @declare("shuffle", "documents in random order")
    ... class Shuffle: ...
    >>> Shuffle.declaration.name
    'shuffle'
    """

    name: str
    summary: str
    _: KW_ONLY
    kind: Literal["global", "local"] = "global"
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    sample: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, part: Part) -> Part:
        cast(Any, part).declaration = self
        return part


# The name to use as a decorator.
declare = Declaration


def declared(package: ModuleType) -> dict[str, Any]:
    """The exported parts of a package that have a declaration, by name.

    Examples
    --------
    >>> from localrank import aggregation
    >>> list(declared(aggregation))[:4]
    ['borda', 'fixed-scale', 'markov-chain', 'mean-score']
    """
    parts = {}
    # The exports, and what was added at run time.
    names = dict.fromkeys([*dir(package), *vars(package)])
    for value in [getattr(package, name) for name in names]:
        if is_declared(value):
            name = value.declaration.name
            if name in parts:
                raise ValueError(f"{package.__name__} has two parts named {name!r}.")
            parts[name] = value
    return dict(sorted(parts.items()))


def is_declared(value: Any) -> bool:
    """Whether a part has a declaration itself: a subclass does not inherit one."""
    return isinstance(getattr(value, "__dict__", {}).get("declaration"), Declaration)
