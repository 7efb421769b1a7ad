"""Writes models as files for an engine."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import localrank
from localrank._base.names import unknown
from localrank.data._atomic import atomic_write
from localrank.export._routed_models import files_of
from localrank.export.base import ExportedModel, Files, Target, numbered_names
from localrank.formulas import simplified
from localrank.rankers._categories import takes_codes
from localrank.registry import declared

if TYPE_CHECKING:
    from localrank.export.lists import ListTarget
    from localrank.rankers import Ranker

# A name for a model that every engine takes.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{,63}")


def targets() -> dict[str, type[Target]]:
    """The export targets, by name.

    Examples
    --------
    >>> "lightgbm" in targets()
    True
    """
    from localrank import export

    return declared(export)


def list_targets() -> dict[str, type[ListTarget]]:
    """The export targets that fuse lists inside an engine, by name.

    They take a fusion of lists, such as `ReciprocalRankFusion`, and no other model.

    Examples
    --------
    >>> "elasticsearch-retriever" in list_targets()
    True
    """
    from localrank.export import lists

    return declared(lists)


def target(name: str) -> Target:
    """The target of formulas with this name."""
    known = targets()
    if name not in known:
        raise unknown("There is no export target", name, [*known, *list_targets()])
    return known[name]()


def exported_model(ranker: Ranker, name: str = "localrank") -> ExportedModel:
    """The model to write for a fitted ranker: its formula and the names of its features.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker.
    name : str, default="localrank"
        Name of the model in the engine: at most 64 letters, digits and underscores, a letter first.
    """
    _check_name(name)
    formula = simplified(ranker.formula())
    codes = getattr(ranker, "categories_", None) if takes_codes(ranker) else None
    return ExportedModel(name, formula, feature_names(ranker), _facts(ranker), codes or {})


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"The name of an exported model must be at most 64 letters, digits and underscores, "
            f"with a letter first. Got {name!r} instead."
        )


def _facts(ranker: Ranker) -> dict[str, Any]:
    return {
        "localrank": localrank.__version__,
        "ranker": type(ranker).__name__,
        "n_models": ranker.n_models_,
        "training_data": ranker.training_data_,
    }


def feature_names(ranker: Ranker) -> tuple[str, ...]:
    """The names of the ranker's features in an engine.

    These are the names in the training data. Features without names are f1, f2 and so on, by
    their numbers in LETOR files.
    """
    names = getattr(ranker, "feature_names_in_", None)
    if names is not None:
        return tuple(names.tolist())
    return numbered_names(ranker.n_features_in_)


def export(
    ranker: Ranker,
    to: str,
    folder: str | PathLike[str],
    *,
    name: str = "localrank",
    window: int | None = None,
) -> list[Path]:
    """Write a fitted ranker as files for an engine.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker.
    to : str
        Name of the target, one of `targets()`, such as "solr", or of `list_targets()`.
    folder : path
        Folder for the files. It is created if it does not exist. It may hold an earlier export of
        the same files, and nothing else.
    name : str, default="localrank"
        Name of the model in the engine.
    window : int or None, default=None
        For a target that fuses lists: the engine fuses at most this many documents of each list,
        the first ones. None: 100.

    Returns
    -------
    list of Path
        The files. README.md says what to do with the others.

    Raises
    ------
    NotExportable
        If the engine cannot compute what the ranker does.

    Examples
    --------
    >>> import tempfile
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import LambdaMART
    >>> dataset, _ = make_queries(80)
    >>> ranker = LambdaMART(20).fit(dataset)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in export(ranker, "lightgbm", folder)]
    ['README.md', 'localrank.txt']
    """
    files = _files(ranker, to, name, window)
    place = Path(folder)
    _check_place(place, files)
    paths = []
    for file_name, content in sorted(files.items()):
        path = place / file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        paths.append(path)
    return paths


def _files(ranker: Ranker, to: str, name: str, window: int | None) -> dict[str, str | bytes]:
    from localrank.export.lists.base import WINDOW, ListFusion

    known = list_targets()
    if to in known:
        _check_name(name)
        size = WINDOW if window is None else window
        return known[to]().files(ListFusion.of(ranker, name, size, _facts(ranker)))
    if window is not None:
        raise ValueError(
            f"The 'window' argument is for targets that fuse lists: {', '.join(known)}. "
            f"Leave it out for {to}."
        )
    return files_of(target(to), exported_model(ranker, name))


def _check_place(place: Path, files: Files) -> None:
    """Refuse a folder with other files, which would be mixed with those of the export."""
    if place.exists() and not place.is_dir():
        raise ValueError(f"{place} is a file. Give a folder for the export.")
    # Stop at the first one: a folder that was given by mistake may hold millions of files.
    for path in place.rglob("*"):
        name = path.relative_to(place).as_posix()
        if path.is_file() and name not in files:
            raise ValueError(
                f"{place} holds other files, such as {name}. Give a new folder for the export."
            )


def read_files(folder: str | PathLike[str]) -> dict[str, bytes]:
    """Read the files of an export from disk."""
    place = Path(folder)
    if not place.is_dir():
        raise ValueError(f"{place} is not a folder. Give a folder that `export` wrote.")
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }
