"""The service: an ASGI application."""

from __future__ import annotations

import asyncio
import base64
import gc
import hashlib
import hmac
import logging
import os
import shutil
import signal
import time
import traceback
from collections.abc import AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from localrank._base.parallel import one_blas_thread
from localrank.serving._jobs import OneByOne
from localrank.serving._messages import ARROW, JSON, Models, Problem, Refused, openapi
from localrank.serving._metrics import CONTENT_TYPE, Metrics
from localrank.serving._models import ServedModels
from localrank.serving._ranking import Shadow, rankings, scored
from localrank.serving._requests import answer_format, arrow, content_format, decoded, encoded
from localrank.serving.settings import Settings

log = logging.getLogger("localrank.serving")
NO_MODEL = "none"
# The most seconds that work may go on after its time-out, before the worker asks for a replacement.
OVERTIME = 5
# Seconds between two looks at what runs.
LOOK = 0.5


class Application:
    """Ranks lists of documents over HTTP.

    One thread ranks. The event loop only reads and writes, so a long list does not delay
    `/healthz`. Another thread loads new files, and one more runs the shadow model. A list that is
    not ranked in time keeps its thread, and the others get a new one.

    Parameters
    ----------
    settings : Settings
    folder : Path, optional
        A folder that the workers of a service share, and nobody else may enter. It holds a copy of
        the last good file of each model. A worker writes there that it is ready, and that it needs
        to be replaced. None: the application runs alone, without all that.

    Attributes
    ----------
    asgi : Starlette
        The application that a server runs.
    """

    def __init__(self, settings: Settings, folder: Path | None = None) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.models = ServedModels(settings, self._reloaded, folder)
        self._folder = folder
        self._parent = os.getppid()
        self._token = None if settings.token is None else settings.token.encode()
        self._ranks = OneByOne("rank")
        self._shadow = None
        if settings.shadow is not None:
            self._shadow = Shadow(settings.shadow, self.models, self.metrics)
        self._loads = ThreadPoolExecutor(1, "load")
        self._n_pending = 0
        self._hang_up = asyncio.Event()
        ranking = ("/v1/rank", "/v1/models/{name}/rank", "/v1/batch", "/v1/models/{name}/batch")
        routes = [
            *(Route(path, self._rank, methods=["POST"]) for path in ranking),
            Route("/", self._page),
            Route("/openapi.json", self._openapi),
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
            Route("/metrics", self._metrics),
            Route("/v1/models", self._models),
        ]
        self.asgi = Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={
                Refused: _refused,
                HTTPException: _not_routed,
            },
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        # Windows has no such signal, and only the main thread of a process receives signals.
        with suppress(AttributeError, ValueError, RuntimeError, NotImplementedError):
            loop.add_signal_handler(signal.SIGHUP, self._hang_up.set)
        with one_blas_thread():
            # A worker that accepts requests before it can answer takes them from the others.
            await loop.run_in_executor(self._loads, self._prepare)
            _settle()
            tasks = [asyncio.create_task(self._watch())]
            if self._folder is not None:
                (self._folder / f"{os.getpid()}.ready").touch()
                tasks.append(asyncio.create_task(self._look_after(self._folder)))
            yield
            for task in tasks:
                task.cancel()
            self._ranks.stop()
            self._loads.shutdown(cancel_futures=True)
            if self._shadow is not None:
                self._shadow.stop()

    def _prepare(self) -> None:
        """Load what answers need, so that the first of them is not late."""
        with suppress(Refused):
            arrow()
        self.models.refresh()

    async def _look_after(self, folder: Path) -> None:
        """Ask for a replacement if work does not end, and end if nobody could replace this worker.

        Work that was given up takes processor time and memory from all other work, and nothing can
        stop it but the end of its process.
        """
        most = self.settings.timeout + OVERTIME
        asked = False
        while True:
            await asyncio.sleep(LOOK)
            longest = max(jobs.longest() for jobs in (self._ranks, self._shadow) if jobs)
            if longest > most and not asked:
                asked = True
                log.error("Work goes on %.0f s after it began. This worker is replaced.", longest)
                self.metrics.replaced.inc()
                (folder / f"{os.getpid()}.overdue").touch()
            if os.getppid() != self._parent:
                log.error("The main process is gone. This worker ends.")
                shutil.rmtree(folder, ignore_errors=True)
                signal.raise_signal(signal.SIGTERM)
                return

    async def _watch(self) -> None:
        """Load changed model files: at regular intervals, and at once on SIGHUP."""
        loop = asyncio.get_running_loop()
        always = False
        while True:
            before = self.models.n_loads
            await loop.run_in_executor(self._loads, partial(self.models.refresh, always=always))
            if self.models.n_loads != before:
                _settle()
            self.metrics.ready.set(self.models.ready)
            for name in self.settings.models:
                self.metrics.stale.labels(name).set(name in self.models.problems)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hang_up.wait(), self.settings.reload_interval)
            always = self._hang_up.is_set()
            self._hang_up.clear()

    def _reloaded(self, name: str, success: bool) -> None:
        self.metrics.reloads.labels(name, "loaded" if success else "refused").inc()

    def _admit(self, request: Request) -> None:
        """Refuse a request without the token."""
        if self._token is None:
            return
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        # In constant time: the time of an answer must not tell how much of a guess is right.
        right = hmac.compare_digest(given.strip().encode(), self._token)
        if kind.lower() != "bearer" or not right:
            raise Refused(
                401,
                "The token is missing or wrong: send the header Authorization: Bearer ….",
                WWW_Authenticate="Bearer",
            )

    async def _rank(self, request: Request) -> Response:
        began = time.perf_counter()
        model = request.path_params.get("name", NO_MODEL)
        status = 500
        try:
            self._admit(request)
            response, model = await self._ranked(request)
            status = response.status_code
        except Refused as refused:
            status = refused.status
            raise
        except Exception as error:  # caught here: a server would log the content of the request
            return _broken(error)
        finally:
            if model not in self.settings.models:
                model = NO_MODEL
            self.metrics.requests.labels(model, str(status)).inc()
            self.metrics.seconds.labels(model).observe(time.perf_counter() - began)
        return response

    async def _ranked(self, request: Request) -> tuple[Response, str]:
        top, explain = _options(request)
        name = request.path_params.get("name")
        if name is not None:
            self.models.named(name)
        kind = content_format(request.headers.get("content-type", ""))
        form = answer_format(request.headers.get("accept", ""), kind)
        batch = request.url.path.endswith("/batch")
        if explain and form == ARROW:
            raise Refused(406, f"Explanations come only as JSON: send Accept: {JSON}.")
        if self._n_pending >= self.settings.max_queue:
            raise Refused(
                503,
                f"{self._n_pending:,} requests are waiting, which is the most. Try again later.",
                Retry_After="1",
            )
        self._n_pending += 1
        self.metrics.pending.inc()
        job: Future[tuple[bytes, str]] | None = None
        stage = 408, "The body did not arrive"
        try:
            async with asyncio.timeout(self.settings.timeout):
                body = await self._body(request)
                stage = 504, "The lists were not ranked"
                job = self._ranks.submit(
                    partial(self._answer, body, name, kind, form, batch, top, explain)
                )
                content, model = await asyncio.wrap_future(job)
        except TimeoutError:
            status, what = stage
            raise Refused(status, f"{what} within {self.settings.timeout:g} s.") from None
        except ClientDisconnect:
            raise Refused(400, "The connection was closed before the whole body came.") from None
        finally:
            # A job that cannot be stopped any more counts until it ends.
            if job is None or not job.running():
                self._done()
            else:
                self._ranks.give_up(job)
                loop = asyncio.get_running_loop()
                job.add_done_callback(lambda _: loop.call_soon_threadsafe(self._done))
        return Response(content, media_type=form), model

    def _done(self) -> None:
        self._n_pending -= 1
        self.metrics.pending.dec()

    async def _body(self, request: Request) -> bytes:
        most = self.settings.max_body
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > most:
            raise Refused(
                413, f"A request may have at most {most:,} bytes. Got {int(length):,} instead."
            )
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise Refused(413, f"A request may have at most {most:,} bytes. Got more.")
            parts.append(part)
        return b"".join(parts)

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
        model = self.models.chosen(asked.queries[0]) if name is None else self.models.named(name)
        lists = asked.lists(model)
        scores = scored(model, lists)
        answer = encoded(
            rankings(model, lists, scores, top=top, explain=explain), form, batch=batch
        )
        self.metrics.lists.labels(model.name).inc(len(lists.queries))
        documents = self.metrics.documents.labels(model.name)
        for size in lists.dataset.query_sizes.tolist():
            documents.observe(size)
        if self._shadow is not None:
            self._shadow.watch(asked, lists, model.name, scores)
        return answer, model.name

    async def _health(self, _: Request) -> Response:
        return _json({"status": "alive"})

    async def _ready(self, _: Request) -> Response:
        if not self.models.ready:
            why = "; ".join(self.models.problems.values()) or "Models are being loaded."
            raise Refused(503, why, Retry_After="1")
        return _json({"status": "ready"})

    async def _metrics(self, request: Request) -> Response:
        self._admit(request)
        return Response(self.metrics.exposed(), media_type=CONTENT_TYPE)

    async def _models(self, request: Request) -> Response:
        self._admit(request)
        return _json(Models(self.models.described()))

    async def _openapi(self, _: Request) -> Response:
        return _json(openapi(self.settings))

    async def _page(self, _: Request) -> Response:
        return Response(
            page(), media_type="text/html", headers={"Content-Security-Policy": policy()}
        )


