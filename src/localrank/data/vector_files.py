"""Files of vectors: NumPy, Parquet and JSON lines."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable, Sequence
from io import BufferedReader
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from localrank._base.arrays import Array
from localrank.data._compression import damage_named, open_binary, plain_name
from localrank.data._strings import Strings
from localrank.data.vectors import Vectors, stacked


def read_vectors(
    path: str | PathLike[str],
    *,
    ids: str | PathLike[str] | None = None,
    id: str = "id",  # noqa: A002, it names the column "id"
    vector: str = "vector",
) -> Vectors:
    """Read vectors with their ids from a file. Nothing in a file is executed.

    | file | content |
    |---|---|
    | `.npy` | An array of shape (vectors, dimensions). Its float32 values stay in the file, mapped into memory. The ids are in a file beside it with the same name: `.txt` has one id per line, `.json` a list. Without one, the ids are the positions: "0", "1", ... |
    | `.npz` | Two arrays, `ids` and `vectors`. |
    | `.parquet` | A column of ids and a column of lists, or of lists of fixed size. It needs the extra `localrank[tables]`. |
    | `.jsonl`, also `.gz`, `.bz2`, `.xz` | An object on each line: `{"id": "d1", "vector": [0.5, -1.25]}`. |

    Parameters
    ----------
    path : path
    ids : path, optional
        The file of ids of a `.npy` file, if it has another name.
    id, vector : str
        The names of the columns of a Parquet file, of the keys of JSON lines, or of the arrays of a
        `.npz` file. In a `.npz` file, `id` and `vector` also find `ids` and `vectors`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "corpus.jsonl")
    ...     _ = path.write_text('{"id": "d1", "vector": [0.5, -1.25]}')
    ...     read_vectors(path)
    Vectors(n_vectors=1, n_dimensions=2)
    """  # noqa: E501
    path = Path(path)
    readers: dict[str, Callable[[], tuple[Any, Any]]] = {
        ".npy": lambda: _of_array_file(path, None if ids is None else Path(ids)),
        ".npz": lambda: _of_archive(path, id, vector),
        ".parquet": lambda: _of_parquet(path, id, vector),
        ".jsonl": lambda: _of_json_lines(path, id, vector),
    }
    suffix = Path(plain_name(path)).suffix.lower()
    if suffix not in readers or (suffix != ".jsonl" and suffix != path.suffix.lower()):
        raise ValueError(
            f"{path}: vectors are read from {', '.join(readers)} files. Got {path.suffix!r}."
        )
    if ids is not None and suffix != ".npy":
        raise ValueError(f"{path}: only a .npy file has its ids in another file, {ids}.")
    names, values = readers[suffix]()
    try:
        return Vectors(names, values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _of_array_file(path: Path, ids: Path | None) -> tuple[Any, Any]:
    values = _loaded(path)
    if not isinstance(values, np.ndarray):
        raise ValueError(f"{path} is an archive (.npz), not one array.")
    if ids is None:
        beside = files_of_ids(path)
        if len(beside) > 1:
            raise ValueError(
                f"{path}: {beside[0].name} and {beside[1].name} are both beside it. Name the file "
                f"of ids."
            )
        if not beside:
            return np.arange(len(values) if values.ndim else 0), values
        ids = beside[0]
    names = (_ID_FILES.get(ids.suffix.lower()) or _ids_of_lines)(ids)
    if values.ndim == 2 and len(names) != len(values):
        raise ValueError(f"{ids} has {len(names):,} ids, and {path} {len(values):,} vectors.")
    return names, values


def files_of_ids(path: Path) -> list[Path]:
    """The files beside a `.npy` file that may hold its ids."""
    return [known for known in map(path.with_suffix, _ID_FILES) if known.is_file()]


def _ids_of_lines(path: Path) -> Any:
    with damage_named(path), open_binary(path) as file:
        lines = file.read().splitlines()
    try:
        for number, line in enumerate(lines, start=1):
            line.decode()
            if not line.strip():
                raise ValueError(f"{path}:{number}: the line has no id.")
    except UnicodeDecodeError:
        raise ValueError(f"{path}:{number}: the id is not UTF-8.") from None
    return Strings.of_bytes(lines).array() if lines else np.zeros(0, "U1")


def _ids_of_list(path: Path) -> Any:
    try:
        names = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(names, list) or not all(type(name) in (str, int) for name in names):
        raise ValueError(f"{path} must hold a list of ids: texts or whole numbers.")
    return np.array([str(name) for name in names], object)


_ID_FILES: dict[str, Callable[[Path], Any]] = {".txt": _ids_of_lines, ".json": _ids_of_list}


# What numpy raises for files that are damaged, or that it would have to unpickle.
_DAMAGE = (ValueError, EOFError, OSError, SyntaxError, zipfile.BadZipFile, zlib.error)


def _loaded(path: Path) -> Any:
    try:
        # Unpickling would execute what a file says.
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise
    except _DAMAGE as error:
        raise ValueError(f"{path} is not an array that can be read safely: {error}") from None


def _of_archive(path: Path, id: str, vector: str) -> tuple[Any, Any]:  # noqa: A002
    with path.open("rb") as file:
        try:
            archive = np.load(file, allow_pickle=False)
        except _DAMAGE as error:
            raise ValueError(f"{path} is not an archive that can be read safely: {error}") from None
        if isinstance(archive, np.ndarray):
            raise ValueError(f"{path} is one array (.npy), not an archive.")
        parts = []
        for wanted in ((f"{id}s", id), (f"{vector}s", vector)):
            known = [name for name in wanted if name in archive.files]
            if not known:
                raise ValueError(
                    f"{path} needs the arrays 'ids' and 'vectors'. It has "
                    f"{', '.join(map(repr, archive.files)) or 'none'}."
                )
            try:
                part = archive[known[0]]
            except _DAMAGE as error:
                raise ValueError(f"{path}: {known[0]!r} cannot be read safely: {error}") from None
            if not isinstance(part, np.ndarray):
                raise ValueError(f"{path}: {known[0]!r} is not an array.")
            parts.append(part)
    return parts[0], parts[1]


def _of_parquet(path: Path, id: str, vector: str) -> tuple[Any, Any]:  # noqa: A002
    from localrank.data import partition_files

    with partition_files.damage_named(path):
        file = partition_files.open_table(path)
        kinds = dict(zip(file.schema.names, file.schema.types, strict=True))
        for name in (id, vector):
            if name not in kinds:
                listed = ", ".join(f"{known!r} ({kind})" for known, kind in kinds.items())
                raise ValueError(f"there is no column {name!r}. The columns are {listed}.")
        check_lists(kinds[vector], vector)
        table = file.read([id, vector])
        names = table.column(id).to_numpy()
        return names, table_of_lists(table.column(vector).combine_chunks(), vector, names)


def check_lists(kind: Any, name: str) -> None:
    """Refuse a column of Arrow that does not hold lists of numbers."""
    from pyarrow import types

    of_lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if not of_lists or not (
        types.is_floating(kind.value_type) or types.is_integer(kind.value_type)
    ):
        raise ValueError(f"column {name!r} must hold lists of numbers. It holds {kind}.")


def table_of_lists(lists: Any, name: str, owners: Sequence[Any]) -> Array:
    """Arrow's lists, all of one length, as the rows of a table.

    Parameters
    ----------
    lists : pyarrow.Array
    name : str
        The name of the column, for errors.
    owners : sequence
        Whose vectors they are, for errors.
    """
    if lists.null_count:
        row = int(np.flatnonzero(lists.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(f"the vector of {owners[row]!r} is missing.")
    flat = lists.flatten()
    if flat.null_count:
        raise ValueError(f"column {name!r} has {flat.null_count} missing numbers in lists.")
    sizes = np.asarray(lists.value_lengths())
    if len(sizes) and (sizes != sizes[0]).any():
        row = int(np.flatnonzero(sizes != sizes[0])[0])
        raise ValueError(
            f"all vectors must have the same length. That of {owners[row]!r} has {sizes[row]} "
            f"numbers, that of {owners[0]!r} has {sizes[0]}."
        )
    values: Array = flat.to_numpy(zero_copy_only=False)
    return values.reshape(len(sizes), int(sizes[0]) if len(sizes) else 0)


def _of_json_lines(path: Path, id: str, vector: str) -> tuple[Any, Any]:  # noqa: A002
    names: list[str] = []
    rows: list[Array] = []
    # Lines of a plain file would be read byte by byte without a buffer.
    with damage_named(path), open_binary(path) as file, BufferedReader(file) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{path}:{number}"
            try:
                item = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{where}: the line is not JSON: {error}") from None
            if not isinstance(item, dict) or id not in item or vector not in item:
                raise ValueError(f"{where}: the line needs an object with {id!r} and {vector!r}.")
            if type(item[id]) not in (str, int):
                raise ValueError(
                    f"{where}: an id must be a text or a whole number. Got {item[id]!r} instead."
                )
            try:
                row = stacked([item[vector]], [item[id]])
            except (ValueError, OverflowError) as error:
                raise ValueError(f"{where}: {error}") from None
            if rows and row.shape != rows[0].shape:
                raise ValueError(
                    f"{where}: all vectors must have the same length. That of {item[id]!r} has "
                    f"{row.shape[1]} numbers, that of {names[0]!r} has {rows[0].shape[1]}."
                )
            names.append(str(item[id]))
            rows.append(row)
    if not rows:
        raise ValueError(f"{path}: there are no vectors.")
    return np.array(names, object), np.concatenate(rows)
