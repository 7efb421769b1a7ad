"""Click models next to PyClick, CLAX and the published estimates in plain Python.

Run with `python benchmarks/clicks.py`: a few minutes, one thread. The sessions are those of
`clicks/swapped-sessions.jsonl.gz` of the public collections (see measuring.py), or made-up ones.
A fifth of them is held out: perplexities are on these. Then one pass of estimation over ten million
made-up impressions.

PyClick is not on PyPI: the package of that name there moves a mouse. Clone
https://github.com/markovi/PyClick and put the folder into PYTHONPATH; it is left out otherwise.
CLAX is `pip install clax-models`, which needs JAX and PyTorch; it is left out if it is not there.
Each runs as its page shows it: PyClick five iterations, CLAX AdamW(0.003) until the loss of a tenth
of the sessions grows, 50 epochs at most, after a first one that compiles. The plain version makes
50 iterations, without numpy.
"""

from __future__ import annotations

import builtins
import gzip
import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from measuring import DATA, SMALL, options, row, seconds, sized
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from localrank.clicks import (
    ClickLog,
    ClickModel,
    DependentClickModel,
    DynamicBayesianModel,
    PositionBasedModel,
    UserBrowsingModel,
)

# The definitions that the tests compare with.
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
PublishedEM: Any = import_module("naive_click_models").PublishedEM

Floats = NDArray[np.float64]

N_SESSIONS = sized(35_064, 200)
N_LARGE = sized(1_000_000, 1_000)
LENGTH = 10
# How many times as fast as a peer in Python we want to be.
AIM = 100


@dataclass(frozen=True)
class Model:
    """One model, by its names in each library."""

    ours: ClickModel
    plain: str | None
    pyclick: str | None
    clax: str | None
    # What CLAX needs besides the number of positions and pairs.
    positions: bool = True


MODELS = {
    "PBM": Model(PositionBasedModel(), "pbm", "PBM", "PositionBasedModel"),
    "UBM": Model(UserBrowsingModel(), "ubm", "UBM", "UserBrowsingModel"),
    # PyClick counts, CLAX maximises the likelihood.
    "DCM by counts": Model(DependentClickModel("counts"), None, "DCM", None),
    "DCM": Model(DependentClickModel(), None, None, "DependentClickModel"),
    "DBN": Model(DynamicBayesianModel(), "dbn", "DBN", "DynamicBayesianNetwork", positions=False),
}