def _options(request: Request) -> tuple[int | None, bool]:
    """The options `top` and `explain` in the query string."""
    given = dict(request.query_params)
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


def _settle() -> None:
    """Exclude the models' objects from garbage collection, which would interrupt answers.

    Objects that were excluded before stay so. A replaced model has no reference cycles, so it is
    freed without the collector.
    """
    gc.collect()
    gc.freeze()


def _json(content: Any, status: int = 200, **headers: str) -> Response:
    return Response(msgspec.json.encode(content), status, headers, media_type=JSON)


async def _refused(_: Request, refused: Any) -> Response:
    return _json(Problem(refused.message), refused.status, **refused.headers)


async def _not_routed(_: Request, error: Any) -> Response:
    return _json(Problem(f"{error.detail}."), error.status_code, **(error.headers or {}))


def _broken(error: Exception) -> Response:
    # Log where it failed, not the message: a message may hold values of the request.
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s in a request\n%s", type(error).__name__, frames)
    return _json(Problem("The service failed to answer this request. Its log says where."), 500)


# The files that make up the page's script. They share one scope.
SCRIPTS = ("elements", "reading", "ranking", "page")


@cache
def page() -> str:
    """The page in one file. It fetches nothing but answers of the service.

    Examples
    --------
    >>> page().splitlines()[0]
    '<!doctype html>'
    """
    styled = _asset("page.html").replace("{{style}}", _asset("page.css"))
    return styled.replace("{{script}}", _script())


@cache
def policy() -> str:
    """The content security policy: only the page's script and style, and requests to the service.

    Examples
    --------
    >>> policy().partition(";")[0]
    "default-src 'none'"
    """
    return (
        "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; "
        f"script-src {_digest(_script())}; style-src {_digest(_asset('page.css'))}"
    )


def _script() -> str:
    parts = "".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _asset(name: str) -> str:
    return (files("localrank.serving") / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
