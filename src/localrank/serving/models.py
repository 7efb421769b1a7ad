"""The models that are served: loaded, made ready, and replaced while requests go on."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localrank.names import unknown
from localrank.persistence import load_ranker_and_texts, read_manifest
from localrank.rankers import Ranker
from localrank.serving.explaining import reasons
from localrank.serving.failures import Refused
from localrank.serving.messages import Id, Model
from localrank.serving.settings import Settings
from localrank.warmup import made_up_lists, rank_by_made_up_words

if TYPE_CHECKING:
    from localrank.text import TextRanker

log = logging.getLogger("localrank.serving")
# Hexadecimal digits of a version.
N_DIGITS = 12
# Attempts to read a file that is replaced meanwhile.
N_ATTEMPTS = 5


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to answer.

    Attributes
    ----------
    name : str
    ranker : Ranker
    version : str
        Begin of the digest of its file.
    manifest : dict
    loaded_at : float
    texts : TextRanker or None
        Of a model that takes words, what makes features of them for its ranker.
    """

    name: str
    ranker: Ranker
    version: str
    manifest: dict[str, Any]
    loaded_at: float
    texts: TextRanker | None = None


class ServedModels:
    """What is served under each name: the newest file of it that could be loaded.

    Parameters
    ----------
    settings : Settings
    reloaded : callable
        Told the name of a model and whether its new file could be loaded.

    Attributes
    ----------
    n_loads : int
        Files that were loaded, or should have been.
    """

    def __init__(self, settings: Settings, reloaded: Callable[[str, bool], None]) -> None:
        self.settings = settings
        self.reloaded = reloaded
        self.n_loads = 0
        self._loaded: dict[str, Loaded] = {}
        self._problems: dict[str, str] = {}
        self._seen: dict[str, tuple[int, ...]] = {}
        self._one_at_a_time = threading.Lock()

    @property
    def ready(self) -> bool:
        """Whether every model can answer."""
        return len(self._loaded) == len(self.settings.models)

    @property
    def problems(self) -> dict[str, str]:
        """Why the newest file of a model is not the one that is served."""
        return dict(self._problems)

    def named(self, name: str) -> Loaded:
        """The model of a name, or a `Refused`."""
        if name not in self.settings.models:
            raise Refused(404, str(unknown("There is no model", name, self.settings.models)))
        model = self._loaded.get(name)
        if model is None:
            raise Refused(
                503, self._problems.get(name, "The model is being loaded."), Retry_After="1"
            )
        return model

    def chosen(self, query: Id | None) -> Loaded:
        """The model that answers where a request names none.

        Shares are kept over queries: one query always has the same model, whichever worker it
        meets. Requests without a query are shared at random.
        """
        point = random.random() if query is None else _point(query)
        for name, share in self.settings.shares.items():
            point -= share
            if point < 0:
                return self.named(name)
        return self.named(self.settings.default)

    def refresh(self, *, always: bool = False) -> None:
        """Load the files that changed; the old model stays where the new file cannot be loaded.

        Parameters
        ----------
        always : bool, default=False
            Load all files, also those that look as they did.
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
            model, self._seen[name] = _loaded(name, path)
        except Exception as error:  # whatever is wrong with a new file, the old model answers
            self._seen[name] = _state(path)
            self._problems[name] = str(error)
            kept = self._loaded.get(name)
            stays = "no model answers" if kept is None else f"version {kept.version} stays"
            log.error("model %s: %s For now %s.", name, error, stays)
        else:
            old = self._loaded.get(name)
            self._loaded[name] = model
            self._problems.pop(name, None)
            log.info("model %s: version %s is ready.", name, model.version)
            if old is not None and old.manifest["feature_names"] != model.manifest["feature_names"]:
                log.warning("model %s: its features are others than before.", name)
        if not first:
            self.reloaded(name, name not in self._problems)

    def described(self) -> list[Model]:
        """All models, the default first."""
        settings = self.settings
        rest = 1 - sum(settings.shares.values())
        result = []
        for name in settings.models:
            share = rest if name == settings.default else settings.shares.get(name, 0.0)
            told = Model(name, False, share, name == settings.shadow)
            told.problem = self._problems.get(name)
            if (model := self._loaded.get(name)) is not None:
                manifest = model.manifest
                told.ready, told.version, told.loaded_at = True, model.version, model.loaded_at
                told.method, told.parameters = manifest["class"], manifest["parameters"]
                told.n_features = manifest["n_features"]
                told.feature_names = manifest["feature_names"]
                told.training_data, told.versions = manifest["training_data"], manifest["versions"]
            result.append(told)
        return result


def _loaded(name: str, path: Path) -> tuple[Loaded, tuple[int, ...]]:
    """A model that has ranked already, so that all it needs is compiled, and its file's state."""
    for _ in range(N_ATTEMPTS):
        state = _state(path)
        manifest, (ranker, texts) = read_manifest(path), load_ranker_and_texts(path)
        if state == _state(path):
            break
    else:
        raise ValueError(f"{path}: it changes faster than it can be read.")
    _warm(ranker)
    if texts is not None:
        rank_by_made_up_words(texts)
    version = manifest["digest"][:N_DIGITS]
    return Loaded(name, ranker, version, manifest, time.time(), texts), state


def _warm(ranker: Ranker) -> None:
    """Rank and explain, so that all it needs is compiled."""
    for dataset in made_up_lists(ranker.n_features_in_):
        # Made-up documents may lie too far from all that the model was trained on.
        with suppress(ValueError):
            ranker.predict(dataset)
            reasons(ranker, dataset)


def _state(path: Path) -> tuple[int, ...]:
    """What changes where a file is replaced or written to."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return (status.st_ino, status.st_mtime_ns, status.st_size)


def _point(query: Id) -> float:
    """A number in [0, 1) that a query always has."""
    return int.from_bytes(blake2b(repr(query).encode(), digest_size=6).digest()) / (1 << 48)
