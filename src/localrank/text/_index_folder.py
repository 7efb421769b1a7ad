"""An index in a folder: it is built in parts, and used from disk."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce
from io import BufferedReader
from itertools import pairwise
from math import prod
from os import PathLike
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Any, BinaryIO, ClassVar, NamedTuple, Self

import numpy as np

from localrank._base.arrays import Array, Integers
from localrank._base.estimator import Estimator, is_estimator
from localrank._base.rules import Rule, Rules, check_fitted, whole
from localrank._kernels.vectors import Singles
from localrank.persistence.encoding import Writer
from localrank.persistence.files import save_model, sign
from localrank.text._corpus import Part, Reader
from localrank.text._index import Index, checked_document_ids
from localrank.text._postings import Numbers, Postings, added, append_postings, inverted
from localrank.text._stream import Stream
from localrank.text._vocabulary import Numbering, Vocabulary

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
    "vectors": "<f4",
    "mark": "<f4",
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

    _parameters: ClassVar[Rules] = {
        "extractor": Rule(lambda value, _: is_estimator(value), "a FeatureExtractor")
    }
    _fitted: ClassVar[Rules] = {
        "files_": Rule(_are_files, "shapes and digests of arrays by name"),
        "n_documents_": whole(1),
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
    private_key: bytes | None,
    vectors_of: Callable[[Part], Singles] | None = None,
    encoder_mark: Singles | None = None,
) -> Index:
    """Read a corpus in parts, and write its index and its extractor to a folder.

    Parameters
    ----------
    corpus, reader, analyzer, with_words, vectors_of, encoder_mark
        As in `build_index`.
    folder : path
        A new or empty folder.
    extractor : FeatureExtractor
        The extractor, without an index.
    private_key : bytes or None
        Key that signs the extractor's file, and with it the digests of all other files.
    """
    # An extractor or a key that cannot be used is refused before all the work.
    Writer().encoded(extractor)
    if private_key is not None:
        sign(bytes(32), private_key)
    with _new_folder(folder) as path:
        index, files = write_index(
            corpus, reader, analyzer, path,
            with_words=with_words, vectors_of=vectors_of, encoder_mark=encoder_mark,
        )  # fmt: skip
        stored = StoredIndex(extractor)
        stored.files_, stored.n_documents_ = files, index.n_documents
        save_model(stored, path / EXTRACTOR_FILE, private_key)
    return index


@contextmanager
def _new_folder(folder: str | PathLike[str]) -> Iterator[Path]:
    """A folder to write an index to. If an error ends the block, the written files are deleted."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file. Give a folder for the index.")
    is_new = not path.exists()
    if not is_new and any(path.iterdir()):
        raise ValueError(f"{path} is not empty. Give a new folder for the index, or empty it.")
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
    corpus: Any,
    reader: Reader,
    analyzer: Any,
    folder: Path,
    *,
    with_words: bool,
    vectors_of: Callable[[Part], Singles] | None = None,
    encoder_mark: Singles | None = None,
) -> tuple[Index, Files]:
    """Read a corpus in parts, and write its index to a folder.

    Memory holds one part of the texts and its postings, the ids of documents, the different terms,
    and one block of postings while parts are merged.

    Parameters
    ----------
    corpus, reader, analyzer, with_words, vectors_of, encoder_mark
        As in `build_index`.
    folder : path
        An empty folder.
    """
    numbering = Numbering(analyzer)
    ids: list[str] = []
    n_fields = len(reader.fields)
    n_streams = n_fields + (n_fields > 1)
    with ExitStack() as stack:
        spools = [stack.enter_context(Spool(folder)) for _ in range(n_fields)]
        files: dict[str, ArrayFile] = {}

        def file_of(name: str, *row: int) -> ArrayFile:
            if name not in files:
                dtype = _DTYPES[name.rpartition(".")[2]]
                files[name] = stack.enter_context(ArrayFile(folder / f"{name}.npy", dtype, row))
            return files[name]

        for documents in reader.parts(corpus):
            numbered = [numbering.number(texts) for texts in documents.texts]
            lengths = [np.diff(bounds) for _, bounds in numbered]
            if n_fields > 1:
                lengths.append(np.sum(lengths, axis=0))
            for stream in range(n_streams):
                file_of(f"stream{stream}.lengths").append(lengths[stream])
            for stream, (terms, bounds) in enumerate(numbered):
                spools[stream].add(inverted(terms, bounds, len(numbering), len(ids)))
                if with_words:
                    file_of(f"stream{stream}.words").append(terms)
            file_of("columns", reader.n_numbers).append(documents.columns)
            if vectors_of is not None:
                vectors = vectors_of(documents)
                file_of("vectors", vectors.shape[1]).append(vectors)
            ids += documents.ids
        document_ids = checked_document_ids(ids)
        if encoder_mark is not None:
            file_of("mark").append(encoder_mark)
        vocabulary = numbering.vocabulary()
        for name, texts in zip(_TEXTS, (Vocabulary.of(ids), vocabulary), strict=True):
            file_of(f"{name}.letters").append(texts.letters)
            file_of(f"{name}.begins").append(texts.begins)
        to = [
            [file_of(f"stream{stream}.{name}") for name in Postings._fields]
            for stream in range(n_streams)
        ]
        for begins, _, _ in to:
            begins.append([0])
        n_written = [0] * n_streams
        for blocks in merged_blocks(spools, len(vocabulary)):
            whole = [reduce(added, blocks)] if n_fields > 1 else []
            for stream, postings in enumerate([*blocks, *whole]):
                begins, *others = to[stream]
                begins.append(n_written[stream] + postings.begins[1:])
                for file, values in zip(others, postings[1:], strict=True):
                    file.append(values)
                n_written[stream] += len(postings.documents)
        # What was just written is not read again to check it.
        arrays = {name: file.mapped() for name, file in files.items()}
    texts = Vocabulary(arrays["terms.letters"], arrays["terms.begins"])
    streams = _streams(arrays.__getitem__, arrays, n_fields)
    index = Index(
        document_ids, texts, streams, arrays["columns"], arrays.get("vectors"), arrays.get("mark")
    )
    return index, {name: (file.facts.shape, file.facts.digest) for name, file in files.items()}


