"""Ids of lists that were shown: each carries its list, signed by the service."""

from __future__ import annotations

import hmac
import os
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from localrank.serving._messages import Id, Refused

# Clicks count on the first documents of a list. Nobody reads on.
MAX_POSITIONS = 100
# The longest id of a list, in characters. Long ids of documents make it long.
MAX_LENGTH = 48 << 10
_SIGNATURE = 16
_SECRET = 32


class Shown(Struct, array_like=True, forbid_unknown_fields=True):
    """A list that was shown."""

    number: str
    time: int
    query: Id
    documents: list[Id]
    teams: list[int]
    ranker: str


class ListIds:
    """Issues ids of lists, and reads them back.

    A worker needs to remember nothing: any of them, now or after a restart, reads the ids of all
    that have the same secret.

    Parameters
    ----------
    secret : bytes
    within : float
        Clicks are accepted for this many seconds.

    Examples
    --------
    >>> ids = ListIds(b"secret", within=60)
    >>> issued = ids.issue("tea", ["a", "b"], [0, 1], "old:new")
    >>> ids.read(issued).documents
    ['a', 'b']
    """

    def __init__(self, secret: bytes, within: float) -> None:
        self.within = within
        self._secret = secret
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder = msgspec.msgpack.Decoder(Shown)

    def issue(self, query: Id, documents: list[Id], teams: list[int], ranker: str) -> str:
        """The id of a list. Raises `Refused` if the list is too long for one."""
        shown = Shown(secrets.token_hex(8), int(time.time()), query, documents, teams, ranker)
        content = self._encoder.encode(shown)
        issued = urlsafe_b64encode(self._signature(content) + content).rstrip(b"=").decode()
        if len(issued) > MAX_LENGTH:
            raise Refused(
                422,
                f"The ids of the query and of the first {MAX_POSITIONS} documents are too long "
                f"for a live test: at most about {MAX_LENGTH * 3 // 4:,} bytes together.",
            )
        return issued

    def read(self, issued: str) -> Shown:
        """The list with this id. Raises `Refused` for an id that is not ours, or is too old."""
        content = b""
        with suppress(ValueError):
            content = urlsafe_b64decode(issued + "=" * (-len(issued) % 4))
        signature, content = content[:_SIGNATURE], content[_SIGNATURE:]
        # In constant time: the time of an answer must not tell how much of a guess is right.
        if not hmac.compare_digest(signature, self._signature(content)):
            raise Refused(404, "There is no such list: this service has not issued the id.")
        shown: Shown = self._decoder.decode(content)
        if time.time() - shown.time > self.within:
            raise Refused(
                410, f"The list is too old: clicks count for {self.within:,.0f} s after the answer."
            )
        return shown

    def _signature(self, content: bytes) -> bytes:
        return hmac.digest(self._secret, content, sha256)[:_SIGNATURE]


def kept_secret(folder: Path) -> bytes:
    """The secret in a folder, which only its owner can read. The first who asks makes it."""
    path = folder / "secret"
    if not path.exists():
        new = folder / f".secret.{os.getpid()}.{secrets.token_hex(4)}"
        descriptor = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_SECRET))
            file.flush()
            os.fsync(file.fileno())
        # Two workers may ask at once: the first secret that is in its place stays.
        with suppress(FileExistsError):
            os.link(new, path)
        new.unlink()
    secret = path.read_bytes()
    if len(secret) != _SECRET:
        raise ValueError(
            f"{path} is not a secret of {_SECRET} bytes. Delete it: clicks on lists that were "
            f"shown before will be refused."
        )
    return secret


def line_of(shown: Shown, clicks: list[int]) -> bytes:
    """The line of a log of clicks."""
    # The number and the time stand first, where the log finds them again.
    line: dict[str, Any] = {
        "list": shown.number,
        "time": shown.time,
        "query": shown.query,
        "documents": shown.documents,
        "clicks": clicks,
        "ranker": shown.ranker,
        "teams": shown.teams,
    }
    return msgspec.json.encode(line) + b"\n"
