"""The endpoint that ranks. It takes requests from the server without a framework between them."""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
from starlette.datastructures import QueryParams

from localrank.serving._jobs import OneByOne
from localrank.serving._list_ids import ListIds
from localrank.serving._live_test import live_answer
from localrank.serving._messages import ARROW, JSON, Problem, Refused
from localrank.serving._metrics import Metrics
from localrank.serving._models import ServedModels
from localrank.serving._ranking import Shadow, answer, scored
from localrank.serving._requests import Asked, answer_format, content_format, decoded
from localrank.serving.settings import Settings

log = logging.getLogger("localrank.serving")
# What a server of the ASGI standard calls an application with.
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

NO_MODEL = "none"
PATHS = ("/v1/rank", "/v1/models/{name}/rank", "/v1/batch", "/v1/models/{name}/batch")
_PATH = re.compile("/v1(?:/models/(?P<name>[^/]+))?/(?P<kind>rank|batch)")


class RankEndpoint:
    """Ranks the lists of a request.

    One thread ranks. The event loop only reads and writes, so a long list does not delay other
    answers. A list that is not ranked in time keeps its thread, and the others get a new one.

    Parameters
    ----------
    settings : Settings
    models : ServedModels
    metrics : Metrics
    list_ids : ListIds, optional
        Where ids of the lists of a live test come from. None: clicks are not accepted.
    """

    def __init__(
        self,
        settings: Settings,
        models: ServedModels,
        metrics: Metrics,
        list_ids: ListIds | None = None,
    ) -> None:
        self.settings = settings
        self.models = models
        self.metrics = metrics
        self._list_ids = list_ids
        self._token = None if settings.token is None else settings.token.encode()
        self._ranks = OneByOne("rank")
        self._shadow = None
        if settings.shadow is not None:
            self._shadow = Shadow(settings.shadow, models, metrics)
        self._n_pending = 0
        # What a live test is called.
        self._live = None if settings.interleave is None else ":".join(settings.interleave)

    @staticmethod
    def takes(scope: Scope) -> bool:
        """Whether a request is for this endpoint."""
        return (
            scope["type"] == "http"
            and scope["method"] == "POST"
            and _PATH.fullmatch(scope["path"]) is not None
        )

    def longest(self) -> float:
        """For how many seconds the oldest work has run. 0: none runs."""
        return max(jobs.longest() for jobs in (self._ranks, self._shadow) if jobs)

    def stop(self) -> None:
        """Begin no more work."""
        self._ranks.stop()
        if self._shadow is not None:
            self._shadow.stop()

    def admit(self, authorization: str) -> None:
        """Refuse a request without the token."""
        if self._token is None:
            return
        kind, _, given = authorization.partition(" ")
        # In constant time: the time of an answer must not tell how much of a guess is right.
        right = hmac.compare_digest(given.strip().encode(), self._token)
        if kind.lower() != "bearer" or not right:
            raise Refused(
                401,
                "The token is missing or wrong: send the header Authorization: Bearer ….",
                WWW_Authenticate="Bearer",
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        began = time.perf_counter()
        path = _PATH.fullmatch(scope["path"])
        assert path is not None
        model = path["name"] or NO_MODEL
        status, form, more = 500, JSON, {}
        try:
            status, form, content, model = await self._ranked(scope, path, receive)
        except Refused as refused:
            status, more = refused.status, refused.headers
            content = msgspec.json.encode(Problem(refused.message))
        except Exception as error:  # caught here: a server would log the content of the request
            content = broken(error)
        finally:
            if model not in self.settings.models and model != self._live:
                model = NO_MODEL
            self.metrics.requests.labels(model, str(status)).inc()
            self.metrics.seconds.labels(model).observe(time.perf_counter() - began)
        headers = {"content-length": str(len(content)), "content-type": form, **more}
        start = {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        await send(start)
        await send({"type": "http.response.body", "body": content})

    async def _ranked(
        self, scope: Scope, path: re.Match[str], receive: Receive
    ) -> tuple[int, str, bytes, str]:
        """The answer: its status, format and bytes, and the model that gave it."""
        # If a header comes twice, the first counts.
        headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in reversed(scope["headers"])
        }
        self.admit(headers.get("authorization", ""))
        top, explain = _options(scope["query_string"])
        name, batch = path["name"], path["kind"] == "batch"
        if name is not None:
            self.models.named(name)
        kind = content_format(headers.get("content-type", ""))
        form = answer_format(headers.get("accept", ""), kind)
        if explain and form == ARROW:
            raise Refused(406, f"Explanations come only as JSON: send Accept: {JSON}.")
        if name is None and self.settings.interleave is not None:
            if form == ARROW:
                raise Refused(406, f"Live tests come only as JSON: send Accept: {JSON}.")
            if explain:
                raise Refused(
                    422,
                    "Two models made this list. For an explanation, ask one of them: "
                    f"/v1/models/{self.settings.interleave[0]}/{path['kind']}.",
                )
        if self._n_pending >= self.settings.max_queue:
            raise Refused(
                503,
                f"{self._n_pending:,} requests are waiting, and no more fit. Try again later.",
                Retry_After="1",
            )
        self._n_pending += 1
        self.metrics.pending.inc()
        loop = asyncio.get_running_loop()
        job: Future[tuple[bytes, str]] | None = None
        stage = 408, "The body did not arrive"
        try:
            async with asyncio.timeout(self.settings.timeout):
                body = await whole_body(headers, receive, self.settings.max_body)
                stage = 504, "The lists were not ranked"
                job = self._ranks.submit(
                    partial(self._answer, body, name, kind, form, batch, top, explain)
                )
                await end_of(job, loop)
                content, model = job.result()
        except TimeoutError:
            status, what = stage
            raise Refused(status, f"{what} within {self.settings.timeout:g} s.") from None
        finally:
            # A job that cannot be stopped any more counts until it ends.
            if job is None or job.done() or job.cancel():
                self._done()
            else:
                self._ranks.give_up(job)
                job.add_done_callback(lambda _: loop.call_soon_threadsafe(self._done))
        return 200, form, content, model

    def _done(self) -> None:
        self._n_pending -= 1
        self.metrics.pending.dec()

    def _answer(
        self,
        body: bytes,
        name: str | None,
        kind: str,
        form: str,
        batch: bool,
        top: int | None,
        explain: bool,
    ) -> tuple[bytes, str]:
        """The bytes of the answer, and the model that gave it. Runs in the ranking thread."""
        asked = decoded(body, kind, self.settings, batch=batch)
        if name is None and self._live is not None:
            return self._interleaved(asked, batch, top), self._live
        model = self.models.chosen(asked.queries[0]) if name is None else self.models.named(name)
        lists = asked.lists(model)
        scores = scored(model, lists)
        content = answer(model, lists, scores, form, batch=batch, top=top, explain=explain)
        self.metrics.lists.labels(model.name).inc(len(lists.queries))
        documents = self.metrics.documents.labels(model.name)
        for size in lists.dataset.query_sizes.tolist():
            documents.observe(size)
        if self._shadow is not None:
            self._shadow.watch(asked, lists, model.name, scores)
        return content, model.name

    def _interleaved(self, asked: Asked, batch: bool, top: int | None) -> bytes:
        """The bytes of an answer that two models share."""
        assert self.settings.interleave is not None
        models = [self.models.named(name) for name in self.settings.interleave]
        lists, scores = [], []
        for model in models:
            try:
                lists.append(asked.lists(model))
                scores.append(scored(model, lists[-1]))
            except Refused as refused:
                raise Refused(refused.status, f"Model {model.name}: {refused.message}") from None
        content = live_answer(models, lists, scores, self._list_ids, batch=batch, top=top)
        self.metrics.lists.labels(self._live).inc(len(lists[0].queries))
        documents = self.metrics.documents.labels(self._live)
        for size in lists[0].dataset.query_sizes.tolist():
            documents.observe(size)
        if self._shadow is not None:
            self._shadow.watch(asked, lists[0], models[0].name, scores[0])
        return content


async def whole_body(headers: Mapping[str, str], receive: Receive, most: int) -> bytes:
    """The bytes of a request. Raises `Refused` if there are too many."""
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise Refused(
            413, f"A request may have at most {most:,} bytes. Got {int(length):,} instead."
        )
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "The connection was closed before the whole body came.")
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise Refused(413, f"A request may have at most {most:,} bytes. Got more.")
        parts.append(part)
        more = message.get("more_body", False)
    return b"".join(parts)