def _streams(array: Callable[[str], Any], names: Collection[str], n_fields: int) -> list[Stream]:
    """The streams of fields, and of all together, from arrays by name."""
    return [
        Stream(
            array(f"{name}.begins"),
            array(f"{name}.documents"),
            array(f"{name}.counts"),
            array(f"{name}.lengths"),
            array(f"{name}.words") if f"{name}.words" in names else None,
        )
        for name in (f"stream{stream}" for stream in range(n_fields + (n_fields > 1)))
    ]


def check_files(folder: Path, files: Files) -> None:
    """Refuse a folder with other files than a signed index names."""
    named = {EXTRACTOR_FILE, *(f"{name}.npy" for name in files)}
    if unknown := sorted({path.name for path in folder.iterdir()} - named):
        raise ValueError(
            f"{folder / unknown[0]} is not part of the signed index. Delete it, or move it away."
        )


def mapped_index(folder: Path, files: Files, n_fields: int) -> Index:
    """The index in a folder, checked. Its arrays stay in their files."""

    def array(name: str) -> Any:
        if name not in files:
            raise ValueError(f"{folder / EXTRACTOR_FILE} does not name {name}.npy.")
        dtype = _DTYPES[name.rpartition(".")[2]]
        return mapped_array(folder / f"{name}.npy", dtype, ArrayFacts(*files[name]))

    names, vocabulary = (Vocabulary(array(f"{n}.letters"), array(f"{n}.begins")) for n in _TEXTS)
    streams = _streams(array, files, n_fields)
    try:
        for part in (names, vocabulary, *streams):
            check_fitted(part)
        vectors, mark = (array(name) if name in files else None for name in ("vectors", "mark"))
        document_ids = checked_document_ids(names.terms())
        index = Index(document_ids, vocabulary, streams, array("columns"), vectors, mark)
        check_fitted(index)
    except ValueError as error:
        raise ValueError(f"{folder}: the index cannot be used: {error}") from None
    return index


# Bytes before an array. They align its begin, for memory pages and processors.
_HEADER = 128
_MAGIC = b"\x93NUMPY\x01\x00"


class ArrayFacts(NamedTuple):
    """The shape of an array and the SHA-256 digest of its content, to check its file."""

    shape: tuple[int, ...]
    digest: str


class ArrayFile:
    """An array in a new `.npy` file, to which rows are appended.

    After it is closed without an error, `numpy.load` reads the file.

    Parameters
    ----------
    path : path
        A file that does not exist yet.
    dtype : str
        Type in NumPy's notation, little-endian, such as "<i4".
    row : tuple of int
        Shape of a row.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "counts.npy")
    ...     with ArrayFile(path, "<i4") as file:
    ...         file.append(np.array([3, 1]))
    ...         file.append(np.array([2]))
    ...     mapped_array(path, "<i4", file.facts).tolist()
    [3, 1, 2]
    """

    def __init__(self, path: Path, dtype: str, row: tuple[int, ...] = ()) -> None:
        self._dtype = np.dtype(dtype)
        self._row = row
        self._n_rows = 0
        self._digest = hashlib.sha256()
        self._file: BinaryIO = path.open("x+b")
        self._file.write(bytes(_HEADER))

    def append(self, rows: Any) -> None:
        """Write rows at the end."""
        values = np.ascontiguousarray(rows, self._dtype)
        self._n_rows += len(values)
        content = values.tobytes() if not values.size else values.reshape(-1).view(np.uint8).data
        self._file.write(content)
        self._digest.update(content)

    @property
    def facts(self) -> ArrayFacts:
        """The shape and digest of the rows written so far."""
        return ArrayFacts((self._n_rows, *self._row), self._digest.hexdigest())

    def mapped(self) -> Array:
        """The rows written so far, mapped into memory."""
        self._file.flush()
        return _mapped(self._file, self._dtype, self.facts.shape)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._file.seek(0)
            self._file.write(_header(self._dtype, self.facts.shape))
        self._file.close()


