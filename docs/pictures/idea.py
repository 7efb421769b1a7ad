"""The idea of localrank in one picture: split the queries, or re-coordinate their documents."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from ink import Array, Ink, arrow, dots, ellipse
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

# Pixels of a page that is 800 wide.
WIDTH, HEIGHT = 800, 452
STATIONS = (88, 244, 400, 556, 712)
SPLIT, COORDINATES = 330, 104
RAW, COMMON = 130, 428
# Angle of each group's line, and where it stands in its step.
MODELS = ((0.45, -33, 30), (2.1, 33, 8), (-0.3, -18, -36))
SHARES = (0.66, 0.24, 0.10)


def idea(ink: Ink) -> Figure:
    """Two lanes: five steps from queries to scores, and three."""
    figure = Figure(figsize=(WIDTH / 96, HEIGHT / 96), layout="none")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, HEIGHT))
    axes.set_axis_off()
    rng = np.random.default_rng(5)
    _lane(axes, ink, 226, "Split", "one model per group of similar queries")
    for x, word in zip(STATIONS, ("describe", "group", "train", "weigh", "score"), strict=True):
        axes.text(x, SPLIT - 82, word, ha="center", fontsize=14)
    for left, right in pairwise(STATIONS):
        _step(axes, ink, left, right, SPLIT)
    _describe(axes, ink, rng, STATIONS[0], SPLIT)
    _group(axes, ink, rng, STATIONS[1], SPLIT)
    _train(axes, ink, STATIONS[2], SPLIT)
    _weigh(axes, ink, STATIONS[3], SPLIT)
    _score(axes, ink, STATIONS[4], SPLIT, SHARES)

    _lane(axes, ink, 0, "Re-coordinate", "each document relative to the others of its query")
    for x, word in ((RAW, "three queries"), (COMMON, "one model"), (STATIONS[4], "score")):
        axes.text(x, COORDINATES - 85, word, ha="center", fontsize=14)
    _three_queries(axes, ink, rng, RAW, COMMON, COORDINATES)
    _step(axes, ink, RAW + 92, COMMON - 84, COORDINATES)
    _step(axes, ink, COMMON + 84, STATIONS[4] - 48, COORDINATES)
    _score(axes, ink, STATIONS[4], COORDINATES, (1.0,))
    return figure


def _lane(axes: Axes, ink: Ink, bottom: float, name: str, what: str) -> None:
    outline = FancyBboxPatch(
        (7, bottom + 7),
        WIDTH - 14,
        212,
        boxstyle="round,pad=0,rounding_size=14",
        facecolor="none",
        edgecolor=ink.rule,
        linewidth=1.2,
    )
    axes.add_patch(outline)
    axes.text(26, bottom + 188, name, fontsize=16, fontweight="bold")
    axes.text(WIDTH - 26, bottom + 188, what, fontsize=14, color=ink.muted, ha="right")


def _step(axes: Axes, ink: Ink, left: float, right: float, y: float) -> None:
    middle = (left + right) / 2
    arrow(axes, (middle - 11, y), (middle + 11, y), ink.muted, width=1.6)


def _cloud(
    rng: np.random.Generator, angle: float, n: int = 13, long: float = 1, short: float = 0.35
) -> Array:
    """Documents around (0, 0) with exactly these spreads, along and across an angle."""
    points = rng.normal(size=(n, 2))
    points -= points.mean(axis=0)
    points = points @ np.linalg.inv(np.linalg.cholesky(points.T @ points / n)).T
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.clip(points, -2, 2) * (long, short) @ turn


def _describe(axes: Axes, ink: Ink, rng: np.random.Generator, x: float, y: float) -> None:
    for centre, angle in (((-34, 26), 0.5), ((34, 20), 2.1), ((-4, -34), -0.25)):
        points = _cloud(rng, angle, 11)
        dots(axes, 15 * points + centre + (x, y), ink.muted, ink, size=9, linewidths=0)
        direction = np.linalg.svd(points)[2][0]
        direction *= np.sign(direction[0])  # The sign is the linear algebra library's choice.
        middle = np.add(centre, (x, y))
        arrow(
            axes,
            middle - 27 * direction,
            middle + 27 * direction,
            ink.text,
            width=1.7,
            style="<|-|>",
            mutation_scale=9,
        )


def _group(axes: Axes, ink: Ink, rng: np.random.Generator, x: float, y: float) -> None:
    centres = np.add([(-30, 26), (32, 12), (-10, -34)], (x, y))
    for centre, colour in zip(centres, ink.colours, strict=False):
        ellipse(axes, centre, np.eye(2), 27, facecolor=colour, alpha=0.16, linewidth=0)
        dots(axes, centre + 9.5 * _cloud(rng, 0, 7, short=1), colour, ink, size=20, linewidths=0)


def _train(axes: Axes, ink: Ink, x: float, y: float) -> None:
    """Each group's model: a line between relevant documents, filled, and the others."""
    spots = np.array(
        [(-1.1, 0.5), (-0.75, -0.6), (-0.55, 0.15), (0.6, -0.35), (0.8, 0.55), (1.2, 0)]
    )
    for colour, (angle, dx, dy) in zip(ink.colours, MODELS, strict=False):
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        centre = np.array([x + dx, y + dy])
        dots(
            axes,
            centre + 19 * spots @ turn,
            colour,
            ink,
            size=17,
            linewidths=1.2,
            filled=spots[:, 0] > 0,
        )
        ends = centre + 19 * np.array([(0, -1.2), (0, 1.2)]) @ turn
        axes.plot(*ends.T, color=colour, linewidth=1.9)


