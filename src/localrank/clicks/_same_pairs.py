"""Pairs of a query and a document that two sources have, by their ids."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from localrank._base.arrays import Array, Integers

# Ids of queries, the place of each pair's query among them, and the document of each pair.
Pairs: TypeAlias = tuple[Array, Integers, Array]


def shared_keys(known: Pairs, asked: Pairs) -> tuple[Integers, Integers]:
    """A number for each pair of two sources, the same for the same ids.

    Ids are compared as texts: 7 is "7".

    Examples
    --------
    >>> known = np.array(["q", "r"]), np.array([0, 0, 1]), np.array(["a", "b", "a"])
    >>> asked = np.array(["r", "s"]), np.array([0, 1]), np.array(["a", "a"])
    >>> shared_keys(known, asked)
    (array([0, 1, 2]), array([2, 4]))
    """
    queries, asked_queries = _numbered(known[0], asked[0])
    documents, asked_documents = _numbered(known[2], asked[2])
    n_documents = max(documents.max(initial=0), asked_documents.max(initial=0)) + 1
    return (
        queries[known[1]] * n_documents + documents,
        asked_queries[asked[1]] * n_documents + asked_documents,
    )


def place_among(keys: Integers, wanted: Integers) -> Integers:
    """The place of each wanted number among keys; -1: it is not there.

    Examples
    --------
    >>> place_among(np.array([5, 0, 7]), np.array([7, 6, 0, 8]))
    array([ 2, -1,  1, -1])
    """
    order = np.argsort(keys)
    found = np.searchsorted(keys, wanted, sorter=order)
    places = order[np.minimum(found, len(keys) - 1)]
    return np.where(keys[places] == wanted, places, -1)


def _numbered(known: Array, others: Array) -> tuple[Integers, Integers]:
    """Ids of two arrays as numbers, the same for the same text."""
    texts = np.concatenate([known.astype(np.str_), others.astype(np.str_)])
    numbers = np.unique(texts, return_inverse=True)[1]
    return numbers[: len(known)], numbers[len(known) :]
