"""Models in files: one file each, checked before it is read, and no code run by reading it.

A model file is three lines of text and the model: a magic word with the version of the format,
the SHA-256 digest of all that follows, a manifest in JSON, and the state as skops writes it.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import platform
import zipfile
from collections.abc import Iterable
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import skops.io
from skops.io.exceptions import UnsupportedTypeException, UntrustedTypesFoundException

from localrank.data.atomic import atomic_write

MANIFEST = {
    "class",
    "parameters",
    "fitted",
    "training_data",
    "n_features",
    "feature_names",
    "versions",
}
MAGIC = b"localrank model "
FORMAT_VERSION = 1
# Sub-packages whose classes a model may consist of.
COMPONENTS = (
    "aggregation",
    "grouping",
    "local_ranker",
    "measures",
    "rankers",
    "representations",
    "selection",
    "trees",
)
LIBRARIES = ("localrank", "lightgbm", "numpy", "scikit-learn", "scipy", "skops")


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted ranker to one file, whole or not at all; rankers call it from `save`."""
    body = json.dumps(_describe(model)).encode() + b"\n" + skops.io.dumps(model)
    with atomic_write(path) as file:
        file.write(MAGIC + str(FORMAT_VERSION).encode() + b"\n")
        file.write(hashlib.sha256(body).hexdigest().encode() + b"\n")
        file.write(body)


def load(path: str | PathLike[str], *, trusted: Iterable[str] = ()) -> Any:
    """Read a ranker that `save` wrote.

    Only classes of localrank, scikit-learn and numpy are built. A file that asks for anything
    else, is damaged, or is no model file raises a ValueError and executes nothing.

    Parameters
    ----------
    path : path
    trusted : iterable of str
        Further classes the file may use, by full name ("my_package.MyRanker"): your own.

    Examples
    --------
    >>> import tempfile
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import BestFeature
    >>> dataset, _ = make_queries(20)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     BestFeature().fit(dataset).save(f"{folder}/best.localrank")
    ...     load(f"{folder}/best.localrank")
    BestFeature()
    """
    _, state = _read(path)
    try:
        foreign = [
            name
            for name in skops.io.get_untrusted_types(data=state)
            if name not in set(trusted) and not _is_own_class(name)
        ]
        if foreign:
            raise ValueError(
                f"it asks for {', '.join(foreign)}, which a model file may not use. If you wrote "
                f"that yourself, pass its name in trusted=[...]."
            )
        model = skops.io.loads(state, trusted=skops.io.get_untrusted_types(data=state))
        if not callable(getattr(model, "predict", None)):
            raise ValueError(f"it holds no ranker but {type(model).__name__}.")
        return model
    except (
        AttributeError,
        ImportError,
        KeyError,
        TypeError,
        ValueError,
        zipfile.BadZipFile,
        UnsupportedTypeException,
        UntrustedTypesFoundException,
    ) as error:
        raise ValueError(f"{path}: the model cannot be read: {error}") from None


def read_manifest(path: str | PathLike[str]) -> dict[str, Any]:
    """What a model file says about itself: class, parameters, training data, versions.

    Examples
    --------
    >>> import tempfile
    >>> from localrank.data import make_queries
    >>> from localrank.rankers import BestFeature
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     BestFeature().fit(make_queries(20)[0]).save(f"{folder}/best.localrank")
    ...     read_manifest(f"{folder}/best.localrank")["class"]
    'BestFeature'
    """
    return _read(path)[0]


def is_model(path: str | PathLike[str]) -> bool:
    """Whether a file begins as a model file does."""
    with Path(path).open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _describe(model: Any) -> dict[str, Any]:
    names = getattr(model, "feature_names_in_", None)
    return {
        "class": type(model).__name__,
        "parameters": {name: repr(value) for name, value in model.get_params().items()},
        "fitted": {
            name: value
            for name, value in vars(model).items()
            if name.endswith("_")
            and name != "n_features_in_"
            and isinstance(value, int | float | str)
            and len(str(value)) < 99
        },
        "training_data": model.training_data_,
        "n_features": model.n_features_in_,
        "feature_names": None if names is None else names.tolist(),
        "versions": library_versions(),
    }


def library_versions() -> dict[str, str]:
    """Versions of Python and of the libraries that results may depend on."""
    return {
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
    }


def _read(path: str | PathLike[str]) -> tuple[dict[str, Any], bytes]:
    content = Path(path).read_bytes()
    if not content.startswith(MAGIC):
        raise ValueError(f"{path}: not a localrank model file.")
    head, _, rest = content.partition(b"\n")
    digest, _, body = rest.partition(b"\n")
    number = head.removeprefix(MAGIC)
    if number.isdigit() and int(number) > FORMAT_VERSION:
        raise ValueError(
            f"{path}: written by a newer localrank (model format {int(number)}; this one reads "
            f"up to {FORMAT_VERSION}). Upgrade localrank to read it."
        )
    if digest != hashlib.sha256(body).hexdigest().encode():
        raise ValueError(f"{path}: damaged or cut off: its content does not match its digest.")
    text, _, state = body.partition(b"\n")
    try:
        manifest = json.loads(text)
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict) or not manifest.keys() >= MANIFEST:
        raise ValueError(f"{path}: its manifest is not one that localrank writes.")
    return manifest, state


def _is_own_class(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    if not module.startswith(tuple(f"localrank.{part}" for part in COMPONENTS)):
        return False
    found = getattr(importlib.import_module(module), attribute, None)
    return isinstance(found, type) and found.__module__ == module
