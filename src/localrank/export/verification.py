"""Verifies that an exported model ranks as the ranker does."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from localrank._base.arrays import Floats, Integers
from localrank.data import RankingDataset
from localrank.export._routed_models import scores_of
from localrank.export.writing import feature_names, list_targets, read_files, target
from localrank.formulas import Routed
from localrank.rankers._inputs import admitted_to

if TYPE_CHECKING:
    from localrank.rankers import Ranker


@dataclass(frozen=True)
class Move:
    """A document that the exported model puts in another place.

    Parameters
    ----------
    query, document : id
    rank : int
        Place by the ranker, from 1.
    exported_rank : int
        Place by the exported model.
    gap : float
        Score of the document minus the score of the document that takes its place, both by the
        ranker.
    """

    query: Any
    document: Any
    rank: int
    exported_rank: int
    gap: float


@dataclass(frozen=True)
class Verification:
    """A comparison of an exported model's scores with the ranker's.

    Attributes
    ----------
    n_lists, n_documents : int
        Number of lists and documents that were ranked.
    largest_difference : float
        Largest difference between the two scores of a document. Scores are measured from the
        mean of their list, so a constant that the export adds does not count.
    largest_score : float
        Largest absolute score of the ranker, measured from the mean of its list, for comparison.
    n_equal_lists : int
        Number of lists in which all documents have the same place. Equal scores stay in input
        order, except with `free_ties`.
    first_move : Move or None
        The highest document of the first changed list that moves. None: no document moves.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays([[0], [0], [0]], qid=["a"] * 3)
    >>> Verification.of(dataset, np.array([3.0, 2.0, 1.0]), np.array([7.0, 4.5, 5.0]))
    1 list, 3 documents. Largest difference of scores: 1 of 1. Lists in the same order: 0 of 1.
    First that moves: document 2 of query a, from rank 2 to 3. The ranker scores it 1 above the
    document that takes its place.
    """

    n_lists: int
    n_documents: int
    largest_difference: float
    largest_score: float
    n_equal_lists: int
    first_move: Move | None

    @classmethod
    def of(
        cls,
        dataset: RankingDataset,
        scores: Floats,
        exported: Floats,
        *,
        free_ties: bool = False,
    ) -> Verification:
        """Compare two scores of each row of a dataset.

        Parameters
        ----------
        dataset : RankingDataset
        scores : ndarray of shape (n_documents,)
            Scores by the ranker.
        exported : ndarray of shape (n_documents,)
            Scores by the exported model.
        free_ties : bool, default=False
            Documents to which the ranker gives equal scores may come in any order.
        """
        if not np.isfinite(exported).all():
            row = int(np.argmin(np.isfinite(exported)))
            query, document = _ids(dataset, row)
            raise ValueError(
                f"The exported model gives document {document} of query {query} the score "
                f"{exported[row]}.{_reason(dataset, row)}"
            )
        centred, other = (_centred(values, dataset) for values in (scores, exported))
        by = [scores, exported] if free_ties else [scores]
        places, others = _places(dataset, *by), _places(dataset, exported)
        moved = places != others
        changed = np.logical_or.reduceat(moved, dataset.offsets[:-1])
        return cls(
            dataset.n_queries,
            dataset.n_documents,
            float(np.abs(centred - other).max()),
            float(np.abs(centred).max()),
            int(np.sum(~changed)),
            _first(dataset, scores, places, others) if moved.any() else None,
        )

    @property
    def same_order(self) -> bool:
        """Whether every list has the same order."""
        return self.first_move is None

    def __repr__(self) -> str:
        lists = "1 list" if self.n_lists == 1 else f"{self.n_lists:,} lists"
        text = (
            f"{lists}, {self.n_documents:,} documents. "
            f"Largest difference of scores: {self.largest_difference:.3g} of "
            f"{self.largest_score:.3g}. "
            f"Lists in the same order: {self.n_equal_lists:,} of {self.n_lists:,}."
        )
        move = self.first_move
        if move is None:
            return text
        return (
            f"{text}\nFirst that moves: document {move.document} of query {move.query}, from "
            f"rank {move.rank} to {move.exported_rank}. The ranker scores it {move.gap:.3g} above "
            f"the document that takes its place."
        )


def verify(
    ranker: Ranker, to: str, folder: str | PathLike[str], dataset: RankingDataset
) -> Verification:
    """Rank lists with an exported model as the engine would, and compare with the ranker.

    The scores are computed from the files alone, in the engine's arithmetic: with its precision,
    comparisons and missing values.

    Parameters
    ----------
    ranker : Ranker
        The ranker that was exported.
    to : str
        Name of the target.
    folder : path
        Folder into which `export` wrote the files.
    dataset : RankingDataset
        Lists to rank. Labels are not needed. For a target that fuses lists: `lists_dataset`.

    Examples
    --------
    >>> import tempfile
    >>> from localrank.data import make_queries
    >>> from localrank.export import export
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> ranker = LambdaMART(20).fit(dataset)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = export(ranker, "lightgbm", folder)
    ...     verify(ranker, "lightgbm", folder, dataset).same_order
    True
    """
    dataset = admitted_to(ranker, dataset, None)
    scores = dataset.in_query_order(ranker.predict(dataset))
    files = read_files(folder)
    if to in (fusing := list_targets()):
        exported = fusing[to]().scores(files, dataset)
        # The last document of a list and one that the list lacks may be tied, at 0.
        return Verification.of(dataset, scores, exported, free_ties=True)
    formula = ranker.formula()
    router = formula.router if isinstance(formula, Routed) else None
    named = dataset.replaced(feature_names=feature_names(ranker))
    # A score that is not a number is reported with its document, below.
    with np.errstate(over="ignore", invalid="ignore"):
        exported = scores_of(target(to), files, named, router)
    return Verification.of(dataset, scores, exported)


def _ids(dataset: RankingDataset, row: int) -> tuple[Any, Any]:
    """The ids of a row's query and document. A document without an id has its place in the list."""
    query = int(dataset.query_index[row])
    ids = dataset.document_ids
    document = row - dataset.offsets[query] + 1 if ids is None else ids[row]
    return dataset.query_ids[query].item(), document.item()


