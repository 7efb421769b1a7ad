"""Damaged and crafted model files, loaded and used: what holds, and what does not.

    python tests/fuzz_models.py --count 70000

Every ranker and recipe is trained on
few queries and saved. Then files are made of these: some with damaged bytes, most with the digest
recomputed, so that only the checks behind it can refuse them. Each is loaded and, where that
succeeds, ranks several datasets, extreme ones among them, in a child process with limits of time
and memory. A finding is a signal, a process that does not end, an attempt to execute, connect or
write, or an exception that is not the one promised:

- `load` raises a ValueError that begins with the path;
- `predict` of a model that was loaded gives one finite score per document or a ValueError.

Findings are written to the folder `--findings`; `--replay FILE` shows one again. File `i` of a
seed is always the same file. The exit code is 1 if there were findings.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import multiprocessing
import os
import random
import re
import resource
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

# Children are forked, which other threads would not survive.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import localrank
from localrank import LocalRanker, rankers, recipes, selection
from localrank.data import RankingDataset, make_queries
from localrank.grouping import Agglomerative
from localrank.persistence.files import FORMAT_VERSION, MAGIC
from localrank.rankers import RankSVM
from localrank.registry import declared, make_sample
from localrank.representations import Mean

# Files that one child reads, seconds that it has for each, and bytes that it may allocate.
BATCH, SECONDS, MEMORY = 500, 30.0, 2 << 30
# Events of the interpreter that no model file may cause.
FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.remove",
    "os.rename",
    "subprocess.Popen",
    "socket.connect",
    "socket.bind",
    "pickle.find_class",
    "ctypes.dlopen",
    "shutil.rmtree",
)
NUMBERS = (-1, 0, 1, 2, 7, 255, 2**31 - 1, 2**31, 2**53, 2**62, 2**63 - 1, 2**63, 10**30, -(2**63))
REALS = (0.5, -0.5, 1e-320, 1e140, 1.7e308, -1.7e308, 1e-300)
TEXTS = ("", "nan", "RankSVM", "Trees", "LSH", "__class__", "ndcg@10", "exact", "\ud83d\ude00" * 9)
LITERALS = (
    *(b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e999", b"1e-400", b"-0", b"1E5", b"0x10"),
    *(b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809", b"1" * 40),
    *(
        b"1" * 5000,
        b"1.0",
        b"1e3",
        b'"\\ud800"',
        b'"\\udc00\\ud800"',
        b'"\xed\xa0\x80"',
        b'"\\u0000"',
    ),
)
NESTS = ((b"[", b"]"), (b'{"tuple": [', b"]}"), (b'{"a": ', b"}"))
DTYPES = ("<f8", "<f4", "<i8", "<i4", "<u8", "<u4", "|u1", "|b1", "|O", "<U4", ">f8", "<c16")


@dataclass(frozen=True)
class Seed:
    """A file to make others of."""

    name: str
    manifest: bytes
    state: bytes
    arrays: bytes


def make_seeds(names: list[str]) -> list[Seed]:
    """Trained models: every ranker and recipe, and selectors and classifiers beside them."""
    known = {**declared(rankers), **declared(recipes)}
    models = {name: make_sample(part) for name, part in known.items()}
    models["local-rank-lsh"] = recipes.local_rank(3, ranker=RankSVM(), index="lsh")
    for classifier in (
        RandomForestClassifier(3, max_depth=3, random_state=0),
        GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0),
        KNeighborsClassifier(3),
        GaussianNB(),
        LogisticRegression(),
    ):
        adaptive = recipes.adaptive_training(2, ranker=RankSVM(), select="fusion")
        models[type(classifier).__name__] = adaptive.set_params(selector__classifier=classifier)
    for name, part in declared(selection).items():
        if name != "clairvoyant":  # it chooses by labels, and is not saved
            parts = Mean(), Agglomerative(2), RankSVM(), make_sample(part)
            models[f"selector-{name}"] = LocalRanker(*parts)
    if unknown := set(names) - models.keys():
        raise SystemExit(f"There are no models {sorted(unknown)}. Known: {sorted(models)}")
    dataset, _ = make_queries(24, n_documents=(3, 9), n_features=5, n_types=2, random_state=1)
    seeds = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names or models:
            path = Path(folder) / "model"
            models[name].fit(dataset).save(path)
            _, _, manifest, state, arrays = path.read_bytes().split(b"\n", 4)
            seeds.append(Seed(name, manifest, state, arrays))
    return seeds


def written(manifest: bytes, state: bytes, arrays: bytes) -> bytes:
    """A file whose digest is right."""
    head = MAGIC + str(FORMAT_VERSION).encode() + b"\n"
    body = manifest + b"\n" + state + b"\n" + arrays
    return head + hashlib.sha256(head + body).hexdigest().encode() + b" \n" + body


class Forger:
    """Makes file number `i` of a seed."""

    def __init__(self, seeds: list[Seed], seed: int) -> None:
        self._seeds = seeds
        self._seed = seed

    def file(self, number: int) -> tuple[str, bytes]:
        """What was done, and the file."""
        rng = random.Random(f"{self._seed}/{number}")
        origin = self._seeds[number % len(self._seeds)]
        what = rng.choices(("damaged", "text", "crafted"), (8, 7, 85))[0]
        if what == "damaged":
            content = written(origin.manifest, origin.state, origin.arrays)
            return f"{origin.name}: damaged bytes", damaged(content, rng)
        if what == "text" and rng.random() < 0.05:
            depth, (begin, end) = rng.choice((200, 5_000, 200_000)), rng.choice(NESTS)
            state = begin * depth + origin.state + end * depth
            return f"{origin.name}: {depth} levels", written(origin.manifest, state, origin.arrays)
        if what == "text" and rng.random() < 0.3:
            said, state = misspelt(origin.state, rng)
            return f"{origin.name}: {said}", written(origin.manifest, state, origin.arrays)
        if what == "text":
            place = rng.choice(("manifest", "state", "state", "arrays"))
            parts = {name: getattr(origin, name) for name in ("manifest", "state", "arrays")}
            parts[place] = damaged(parts[place], rng)
            return f"{origin.name}: damaged {place}, digest right", written(**parts)
        state, arrays = json.loads(origin.state), bytearray(origin.arrays)
        done = []
        for _ in range(rng.choices((1, 2, 3, 6), (70, 15, 10, 5))[0]):
            try:
                if rng.random() < 0.35 and arrays:
                    done.append(change_values(state, arrays, rng))
                else:
                    done.append(change(state, rng, self._seeds))
            except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
                done.append("nothing: an earlier change prevents it")
        text = json.dumps(state).encode()
        return f"{origin.name}: {'; '.join(done)}", written(origin.manifest, text, bytes(arrays))


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, left out, doubled or moved."""
    result = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(max(len(result), 1))
        end = at + rng.choice((1, 2, 8, 64))
        way = rng.randrange(5)
        if way == 0 and result:
            result[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            del result[at:end]
        elif way == 2:
            result[at:at] = result[at:end]
        elif way == 3:
            result[at:end] = rng.randbytes(min(end, len(result)) - at)
        else:
            result = result[:at] if rng.random() < 0.3 else result[at:] + result[:at]
    return bytes(result)


def misspelt(state: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A number, a text or a name written as `json.dumps` writes none."""
    literal = rng.choice(LITERALS)
    spots = list(re.finditer(rb'(?<=[:\[ ])-?\d[\d.e+-]*|"[^"\\]*"(?=: )', state))
    if not spots:
        return "no number", state
    spot = rng.choice(spots)
    if spot[0].startswith(b'"'):
        twice = spot[0] + b": " + literal + b", " + spot[0]
        return "a name twice", state[: spot.start()] + twice + state[spot.end() :]
    said = literal[:20].decode("ascii", "replace")
    return f"{said} for a number", state[: spot.start()] + literal + state[spot.end() :]


Place = tuple[Any, Any]


def places(value: Any) -> Iterator[Place]:
    """Every value inside, as what holds it and its key there."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = holder.keys() if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            yield holder, key
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])


