"""Folds for cross-validation: those that a collection publishes, or folds of a dataset."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import DTypeLike

from localrank._base.arrays import Integers
from localrank._base.printing import Printed, Table
from localrank.data._letor_messages import unequal
from localrank.data.concatenation import concatenate
from localrank.data.dataset import RankingDataset
from localrank.data.letor import read_letor

SUFFIXES = ("", ".gz", ".bz2", ".xz")
# How collections call the parts of a split; the second names are those of LETOR 2 and 3.
ROLES = {
    "train": ("train", "trainingset"),
    "vali": ("vali", "validationset", "valid"),
    "test": ("test", "testset"),
}


@dataclass(frozen=True, eq=False, repr=False)
class Fold(Printed):
    """One split of the queries into training, validation and test queries.

    `valid` is None if the split has no validation part. Parts of a dataset are views: `features`
    makes a table of their rows each time.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays(np.zeros((7, 1)), qid=np.arange(7))
    >>> fold = folds(dataset, 3)[0]
    >>> fold.name, fold.train.n_queries, fold.test.n_queries
    ('Fold1', 3, 2)
    """

    name: str
    train: RankingDataset
    valid: RankingDataset | None
    test: RankingDataset

    def _shown(self) -> list[str | Table]:
        parts = {"train": self.train, "valid": self.valid, "test": self.test}
        rows = [
            [name, f"{part.n_queries:,}", f"{part.n_documents:,}", f"{part.n_features:,}"]
            for name, part in parts.items()
            if part is not None
        ]
        return [Table(self.name, ["part", "queries", "documents", "features"], rows)]


class Folds(Sequence[Fold]):
    """A sequence of folds. Each is made, or read from files, when you ask for it.

    Parameters
    ----------
    makers : sequence of callable
        One for each fold.

    Examples
    --------
    >>> dataset = RankingDataset.from_arrays(np.zeros((7, 1)), qid=np.arange(7))
    >>> made = folds(dataset, 3)
    >>> made, len(made), made[-1].name
    (3 folds, 3, 'Fold3')
    """

    def __init__(self, makers: Sequence[Callable[[], Fold]]) -> None:
        self._makers = makers
        # The last one made, so that the one fold of a single split is read once.
        self._last: tuple[int, Fold] | None = None

    def __len__(self) -> int:
        return len(self._makers)

    def __iter__(self) -> Iterator[Fold]:
        # Nothing here holds a fold while the next one is read.
        for index in range(len(self)):
            yield self[index]

    @overload
    def __getitem__(self, index: int) -> Fold: ...
    @overload
    def __getitem__(self, index: slice) -> Folds: ...
    def __getitem__(self, index: int | slice) -> Fold | Folds:
        if isinstance(index, slice):
            return Folds(self._makers[index])
        index = range(len(self))[index]
        if self._last is None or self._last[0] != index:
            self._last = None
            self._last = index, self._makers[index]()
        return self._last[1]

    def __repr__(self) -> str:
        return "1 fold" if len(self) == 1 else f"{len(self)} folds"


def folds(
    source: RankingDataset | str | PathLike[str],
    n_folds: int = 5,
    *,
    validation: bool = True,
    random_state: int | None = 0,
    dtype: DTypeLike = np.float64,
    n_features: int | None = None,
    zero_based: bool = False,
) -> Folds:
    """Folds for cross-validation, from a folder or from a dataset.

    Folds that a folder holds as `Fold1`, `Fold2`, ... are read each time you ask for them. Parts
    of a dataset, or of files `S1.txt`, `S2.txt`, ..., are views: all features exist once.

    Parameters
    ----------
    source : path or RankingDataset
        A folder with `Fold1`, `Fold2`, ... each holding `train.txt`, `test.txt` and usually
        `vali.txt`; or with parts `S1.txt`, `S2.txt`, ...; or with one split `train.txt`,
        `test.txt`, `vali.txt`. LETOR 2 and 3 call these `trainingset.txt`, `testset.txt` and
        `validationset.txt`. Names may be in capitals and files compressed. A dataset is cut at
        random into `n_folds` parts. Their numbers of queries differ by one at most.
    n_folds : int, default=5
        Number of parts to make of a dataset. The files of a folder decide its number.
    validation : bool, default=True
        How k parts rotate. True: as in LETOR, fold i trains on the k - 2 parts from i on,
        validates on the next and tests on the last. False: fold i tests on part i and trains on
        all others. Folders that hold whole folds are read as they are.
    random_state : int or None, default=0
        Seed for cutting a dataset.
    dtype : float64 or float32, default=float64
        Precision of the features that are read from a folder. A dataset keeps its precision.
    n_features : int, optional
        Number of features in the files of a folder. None: the largest feature id in all files of a
        fold. A warning says if it differs between them: the last features are then 0 in some.
    zero_based : bool, default=False
        Whether feature ids in the files of a folder begin at 0, as for `read_letor`.

    Examples
    --------
    >>> import numpy as np
    >>> dataset = RankingDataset.from_arrays(np.zeros((7, 1)), qid=np.arange(7))
    >>> folds(dataset, 3)[0]
    Fold1
    <BLANKLINE>
     part   queries  documents  features
     ───────────────────────────────────
     train        3          3         1
     valid        2          2         1
     test         2          2         1
    """
    if isinstance(source, RankingDataset):
        smallest = 3 if validation else 2
        if not smallest <= n_folds <= source.n_queries:
            raise ValueError(
                f"The 'n_folds' argument must lie between {smallest} and the number of queries "
                f"({source.n_queries}). Got {n_folds} instead."
            )
        order = np.random.default_rng(random_state).permutation(source.n_queries)
        parts = [np.sort(part) for part in np.array_split(order, n_folds)]
        return _rotated(source, parts, validation)

    folder = Path(source)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder.")
    splits = _numbered(folder, r"Fold(\d+)")
    read = partial(read_letor, n_features=n_features, dtype=dtype, zero_based=zero_based)
    if splits:
        return Folds([partial(_read_split, split, read) for split in splits])
    files = _numbered(folder, rf"S(\d+)\.txt({'|'.join(map(re.escape, SUFFIXES))})")
    if len(files) > (2 if validation else 1):
        datasets = [read(file) for file in files]
        _warn_of_unequal(files, datasets)
        numbers = np.repeat(np.arange(len(datasets)), [part.n_queries for part in datasets])
        parts = [np.flatnonzero(numbers == number) for number in range(len(datasets))]
        return _rotated(_joined(datasets), parts, validation)
    if _find(folder, "train") and _find(folder, "test"):
        return Folds([partial(_read_split, folder, read)])
    raise ValueError(
        f"{folder}: no folds found. Looked for Fold1/train.txt, Fold1/test.txt, ...; for parts "
        f"S1.txt, S2.txt, S3.txt, ...; and for train.txt with test.txt (each also as .gz, .bz2, "
        f".xz), or trainingset.txt with testset.txt."
    )


def _rotated(dataset: RankingDataset, parts: Sequence[Integers], validation: bool) -> Folds:
    """Folds of a dataset's queries, given the positions that each part has."""
    source, k = dataset.view(), len(parts)

    def fold(number: int) -> Fold:
        turned = [*parts[number:], *parts[:number]]
        if validation:
            train, valid, test = np.concatenate(turned[: k - 2]), turned[k - 2], turned[k - 1]
        else:
            train, valid, test = np.concatenate(turned[1:]), None, turned[0]
        # Queries in another order than in their files would have to be in memory.
        train = np.sort(train)
        held_out = None if valid is None else source.taken(valid)
        return Fold(f"Fold{number + 1}", source.taken(train), held_out, source.taken(test))

    return Folds([partial(fold, number) for number in range(k)])


