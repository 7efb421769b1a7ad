"""The pages of all experiments, made by one command that can be interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from localrank._base.names import unknown
from localrank.data._atomic import atomic_write
from localrank.experiments._code_digest import code_digest
from localrank.experiments._page_text import table_text, write_page
from localrank.experiments.by_name import EXPERIMENTS, own_seeds, page_name
from localrank.experiments.published_numbers import source

VERDICTS = "verdicts"
# Data that is no folder.
BUILT_IN = ("digits",)
# So that several pages can be made side by side.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Page:
    """A page of an experiment.

    Attributes
    ----------
    experiment : str
    data : str
        A folder in a folder of collections, or ".".

    Examples
    --------
    >>> Page("metric-retrieval", "text/cran").name
    'metric-retrieval-cran'
    """

    experiment: str
    data: str

    @property
    def name(self) -> str:
        """The name of its files."""
        return page_name(self.experiment, self.data)

    def record(self, folder: Path) -> dict[str, Any]:
        """What a folder has of the page, which is all that it tells. Empty: nothing."""
        record = folder / f"{self.name}.json"
        if not record.is_file():
            return {}
        known: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
        return known

    def is_fresh(self, folder: Path, seeds: Sequence[int] = (), commit: str | None = None) -> bool:
        """Whether the page in a folder comes from today's code, with these seeds, not quick.

        With a commit, it must be the page's, too: the code of the experiment alone may be the same
        while that of a ranker changed.
        """
        known = self.record(folder)
        if not known or (commit is not None and known["commit"] != commit):
            return False
        return (known["digest"], known["seeds"], known["quick"]) == (
            code_digest(self.experiment),
            list(seeds or own_seeds(self.experiment)),
            False,
        )

    def minutes(self, folder: Path) -> float:
        """Minutes of processor time that the page in a folder took. Unknown: infinity."""
        return float(self.record(folder).get("cpu_seconds", inf)) / 60


def pages(only: Sequence[str] = ()) -> list[Page]:
    """All pages, or those with these names or of these experiments.

    Examples
    --------
    >>> [page.name for page in pages(["metric-retrieval", "wins"])]
    ['metric-retrieval-digits', 'metric-retrieval-cran', 'wins']
    """
    every = [Page(name, data) for name, about in EXPERIMENTS.items() for data in about]
    names = [*EXPERIMENTS, *(page.name for page in every)]
    for name in only:
        if name not in names:
            raise unknown("There is no page", name, names)
    return [page for page in every if not only or {page.name, page.experiment} & set(only)]


def make_pages(
    wanted: Sequence[Page],
    collections: Path,
    output: Path,
    *,
    n_jobs: int = 2,
    options: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> list[str]:
    """Make pages, each in a process of its own, the longest first. The names of those that failed.

    Pages that are finished stay when the rest is interrupted, by Ctrl-C or by SIGTERM. Their
    verdicts are written at the end in any case. Call it from the main thread.

    Parameters
    ----------
    wanted : sequence of Page
    collections : Path
        A folder of collections. Pages about others are left out.
    output : Path
    n_jobs : int, default=2
        How many pages are made at the same time.
    options : sequence of str
        More options of `localrank reproduce`.
    say : callable, default=print
        Called with a line about the progress.
    """
    waiting = [page for page in wanted if has_data(page, collections)]
    # A page of a whole folder is taken for a long one as long as its time is unknown.
    waiting.sort(key=lambda page: (page.minutes(output), page.data == "."))
    running: dict[Page, tuple[subprocess.Popen[bytes], float]] = {}
    failed = []
    logs = output / "runs"
    logs.mkdir(parents=True, exist_ok=True)
    # By default the signal ends this process at once, and leaves those of the pages running.
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                page = waiting.pop()
                command = _command(page, collections, output, options)
                with (logs / f"{page.name}.log").open("wb") as log:
                    process = subprocess.Popen(
                        command, stdout=log, stderr=log, env={**os.environ, **ONE_THREAD}
                    )
                running[page] = process, time.time()
            time.sleep(0.1)
            for page, (process, start) in list(running.items()):
                if process.poll() is None:
                    continue
                del running[page]
                took = f"{(time.time() - start) / 60:.1f} minutes"
                left = f"{len(waiting) + len(running)} left"
                if process.returncode == 0:
                    say(f"{page.name}: {took}, {left}")
                else:
                    failed.append(page.name)
                    lines = (logs / f"{page.name}.log").read_text(errors="replace").splitlines()
                    say(f"{page.name} failed after {took}: {' '.join(lines[-1:])}, {left}")
    finally:
        for process, _ in running.values():
            process.terminate()
        signal.signal(signal.SIGTERM, before)
        write_again(output)
    return failed


def has_data(page: Page, collections: Path) -> bool:
    """Whether a folder of collections has what a page is about."""
    return page.data in BUILT_IN or (collections / page.data).is_dir()


def _command(page: Page, collections: Path, output: Path, options: Sequence[str]) -> list[str]:
    return [
        *(sys.executable, "-m", "localrank", "reproduce", page.experiment),
        *("--data", str(collections / page.data), "--output", str(output), "--n-jobs", "1"),
        *options,
    ]


def write_again(folder: Path) -> None:
    """Write the pages of a folder from their records, and all verdicts into `verdicts.md`."""
    for page in pages():
        if page.record(folder):
            write_page(folder, page.name)
    with atomic_write(folder / f"{VERDICTS}.md") as file:
        file.write(verdicts(folder).encode())


def verdicts(folder: Path) -> str:
    """The verdicts of a folder's pages: a table for each experiment, and how they were made."""
    parts = [
        "# Verdicts",
        "`localrank reproduce all --data DIR` writes this page from the others. A claim holds "
        "(yes) or its opposite does (no) if a test says so; undecided: neither is established; "
        "not tested: the page has numbers only; empty: the page does not have the claim.",
    ]
    made: list[list[str]] = []
    for experiment in EXPERIMENTS:
        known = {page: record for page in pages([experiment]) if (record := page.record(folder))}
        made += [_making(page, record) for page, record in known.items()]
        rows = list(_verdict_rows(list(known.values())))
        if rows:
            columns = [f"[{_label(page)}]({page.name}.md)" for page in known]
            columns = ["claim", *columns]
            parts.append(table_text(experiment, columns, rows, note=source(experiment)))
    if made:
        columns = ["page", "date", "commit", "processor minutes"]
        parts.append(table_text("How the pages were made", columns, made))
    return "\n\n".join(parts) + "\n"


def _verdict_rows(records: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """A row for each claim, in the order of the pages: what it says, and its verdict on each."""
    verdicts = [{c["says"]: c["verdict"] for c in record["claims"]} for record in records]
    for says in dict.fromkeys(says for by_claim in verdicts for says in by_claim):
        yield [says, *(by_claim.get(says, "") for by_claim in verdicts)]


def _label(page: Page) -> str:
    return "all" if page.data == "." else page.data.rpartition("/")[2]


def _making(page: Page, record: dict[str, Any]) -> list[str]:
    minutes = f"{record['cpu_seconds'] / 60:.1f}"
    return [f"[{page.name}]({page.name}.md)", record["date"], record["commit"], minutes]