def array_places(state: Any) -> list[Place]:
    return [(holder, key) for holder, key in places(state) if key == "array"]


def change(state: Any, rng: random.Random, seeds: list[Seed]) -> str:
    """Change one thing of the state, and tell which."""
    everything = list(places(state))
    holder, key = rng.choice(everything)
    way = rng.choice(
        ("value", "value", "nudge", "remove", "double", "swap", "copy", "array", "array", "nest")
    )
    if way == "array":
        entries = array_places(state)
        if entries:
            holder, key = rng.choice(entries)
            holder[key] = changed_array(holder[key], entries, rng)
    elif way == "value":
        holder[key] = any_value(rng)
    elif way == "nudge":
        numbers = [
            (h, k) for h, k in everything if type(h[k]) in (int, float) and isinstance(h, dict)
        ]
        if numbers:
            holder, key = rng.choice(numbers)
            old = holder[key]
            holder[key] = rng.choice((old + 1, old - 1, -old, old * 2, float(old), str(old), [old]))
    elif way == "remove":
        del holder[key]
    elif way == "double":
        if isinstance(holder, list):
            holder.insert(key, holder[key])
        else:
            holder[rng.choice(TEXTS) if rng.random() < 0.5 else f"{key}_"] = holder[key]
    elif way == "swap":
        other, place = rng.choice(everything)
        holder[key], other[place] = other[place], holder[key]
        if _circular(state):
            holder[key], other[place] = other[place], holder[key]
    elif way == "copy":
        source = json.loads(rng.choice(seeds).state) if rng.random() < 0.5 else state
        other, place = rng.choice(list(places(source)))
        holder[key] = json.loads(json.dumps(other[place]))
    else:
        for _ in range(rng.choice((1, 3, 50, 150))):
            holder[key] = rng.choice(
                ([holder[key]], {"tuple": [holder[key]]}, {"dict": [["a", holder[key]]]})
            )
    return f"{way} at {str(key)[:40]}"


