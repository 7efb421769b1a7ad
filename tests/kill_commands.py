"""`localrank compare` and `localrank train --keep`, killed at random moments and started again.

    python tests/kill_commands.py --count 60

A command is started, killed with SIGKILL and started again several times, then runs to its end.
Half of the kills come at any moment, half shortly after a file was written. After each kill every
file on disk must be whole. At the end the result must be that of a run without kills, to the byte:
the model of `train`; the scores and the runs of `compare`. A finding is anything else.

`--seed` repeats the moments, as far as time repeats itself. The exit code is 1 if there were
findings.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np

from localrank.data import make_queries, write_letor
from localrank.persistence import read_manifest

KILLS_PER_ROUND = 5
# Seconds after a file was written within which half of the kills come.
SHORTLY = 0.3
COMMANDS = {
    "train": (
        *("train", "data.txt", "--method", "local-rank", "--n-jobs", "1", "-o", "model.localrank"),
        *("--set", "n_clusters=6", "--set", "ranker=lambdamart", "--set", "ranker__n_trees=100"),
        *("--keep", "models"),
    ),
    "compare": (
        *("compare", "data.txt", "--folds", "3", "--n-jobs", "1", "-o", "report"),
        *("--methods", "lambdamart,rank-svm,rank-boost", "--baseline", "rank-svm"),
    ),
}
# What a run of a command must give again. Other files say how long it took.
RESULTS = {"train": ["model.localrank"], "compare": ["report/scores.csv", "report/runs/*"]}


def start(name, folder):
    return subprocess.Popen(
        [sys.executable, "-m", "localrank", *COMMANDS[name]],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def run(name, folder):
    """Run a command to its end, and return what it gave."""
    process = start(name, folder)
    said = process.communicate()[1].decode()
    if process.returncode != 0:
        raise RuntimeError(f"{name} ends with {process.returncode}: {said[-500:]}")
    results = (path for pattern in RESULTS[name] for path in sorted(folder.glob(pattern)))
    return {str(path.relative_to(folder)): path.read_bytes() for path in results}


def kill(process, folder, choose, seconds):
    """Kill a process at a random moment; whether it had not ended by itself."""
    deadline = time.monotonic() + choose.uniform(0, seconds)
    if choose.random() < 0.5:
        before = files(folder)
        while files(folder) == before and process.poll() is None:
            time.sleep(0.005)
        deadline = time.monotonic() + choose.uniform(0, SHORTLY)
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0, deadline - time.monotonic()))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def files(folder):
    found = set()
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            found.add((path, path.stat().st_mtime_ns))
    return found


def check_whole(folder):
    """Raise where a file is not whole, or is none that a command writes."""
    for path in folder.rglob("*"):
        if path.is_dir() or path.name == "data.txt":
            continue
        content = path.read_bytes()
        if path.suffix == ".localrank":
            read_manifest(path)
        elif path.suffix == ".npz":
            with np.load(path) as kept:
                for name in kept.files:
                    kept[name]
        elif path.suffix == ".json":
            json.loads(content)
        elif path.suffix == ".html":
            if not content.rstrip().endswith(b"</html>"):
                raise ValueError(f"{path} is cut off")
        elif path.suffix in (".csv", ".trec"):
            if not content.endswith(b"\n"):
                raise ValueError(f"{path} is cut off")
        else:
            raise ValueError(f"{path} was left behind")


def main():
    parser = argparse.ArgumentParser(description="Kill commands at random moments.")
    parser.add_argument("--count", type=int, default=60, help="number of kills")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    choose = random.Random(chosen.seed)
    queries, _ = make_queries(90, n_documents=(3, 12), n_features=6, random_state=3)
    begin, kills, findings = time.monotonic(), Counter(), []
    n_rounds = 0
    with tempfile.TemporaryDirectory() as base:

        def fresh(name):
            folder = Path(base, f"{name}-{n_rounds}")
            folder.mkdir()
            write_letor(queries, folder / "data.txt")
            return folder

        wanted, seconds = {}, {}
        for name in COMMANDS:
            run(name, fresh(f"{name}-first"))  # kernels are compiled
            since = time.monotonic()
            wanted[name] = run(name, fresh(f"{name}-plain"))
            seconds[name] = time.monotonic() - since
        while kills.total() < chosen.count and n_rounds < chosen.count:
            name = list(COMMANDS)[n_rounds % len(COMMANDS)]
            n_rounds += 1
            folder = fresh(name)
            try:
                for _ in range(KILLS_PER_ROUND):
                    if kill(start(name, folder), folder, choose, seconds[name]):
                        kills[name] += 1
                        check_whole(folder)
                if run(name, folder) != wanted[name]:
                    raise ValueError(f"{name} gives another result than without kills")
                check_whole(folder)
            except Exception as error:  # damage shows in many ways
                findings.append(error)
                print(f"finding in round {n_rounds} of {name}: {error!r}", flush=True)
    counts = ", ".join(f"{count} of {name}" for name, count in kills.items())
    taken = time.monotonic() - begin
    print(
        f"{kills.total()} kills in {n_rounds} rounds in {taken:.0f} s: {counts}; "
        f"{len(findings)} findings"
    )
    return 1 if findings or kills.total() < chosen.count else 0


if __name__ == "__main__":
    raise SystemExit(main())
