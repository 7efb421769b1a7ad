"""Requests that reach the ranking endpoints of `localrank serve`, most of them wrong in some way.

Run with `python benchmarks/fuzz_service.py`: 20,000 requests, every other one an Arrow table. Each
has the shape of a right one: a list or a batch of features, or words, for a linear, a local or a
text model. Up to three changes make most of them wrong: other values and types, features that are
missing, new or in another order, ids of every kind, damaged bytes. It ends with exit status 1 at
the first answer that is neither a ranking nor a refusal that blames the request, at the first right
request whose scores differ from those of `predict`, and if a worker dies or memory grows. Seed and
number make a request again: `--first 1234 --count 1`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from measuring import options, sized
from pyarrow import ipc
from service import Service, serving

from localrank._base.arrays import Floats
from localrank.data import RankingDataset, make_queries
from localrank.persistence import load
from localrank.rankers import RankSVM
from localrank.recipes import local_rank
from localrank.serving._messages import ARROW, JSON
from localrank.text import FeatureExtractor, TextRanker, load_example

N_FEATURES = 6
NAMES = [f"feature_{number}" for number in range(N_FEATURES)]
# A ranking, or a refusal that blames the request.
EXPECTED = {200, 400, 406, 413, 415, 422}
# Memory is read after this many requests. It may grow by so many megabytes after the first tenth.
EVERY, GROWTH = 500, 60
ODD_VALUES: list[Any] = [
    *(None, True, "1", "", [], {}, [1.0], 0, -1, 2**63, 10**30),
    *(-0.0, 5e-324, 1e-300, 1e99, 1e100, 1.1e100, 1e308, -1e308),
]
ODD_IDS: list[Any] = [
    *("", "é文\U0001f600", "\0", "a" * 5000, 0, -1, 2**53 + 1, 2**64, 1.5, None, True, [])
]
ODD_COLUMNS: list[Callable[[int], pa.Array]] = [
    lambda n: pa.nulls(n),
    lambda n: pa.array(["1"] * n),
    lambda n: pa.array([True] * n),
    lambda n: pa.array([None, *[1.0] * (n - 1)], "double"),
    lambda n: pa.array([np.nan] * n),
    lambda n: pa.array([np.inf] * n),
    lambda n: pa.array([1e300] * n),
    lambda n: pa.array(range(n), "uint64"),
    lambda n: pa.array(range(n), "int8"),
    lambda n: pa.array(np.ones(n, np.float16)),
    lambda n: pa.array([1.0] * n).dictionary_encode(),
    lambda n: pa.array([[1.0]] * n),
    lambda n: pa.array([2**63 - 1] * n),
]
ODD_WORDS = ["", "\0", "é文字", "x" * 3000, "don't", "oil " * 500, " ".join(map(str, range(3000)))]

# From a model to the scores that it should give, list by list.
Expected = Callable[[Any], list[dict[int, float]]]


@dataclass
class Case:
    """A request.

    Attributes
    ----------
    path, kind : str
        The path with its options, and the format of the body.
    body : bytes
    model : str
    expected : callable or None
        The scores by index of each list that the model should give. None: the request was changed.
    """

    path: str
    kind: str
    body: bytes
    model: str
    expected: Expected | None


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--count", type=int, default=sized(20_000, 200), help="number of requests")
    parser.add_argument("--first", type=int, default=0, help="number of the first request")
    parser.add_argument("--seconds", type=float, default=600, help="end after this time")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first, *more = paths = _models(Path(folder))
        models = {path.stem: load(path) for path in paths}
        # A busy machine must not turn answers into time-outs.
        patient = ["--timeout", "60", "--max-documents", "1000"]
        with serving(first, *map(str, more), *patient, apart=False) as service:
            return run(service, models, given)


def _models(folder: Path) -> list[Path]:
    """Files of a linear model, a local one, and one that takes words."""
    dataset, _ = make_queries(80, n_features=N_FEATURES, random_state=0)
    named = dataset.with_features(dataset.features, NAMES)
    example = load_example()
    texts = TextRanker(FeatureExtractor(["title", "body"]), RankSVM())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        texts.fit(example.queries, example.qrels, example.corpus)
    models = {"linear": RankSVM().fit(named), "local": local_rank(3).fit(named), "words": texts}
    for name, model in models.items():
        model.save(folder / f"{name}.localrank")
    return [folder / f"{name}.localrank" for name in models]


def run(service: Service, models: dict[str, Any], given: argparse.Namespace) -> int:
    """Send the requests, and print what became of them. Returns the exit status."""
    statuses: Counter[int] = Counter()
    memory = [service.memory()]
    workers = service.workers()
    n_arrow = n_right = 0
    problem = ""
    began = time.perf_counter()
    connection = HTTPConnection("127.0.0.1", service.port, timeout=90)
    for number in range(given.first, given.first + given.count):
        if problem or time.perf_counter() > began + given.seconds:
            break
        case = made(random.Random(f"{given.seed} {number}"), arrow=number % 2 == 1)
        status = 0
        try:
            connection.request("POST", case.path, case.body, {"Content-Type": case.kind})
            answer = connection.getresponse()
            status, content = answer.status, answer.read()
            problem = fault(case, status, content, answer.headers.get("content-type", ""), models)
        except (OSError, HTTPException) as error:
            problem = f"no answer: {error!r}"
        statuses[status] += 1
        n_arrow += case.kind == ARROW
        n_right += case.expected is not None
        if service.workers() != workers:
            problem = problem or "a worker died"
        if statuses.total() % EVERY == 0:
            memory.append(service.memory())
            if memory[-1] > memory[-(-len(memory) // 10)] + GROWTH:
                problem = problem or f"memory, MB: {memory}"
        if problem:
            print(f"request {number} of seed {given.seed}, {case.path}: {problem}")
            print(case.body[:2000])
    connection.close()
    if b"ERROR" in (log := service.log.read_bytes()):
        problem = "an error was logged"
        print(log.decode())
    told = ", ".join(f"{count:,} x {status}" for status, count in sorted(statuses.items()))
    print(
        f"{statuses.total():,} requests in {time.perf_counter() - began:.0f} s, {n_arrow:,} of "
        f"them Arrow: {told}; {n_right:,} were right and got the scores of predict; memory "
        f"{memory[0]:.0f} MB at first, {memory[-1]:.0f} MB at the end; "
        f"{'a fault' if problem else 'no fault'}."
    )
    return int(bool(problem))


def fault(case: Case, status: int, content: bytes, kind: str, models: dict[str, Any]) -> str:
    """What is wrong with an answer. An empty text: nothing."""
    if status not in EXPECTED or (case.expected is not None and status != 200):
        return f"status {status}: {content[:300]!r}"
    if status != 200:
        return "" if json.loads(content)["error"] else "a refusal without a reason"
    lists = _read(content, kind, batch="/batch" in case.path)
    for ranking in lists:
        scores = [score for _, score in ranking]
        if not np.all(np.isfinite(scores)) or scores != sorted(scores, reverse=True):
            return f"not in the order of the scores: {ranking}"
        if len(dict(ranking)) != len(ranking):
            return f"a document twice: {ranking}"
    if case.expected is not None:
        expected = case.expected(models[case.model])
        if [dict(ranking) for ranking in lists] != expected:
            return f"answered {lists}, but predict gives {expected}"
    return ""


def _read(content: bytes, kind: str, *, batch: bool) -> list[list[tuple[int, float]]]:
    """The indices and scores of each list."""
    if kind == ARROW:
        lists: list[list[tuple[int, float]]] = []
        for row in ipc.open_stream(content).read_all().to_pylist():
            if row["rank"] == 1:
                lists.append([])
            lists[-1].append((row["index"], row["score"]))
        return lists
    answer = json.loads(content)
    return [
        [(place["index"], place["score"]) for place in one["ranking"]]
        for one in (answer["lists"] if batch else [answer])
    ]


def made(draw: random.Random, *, arrow: bool) -> Case:
    """A request. About a third are right."""
    n_changes = draw.choice([0, 0, 1, 1, 2, 3])
    if not arrow and draw.random() < 0.2:
        return _of_words(draw, n_changes)
    name = draw.choice([None, "linear", "local"])
    batch = draw.random() < 0.4
    sizes = [draw.randint(1, 12) for _ in range(draw.randint(1, 4) if batch else 1)]
    matrix = np.random.default_rng(draw.getrandbits(32)).normal(size=(sum(sizes), N_FEATURES))
    if arrow and draw.random() < 0.3:
        matrix = matrix.astype(np.float32)
    body = (_table if arrow else _document)(draw, matrix, sizes, batch, n_changes)
    path = ("/v1/" if name is None else f"/v1/models/{name}/") + ("batch" if batch else "rank")
    expected: Expected | None = None
    if n_changes == 0:
        expected = partial(_predicted, matrix, sizes)
    elif draw.random() < 0.3:
        path += draw.choice(["?top=1", "?top=3", "?explain=false", "?explain=true&top=100"])
    return Case(path, ARROW if arrow else JSON, body, name or "linear", expected)


def _predicted(matrix: Floats, sizes: list[int], ranker: Any) -> list[dict[int, float]]:
    qid = np.repeat(np.arange(len(sizes)), sizes)
    scores = ranker.predict(RankingDataset.from_arrays(matrix, qid=qid, feature_names=NAMES))
    bounds = np.cumsum([0, *sizes])
    return [dict(enumerate(scores[begin:end].tolist())) for begin, end in pairwise(bounds)]


def _document(
    draw: random.Random, matrix: Floats, sizes: list[int], batch: bool, n_changes: int
) -> bytes:
    """The body of a request in JSON."""
    rows, lists = iter(matrix.tolist()), []
    by_name = draw.random() < 0.5
    for size in sizes:
        documents: list[dict[str, Any]] = []
        for _ in range(size):
            row = next(rows)
            named = list(zip(NAMES, row, strict=True))
            draw.shuffle(named)
            documents.append({"features": dict(named) if by_name else row})
            if draw.random() < 0.5:
                documents[-1]["id"] = draw.choice(["a", 7, "é"])
        one: dict[str, Any] = {"documents": documents}
        lists.append(one)
        if draw.random() < 0.3:
            one["query"] = draw.choice(["red lamp", 5])
    content: Any = {"lists": lists} if batch else lists[0]
    for _ in range(n_changes):
        _change(draw, draw.choice(lists))
    body = json.dumps(content, ensure_ascii=draw.random() < 0.5).encode()
    return _damaged(draw, body) if n_changes and draw.random() < 0.2 else body


def _change(draw: random.Random, one: dict[str, Any]) -> None:
    """Change a list of documents. It may stay right."""
    if not isinstance(one["documents"], list) or not all(
        isinstance(document, dict) for document in one["documents"] or [None]
    ):
        return
    document = draw.choice(one["documents"])
    features = document.get("features")
    what = draw.randrange(8)
    if what == 0 and isinstance(features, dict):
        features.pop(draw.choice(NAMES), None)
    elif what == 1 and isinstance(features, dict):
        features[draw.choice(["feature_6", "", "é", *NAMES])] = draw.choice(ODD_VALUES)
    elif what <= 2 and isinstance(features, list) and features:
        features[draw.randrange(len(features))] = draw.choice(ODD_VALUES)
    elif what == 3:
        document[draw.choice(["id", "features", "label"])] = draw.choice(ODD_IDS + ODD_VALUES)
    elif what == 4:
        one["query"] = draw.choice(ODD_IDS)
    elif what == 5:
        names = draw.sample(NAMES, N_FEATURES)
        one["feature_names"] = draw.choice([names, names[1:], [*names, "x"], names[:1] * 6, []])
    elif what == 6 and len(one["documents"]) < 100:
        one["documents"] = one["documents"] * draw.choice([0, 2, 200])
    else:
        one[draw.choice(["documents", "depth", "lists"])] = draw.choice(ODD_VALUES)


def _table(
    draw: random.Random, matrix: Floats, sizes: list[int], batch: bool, n_changes: int
) -> bytes:
    """The body of a request as an Arrow stream."""
    n = len(matrix)
    columns: dict[str, Any] = dict(zip(NAMES, map(pa.array, matrix.T.copy()), strict=True))
    if batch:
        columns["qid"] = pa.array(np.repeat(np.arange(len(sizes)), sizes))
    if draw.random() < 0.5:
        columns["id"] = pa.array([f"document-{number}" for number in range(n)])
    names = draw.sample(list(columns), len(columns))
    options: dict[str, Any] = {}
    for _ in range(n_changes):
        what = draw.randrange(6)
        if what <= 1:
            columns[draw.choice(names)] = draw.choice(ODD_COLUMNS)(n)
        elif what == 2:
            names.remove(draw.choice(names))
        elif what == 3:
            columns["x"] = draw.choice(ODD_COLUMNS)(n)
            names.append(draw.choice(["x", *columns]))
        elif what == 4 and "qid" in columns:
            columns["qid"] = pa.array(draw.choices(["a", "b", ""], k=n))
        elif what == 5:
            options["compression"] = draw.choice([None, None, "lz4", "zstd"])
    table = pa.Table.from_arrays([columns[name] for name in names], names)
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema, options=ipc.IpcWriteOptions(**options)) as stream:
        stream.write_table(table, max_chunksize=draw.choice([None, 1, 3]))
    body = bytes(sink.getvalue())
    return _damaged(draw, body) if n_changes and draw.random() < 0.3 else body


def _of_words(draw: random.Random, n_changes: int) -> Case:
    """A query of words, for documents of the index or of the request."""
    words = " ".join(draw.choices(["oil", "bicycle", "chain", "rain", "the", "bread"], k=3))
    content: dict[str, Any] = {"query": words}
    if n_changes == 0:
        depth = content["depth"] = draw.randint(1, 30)
        expected: Expected | None = partial(_ranked, words, depth)
    else:
        expected = None
        content["documents"] = [
            {"id": draw.choice(ODD_IDS), "title": draw.choice(ODD_WORDS), "body": words}
            for _ in range(draw.randint(0, 3))
        ]
        key = draw.choice(["query", "documents", "depth", "title", "body"])
        values = ODD_WORDS if draw.random() < 0.5 else ODD_VALUES
        draw.choice([content, *content["documents"]])[key] = draw.choice(values)
    body = json.dumps(content).encode()
    return Case("/v1/models/words/rank", JSON, body, "words", expected)


def _ranked(words: str, depth: int, model: Any) -> list[dict[int, float]]:
    dataset, _ = model.list_of(words, None, depth=depth)
    if dataset is None:
        return [{}]
    return [dict(enumerate(model.ranker_.predict(dataset).tolist()))]


def _damaged(draw: random.Random, body: bytes) -> bytes:
    """The body with some bytes changed, or without its end."""
    changed = bytearray(body)
    for _ in range(draw.choice([0, 1, 1, 2, 8])):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed[: draw.choice([len(changed), len(changed), draw.randrange(len(changed))])])


if __name__ == "__main__":
    sys.exit(main())