def _joined(parts: list[RankingDataset]) -> RankingDataset:
    """All parts as one dataset. Each is dropped once it is copied, so that few exist twice."""
    width = max(part.n_features for part in parts)
    without = [part.without_features() for part in parts]
    joined = concatenate(without)
    features = np.zeros((joined.n_documents, width), parts[0].features.dtype)
    end = joined.n_documents
    while parts:
        part = parts.pop()
        features[end - part.n_documents : end, : part.n_features] = part.features
        end -= part.n_documents
    return joined.replaced(features=features)


def _read_split(folder: Path, read: Callable[[Path], RankingDataset]) -> Fold:
    files = {role: _find(folder, role) for role in ("train", "vali", "test")}
    for role in ("train", "test"):
        if files[role] is None:
            raise FileNotFoundError(f"{folder}: there is no {role}.txt (or .gz, .bz2, .xz).")
    present = {role: file for role, file in files.items() if file is not None}
    read_parts = [*map(read, present.values())]
    _warn_of_unequal([*present.values()], read_parts)
    parts = dict(zip(present, _same_width(read_parts), strict=True))
    return Fold(folder.name, parts["train"], parts.get("vali"), parts["test"])


def _warn_of_unequal(files: Sequence[Path], parts: Sequence[RankingDataset]) -> None:
    """Warn if the largest feature ids differ. Parts of a collection may do that; others not."""
    n_columns = {file: part.n_features for file, part in zip(files, parts, strict=True)}
    if len(set(n_columns.values())) > 1:
        zero_based = parts[0].column_record is not None and parts[0].column_record.zero_based
        warnings.warn(unequal(n_columns, 0 if zero_based else 1), stacklevel=2)


def _same_width(parts: Sequence[RankingDataset]) -> list[RankingDataset]:
    """Pad with zero columns: a sparse file may not show the highest feature ids."""
    width = max(part.n_features for part in parts)
    return [
        part
        if part.n_features == width
        else part.replaced(features=np.pad(part.features, ((0, 0), (0, width - part.n_features))))
        for part in parts
    ]


def _numbered(folder: Path, pattern: str) -> list[Path]:
    names = [(re.fullmatch(pattern, path.name, re.IGNORECASE), path) for path in folder.iterdir()]
    return [path for _, path in sorted((int(match[1]), path) for match, path in names if match)]


def _find(folder: Path, role: str) -> Path | None:
    files = {path.name.lower(): path for path in sorted(folder.iterdir()) if path.is_file()}
    names = (f"{name}.txt{suffix}" for name in ROLES[role] for suffix in SUFFIXES)
    return next((files[name] for name in names if name in files), None)
