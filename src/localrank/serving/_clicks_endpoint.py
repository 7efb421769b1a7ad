"""The endpoint that takes clicks on the lists of a live test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from localrank.serving._clicks_log import ClicksLog
from localrank.serving._jobs import OneByOne
from localrank.serving._list_ids import MAX_LENGTH, ListIds, Shown, kept_secret
from localrank.serving._messages import JSON, Clicks, Problem, Refused, Stored
from localrank.serving._metrics import Metrics
from localrank.serving._rank_endpoint import broken, end_of, whole_body
from localrank.serving._requests import content_format
from localrank.serving.settings import Settings

# At most this many bytes of a request: the id of a list, and the documents that were clicked.
MAX_BODY = MAX_LENGTH + (64 << 10)
_decoder = msgspec.json.Decoder(Clicks)


def open_clicks_log(settings: Settings) -> tuple[ListIds, ClicksLog]:
    """The ids of lists, and the log, of a service that has a folder for it."""
    folder = settings.clicks_log
    assert folder is not None
    folder.mkdir(parents=True, exist_ok=True)
    return (
        ListIds(kept_secret(folder), settings.clicks_within),
        ClicksLog(folder, settings.clicks_log_size, settings.clicks_within),
    )


class ClicksEndpoint:
    """Puts clicks into the log, in a thread of its own: a slow disk delays no ranking.

    Parameters
    ----------
    settings : Settings
        With a log of clicks.
    list_ids : ListIds
    clicks_log : ClicksLog
    metrics : Metrics
    admit : callable
        Refuses a request by its header Authorization.
    """

    def __init__(
        self,
        settings: Settings,
        list_ids: ListIds,
        clicks_log: ClicksLog,
        metrics: Metrics,
        admit: Callable[[str], None],
    ) -> None:
        self.settings = settings
        self.metrics = metrics
        self._list_ids = list_ids
        self._log = clicks_log
        self._admit = admit
        self._writes = OneByOne("clicks")
        self._n_pending = 0

    async def __call__(self, request: Request) -> Response:
        """Answer a request."""
        status, more = 500, {}
        try:
            content = msgspec.json.encode(await self._stored(request))
            status = 200
        except Refused as refused:
            status, more = refused.status, refused.headers
            content = msgspec.json.encode(Problem(refused.message))
        except Exception as error:  # caught here: a server would log the content of the request
            content = broken(error)
        self.metrics.clicks.labels(str(status)).inc()
        return Response(content, status, more, media_type=JSON)

    def longest(self) -> float:
        """For how many seconds the oldest writing has gone on. 0: none goes on."""
        return self._writes.longest()

    def stop(self) -> None:
        """Begin no more writing."""
        self._writes.stop()

    async def _stored(self, request: Request) -> Stored:
        self._admit(request.headers.get("authorization", ""))
        if content_format(request.headers.get("content-type", "")) != JSON:
            raise Refused(415, f"Content-Type must be {JSON}.")
        if self._n_pending >= self.settings.max_queue:
            raise Refused(
                503,
                f"{self._n_pending:,} clicks are waiting, and no more fit. Try again later.",
                Retry_After="1",
            )
        self._n_pending += 1
        stage = 408, "The body did not arrive"
        try:
            async with asyncio.timeout(self.settings.timeout):
                body = await whole_body(request.headers, request.receive, MAX_BODY)
                shown, clicks = self._read(body)
                stage = 504, "The clicks were not written"
                job = self._writes.submit(partial(self._log.append, shown, clicks))
                await end_of(job, asyncio.get_running_loop())
                job.result()
        except TimeoutError:
            status, what = stage
            raise Refused(status, f"{what} within {self.settings.timeout:g} s.") from None
        finally:
            self._n_pending -= 1
        return Stored(len(clicks))

    def _read(self, body: bytes) -> tuple[Shown, list[int]]:
        """The list, and the positions that were clicked."""
        try:
            given = _decoder.decode(body)
        except msgspec.ValidationError as error:
            raise Refused(422, f"{error}.") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refused(400, f"The body is not JSON: {error}.") from None
        shown = self._list_ids.read(given.list)
        place = {str(document): position for position, document in enumerate(shown.documents)}
        return shown, sorted({_position(one, place) for one in given.clicks})


def _position(click: int | str, place: dict[str, Any]) -> int:
    """The position of a click, which is given by itself or by the id of the document."""
    position: int | None = place.get(click) if isinstance(click, str) else click
    if position is None:
        raise Refused(422, f"The list does not have the document {click!r} in its log.")
    if position >= len(place):
        raise Refused(
            422,
            f"The list has no position {position} in its log: its positions are 0 to "
            f"{len(place) - 1}.",
        )
    return position
