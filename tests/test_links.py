"""Links of the documentation lead somewhere: to a file, a heading, an image. No network is used."""

import re
import sys
import unicodedata
from collections import Counter
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    *sorted(DOCS.rglob("*.md")),
    *sorted(path for path in (ROOT / "examples").iterdir() if path.is_file()),
]
FENCE = re.compile(r"^([ \t]*)(```|~~~).*?^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)|<((?:https?|ftp):[^>\s]+)>")
# Pictures that `make docs` draws before it builds the pages, and git does not keep.
DRAWN = (DOCS / "methods" / "pictures", DOCS / "reproduction")
# Where packages and images are kept for a company's machines: nobody else reaches them.
PRIVATE = ("registry", "artifactory", "nexus", "mirror")


def prose(text: str) -> str:
    """A page without blocks of code and without code in sentences."""
    return re.sub(r"`[^`\n]*`", "code", FENCE.sub("", text))


def links(text: str) -> list[str]:
    """What the links and images of a page point at."""
    return [inline or bare for inline, bare in LINK.findall(prose(text))]


def headings(page: Path) -> list[str]:
    """The titles of a page without their markup."""
    text = FENCE.sub("", page.read_text())
    titles = re.findall(r"^#{1,6} (.+?)\s*#*$", text, re.MULTILINE)
    return [re.sub(r"[`*]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title)) for title in titles]


def site_anchors(page: Path) -> set[str]:
    """The anchors of a page's headings on the site: Python-Markdown's rule."""
    names = []
    for title in headings(page):
        ascii_only = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
        kept = re.sub(r"[^\w\s-]", "", ascii_only).strip().lower()
        names.append(re.sub(r"[-\s]+", "-", kept))
    return numbered(names, "_")


def repository_anchors(page: Path) -> set[str]:
    """The anchors of a page's headings where the repository is shown: GitHub's rule."""
    return numbered(
        [re.sub(r"[^\w\s-]", "", title).lower().replace(" ", "-") for title in headings(page)], "-"
    )


def numbered(names: list[str], mark: str) -> set[str]:
    """The names; those that repeat have a number behind a mark."""
    seen: Counter[str] = Counter()
    anchors = set()
    for name in names:
        anchors.add(f"{name}{mark}{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return anchors


def problem(page: Path, link: str) -> str | None:
    """What is wrong with a link of a page. None: nothing."""
    parts = urlsplit(link)
    if parts.scheme == "mailto":
        return None
    if parts.scheme or parts.netloc:
        return problem_outside(parts.scheme, parts.hostname or "")
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if target.suffix == ".svg" and any(target.is_relative_to(folder) for folder in DRAWN):
        return None
    if not target.exists():
        return f"there is no {parts.path}"
    if page.is_relative_to(DOCS) and not target.is_relative_to(DOCS):
        return f"{parts.path} is not part of the site"
    if not parts.fragment or target.suffix != ".md":
        return None
    rule = site_anchors if page.is_relative_to(DOCS) else repository_anchors
    if parts.fragment not in rule(target):
        return f"{target.name} has no heading #{parts.fragment}"
    return None


def problem_outside(scheme: str, host: str) -> str | None:
    """What is wrong with the address of another site. None: nothing."""
    if scheme != "https":
        return "not https"
    try:
        ip_address(host)
    except ValueError:
        if "." not in host or any(word in host for word in PRIVATE):
            return f"{host} is not a public site"
        return None
    return f"{host} is not a public site"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page):
    wrong = {link: why for link in links(page.read_text()) if (why := problem(page, link))}
    assert not wrong


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """A small site with one heading that repeats, and the page that links to it."""
    monkeypatch.setattr(sys.modules[__name__], "DOCS", tmp_path)
    (tmp_path / "other.md").write_text("# Ties, in `code`\n\n## Again\n\n## Again\n")
    page = tmp_path / "page.md"
    page.write_text("# Page\n")
    return page


@pytest.mark.parametrize(
    "link",
    [
        "other.md",
        "other.md#ties-in-code",
        "other.md#again_1",
        "#page",
        "https://example.org/a#b",
        "mailto:somebody@example.org",
    ],
)
def test_links_that_lead_somewhere_are_accepted(pages, link):
    assert problem(pages, link) is None


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("missing.md", "there is no missing.md"),
        ("missing.svg", "there is no missing.svg"),
        ("../elsewhere.md", "there is no"),
        ("other.md#ties", "other.md has no heading #ties"),
        ("other.md#again_2", "no heading"),
        ("#other", "page.md has no heading #other"),
        ("http://example.org", "not https"),
        ("ftp://example.org", "not https"),
        ("https://localhost/", "not a public site"),
        ("https://127.0.0.1:8080/", "not a public site"),
        ("https://registry.example.org/image", "not a public site"),
    ],
)
def test_links_that_lead_nowhere_are_told(pages, link, reason):
    assert reason in str(problem(pages, link))


def test_links_to_files_beside_the_site_are_told(pages, tmp_path_factory):
    outside = tmp_path_factory.mktemp("code") / "file.py"
    outside.touch()
    assert "not part of the site" in str(problem(pages, f"../{outside.parent.name}/file.py"))


def test_links_are_found_in_prose_and_not_in_code():
    text = (
        'See [`best`](best.md), ![a plot](plot.svg "title") and <https://example.org>.\n'
        "Not `[a](b.md)`.\n\n```text\n[c](d.md)\n```\n"
    )
    assert links(text) == ["best.md", "plot.svg", "https://example.org"]
