"""Documents in the coordinates of their query, and nets that see them there."""

from __future__ import annotations

import numpy as np
from ink import Array, Ink, Picture, dots, panels
from matplotlib.figure import Figure

from localrank.data import RankingDataset
from localrank.rankers import ListwiseNet
from localrank.rankers.query_coordinates.query_coordinates import query_coordinates

DIRECTION = np.array([0.85, 0.53])
# How each of three queries shifts and scales its two features.
PLACES = (((3, 9), (1.3, 0.9)), ((9, 4.5), (2.2, 1.7)), ((16.5, 10), (0.9, 1.5)))


def _three_queries() -> tuple[RankingDataset, Array]:
    """Documents that are relevant where both features are high for their query."""
    rng = np.random.default_rng(21)
    standard = rng.normal(size=(3, 22, 2))
    relevant = standard @ DIRECTION > 0.55
    standard += np.where(relevant, 0.1, -0.25)[..., None] * DIRECTION
    shifts, scales = np.array(PLACES).transpose(1, 0, 2)
    features = standard * scales[:, None] + shifts[:, None]
    dataset = RankingDataset.from_arrays(
        features.reshape(-1, 2), relevant.ravel(), np.repeat([0, 1, 2], 22)
    )
    return dataset, relevant


def picture(ink: Ink) -> Figure:
    """Three queries by two features, as they are and in deviations from their means."""
    dataset, relevant = _three_queries()
    deviations = query_coordinates(dataset, "z").features[:, 2:4]
    figure, (left, right) = panels(2, height=3.1)
    left.set(title="Features", xlabel="BM25", ylabel="language model")
    right.set(
        title="Query coordinates z",
        xlabel="BM25, in its query",
        ylabel="language model, in its query",
    )
    right.axhline(0, color=ink.rule, linewidth=1.2)
    right.axvline(0, color=ink.rule, linewidth=1.2)
    for query, colour in enumerate(ink.colours[3:6]):
        rows = slice(dataset.offsets[query], dataset.offsets[query + 1])
        dots(left, dataset.features[rows], colour, ink, filled=relevant[query], size=24)
        dots(right, deviations[rows], colour, ink, filled=relevant[query], size=24)
    across = np.array([-DIRECTION[1], DIRECTION[0]])
    ends = [0.5 * DIRECTION + side * across for side in (-2.3, 2.3)]
    right.plot(*np.transpose(ends), color=ink.text, linewidth=2)
    left.set(xticks=[0, 10, 20], yticks=[0, 5, 10])
    right.set(xticks=[-2, 0, 2], yticks=[-2, 0, 2])
    return figure


def listwise_net(ink: Ink) -> Figure:
    """What each net adds to a document's score by one feature, and the mean of the nets."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(60, 16, 2))
    # A document is good where the first feature is near 0.3: no linear model says so.
    utility = (
        -2 * np.abs(features[..., 0] - 0.3)
        + 0.5 * features[..., 1]
        + rng.normal(scale=0.3, size=(60, 16))
    )
    labels = np.digitize(utility, np.quantile(utility, (0.6, 0.85)))
    train = RankingDataset.from_arrays(
        features.reshape(-1, 2), labels.ravel(), np.repeat(np.arange(60), 16)
    )
    model = ListwiseNet(coordinates=False, n_units=24, random_state=0).fit(train)
    values = np.linspace(-2.4, 2.4, 60)
    grid = np.column_stack([values, np.zeros(60)])
    inputs = (grid - model.mean_) / model.scale_
    hidden = np.maximum(0, np.einsum("nui,di->ndu", model.hidden_, inputs) + model.bias_[:, None])
    scores = np.einsum("ndu,nu->nd", hidden, model.output_) + np.einsum(
        "ni,di->nd", model.skip_, inputs
    )
    scores = (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)

    figure, (left, right) = panels(2, height=2.9)
    means = [
        utility[(features[..., 0] > a) & (features[..., 0] <= a + 0.4)].mean()
        for a in np.arange(-2.4, 2.3, 0.4)
    ]
    left.plot(values, scores.T, color=ink.muted, linewidth=1, alpha=0.75)
    left.plot(values, scores.mean(axis=0), color=ink.colours[0], linewidth=3.2)
    left.set(
        title="Eight nets and their mean",
        xlabel="feature of a document",
        ylabel="score",
        yticks=[],
        xticks=[-2, 0, 2],
    )
    right.bar(
        np.arange(-2.2, 2.5, 0.4), np.subtract(means, min(means)), width=0.34, color=ink.colours[4]
    )
    right.set(
        title="How good documents are",
        xlabel="feature of a document",
        ylabel="mean utility",
        yticks=[],
        xticks=[-2, 0, 2],
    )
    return figure


PICTURES: dict[str, Picture] = {"query-coordinates": picture, "listwise-net": listwise_net}
