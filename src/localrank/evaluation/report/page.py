"""The page: template, style, scripts and data in one file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from os import PathLike
from typing import Any

from localrank.data._atomic import atomic_write

# Parts of the page's style, in the order of their precedence.
STYLES = ("report", "tables", "charts", "screens")
# Parts of the page's script, in the order that they build on each other. They share one scope.
SCRIPTS = (
    "dom",
    "charts",
    "table",
    "bounds",
    "queries",
    "calibration",
    "tuning",
    "map",
    "agreement",
    "explorer",
    "sections",
    "costs",
    "made",
    "main",
)

# Longer titles, such as the names of many runs, are written smaller.
LONG_TITLE = 80
# Of more sentences below the headline, those after the first ones are behind a click.
MANY_SENTENCES, FIRST_SENTENCES = 8, 6


def render(data: dict[str, Any]) -> str:
    r"""The page of a comparison.

    Parameters
    ----------
    data : dict
        What `page_data` makes of a comparison. Plain JSON: a missing value is None, never NaN.

    Examples
    --------
    >>> page = render({"title": "R&D", "verdict": "No method is better.", "methods": []})
    >>> page.splitlines()[0], "<title>R&amp;D · localrank</title>" in page
    ('<!doctype html>', True)
    """
    assets = files("localrank.evaluation.report") / "assets"

    def text(name: str) -> str:
        return (assets / name).read_text(encoding="utf-8")

    script = "".join(text(f"{name}.js") for name in SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    theme = text("theme.js")
    style = "".join(text(f"{name}.css") for name in STYLES)
    # Inside a script only "<" can end it or start a comment.
    embedded = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "title": html.escape(data["title"]),
        "size": ' class="long"' * (len(data["title"]) > LONG_TITLE),
        "verdict": _verdict(data["verdict"]),
        "policy": f"script-src {_digest(theme)} {_digest(script)}",
        "style": re.sub(r"^ +", "", style, flags=re.MULTILINE),  # indented for authors only
        "theme": theme,
        "data": embedded,
        "script": script,
    }
    # One pass, so that the data cannot hold a place to fill.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], text("page.html"))


def write(data: dict[str, Any], path: str | PathLike[str]) -> None:
    """Write the page of a comparison, whole or not at all."""
    page = render(data).encode()
    with atomic_write(path) as file:
        file.write(page)


def _verdict(text: str) -> str:
    """The first line as the headline, the others below it."""
    first, *more = map(_sentence, text.split("\n"))
    n_open = FIRST_SENTENCES if len(more) > MANY_SENTENCES else len(more)
    page = f'<p class="verdict">{first}</p>'
    if more:
        page += f'<ul class="verdict-more">{_items(more[:n_open])}</ul>'
    if rest := more[n_open:]:
        page += f'<details class="folded"><summary>{len(rest)} more sentences</summary>'
        page += f'<ul class="verdict-more">{_items(rest)}</ul></details>'
    return page


def _items(sentences: list[str]) -> str:
    return "".join(f"<li>{sentence}</li>" for sentence in sentences)


def _sentence(text: str) -> str:
    """A sentence as HTML, whose p-values stay on one line."""
    together = r'<span class="together">\g<0></span>'
    return re.sub(r"\bp (=|&lt;) [\d.]*\d", together, html.escape(text))


def _digest(script: str) -> str:
    """The name of a script in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
