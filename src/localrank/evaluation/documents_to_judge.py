"""Which unjudged documents to judge next: those that could turn a conclusion first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Flags, Floats
from localrank._base.printing import Printed, Table
from localrank.data._atomic import atomic_write
from localrank.data._frames import FrameLibrary, frame_of
from localrank.data.trec import _escaped
from localrank.evaluation._hole_bounds import HoleBounds
from localrank.evaluation._places import Places

# Documents to judge that are printed.
_N_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class ToJudge(Printed):
    """Unjudged documents. Those that could turn a conclusion come first.

    Attributes
    ----------
    query_ids, document_ids : ndarray of shape (n_documents,)
    ranks : dict from run to ndarray of shape (n_documents,)
        The rank in each run, the mean rank of tied documents. NaN: not retrieved.
    moves : dict from run to ndarray of shape (n_documents,)
        How much the mean difference to the baseline would move if the document had the highest
        grade, and all other unjudged documents were not relevant.
    could_turn : ndarray of bool of shape (n_documents,)
        Whether the document could help to turn a conclusion that depends on the unjudged documents.
    """

    query_ids: Array
    document_ids: Array
    ranks: dict[str, Floats]
    moves: dict[str, Floats]
    could_turn: Flags

    def __len__(self) -> int:
        return len(self.query_ids)

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """One row per document; `library` as in `RankingDataset.to_frame`."""
        columns: dict[str, Array] = {"query": self.query_ids, "document": self.document_ids}
        columns |= {f"rank {name}": ranks for name, ranks in self.ranks.items()}
        columns |= {f"move {name}": moves for name, moves in self.moves.items()}
        return frame_of({**columns, "could_turn": self.could_turn}, library)

    def write(self, path: str | PathLike[str]) -> None:
        """Write lines of qrels, `query 0 document -1`, separated by tabs.

        Replace -1, which says that nobody judged the document, by a grade. Lines that still have
        it count as if they were not there.
        """
        pairs = zip(self.query_ids.astype(str), self.document_ids.astype(str), strict=True)
        with atomic_write(path) as file:
            file.writelines(
                f"{_escaped(query)}\t0\t{_escaped(document)}\t-1\n".encode()
                for query, document in pairs
            )

    def _shown(self) -> list[str | Table]:
        title = f"Documents to judge next: {len(self):,}"
        if len(self) > _N_SHOWN:
            title += f", the first {_N_SHOWN}"
        rows = []
        for i in range(min(len(self), _N_SHOWN)):
            first = min(self.ranks, key=lambda run: np.nan_to_num(self.ranks[run][i], nan=np.inf))
            most = max(self.moves, key=lambda run: abs(self.moves[run][i]))
            rows.append(
                [
                    str(self.query_ids[i]),
                    str(self.document_ids[i]),
                    f"{self.ranks[first][i]:g} in {first}",
                    f"{self.moves[most][i]:+.4f} of {most}",
                ]
            )
        return [Table(title, ["query", "document", "best rank", "largest move"], rows)]


def documents_to_judge(
    bounds: HoleBounds,
    listed: Flags,
    places: Mapping[str, Places],
    ranks: Mapping[str, Floats],
    as_judged: Mapping[str, Floats],
    signs: Mapping[str, int | None],
    baseline: str,
) -> ToJudge:
    """The holes among the first documents of some run, by how far they move a conclusion.

    Parameters
    ----------
    bounds : HoleBounds
    listed : ndarray of bool of shape (n_documents,)
        The rows that may be judged next.
    places, ranks, as_judged : dict from run
        Where it ranks the rows, their ranks, and its values.
    signs : dict from run to int or None
        Of each run but the baseline, the sign of its difference as judged. None: it does not
        depend on the holes.
    baseline : str
    """
    dataset = bounds.dataset
    counted = ~np.isnan(as_judged[baseline])
    rows = np.flatnonzero(listed & bounds.is_hole & counted[dataset.query_index])
    query = dataset.query_index[rows]
    changes = {
        name: bounds.if_relevant(at)[rows] - as_judged[name][query] for name, at in places.items()
    }
    moves = {name: (changes[name] - changes[baseline]) / counted.sum() for name in signs}
    turning, largest = np.zeros(len(rows)), np.zeros(len(rows))
    for name, move in moves.items():
        # Rounding is no movement.
        move[np.abs(move) < 1e-12] = 0.0
        np.maximum(largest, np.abs(move), out=largest)
        sign = signs[name]
        if sign is not None:
            np.maximum(turning, np.abs(move) if sign == 0 else -sign * move, out=turning)
    order = np.lexsort((-largest, -turning))
    order = order[largest[order] > 0]
    rows = rows[order]
    if dataset.document_ids is None:
        documents = rows - dataset.offsets[query[order]] + 1
    else:
        documents = dataset.document_ids[rows]
    return ToJudge(
        dataset.query_ids[query[order]],
        documents,
        {name: of_run[rows] for name, of_run in ranks.items()},
        {name: move[order] for name, move in moves.items()},
        turning[order] > 0,
    )
