from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import browser as browser

from localrank.evaluation.report import write


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open the page of some data; no error and no request may come of what a test does."""
    troubles: list[str] = []
    contexts = []

    def show(data: dict[str, Any], *, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(f"{message.type}: {message.text}"))
        path = tmp_path / "index.html"
        write(data, path)

        def note_request(request: Any) -> None:
            if request.url.split("#")[0] != path.as_uri() and not request.url.startswith("data:"):
                troubles.append(f"request: {request.url}")

        page.on("request", note_request)
        page.goto(path.as_uri())
        return page

    yield show
    for context in contexts:
        context.close()
    assert troubles == []