def mapped_array(path: Path, dtype: str, facts: ArrayFacts) -> Array:
    """The array in a file, mapped into memory: the system reads only the parts that are used.

    The whole file is read once to compare it with the facts. Nothing in it is executed, and its
    header is not trusted: it must equal the header that the facts require.
    """
    kind, shape = np.dtype(dtype), facts.shape
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        wanted = _HEADER + prod(shape) * kind.itemsize
        if size != wanted:
            raise ValueError(
                f"{path} has {size:,} bytes and should have {wanted:,}. Build the index again."
            )
        if (
            file.read(_HEADER) != _header(kind, shape)
            or hashlib.file_digest(file, "sha256").hexdigest() != facts.digest
        ):
            raise ValueError(
                f"{path} is damaged, or belongs to another index. Build the index again."
            )
        return _mapped(file, kind, shape)


def _mapped(file: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    if not prod(shape):
        return np.empty(shape, dtype)
    return np.asarray(np.memmap(file, dtype, "r", _HEADER, shape))


def _opened(path: Path) -> BufferedReader:
    """A file of the folder. Refuses all that is no file of it, and does not wait for a pipe."""
    try:
        refuse_link_out(path)
        file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115
    except FileNotFoundError:
        raise ValueError(f"{path} is missing. Build the index again.") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error}. Build the index again.") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise ValueError(f"{path} is not a file, but a device or a pipe. Build the index again.")
    return file


def refuse_link_out(path: Path) -> None:
    """Refuse a link from a folder to a file elsewhere."""
    if os.path.dirname(os.path.realpath(path)) != os.path.realpath(path.parent):
        raise ValueError(f"{path} is a link out of the folder. Put a copy in its place.")


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    facts = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    length = _HEADER - len(_MAGIC) - 2
    return _MAGIC + length.to_bytes(2, "little") + f"{facts}".ljust(length - 1).encode() + b"\n"


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
    ...     [merged] = spool.blocks(np.array([0, 2]))
    >>> [values.tolist() for values in merged]
    [[0, 3, 4], [0, 1, 2, 2], [5, 6, 7, 8]]
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

    def blocks(self, bounds: Integers) -> Iterator[Postings]:
        """All postings in blocks of some terms, from each of these terms to the next."""
        begins = self.begins(bounds[-1])
        term_cuts, cuts = self._cuts(bounds)
        for block, (low, high) in enumerate(pairwise(bounds.tolist())):
            block_begins = begins[low : high + 1] - begins[low]
            at = block_begins[:-1].copy()
            documents, counts = (np.empty(block_begins[-1], np.int32) for _ in range(2))
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
            yield Postings(block_begins, documents, counts)

    def _cuts(self, bounds: Integers) -> tuple[Integers, Integers]:
        """The offsets of the blocks in each part's terms and postings: (n_parts, n_blocks + 1)."""
        term_cuts, cuts = [], []
        for (first, last), start in zip(pairwise(self._term_starts), self._starts, strict=False):
            sizes = _read(self._sizes, first, last)
            cut = np.searchsorted(_read(self._terms, first, last), bounds)
            term_cuts.append(first + cut)
            cuts.append(start + np.append(0, np.cumsum(sizes, dtype=np.int64))[cut])
        return np.array(term_cuts), np.array(cuts)


def merged_blocks(spools: Sequence[Spool], n_terms: int) -> Iterator[tuple[Postings, ...]]:
    """The postings of several spools in blocks of the same terms."""
    begins = np.sum([spool.begins(n_terms) for spool in spools], axis=0)
    bounds = [0]
    while bounds[-1] < n_terms:
        most = begins[bounds[-1]] + BLOCK_POSTINGS
        bounds.append(max(bounds[-1] + 1, int(np.searchsorted(begins, most, "right")) - 1))
    yield from zip(*(spool.blocks(np.array(bounds)) for spool in spools), strict=True)


def _read(file: IO[bytes], begin: int, end: int) -> Numbers:
    values = np.empty(end - begin, np.int32)
    file.seek(4 * int(begin))
    file.readinto(values.data)  # type: ignore[attr-defined]
    return values
