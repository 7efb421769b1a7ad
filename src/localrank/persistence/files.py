"""The file of a model.

A file has lines of text, then bytes: a magic word with the version of the format; the SHA-256
digest of that line and of all that follows the digest, and a signature if the file is signed; a
manifest in JSON; the model in JSON (`encoding`); the arrays of the model.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import stat
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from localrank._base.rules import fitted_parts
from localrank.data._atomic import atomic_write
from localrank.persistence.encoding import Reader, Writer

MANIFEST: dict[str, Any] = {
    "class": str,
    "parameters": dict,
    "fitted": dict,
    "training_data": dict,
    "n_features": int,
    "feature_names": list | None,
    "columns": dict,
    "versions": dict,
}
# Entries that older files lack.
DEFAULTS: dict[str, Any] = {"columns": {}}
MAGIC = b"localrank model "
FORMAT_VERSION = 2
# Length of an Ed25519 key.
KEY_BYTES = 32
# At most this many curves of early stopping in a manifest, from the first models with one.
MAX_CURVES = 10
LIBRARIES = ("localrank", "catboost", "lightgbm", "numpy", "scikit-learn", "scipy")


def save_model(model: Any, path: str | PathLike[str], private_key: bytes | None = None) -> None:
    """Write a fitted ranker to one file, either whole or not at all. `Ranker.save` calls it.

    Parameters
    ----------
    model : Ranker
        The fitted model.
    path : path
        The file to write.
    private_key : bytes, optional
        Ed25519 key of 32 bytes that signs the file. None: no signature.
    """
    writer = Writer()
    state = json.dumps(writer.encoded(model), allow_nan=False).encode()
    body = json.dumps(_describe(model)).encode() + b"\n" + state + b"\n" + writer.arrays()
    head = MAGIC + str(FORMAT_VERSION).encode() + b"\n"
    digest = hashlib.sha256(head + body).digest()
    signature = b"" if private_key is None else sign(digest, private_key)
    with atomic_write(path) as file:
        file.write(head + digest.hex().encode() + b" " + signature.hex().encode() + b"\n" + body)


def load(
    path: str | PathLike[str],
    *,
    classes: Sequence[type] = (),
    public_key: bytes | None = None,
) -> Any:
    """Read a model that `save` wrote: a ranker, a `TextRanker` or a `FeatureExtractor`.

    Reading runs no code from the file. It builds only classes of localrank, some classes of
    scikit-learn, and the classes that you pass. It checks all content against what each class
    declares. It raises a ValueError if the file asks for another class, is damaged, or is not a
    model file.

    Parameters
    ----------
    path : path
        The file of the model.
    classes : sequence of type
        Further classes that the file may use: your own rankers and parts.
    public_key : bytes, optional
        Ed25519 key of 32 bytes. A file that was not signed with its private key is refused. None:
        signatures are not checked. The digest in a file shows damage; only a signature shows who
        wrote it.

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
    return load_part(
        path,
        # Every saved model has these attributes. A model that is not fitted has not.
        lambda value: hasattr(value, "training_data_") and hasattr(value, "n_features_in_"),
        "fitted model",
        classes=classes,
        public_key=public_key,
    )


def load_ranker(path: str | PathLike[str]) -> Any:
    """Read a ranker of features: the model of a file, or the ranker inside a text ranker.

    Parameters
    ----------
    path : path
        The file of the model.
    """
    return load_ranker_and_texts(path)[0]


def load_ranker_and_texts(path: str | PathLike[str]) -> tuple[Any, Any | None]:
    """Read a ranker of features, and the text ranker around it; None if there is none.

    Parameters
    ----------
    path : path
        The file of the model.
    """
    model = load_part(path, lambda value: _ranker_of(value) is not None, "fitted ranker")
    ranker = _ranker_of(model)
    return ranker, None if ranker is model else model


def _ranker_of(model: Any) -> Any | None:
    """The part that ranks features: the model itself, or the ranker of a text ranker."""
    part = model if hasattr(model, "predict_rows") else getattr(model, "ranker_", None)
    return part if hasattr(part, "n_features_in_") else None


