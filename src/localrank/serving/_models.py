"""The models that are served. They are loaded, and replaced while requests go on."""

from __future__ import annotations

import logging
import os
import random
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localrank._base.names import unknown
from localrank.persistence import load_ranker_and_texts, read_manifest
from localrank.rankers import Ranker
from localrank.rankers._categories import named_for
from localrank.serving._examples import example_of
from localrank.serving._explaining import reasons
from localrank.serving._lists import Inputs, inputs_of
from localrank.serving._messages import Id, Model, Refused
from localrank.serving._number_tables import number_table
from localrank.serving.settings import Settings
from localrank.warmup import made_up_lists_for, rank_by_made_up_words

if TYPE_CHECKING:
    from localrank.text import Encoder, TextRanker

log = logging.getLogger("localrank.serving")
# Number of hexadecimal digits of a version.
N_DIGITS = 12
# At most this many attempts to read a file that is being replaced.
N_ATTEMPTS = 5


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to answer.

    Attributes
    ----------
    name : str
    ranker : Ranker
    version : str
        The first digits of the digest of its file.
    manifest : dict
    loaded_at : float
    texts : TextRanker or None
        Turns the words of a query into features for `ranker`. None: the model does not rank by
        words.
    example : dict or None
        A request that the model ranks.
    """

    name: str
    ranker: Ranker
    version: str
    manifest: dict[str, Any]
    loaded_at: float
    texts: TextRanker | None = None
    example: dict[str, Any] | None = None

    @cached_property
    def inputs(self) -> Inputs:
        """What the model needs for each document."""
        return inputs_of(self.ranker, self.texts)


class ServedModels:
    """The model behind each name: the newest of its files that could be loaded.

    Parameters
    ----------
    settings : Settings
    reloaded : callable
        Called with the name of a model and whether its new file could be loaded.
    folder : Path, optional
        Where to keep a copy of the last good file of each model. A worker that starts while a file
        is bad loads the copy. None: no copy is kept.

    Attributes
    ----------
    n_loads : int
        How often a file was loaded, or could not be.
    """

    def __init__(
        self,
        settings: Settings,
        reloaded: Callable[[str, bool], None],
        folder: Path | None = None,
    ) -> None:
        self.settings = settings
        self.reloaded = reloaded
        self.folder = folder
        self.n_loads = 0
        self._loaded: dict[str, Loaded] = {}
        self._problems: dict[str, str] = {}
        self._seen: dict[str, tuple[int, ...]] = {}
        self._one_at_a_time = threading.Lock()
        self._read_encoder: Encoder | None = None

    @property
    def ready(self) -> bool:
        """Whether every model can answer."""
        return len(self._loaded) == len(self.settings.models)

    @property
    def problems(self) -> dict[str, str]:
        """Why the newest file of a model could not be loaded, by the model's name."""
        return dict(self._problems)

    def named(self, name: str) -> Loaded:
        """The model with this name. Raises `Refused` if there is none, or it is not loaded."""
        if name not in self.settings.models:
            raise Refused(404, str(unknown("There is no model", name, self.settings.models)))
        model = self._loaded.get(name)
        if model is None:
            raise Refused(
                503, self._problems.get(name, "The model is being loaded."), Retry_After="1"
            )
        return model

    def chosen(self, query: Id | None) -> Loaded:
        """The model that answers a request which names no model.

        A query always has the same model, in every worker: the shares are shares of the queries.
        Requests without a query id are shared at random.
        """
        point = random.random() if query is None else _point(query)
        for name, share in self.settings.shares.items():
            point -= share
            if point < 0:
                return self.named(name)
        return self.named(self.settings.default)

    def refresh(self, *, always: bool = False) -> None:
        """Load the files that changed. If a file cannot be loaded, the old model stays.

        Parameters
        ----------
        always : bool, default=False
            Whether to load unchanged files, too.
        """
        with self._one_at_a_time:
            for name, path in self.settings.models.items():
                state = _state(path)
                if always or state != self._seen.get(name):
                    self._replace(name, path)

    def _replace(self, name: str, path: Path) -> None:
        first = name not in self._seen
        self.n_loads += 1
        try:
            model, self._seen[name] = _loaded(name, path, self._encoder)
        except Exception as error:  # whatever is wrong with the new file, the old model stays
            self._seen[name] = _state(path)
            self._problems[name] = str(error)
            self._load_copy(name)
            kept = self._loaded.get(name)
            stays = "no model answers" if kept is None else f"version {kept.version} stays"
            log.error("model %s: %s For now %s.", name, error, stays)
        else:
            old = self._loaded.get(name)
            self._loaded[name] = model
            self._problems.pop(name, None)
            self._keep_copy(model, path)
            log.info("model %s: version %s is ready.", name, model.version)
            if old is not None and old.manifest["feature_names"] != model.manifest["feature_names"]:
                log.warning("model %s: its features differ from those of the old file.", name)
        if not first:
            self.reloaded(name, name not in self._problems)

    def _keep_copy(self, model: Loaded, path: Path) -> None:
        """Put a copy of a good file in the place of the last one, whole or not at all."""
        if self.folder is None:
            return
        copy = self.folder / f"{model.name}.localrank"
        if copy.exists() and read_manifest(copy)["digest"] == model.manifest["digest"]:
            return
        new = copy.with_suffix(f".{os.getpid()}")
        try:
            shutil.copyfile(path, new)
            # If the file was replaced meanwhile, the next look at it finds a newer one to keep.
            if read_manifest(new)["digest"] == model.manifest["digest"]:
                new.replace(copy)
        except (OSError, ValueError) as error:
            log.warning("model %s: no copy is kept for new workers: %s", model.name, error)
        finally:
            new.unlink(missing_ok=True)

    def _load_copy(self, name: str) -> None:
        """Load the last good file of a model, if this worker has none yet."""
        if self.folder is None or name in self._loaded:
            return
        with suppress(OSError, ValueError):
            path = self.folder / f"{name}.localrank"
            self._loaded[name], _ = _loaded(name, path, self._encoder)

    def _encoder(self) -> Encoder | None:
        """The encoder of queries, read once and only for a model that needs it."""
        if self.settings.encoder is not None and self._read_encoder is None:
            from localrank.text import load_encoder

            self._read_encoder = load_encoder(self.settings.encoder)
        return self._read_encoder

    def described(self) -> list[Model]:
        """All models, the default first."""
        settings = self.settings
        rest = 1 - sum(settings.shares.values())
        result = []
        for name in settings.models:
            share = rest if name == settings.default else settings.shares.get(name, 0.0)
            described = Model(name, False, share, name == settings.shadow)
            described.problem = self._problems.get(name)
            if (model := self._loaded.get(name)) is not None:
                manifest = model.manifest
                described.ready, described.version = True, model.version
                described.loaded_at = model.loaded_at
                described.method, described.parameters = manifest["class"], manifest["parameters"]
                described.n_features = manifest["n_features"]
                described.feature_names = manifest["feature_names"]
                described.takes_words = model.texts is not None
                if model.texts is not None:
                    described.document_keys = list(model.texts.extractor_.document_keys)
                described.example = model.example
                described.training_data = manifest["training_data"]
                described.versions = manifest["versions"]
            result.append(described)
        return result


