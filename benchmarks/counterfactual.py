"""Whether intervals of what a ranking would bring cover the truth as often as they say.

Made-up people click on the lists of one ranking; another one is estimated from the log. The truth
is known. Then the estimates know how much is seen, or have to learn it from the same log.

With the wheel of obp (`pip download --no-deps obp`), whose sample of the Open Bandit Dataset has
true propensities [1]_: the value of showing items uniformly at random is estimated from the log of
Thompson sampling, beside the clicks of people who were shown items at random. Then logs are drawn
with the probabilities of that log and rates of clicks that are known.

.. [1] Saito, Aihara, Matsutani, Narita. Open Bandit Dataset and Pipeline. NeurIPS 2021.

    python benchmarks/counterfactual.py --open-bandit obp-0.4.1-py3-none-any.whl
"""

from __future__ import annotations

import argparse
import io
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from localrank._base.arrays import Floats
from localrank.clicks import (
    ClickLog,
    PositionBehaviour,
    PositionBias,
    RankingValue,
    UnseenRankingError,
    compare_rankings,
    policy_value,
    simulate_clicks,
)
from localrank.data import RankingDataset, make_queries

ONE_ITEM: tuple[Literal["ips", "snips"], ...] = ("ips", "snips")  # estimates for single items
CAMPAIGNS = {"all": 80, "men": 34, "women": 46}  # numbers of items


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--small", action="store_true", help="seconds instead of minutes")
    parser.add_argument("--open-bandit", metavar="WHEEL", help="the wheel of obp")
    given = parser.parse_args()
    n_logs = 10 if given.small else 500
    print(f"{n_logs} simulated logs of 5,000 sessions: how often 95 % intervals cover the truth\n")
    columns = ["new", "old", "difference", "error / spread", "worth sessions"]
    print(f"{'seen':>10}{'method':>8}" + "".join(f"{name:>16}" for name in columns))
    for seen in ("known", "learned"):
        for method, (rates, ratio, effective) in simulated(n_logs, seen).items():
            shown = "".join(f"{rate:>16.1%}" for rate in rates)
            print(f"{seen:>10}{method:>8}{shown}{ratio:>16.2f}{effective:>16,.0f}")
    if given.open_bandit:
        open_bandit(given.open_bandit, n_logs)


def simulated(n_logs: int, seen: str) -> dict[str, tuple[Floats, float, float]]:
    """Coverage of both rankings and of their difference, by method."""
    dataset, _ = make_queries(50, random_state=0)
    rng = np.random.default_rng(5)
    scores = {"old": dataset.features[:, -1] + 0.5 * rng.standard_normal(dataset.n_documents)}
    noise = rng.standard_normal(dataset.n_documents)
    scores["new"] = scores["old"] + 0.2 * (dataset.features[:, 0] + noise)
    truth = {name: _clicks(dataset, one) for name, one in scores.items()}
    told: dict[str, list[tuple[list[bool], float, float, float]]] = {}
    for seed in range(n_logs):
        log = simulate_clicks(
            dataset, scores["old"], PositionBehaviour(), n_sessions=5000, shuffle=1.5,
            random_state=seed,
        )  # fmt: skip
        bias = PositionBehaviour().examination(10)
        if seen == "learned":
            bias = PositionBias(n_bootstrap=20).fit(log).examination_
        for method in ("ips", "snips", "dr"):
            values, (gap,) = compare_rankings(
                log, scores, bias, features=dataset, method=method, max_unseen=1
            )
            covered = [
                values[name].interval[0] <= truth[name] <= values[name].interval[1]
                for name in ("new", "old")
            ]
            covered.append(gap.interval[0] <= truth["old"] - truth["new"] <= gap.interval[1])
            new = values["new"]
            row = (covered, new.value, new.standard_error, new.effective_sessions)
            told.setdefault(method, []).append(row)
    result = {}
    for method, rows in told.items():
        flags, *numbers = zip(*rows, strict=True)
        estimates, errors, effective = map(np.array, numbers)
        rates = np.mean(flags, axis=0)
        result[method] = rates, float(errors.mean() / estimates.std()), float(effective.mean())
    return result


def _clicks(dataset: RankingDataset, scores: Floats) -> float:
    """The clicks per list that people who behave like this would bring."""
    relevance = (2.0**dataset.labels - 1) / (2 ** dataset.labels.max() - 1)
    return float(
        np.mean(
            [
                PositionBehaviour()
                .click_probabilities(
                    relevance[begin:end][np.argsort(-scores[begin:end], kind="stable")[:10]][None]
                )
                .sum()
                for begin, end in pairwise(dataset.offsets)
            ]
        )
    )


