"""What `localrank serve` stands: lists per second, latencies, and what it costs to be disturbed.

Run with `python benchmarks/serving.py`. It trains `best` (on fold 1 of MQ2007, see measuring.py),
or takes `--model FILE`, starts one worker on a core of its own and asks it from another one, by
lists of 100 documents: as JSON rows, as JSON with feature names, as Arrow, and ten lists at once.
Saturation is what four connections get that ask without a pause. Latencies are those of requests
at random times at a half and at nine tenths of that rate, counted from the time a request is due.
Processor time is that of the server, which other programs disturb less.

    --minutes 10   a mixed load, bad requests among it, and the server's memory; exit status 1 if
                   a request is answered wrongly or lost, or memory grows
    --reloads 100  a model file that is replaced under load: no request may fail
    --kill         one of two workers is killed under load: what it had begun is lost, no more
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from load import LOST, UNSENT, Outcome, closed_loop, open_loop, request, run
from measuring import mq2007_fold, options, row, sized
from pyarrow import ipc
from service import awaited, others, serving

from localrank._base.arrays import Floats
from localrank.data import RankingDataset
from localrank.persistence import load
from localrank.rankers import Ranker
from localrank.recipes import best
from localrank.serving._messages import ARROW, JSON
from localrank.serving._models import Loaded
from localrank.serving._ranking import answer, scored
from localrank.serving._requests import decoded
from localrank.serving.settings import Settings

N_DOCUMENTS, N_LISTS, N_DIFFERENT = 100, 10, 50
N_TREES = sized(300, 3)
# Requests before the clock starts.
WARM_UP = 200
CONNECTIONS = 32
# Megabytes that memory may grow by under a mixed load, after the first tenth.
GROWTH = 30


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--model", type=Path, help="ask this model file instead of a new one")
    parser.add_argument("--seconds", type=float, default=sized(10, 0.2), help="of each measurement")
    parser.add_argument("--minutes", type=float, help="of mixed load")
    parser.add_argument("--share", type=float, default=0.5, help="of saturation, where disturbed")
    parser.add_argument("--reloads", type=int, help="replacements of the model file under load")
    parser.add_argument("--kill", action="store_true", help="kill a worker under load")
    given = parser.parse_args()
    train, rows, source = mq2007_fold()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "best.localrank"
        if given.model:
            shutil.copy(given.model, model)
        else:
            start = time.perf_counter()
            best(N_TREES).fit(_named(train)).save(model)
            print(f"best on {source}: trained in {time.perf_counter() - start:.0f} s")
        bodies = Bodies(load(model), rows.features)
        if given.minutes:
            return mixed(model, bodies, 60 * given.minutes, given.share)
        if given.reloads:
            # Another version of the same features; how good it is does not matter.
            other = best(N_TREES).fit(_named(train.select(range(train.n_queries // 4))))
            reload(model, other, bodies, given.reloads, given.share)
        elif given.kill:
            kill(model, bodies, given.share)
        else:
            speed(model, bodies, given.seconds)
            parts(load(model), bodies)
    return 0


class Bodies:
    """Requests of lists of 100 documents in every format, fifty of each."""

    def __init__(self, ranker: Ranker, rows: Floats) -> None:
        draws = np.random.default_rng(0)
        self.names = [str(name) for name in getattr(ranker, "feature_names_in_", [])]
        rows = rows[:, : ranker.n_features_in_].astype(np.float64)
        self.lists = [
            rows[draws.choice(len(rows), N_DOCUMENTS, replace=False)] for _ in range(N_DIFFERENT)
        ]

    def kinds(self) -> dict[str, list[bytes]]:
        """Requests by what the table calls them."""
        result = {"JSON rows": [request("/v1/rank", self.rows(one)) for one in self.lists]}
        if self.names:
            result["JSON by name"] = [request("/v1/rank", self.by_name(one)) for one in self.lists]
        result["Arrow"] = [request("/v1/rank", self.arrow(one), ARROW) for one in self.lists]
        result[f"{N_LISTS} lists, JSON rows"] = [
            request("/v1/batch", self.batch(self.lists[first : first + N_LISTS]))
            for first in range(N_DIFFERENT - N_LISTS)
        ]
        return result

    def rows(self, matrix: Floats) -> bytes:
        return msgspec.json.encode(_list_of(matrix.tolist()))

    def by_name(self, matrix: Floats) -> bytes:
        rows = matrix.tolist()
        return msgspec.json.encode(
            _list_of([dict(zip(self.names, values, strict=True)) for values in rows])
        )

    def batch(self, matrices: list[Floats]) -> bytes:
        return msgspec.json.encode({"lists": [_list_of(matrix.tolist()) for matrix in matrices]})

    def arrow(self, matrix: Floats) -> bytes:
        names = self.names or [str(column) for column in range(matrix.shape[1])]
        table = pa.table({"id": _ids(len(matrix)), **dict(zip(names, matrix.T, strict=True))})
        sink = pa.BufferOutputStream()
        with ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return bytes(sink.getvalue())


def _list_of(features: list[Any]) -> dict[str, Any]:
    ids = _ids(len(features))
    return {
        "documents": [
            {"id": id_, "features": values} for id_, values in zip(ids, features, strict=True)
        ]
    }


def _ids(n: int) -> list[str]:
    return [f"document-{number}" for number in range(n)]


def _named(dataset: RankingDataset) -> RankingDataset:
    names = [f"feature_{number}" for number in range(dataset.n_features)]
    return RankingDataset.from_arrays(
        dataset.features, dataset.labels, dataset.query_index, feature_names=names
    )


def speed(model: Path, bodies: Bodies, seconds: float) -> None:
    """Saturation and latencies of every format."""
    print(
        "| body | kB | saturation, lists/s | processor ms/list "
        "| p50 at 50 %, ms | p99 | p50 at 90 %, ms | p99 | not 200 | sent late, p99 ms |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    rates: dict[str, float] = {}
    with serving(model) as service:
        busy = others(service)
        for kind, requests in bodies.kinds().items():
            lists = N_LISTS if "lists" in kind else 1
            run(closed_loop(service.port, requests, WARM_UP / 400))
            before = service.processor_seconds()
            most = run(closed_loop(service.port, requests, seconds))
            cost = (service.processor_seconds() - before) / len(most.latencies)
            half, high = (
                run(open_loop(service.port, requests, share * most.rate, seconds))
                for share in (0.5, 0.9)
            )
            print(
                f"| {kind} | {len(requests[0]) / 1e3:.0f} | {lists * most.rate:.0f} "
                f"| {1e3 * cost / lists:.2f} "
                f"| {half.milliseconds(50):.1f} | {half.milliseconds(99):.1f} "
                f"| {high.milliseconds(50):.1f} | {high.milliseconds(99):.1f} "
                f"| {most.n_failed + half.n_failed + high.n_failed} "
                f"| {1e3 * float(np.percentile(half.late, 99)):.2f} |",
                flush=True,
            )
            rates[kind] = lists * most.rate
            claims(kind, rates, 1e3 * cost / lists, half)
        print(f"\nOther programs kept {busy():.0%} of the machine busy meanwhile.")


def claims(kind: str, rates: dict[str, float], cost: float, half: Outcome) -> None:
    """Rows of the table of speed claims."""
    what = f"service, `best`, lists of {N_DOCUMENTS} × 46: {kind}"
    if kind == "JSON rows":
        row(what, rates[kind], "lists/s", aim=1_000)
        row(f"{what}, p99 at half load", half.milliseconds(99), "ms", aim=5)
    elif kind == "Arrow":
        row(
            what,
            rates[kind],
            "lists/s",
            peer="JSON rows",
            theirs=rates["JSON rows"],
            aim=1,
            why="Reading the numbers takes half as long as in JSON; finding the lists and writing "
            "the answer are many small calls of pyarrow, and take three times as long.",
        )
    else:
        row(what, rates[kind], "lists/s")
    row(f"{what}, processor time of a list", cost, "ms")


def parts(ranker: Ranker, bodies: Bodies) -> None:
    """Where the processor time of a list goes, but for HTTP."""
    settings = Settings({"best": Path("best.localrank")}, {})
    model = Loaded("best", ranker, "0" * 12, {}, 0.0)
    forms: dict[str, tuple[str, Callable[[Floats], bytes]]] = {"JSON rows": (JSON, bodies.rows)}
    if bodies.names:
        forms["JSON by name"] = JSON, bodies.by_name
    forms["Arrow"] = ARROW, bodies.arrow
    print("\n| ms, without HTTP | decode | rows | predict | encode |\n|---|---|---|---|---|")
    for kind, (form, body) in forms.items():
        times = []
        for content in [body(one) for one in bodies.lists] * sized(10, 1):
            marks = [time.process_time()]
            asked = decoded(content, form, settings, batch=False)
            marks.append(time.process_time())
            lists = asked.lists(model)
            marks.append(time.process_time())
            scores = scored(model, lists)
            marks.append(time.process_time())
            answer(model, lists, scores, form, batch=False)
            times.append(np.diff([*marks, time.process_time()]))
        told = " | ".join(f"{1e3 * median(column):.2f}" for column in zip(*times, strict=True))
        print(f"| {kind} | {told} |")


def mixed(model: Path, bodies: Bodies, seconds: float, share: float) -> int:
    """All formats, explanations, counters and bad requests at a share of saturation.

    Returns 1 if a request was not answered as it should be, or memory grew.
    """
    # Each request with the status that it should get.
    requests = [
        (one, 200) for several in zip(*bodies.kinds().values(), strict=False) for one in several
    ]
    for number, one in enumerate(bodies.lists):
        body = bodies.rows(one)
        more = [
            (request("/v1/rank?explain=true&top=10", body), 200),
            (request("/v1/rank", body[: 37 * number + 1]), 400),
            (request("/v1/rank", bodies.arrow(one)[: 97 * number + 1], ARROW), 400),
            (request("/v1/models/none/rank", body), 404),
            (request("/metrics"), 200),
        ]
        requests.insert(7 * number, more[number % len(more)])
    contents = [content for content, _ in requests]
    with serving(model) as service:
        busy = others(service)
        run(closed_loop(service.port, contents, 5))
        tries = [run(closed_loop(service.port, contents, 5)) for _ in range(3)]
        saturation = median(one.statuses.total() / one.seconds for one in tries)
        memory = [service.memory()]
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(1):
                memory.append(service.memory())

        watching = threading.Thread(target=watch)
        watching.start()
        outcome = run(open_loop(service.port, contents, share * saturation, seconds))
        stop.set()
        watching.join()
        disturbed = busy()
    n = outcome.statuses.total()
    # Requests are sent in their order, again and again.
    should = Counter(requests[number % len(requests)][1] for number in range(n))
    wrong = sum((outcome.statuses - should).values())
    tenths = [median(part) for part in np.array_split(memory, min(10, len(memory)))]
    grew = tenths[-1] > tenths[min(1, len(tenths) - 1)] + GROWTH
    print(
        "| minutes | requests/s at saturation | share | requests | p50, ms | p99, ms | p99.9, ms "
        "| answered wrongly or lost | memory at the start, MB | at the end |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n"
        f"| {outcome.seconds / 60:.1f} | {saturation:.0f} | {share:.0%} | {n:,} "
        f"| {outcome.milliseconds(50):.1f} | {outcome.milliseconds(99):.1f} "
        f"| {outcome.milliseconds(99.9):.1f} | {wrong:,} | {memory[0]:.0f} | {memory[-1]:.0f} |"
    )
    print("memory, MB, median of each tenth:", " ".join(f"{value:.0f}" for value in tenths))
    print(
        f"requests were sent {1e3 * float(np.percentile(outcome.late, 99)):.2f} ms late (p99); "
        f"other programs kept {disturbed:.0%} of the machine busy"
    )
    print(
        f"{n:,} requests, {_statuses(outcome)}: {wrong:,} answered wrongly or lost, "
        f"memory {'grew' if grew else 'is steady'}."
    )
    return int(wrong > 0 or grew)


def reload(model: Path, other: Ranker, bodies: Bodies, n_reloads: int, share: float) -> None:
    """Replace the model file by one of two, a second after the last one is served."""
    versions = [model.with_name("first"), model.with_name("second")]
    shutil.copy(model, versions[0])
    other.save(versions[1])
    requests = bodies.kinds()["JSON rows"]
    with serving(model, "--reload-interval", "0.05") as service:
        most = run(closed_loop(service.port, requests, 5))
        done: list[float] = []

        def replace() -> None:
            for number in range(n_reloads):
                before, start = service.version(), time.perf_counter()
                shutil.copy(versions[(number + 1) % 2], model.with_name("next"))
                model.with_name("next").replace(model)
                while service.version() == before:
                    time.sleep(0.02)
                done.append(time.perf_counter() - start)
                time.sleep(1)

        replacing = threading.Thread(target=replace)
        replacing.start()
        outcomes = []
        while replacing.is_alive():
            outcomes.append(run(open_loop(service.port, requests, share * most.rate, 5)))
        together = Outcome(
            [value for one in outcomes for value in one.latencies],
            sum((one.statuses for one in outcomes), start=type(most.statuses)()),
        )
        print(
            f"{len(done)} reloads, each served after {median(done):.2f} s (median): "
            f"{together.statuses.total():,} requests, {_statuses(together)}, "
            f"p50 {together.milliseconds(50):.1f} ms, p99 {together.milliseconds(99):.1f} ms"
        )
        counted = re.findall(r"localrank_reloads_total\{.*", service.get("/metrics")[1].decode())
        print("counted:", *counted)


def kill(model: Path, bodies: Bodies, share: float) -> None:
    """Kill one of two workers while requests come."""
    requests = bodies.kinds()["JSON rows"]
    with serving(model, "--workers", "2", apart=False) as service:
        awaited(lambda: b"localrank_ready 2.0" in service.get("/metrics")[1])
        most = run(closed_loop(service.port, requests, 5, n_connections=8))
        back: list[float] = []

        def strike() -> None:
            time.sleep(2)
            first = service.workers()
            os.kill(first[0], signal.SIGKILL)
            start = time.perf_counter()
            awaited(lambda: len(set(service.workers()) - set(first)) == 1)
            back.append(time.perf_counter() - start)

        striking = threading.Thread(target=strike)
        striking.start()
        outcome = run(open_loop(service.port, requests, share * most.rate, 20))
        striking.join()
        print(
            f"one of two workers killed: {outcome.statuses.total():,} requests, "
            f"{_statuses(outcome)} over {CONNECTIONS} connections; a new worker after "
            f"{back[0]:.1f} s; {len(service.workers())} workers at the end"
        )


def _statuses(outcome: Outcome) -> str:
    return ", ".join(
        f"{count:,} × { {LOST: 'lost', UNSENT: 'unsent'}.get(status, status) }"
        for status, count in sorted(outcome.statuses.items())
        if count
    )


if __name__ == "__main__":
    sys.exit(main())
