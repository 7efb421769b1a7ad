"""Rows of text files and tables, a few at a time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from localrank._base.arrays import Array, Floats, Integers
from localrank._kernels import parsing
from localrank.data import _column_description as descriptions
from localrank.data._checks import natural_ids
from localrank.data._column_description import ColumnDescription
from localrank.data._columns import refusal
from localrank.data._compression import plain_name
from localrank.data._frames import ROLES
from localrank.data._letor_reader import LetorReader
from localrank.data._query_sizes import check_sizes, read_sizes, warn_of_unused
from localrank.data.dataset import RankingDataset
from localrank.data.errors import AdvisedError, ColumnWarning
from localrank.data.partition_files import damage_named
from localrank.data.tables import csv_options, describe, false_number, named, read_table


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows, in the order of the input."""

    features: Array
    labels: Floats | None
    # Ids of queries, and for each row the place of its query among them.
    query_names: Array
    queries: Integers
    # One id for each row, empty if the row has none. None: no row has one.
    documents: Array | None

    def __len__(self) -> int:
        return len(self.features)


class LetorBatches(LetorReader):
    """Lines of LETOR files a few at a time. Unlike `read_letor`, queries may be in several files.

    A batch is valid until the next one is asked for.
    """

    def __init__(
        self,
        dtype: Any,
        batch_bytes: int,
        advance: Callable[[], None],
        *,
        n_features: int | None = None,
        zero_based: bool = False,
    ) -> None:
        super().__init__([], n_features, dtype, zero_based)
        self.batch_bytes = batch_bytes
        self.advance = advance
        self.named_after: dict[str, Path] = {}

    def feature_names(self, path: Path) -> list[str]:
        """Numbers from 1 to the largest feature of all files. Errors name the first file."""
        n_columns = self.n_features or max(self.n_columns.values())
        if n_columns == 0:
            raise ValueError(f"{path}: no line has a feature, like '1:0.5'.")
        self.warn_of_unequal_files(stacklevel=3)
        return [str(number) for number in range(1, n_columns + 1)]

    def batches(self, path: Path) -> Iterator[Batch]:
        """The lines of a file."""
        self.state[parsing.LINE] = 1
        self.state[parsing.QUERY_PLACE] = parsing.AFTER_LABEL
        # Whether first words of comments are ids shows at the end: none twice in a query.
        self.state[parsing.DOCUMENT_PLACE] = parsing.AFTER_DOCID
        self.first_row, n_rows = 0, 0
        sizes: Integers | None = None
        for text, begin, stop in self._blocks(path):
            self._read_lines(path, text, begin, stop, 0)
            self.advance()
            if sizes is None and self.state[parsing.QUERY_PLACE] == parsing.NOT_IN_FILE:
                sizes = self._sizes(path)
            if self.features.size_of(self._n_rows) >= self.batch_bytes:
                yield self._batch(path, sizes, n_rows)
                n_rows += self._n_rows
                self._forget()
        if self._n_rows:
            yield self._batch(path, sizes, n_rows)
            n_rows += self._n_rows
            self._forget()
        if n_rows == 0:
            raise ValueError(
                f"{path}: the file has no documents. Each needs a line like '0 qid:1 1:0.5 2:0.3'."
            )
        if sizes is not None:
            check_sizes(path, sizes, n_rows)
        self._end_file(path)
        warn_of_unused(path)

    @property
    def _n_rows(self) -> int:
        return int(self.state[parsing.ROW])

    def _sizes(self, path: Path) -> Integers:
        other = self.named_after.setdefault(plain_name(path), path)
        if other != path:
            raise ValueError(
                f"{path}: the file has no query ids, and its queries cannot be named after it, "
                f"because {other} has the same name. Rename one of them."
            )
        return read_sizes(path)

    def _batch(self, path: Path, sizes: Integers | None, n_before: int) -> Batch:
        n_rows, width = self._n_rows, self.features.width
        if sizes is None:
            names = list(self.query_numbers)
            begins = np.append(np.concatenate(self.run_begins), n_rows)
            queries = np.repeat(np.concatenate(self.run_queries), np.diff(begins))
        else:
            # Rows beyond the last size are refused once all are counted.
            rows = np.arange(n_before, n_before + n_rows)
            places = np.searchsorted(np.cumsum(sizes), rows, side="right")
            known, queries = np.unique(places, return_inverse=True)
            names = [f"{plain_name(path)}:{place + 1}" for place in known.tolist()]
        documents = None
        if any(len(text) for text in self.id_texts):
            documents = np.full(n_rows, "", dtype=object)
            text = np.concatenate(self.id_texts).tobytes().decode()
            documents[np.flatnonzero(self.id_sizes.values[:n_rows])] = text.split("\n")[:-1]
        return Batch(
            self.features.values[: n_rows * width].reshape(n_rows, width),
            self.labels.values[:n_rows],
            np.array(names, dtype=object),
            queries,
            documents,
        )

    def _forget(self) -> None:
        """Make room for other rows, whose features are 0 where a line does not mention them."""
        self.features.values[: self.features.width * self._n_rows] = 0
        self.id_sizes.values[: self._n_rows] = 0
        for kept in (self.id_texts, self.query_paths, self.run_queries, self.run_begins):
            kept.clear()
        self.query_numbers.clear()
        self.state[parsing.ROW] = 0
        # The next line is not the first of the file.
        self.first_row = -1

    def _room(self, expected: int, width: int, n_bytes: int) -> int:
        # Rows are dropped once there are enough for a batch: no need to expect more.
        return self._n_rows + max(expected, 16)


