"""The terms of a corpus and their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from localrank._base.arrays import Integers
from localrank._base.rules import Rule, Rules, check_together, integers
from localrank.text._word_table import Bytes, Numbers, WordTable, encoded, words_of
from localrank.text.analysis import Analyzer


def _are_bytes(value: Any, _: dict[str, int]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 1


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """Different terms in the order of their numbers, as one text in UTF-8.

    Attributes
    ----------
    letters : ndarray of uint8
        The text.
    begins : ndarray of shape (n_terms + 1,)
        Offsets of the terms in the text.

    Examples
    --------
    >>> vocabulary = Vocabulary.of(["to", "be"])
    >>> vocabulary.numbers(["be", "or", "to"]).tolist()
    [1, -1, 0]
    """

    letters: Bytes
    begins: Integers

    _fitted: ClassVar[Rules] = {
        "letters": Rule(_are_bytes, "bytes"),
        "begins": integers("n_begins", below=2**62),
    }

    @classmethod
    def of(cls, terms: Sequence[str]) -> Vocabulary:
        return cls(*encoded(terms))

    def _check_fitted(self) -> None:
        check_together(
            self,
            holds=len(self.begins) > 0
            and self.begins[0] == 0
            and self.begins[-1] == len(self.letters)
            and bool((np.diff(self.begins) >= 0).all()),
        )

    def __len__(self) -> int:
        return len(self.begins) - 1

    def terms(self) -> list[str]:
        """The terms in the order of their numbers."""
        return words_of(self.letters, self.begins)

    @cached_property
    def _table(self) -> WordTable:
        letters = np.frombuffer(self.letters.tobytes(), np.uint8)
        return WordTable.of(letters, self.begins)

    def numbers(self, terms: Sequence[str]) -> Numbers:
        """The number of each term. -1: the vocabulary does not have it."""
        return self._table.number(*encoded(terms), add=False)

    def same_as(self, other: Vocabulary) -> Numbers:
        """The number here of each term of another vocabulary. -1: this one does not have it."""
        letters = np.frombuffer(other.letters.tobytes(), np.uint8)
        return self._table.number(letters, other.begins, add=False)


class Numbering:
    """Numbers the terms of texts in the order of their first occurrence.

    Parameters
    ----------
    analyzer : Analyzer or callable
        Turns a text into terms.

    Examples
    --------
    >>> numbering = Numbering(Analyzer(stopwords=["the"]))
    >>> numbers, bounds = numbering.number(["the cat", "", "the other cat"])
    >>> numbers.tolist(), bounds.tolist(), numbering.vocabulary().terms()
    ([0, 1, 0], [0, 1, 1, 3], ['cat', 'other'])
    """

    def __init__(self, analyzer: Any) -> None:
        self.analyzer = analyzer
        self._terms = WordTable()
        self._is_plain = isinstance(analyzer, Analyzer)
        # Each different word is turned into a term once: much less work than for every word.
        self._words = self._terms if self._is_plain and analyzer.keeps_words else WordTable()
        self._term_of_word = np.empty(0, np.int32)

    def __len__(self) -> int:
        return len(self._terms)

    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the terms so far."""
        return Vocabulary(self._terms.letters, self._terms.begins)

    def numbers(self, terms: Sequence[str]) -> Numbers:
        """The number of each term. -1: the term has not occurred."""
        return self._terms.number(*encoded(terms), add=False)

    def number(self, texts: Sequence[str]) -> tuple[Numbers, Integers]:
        """The numbers of the terms of texts, and the offsets of the texts."""
        if not self._is_plain:
            return self._number_by_call(texts)
        words, bounds = self._words.number_text(*self.analyzer.lines(texts))
        if self._words is self._terms:
            return words, bounds
        new = self.analyzer.terms_of(self._words.words(len(self._term_of_word)))
        kept = [term for term in new if term is not None]
        numbers = np.full(len(new), -1, np.int32)
        numbers[[term is not None for term in new]] = self._terms.number(*encoded(kept), add=True)
        self._term_of_word = np.concatenate([self._term_of_word, numbers])
        terms = self._term_of_word[words]
        is_kept = terms >= 0
        before = np.zeros(len(terms) + 1, np.int64)
        np.cumsum(is_kept, out=before[1:])
        return terms[is_kept], before[bounds]

    def _number_by_call(self, texts: Sequence[str]) -> tuple[Numbers, Integers]:
        lists = [_listed(self.analyzer(text)) for text in texts]
        bounds = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(terms) for terms in lists], out=bounds[1:])
        terms = [term for terms in lists for term in terms]
        for term in terms:
            if not isinstance(term, str):
                raise ValueError(f"An analyzer must return texts. Got {term!r} instead.")
        return self._terms.number(*encoded(terms), add=True), bounds


def _listed(terms: Any) -> list[Any]:
    """The terms that an analyzer returned, as a list. Refuses anything else."""
    if isinstance(terms, str | bytes) or not isinstance(terms, Iterable):
        raise ValueError(f"An analyzer must return a list of texts. Got {terms!r} instead.")
    return list(terms)