def _circular(state: Any) -> bool:
    try:
        json.dumps(state)
    except (ValueError, RecursionError):
        return True
    return False


def changed_array(array: Any, others: list[Place], rng: random.Random) -> Any:
    """An array's type, shape or place changed, or those of another array."""
    try:
        dtype, shape, at = array
        shape = list(shape)
    except (TypeError, ValueError):
        return any_value(rng)
    way = rng.randrange(8)
    axis = rng.randrange(len(shape)) if shape else 0
    if way == 0:
        dtype = rng.choice(DTYPES)
    elif way == 1 and shape:
        shape[axis] = rng.choice((*NUMBERS, shape[axis] + 1, shape[axis] - 1) if shape else (1,))
    elif way == 2:
        rng.shuffle(shape)
    elif way == 3:
        shape = [*shape, 1] if rng.random() < 0.5 else shape[1:]
    elif way == 4:
        at = rng.choice((*NUMBERS, *range(0, 4096, 8)))
    elif way == 5 and all(type(length) is int for length in shape):
        shape = [int(np.prod(shape, dtype=object))]
    elif way == 6:
        holder, key = rng.choice(others)
        return json.loads(json.dumps(holder[key]))
    else:
        # Of another type with the same bytes, which the checks of shape cannot see.
        dtype = {"<f8": "<i8", "<i8": "<f8", "<f4": "<i4", "<i4": "<f4"}.get(str(dtype), "<f8")
    return [dtype, shape, at]


def any_value(rng: random.Random) -> Any:
    way = rng.randrange(10)
    if way < 3:
        return rng.choice(NUMBERS)
    if way == 3:
        return rng.choice(REALS)
    if way == 4:
        return {"number": rng.choice(("nan", "inf", "-inf", "x"))}
    if way == 5:
        return rng.choice(TEXTS)
    if way == 6:
        return {"array": [rng.choice(DTYPES), [rng.choice((0, 1, 3, 5))] * rng.randrange(4), 0]}
    if way == 7:
        return {"texts": [rng.choice(TEXTS) for _ in range(rng.choice((0, 1, 5)))]}
    if way == 8:
        return {"class": rng.choice(TEXTS), "parameters": {}, "fitted": {}}
    return rng.choice((None, True, False, [], {}, {"tuple": []}, {"dict": []}, [[]], {"a": 1}))


def change_values(state: Any, arrays: bytearray, rng: random.Random) -> str:
    """Other numbers in the bytes of one array."""
    entries = array_places(state)
    if not entries:
        return "no array"
    holder, key = rng.choice(entries)
    try:
        dtype, shape, at = holder[key]
        width = np.dtype(dtype).itemsize
        count = int(np.prod(shape, dtype=object))
        known = dtype[0] in "<|" and 0 < count < 10**6 and at + count * width <= len(arrays)
    except (TypeError, ValueError, LookupError):
        known = False
    if not known:
        return "no such array"
    kind = {"<f8": "<d", "<f4": "<f", "<i8": "<q", "<i4": "<i", "<u8": "<Q", "<u4": "<I"}
    values: tuple[Any, ...] = (0, 1, 2, 255, count - 1, count, count + 1)
    if dtype in ("<f8", "<f4"):
        large = 3e38 if dtype == "<f4" else 1.7e308
        values = (0.0, -0.0, 1.0, float("nan"), float("inf"), -float("inf"), large, -large, 1e-310)
    elif dtype in ("<i8", "<i4"):
        most = 2 ** (8 * width - 1)
        values = (*values, -1, -2, -count, most - 1, -most)
    which = rng.choice((1, 1, 1, 2, count))
    value = rng.choice(values)
    for _ in range(which):
        place = at + width * rng.randrange(count)
        if dtype in kind and rng.random() < 0.9:
            arrays[place : place + width] = struct.pack(kind[dtype], value)
        else:
            arrays[place + rng.randrange(width)] ^= 1 << rng.randrange(8)
    return f"{which} of {count} values of {dtype} at {at} become {value}"


