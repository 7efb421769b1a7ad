"""Take the screenshots of the report that the guide shows.

Compares methods on built-in queries, and two runs on built-in texts, opens the pages in the
machine's own browser and writes docs/assets/report.png, report-dark.png, explorer.png and runs.png.
Takes about a minute.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from localrank.data import RankingDataset, Run, make_queries
from localrank.evaluation import compare, compare_runs
from localrank.text import FeatureExtractor, load_example

ASSETS = Path(__file__).parent / "assets"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Without a sandbox, which root may not use, and without calls home.
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-sync")
WIDTH, MARGIN = 1280, 10
METHODS = ["lambdamart", "rank-svm", "local-rank"]
SETTINGS = ["lambdamart.n_trees=100", "local-rank.ranker=rank-svm"]
MAX_BYTES = 200_000


def write_report(folder: Path) -> Path:
    """Compare a few methods on built-in queries. Returns the path of the page."""
    queries, _ = make_queries(
        300, n_documents=(20, 40), n_features=12, n_types=4, separation=0.5, random_state=0
    )
    title = "Built-in queries of 4 types"
    # No bounds, so that a section of charts comes right after the table.
    comparison = compare(
        METHODS, queries, settings=SETTINGS, n_folds=3, n_controls=0, title=title, random_state=0
    )
    comparison.write(folder)
    return folder / "index.html"


def write_runs_report(folder: Path) -> Path:
    """Compare BM25 with the cosine of word weights on built-in texts. Returns the page's path."""
    example = load_example()
    dataset = FeatureExtractor(["title", "body"]).fit(example.corpus).dataset(example.queries)
    runs = {name: _run(dataset, f"whole.{name}") for name in ("bm25", "cosine")}
    comparison = compare_runs(
        runs, example.qrels, queries=example.queries, documents=example.corpus
    )
    comparison.write(folder)
    return folder / "index.html"


def _run(dataset: RankingDataset, feature: str) -> Run:
    """The run that ranks by one feature."""
    column = (dataset.feature_names or ()).index(feature)
    queries = dataset.query_ids[dataset.query_index]
    return Run(queries, dataset.document_ids, dataset.features[:, column])


def take_runs(page_file: Path, assets: Path) -> None:
    """Write the screenshot of a comparison of runs: without what the other page shows."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_browser(), args=[*FLAGS])
        page = _open(browser, page_file, "light")
        page.add_style_tag(content="#differences, #explorer, #next { display: none }")
        save(page, 0, _box(page, "#power")["bottom"] + MARGIN, assets / "runs.png")
        browser.close()


def _browser() -> str:
    browser_file = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser_file is None:
        sys.exit(f"Screenshots need a browser: one of {', '.join(BROWSERS)} on the path.")
    return browser_file


def take(page_file: Path, assets: Path) -> None:
    """Write the screenshots of a report's page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_browser(), args=[*FLAGS])
        for scheme, name in (("light", "report.png"), ("dark", "report-dark.png")):
            page = _open(browser, page_file, scheme)
            # The verdict, the table and the section of charts after it.
            save(page, 0, _box(page, "#methods + section")["bottom"] + MARGIN, assets / name)
        page = _open(browser, page_file, "light")
        page.locator("#explorer").get_by_role("button", name="Largest gain").click()
        top = _box(page, "#explorer h2")["top"] - MARGIN
        save(page, top, _box(page, "#explorer")["bottom"] + MARGIN, assets / "explorer.png")
        browser.close()


def _open(browser: Any, page_file: Path, scheme: str) -> Any:
    page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme=scheme)
    page.goto(page_file.as_uri())
    # What stays on the screen while scrolling would stand in the middle of a long picture.
    page.add_style_tag(content="* { position: static !important; } .skip { display: none }")
    return page


def _box(page: Any, selector: str) -> dict[str, float]:
    """Where the first such element stands on the page."""
    return page.locator(selector).first.evaluate(
        """node => {
             const box = node.getBoundingClientRect();
             return {top: box.top + scrollY, bottom: box.bottom + scrollY};
           }"""
    )


def save(page: Any, top: float, bottom: float, path: Path) -> None:
    """Write a strip of the page as a small PNG file."""
    from PIL import Image

    clip = {"x": 0, "y": max(top, 0), "width": WIDTH, "height": bottom - max(top, 0)}
    image = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip))).convert("RGB")
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, optimize=True)
    if path.stat().st_size > MAX_BYTES:
        # Rare colours, such as those of marks, stay what they are.
        few = image.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(path, optimize=True)
    size = path.stat().st_size
    if size > MAX_BYTES:
        sys.exit(f"{path}: {size} bytes are more than {MAX_BYTES}. Compare fewer methods.")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        take(write_report(Path(folder, "methods")), ASSETS)
        take_runs(write_runs_report(Path(folder, "runs")), ASSETS)
