"""What to say of a name that nothing goes by."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(
    what: str, name: str, known: Iterable[str], listed: Iterable[str] | None = None
) -> ValueError:
    """The error of a name that is not known: the nearest that is, and all there are.

    Parameters
    ----------
    what : str
        Begins the message.
    name : str
    known : iterable of str
        What may have been meant.
    listed : iterable of str, optional
        What to list, where that is not all that is known.

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
    there = ", ".join(sorted(spelled.values() if listed is None else listed))
    return ValueError(f"{what} {name!r}.{hint} There are: {there}.")
