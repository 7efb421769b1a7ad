"""Why the documents of one query get their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._base.printing import Printed, Table
from localrank._base.rules import fitted_parts
from localrank.data import RankingDataset
from localrank.rankers._contributions import Contributions, Preference

# Largest number of documents to show, and of models.
N_DOCUMENTS, N_MODELS = 10, 6
# Columns for the features that contribute most to a document's score.
PLACES = ("first", "second", "third")


@dataclass(frozen=True, eq=False)
class NearDocuments:
    """How far the nearest documents of the same query move each document.

    Attributes
    ----------
    moved : str
        What the moves are parts of, in words.
    rows : ndarray of shape (n_documents, n_neighbours)
        The nearest documents, nearest first, as places in `Explanation.document_ids`. -1: there
        is no other.
    cosines : ndarray of shape (n_documents, n_neighbours)
    moves : ndarray of shape (n_documents, n_neighbours)
        How far each of them lifts the document, or lowers it.
    others : ndarray of shape (n_documents,)
        How far other documents move it that are as near as the last one and are not listed.
    """

    moved: str
    rows: Integers
    cosines: Floats
    moves: Floats
    others: Floats

    def of(self, row: int) -> list[tuple[int, float, float]]:
        """Place, cosine and move of each neighbour of a document, nearest first."""
        listed = zip(
            self.rows[row].tolist(), self.cosines[row].tolist(), self.moves[row].tolist(),
            strict=True,
        )  # fmt: skip
        return [near for near in listed if near[0] >= 0]


@runtime_checkable
class Borrowing(Protocol):
    """A fitted ranker that lets the documents of a query borrow from each other."""

    def near_documents(self, dataset: RankingDataset) -> NearDocuments:
        """The neighbours of the documents of one query."""
        ...


def borrowing_part(ranker: Any) -> Borrowing | None:
    """The first part of a fitted ranker that lets documents borrow from each other."""
    return next((part for part in fitted_parts(ranker) if isinstance(part, Borrowing)), None)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Explanation(Printed):
    """Why the documents of one query get their scores.

    Attributes
    ----------
    query : id
    document_ids : ndarray of shape (n_documents,)
        Ids of the documents. If they have none, their positions in the input, from 0.
    labels : ndarray of shape (n_documents,) or None
    scores : ndarray of shape (n_documents,)
        The scores that `predict` gives.
    contributions : Contributions or None
        What each feature contributes, relative to the query's mean document. None: the score is
        not a sum over features.
    no_contributions : str or None
        Why there are no contributions.
    members : tuple of str
        The rankers whose lists this ranker merges. Most rankers have none.
    member_scores : ndarray of shape (n_documents, n_members)
        The scores that each of them gives.
    near_documents : NearDocuments or None
        The neighbours that moved each document. None: documents do not borrow from each other.

    Examples
    --------
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import RankSVM
    >>> dataset, _ = make_queries(20, n_documents=(4, 6), n_features=5)
    >>> RankSVM().fit(dataset).explain(dataset, 7)
    The mean score of query 7 is -0.283298. A document's contributions add up to its
    score minus this mean.
    <BLANKLINE>
    First 4 of 4 documents, with the features that contribute most
    <BLANKLINE>
     document  label    score      first      second       third    others
     ─────────────────────────────────────────────────────────────────────
     28            2   0.2482  f5 +0.672  f3 -0.0817  f4 -0.0509  -0.00735
     29            0  -0.2618  f3 +0.103  f4 -0.0486  f2 -0.0198   -0.0135
     31            0  -0.3921  f5 -0.276  f4 +0.0858  f1 +0.0585    +0.023
     30            0  -0.7275  f5 -0.401  f1 -0.0607  f2 +0.0192  -0.00202
    """

    query: Any
    document_ids: Array
    labels: Floats | None
    scores: Floats
    contributions: Contributions | None
    no_contributions: str | None
    members: tuple[str, ...]
    member_scores: Floats
    near_documents: NearDocuments | None = None

    def why(self, above: Any, below: Any) -> Preference:
        """Explain why one document ranks above another: `Contributions.why` in this query."""
        if self.contributions is None:
            raise ValueError(self.no_contributions)
        return self.contributions.why(above, below, query=self.query)

    def _shown(self) -> list[str | Table]:
        shown: list[str | Table] = []
        if self.members:
            names = _numbered(self.members)[:N_MODELS]
            about = "with their rank by each member alone"
            shown.append(self._table(about, names, self._places(self.member_scores)))
        if self.contributions is not None:
            shown += self._decisive_features(self.contributions)
        else:
            shown.append(str(self.no_contributions))
            shown += [] if self.members else [self._table()]
        if self.near_documents is not None:
            shown += self._decisive_neighbours(self.near_documents)
        return shown

    def _places(self, scores: Floats) -> list[list[str]]:
        """The rank of the first documents, from 1, by each column of scores."""
        order = np.argsort(-scores, axis=0, kind="stable")
        places = np.argsort(order, axis=0, kind="stable") + 1
        return [[str(place) for place in row[:N_MODELS]] for row in places[self._best()]]

    def _decisive_features(self, contributions: Contributions) -> list[str | Table]:
        """The features that contribute most to the first documents."""
        entries, names = contributions.entries, contributions.names
        largest = contributions.largest(len(PLACES))
        rows = []
        for row in self._best():
            most = largest[row]
            cells = [f"{names[i]} {entries[row, i]:+.3g}" if entries[row, i] else "" for i in most]
            rest = entries[row].sum() - entries[row, most].sum()
            rows.append([*cells, *[""] * (len(PLACES) - len(cells)), f"{rest:+.3g}"])
        return [
            # A mean of scores that are centred may be -0.
            f"The mean score of query {self.query} is {round(contributions.base[0], 6) + 0.0:g}. A "
            f"document's contributions add up to its score minus this mean.",
            self._table("with the features that contribute most", [*PLACES, "others"], rows),
        ]

    def _decisive_neighbours(self, near: NearDocuments) -> list[str | Table]:
        """The neighbours that move the first documents most."""
        rows = []
        for row in self._best().tolist():
            listed = sorted(near.of(row), key=lambda neighbour: -abs(neighbour[2]))
            most, rest = listed[: len(PLACES)], listed[len(PLACES) :]
            cells = [f"{self.document_ids[place]} {move:+.3g}" for place, _, move in most if move]
            others = near.others[row] + sum(move for _, _, move in rest)
            rows.append([*cells, *[""] * (len(PLACES) - len(cells)), f"{others:+.3g}"])
        return [
            f"Documents borrow from their neighbours. The numbers say what a neighbour adds to "
            f"{near.moved}.",
            self._table("with the neighbours that move them most", [*PLACES, "others"], rows),
        ]

    def _best(self) -> Integers:
        """The first documents, best first."""
        return np.argsort(-self.scores, kind="stable")[:N_DOCUMENTS]

    def _table(
        self, about: str = "", columns: Sequence[str] = (), cells: Sequence[list[str]] = ()
    ) -> Table:
        """The first documents with their ids, labels and scores, and more cells of each."""
        best, labels = self._best(), self.labels
        rows = [[str(self.document_ids[row]), f"{self.scores[row]:.4g}"] for row in best]
        known = ["document", "score"]
        if labels is not None:
            known.insert(1, "label")
            for cells_of_row, row in zip(rows, best, strict=True):
                cells_of_row.insert(1, f"{labels[row]:g}")
        if cells:
            rows = [[*row, *more] for row, more in zip(rows, cells, strict=True)]
        title = f"First {len(best)} of {len(self.scores):,} documents"
        return Table(f"{title}, {about}" if about else title, [*known, *columns], rows)


def _numbered(names: tuple[str, ...]) -> list[str]:
    """The names, with a number behind those that occur more than once."""
    return [
        f"{name} {names[: place + 1].count(name)}" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]
