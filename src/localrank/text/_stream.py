"""The statistics of one field in all documents, or of all fields as one text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from localrank._base.arrays import Floats, Integers
from localrank._base.rules import Rule, Rules, check_together, integers, optional
from localrank.text._postings import (
    Numbers,
    Postings,
    are_postings,
    squared_norms,
    total_counts,
)

_COUNTED = 2**16


def _small(length: str | None = None) -> Rule:
    """An array of whole numbers of 32 bits, 0 or larger."""

    def holds(value: Any, sizes: dict[str, int]) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype != np.int32 or value.ndim != 1:
            return False
        fits = length is None or sizes.setdefault(length, len(value)) == len(value)
        return fits and (not value.size or int(value.min()) >= 0)

    return Rule(holds, "whole numbers of 32 bits from 0 on")


@dataclass(frozen=True, eq=False, repr=False)
class Stream:
    """The postings of a field, the lengths of documents in it, and optionally its words in order.

    Attributes
    ----------
    begins : ndarray of int64, shape (n_terms + 1,)
        Offsets of the postings of each term.
    documents, counts : ndarray of int32, shape (n_postings,)
        Documents that contain the term, ascending, and how often they do.
    lengths : ndarray of int64, shape (n_documents,)
        Number of terms in each document.
    terms : ndarray of int32, shape (n_words,), optional
        The terms of all documents in order, for features of proximity. None: they are not kept.
    """

    begins: Integers
    documents: Numbers
    counts: Numbers
    lengths: Integers
    terms: Numbers | None = None

    _fitted: ClassVar[Rules] = {
        "begins": integers("n_begins", below=2**62),
        "documents": _small("n_postings"),
        "counts": _small("n_postings"),
        "lengths": integers("n_documents", below=2**31),
        "terms": optional(_small()),
    }

    def __post_init__(self) -> None:
        # Read-only, always: a kernel is compiled separately for writable and read-only arrays.
        for name in self._fitted:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                value = value.view()
                value.flags.writeable = False
                object.__setattr__(self, name, value)

    def _check_fitted(self) -> None:
        n_documents, n_terms = len(self.lengths), len(self.begins) - 1
        check_together(
            self,
            holds=n_terms >= 0
            and self.begins[0] == 0
            and self.begins[-1] == len(self.documents)
            and bool((np.diff(self.begins) >= 0).all())
            and (not self.documents.size or int(self.documents.max()) < n_documents)
            and are_postings(*self.postings, self.lengths)
            and (
                self.terms is None
                or (
                    len(self.terms) == int(self.lengths.sum())
                    and (not self.terms.size or int(self.terms.max()) < n_terms)
                )
            ),
        )

    @property
    def n_documents(self) -> int:
        return len(self.lengths)

    @property
    def postings(self) -> Postings:
        return Postings(self.begins, self.documents, self.counts)

    @property
    def is_mapped(self) -> bool:
        """Whether the postings are in files instead of memory."""
        owner: Any = self.documents
        while isinstance(owner, np.ndarray) and not isinstance(owner, np.memmap):
            owner = owner.base
        return isinstance(owner, np.memmap)

    def taken(self, terms: Integers) -> Stream:
        """A stream of only these terms, with new numbers. All documents keep their lengths."""
        slices = [slice(self.begins[term], self.begins[term + 1]) for term in terms]
        none = np.empty(0, np.int32)
        return Stream(
            np.append(0, np.cumsum([part.stop - part.start for part in slices], dtype=np.int64)),
            np.concatenate([none, *(self.documents[part] for part in slices)]),
            np.concatenate([none, *(self.counts[part] for part in slices)]),
            self.lengths,
        )

    @cached_property
    def document_frequencies(self) -> Integers:
        """How many documents contain each term."""
        return np.diff(self.begins)

    @cached_property
    def collection_frequencies(self) -> Floats:
        """How often each term occurs in all documents."""
        totals: Floats = total_counts(self.begins, self.counts)
        return totals

    @cached_property
    def n_words(self) -> int:
        """The number of terms in all documents."""
        return int(self.lengths.sum())

    @cached_property
    def average_length(self) -> float:
        """The average length of a document, empty ones included. All documents are empty: 1."""
        return self.n_words / self.n_documents if self.n_words else 1.0

    @cached_property
    def distinct(self) -> Integers:
        """How many different terms each document has."""
        n_terms = np.zeros(self.n_documents, np.int64)
        # In blocks, because numpy copies its input to larger integers.
        size = max(_COUNTED, self.n_documents)
        for begin in range(0, len(self.documents), size):
            block = self.documents[begin : begin + size]
            n_terms += np.bincount(block, minlength=self.n_documents)
        return n_terms

    @cached_property
    def idf(self) -> Floats:
        """Inverse document frequency of each term."""
        return inverse_document_frequency(self.document_frequencies, self.n_documents)

    @cached_property
    def norms(self) -> Floats:
        """The norm of each document's vector of counts times idf."""
        norms: Floats = np.sqrt(squared_norms(*self.postings, self.idf, self.n_documents))
        return norms

    @cached_property
    def word_bounds(self) -> Integers:
        """The offsets of the documents' words in `terms`."""
        bounds = np.zeros(self.n_documents + 1, np.int64)
        np.cumsum(self.lengths, out=bounds[1:])
        return bounds


def inverse_document_frequency(
    frequencies: NDArray[Any], n_documents: int, variant: str = "lucene"
) -> Floats:
    """The inverse document frequency of terms, in the form of a variant of BM25.

    Lucene's is log((N + 1) / (df + 1/2)). It is above 0 for every term, and finite for a term that
    no document contains.

    Examples
    --------
    >>> inverse_document_frequency(np.array([0, 1, 3]), 3).round(3)
    array([2.079, 0.981, 0.134])
    """
    df = np.asarray(frequencies, dtype=np.float64)
    if variant == "lucene":
        return np.log((n_documents + 1) / (df + 0.5))
    if variant == "robertson":
        return np.log(np.maximum((n_documents - df + 0.5) / (df + 0.5), 1.0))
    return np.log(n_documents / np.maximum(df, 1.0))
