"""Damaged and crafted extractors, text models and folders of an index: what holds, what does not.

    python tests/fuzz_texts.py --count 30000

An extractor, a text model and an index in a folder are made of a few texts. Then files are made of
these: some with damaged bytes, most with all digests right, so that only the checks behind them can
refuse a file. Each is loaded and, where that succeeds, finds candidates, computes features and
ranks, in a child process with limits of time and memory. A finding is a signal, a process that does
not end, an attempt to execute or connect, or an exception that is not the one promised:

- loading raises a ValueError that names the path;
- what was loaded gives numbers that are finite, and features of the right shape, or a ValueError.

File `i` of a seed is always the same file. The exit code is 1 if there were findings.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

import localrank
from localrank.rankers import RankSVM
from localrank.text import FeatureExtractor, TextRanker, load_extractor
from localrank.text._index_folder import EXTRACTOR_FILE

# Files that one child reads, seconds that it has for each, and bytes that it may allocate.
BATCH, SECONDS, MEMORY = 1000, 20, 1 << 30
FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "subprocess.Popen",
    "socket.connect",
    "pickle.find_class",
)
VALUES: tuple[Any, ...] = (
    *(-1, 0, 1, 2, 3, 255, 2**31 - 1, 2**31, 2**53, 2**62, 2**63 - 1, 10**30, -(2**63)),
    *(0.5, -0.5, 1e-320, 1.7e308, -1.7e308, "", "w1", "letor", "whole", "english", None, True),
    *([], {}, [[]], {"tuple": []}, {"number": "nan"}, {"number": "inf"}, {"texts": ["w1", "w1"]}),
)
QUERIES = {"a": "w1 w2 w3", "b": "nothing", "c": "w1 w1 W5 w9"}
DOCUMENTS = [{"title": "w1", "body": "w2 w2 new", "clicks": 2}, {"body": ""}]
LINES = ("head", "digest", "manifest", "state", "arrays")

Folder = dict[str, bytes]


def make_seeds(folder: Path) -> dict[str, Folder]:
    """The files of an extractor, a text model and an index, by name."""
    rng = np.random.default_rng(0)
    corpus = [
        {
            "id": f"d{number}",
            "title": " ".join(f"w{n}" for n in rng.zipf(1.7, 3) % 40),
            "body": " ".join(f"w{n}" for n in rng.zipf(1.5, 12) % 40),
            "clicks": float(number),
        }
        for number in range(30)
    ]
    extractor = FeatureExtractor(["title", "body"], features="all", columns=["clicks"])
    extractor.fit(corpus).save(folder / "extractor")
    qrels = {"a": {"d1": 1, "d2": 2}, "c": {"d3": 1}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        TextRanker(extractor, RankSVM()).fit(QUERIES, qrels).save(folder / "model")
    extractor.fit(corpus, folder=folder / "index")
    return {
        "extractor": {"extractor": (folder / "extractor").read_bytes()},
        "model": {"model": (folder / "model").read_bytes()},
        "index": {path.name: path.read_bytes() for path in sorted((folder / "index").iterdir())},
    }


def forged(seeds: dict[str, Folder], seed: int, number: int) -> tuple[str, str, Folder]:
    """The kind of file number `i`, what was done, and the files that it changes."""
    rng = random.Random(f"{seed}/{number}")
    kind = rng.choices(("extractor", "model", "index"), (35, 20, 45))[0]
    files = seeds[kind]
    main = EXTRACTOR_FILE if kind == "index" else kind
    arrays = [name for name in files if name.endswith(".npy")]
    way = rng.choices(("damaged", "crafted", "array"), (15, 45, 40))[0]
    if way == "damaged":
        name = rng.choice([main, *arrays])
        return kind, f"damaged {name}", {name: damaged(files[name], rng)}
    if way == "crafted":
        return kind, "crafted", {main: crafted(files[main], rng)}
    if not arrays:
        parts = split(files[main])
        parts["arrays"] = with_other_values(parts["arrays"], rng)
        return kind, "other values", {main: joined(parts)}
    # Another array, and its digest in the file that names it.
    name = rng.choice(arrays)
    header, content = files[name][:128], files[name][128:]
    other = with_other_values(content, rng)
    parts = split(files[main])
    digest, new = (hashlib.sha256(part).hexdigest().encode() for part in (content, other))
    parts["state"] = parts["state"].replace(digest, new)
    return kind, f"other values in {name}", {name: header + other, main: joined(parts)}


def split(content: bytes) -> dict[str, bytes]:
    return dict(zip(LINES, content.split(b"\n", 4), strict=True))


def joined(parts: dict[str, bytes]) -> bytes:
    """A file whose digest is right."""
    head = parts["head"] + b"\n"
    body = parts["manifest"] + b"\n" + parts["state"] + b"\n" + parts["arrays"]
    return head + hashlib.sha256(head + body).hexdigest().encode() + b" \n" + body


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, left out, doubled or cut off."""
    result = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(max(len(result), 1))
        way = rng.randrange(4)
        if way == 0 and result:
            result[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            del result[at : at + rng.choice((1, 8, 64))]
        elif way == 2:
            result[at:at] = result[at : at + rng.choice((1, 8, 64))]
        else:
            result = result[:at]
    return bytes(result)


def crafted(content: bytes, rng: random.Random) -> bytes:
    """Other values in the state of a file, or damage in one of its parts. Its digest is right."""
    parts = split(content)
    if rng.random() < 0.15:
        name = rng.choice(("manifest", "state", "arrays"))
        return joined(parts | {name: damaged(parts[name], rng)})
    state = json.loads(parts["state"])
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        places = [(state, key) for key in state]
        for holder, key in places:  # it grows
            value = holder[key]
            inside = range(len(value)) if isinstance(value, list) else value
            if isinstance(value, dict | list):
                places += [(value, place) for place in inside]
        holder, key = rng.choice(places)
        other, place = rng.choice(places)
        way = rng.randrange(4)
        if way == 0:
            holder[key] = rng.choice(VALUES)
        elif way == 1 and type(holder[key]) in (int, float):
            holder[key] += rng.choice((-1, 1, 2, 100))
        elif way == 2:
            holder[key] = json.loads(json.dumps(other[place]))
        else:
            holder.pop(key)
            if not state:
                break
    return joined(parts | {"state": json.dumps(state).encode()})


def with_other_values(content: bytes, rng: random.Random) -> bytes:
    """Other numbers at some places, as whole numbers of 32 or 64 bits or as floats."""
    result = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5, 30))):
        dtype, values = rng.choice(
            (
                ("<i4", (-1, 0, 1, 2, 29, 30, 31, 39, 40, 2**31 - 1)),
                ("<i8", (-1, 0, 1, 29, 30, 31, 2**31, 2**40, 2**62)),
                ("<f8", (0.0, -1.0, float("nan"), float("inf"), 1e308, 1e-310)),
            )
        )
        value = np.array(rng.choice(values), dtype).tobytes()
        if len(result) >= len(value):
            at = rng.randrange(0, len(result) - len(value) + 1, len(value))
            result[at : at + len(value)] = value
    return bytes(result)


