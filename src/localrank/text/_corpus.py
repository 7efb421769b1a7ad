"""Reads documents that are given as dictionaries or as rows of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from numbers import Real
from typing import Any

import numpy as np

from localrank._base.arrays import Floats
from localrank._kernels.numbers import MAX_MAGNITUDE
from localrank.data._checks import is_missing
from localrank.text._definitions import n_sentences

# A part of a corpus ends when it has this many characters.
PART_CHARACTERS = 2**24


@dataclass
class Part:
    """A part of a corpus: some documents, field by field."""

    n_columns: int
    ids: list[str] = field(default_factory=list)
    texts: list[list[str]] = field(default_factory=list)
    values: list[list[float]] = field(default_factory=list)

    @property
    def columns(self) -> Floats:
        """The numbers of the documents, of shape (n_documents, n_columns)."""
        return np.array(self.values, np.float64).reshape(len(self.ids), self.n_columns)


class Reader:
    """Reads documents in parts.

    Parameters
    ----------
    fields : mapping of str to sequence of str
        Keys of a document by field. A field joins the texts under its keys.
    columns : sequence of str
        Keys of a document's numbers.
    id_key : str or None
        Key of a document's id. None: documents need no ids and are numbered from 1.
    with_sentences : bool, default=False
        Whether the number of sentences in each field follows a document's numbers.
    """

    def __init__(
        self,
        fields: Mapping[str, Sequence[str]],
        columns: Sequence[str],
        id_key: str | None,
        with_sentences: bool = False,
    ) -> None:
        self.fields = fields
        self.columns = columns
        self.id_key = id_key
        self.with_sentences = with_sentences
        self._n_read = 0
        self._unseen = {key for keys in fields.values() for key in keys}
        self._unseen_columns = set(columns)
        self._keys: list[str] = []

    @property
    def n_numbers(self) -> int:
        """How many numbers are kept for a document."""
        return len(self.columns) + self.with_sentences * len(self.fields)

    def parts(self, corpus: Any) -> Iterator[Part]:
        """The documents in parts. Refuses a corpus in which no document has some key."""
        part, size = self._empty(), 0
        for document in _documents(corpus):
            size += self._read(document, part)
            if size >= PART_CHARACTERS:
                yield part
                part, size = self._empty(), 0
        unseen = [("text", key) for key in sorted(self._unseen)]
        unseen += [("number", key) for key in sorted(self._unseen_columns)]
        if self._n_read and unseen:
            kind, key = unseen[0]
            raise ValueError(
                f"No document has a {kind} under {key!r}. The first has "
                f"{', '.join(map(repr, self._keys[:20]))}."
            )
        if part.ids:
            yield part

    def part(self, documents: Iterable[Any]) -> Part:
        """All documents as one part. Refuses a document without any field."""
        part = self._empty()
        keys = [key for keys in self.fields.values() for key in keys]
        for document in documents:
            self._read(document, part)
            if not any(key in document for key in keys):
                raise ValueError(
                    f"{self._where()} has no text under {' or '.join(map(repr, keys))}."
                )
        return part

    def _empty(self) -> Part:
        return Part(self.n_numbers, texts=[[] for _ in self.fields])

    def _read(self, document: Any, part: Part) -> int:
        """Add a document to a part. Returns the number of its characters."""
        self._n_read += 1
        if type(document) is not dict and not isinstance(document, Mapping):
            raise ValueError(
                f"{self._where()} must be a dictionary. Got {type(document).__name__} instead."
            )
        if self._n_read == 1:
            self._keys = [str(key) for key in document]
        part.ids.append(self._id(document))
        size = 0
        for texts, keys in zip(part.texts, self.fields.values(), strict=True):
            if len(keys) == 1:
                text = self._text(document, keys[0])
            else:
                text = "\n".join([self._text(document, key) for key in keys])
            texts.append(text)
            size += len(text)
        if self.n_numbers:
            numbers = [self._number(document, key) for key in self.columns]
            if self.with_sentences:
                numbers += [float(n_sentences(texts[-1])) for texts in part.texts]
            part.values.append(numbers)
        return size

    def _where(self) -> str:
        return f"Document number {self._n_read}"

    def _id(self, document: Mapping[str, Any]) -> str:
        if self.id_key is None:
            return str(self._n_read)
        value = document.get(self.id_key)
        if type(value) is str and value:
            return value
        if is_missing(value) or value == "":
            raise ValueError(f"{self._where()} has no {self.id_key!r}: each document needs an id.")
        if isinstance(value, bool | float | list | dict):
            raise ValueError(
                f"{self._where()}: an id must be a text or a whole number. Got {value!r} instead."
            )
        return str(value)

    def _text(self, document: Mapping[str, Any], key: str) -> str:
        value = document.get(key)
        if isinstance(value, str):
            if self._unseen:
                self._unseen.discard(key)
            return value
        if not is_missing(value):
            raise ValueError(f"{self._where()}: {key!r} must be a text. Got {value!r} instead.")
        return ""

    def _number(self, document: Mapping[str, Any], key: str) -> float:
        value: Any = document.get(key)
        if is_missing(value) or value == "":
            return nan
        self._unseen_columns.discard(key)
        if isinstance(value, str):
            value = _parsed(value)
        if not isinstance(value, Real) or not _size(value) <= MAX_MAGNITUDE:
            raise ValueError(
                f"{self._where()}: {key!r} must be a number within ±{MAX_MAGNITUDE:g}. "
                f"Got {value!r} instead."
            )
        return float(value)


def keys_of_fields(fields: Any) -> dict[str, tuple[str, ...]] | None:
    """Keys of documents by field. None: the value has another form."""
    if isinstance(fields, Mapping):
        keys = {
            name: (value,) if isinstance(value, str) else tuple(value)
            for name, value in fields.items()
            if isinstance(value, str | list | tuple)
        }
        right = len(keys) == len(fields) and all(keys.values())
        texts = [*keys, *(key for listed in keys.values() for key in listed)]
    elif isinstance(fields, list | tuple):
        keys = {name: (name,) for name in fields if isinstance(name, str)}
        right, texts = len(keys) == len(fields), list(keys)
    else:
        return None
    return keys if right and all(isinstance(text, str) and text for text in texts) else None


def _documents(corpus: Any) -> Iterator[Any]:
    """Iterate over the documents of a corpus."""
    if isinstance(corpus, str | bytes | Mapping):
        raise ValueError(
            "A corpus must be a sequence of dictionaries, one for each document, or a DataFrame. "
            f"Got {type(corpus).__name__} instead."
        )
    if hasattr(corpus, "columns") or hasattr(corpus, "column_names"):
        from localrank.data.tables import as_frame

        return as_frame(corpus).iter_rows(named=True)
    return iter(corpus)


def _parsed(value: str) -> float | str:
    """The number that a text holds, as in tables of text. Any other text stays as it is."""
    try:
        return value if "_" in value else float(value)
    except ValueError:
        return value


def _size(value: Any) -> Any:
    # A whole number may be larger than any float.
    return abs(value)
