"""Lists of several retrievers: scores smoothed over the nearest candidates of a query."""

from __future__ import annotations

import numpy as np
from ink import Ink, Picture, bare, panels
from matplotlib.figure import Figure

N_NEAREST, SHARE = 4, 0.5


def smoothing(ink: Ink) -> Figure:
    """One query's candidates by two directions of their vectors, before and after smoothing."""
    rng = np.random.default_rng(4)
    centres = np.array([[0.0, 0.0], [2.6, 1.5], [2.4, -1.6], [-2.2, 1.4]])
    topics = np.repeat([0, 1, 2, 3], [7, 6, 6, 5])
    places = centres[topics] + rng.normal(0, 0.45, (len(topics), 2))
    relevant = topics == 0
    fused = 0.5 * relevant + rng.normal(0, 0.75, len(topics))
    fused = (fused - fused.mean()) / fused.std()
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1)[:, :N_NEAREST]
    smoothed = (1 - SHARE) * fused + SHARE * fused[nearest].mean(axis=1)
    figure, axes = panels(2, height=3.0)
    titles = ("Fused scores of two lists", "Smoothed over the four nearest")
    for axis, title, scores in zip(axes, titles, (fused, smoothed), strict=True):
        bare(axis, title)
        if scores is smoothed:
            for document, others in enumerate(nearest):
                for other in others:
                    line = places[[document, other]].T
                    axis.plot(*line, color=ink.muted, linewidth=0.6, alpha=0.5, zorder=1)
        sizes = 12 + 55 * (scores - scores.min()) / np.ptp(scores)
        colours = [ink.colours[0] if is_relevant else ink.muted for is_relevant in relevant]
        axis.scatter(*places.T, s=sizes, c=colours, zorder=2, linewidths=0)
    return figure


PICTURES: dict[str, Picture] = {"hybrid": smoothing}