def datasets(n_features: int, names: Any) -> Iterator[RankingDataset]:
    """Ordinary and extreme documents."""
    rng = np.random.default_rng(0)
    ordinary = rng.normal(size=(70, n_features))
    few = ordinary[:4]
    holed = np.where(rng.random((9, n_features)) < 0.5, np.nan, ordinary[:9])
    for features in (
        ordinary,
        few.astype(np.float32),
        few[:1],
        np.zeros((3, n_features)),
        few * 1e139,
        few * 1e-310,
        np.sign(few) * np.finfo(np.float64).max,
        holed,
    ):
        try:
            yield RankingDataset(
                features,
                None,
                np.array([0, 1, len(features)]) if len(features) > 1 else np.array([0, 1]),
                np.arange(min(len(features), 2)),
                feature_names=names,
            )
        except ValueError:
            continue


class Executed(BaseException):
    """What a model file must not do; no handler of exceptions takes it for an error."""


def use(path: Path) -> tuple[str, str]:
    """Load a file and rank with it: what came of it, and where a finding was raised."""
    try:
        model = localrank.load(path)
    except ValueError as error:
        if str(error).startswith(f"{path}: "):
            return "refused", ""
        return "finding", f"load without the path: {error!r:.300}"
    except MemoryError:
        return "out of memory at load", ""
    except BaseException:
        return "finding", f"load: {traceback.format_exc()}"
    names = getattr(model, "feature_names_in_", None)
    outcome = "served"
    try:
        for dataset in datasets(model.n_features_in_, None if names is None else names.tolist()):
            try:
                scores = model.predict(dataset)
            except ValueError:
                outcome = "served in part"
                continue
            if scores.shape != (dataset.n_documents,) or not np.isfinite(scores).all():
                return "finding", f"predict gives {scores.dtype} of {scores.shape}: {scores!r:.200}"
    except MemoryError:
        return "out of memory at predict", ""
    except BaseException:
        return "finding", f"predict: {traceback.format_exc()}"
    return outcome, ""


def guard(memory: int) -> None:
    """Limit this process, and raise what a file must not do."""
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + memory, size + memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        writes = (
            event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        )
        if (event in FORBIDDEN or writes) and not _in_numba():
            raise Executed(f"{event} {arguments!r:.300}")

    sys.addaudithook(hook)
    warnings.simplefilter("ignore")


def _in_numba() -> bool:
    """Whether numba asks: it keeps compiled kernels in files of its own."""
    frame = sys._getframe()
    while frame.f_back is not None:
        if frame.f_globals.get("__name__", "").startswith("numba."):
            return True
        frame = frame.f_back
    return False


def read_batch(forger: Forger, numbers: range, folder: Path, memory: int, to: Connection) -> None:
    """What a child does: make, load and use files, and tell of each."""
    path = folder / f"{os.getpid()}.localrank"
    handle = os.open(path, os.O_CREAT | os.O_WRONLY)
    guard(memory)
    for number in numbers:
        to.send((number, "begun", ""))
        content = forger.file(number)[1]
        os.ftruncate(handle, 0)
        os.pwrite(handle, content, 0)
        to.send((number, *use(path)))
    to.close()


class Child:
    """A process with a batch of files."""

    def __init__(self, forger: Forger, numbers: range, folder: Path, memory: int) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, other = context.Pipe(duplex=False)
        arguments = (forger, numbers, folder, memory, other)
        self.process = context.Process(target=read_batch, args=arguments)
        self.process.start()
        other.close()
        self.numbers = numbers
        self.at = numbers.start
        self.since = time.monotonic()