def load_part(
    path: str | PathLike[str],
    is_wanted: Callable[[Any], bool],
    what: str,
    *,
    classes: Sequence[type] = (),
    public_key: bytes | None = None,
) -> Any:
    """Read a file as `load` does, and check that it holds one kind of object.

    Parameters
    ----------
    path : path
        The file.
    is_wanted : callable
        A function of an object: whether the file should hold it.
    what : str
        Name of the wanted kind, for the message.
    classes, public_key
        As in `load`.
    """
    _, state, arrays = _read(path, public_key)
    try:
        model = Reader(arrays, classes).decoded(_parsed(state))
        if not is_wanted(model):
            raise ValueError(f"it holds a {type(model).__name__}, not a {what}")
        return model
    except RecursionError:
        raise ValueError(f"{path}: the model cannot be read: it is nested too deeply.") from None
    except MemoryError:
        raise
    except Exception as error:  # a crafted file can make a library raise anything
        reason = str(error).removesuffix(".")
        raise ValueError(f"{path}: the model cannot be read: {reason}.") from None


def read_manifest(path: str | PathLike[str]) -> dict[str, Any]:
    """The manifest of a model file: class, parameters, training data, versions, digest.

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
    manifest, _, _ = _read(path)
    return manifest


def is_model(path: str | PathLike[str]) -> bool:
    """Whether a file begins like a model file."""
    with Path(path).open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def library_versions() -> dict[str, str]:
    """The versions of Python and of the libraries that results depend on."""
    versions = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            versions[library] = "not installed"
    return versions


def _describe(model: Any) -> dict[str, Any]:
    names = getattr(model, "feature_names_in_", None)
    record = getattr(model, "column_record_", None)
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
        **_curves(model),
        "training_data": model.training_data_,
        "n_features": model.n_features_in_,
        "feature_names": None if names is None else names.tolist(),
        "columns": {} if record is None else record.facts(),
        "versions": library_versions(),
    }


def _curves(model: Any) -> dict[str, Any]:
    """The curves of the parts that validation queries stopped. Empty: there are none."""
    parts = [part for part in fitted_parts(model) if getattr(part, "curve_", None) is not None]
    curves = [
        {
            "ranker": type(part).__name__,
            "measure": str(part.measure),
            "rounds": part.curve_[:, 0].astype(int).tolist(),
            "values": [float(f"{value:.6g}") for value in part.curve_[:, 1]],
        }
        for part in parts[:MAX_CURVES]
    ]
    return {"curves": curves} if curves else {}


def _read(
    path: str | PathLike[str], public_key: bytes | None = None
) -> tuple[dict[str, Any], bytes, memoryview]:
    """The manifest, the state and the arrays of a file, after its digest was checked."""
    if Path(path).is_dir():
        raise ValueError(f"{path} is a folder. Give the file of a model.")
    # A pipe that nobody writes to must not hold up its reader.
    with open(path, "rb", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path}: not a file, but a device or a pipe.")
        # Check the beginning first: the rest may be large.
        content = file.read(len(MAGIC))
        if content != MAGIC:
            raise ValueError(f"{path}: not a localrank model file.")
        content += file.read()
    head, _, rest = content.partition(b"\n")
    number = head.removeprefix(MAGIC)
    if number.isdigit() and len(number) < 9 and int(number) != FORMAT_VERSION:
        age = "a newer" if int(number) > FORMAT_VERSION else "an older"
        raise ValueError(
            f"{path}: written by {age} localrank (model format {int(number)}; this one reads "
            f"{FORMAT_VERSION}). Train it again, or load it with that version."
        )
    line, _, body = rest.partition(b"\n")
    stated, _, signature = line.partition(b" ")
    digest = hashlib.sha256(head + b"\n" + body).digest()
    if stated != digest.hex().encode():
        raise ValueError(f"{path}: damaged or cut off: its content does not match its digest.")
    if public_key is not None and not verify(digest, signature, public_key):
        raise ValueError(f"{path}: not signed with the private key of the given public key.")
    text, _, rest = body.partition(b"\n")
    state, _, arrays = rest.partition(b"\n")
    try:
        manifest = _parsed(text)
    except (ValueError, RecursionError):
        manifest = None
    if isinstance(manifest, dict):
        manifest = {**DEFAULTS, **manifest}
    if not _is_manifest(manifest):
        raise ValueError(f"{path}: its manifest is not one that localrank writes.")
    return {**manifest, "digest": digest.hex()}, state, memoryview(arrays)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _parsed(content: bytes) -> Any:
    """A value of JSON, without what `json` reads beyond the standard or changes in silence.

    Whole numbers must fit into 64 bits: arrays and kernels take no others.
    """
    text = content.decode()  # strict, and UTF-8 alone
    value = json.loads(
        text,
        parse_int=_whole_number,
        parse_float=_finite_number,
        parse_constant=_no_number,
        object_pairs_hook=_unique_names,
    )
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("a text holds half of a letter") from None
    return value


def _whole_number(digits: str) -> int:
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**64:
        raise ValueError(f"{digits:.30} is not between -2^63 and 2^64")
    return int(digits)


def _finite_number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits:.30} is too large")
    return number


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{twice!r:.99} occurs twice")
    return named


def _is_manifest(value: Any) -> bool:
    """Whether a manifest has all the entries that are shown to people."""
    if not isinstance(value, dict) or not value.keys() >= MANIFEST.keys():
        return False
    if not all(isinstance(value[name], kind) for name, kind in MANIFEST.items()):
        return False
    data = value["training_data"]
    labels = data.get("most_frequent_labels")
    if not isinstance(labels, dict):
        return False
    curves = value.get("curves", [])
    if not isinstance(curves, list) or not all(map(_is_curve, curves)):
        return False
    counts = [value["n_features"], data.get("n_queries"), data.get("n_documents"), *labels.values()]
    texts = [*value["parameters"].values(), *(value["feature_names"] or [])]
    if not isinstance(value["columns"].get("left_out", []), list):
        return False
    return all(type(n) is int for n in counts) and all(type(text) is str for text in texts)


def _is_curve(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() != {"ranker", "measure", "rounds", "values"}:
        return False
    texts, numbers = (value["ranker"], value["measure"]), (value["rounds"], value["values"])
    return (
        all(type(text) is str for text in texts)
        and all(type(listed) is list for listed in numbers)
        and 0 < len(value["rounds"]) == len(value["values"])
        and all(type(number) is int for number in value["rounds"])
        and all(type(number) is float for number in value["values"])
    )


def sign(digest: bytes, private_key: bytes) -> bytes:
    """The signature of a digest."""
    _check_key("private_key", private_key)
    signature: bytes = _ed25519().Ed25519PrivateKey.from_private_bytes(private_key).sign(digest)
    return signature


def verify(digest: bytes, signature: bytes, public_key: bytes) -> bool:
    """Whether a signature, in hexadecimal digits, signs this digest with this key."""
    _check_key("public_key", public_key)
    from cryptography.exceptions import InvalidSignature

    try:
        key = _ed25519().Ed25519PublicKey.from_public_bytes(public_key)
        key.verify(bytes.fromhex(signature.decode("ascii", "replace")), digest)
    except (InvalidSignature, ValueError):
        return False
    return True


def _check_key(name: str, key: object) -> None:
    """Refuse what is not a key. The message does not tell the key, which may be a secret."""
    if isinstance(key, bytes) and len(key) == KEY_BYTES:
        return
    got = f"{len(key)} bytes" if isinstance(key, bytes) else f"a {type(key).__name__}"
    advice = " bytes.fromhex(…) reads hexadecimal digits." if isinstance(key, str) else ""
    raise ValueError(
        f"The {name!r} parameter must be an Ed25519 key: {KEY_BYTES} bytes. Got {got} instead."
        f"{advice}"
    )


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise ImportError(
            "Signing model files needs cryptography: pip install 'localrank[sign]'."
        ) from error
    return ed25519
