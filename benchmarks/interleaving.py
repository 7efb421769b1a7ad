"""How many lists a live test needs: interleaving beside an A/B test, and false alarms.

Made-up people (position-based, with noise) click on lists of made-up queries. The better ranking
goes by labels with noise of standard deviation 1; a worse one has more. A test at 5 % finds the
difference within so many lists with a probability of 80 %, by the mean and the variance of what a
list contributes. Probabilistic interleaving [1]_ draws documents by 1 / rank^3, and weighs a click
by the probabilities of the draws.

.. [1] Hofmann, Whiteson, de Rijke. A Probabilistic Method for Inferring Preferences from Clicks.
   CIKM 2011.

    python benchmarks/interleaving.py
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable

import numpy as np
from scipy.stats import norm

from localrank._base.arrays import Flags, Floats
from localrank.clicks import PositionBehaviour, interleaving_result, team_draft
from localrank.data import make_queries

DEPTH = 10
SEEN = PositionBehaviour(eta=1).examination(DEPTH)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--small", action="store_true", help="seconds instead of minutes")
    small = parser.parse_args().small
    n_queries, n_lists, n_draws = (20, 300, 200) if small else (200, 40_000, 4000)
    world = World(n_queries)
    rows = []
    for noise in (1.5, 2.0, 4.0):
        better, worse = world.rankings(1.0), world.rankings(noise)
        rows.append((noise, *(one(world, better, worse, n_lists) for one in WAYS.values())))
    print(f"Lists needed to find that a ranking is better ({n_lists:,} simulated lists each)\n")
    print(f"{'noise of the worse':>20}" + "".join(f"{name:>26}" for name in WAYS))
    for noise, *needed in rows:
        print(f"{noise:>20}" + "".join(f"{number:>26,.0f}" for number in needed))
    rates = false_alarms(world, n_draws)
    print(f"\nFalse alarms at 5 %, {n_draws:,} tests of 300 lists of equal rankings")
    for name, rate in rates.items():
        print(f"  {name}: {rate:.2%}")


class World:
    """Queries, the relevance of their documents, and people."""

    def __init__(self, n_queries: int) -> None:
        dataset, _ = make_queries(n_queries, random_state=0)
        self.labels = np.split(dataset.labels, dataset.offsets[1:-1])
        gains = np.split(2.0**dataset.labels - 1, dataset.offsets[1:-1])
        most = 2 ** dataset.labels.max() - 1
        self.attraction = [0.1 + 0.9 * gain / most for gain in gains]
        self.rng = np.random.default_rng(0)
        self.coin = random.Random(0)

    def rankings(self, noise: float) -> list[list[int]]:
        """The first documents of each query, by labels with noise."""
        return [
            np.argsort(-(one + noise * self.rng.standard_normal(len(one))), kind="stable").tolist()
            for one in self.labels
        ]

    def clicks(self, query: int, documents: list[int]) -> Flags:
        """Which documents of a list are clicked."""
        chance = SEEN[: len(documents)] * self.attraction[query][documents]
        clicked: Flags = self.rng.random(len(documents)) < chance
        return clicked


Rankings = list[list[int]]


def needed(outcomes: Floats) -> float:
    """Lists for 80 % power at 5 %, if each contributes such an outcome."""
    return float(((norm.isf(0.025) + norm.isf(0.2)) * outcomes.std() / outcomes.mean()) ** 2)


def by_team_draft(
    world: World, a: Rankings, b: Rankings, n_lists: int, *, lots: bool = False
) -> float:
    signs = []
    for _ in range(n_lists):
        query = world.coin.randrange(len(a))
        documents, teams = team_draft(a[query], b[query], depth=DEPTH, rng=world.coin)
        if lots:
            documents, teams = drafted_by_lot(a[query], b[query], world.coin)
        clicked = np.array(teams)[world.clicks(query, documents)]
        signs.append(np.sign(np.sum(clicked == 0) - np.sum(clicked == 1)))
    decided = np.array(signs)[np.array(signs) != 0]
    # The sign test: lists without a winner count towards the lists, not towards the test.
    share = np.mean(decided > 0)
    z = norm.isf(0.025) / 2 + norm.isf(0.2) * np.sqrt(share * (1 - share))
    return float((z / (share - 0.5)) ** 2 * len(signs) / len(decided))


def drafted_by_lot(a: list[int], b: list[int], coin: random.Random) -> tuple[list[int], list[int]]:
    """Team draft as it was published: a document of both belongs to who picks it."""
    documents: list[int] = []
    teams: list[int] = []
    while len(documents) < DEPTH:
        first = int(coin.random() < 0.5)
        for team in (first, 1 - first):
            rest = (one for one in (a, b)[team] if one not in documents)
            document = next(rest, None)
            if document is None or len(documents) == DEPTH:
                return documents, teams
            documents.append(document)
            teams.append(team)
    return documents, teams


def by_probabilities(world: World, a: Rankings, b: Rankings, n_lists: int) -> float:
    outcomes = []
    for _ in range(n_lists):
        query = world.coin.randrange(len(a))
        n = len(a[query])
        chances = np.zeros((2, n))
        for row, ranking in zip(chances, (a[query], b[query]), strict=True):
            row[ranking] = np.arange(1, n + 1) ** -3.0
        left = np.ones(n, bool)
        documents: list[int] = []
        credit: list[float] = []
        for _ in range(min(DEPTH, n)):
            now = chances * left
            now /= now.sum(axis=1, keepdims=True)
            document = int(world.rng.choice(n, p=now[int(world.coin.random() < 0.5)]))
            documents.append(document)
            credit.append((now[0, document] - now[1, document]) / now[:, document].sum())
            left[document] = False
        outcomes.append(np.array(credit)[world.clicks(query, documents)].sum())
    return needed(np.array(outcomes))


def by_halves(world: World, a: Rankings, b: Rankings, n_lists: int) -> float:
    """An A/B test of clicks per list: half of the lists for each."""
    counts: list[list[int]] = [[], []]
    for side, ranking in enumerate((a, b)):
        for _ in range(n_lists):
            query = world.coin.randrange(len(ranking))
            counts[side].append(int(world.clicks(query, ranking[query][:DEPTH]).sum()))
    first, second = map(np.array, counts)
    gap = first.mean() - second.mean()
    z = norm.isf(0.025) + norm.isf(0.2)
    return float(2 * z**2 * (first.var() + second.var()) / gap**2)


WAYS: dict[str, Callable[..., float]] = {
    "team draft": by_team_draft,
    "the same, drawing lots": lambda *given: by_team_draft(*given, lots=True),
    "probabilistic": by_probabilities,
    "A/B": by_halves,
}


def false_alarms(world: World, n_draws: int) -> dict[str, float]:
    """How often equal rankings seem to differ: one with itself, or two as good as each other."""
    same = world.rankings(1)
    # The two rankings of a list are drawn for it, from the same.
    noisy = [world.rankings(1) for _ in range(50)]
    alarms: dict[str, list[bool]] = {}
    for _ in range(n_draws):
        counts: dict[str, list[tuple[int, int]]] = {"one ranking, lots drawn": [], "as good": []}
        for _ in range(300):
            query = world.coin.randrange(len(same))
            # Where all documents are nobody's, nothing is tested: this one draws lots.
            lists = drafted_by_lot(same[query], same[query], world.coin)
            a, b = (one[query] for one in world.coin.sample(noisy, 2))
            drafted = team_draft(a, b, depth=DEPTH, rng=world.coin)
            for name, (documents, teams) in zip(counts, (lists, drafted), strict=True):
                clicked = np.array(teams)[world.clicks(query, documents)]
                counts[name].append((int(np.sum(clicked == 0)), int(np.sum(clicked == 1))))
        for name, of_lists in counts.items():
            told = interleaving_result(of_lists)
            alarms.setdefault(name, []).append(told.p_value < 0.05)
            alarms.setdefault(f"{name}, by the p of any time", []).append(
                told.p_value_any_time < 0.05
            )
    return {name: float(np.mean(values)) for name, values in alarms.items()}


if __name__ == "__main__":
    main()