class TableBatches:
    """Rows of tables a few at a time, each checked as `read_table` checks it.

    `columns` are arguments of `read_table`.
    """

    def __init__(
        self,
        batch_bytes: int,
        advance: Callable[[], None],
        *,
        column_description: str | PathLike[str] | None = None,
        **columns: Any,
    ) -> None:
        self.batch_bytes = batch_bytes
        self.advance = advance
        self.column_description = column_description
        self.columns = columns
        self.names: tuple[str, ...] | None = None

    def batches(self, path: Path) -> Iterator[Batch]:
        """The rows of a file."""
        first, columns, described = 1, dict(self.columns), None
        if description := self.column_description or descriptions.beside(path):
            described = describe(path, Path(description))
            label, features = described.chosen(
                columns.get("label", "label"), columns.get("features"), columns.get("ignore", ())
            )
            if declared := [name for name in described.categories if name in (features or ())]:
                raise refusal(dict.fromkeys(declared, "categories"), f"{path}: ")
            columns |= {"qid": described.qid, "label": label, "features": features}
            columns["document_id"] = described.document_id
        ids = [columns.get("qid", "qid"), columns.get("document_id") or "document_id"]
        ids = [name for name in ids if name not in (columns.get("features") or ())]
        with damage_named(path):
            for table in self._tables(path, ids, described):
                if table.num_rows == 0:
                    continue
                try:
                    yield self._batch(self._read(named(table), columns))
                except AdvisedError as error:
                    raise error.at(str(path)) from None
                except ValueError as error:
                    where = f"{path}: in the {table.num_rows:,} rows from row {first:,} on: "
                    raise ValueError(f"{where}{error}") from None
                self.advance()
                first += table.num_rows
        if first == 1:
            raise ValueError(f"{path}: the file has no documents.")

    def _tables(
        self, path: Path, ids: Sequence[str], described: ColumnDescription | None
    ) -> Iterator[Any]:
        """The file as tables of a few rows."""
        import pyarrow
        from pyarrow import csv, ipc, parquet

        if path.suffix.lower() == ".parquet":
            file = parquet.ParquetFile(path, page_checksum_verification=True)
            n_rows = max(1, self.batch_bytes // (8 * max(len(file.schema_arrow), 1)))
            for batch in file.iter_batches(n_rows):
                yield pyarrow.Table.from_batches([batch])
        elif path.suffix.lower() in (".arrow", ".feather"):
            with pyarrow.memory_map(str(path)) as source:
                arrow = ipc.open_file(source)
                for number in range(arrow.num_record_batches):
                    yield pyarrow.Table.from_batches([arrow.get_batch(number)])
        else:
            types = dict.fromkeys(ids, pyarrow.string())
            with csv.open_csv(path, **csv_options(path, types, described)) as reader:
                names = reader.schema.names
                label: Any = described.label if described else self.columns.get("label", "label")
                if label in names and not _is_number(reader.schema.field(label).type):
                    raise ValueError(false_number(path, names, [label], described))
                numbers = [
                    column.name
                    for column in reader.schema
                    if column.name not in types and _is_number(column.type)
                ]
            # A column may begin with integers or missing values, and have fractions later.
            types |= dict.fromkeys(numbers, pyarrow.float64())
            try:
                with csv.open_csv(path, **csv_options(path, types, described)) as reader:
                    for batch in reader:
                        yield pyarrow.Table.from_batches([batch])
            except pyarrow.ArrowInvalid as error:
                if "conversion error to double" not in str(error):
                    raise
                raise ValueError(false_number(path, names, numbers, described)) from None

    def _read(self, table: Any, columns: dict[str, Any]) -> RankingDataset:
        """A few rows, checked. The first rows of all show which columns are no features."""
        with warnings.catch_warnings():
            if self.names is not None:
                warnings.simplefilter("ignore", ColumnWarning)
            dataset = read_table(table, **columns, categories=None)
        if dataset.has_vectors:
            raise AdvisedError(
                "Partitions cannot hold vectors, and the column 'vector' does.",
                "Leave it out with ignore=['vector'], or read the table into memory by read_table.",
                "Leave it out with --ignore vector, or use the table as it is.",
            )
        return dataset

    def _batch(self, dataset: RankingDataset) -> Batch:
        if self.names is None:
            self.names = dataset.feature_names
        if dataset.feature_names != self.names:
            raise ValueError("all tables need the same feature columns, in the same order.")
        documents = dataset.document_ids
        return Batch(
            dataset.features,
            dataset.relevance,
            _texts(dataset.query_ids, "query ids"),
            dataset.query_index,
            None if documents is None else _texts(documents, "document ids"),
        )

    def feature_names(self, path: Path) -> list[str]:
        """The names of the features of all files. Errors name the first file."""
        names = list(self.names or ())
        if taken := [name for name in ROLES if name in names]:
            raise ValueError(
                f"{path}: a feature must not be called {taken[0]!r}: partitions have another "
                f"column of that name."
            )
        return names


Batches = LetorBatches | TableBatches


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind))


def _texts(ids: Array, what: str) -> Array:
    """Integers and texts as text; an error for other ids, such as floats and dates."""
    if ids.dtype.kind not in "iuUT":
        raise ValueError(f"{what} must be integers or text. Their type is {ids.dtype}.")
    return ids.astype(str).astype(object)


def written_as_integers(names: Sequence[str]) -> bool:
    """Whether all ids are written as integers of 64 bits are printed."""
    return natural_ids(names).dtype.kind == "i"
