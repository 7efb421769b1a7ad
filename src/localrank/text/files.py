"""Saved extractors."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from localrank.persistence.files import load_part
from localrank.text.extractor import FeatureExtractor


def load_extractor(
    path: str | PathLike[str],
    *,
    classes: Sequence[type] = (),
    public_key: bytes | None = None,
) -> FeatureExtractor:
    """Read an extractor that `save` wrote; nothing of the file is executed.

    Parameters
    ----------
    path : path
    classes : sequence of type
        Classes of your own that the file may use: an analyzer, which is an
        `localrank.estimator.Estimator` with a `__call__`.
    public_key : bytes, optional
        An Ed25519 key of 32 bytes: refuse a file that was not signed with its private key.

    Examples
    --------
    >>> import tempfile
    >>> extractor = FeatureExtractor(features=["bm25"]).fit([{"id": 1, "text": "rice, beans"}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     extractor.save(f"{folder}/index.localrank")
    ...     load_extractor(f"{folder}/index.localrank").n_documents
    1
    """
    extractor: FeatureExtractor = load_part(
        path,
        lambda value: isinstance(value, FeatureExtractor) and hasattr(value, "index_"),
        "fitted extractor",
        classes=classes,
        public_key=public_key,
    )
    return extractor