def open_bandit(wheel: str, n_logs: int) -> None:
    """Items at random: from the log of Thompson sampling, and as they were shown."""
    print("\nOpen Bandit: clicks per 1,000 items that are shown at random\n")
    print(f"{'campaign':>10}{'as they were shown':>26}   from the log of Thompson sampling")
    logs = list(logs_of(wheel))
    for campaign, random, sampled in logs:
        chance = 1 / CAMPAIGNS[campaign]
        shown = policy_value(random, np.full(random.n_sessions, chance), method="ips")
        try:
            estimated = policy_value(sampled, np.full(sampled.n_sessions, chance))
        except UnseenRankingError as error:
            told = str(error)
        else:
            told = f"{_thousand(estimated)}, worth {estimated.effective_sessions:,.0f} of 10,000"
        print(f"{campaign:>10}{_thousand(shown):>26}   {told}")
    print(f"\nCoverage over {n_logs} logs of 10,000 clicks on its items, drawn by their rates")
    for campaign, random, sampled in logs:
        for method in ONE_ITEM:
            rate, effective = drawn_again(random, sampled, method, n_logs)
            print(f"{campaign:>10}{method:>8}{rate:>10.1%}, worth {effective:,.0f} sessions")


def _thousand(told: RankingValue) -> str:
    low, high = told.interval
    return f"{1000 * told.value:.2f} [{1000 * low:.2f}, {1000 * high:.2f}]"


def drawn_again(
    random: ClickLog, sampled: ClickLog, method: Literal["ips", "snips"], n_logs: int
) -> tuple[float, float]:
    """How often intervals cover, where items come as in a log, and clicks by known rates."""
    n, n_pairs, places = sampled.n_sessions, sampled.n_pairs, sampled.pair_queries
    mean = np.bincount(sampled.pairs, sampled.propensities) / np.bincount(sampled.pairs)
    chances = mean / np.bincount(places, mean)[places]
    shares = np.bincount(sampled.session_queries) / n
    # The rates of clicks are those of items at random, drawn towards their mean.
    number = {pair: row for row, pair in enumerate(zip(*_ids(sampled), strict=True))}
    rows = np.array([number.get(pair, -1) for pair in zip(*_ids(random), strict=True)])
    rows = rows[random.pairs]
    known = rows >= 0
    clicked = np.bincount(rows[known], random.clicks[known], n_pairs)
    rates = (clicked + 100 * random.clicks.mean()) / (
        np.bincount(rows[known], minlength=n_pairs) + 100
    )
    wanted = 1 / np.bincount(places)[places]
    truth = float((shares[places] * wanted) @ rates)
    rng = np.random.default_rng(0)
    covered, effective = [], []
    for _ in range(n_logs):
        pairs = rng.choice(n_pairs, size=n, p=shares[places] * chances)
        log = ClickLog.from_impressions(
            sampled.query_ids[places[pairs]],
            np.arange(n + 1),
            sampled.document_ids[pairs],
            rng.random(n) < rates[pairs],
            propensities=chances[pairs],
        )
        told = policy_value(log, wanted[pairs], method=method, max_unseen=1)
        covered.append(told.interval[0] <= truth <= told.interval[1])
        effective.append(told.effective_sessions)
    return float(np.mean(covered)), float(np.mean(effective))


def _ids(log: ClickLog) -> tuple[list[Any], list[Any]]:
    """The query and the document of each pair."""
    return log.query_ids[log.pair_queries].tolist(), log.document_ids.tolist()


def logs_of(wheel: str) -> Iterator[tuple[str, ClickLog, ClickLog]]:
    """The logs of each campaign: items at random, and by Thompson sampling.

    A line is an item at one of three places. The place is the query, so that each has its own
    propensities.
    """
    with zipfile.ZipFile(wheel) as files:
        for campaign in CAMPAIGNS:
            logs = []
            for policy in ("random", "bts"):
                name = f"obp/dataset/obd/{policy}/{campaign}/{campaign}.csv"
                text = io.TextIOWrapper(files.open(name))
                header = text.readline().strip().split(",")
                columns = [
                    header.index(one)
                    for one in ("item_id", "position", "click", "propensity_score")
                ]
                items, places, clicks, propensities = np.loadtxt(
                    text, delimiter=",", usecols=columns, unpack=True
                )
                n = len(items)
                logs.append(
                    ClickLog.from_sessions(
                        places.astype(int).tolist(),
                        items.astype(int)[:, None].tolist(),
                        [[0] if click else [] for click in clicks],
                        propensities=propensities[:, None].tolist(),
                    )
                )
                assert logs[-1].n_sessions == n
            yield campaign, logs[0], logs[1]


if __name__ == "__main__":
    main()