class Campaign:
    """Many files, in several processes.

    Attributes
    ----------
    outcomes : Counter
        Number of files by what came of them.
    findings : dict
        By where each was raised: the number of the first file, and what happened.
    """

    def __init__(self, forger: Forger, findings: Path, seconds: float, memory: int) -> None:
        self.forger = forger
        self.folder = findings
        self.seconds = seconds
        self.memory = memory
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.findings: dict[str, tuple[int, str]] = {}

    def run(self, numbers: range, workers: int, until: float) -> None:
        """Read the files of these numbers, as far as time allows."""
        rest = [numbers[i : i + BATCH] for i in range(0, len(numbers), BATCH)]
        rest.reverse()
        children: list[Child] = []
        with tempfile.TemporaryDirectory() as folder:
            while children or (rest and time.monotonic() < until):
                while rest and len(children) < workers and time.monotonic() < until:
                    children.append(Child(self.forger, rest.pop(), Path(folder), self.memory))
                ready = wait([child.connection for child in children], timeout=0.5)
                for child in list(children):
                    left = self._heard(child) if child.connection in ready else self._late(child)
                    if left is None:
                        continue
                    child.process.join()
                    children.remove(child)
                    if len(left):
                        rest.append(left)

    def _heard(self, child: Child) -> range | None:
        """Take what a child says; where it ended, the numbers that it has left."""
        try:
            while child.connection.poll():
                number, outcome, where = child.connection.recv()
                child.since = time.monotonic()
                child.at = number
                if outcome != "begun":
                    self._count(number, outcome, where)
                    child.at = number + 1
        except EOFError:
            child.process.join()
            if child.process.exitcode == 0:
                return range(0)
            self._count(child.at, "finding", f"exit code {child.process.exitcode}")
            return range(child.at + 1, child.numbers.stop)
        return None

    def _late(self, child: Child) -> range | None:
        if time.monotonic() - child.since < self.seconds:
            return None
        child.process.kill()
        self._count(child.at, "finding", f"did not end within {self.seconds:g} s")
        return range(child.at + 1, child.numbers.stop)

    def _count(self, number: int, outcome: str, where: str) -> None:
        self.outcomes[outcome] += 1
        if (total := self.outcomes.total()) % 10_000 == 0:
            print(f"{total:,} files", flush=True)
        if outcome != "finding":
            return
        done, content = self.forger.file(number)
        lines = where.strip().splitlines()
        frames = [line.strip() for line in lines if line.startswith("  File")]
        place = f"{frames[-1] if frames else done.partition(':')[0]} {lines[-1][:40]}"
        if place in self.findings:
            return
        self.findings[place] = (number, done)
        self.folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(place.encode()).hexdigest()[:12]
        (self.folder / f"{name}.localrank").write_bytes(content)
        (self.folder / f"{name}.txt").write_text(f"{number}: {done}\n\n{where}\n")
        print(f"finding {name}: file {number}, {done[:200]}\n  {place}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Load and use damaged and crafted model files.")
    parser.add_argument("--count", type=int, default=20_000, help="number of files")
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="child processes at a time")
    parser.add_argument("--minutes", type=float, default=60.0, help="time for all files")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time for one file")
    parser.add_argument(
        "--memory", type=int, default=MEMORY, help="bytes that a child may allocate"
    )
    parser.add_argument("--methods", default="", help="names of models, with commas between them")
    parser.add_argument("--findings", type=Path, default=Path("findings"), help="folder")
    parser.add_argument("--replay", type=Path, help="load and use this file instead")
    chosen = parser.parse_args()
    if chosen.replay:
        guard(chosen.memory)
        print(*use(chosen.replay))
        return 0
    seeds = make_seeds([name for name in chosen.methods.split(",") if name])
    with tempfile.TemporaryDirectory() as folder:
        # Kernels are compiled here once, not in every child.
        for seed in seeds:
            path = Path(folder) / "model"
            path.write_bytes(written(seed.manifest, seed.state, seed.arrays))
            outcome, where = use(path)
            if outcome in ("finding", "refused"):
                raise SystemExit(f"{seed.name} does not serve as it is: {where or outcome}")
    campaign = Campaign(Forger(seeds, chosen.seed), chosen.findings, chosen.seconds, chosen.memory)
    begin = time.monotonic()
    numbers = range(chosen.first, chosen.first + chosen.count)
    campaign.run(numbers, chosen.workers, begin + 60 * chosen.minutes)
    taken = time.monotonic() - begin
    counts = [f"{count:,} {outcome}" for outcome, count in campaign.outcomes.most_common()]
    print(
        f"{campaign.outcomes.total():,} files of {len(seeds)} models in {taken:.0f} s: "
        f"{', '.join(counts)}; {len(campaign.findings)} findings at different places"
    )
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raise SystemExit(main())