def use(kind: str, path: Path) -> tuple[str, str]:
    """Load a file and work with it: what came of it, and where a finding was raised."""
    try:
        loaded = localrank.load(path) if kind == "model" else load_extractor(path)
    except ValueError as error:
        named = str(path) in str(error)
        return ("refused", "") if named else ("finding", f"no path: {error!r:.300}")
    except MemoryError:
        return "out of memory", ""
    except BaseException:
        return "finding", f"load: {traceback.format_exc()}"
    extractor = loaded.extractor_ if kind == "model" else loaded
    outcome = "works"
    try:
        for work in (
            lambda: extractor.retrieve(QUERIES).scores,
            lambda: _features(extractor),
            lambda: _given(extractor),
            lambda: loaded.rank("w1 w2").scores if kind == "model" else np.zeros(1),
        ):
            try:
                numbers = work()
            except ValueError:
                outcome = "works in part"
                continue
            if not np.isfinite(numbers).all():
                return "finding", f"not finite: {numbers!r:.300}"
    except MemoryError:
        return "out of memory", ""
    except BaseException:
        return "finding", f"work: {traceback.format_exc()}"
    return outcome, ""


def _features(extractor: FeatureExtractor) -> Any:
    features = extractor.transform(["w1 w2"], extractor.retrieve(["w1 w2"])).features
    n_columns = len(extractor.columns)
    return np.asarray(features)[:, : features.shape[1] - n_columns]


