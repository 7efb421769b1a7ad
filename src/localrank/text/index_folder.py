"""An index in a folder: it is built in parts, and used from disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import reduce
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from localrank.estimator import Estimator, is_estimator
from localrank.fitted import Kind, Kinds, check_fitted, count
from localrank.parameters import Rule, Rules
from localrank.persistence.encoding import Writer
from localrank.persistence.files import save_model
from localrank.text.array_files import ArrayFacts, ArrayFile, mapped_array
from localrank.text.corpus import Reader
from localrank.text.index import Index, checked_document_ids
from localrank.text.postings import added, inverted
from localrank.text.spool import Spool
from localrank.text.stream import Stream
from localrank.text.vocabulary import Numbering, Vocabulary

# The file that makes a folder an index. It is written last.
EXTRACTOR_FILE = "extractor.localrank"

_DTYPES = {
    "letters": "|u1",
    "begins": "<i8",
    "documents": "<i4",
    "counts": "<i4",
    "lengths": "<i8",
    "words": "<i4",
    "columns": "<f8",
}

_TEXTS = ("ids", "terms")

# Shape and digest of each array, by name.
Files = Mapping[str, tuple[tuple[int, ...], str]]


def _are_files(value: Any, _: dict[str, int]) -> bool:
    """Whether a value holds shapes and digests by name, with names that localrank gives."""
    return isinstance(value, dict) and all(
        isinstance(name, str)
        and name.rpartition(".")[2] in _DTYPES
        and name.replace(".", "").isalnum()
        and isinstance(facts, tuple)
        and len(facts) == 2
        and isinstance(facts[0], tuple)
        and all(type(length) is int and 0 <= length < 2**62 for length in facts[0])
        and isinstance(facts[1], str)
        for name, facts in value.items()
    )


class StoredIndex(Estimator):
    """The content of a folder's extractor file: an extractor without index, and a list of files.

    Parameters
    ----------
    extractor : FeatureExtractor

    Attributes
    ----------
    files_ : dict of str to tuple
        Shape and SHA-256 digest of each array by name: the file's name without `.npy`.
    n_documents_ : int
    """

    _parameters: ClassVar[Rules] = {"extractor": Rule(is_estimator, "a FeatureExtractor")}
    _fitted: ClassVar[Kinds] = {
        "files_": Kind(_are_files, "shapes and digests of arrays by name"),
        "n_documents_": count(1),
    }

    files_: Files
    n_documents_: int

    def __init__(self, extractor: Any) -> None:
        self.extractor = extractor

    # Facts for the manifest of a saved file.
    @property
    def training_data_(self) -> dict[str, Any]:
        """The number of documents in the index."""
        return {"n_queries": 0, "n_documents": self.n_documents_, "most_frequent_labels": {}}

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return len(self.extractor.feature_names)


def store_index(
    corpus: Any,
    reader: Reader,
    analyzer: Any,
    folder: str | PathLike[str],
    extractor: Any,
    *,
    with_words: bool,
) -> Index:
    """Read a corpus in parts, and write its index and its extractor to a folder.

    Parameters
    ----------
    corpus, reader, analyzer, with_words
        As in `build_index`.
    folder : path
        A new or empty folder.
    extractor : FeatureExtractor
        The extractor, without an index.
    """
    Writer().encoded(extractor)  # an extractor that cannot be saved is refused before all the work
    with _new_folder(folder) as path:
        files = write_index(corpus, reader, analyzer, path, with_words=with_words)
        index = mapped_index(path, files, len(reader.fields))
        stored = StoredIndex(extractor)
        stored.files_, stored.n_documents_ = files, index.n_documents
        save_model(stored, path / EXTRACTOR_FILE)
    return index


@contextmanager
def _new_folder(folder: str | PathLike[str]) -> Iterator[Path]:
    """A folder to write an index to. If an error ends the block, the written files are deleted."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path}: is a file. Give a folder for the index.")
    is_new = not path.exists()
    if not is_new and any(path.iterdir()):
        raise ValueError(f"{path}: is not empty. Give a new folder for the index, or empty it.")
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield path
    except BaseException:
        for file in path.glob("*.npy"):
            file.unlink()
        if is_new:
            path.rmdir()
        raise


