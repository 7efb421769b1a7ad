"""How well examination by position is estimated: simulated clicks, real logs, and time.

Run with `python benchmarks/position_bias.py`: about ten minutes, one thread. Clicks are simulated
on lists of MQ2007 (see measuring.py) or of made-up queries, ranked by a model that learned from 2 %
of the labels. Name sections to run only some of them: curves, coverage, behaviours, groups,
described, real, speed.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from measuring import DATA, SMALL, mq2007_fold, options, row, seconds, sized
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from localrank.clicks import (
    Behaviour,
    CascadeBehaviour,
    DescribedPositionBias,
    DynamicBayesianBehaviour,
    GroupedPositionBias,
    PositionBehaviour,
    PositionBias,
    TrustBehaviour,
    check_position_model,
    simulate_clicks,
)
from localrank.clicks._gamma_em import estimated
from localrank.clicks._slot_em import cells_of
from localrank.clicks._swaps import Swaps
from localrank.data import RankingDataset, make_queries, read
from localrank.data.click_log import ClickLog
from localrank.rankers import RankSVM
from localrank.representations import Mean

Floats = NDArray[np.float64]

METHODS: tuple[Literal["swaps", "em"], ...] = ("swaps", "em")
DEPTH = 10
N_SESSIONS = sized(100_000, 2_000)
N_LOGS = sized(500, 3)
N_BEHAVIOUR_LOGS = sized(20, 1)
N_GROUP_LOGS = sized(40, 1)
N_DESCRIBED = sized((50_000, 10_000), (5_000, 3_000))
N_NULL_LOGS = sized(1000, 2)
GRADES = ("VITAL", "USEFUL", "RELEVANT_PLUS", "RELEVANT_MINUS", "IRRELEVANT")
SHUFFLE = 1.0
BEHAVIOURS: dict[str, Behaviour] = {
    "PBM, eta 1": PositionBehaviour(),
    "PBM, eta 0.5": PositionBehaviour(eta=0.5),
    "trust": TrustBehaviour(),
    "trust, half": TrustBehaviour(trust=0.3),
    "cascade": CascadeBehaviour(),
    "DBN": DynamicBayesianBehaviour(),
}


class Lists:
    """Queries, and a score for each document by a model that learned from a few labels."""

    def __init__(self) -> None:
        self.dataset, _, self.name = mq2007_fold()
        few = max(self.dataset.n_queries // 50, 5)
        self.scores = RankSVM().fit(self.dataset.select(np.arange(few))).predict(self.dataset)
        print(f"Lists of {self.name}: {self.dataset.n_queries:,} queries, ranked by few labels")

    def log(
        self,
        behaviour: Behaviour | dict[str, Behaviour],
        seed: int = 0,
        n_sessions: int = N_SESSIONS,
        groups: list[str] | None = None,
    ) -> ClickLog:
        return simulate_clicks(
            self.dataset, self.scores, behaviour,
            n_sessions=n_sessions, depth=DEPTH, shuffle=SHUFFLE, groups=groups, random_state=seed,
        )  # fmt: skip


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("sections", nargs="*", help=" ".join(SECTIONS))
    wanted = parser.parse_args().sections or list(SECTIONS)
    lists = Lists()
    with threadpool_limits(1):
        for name in wanted:
            print(f"\n{name}")
            SECTIONS[name](lists)


def curves(lists: Lists) -> None:
    """The error at the worst position."""
    for eta in (0.5, 1.0, 1.5):
        behaviour = PositionBehaviour(eta=eta)
        log, truth = lists.log(behaviour), behaviour.examination(DEPTH)
        rates = np.bincount(log.positions, log.clicks) / np.bincount(log.positions)
        told = f"eta {eta}: largest error by click rates {_worst(rates / rates[0], truth):.1%}"
        both = {}
        for method in METHODS:
            both[method] = PositionBias(method).fit(log).examination_
            told += f", {method} {_worst(both[method], truth):.1%}"
        by_features = PositionBias("em").fit(log, lists.dataset) if _has_ids(lists) else None
        if by_features is not None:
            told += f", regression EM {_worst(by_features.examination_, truth):.1%}"
        print(told + f"; swaps and EM differ by {_worst(both['em'], both['swaps']):.1%} at most")


def _has_ids(lists: Lists) -> bool:
    return lists.dataset.document_ids is not None


def _worst(curve: Floats, truth: Floats) -> float:
    return float(np.abs(curve / truth - 1).max())


def coverage(lists: Lists) -> None:
    """How often intervals hold the truth."""
    truth = PositionBehaviour().examination(DEPTH)
    for n_sessions in (N_SESSIONS, N_SESSIONS // 10):
        inside = {method: np.zeros(DEPTH) for method in METHODS}
        errors = {method: np.zeros(DEPTH) for method in METHODS}
        for seed in range(N_LOGS):
            log = lists.log(PositionBehaviour(), seed, n_sessions)
            for method, held in inside.items():
                bias = PositionBias(method).fit(log)
                low, high = bias.intervals_.T
                held += (low <= truth) & (truth <= high)
                errors[method] += bias.examination_ / truth - 1
        for method, held in inside.items():
            by_position = " ".join(f"{share:.1%}" for share in held[1:] / N_LOGS)
            print(
                f"{n_sessions:,} sessions, {method}: {held[1:].mean() / N_LOGS:.1%} of {N_LOGS} "
                f"intervals hold the truth (positions 2 to {DEPTH}: {by_position}); "
                f"largest bias {np.abs(errors[method] / N_LOGS).max():.2%}"
            )


def behaviours(lists: Lists) -> None:
    """How often the position-based model is refused."""
    for n_sessions in (N_SESSIONS, N_SESSIONS // 10):
        for name, behaviour in BEHAVIOURS.items():
            checks = [
                check_position_model(lists.log(behaviour, seed, n_sessions))
                for seed in range(N_BEHAVIOUR_LOGS)
            ]
            limit = 0.05 / 3
            counts = [
                sum(check.is_refused for check in checks),
                sum(check.methods.p_value <= limit for check in checks),
                sum(check.relevance.p_value <= limit for check in checks),
                sum(check.p_after_click <= limit for check in checks),
            ]
            differ = np.mean([np.nanmax(np.abs(check.methods.ratios - 1)) for check in checks])
            print(
                f"{n_sessions:,} sessions, {name}: refused {counts[0]} of {len(checks)} (swaps and "
                f"EM {counts[1]}, relevance {counts[2]}, below a click {counts[3]}); swaps and EM "
                f"differ by {differ:.1%} at the worst position, clicks below a click "
                f"{np.mean([check.after_click for check in checks]):.2f} × expected"
            )


def groups(lists: Lists) -> None:
    """Curves of groups beside a common one, and the test whether groups differ."""
    names = np.random.default_rng(1).choice(["a", "b"], lists.dataset.n_queries).tolist()
    for etas in ((1.0, 1.0), (0.9, 1.1), (0.5, 1.5)):
        kinds: dict[str, Behaviour] = {
            name: PositionBehaviour(eta=eta) for name, eta in zip("ab", etas, strict=True)
        }
        truth = np.stack([np.arange(1, DEPTH + 1) ** -eta for eta in etas])
        for n_sessions in (N_SESSIONS // 2, N_SESSIONS // 10):
            errors = np.zeros(3)
            for seed in range(N_GROUP_LOGS):
                log = lists.log(kinds, seed, n_sessions, names)
                bias = GroupedPositionBias(n_permutations=1).fit(log)
                all_curves = (bias.common_.examination_, bias.examination_, bias.separate_)
                for place, curve in enumerate(all_curves):
                    errors[place] += np.sqrt(np.nanmean(np.log(curve / truth) ** 2))
            told = ", ".join(
                f"{name} {value:.3f}"
                for name, value in zip(
                    ("common", "adaptive", "separate"), errors / N_GROUP_LOGS, strict=True
                )
            )
            print(f"{n_sessions:,} sessions, exponents {etas}: error of log examination: {told}")
    kinds = {name: PositionBehaviour() for name in "ab"}
    for what, given in (("queries", names), ("sessions", None)):
        values = np.array(
            [
                GroupedPositionBias(n_permutations=99)
                .fit(lists.log(kinds, seed, N_SESSIONS // 20, given))
                .p_value_
                for seed in range(N_NULL_LOGS)
            ]
        )
        print(
            f"Two random groups of {what}: p <= 0.05 in {np.mean(values <= 0.05):.1%} of "
            f"{N_NULL_LOGS:,} logs, p <= 0.5 in {np.mean(values <= 0.5):.1%}"
        )


def described(lists: Lists) -> None:
    """Curves that depend on a query's description, beside a common one: exponent 1 ± a step.

    Which queries have which exponent depends on their mean feature vectors, with as much noise.
    """
    rng = np.random.default_rng(1)
    z = Mean().fit(lists.dataset).transform(lists.dataset)
    z = (z - z.mean(axis=0)) / np.maximum(z.std(axis=0), 1e-9)
    told = z @ rng.normal(size=z.shape[1])
    names = np.where(told / told.std() + rng.normal(size=len(z)) > 0, "a", "b")
    for step in (0.0, 0.1, 0.5):
        kinds: dict[str, Behaviour] = {
            "a": PositionBehaviour(eta=1 + step), "b": PositionBehaviour(eta=1 - step)
        }  # fmt: skip
        of_queries = dict(
            zip(
                lists.dataset.query_ids.astype(str).tolist(),
                np.where(names == "a", 1 + step, 1 - step),
                strict=True,
            )
        )
        for n_sessions in N_DESCRIBED:
            errors, alarms = np.zeros(2), 0
            for seed in range(N_GROUP_LOGS):
                log = lists.log(kinds, seed, n_sessions, names.tolist())
                bias = DescribedPositionBias(Mean(), n_permutations=99).fit(log, lists.dataset)
                eta = np.array([of_queries[query] for query in log.query_ids.astype(str)])
                truth = -eta[log.session_queries[log.session_index]] * np.log(log.positions + 1.0)
                for place, one in enumerate((bias.common_, bias)):
                    errors[place] += np.abs(np.log(one.examination_of(log)) - truth).mean()
                alarms += bias.p_value_ <= 0.05
            common, adaptive = errors / N_GROUP_LOGS
            print(
                f"{n_sessions:,} sessions, exponents 1 ± {step:g}: error of log examination: "
                f"common {common:.3f}, described {adaptive:.3f}; p <= 0.05 in "
                f"{alarms / N_GROUP_LOGS:.0%}"
            )


def real(lists: Lists) -> None:
    """Two real logs: swaps and EM on one, clicks within people's grades on the other."""
    swapped = DATA / "clicks" / "swapped-sessions.jsonl.gz"
    log: Any = lists.log(PositionBehaviour())
    if not SMALL and swapped.is_file():
        log = read(swapped)
    check = check_position_model(log)
    for name, bias in (("swaps", check.swaps), ("EM", check.em)):
        print(f"{name}: {_told(bias)}")
    low, high = check.after_click_interval
    print(f"Below a click: {check.after_click:.2f} × expected, {low:.2f} to {high:.2f}")
    print(check)
    graded = DATA / "clicks" / "graded-sessions.jsonl.gz"
    if SMALL or not graded.is_file():
        return
    for name, grades in [("all grades", GRADES), *((grade, (grade,)) for grade in GRADES)]:
        print(f"Clicks within {name}: {_told(_graded_curve(graded.read_bytes(), grades))}")


