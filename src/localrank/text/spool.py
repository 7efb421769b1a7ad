"""Keeps the postings of a corpus's parts on disk until all parts are known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Self

import numpy as np

from localrank.arrays import Integers
from localrank.text.postings import Numbers, Postings, append_postings

# The number of postings that are merged at once, unless one term has more.
BLOCK_POSTINGS = 2**22


class Spool:
    """Takes postings part by part, and returns those of the whole corpus term by term.

    It needs memory for one part, 8 bytes for each term, and one block of postings. Its temporary
    files are deleted when the spool is closed.

    Parameters
    ----------
    folder : path
        Folder for temporary files, with room for all postings.

    Examples
    --------
    >>> early = Postings(np.array([0, 2]), np.array([0, 1], "i4"), np.array([5, 6], "i4"))
    >>> late = Postings(np.array([0, 1, 2]), np.array([2, 2], "i4"), np.array([7, 8], "i4"))
    >>> with Spool(Path()) as spool:
    ...     spool.add(early)
    ...     spool.add(late)
    ...     begins = spool.begins(2).tolist()
    ...     merged = [(documents.tolist(), counts.tolist()) for documents, counts in spool.blocks()]
    >>> begins, merged
    ([0, 3, 4], [([0, 1, 2, 2], [5, 6, 7, 8])])
    """

    def __init__(self, folder: Path) -> None:
        self._files = ExitStack()
        self._terms, self._sizes, self._documents, self._counts = (
            self._files.enter_context(TemporaryFile(dir=folder))  # noqa: SIM115
            for _ in range(4)
        )
        # The offsets of each part's terms and postings in the files.
        self._term_starts = [0]
        self._starts = [0]
        self._totals = np.zeros(0, np.int64)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._files.close()

    def add(self, postings: Postings) -> None:
        """Take the postings of a part. Its documents come after those of earlier parts."""
        sizes = np.diff(postings.begins)
        terms = np.flatnonzero(sizes)
        self._terms.write(terms.astype(np.int32).data)
        self._sizes.write(sizes[terms].astype(np.int32).data)
        self._documents.write(postings.documents.data)
        self._counts.write(postings.counts.data)
        self._term_starts.append(self._term_starts[-1] + len(terms))
        self._starts.append(self._starts[-1] + len(postings.documents))
        sizes[: len(self._totals)] += self._totals
        self._totals = sizes

    def begins(self, n_terms: int) -> Integers:
        """The offsets of the terms' postings in the whole corpus."""
        begins = np.zeros(n_terms + 1, np.int64)
        begins[1 : len(self._totals) + 1] = self._totals
        return np.cumsum(begins, out=begins)

    def blocks(self) -> Iterator[tuple[Numbers, Numbers]]:
        """The documents and counts of all postings in order, in blocks of some terms each."""
        begins = self.begins(len(self._totals))
        bounds = _block_bounds(begins)
        term_cuts, cuts = self._cuts(bounds)
        for block, (low, high) in enumerate(pairwise(bounds.tolist())):
            at = begins[low:high] - begins[low]
            documents, counts = (np.empty(begins[high] - begins[low], np.int32) for _ in range(2))
            for part in range(len(cuts)):
                terms = _read(self._terms, *term_cuts[part, block : block + 2]) - low
                sizes = _read(self._sizes, *term_cuts[part, block : block + 2])
                ends = at[terms]
                append_postings(
                    np.append(0, np.cumsum(sizes, dtype=np.int64)),
                    _read(self._documents, *cuts[part, block : block + 2]),
                    _read(self._counts, *cuts[part, block : block + 2]),
                    ends, documents, counts,
                )  # fmt: skip
                at[terms] = ends
            yield documents, counts

    def _cuts(self, bounds: Integers) -> tuple[Integers, Integers]:
        """The offsets of the blocks in each part's terms and postings: (n_parts, n_blocks + 1)."""
        term_cuts, cuts = [], []
        for (first, last), start in zip(pairwise(self._term_starts), self._starts, strict=False):
            sizes = _read(self._sizes, first, last)
            cut = np.searchsorted(_read(self._terms, first, last), bounds)
            term_cuts.append(first + cut)
            cuts.append(start + np.append(0, np.cumsum(sizes, dtype=np.int64))[cut])
        return np.array(term_cuts), np.array(cuts)


def _block_bounds(begins: Integers) -> Integers:
    """The first term of each block, and the end."""
    bounds = [0]
    while bounds[-1] < len(begins) - 1:
        most = begins[bounds[-1]] + BLOCK_POSTINGS
        bounds.append(max(bounds[-1] + 1, int(np.searchsorted(begins, most, "right")) - 1))
    return np.array(bounds)


def _read(file: IO[bytes], begin: int, end: int) -> Numbers:
    values = np.empty(end - begin, np.int32)
    file.seek(4 * int(begin))
    file.readinto(values.data)  # type: ignore[attr-defined]
    return values
