"""Saved extractors."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from localrank.persistence.files import load_part
from localrank.text._index_folder import EXTRACTOR_FILE, StoredIndex, mapped_index
from localrank.text.extractor import FeatureExtractor


def load_extractor(
    path: str | PathLike[str],
    *,
    classes: Sequence[type] = (),
    public_key: bytes | None = None,
) -> FeatureExtractor:
    """Load an extractor from a file that `save` wrote, or open one whose index is in a folder.

    Nothing in the files is executed. The files of a folder are read once to check them, and are
    then used from disk.

    Parameters
    ----------
    path : path
        A file; or a folder that `fit(corpus, folder=…)` wrote, or any folder with a file
        `extractor.localrank`.
    classes : sequence of type
        Classes of your own that the file may use, such as an analyzer: a
        `localrank._base.estimator.Estimator` with a `__call__`.
    public_key : bytes, optional
        An Ed25519 key of 32 bytes. A file that was not signed with its private key is refused.
        None: signatures are not checked.

    Examples
    --------
    >>> import tempfile
    >>> extractor = FeatureExtractor(features=["bm25"]).fit([{"id": 1, "text": "rice, beans"}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     extractor.save(f"{folder}/index.localrank")
    ...     load_extractor(f"{folder}/index.localrank").n_documents
    1
    """
    file = Path(path)
    if file.is_dir():
        file /= EXTRACTOR_FILE
        if not file.is_file():
            raise ValueError(
                f"{path}: has no {EXTRACTOR_FILE}. The folder is not an index, or building it was "
                f"interrupted."
            )
    model: StoredIndex | FeatureExtractor = load_part(
        file, _is_extractor, "fitted extractor", classes=classes, public_key=public_key
    )
    if isinstance(model, FeatureExtractor):
        return model
    extractor: FeatureExtractor = model.extractor
    extractor.index_ = mapped_index(file.parent, model.files_, len(extractor.field_names))
    try:
        extractor._check_fitted()
    except ValueError as error:
        raise ValueError(f"{file.parent}: the index cannot be used: {error}.") from None
    return extractor


def _is_extractor(value: Any) -> bool:
    if isinstance(value, StoredIndex):
        return isinstance(value.extractor, FeatureExtractor)
    return isinstance(value, FeatureExtractor) and hasattr(value, "index_")