def end_of(job: Future[Any], loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
    """What to wait for until a job of another thread ends."""
    end: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not end.done():
            end.set_result(None)

    def told(_: Future[Any]) -> None:
        # The loop may be closed: then nobody waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell)

    job.add_done_callback(told)
    return end


def _options(query: bytes) -> tuple[int | None, bool]:
    """The options `top` and `explain` in the query string."""
    given = dict(QueryParams(query)) if query else {}
    top, explain = given.pop("top", None), given.pop("explain", "false")
    if given:
        raise Refused(
            422, f"There is no parameter {next(iter(given))!r}. The parameters are top and explain."
        )
    if top is not None and not (top.isascii() and top.isdigit() and 0 < len(top) < 10 and int(top)):
        raise Refused(422, f"top must be a whole number, 1 or larger. Got {top!r} instead.")
    if explain not in ("true", "false"):
        raise Refused(422, f"explain must be true or false. Got {explain!r} instead.")
    return (None if top is None else int(top)), explain == "true"


def broken(error: Exception) -> bytes:
    """What to answer after an error of ours. The log says where it was."""
    # Log where it failed, not the message: a message may hold values of the request.
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s in a request\n%s", type(error).__name__, frames)
    return msgspec.json.encode(
        Problem("The service failed to answer this request. Its log says where.")
    )