def _given(extractor: FeatureExtractor) -> Any:
    table = extractor.features_of("w1 w2", DOCUMENTS)
    assert table.shape == (2, len(extractor.feature_names))
    return table[:, : table.shape[1] - len(extractor.columns)]


class Executed(BaseException):
    """A file made something happen that no file may."""


def _in_numba() -> bool:
    """Whether numba asks: it keeps compiled kernels in files of its own."""
    frame = sys._getframe()
    while frame.f_back is not None:
        if frame.f_globals.get("__name__", "").startswith("numba."):
            return True
        frame = frame.f_back
    return False


def read_batch(seeds: dict[str, Folder], seed: int, numbers: range, root: Path, to: int) -> None:
    """What a child does: make, load and use files, and tell of each."""
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    for folder, files in seeds.items():
        (root / folder).mkdir()
        for name, content in files.items():
            (root / folder / name).write_bytes(content)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FORBIDDEN and not _in_numba():
            raise Executed(f"{event} {arguments!r:.300}")

    sys.addaudithook(hook)
    for number in numbers:
        kind, done, changed = forged(seeds, seed, number)
        folder = root / kind
        for name, content in changed.items():
            (folder / name).unlink()  # arrays of the file before may still be mapped
            (folder / name).write_bytes(content)
        signal.alarm(SECONDS)
        outcome, where = use(kind, folder if kind == "index" else folder / kind)
        signal.alarm(0)
        os.write(to, json.dumps([number, outcome, kind, done, where]).encode() + b"\n")
        for name in changed:
            (folder / name).unlink()
            (folder / name).write_bytes(seeds[kind][name])


def run(seeds: dict[str, Folder], seed: int, numbers: range) -> collections.Counter[str]:
    """Read the files in children, one after another. Prints findings, each place once."""
    outcomes: collections.Counter[str] = collections.Counter()
    shown = set()
    at = numbers.start
    while at < numbers.stop:
        memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
        with tempfile.TemporaryDirectory(dir=memory) as root:
            receiver, sender = os.pipe()
            child = os.fork()
            if not child:
                os.close(receiver)
                last = min(at + BATCH, numbers.stop)
                read_batch(seeds, seed, range(at, last), Path(root), sender)
                os._exit(0)
            os.close(sender)
            with open(receiver) as lines:
                results = [json.loads(line) for line in lines]
            status = os.waitpid(child, 0)[1]
        if results:
            at = results[-1][0] + 1
        if status:
            kind, done, _ = forged(seeds, seed, at)
            results.append([at, "finding", kind, done, f"ended with status {status}"])
            at += 1
        for number, outcome, kind, done, where in results:
            outcomes[outcome] += 1
            place = "".join(where.strip().splitlines()[-3:])[-300:]
            if outcome == "finding" and place not in shown:
                shown.add(place)
                print(f"finding: file {number}, {kind}, {done}\n{where}", flush=True)
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=30_000, help="number of files")
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        seeds = make_seeds(Path(folder))
        # Kernels are compiled here once, not in every child.
        for kind in seeds:
            outcome, where = use(kind, Path(folder) / kind)
            if outcome != "works":
                raise SystemExit(f"{kind} does not work as it is: {outcome} {where}")
    outcomes = run(seeds, chosen.seed, range(chosen.first, chosen.first + chosen.count))
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.most_common())
    print(
        f"{outcomes.total():,} extractors, text models and indexes (seed {chosen.seed}) in "
        f"{time.monotonic() - begin:.0f} s: {told}; {outcomes['finding']:,} findings"
    )
    return 1 if outcomes["finding"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
