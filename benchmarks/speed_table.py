"""Make docs/speed.md: run the scripts whose claims it shows, one after another.

Run with `make bench`, or `python benchmarks/speed_table.py [SCRIPT ...]` for some of them, on a
machine that does nothing else: it refuses to begin if other programs are busy, unless `--busy` is
given. What a script measured is kept in `.cache/speed/`, by commit, and the script is not run again
unless it is named, or files differ from the commit. The page is written after each script.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from measuring import ROWS, SMALL, options, short, sized

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "speed.md"
# What each part of the page measures.
PARTS: dict[str, tuple[str, ...]] = sized(
    {
        "Read and measure": ("parsing.py", "measures.py"),
        "Train": (
            "boosted_trees.py",
            "boosted_trees.py --best",
            "speed_rank_svm.py",
            "speed_svm_map.py",
            "speed_rank_boost.py",
            "lgmml.py scoring",
            "principal_components.py",
            "memory.py --documents 1000000 --methods local-rank",
        ),
        "Rank a list": (
            "scoring.py --best",
            "short_lists.py",
            "query_coordinates.py",
            "contributions.py --leaves 7 --documents 100",
            "speed_local.py",
            "selection.py 100000",
        ),
        "Start": ("startup.py",),
        "Serve": ("serving.py",),
        "Texts, vectors and lists": ("text.py", "vectors.py", "fusion.py"),
    },
    {"Train": ("principal_components.py --small",)},
)
COMMANDS = tuple(command for commands in PARTS.values() for command in commands)
# The most that other programs may use of all cores.
QUIET = 0.1
CHANGED = "-changed"
PACKAGES = ("localrank", "numpy", "numba", "lightgbm", "scikit-learn")


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("scripts", nargs="*", help="run these again, such as serving.py")
    parser.add_argument("--busy", action="store_true", help="measure on a busy machine, too")
    given = parser.parse_args()
    if unknown := set(given.scripts) - {command.split()[0] for command in COMMANDS}:
        parser.error(f"The page shows nothing of {', '.join(sorted(unknown))}.")
    if not (given.busy or SMALL) and (busy := others()) > QUIET:
        print(f"Other programs use {busy:.0%} of the machine. Wait for them, or give --busy.")
        return 1
    with tempfile.TemporaryDirectory() as passing:
        # What was measured with files that differ from a commit says nothing of other such files.
        passes = SMALL or commit().endswith(CHANGED)
        store = Path(passing) if passes else ROOT / ".cache" / "speed" / commit()
        store.mkdir(parents=True, exist_ok=True)
        failed = []
        for command in COMMANDS:
            name = command.split()[0]
            kept = store / f"{command.replace(' ', '_')}.json"
            if name in given.scripts or (not given.scripts and not kept.exists()):
                result = measured(command)
                if result is None:
                    failed.append(command)
                else:
                    kept.write_text(json.dumps(result))
            paths = {one: store / f"{one.replace(' ', '_')}.json" for one in COMMANDS}
            page = page_of(
                {one: json.loads(path.read_text()) for one, path in paths.items() if path.exists()}
            )
            if not SMALL:
                PAGE.write_text(page)
    if SMALL:
        print(page)
    for command in failed:
        print(f"FAILED: {command}")
    return int(bool(failed))


def measured(command: str) -> dict[str, Any] | None:
    """The rows of a script, and how busy other programs were before it. None: it failed."""
    print(f"== {command}", flush=True)
    busy, start = others(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows"
        rows.touch()
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        script, *arguments = shlex.split(command)
        done = subprocess.run(
            [sys.executable, str(ROOT / "benchmarks" / script), *arguments],
            env=os.environ | one | {ROWS: str(rows)},
            check=False,
        )
        if done.returncode:
            return None
        found = [json.loads(line) for line in rows.read_text().splitlines()]
    return {
        "command": command,
        "rows": found,
        "busy": busy,
        "seconds": time.perf_counter() - start,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def page_of(results: dict[str, dict[str, Any]]) -> str:
    """The page, from what scripts measured."""
    busiest = max((result["busy"] for result in results.values()), default=0.0)
    total = sum(result["seconds"] for result in results.values())
    dates = sorted({result["date"] for result in results.values()})
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    lines = [
        "# Speed",
        "",
        "What localrank claims about speed, measured beside its peers in one process, on one "
        "thread. `make bench` makes this page.",
        "",
        "- *Ratio*: how many times as fast as the peer.",
        "- *Aim*: the least ratio; without a peer, the bound of our own number. "
        "**Missed** aims are marked.",
        f"- Machine: {processor()}, {os.cpu_count()} cores, {platform.system()}",
        f"- Python {platform.python_version()}, {versions}",
        f"- Commit {commit()}, {' to '.join(dict.fromkeys([*dates[:1], *dates[-1:]]))}, "
        f"{total / 60:.0f} minutes",
        f"- Before each script, other programs used at most {busiest:.0%} of the machine",
    ]
    for part, commands in PARTS.items():
        rows = [(row, one) for one in commands if one in results for row in results[one]["rows"]]
        if not rows:
            continue
        lines += [
            *("", f"## {part}", ""),
            "| what | ours | peer | its number | ratio | aim | script |",
            "|---|---|---|---|---|---|---|",
            *(_line(row, command) for row, command in rows),
        ]
        if missed := [row for row, _ in rows if not row["met"] and row["why"]]:
            lines += ["", "Where an aim is missed:", ""]
            lines += [f"- {row['what']}. {row['why']}" for row in missed]
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any], command: str) -> str:
    peer, aim = row["peer"] or "", ""
    theirs = "" if row["theirs"] is None else f"{short(row['theirs'])} {row['unit']}"
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f} ×"
    if row["aim"] is not None:
        least = row["ratio"] is not None or row["unit"].endswith("/s")
        unit = "×" if row["ratio"] is not None else row["unit"]
        aim = f"{'≥' if least else '≤'} {row['aim']:g} {unit}"
        if not row["met"]:
            aim += ", **missed**"
    ours = f"{short(row['ours'])} {row['unit']}"
    return f"| {row['what']} | {ours} | {peer} | {theirs} | {ratio} | {aim} | `{command}` |"


def commit() -> str:
    """The last commit that changed the code or a script, and whether files differ from it."""

    def told(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    measured = ("--", "src", "benchmarks", "pyproject.toml")
    changed = told("status", "--porcelain", *measured)
    return told("log", "-1", "--format=%h", "--abbrev=12", *measured) + (CHANGED if changed else "")


def processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def others(seconds: float = sized(3.0, 0.1)) -> float:
    """The share of all cores that other programs use now. 0 where the system does not tell."""

    def used() -> tuple[float, float]:
        fields = [int(field) for field in Path("/proc/stat").read_text().split(maxsplit=9)[1:9]]
        return sum(fields), sum(fields) - fields[3] - fields[4]  # idle, and waiting for a disk

    try:
        before = used()
    except OSError:
        return 0.0
    time.sleep(seconds)
    total, busy = (after - first for after, first in zip(used(), before, strict=True))
    return busy / max(total, 1)


if __name__ == "__main__":
    sys.exit(main())
