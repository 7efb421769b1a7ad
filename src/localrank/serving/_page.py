"""The page at `/`: paste a list, see it ranked and explained."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

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
