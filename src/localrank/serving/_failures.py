"""Answers to requests that are refused."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818 - it is an answer, not an error of ours
    """The request is answered with this status and message instead of a ranking."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
