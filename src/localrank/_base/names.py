"""The error for an unknown name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(
    what: str, name: str, known: Iterable[str], listed: Iterable[str] | None = None
) -> ValueError:
    """The error for an unknown name, with the nearest known name and a list of names.

    Parameters
    ----------
    what : str
        Beginning of the message.
    name : str
        The unknown name.
    known : iterable of str
        Names that may have been meant.
    listed : iterable of str, optional
        Names to list. None: all known names.

    Examples
    --------
    >>> raise unknown("There is no measure", "ngcd", ["map", "ndcg"])
    Traceback (most recent call last):
    ...
    ValueError: There is no measure 'ngcd'. Did you mean 'ndcg'? There are: map, ndcg.
    """
    spelled = {other.lower(): other for other in known}
    near = get_close_matches(name.lower(), spelled, n=1, cutoff=0.5)
    hint = f" Did you mean {spelled[near[0]]!r}?" if near else ""
    names = ", ".join(sorted(spelled.values() if listed is None else listed))
    return ValueError(f"{what} {name!r}.{hint} There are: {names}.")
