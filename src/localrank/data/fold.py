"""Folds for cross-validation: the published ones where the files have them, or made here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path

import numpy as np

from localrank.data.concatenation import concatenate
from localrank.data.dataset import RankingDataset
from localrank.data.letor import read_letor
from localrank.printing import Printed, Table

SUFFIXES = ("", ".gz", ".bz2", ".xz")
# How collections call the parts of a split; the second names are those of LETOR 2 and 3.
ROLES = {
    "train": ("train", "trainingset"),
    "vali": ("vali", "validationset", "valid"),
    "test": ("test", "testset"),
}


@dataclass(frozen=True, eq=False, repr=False)
class Fold(Printed):
    """One split of the queries; `valid` is None where the split has no validation part."""

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


def folds(
    source: RankingDataset | str | PathLike[str],
    n_folds: int = 5,
    *,
    validation: bool = True,
    random_state: int | None = 0,
    zero_based: bool = False,
) -> Iterator[Fold]:
    """Iterate over the folds of a folder, or make folds of a dataset's queries.

    Parameters
    ----------
    source : path or RankingDataset
        A folder with `Fold1`, `Fold2`, ... each holding `train.txt`, `test.txt` and usually
        `vali.txt`; or with parts `S1.txt`, `S2.txt`, ...; or with one split `train.txt`,
        `test.txt`, `vali.txt`. LETOR 2 and 3 call these `trainingset.txt`, `testset.txt` and
        `validationset.txt`. Names may be in capitals and files compressed. A dataset is cut at
        random into `n_folds` parts with as equal numbers of queries as can be.
    n_folds : int, default=5
        Number of parts to make of a dataset; a folder has its own number.
    validation : bool, default=True
        How parts rotate. With True, as in LETOR: of k parts, fold i trains on the k - 2 parts
        from i on, validates on the next and tests on the last. With False, fold i tests on part
        i and trains on all others. Folders that hold whole folds are read as they are.
    random_state : int or None, default=0
        Seed of the cut of a dataset.
    zero_based : bool, default=False
        Whether the ids of the features in a folder's files begin at 0, as `read_letor` says.

    Examples
    --------
    >>> import numpy as np
    >>> dataset = RankingDataset.from_arrays(np.zeros((7, 1)), qid=np.arange(7))
    >>> next(folds(dataset, 3))
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
        parts = [source.select(np.sort(part)) for part in np.array_split(order, n_folds)]
        return _rotate(parts, validation)

    folder = Path(source)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder.")
    splits = _numbered(folder, r"Fold(\d+)")
    read = partial(read_letor, zero_based=zero_based)
    if splits:
        return (_read_split(split, read) for split in splits)
    files = _numbered(folder, rf"S(\d+)\.txt({'|'.join(map(re.escape, SUFFIXES))})")
    if len(files) > (2 if validation else 1):
        return _rotate(_same_width([read(file) for file in files]), validation)
    if _find(folder, "train") and _find(folder, "test"):
        return (_read_split(split, read) for split in [folder])
    raise ValueError(
        f"{folder}: no folds found. Looked for Fold1/train.txt, Fold1/test.txt, ...; for parts "
        f"S1.txt, S2.txt, S3.txt, ...; and for train.txt with test.txt (each also as .gz, .bz2, "
        f".xz), or trainingset.txt with testset.txt."
    )


def _rotate(parts: Sequence[RankingDataset], validation: bool) -> Iterator[Fold]:
    k = len(parts)
    for i in range(k):
        turned = [*parts[i:], *parts[:i]]
        if validation:
            yield Fold(f"Fold{i + 1}", concatenate(turned[: k - 2]), turned[k - 2], turned[k - 1])
        else:
            yield Fold(f"Fold{i + 1}", concatenate(turned[1:]), None, turned[0])


def _read_split(folder: Path, read: Callable[[Path], RankingDataset]) -> Fold:
    files = {role: _find(folder, role) for role in ("train", "vali", "test")}
    for role in ("train", "test"):
        if files[role] is None:
            raise FileNotFoundError(f"{folder}: there is no {role}.txt (or .gz, .bz2, .xz).")
    present = {role: file for role, file in files.items() if file is not None}
    parts = dict(zip(present, _same_width([*map(read, present.values())]), strict=True))
    return Fold(folder.name, parts["train"], parts.get("vali"), parts["test"])


def _same_width(parts: Sequence[RankingDataset]) -> list[RankingDataset]:
    """Pad with zero columns: a sparse file may not show the highest feature ids."""
    width = max(part.n_features for part in parts)
    return [
        part
        if part.n_features == width
        else part.with_features(np.pad(part.features, ((0, 0), (0, width - part.n_features))))
        for part in parts
    ]


def _numbered(folder: Path, pattern: str) -> list[Path]:
    found = [(re.fullmatch(pattern, path.name, re.IGNORECASE), path) for path in folder.iterdir()]
    return [path for _, path in sorted((int(m[1]), path) for m, path in found if m)]


def _find(folder: Path, role: str) -> Path | None:
    files = {path.name.lower(): path for path in sorted(folder.iterdir()) if path.is_file()}
    names = (f"{name}.txt{suffix}" for name in ROLES[role] for suffix in SUFFIXES)
    return next((files[name] for name in names if name in files), None)