def main() -> None:
    options(__doc__).parse_args()
    log, source = sessions()
    order = np.random.default_rng(0).permutation(log.n_sessions)
    held_out = np.isin(np.arange(log.n_sessions), order[: log.n_sessions // 5])
    known, others = log.select(~held_out), log.select(held_out)
    print(f"{source}: {known.n_sessions:,} sessions to learn from, {others.n_sessions:,} others")
    peers = {"plain Python": plain, "PyClick": pyclick, "CLAX": clax}
    with threadpool_limits(1):
        for name, model in MODELS.items():
            model.ours.fit(known.select(range(100)))  # compiles
            time = min(seconds(partial(model.ours.fit, known)) for _ in range(3))
            ours = perplexities(
                others,
                model.ours.click_probabilities(others),
                model.ours.click_probabilities(others, conditional=True),
            )
            speed = known.n_sessions / time
            row(f"{name}: fit", speed, "sessions/s")
            for peer, run in peers.items():
                theirs = run(model, known, others)
                if theirs is None:
                    continue
                elapsed, alone, given_above = theirs
                row(f"{name}: fit", speed, "sessions/s", peer=peer,
                    theirs=known.n_sessions / elapsed, aim=None if SMALL else AIM)  # fmt: skip
                found = perplexities(others, alone, given_above)
                for what, value in found.items():
                    verdict = "at least as good" if ours[what] <= value else "WORSE"
                    print(f"{name}: {what} {ours[what]:.5f}, {peer} {value:.5f}: {verdict}")
        one_pass()


def sessions() -> tuple[ClickLog, str]:
    """Real sessions, or made-up ones, and which of them."""
    path = DATA / "clicks" / "swapped-sessions.jsonl.gz"
    if SMALL or not path.is_file():
        return made_up(N_SESSIONS), "made-up sessions"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    columns = ([line[name] for line in lines] for name in ("query", "documents", "clicks"))
    return ClickLog.from_sessions(*columns), "swapped sessions"


def made_up(n_sessions: int, seed: int = 0) -> ClickLog:
    """People of the position-based model, on lists of ten in several orders."""
    rng = np.random.default_rng(seed)
    n_queries = max(n_sessions // 100, 1)
    queries = rng.integers(n_queries, size=n_sessions)
    documents = np.argsort(rng.random((n_sessions, LENGTH)) + 0.15 * np.arange(LENGTH), axis=1)
    relevance = rng.beta(1, 3, size=(n_queries, LENGTH))[queries[:, None], documents]
    clicks = rng.random(documents.shape) < relevance / np.arange(1, LENGTH + 1)
    offsets = LENGTH * np.arange(n_sessions + 1)
    return ClickLog.from_impressions(queries, offsets, documents.ravel(), clicks.ravel())


def perplexities(log: ClickLog, alone: Floats | None, given_above: Floats) -> dict[str, float]:
    """Means over positions, in view of the list alone, and given the clicks above."""
    found = {}
    for what, clicked in (("perplexity", alone), ("perplexity given clicks above", given_above)):
        if clicked is not None:
            done = np.clip(np.where(log.clicks, clicked, 1 - clicked), 1e-6, 1)
            sums = np.bincount(log.positions, np.log(done)) / np.bincount(log.positions)
            found[what] = float(np.exp(-sums).mean())
    return found


Fitted = tuple[float, Floats | None, Floats] | None


def plain(model: Model, known: ClickLog, others: ClickLog) -> Fitted:
    """The published estimates, in dictionaries."""
    if model.plain is None:
        return None
    learner = PublishedEM(model.plain, n_iter=sized(50, 2))
    ready = lists_of(known)
    elapsed = seconds(lambda: learner.fit(ready))
    given_above = [p for one in lists_of(others) for p in learner.click_probabilities(one)]
    return elapsed, None, np.array(given_above)


def lists_of(log: ClickLog) -> list[tuple[int, list[int], list[int]]]:
    """Sessions as Python's own lists; documents by the numbers of their pairs."""
    pairs, clicks = log.pairs.tolist(), log.clicks.astype(int).tolist()
    offsets = log.offsets.tolist()
    return [
        (query, pairs[begin:end], clicks[begin:end])
        for query, begin, end in zip(
            log.session_queries.tolist(), offsets[:-1], offsets[1:], strict=True
        )
    ]


def pyclick(model: Model, known: ClickLog, others: ClickLog) -> Fitted:
    """PyClick's model, by its own methods."""
    if model.pyclick is None:
        return None
    # It was written for Python 2.
    vars(builtins).setdefault("xrange", range)
    try:
        module = import_module(f"pyclick.click_models.{model.pyclick}")
        of_session: Any = import_module("pyclick.search_session.SearchSession").SearchSession
        of_result: Any = import_module("pyclick.search_session.SearchResult").SearchResult
    except ImportError:
        return None

    def sessions_of(log: ClickLog) -> list[Any]:
        made = []
        for query, documents, clicks in lists_of(log):
            made.append(of_session(query, 0))
            made[-1].web_results = [
                of_result(document, click)
                for document, click in zip(documents, clicks, strict=True)
            ]
        return made

    learner = getattr(module, model.pyclick)()
    ready, asked = sessions_of(known), sessions_of(others)
    elapsed = seconds(lambda: learner.train(ready))
    alone = np.array([p for one in asked for p in learner.predict_click_probs(one)])
    # The probability of what people did.
    done = np.array([p for one in asked for p in learner.get_conditional_click_probs(one)])
    return elapsed, alone, np.where(others.clicks, done, 1 - done)


def clax(model: Model, known: ClickLog, others: ClickLog) -> Fitted:
    """CLAX's model, by its trainer."""
    if model.clax is None:
        return None
    try:
        trainer_of: Any = import_module("clax").Trainer
        nnx: Any = import_module("flax.nnx")
        adamw: Any = import_module("optax").adamw
    except ImportError:
        return None
    of_kind: Any = getattr(import_module("clax.models"), model.clax)

    def made() -> Any:
        places = {"positions": LENGTH} if model.positions else {}
        return of_kind(query_doc_pairs=known.n_pairs, rngs=nnx.Rngs(42), **places)

    def batches(log: ClickLog, size: int = 512) -> list[dict[str, Any]]:
        shape = (log.n_sessions, LENGTH)
        whole: dict[str, Any] = {
            "positions": (log.positions + 1).reshape(shape),
            "query_doc_ids": (log.pairs + 1).reshape(shape),
            "clicks": log.clicks.astype(np.float32).reshape(shape),
            "mask": np.ones(shape, np.bool_),
        }
        return [
            {name: values[first : first + size] for name, values in whole.items()}
            for first in range(0, log.n_sessions, size)
        ]

    order = np.random.default_rng(1).permutation(known.n_sessions)
    n_valid = known.n_sessions // 10
    train, valid = batches(known.select(order[n_valid:])), batches(known.select(order[:n_valid]))
    learner = made()
    with redirect_stdout(io.StringIO()):
        trainer = trainer_of(adamw(0.003), epochs=1)
        trainer.train(made(), train, valid)  # compiles
        trainer.epochs = sized(50, 1)
        elapsed = seconds(lambda: trainer.train(learner, train, valid))

    def asked(ask: Callable[[Any], Any]) -> Floats:
        answers = [np.exp(np.asarray(ask(batch), np.float64)) for batch in batches(others)]
        return np.concatenate(answers).ravel()

    return elapsed, asked(learner.predict_clicks), asked(learner.predict_conditional_clicks)


def one_pass() -> None:
    """What each pass costs, beside what is done once."""
    log = made_up(N_LARGE)
    for name, model in MODELS.items():
        if "objectives_" not in vars(model.ours):  # it makes one pass anyway
            row(f"{name}, {log.n_impressions / 1e6:g} million impressions: fit",
                min(seconds(partial(model.ours.fit, log)) for _ in range(3)), "s")  # fmt: skip
            continue
        fits = {n: type(model.ours)(max_iter=n, tol=0) for n in (2, 12)}
        times = {n: min(seconds(partial(fit.fit, log)) for _ in range(3))
                 for n, fit in fits.items()}  # fmt: skip
        each = (times[12] - times[2]) / 10
        what = f"{name}, {log.n_impressions / 1e6:g} million impressions"
        row(f"{what}: one pass", each, "s", aim=None if SMALL else 1)
        row(f"{what}: fit", seconds(partial(model.ours.fit, log)), "s")


if __name__ == "__main__":
    main()
