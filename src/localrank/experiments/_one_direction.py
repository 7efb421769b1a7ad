"""A control for multiple hyperplanes: labels that one direction makes.

Hyperplanes of different rank pairs learn from different documents, and labels are noisy. So they
differ, and fit their own pairs better, even where a single direction makes all labels. Whether the
labels of a collection are more than that is tested against labels drawn in this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from localrank._base.arrays import Floats
from localrank._base.estimator import clone
from localrank._kernels.sorting import argsort_descending
from localrank.data import RankingDataset
from localrank.evaluation.hyperplanes import hyperplane_cosines, order_error_rates
from localrank.evaluation.significance import LEVEL
from localrank.experiments.reproduction import ClaimTest, Reproduction, Value
from localrank.measures import OrderErrorRate
from localrank.rankers import MultipleHyperplaneRanker, RankSVM

# Bisections of the noise, on a scale of logarithms from a thousandth to a thousand times the
# spread of the scores.
N_BISECTIONS, WIDEST = 12, 3.0
N_DRAWS, N_QUICK_DRAWS = 41, 3


@dataclass(frozen=True)
class DrawTest:
    """Whether a value is lower than values drawn under a hypothesis, two-sided.

    Attributes
    ----------
    value : float
    drawn : ndarray
    lower_is_claimed : bool
        Whether the claim is that the value is lower than the drawn ones, or that it is higher.
    """

    value: float
    drawn: Floats
    lower_is_claimed: bool

    @property
    def p(self) -> float:
        """Twice the smaller share of values at least as far out; the value itself is one."""
        below, above = np.sum(self.drawn <= self.value), np.sum(self.drawn >= self.value)
        return float(min(1.0, 2 * (1 + min(below, above)) / (1 + len(self.drawn))))

    @property
    def sign(self) -> int:
        """1: the value is on the claimed side. -1: on the other. 0: neither is established."""
        if self.p >= LEVEL:
            return 0
        return 1 if (self.value < np.mean(self.drawn)) == self.lower_is_claimed else -1


@dataclass(frozen=True)
class Planes:
    """What the hyperplanes of a set of labels are like.

    Attributes
    ----------
    cosines : dict from two names to float
    fewer_errors : float
        Mean over the rank pairs: order error rate of RankSVM, less that of the pair's own plane.
    """

    cosines: dict[str, float]
    fewer_errors: float

    @property
    def mean_cosine(self) -> float:
        """The mean over all pairs of hyperplanes."""
        return float(np.nanmean(list(self.cosines.values())))

    @classmethod
    def of(cls, dataset: RankingDataset, ranker: RankSVM) -> Planes:
        """Train them on a dataset, with clones of the ranker."""
        single: RankSVM = clone(ranker).fit(dataset)
        several = MultipleHyperplaneRanker(ranker).fit(dataset)
        found = hyperplane_cosines(several, {"RankSVM": single})
        places = combinations(range(len(found.names)), 2)
        rates = order_error_rates(
            dataset,
            {"one": single.predict(dataset), "own": several.pair_scores(dataset)},
        ).rates
        return cls(
            {f"{found.names[i]}, {found.names[j]}": float(found.cosines[i, j]) for i, j in places},
            float(np.nanmean(rates["one"] - rates["own"])),
        )


def drawn_labels(dataset: RankingDataset, scores: Floats, noise: Floats) -> RankingDataset:
    """The same documents. In each query the labels go to them in the order of score plus noise.

    Parameters
    ----------
    dataset : RankingDataset
    scores, noise : ndarray of shape (n_documents,)
        In the order of the rows.
    """
    labels = np.empty(dataset.n_documents)
    labels[argsort_descending(scores + noise, dataset.offsets)] = dataset.ideal_labels
    return dataset.replaced(relevance=labels)


def noise_scale(
    dataset: RankingDataset,
    scores: Floats,
    ranker: RankSVM,
    rate: float,
    rng: np.random.Generator,
) -> float:
    """The standard deviation of noise with which RankSVM has a given order error rate."""
    noise, spread = rng.normal(size=dataset.n_documents), float(np.std(scores)) or 1.0
    low, high = -WIDEST, WIDEST
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2
        drawn = drawn_labels(dataset, scores, spread * 10**middle * noise)
        found = OrderErrorRate().mean(drawn, clone(ranker).fit(drawn).predict(drawn))
        low, high = (middle, high) if found < rate else (low, middle)
    return spread * 10 ** ((low + high) / 2)


def compare_with_one_direction(
    reproduction: Reproduction,
    dataset: RankingDataset,
    C: float,
    n_draws: int,
    on_test_queries: Sequence[ClaimTest],
) -> None:
    """Tables 5 and 6 against labels that one direction makes.

    The direction is that of RankSVM trained on the dataset. The noise is such that RankSVM makes as
    many order errors on drawn labels as on the real ones. A query keeps its numbers of labels.

    Parameters
    ----------
    reproduction : Reproduction
    dataset : RankingDataset
        All queries.
    C : float
    n_draws : int
    on_test_queries : sequence of ClaimTest
        For each rank pair, whether its own plane makes fewer order errors on test queries.
    """
    rng = np.random.default_rng(0)
    single = RankSVM(C).fit(dataset)
    scores = single.predict_rows(dataset)
    rate = OrderErrorRate().mean(dataset, single.predict(dataset))
    # Features are scaled once. Labels do not matter for it.
    dataset = dataset.with_features(dataset.features / single.scale_)
    ranker = RankSVM(C, scaling=None)
    scale = noise_scale(dataset, scores, ranker, rate, rng)
    real = Planes.of(dataset, ranker)
    drawn = [
        Planes.of(drawn_labels(dataset, scores, scale * rng.normal(size=len(scores))), ranker)
        for _ in range(n_draws)
    ]
    cosines = DrawTest(real.mean_cosine, np.array([d.mean_cosine for d in drawn]), True)
    errors = DrawTest(real.fewer_errors, np.array([d.fewer_errors for d in drawn]), False)
    rows: list[list[Value]] = [
        ["mean of all cosines", *_cells(cosines.value, cosines.drawn), cosines.p],
        ["order errors fewer by own planes", *_cells(errors.value, errors.drawn), errors.p],
    ]
    for name, cosine in real.cosines.items():
        rows.append([f"cosine {name}", *_cells(cosine, [d.cosines[name] for d in drawn]), None])
    reproduction.table(
        "Control of Tables 5 and 6: labels that one direction makes",
        ["quantity", "real labels", "one direction", "lowest", "highest", "p"],
        rows,
        f"Hyperplanes trained on all {dataset.n_queries:,} queries, C = {C:g}. In {n_draws} draws "
        f"each query's labels go to its documents in the order of RankSVM's score plus noise. The "
        f"noise is such that RankSVM has the order error rate of the real labels, {rate:.3f}. "
        f"Labels are named, the highest is the best. Fewer errors: mean over the pairs of labels. "
        f"p: twice the share of draws at least as far out, the real labels among them.",
    )
    reproduction.claim(
        "the normal directions of the hyperplanes point away from each other",
        f"mean cosine {real.mean_cosine:.3f}; where one direction makes the labels "
        f"{cosines.drawn.mean():.3f}, p = {cosines.p:.3f}",
        cosines,
    )
    n_fewer = sum(test.sign == 1 for test in on_test_queries)
    reproduction.claim(
        "order errors indicate that the divide-and-conquer strategy is really needed",
        f"order error rate on training queries lower by {real.fewer_errors:.4f} with own planes; "
        f"where one direction makes the labels {errors.drawn.mean():.4f}, p = {errors.p:.3f}; on "
        f"test queries significantly lower for {n_fewer} of {len(on_test_queries)} rank pairs",
        errors,
        *on_test_queries,
    )


def _cells(value: float, drawn: Floats | Sequence[float]) -> list[Value]:
    return [value, float(np.mean(drawn)), float(np.min(drawn)), float(np.max(drawn))]
