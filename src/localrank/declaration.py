"""What a part says about itself beside its class or function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import ModuleType
from typing import Any, Literal, TypeVar, cast

Part = TypeVar("Part", bound=Callable[..., Any])


@dataclass(frozen=True)
class Declaration:
    """What the command line and the contract tests know of a part.

    It decorates a class, or a function that makes a part, which then has it as `declaration`.

    Parameters
    ----------
    name : str
        On the command line.
    summary : str
        A line for lists.
    kind : {"global", "local"}
        Of a ranker: whether one model serves every query.
    grid : mapping
        Of a ranker: parameters and the values to try where tuning is asked for.
    sample : mapping
        Parameters that make the part small and quick for the contract tests; parts of it by
        name, as on the command line.

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


# How it reads above a part.
declare = Declaration


def declared(package: ModuleType) -> dict[str, Any]:
    """The parts that a package exports and that declare themselves, by name.

    Examples
    --------
    >>> from localrank import aggregation
    >>> list(declared(aggregation))[:4]
    ['borda', 'fixed-scale', 'markov-chain', 'mean-score']
    """
    parts = {}
    # What it exports, and what was added while the program runs.
    names = dict.fromkeys([*dir(package), *vars(package)])
    for value in [getattr(package, name) for name in names]:
        if is_declared(value):
            name = value.declaration.name
            if name in parts:
                raise ValueError(f"{package.__name__} has two parts named {name!r}.")
            parts[name] = value
    return dict(sorted(parts.items()))


def is_declared(value: Any) -> bool:
    """Whether a part declares itself; a subclass does not go by the name of its base."""
    return isinstance(getattr(value, "__dict__", {}).get("declaration"), Declaration)