def _reason(dataset: RankingDataset, row: int) -> str:
    """Why a document may have no score, and what to do."""
    values = dataset.features[row]
    if np.isnan(values).any():
        return " It lacks a feature, and this model needs all: verify with complete documents."
    if (np.abs(values) > np.finfo(np.float32).max).any():
        return " It has a value beyond the range of float32, and engines keep features in float32."
    return ""


def _centred(scores: Floats, dataset: RankingDataset) -> Floats:
    means = np.add.reduceat(scores, dataset.offsets[:-1]) / dataset.query_sizes
    centred: Floats = scores - means[dataset.query_index]
    return centred


def _places(dataset: RankingDataset, *scores: Floats) -> Integers:
    """The place of each row in its list, from 1: by the first scores, ties by the next."""
    order = np.lexsort((*(-values for values in reversed(scores)), dataset.query_index))
    places = np.empty(dataset.n_documents, np.int64)
    places[order] = np.arange(dataset.n_documents) - dataset.offsets[dataset.query_index] + 1
    return places


def _first(dataset: RankingDataset, scores: Floats, places: Integers, others: Integers) -> Move:
    query = int(dataset.query_index[np.argmax(places != others)])
    rows = np.arange(dataset.offsets[query], dataset.offsets[query + 1])
    by_place = rows[np.argsort(places[rows])]
    row = by_place[np.argmax(places[by_place] != others[by_place])]
    rival = rows[others[rows] == places[row]][0]
    return Move(
        *_ids(dataset, row),
        int(places[row]),
        int(others[row]),
        float(scores[row] - scores[rival]),
    )
