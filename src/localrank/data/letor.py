"""LETOR and SVMlight files: `label qid:ID 1:v 2:v ... #docid = D`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from localrank._base.arrays import Array
from localrank._kernels.parsing import MAX_FEATURES, MAX_ID_LENGTH
from localrank.data._atomic import atomic_write
from localrank.data._checks import check_writes
from localrank.data._compression import compressed
from localrank.data._letor_reader import LetorReader, TrainingIds
from localrank.data.dataset import RankingDataset
from localrank.data.errors import AdvisedError

_BLOCK = 1 << 20
_NOT_IN_IDS = re.compile(r"[\s#\x00-\x1f]")


def read_letor(
    path_or_paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: bool = False,
) -> RankingDataset:
    r"""Read ranking data in LETOR or SVMlight format.

    A line is `label qid:ID 1:v 2:v ... #docid = D`. Features may be left out (they are 0) and
    come in any order; `NULL` and `nan` are missing values. The lines of a query may be scattered
    through the file. Blank lines and comments are skipped. Lines end in LF or CRLF and have up to
    16 MiB. Ids are UTF-8, up to 1,000 bytes; numbers lie between -1e100 and 1e100.

    Parameters
    ----------
    path_or_paths : path or sequence of paths
        Several files are read as one dataset; no query may be in two of them. Files that end in
        `.gz`, `.bz2` or `.xz` are decompressed.
    n_features : int, optional
        Number of features, for files in which the last ones may not occur. None: the largest
        feature id in the files. A warning says if it differs between files.
    dtype : float64 or float32, default=float64
        Precision of the features. Numbers are rounded as Python's `float` rounds them.
    zero_based : bool, default=False
        Whether feature ids begin at 0, as in files for LightGBM and XGBoost. True: column `j` of
        the dataset is feature `j`. False: it is feature `j + 1`.

    Returns
    -------
    RankingDataset
        Query ids are integers if all of them are written like integers, strings otherwise.
        It has document ids if every line has one.

    Notes
    -----
    If the first line has no query id after its label, the query ids may be in comments, like
    `#qid = 7` or `#qid = 7 docid = D`. Or a file of the same name with `.query` (LightGBM) or
    `.group` (XGBoost) at its end has the number of lines of each query. Such queries are named
    after the file: `train.txt:1`, `train.txt:2`, and so on. Weights in a file that ends in
    `.weight` are not used, and a warning says so.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.txt")
    ...     _ = path.write_text("2 qid:7 1:0.5 3:1 #docid = A\n0 qid:7 2:NULL #docid = B\n")
    ...     dataset = read_letor(path)
    >>> dataset.features
    array([[0.5, 0. , 1. ],
           [0. , nan, 0. ]])
    >>> dataset.query_ids, dataset.document_ids
    (array([7]), array(['A', 'B'], dtype='<U1'))
    """
    given = [path_or_paths] if isinstance(path_or_paths, str | PathLike) else path_or_paths
    paths = [Path(path) for path in given]
    return letor_reader(paths, n_features, dtype, zero_based).dataset()


def letor_reader(
    paths: list[Path],
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: bool = False,
    like: TrainingIds | None = None,
) -> LetorReader:
    """The reader of files that `read_letor` is given, after it has read them.

    `like` has the features of the training data, if the files are read for a model.
    """
    if not paths:
        raise ValueError("There is nothing to read: the list of paths is empty.")
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise ValueError(
            f"The 'dtype' argument of read_letor must be float64 or float32. "
            f"Got {np.dtype(dtype)} instead."
        )
    if n_features is not None and not 1 <= (n_features := index(n_features)) <= MAX_FEATURES:
        bounds = f"must lie in [1, {MAX_FEATURES}]. Got {n_features} instead."
        raise AdvisedError(
            "", f"The 'n_features' argument of read_letor {bounds}", f"--n-features {bounds}"
        )
    reader = LetorReader(paths, n_features, np.dtype(dtype), zero_based, like)
    for path in paths:
        reader.read(path)
    return reader


def write_letor(dataset: RankingDataset, path: str | PathLike[str]) -> None:
    """Write a dataset in LETOR format, its documents in input order.

    Every number is written with the fewest digits that read back the same, NaN as `NULL`. The
    suffixes `.gz`, `.bz2` and `.xz` compress. A file of that name is replaced once the new one is
    complete. The format has no place for feature names.

    Parameters
    ----------
    dataset : RankingDataset
        With labels. Query and document ids must not contain whitespace or `#`, and have up to
        1,000 bytes.
    path : path

    Examples
    --------
    >>> import tempfile
    >>> dataset = RankingDataset.from_arrays([[0.5, 2.0], [np.nan, 1e-7]], y=[1, 0], qid=[7, 7])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.txt")
    ...     write_letor(dataset, path)
    ...     print(path.read_text(), end="")
    1 qid:7 1:0.5 2:2
    0 qid:7 1:NULL 2:1e-07
    """
    check_writes("write_letor(dataset, path)", dataset, path)
    for name in dataset.categories or ():
        raise ValueError(
            f"LETOR files hold numbers, and the feature {name!r} holds categories. Write a table "
            f"with write_table, or columns of 0 and 1: dataset.one_hot()."
        )
    dataset = dataset.in_memory()
    labels = dataset.in_input_order(dataset.labels)
    queries = _checked_ids(dataset.query_ids, "query id")
    documents = None
    if dataset.document_ids is not None:
        documents = _checked_ids(dataset.in_input_order(dataset.document_ids), "document id")
    rows = dataset.in_input_order(np.arange(dataset.n_documents))
    # The blank behind each value lets the replacements below find whole values.
    template = "".join(f"{feature}:%s " for feature in range(1, dataset.n_features + 1))
    n_rows = max(1, _BLOCK // (16 * dataset.n_features + 16))
    with atomic_write(path) as file, compressed(file, Path(path).suffix) as output:
        for begin in range(0, dataset.n_documents, n_rows):
            block = slice(begin, begin + n_rows)
            values = dataset.features[rows[block]]
            # Python prints float64 fastest; only NumPy knows the shortest digits of a float32.
            table = (values if values.dtype == np.float64 else values.astype(str)).tolist()
            names = [queries[query] for query in dataset.query_index[rows[block]].tolist()]
            ends = [""] * len(names)
            if documents is not None:
                ends = [f" #docid = {document}" for document in documents[block]]
            lines = [
                f"{_label(label)} qid:{name} {_features(template, row)}{end}\n"
                for label, name, row, end in zip(
                    labels[block].tolist(), names, table, ends, strict=True
                )
            ]
            output.write("".join(lines).encode())


def _features(template: str, row: list[Any]) -> str:
    text = template % tuple(row)
    return text.replace(".0 ", " ").replace(":nan ", ":NULL ").rstrip()


def _label(label: float) -> str:
    return repr(label).removesuffix(".0")


def _checked_ids(ids: Array, kind: str) -> list[str]:
    names = [str(value) for value in ids.tolist()]
    for name in names:
        if not name or _NOT_IN_IDS.search(name):
            raise ValueError(
                f"The {kind} {name!r} cannot be written: "
                f"it must not be empty or contain whitespace or '#'."
            )
        if len(name.encode()) > MAX_ID_LENGTH:
            raise ValueError(
                f"The {kind} '{name[:37]}...' cannot be written: "
                f"it is longer than {MAX_ID_LENGTH} bytes."
            )
    return names
