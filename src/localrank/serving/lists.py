"""From a request's documents to the rows that a model takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from localrank.arrays import Floats
from localrank.data import RankingDataset
from localrank.names import unknown
from localrank.rankers import Ranker
from localrank.serving.failures import Refused
from localrank.serving.messages import DocumentList, Id, Value

# Names of features that a message lists.
N_NAMES = 5


@dataclass(frozen=True)
class Lists:
    """The lists of one request.

    Attributes
    ----------
    dataset : RankingDataset
        A query for each list, its rows in the order of the request.
    queries : list
        Their ids; None where the request has none.
    ids : list of list
        Of the documents of each list.
    """

    dataset: RankingDataset
    queries: Sequence[Id | None]
    ids: Sequence[Sequence[Id]]


def lists_of_documents(lists: Sequence[DocumentList], ranker: Ranker) -> Lists:
    """The lists as a model takes them; a `Refused` that names what is wrong and where."""
    several = len(lists) > 1
    matrices = []
    for number, one in enumerate(lists):
        try:
            matrices.append(_matrix(one, ranker))
        except Refused as refused:
            where = f"lists[{number}]: " if several else ""
            raise Refused(refused.status, where + refused.message) from None
    sizes = [len(matrix) for matrix in matrices]
    return Lists(
        as_dataset(np.concatenate(matrices) if several else matrices[0], sizes),
        [one.query for one in lists],
        [
            [index if document.id is None else document.id for index, document in enumerate(docs)]
            for docs in (one.documents for one in lists)
        ],
    )


def as_dataset(features: Floats, sizes: Sequence[int]) -> RankingDataset:
    """Rows of lists that follow one another as a dataset."""
    try:
        return RankingDataset.from_arrays(features, qid=np.repeat(np.arange(len(sizes)), sizes))
    except ValueError as error:
        raise Refused(422, str(error)) from None


def columns_of(given: list[str], names: Any) -> list[int]:
    """Where each of the model's features stands among those given."""
    if names is None:
        raise Refused(422, "The model was trained without feature names: leave out feature_names.")
    place = {name: column for column, name in enumerate(given)}
    if len(place) != len(given):
        raise Refused(422, "feature_names must be unique.")
    _check_names("feature_names", place, names.tolist())
    return [place[name] for name in names.tolist()]


def _matrix(one: DocumentList, ranker: Ranker) -> Floats:
    """The documents' features, a row each, columns as the model has them."""
    n_features: int = ranker.n_features_in_
    features = [document.features for document in one.documents]
    kinds = set(map(type, features))
    if len(kinds) > 1:
        raise Refused(422, "Give all documents of a list as rows, or all by feature name.")
    names = getattr(ranker, "feature_names_in_", None)
    rows: list[Any] = features
    if kinds == {dict}:
        if one.feature_names is not None:
            raise Refused(422, "feature_names is for rows. These documents name their features.")
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
    if one.feature_names is not None:
        matrix = matrix[:, columns_of(one.feature_names, names)]
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
        raise Refused(422, f"{where}: without {_listed(missing)}, which the model needs.")
    surplus = [name for name in given if name not in set(names)]
    if surplus:
        raise Refused(422, f"{where}: {unknown('The model has no feature', surplus[0], names)}")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - N_NAMES:,} more" if len(names) > N_NAMES else ""
    return ", ".join(map(repr, names[:N_NAMES])) + more
