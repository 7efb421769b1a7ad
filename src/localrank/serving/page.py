"""The page at `/`: paste a list, see it ranked and explained."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files


@cache
def page() -> str:
    """The page in one file: nothing is fetched but answers of the service."""
    return (
        _asset("page.html")
        .replace("{{style}}", _asset("page.css"))
        .replace("{{script}}", _asset("page.js"))
    )


@cache
def policy() -> str:
    """The content security policy: the page's own script and style, and requests to the service."""
    return (
        "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; "
        f"script-src {_digest(_asset('page.js'))}; style-src {_digest(_asset('page.css'))}"
    )


def _asset(name: str) -> str:
    return (files("localrank.serving") / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
