"""The service: an ASGI application."""

from __future__ import annotations

import asyncio
import base64
import gc
import hashlib
import logging
import os
import shutil
import signal
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from localrank._base.parallel import one_blas_thread
from localrank.serving._arrow import arrow
from localrank.serving._clicks_endpoint import ClicksEndpoint, open_clicks_log
from localrank.serving._messages import JSON, Models, Problem, Refused, openapi
from localrank.serving._metrics import CONTENT_TYPE, Metrics
from localrank.serving._models import ServedModels
from localrank.serving._rank_endpoint import PATHS, RankEndpoint, Receive, Scope, Send
from localrank.serving.settings import Settings

log = logging.getLogger("localrank.serving")
# The most seconds that work may go on after its time-out, before the worker asks for a replacement.
OVERTIME = 5
# Seconds between two looks at what runs.
LOOK = 0.5


class Application:
    """Ranks lists of documents over HTTP.

    One thread ranks (`RankEndpoint`), another one loads new files, and one more runs the shadow
    model.

    Parameters
    ----------
    settings : Settings
    folder : Path, optional
        A folder that the workers of a service share, and nobody else may enter. It holds a copy of
        the last good file of each model. A worker writes there that it is ready, and that it needs
        to be replaced. None: the application runs alone, without all that.
    """

    def __init__(self, settings: Settings, folder: Path | None = None) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.models = ServedModels(settings, self._reloaded, folder)
        self._folder = folder
        self._parent = os.getppid()
        list_ids, clicks_log = None, None
        if settings.clicks_log is not None:
            list_ids, clicks_log = open_clicks_log(settings)
        self._rank = RankEndpoint(settings, self.models, self.metrics, list_ids)
        self._clicks = None
        if list_ids is not None and clicks_log is not None:
            self._clicks = ClicksEndpoint(
                settings, list_ids, clicks_log, self.metrics, self._rank.admit
            )
        self._loads = ThreadPoolExecutor(1, "load")
        self._hang_up = asyncio.Event()
        routes = [
            *(Route(path, self._rank, methods=["POST"]) for path in PATHS),
            Route("/", self._page),
            Route("/openapi.json", self._openapi),
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
            Route("/metrics", self._metrics),
            Route("/v1/models", self._models),
            Route("/v1/clicks", self._take_clicks, methods=["POST"]),
        ]
        self._routed = Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={
                Refused: _refused,
                HTTPException: _not_routed,
            },
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What a server calls for each request, as the ASGI standard says."""
        # Finding a route and its middleware takes longer than to read a short list.
        app = self._rank if self._rank.takes(scope) else self._routed
        await app(scope, receive, send)

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
            self._rank.stop()
            if self._clicks is not None:
                self._clicks.stop()
            self._loads.shutdown(cancel_futures=True)

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
            longest = max(one.longest() for one in (self._rank, self._clicks) if one)
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

    async def _health(self, _: Request) -> Response:
        return _json({"status": "alive"})

    async def _ready(self, _: Request) -> Response:
        if not self.models.ready:
            why = "; ".join(self.models.problems.values()) or "Models are being loaded."
            raise Refused(503, why, Retry_After="1")
        return _json({"status": "ready"})

    async def _metrics(self, request: Request) -> Response:
        self._rank.admit(request.headers.get("authorization", ""))
        return Response(self.metrics.exposed(), media_type=CONTENT_TYPE)

    async def _models(self, request: Request) -> Response:
        self._rank.admit(request.headers.get("authorization", ""))
        return _json(Models(self.models.described()))

    async def _take_clicks(self, request: Request) -> Response:
        if self._clicks is None:
            raise Refused(404, "This service keeps no clicks: start it with --clicks-log.")
        return await self._clicks(request)

    async def _openapi(self, _: Request) -> Response:
        return _json(openapi(self.settings))

    async def _page(self, _: Request) -> Response:
        return Response(
            page(), media_type="text/html", headers={"Content-Security-Policy": policy()}
        )


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
