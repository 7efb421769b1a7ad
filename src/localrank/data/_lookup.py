"""Finds queries and documents by the ids that a user gives."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Literal

import numpy as np

from localrank._base.arrays import Array, Integers

# At most this many ids are compared with one that is not there, to suggest another.
MAX_COMPARED = 10_000
# Ids that the error lists.
N_LISTED = 3


def positions_of(
    ids: Array, wanted: Any, *, holder: str, kind: Literal["query", "document"], note: str = ""
) -> Integers:
    """Where an id stands among others; an error with what is there, if it is not.

    Ids are compared as texts: 7 is "7".

    Parameters
    ----------
    ids : ndarray of shape (n_ids,)
    wanted : id
    holder : str
        Who has the ids, for the error.
    kind : {"query", "document"}
        Whose ids they are.
    note : str
        The end of the error.

    Examples
    --------
    >>> positions_of(np.array([7, 8, 7]), "7", holder="The data", kind="document")
    array([0, 2])
    >>> positions_of(np.array(["d17", "d21"]), "d171", holder="The data", kind="document")
    Traceback (most recent call last):
    ...
    ValueError: The data has no document 'd171'. Did you mean 'd17'? Its 2 documents are d17, d21.
    """
    positions = np.flatnonzero(ids.astype(str) == str(wanted))
    if positions.size:
        return positions
    names = [str(name) for name in ids[:MAX_COMPARED].tolist()]
    near = get_close_matches(str(wanted), names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    several = {"query": "queries are", "document": "documents are"}[kind]
    listed = ", ".join(names[:N_LISTED]) + (", ..." if len(ids) > N_LISTED else ".")
    raise ValueError(
        f"{holder} has no {kind} {wanted!r}.{hint} Its "
        f"{f'{len(ids):,} {several}' if len(ids) > 1 else f'one {kind} is'} {listed}{note}"
    )
