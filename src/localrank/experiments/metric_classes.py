"""Figure 2 of localized geometric mean metrics: documents in classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np

from localrank.data import RankingDataset
from localrank.evaluation import PairedTest, paired_test
from localrank.experiments.base import Reproduction, Value, difference
from localrank.measures import AveragePrecision
from localrank.plots import Chart
from localrank.rankers import LGMML

OURS = "L-GMML"
# Numbers of classes in Figure 2, and of metrics for each.
CLASSES = {
    2: [1, 2, 3, 4],
    10: [1, 2, 5, 10, 15],
    50: [1, 10, 25, 50, 60],
    100: [1, 25, 50, 100, 120],
}
Scale = Literal["median", "monotone"]
SCALES: dict[Scale, str] = {"median": "median distance 1", "monotone": "largest distance 1"}


def classes(n_classes: int) -> tuple[RankingDataset, RankingDataset]:
    """Training and test queries, with documents around normally distributed centres.

    The label of a document is the number of its class.

    Examples
    --------
    >>> train, test = classes(2)
    >>> train.n_queries, test.n_queries, train.labels.max()
    (120, 60, np.float64(1.0))
    """
    rng = np.random.default_rng(n_classes)
    n_features = 10
    centres = rng.normal(size=(n_classes, n_features))

    def queries(n_queries: int) -> RankingDataset:
        labels = rng.integers(n_classes, size=(n_queries, 100))
        features = centres[labels] + 0.5 * rng.normal(size=(n_queries, 100, n_features))
        index = np.repeat(np.arange(n_queries), 100)
        return RankingDataset.from_arrays(features.reshape(-1, n_features), labels.ravel(), index)

    return queries(120), queries(60)


def figure_2(
    reproduction: Reproduction, local: Callable[..., LGMML], n_classes: Sequence[int]
) -> None:
    """MAP against the number of metrics, where documents come in classes."""
    rows: list[list[Value]] = []
    panels: dict[str, dict[str, tuple[list[int], list[float]]]] = {}
    gains: dict[Scale, dict[int, PairedTest]] = {scale: {} for scale in SCALES}
    best: dict[Scale, dict[int, int]] = {scale: {} for scale in SCALES}
    for n in n_classes:
        train, test = classes(n)
        measure = AveragePrecision(relevance_level=n / 2)
        # The global metric learns from documents of all queries together.
        pooled = RankingDataset(
            train.features[:1000], train.labels[:1000], np.array([0, 1000]), np.array([0])
        )
        for scale in SCALES:
            make = partial(local, scale=scale, relevance_level=n / 2)
            single = measure(test, make(1, sampling_rate=1.0).fit(pooled).predict(test))
            values = {m: measure(test, make(m).fit(train).predict(test)) for m in CLASSES[n]}
            means = {m: float(precisions.mean()) for m, precisions in values.items()}
            rows += [[n, scale, m, mean, float(single.mean())] for m, mean in means.items()]
            panels.setdefault(f"{n} classes", {}).update(
                {
                    f"{OURS}, {scale}": (list(means), list(means.values())),
                    f"GMML, {scale}": (list(means), [float(single.mean())] * len(means)),
                }
            )
            gains[scale][n] = paired_test(values[n], single)
            best[scale][n] = max(means, key=lambda m: means[m])
    reproduction.table(
        "Figure 2: MAP on documents in classes",
        ["classes", "scale", "metrics", OURS, "GMML"],
        rows,
        "Irrelevant documents are of class 0, relevant ones of the upper half of the classes. GMML "
        "is one metric of 1,000 documents of all queries together. With as many metrics as "
        "classes: " + " ".join(in_words(scale, gains[scale]) for scale in SCALES),
    )
    reproduction.figure(
        "figure-2",
        "Figure 2: MAP against the number of metrics, documents in classes.",
        Chart(
            "curves",
            panels=panels,
            x_label="metrics",
            y_label="MAP",
        ),
    )
    for scale, words in SCALES.items():
        reproduction.claim(
            f"as many local metrics as classes beat one global metric ({words})",
            all_are_gains(list(gains[scale].values())),
            "MAP " + "; ".join(f"{n} classes {difference(t)}" for n, t in gains[scale].items()),
        )
        reproduction.claim(
            f"local metrics gain most when they are about as many as the classes ({words})",
            all(0.5 * n <= m <= 1.5 * n for n, m in best[scale].items()),
            "best of those tried: "
            + ", ".join(f"{m} for {n} classes" for n, m in best[scale].items()),
        )


def all_are_gains(tests: Sequence[PairedTest]) -> bool | None:
    """True: all are gains. False: one is a loss. None: one is within the noise."""
    signs = [test.sign for test in tests]
    return False if min(signs) < 0 else True if min(signs) > 0 else None


def in_words(scale: Scale, gains: dict[int, PairedTest]) -> str:
    """Where local metrics gain over one, and where they do not."""
    parts = []
    for sign, word in ((1, "a gain"), (0, "a difference within the noise"), (-1, "a loss")):
        numbers = [f"{n}" for n, test in gains.items() if test.sign == sign]
        if numbers:
            parts.append(f"{word} with {', '.join(numbers)} classes")
    return f"{scale}, {', '.join(parts)}."