def _loaded(
    name: str, path: Path, encoder: Callable[[], Encoder | None]
) -> tuple[Loaded, tuple[int, ...]]:
    """A model that has ranked once, so that its code is compiled, and the state of its file."""
    for _ in range(N_ATTEMPTS):
        state = _state(path)
        manifest, (ranker, texts) = read_manifest(path), load_ranker_and_texts(path)
        if state == _state(path):
            break
    else:
        raise ValueError(f"{path}: the file changes faster than it can be read.")
    _warm(ranker)
    if texts is not None:
        if texts.extractor_.with_vectors and (known := encoder()) is not None:
            texts.extractor_.use_encoder(known)
        rank_by_made_up_words(texts)
    version = manifest["digest"][:N_DIGITS]
    example = example_of(ranker, texts)
    return Loaded(name, ranker, version, manifest, time.time(), texts, example), state


def _warm(ranker: Ranker) -> None:
    """Read, rank and explain made-up lists, so that all code is compiled."""
    number_table([b"[0]"])
    for dataset in made_up_lists_for(ranker):
        # A model may refuse made-up documents that are too far from its training data.
        with suppress(ValueError):
            asked = named_for(ranker, dataset)
            ranker.predict(asked)
            reasons(ranker, asked)


def _state(path: Path) -> tuple[int, ...]:
    """Numbers that change when a file is replaced or written to."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return (status.st_ino, status.st_mtime_ns, status.st_size)


def _point(query: Id) -> float:
    """A number in [0, 1) that is always the same for a query."""
    return int.from_bytes(blake2b(repr(query).encode(), digest_size=6).digest()) / (1 << 48)
