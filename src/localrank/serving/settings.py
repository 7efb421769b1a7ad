"""The settings of a service."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

from localrank._base.names import unknown


@dataclass(frozen=True)
class Settings:
    """Models, limits and token of a service.

    Parameters
    ----------
    models : dict of str to Path
        The file of each model by name. The first model answers requests that name no model.
    shares : dict of str to float
        Models that answer a share of these requests instead of the first model.
    shadow : str or None
        Name of a model that ranks the same lists after the answer, for comparison. None: no
        model does.
    token : str or None
        The token that requests must send as `Authorization: Bearer …`. None: no token is needed.
    max_body : int
        At most this many bytes in a request.
    max_documents, max_lists : int
        At most this many documents and lists in a request.
    max_query_words : int
        At most this many words in a query, for models that rank by words.
    encoder : Path or None
        Folder of the encoder of queries, for models that rank by vectors, too. None: requests
        bring the vector of their query.
    max_queue : int
        At most this many requests wait or are ranked at once.
    timeout : float
        At most this many seconds for a request, from its first byte on.
    reload_interval : float
        Seconds between two checks for new model files.
    interleave : (str, str) or None
        Two models that share each list in a live test, in answers to requests that name no model.
    clicks_log : Path or None
        Folder where clicks on the lists of the live test are kept. None: the service accepts
        none.
    clicks_within : float
        Clicks are accepted for this many seconds after an answer.
    clicks_log_size : int
        At most this many bytes in `clicks_log`. The oldest clicks are deleted when it is full.

    Examples
    --------
    >>> settings = Settings({"a": Path("a.localrank"), "b": Path("b.localrank")}, {"b": 0.05})
    >>> settings.default
    'a'
    """

    models: dict[str, Path]
    shares: dict[str, float]
    shadow: str | None = None
    token: str | None = None
    max_body: int = 8 << 20
    max_documents: int = 10_000
    max_lists: int = 1_000
    max_query_words: int = 1_000
    encoder: Path | None = None
    max_queue: int = 64
    timeout: float = 2.0
    reload_interval: float = 1.0
    interleave: tuple[str, str] | None = None
    clicks_log: Path | None = None
    clicks_within: float = 3600.0
    clicks_log_size: int = 1 << 30

    def __post_init__(self) -> None:
        if not self.models:
            raise ValueError("A service needs at least one model. Got none.")
        for name in self.models:
            if not re.fullmatch(r"[\w.-]{1,100}", name, re.ASCII):
                raise ValueError(
                    f"The name of a model may hold letters, digits, '.', '_' and '-'. "
                    f"Got {name!r} instead."
                )
        for name in (*self.shares, *([] if self.shadow is None else [self.shadow])):
            if name not in self.models:
                raise unknown("There is no model", name, self.models)
        if self.default in self.shares:
            raise ValueError(
                f"{self.default!r} is the first model and answers what the shares of the others "
                f"leave. Give shares to the other models."
            )
        for name, share in self.shares.items():
            if not 0 <= share <= 1:
                raise ValueError(f"The share of {name!r} must lie in [0, 1]. Got {share} instead.")
        if (total := math.fsum(self.shares.values())) > 1:
            raise ValueError(f"Shares must add up to at most 1. Got {total:g} instead.")
        self._check_live_test()
        if self.token is not None and not isinstance(self.token, str):
            raise ValueError(
                f"The 'token' parameter of Settings must be a str. Got {type(self.token).__name__} "
                f"instead."
            )
        if self.token is not None and not (
            self.token.isascii()
            and self.token.isprintable()
            and self.token.strip() == self.token
            and self.token
        ):
            raise ValueError(
                "A token must be printable ASCII text without spaces at its ends, and must not be "
                "empty."
            )

    def _check_live_test(self) -> None:
        if self.interleave is None:
            if self.clicks_log is not None:
                raise ValueError(
                    "A log of clicks belongs to a live test: name the two models to interleave."
                )
            return
        for name in self.interleave:
            if name not in self.models:
                raise unknown("There is no model", name, self.models)
        if len(set(self.interleave)) != 2:
            raise ValueError(
                f"A live test needs two different models. Got {self.interleave[0]!r} twice."
            )
        if self.shares:
            raise ValueError(
                "Models either share the requests, or a live test's lists: leave out the shares."
            )

    @property
    def default(self) -> str:
        """The model that answers if a request names no model and no share decides."""
        return next(iter(self.models))
