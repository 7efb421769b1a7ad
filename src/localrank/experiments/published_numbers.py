"""Published numbers, read from `published.toml`, each with its source."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


def published(paper: str, place: str, data: str) -> dict[str, Any]:
    """The numbers of a paper's table or figure for a collection. Empty: the paper has none.

    A part of a published collection has the numbers of the whole.

    Examples
    --------
    >>> published("adaptive-training", "table-2", "MQ2007")["baseline"]
    {'ndcg@5': 0.417, 'mrr@100': 0.568}
    >>> published("adaptive-training", "table-2", "OHSUMED")
    {}
    """
    numbers: dict[str, Any] = _numbers()[paper][place].get(whole(data), {})
    return numbers


def published_cells(paper: str, place: str, data: str) -> dict[tuple[str, ...], float]:
    """The same numbers by tuples of names, outermost first, as `ResultTable.compared` takes them.

    Examples
    --------
    >>> published_cells("adaptive-training", "table-2", "MQ2007")["baseline", "ndcg@5"]
    0.417
    """

    def flat(numbers: dict[str, Any], names: tuple[str, ...]) -> dict[tuple[str, ...], float]:
        cells: dict[tuple[str, ...], float] = {}
        for name, value in numbers.items():
            path = (*names, name)
            cells |= flat(value, path) if isinstance(value, dict) else {path: value}
        return cells

    return flat(published(paper, place, data), ())


def has_numbers(paper: str, data: str) -> bool:
    """Whether a paper has numbers for a collection or for the whole of it.

    Examples
    --------
    >>> has_numbers("lgmml", "MSLR-sample"), has_numbers("local-rank", "MSLR-sample")
    (True, False)
    """
    places = (place for place in _numbers()[paper].values() if isinstance(place, dict))
    return any(whole(data) in place for place in places)


def source(paper: str) -> str:
    """The source of a paper's numbers."""
    return str(_numbers()[paper]["source"])


def whole(data: str) -> str:
    """The published collection that a collection is a part of, or itself.

    Examples
    --------
    >>> whole("MQ2007-85"), whole("OHSUMED")
    ('MQ2007', 'OHSUMED')
    """
    return str(_numbers()["parts-of"].get(data, data))


@cache
def _numbers() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "published.toml").read_text(encoding="utf-8"))