def _weigh(axes: Axes, ink: Ink, x: float, y: float) -> None:
    new = np.array([x - 22, y + 2])
    centres = np.add([(42, 46), (46, 0), (38, -46)], (x, y))
    for centre, colour, share in zip(centres, ink.colours, SHARES, strict=False):
        axes.plot(
            *np.transpose([new, centre]),
            color=colour,
            linewidth=1.2 + 13 * share,
            solid_capstyle="round",
            alpha=0.85,
        )
        dots(axes, centre[None], colour, ink, size=110, linewidths=0)
    dots(axes, new[None], ink.text, ink, size=190, linewidths=2, filled=False)
    axes.text(
        *new, "?", ha="center", va="center_baseline", fontsize=12, fontweight="bold", zorder=5
    )


def _score(axes: Axes, ink: Ink, x: float, y: float, shares: tuple[float, ...]) -> None:
    for row, length in enumerate((84, 68, 55, 36, 24)):
        left = x - 40
        colours = ink.colours if len(shares) > 1 else (ink.text,)
        for share, colour in zip(shares, colours, strict=False):
            axes.add_patch(
                Rectangle(
                    (left, y + 38 - 20 * row), share * length, 11, facecolor=colour, linewidth=0
                )
            )
            left += share * length


def _three_queries(
    axes: Axes, ink: Ink, rng: np.random.Generator, raw: float, common: float, y: float
) -> None:
    """Relevant documents are filled. One line parts them from the rest after standardising."""
    direction, cut = np.array([np.cos(0.55), np.sin(0.55)]), 0.35
    axes.plot(
        [raw - 92, raw - 92, raw + 96], [y + 58, y - 54, y - 54], color=ink.muted, linewidth=1
    )
    axes.plot([common - 84, common + 84], [y, y], color=ink.rule, linewidth=1.2)
    axes.plot([common, common], [y - 58, y + 58], color=ink.rule, linewidth=1.2)
    for (dx, dy, size), colour in zip(
        ((-58, 24, 9), (2, -26, 11), (56, 12, 22)), ink.colours[3:], strict=True
    ):
        points = _cloud(rng, 0.9, 12, 1, 0.8)
        filled = points @ direction > cut
        points += np.where(filled, 0.12, -0.3)[:, None] * direction
        dots(
            axes,
            size * points + (raw + dx, y + dy),
            colour,
            ink,
            size=19,
            linewidths=1.3,
            filled=filled,
        )
        dots(axes, 28 * points + (common, y), colour, ink, size=19, linewidths=1.3, filled=filled)
    across = np.array([-direction[1], direction[0]])
    ends = [28 * (cut * direction + side * across) + (common, y) for side in (-2.0, 2.0)]
    axes.plot(*np.transpose(ends), color=ink.text, linewidth=2.1)