def write_index(
    corpus: Any, reader: Reader, analyzer: Any, folder: Path, *, with_words: bool
) -> Files:
    """Read a corpus in parts, and write its index to a folder.

    Memory holds one part of the texts and its postings, the ids of documents, the different terms,
    and one block of postings while parts are merged.

    Parameters
    ----------
    corpus, reader, analyzer, with_words
        As in `build_index`.
    folder : path
        An empty folder.
    """
    numbering = Numbering(analyzer)
    ids: list[str] = []
    n_fields = len(reader.fields)
    n_streams = n_fields + (n_fields > 1)
    with ExitStack() as stack:
        spools = [stack.enter_context(Spool(folder)) for _ in range(n_streams)]
        files: dict[str, ArrayFile] = {}

        def file_of(name: str, *row: int) -> ArrayFile:
            if name not in files:
                dtype = _DTYPES[name.rpartition(".")[2]]
                files[name] = stack.enter_context(ArrayFile(folder / f"{name}.npy", dtype, row))
            return files[name]

        for documents in reader.parts(corpus):
            numbered = [numbering.number(texts) for texts in documents.texts]
            postings = [
                inverted(terms, bounds, len(numbering), len(ids)) for terms, bounds in numbered
            ]
            lengths = [bounds[1:] - bounds[:-1] for _, bounds in numbered]
            if n_fields > 1:
                postings.append(reduce(added, postings))
                lengths.append(sum(lengths[1:], start=lengths[0]))
            for stream in range(n_streams):
                spools[stream].add(postings[stream])
                file_of(f"stream{stream}.lengths").append(lengths[stream])
            if with_words:
                for stream, (terms, _) in enumerate(numbered):
                    file_of(f"stream{stream}.words").append(terms)
            file_of("columns", len(reader.columns)).append(documents.columns)
            ids += documents.ids
        checked_document_ids(ids)
        vocabulary = numbering.vocabulary()
        for name, texts in zip(_TEXTS, (Vocabulary.of(ids), vocabulary), strict=True):
            file_of(f"{name}.letters").append(texts.letters)
            file_of(f"{name}.begins").append(texts.begins)
        for stream, spool in enumerate(spools):
            file_of(f"stream{stream}.begins").append(spool.begins(len(vocabulary)))
            to = file_of(f"stream{stream}.documents"), file_of(f"stream{stream}.counts")
            for block in spool.blocks():
                for file, values in zip(to, block, strict=True):
                    file.append(values)
    return {name: (file.facts.shape, file.facts.digest) for name, file in files.items()}


def mapped_index(folder: Path, files: Files, n_fields: int) -> Index:
    """The index in a folder, checked. Its arrays stay in their files."""

    def array(name: str) -> Any:
        if name not in files:
            raise ValueError(f"{folder / EXTRACTOR_FILE}: does not name {name}.npy.")
        dtype = _DTYPES[name.rpartition(".")[2]]
        return mapped_array(folder / f"{name}.npy", dtype, ArrayFacts(*files[name]))

    names, vocabulary = (Vocabulary(array(f"{n}.letters"), array(f"{n}.begins")) for n in _TEXTS)
    streams = []
    for stream in range(n_fields + (n_fields > 1)):
        name = f"stream{stream}"
        streams.append(
            Stream(
                array(f"{name}.begins"),
                array(f"{name}.documents"),
                array(f"{name}.counts"),
                array(f"{name}.lengths"),
                array(f"{name}.words") if f"{name}.words" in files else None,
            )
        )
    try:
        for part in (names, vocabulary, *streams):
            check_fitted(part)
        index = Index(checked_document_ids(names.terms()), vocabulary, streams, array("columns"))
        check_fitted(index)
    except ValueError as error:
        raise ValueError(f"{folder}: the index cannot be used: {error}") from None
    return index
