"""The built documentation: it needs no network, and its headings have the anchors we expect."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from test_links import DOCS, ROOT, site_anchors

pytestmark = pytest.mark.slow

ZENSICAL = Path(sys.executable).with_name("zensical")
# Attributes by which a page makes the browser fetch something; a link is followed by the reader.
FETCHED = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "image": "href",
    "img": "src",
    "input": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "use": "href",
    "video": "src",
}


class Page(HTMLParser):
    """What a page fetches, and the ids that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids.add(given.get("id", ""))
        # A canonical link and its like are names, not files.
        if tag in FETCHED and given.get("rel") not in ("canonical", "prev", "next"):
            self.fetched.append(given.get(FETCHED[tag], ""))
            self.fetched += [part.split()[0] for part in given.get("srcset", "").split(",") if part]


def remote(addresses: list[str]) -> list[str]:
    return [address for address in addresses if re.match(r"(?i)\s*(\w+:)?//", address)]


def remote_in_style(text: str) -> list[str]:
    return remote(re.findall(r"""(?:url\(|@import\s*)\s*["']?([^"')\s;]+)""", text))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The documentation, built apart from the repository."""
    if not ZENSICAL.exists():
        pytest.skip("zensical is not installed: pip install 'localrank[docs]'")
    folder = tmp_path_factory.mktemp("documentation")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shutil.copytree(DOCS, folder / "docs")  # zensical takes no link
    (folder / "src").symlink_to(ROOT / "src")
    command = [ZENSICAL, "build", "--strict", "--config-file", "mkdocs.yml"]
    plain = os.environ | {"NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=folder, env=plain, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def test_every_page_is_built(site):
    built = {path.relative_to(site) for path in site.rglob("*.html")}
    pages = {path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    assert pages <= built


def test_no_page_fetches_anything_from_the_network(site):
    for path in site.rglob("*.html"):
        text = path.read_text()
        assert not remote(Page(text).fetched), path
        assert not remote_in_style(text), path


def test_no_style_fetches_anything_from_the_network(site):
    styles = list(site.rglob("*.css"))
    assert styles
    for path in styles:
        assert not remote_in_style(path.read_text()), path


def test_headings_have_the_anchors_that_links_are_checked_against(site):
    for page in DOCS.rglob("*.md"):
        built = Page((site / page.relative_to(DOCS).with_suffix(".html")).read_text())
        assert site_anchors(page) <= built.ids, page


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://unpkg.com/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.org/a.css">',
        '<img src="plot.svg" srcset="plot.svg 1x, https://example.org/plot.svg 2x">',
    ],
)
def test_what_is_fetched_from_the_network_is_found(text):
    assert remote(Page(text).fetched)


def test_links_that_a_reader_follows_are_not_fetched():
    assert not remote(Page('<a href="https://example.org">there</a><img src="a.svg">').fetched)


def test_fonts_fetched_by_a_style_are_found():
    assert remote_in_style("@import 'https://example.org/a.css'; b { color: red }")
    assert remote_in_style("src: url(//example.org/a.woff2)")
    assert not remote_in_style("background: url('data:image/svg+xml;charset=utf-8,<svg/>')")