def _told(bias: PositionBias) -> str:
    return ", ".join(
        f"{value:.2f} ({low:.2f} to {high:.2f})"
        for value, (low, high) in zip(bias.examination_, bias.intervals_, strict=True)
    )


def _graded_curve(packed: bytes, grades: tuple[str, ...]) -> PositionBias:
    """Examination where all web results with one grade are one document.

    A curve from people's grades alone, without a model of clicks. It is as right as grades are
    fine: within one, better results may still be higher up.
    """
    pairs, positions, clicks = [], [], []
    n_sets = 200
    for line in gzip.decompress(packed).splitlines():
        session = json.loads(line)
        for place, grade in enumerate(session["grades"][:DEPTH]):
            if grade in grades and session["kinds"][place] == "WEB":
                pairs.append(session["query"] % n_sets * len(grades) + grades.index(grade))
                positions.append(place)
                clicks.append(place in session["clicks"])
    sets = np.repeat(np.arange(n_sets), len(grades))
    swaps = Swaps.counted(np.array(pairs), np.array(positions), np.array(clicks), sets, n_sets)
    return PositionBias().fit_swaps(swaps)


def speed(lists: Lists) -> None:
    """Time of each step on ten million impressions."""
    dataset, _ = make_queries(sized(100_000, 50), n_documents=(10, 14), n_features=5)
    scores = np.random.default_rng(0).random(dataset.n_documents)
    n_sessions = sized(1_000_000, 1_000)

    def simulated(queries: RankingDataset) -> ClickLog:
        return simulate_clicks(
            queries, scores, PositionBehaviour(), n_sessions=n_sessions, shuffle=SHUFFLE
        )

    log = simulated(dataset)
    row("a million sessions simulated", seconds(lambda: simulated(dataset)), "s")
    positions = log.positions

    def counted() -> None:
        cells_of(log.pairs, positions, log.clicks, log.n_pairs, DEPTH)

    counted()
    row(f"{log.n_impressions:,} impressions counted", seconds(counted), "s")
    # The same impressions, each of them a cell: what a log without repeated lists takes.
    cells = cells_of(
        np.arange(log.n_impressions) // 5, positions, log.clicks, log.n_impressions // 5 + 1, DEPTH
    )
    sets, few = np.zeros(len(cells.offsets) - 1, np.int64), np.ones(DEPTH)
    estimated(cells, sets, sets, 1, start=few)
    best = min(
        seconds(lambda: estimated(cells, sets, sets, 1, start=few)) for _ in range(sized(3, 1))
    )
    row(f"a pass of EM over {len(cells.slots):,} cells", best / N_PASSES, "s", aim=2)
    for bias in (PositionBias("swaps"), PositionBias("em")):
        bias.fit(log)
        row(f"{bias.method} with 500 draws of queries", seconds(partial(bias.fit, log)), "s")


# Iterations and Newton's steps of an estimate.
N_PASSES = 18

SECTIONS: dict[str, Callable[[Lists], None]] = {
    "curves": curves,
    "coverage": coverage,
    "behaviours": behaviours,
    "groups": groups,
    "described": described,
    "real": real,
    "speed": speed,
}


if __name__ == "__main__":
    main()
