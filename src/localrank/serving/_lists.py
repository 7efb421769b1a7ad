"""Turns a request's documents into the rows that a model takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.names import unknown
from localrank.data import RankingDataset
from localrank.rankers import Ranker
from localrank.serving._failures import Refused
from localrank.serving._messages import DocumentList, Id, Value

# The most names of features that a message lists.
N_NAMES = 5


@dataclass(frozen=True)
class Lists:
    """The lists of one request.

    Attributes
    ----------
    dataset : RankingDataset
        A query for each list, its rows in the order of the request.
    queries : list
        Ids of the queries. None: the request gives no id.
    ids : list of list
        Ids of the documents of each list.
    """

    dataset: RankingDataset
    queries: Sequence[Id | None]
    ids: Sequence[Sequence[Id]]


def lists_of_documents(lists: Sequence[DocumentList], ranker: Ranker) -> Lists:
    """The lists in the form that a model takes. Raises `Refused` that names the error's place."""
    several = len(lists) > 1
    matrices = []
    for number, documents in enumerate(lists):
        try:
            matrices.append(_matrix(documents, ranker))
        except Refused as refused:
            where = f"lists[{number}]: " if several else ""
            raise Refused(refused.status, where + refused.message) from None
    sizes = [len(matrix) for matrix in matrices]
    return Lists(
        as_dataset(np.concatenate(matrices) if several else matrices[0], sizes),
        [each.query for each in lists],
        [
            [
                index if document.id is None else document.id
                for index, document in enumerate(each.documents)
            ]
            for each in lists
        ],
    )


def as_dataset(features: Floats, sizes: Sequence[int]) -> RankingDataset:
    """A dataset of the rows of lists that follow one another."""
    try:
        return RankingDataset.from_arrays(features, qid=np.repeat(np.arange(len(sizes)), sizes))
    except ValueError as error:
        raise Refused(422, str(error)) from None


def columns_of(given: list[str], names: Any) -> list[int]:
    """The position of each of the model's features among the given names."""
    if names is None:
        raise Refused(422, "The model was trained without feature names: leave out feature_names.")
    place = {name: column for column, name in enumerate(given)}
    if len(place) != len(given):
        raise Refused(422, "feature_names must be unique.")
    _check_names("feature_names", place, names.tolist())
    return [place[name] for name in names.tolist()]


def _matrix(request: DocumentList, ranker: Ranker) -> Floats:
    """The features, one row per document, columns in the model's order."""
    n_features: int = ranker.n_features_in_
    features = [document.features for document in request.documents]
    kinds = set(map(type, features))
    if len(kinds) > 1:
        raise Refused(
            422, "Some documents are rows, others name their features. Use one form in a list."
        )
    names = getattr(ranker, "feature_names_in_", None)
    rows: list[Any] = features
    if kinds == {dict}:
        if request.feature_names is not None:
            raise Refused(
                422, "feature_names is for rows, and these documents name their features."
            )
        if names is None:
            raise Refused(
                422,
                f"The model was trained without feature names: send each document's features as "
                f"a row of {n_features} numbers.",
            )
        rows = _rows_by_name(rows, names.tolist())
    elif wrong := [i for i, row in enumerate(rows) if len(row) != n_features]:
        raise Refused(
            422,
            f"documents[{wrong[0]}]: the model takes {n_features} features. "
            f"Got {len(rows[wrong[0]])} instead.",
        )
    matrix = np.array(rows, dtype=np.float64).reshape(len(rows), n_features)
    if request.feature_names is not None:
        matrix = matrix[:, columns_of(request.feature_names, names)]
    return matrix


def _rows_by_name(features: Sequence[dict[str, Value]], names: list[str]) -> list[Any]:
    take = itemgetter(*names)
    try:
        rows = [take(values) for values in features]
    except KeyError:
        rows = []
    if not rows or any(len(values) != len(names) for values in features):
        for number, values in enumerate(features):
            _check_names(f"documents[{number}]", values, names)
    return rows


def _check_names(where: str, given: dict[str, Any], names: list[str]) -> None:
    missing = [name for name in names if name not in given]
    if missing:
        raise Refused(422, f"{where}: lacks {_listed(missing)}, which the model needs.")
    surplus = [name for name in given if name not in set(names)]
    if surplus:
        raise Refused(422, f"{where}: {unknown('The model has no feature', surplus[0], names)}")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - N_NAMES:,} more" if len(names) > N_NAMES else ""
    return ", ".join(map(repr, names[:N_NAMES])) + more
